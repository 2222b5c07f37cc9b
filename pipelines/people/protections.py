"""Protect a repository, or all repositories of an owner (law §14). Callers ask who may change repositories at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from pipelines.errors import Forbidden, Invalid
from pipelines.models import Owner, Project, Repository, RepositoryProtection, User
from pipelines.models.people import slug
from pipelines.ports import audit
from pipelines.queries.protections import canonical_address, protection_from_row
from pipelines.routing.guarantees.protection import ADMIN, MOST_APPROVALS, OWNER, Protection

MOST_NAMES = 20


def checked_protection(rules: Protection) -> Protection:
    """Raises Invalid with the field."""
    if not 0 <= rules.approvals <= MOST_APPROVALS:
        most = f"Enter a number of at most {MOST_APPROVALS}."
        raise Invalid.at("protection.approvals", most)
    if rules.changed_by not in (ADMIN, OWNER):
        raise Invalid.at("protection.changed_by", "Choose one of the options.")
    return replace(
        rules, groups=_checked_keys(rules.groups, "groups"), gates=_checked_keys(rules.gates, "gates")
    )


def _checked_keys(keys: Iterable[str], field: str) -> tuple[str, ...]:
    distinct = tuple(sorted(set(keys)))
    if len(distinct) > MOST_NAMES:
        raise Invalid.at(f"protection.{field}", f"Name at most {MOST_NAMES}.")
    for key in distinct:
        try:
            slug(key)
        except ValidationError as fault:
            raise Invalid.at(f"protection.{field}", f"“{key}” is no key." + f" {slug.message}") from fault
    return distinct


@transaction.atomic
def set_protection(
    repository: Repository, rules: Protection, *, by: User, of_owner: bool, now: datetime
) -> None:
    """Let these rules hold, of the project or its owner as they say, or as before where they say neither; none of them
    ends it. `of_owner`: whoever asks may change what holds for the owner. Raises Forbidden, Invalid."""
    project, place = repository.project, canonical_address(repository.address)
    if not rules.changed_by:
        rules = replace(
            rules,
            changed_by=protection_set_by_owner_or_project(repository, include_owner=of_owner).changed_by,
        )
    rules = checked_protection(rules)
    if rules.changed_by == OWNER:
        _require_owner_rights(of_owner)
        _store_protection(project, rules, place, by, now, owner=project.owner)
        # It is said in one place: what the project said of it goes.
        _store_protection(project, Protection(), place, by, now)
        return
    _store_protection(project, rules, place, by, now)
    if of_owner:
        _store_protection(project, Protection(), place, by, now, owner=project.owner)


@transaction.atomic
def set_protection_for_all(
    owner: Owner, rules: Protection, *, by: User, of_owner: bool, now: datetime
) -> None:
    """Let these rules hold for every repository of the owner's projects. `of_owner`: see `protect`. Raises Forbidden,
    Invalid."""
    _require_owner_rights(of_owner)
    _store_protection(None, checked_protection(replace(rules, changed_by=OWNER)), "", by, now, owner=owner)


def protection_of_all_repositories(owner: Owner) -> Protection:
    """Read what holds for every repository of an owner."""
    row = RepositoryProtection.objects.filter(owner=owner, place="").first()
    return protection_from_row(row) if row else Protection(changed_by=OWNER)


def protection_set_by_owner_or_project(repository: Repository, *, include_owner: bool) -> Protection:
    """Return the protection that is set for this repository by its owner or else its project, as far as the
    caller may change it."""
    scope = Q(project=repository.project_id) | (
        Q(owner=repository.project.owner_id) if include_owner else Q(pk=None)
    )
    rows = RepositoryProtection.objects.filter(scope, place=canonical_address(repository.address))
    # PostgreSQL sorts nulls last, so the owner's comes first.
    row = rows.order_by("owner", "pk").first()
    return protection_from_row(row) if row else Protection()


def _require_owner_rights(of_owner: bool) -> None:
    if not of_owner:
        raise Forbidden(
            "Only an administrator of all projects of the owner changes what holds for all of them."
        )


def _store_protection(
    project: Project | None,
    rules: Protection,
    place: str,
    by: User,
    now: datetime,
    *,
    owner: Owner | None = None,
) -> None:
    scope: dict[str, Any] = {"owner": owner} if owner else {"project": project}
    row = RepositoryProtection.objects.select_for_update().filter(place=place, **scope).first()
    before = protection_from_row(row).to_dict() if row else {}
    after = rules.to_dict() if rules else {}
    if before == after:
        return
    if row and not after:
        row.delete()
    else:
        defaults = {"rules": {key: after[key] for key in ("approvals", "groups", "gates", "four_eyes")}}
        RepositoryProtection.objects.update_or_create(place=place, **scope, defaults=defaults)
    about = f"owner:{owner.pk}" if owner else f"project:{project.pk}" if project else ""
    # The folder of a server is never told in the record.
    name = place.rpartition("/")[2] if place else str(owner)
    audit.record_administrative_act(
        "repository.protected",
        by=by,
        at=now,
        project=project,
        about=about,
        name=name,
        before=before,
        after=after,
    )
