"""Members of a project as their list shows them: how they sign in, when they were last there, their groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.db.models import Max

from pipelines.models import ApiToken, Group, Line, Membership, Project, Role

APP, PASSKEY = Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN


@dataclass(frozen=True, slots=True)
class MemberRow:
    """`factors`: kinds of second factor, empty for none. `provider`: signs in with the provider of the installation,
    which has a second factor of its own, or none."""

    membership: Membership
    provider: bool
    password: bool
    factors: frozenset[str]
    last_active: datetime | None
    groups: tuple[str, ...]

    @property
    def has_authenticator_app(self) -> bool:
        return APP in self.factors

    @property
    def has_passkey(self) -> bool:
        return PASSKEY in self.factors

    @property
    def is_unprotected(self) -> bool:
        """Return whether a password alone signs the member in."""
        return self.membership.user.is_active and self.password and not self.factors


def responsible_user_ids(line: Line) -> list[int]:
    """Return the ids of the people who answer for a line: who published what is live, and the administrators."""
    admins = Membership.objects.filter(project=line.project_id, roles__contains=[Role.ADMIN])
    people = {*admins.values_list("user_id", flat=True)}
    if line.live is not None and line.live.published_by_id:
        people.add(line.live.published_by_id)
    return sorted(people)


def member_rows(project: Project) -> list[MemberRow]:
    """Return the members by name; those who may not sign in any more come last."""
    memberships = Membership.objects.filter(project=project).select_related("user")
    ordered = sorted(
        memberships,
        key=lambda membership: (
            not membership.user.is_active,
            str(membership.user).casefold(),
            membership.pk,
        ),
    )
    ids = [membership.user_id for membership in ordered]
    provided = set(SocialAccount.objects.filter(user__in=ids).values_list("user_id", flat=True))
    factors = _values_by_user(Authenticator.objects.filter(user__in=ids).values_list("user_id", "type"))
    groups = _values_by_user(
        Group.objects.filter(project=project, members__in=ids).order_by("name").values_list("members", "name")
    )
    last_active = _last_seen_by_user(ids)
    return [
        MemberRow(
            membership,
            membership.user_id in provided,
            membership.user.has_usable_password(),
            # Recovery codes are an authenticator of allauth, too, and no second factor.
            frozenset(factors.get(membership.user_id, ())) & {APP, PASSKEY},
            max(
                filter(None, (membership.user.last_login, last_active.get(membership.user_id))), default=None
            ),
            tuple(groups.get(membership.user_id, ())),
        )
        for membership in ordered
    ]


def count_members_without_second_factor(project: Project) -> int:
    """Return how many members who may sign in have no second factor."""
    memberships = Membership.objects.filter(project=project, user__is_active=True)
    return memberships.exclude(user__authenticator__type__in=(APP, PASSKEY)).count()


def _values_by_user(rows: Iterable[tuple[int, str]]) -> dict[int, list[str]]:
    values_by_user: dict[int, list[str]] = {}
    for user_id, value in rows:
        values_by_user.setdefault(user_id, []).append(value)
    return values_by_user


def _last_seen_by_user(ids: Collection[int]) -> Mapping[int, datetime]:
    """Return when each user was last seen in a browser, or by a token of theirs."""
    sessions = UserSession.objects.filter(user__in=ids).values_list("user_id").annotate(Max("last_seen_at"))
    tokens = ApiToken.objects.filter(user__in=ids, last_used_at__isnull=False).values_list("user_id")
    last_active: dict[int, datetime] = dict(sessions)
    for user_id, at in tokens.annotate(Max("last_used_at")):
        last_active[user_id] = max(at, last_active.get(user_id, at))
    return last_active
