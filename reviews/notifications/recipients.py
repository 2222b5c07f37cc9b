"""Recipients of notifications, and how they want to be notified: choices, digest, quiet hours. One query for
many people."""

from __future__ import annotations

import zoneinfo
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import QuerySet
from django.db.models.functions import Lower

from pipelines.models import Membership, User
from pipelines.models.plumbing.compiled_queries import array_field, server_prepared
from pipelines.web.shell.middleware import zone_or_utc

# So much before its hour a digest is closed: what is being written now must not come after it.
CLOSED_BEFORE = timedelta(minutes=15)


class MailChoice(models.TextChoices):
    """Choice of when a person gets a mail about a kind."""

    NOW = "now", "Mail at once"
    NAMED = "named", "Mail where the line names me"
    DIGEST = "digest", "In the digest mail"
    NEVER = "never", "No mail"


FIELDS = (
    "id",
    "email",
    "time_zone",
    "notification_settings__choices",
    "notification_settings__digest_hour",
    "notification_settings__quiet_from",
    "notification_settings__quiet_until",
)


@dataclass(frozen=True)
class Recipient:
    """Person to notify. `choices`: {kind: {"bell": yes or no, "mail": MailChoice}}, where they differ from
    the kind's own."""

    user_id: int
    address: str
    zone: zoneinfo.ZoneInfo
    choices: Mapping[str, Mapping[str, Any]]
    digest_hour: int
    quiet: tuple[int, int] | None

    @classmethod
    def recipient_from_row(cls, row: tuple[Any, ...]) -> Recipient:
        """`row`: what FIELDS name."""
        user_id, address, zone_name, choices, hour, quiet_from, quiet_until = row
        # From an hour to itself could be all day or no time at all: it is taken for none
        quiet = None if quiet_from is None or quiet_from == quiet_until else (quiet_from, quiet_until)
        # Without a row of settings all of these are None: the defaults count
        return cls(
            user_id, address, zone_or_utc(zone_name), choices or {}, 8 if hour is None else hour, quiet
        )

    def wants_bell(self, kind: str) -> bool:
        return bool(self.choices.get(kind, {}).get("bell", True))

    def mail_choice_or_default(self, kind: str, default: str) -> str:
        """`default`: the kind's default. Without an address there is no mail."""
        return str(self.choices.get(kind, {}).get("mail", default)) if self.address else MailChoice.NEVER

    def time_after_quiet_hours(self, at: datetime) -> datetime:
        """Return `at`, or the end of the quiet hours that it falls into."""
        local = at.astimezone(self.zone)
        if self.quiet is None or not _is_within_quiet_hours(local.hour, *self.quiet):
            return at
        return self._next_time_at_hour(self.quiet[1], at)

    def time_of_next_digest(self, at: datetime) -> datetime:
        """Return when the digest goes out that collects a notification of this time."""
        return self.time_after_quiet_hours(self._next_time_at_hour(self.digest_hour, at + CLOSED_BEFORE))

    def _next_time_at_hour(self, hour: int, at: datetime) -> datetime:
        """The next time after `at` when it is this hour in the person's time zone."""
        local = at.astimezone(self.zone)
        # fold=0: of an hour that comes twice, when clocks are set back, the first
        moment = local.replace(hour=hour, minute=0, second=0, microsecond=0, fold=0)
        if moment <= local:
            moment = (moment + timedelta(days=1)).replace(hour=hour)
        return moment.astimezone(zoneinfo.ZoneInfo("UTC"))


def _is_within_quiet_hours(hour: int, start: int, end: int) -> bool:
    """Return whether the time is within the quiet hours, which may span midnight."""
    return start <= hour < end if start < end else hour >= start or hour < end


def active_recipient_by_id(user_ids: Collection[int]) -> dict[int, Recipient]:
    """Recipients who can sign in, by id."""
    if not user_ids:
        return {}
    return {row[0]: Recipient.recipient_from_row(row) for row in _rows_of_active_users(users=list(user_ids))}


@server_prepared(users=array_field())
def _rows_of_active_users(users: Any) -> QuerySet[User, tuple[Any, ...]]:
    return User.objects.filter(pk__among=users, is_active=True).values_list(*FIELDS)


def members_by_project_and_address(
    places: Iterable[tuple[int, str]],
) -> dict[tuple[int, str], list[Recipient]]:
    """`places`: (project, address in small letters). The members of the project whose address it is; several may share
    one, and of an address that is nobody's there is no row."""
    pairs = set(places)
    if not pairs:
        return {}
    members = Membership.objects.filter(
        project__in={project for project, _address in pairs}, user__is_active=True
    ).annotate(small=Lower("user__email"))
    rows = members.filter(small__in={address for _project, address in pairs}).order_by("user_id")
    by_place: dict[tuple[int, str], list[Recipient]] = {}
    for project, small, *row in rows.values_list(
        "project_id", "small", *(f"user__{name}" for name in FIELDS)
    ):
        # Both filters together let each address through in each of the projects
        if (project, small) in pairs:
            by_place.setdefault((project, small), []).append(Recipient.recipient_from_row(tuple(row)))
    return by_place
