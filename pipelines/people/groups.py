"""Groups of a project: people whom a gate can ask for by one name."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from pipelines.models import Group, Project, User
from pipelines.ports import audit


@transaction.atomic
def create(project: Project, key: str, name: str, *, by: User | None, now: datetime) -> Group:
    """Create a group. Of two who create it at once the second gets that of the first."""
    group, made = Group.objects.get_or_create(project=project, key=key, defaults={"name": name})
    if made:
        _record("group.created", group, by, now)
    return group


@transaction.atomic
def set_members(group: Group, people: Iterable[User], *, by: User | None, now: datetime) -> None:
    before, after = (
        set(group.members.values_list("username", flat=True)),
        {person.username for person in people},
    )
    if before == after:
        return
    group.members.set(people)
    _record("group.changed", group, by, now, added=sorted(after - before), removed=sorted(before - after))


@transaction.atomic
def delete(group: Group, *, by: User | None, now: datetime) -> None:
    people = sorted(group.members.values_list("username", flat=True))
    # Before: a row that was deleted has no number any more, by which the record names it
    _record("group.deleted", group, by, now, people=people)
    group.delete()


def _record(kind: str, group: Group, by: User | None, now: datetime, **data: object) -> None:
    audit.record(
        kind, by=by, at=now, project=group.project, about=f"group:{group.pk}", name=group.key, **data
    )
