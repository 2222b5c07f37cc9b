"""Groups of a project: people whom a gate can ask for by one name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from pipelines import engine
from pipelines.models import ENDED, Group, Line, Project, Task, User
from pipelines.ports import audit
from pipelines.queries import versions


@transaction.atomic
def create_or_get_group(project: Project, key: str, name: str, *, by: User | None, now: datetime) -> Group:
    """Create a group. Of two who create it at once the second gets that of the first."""
    group, made = Group.objects.get_or_create(project=project, key=key, defaults={"name": name})
    if made:
        _record_in_audit("group.created", group, by, now)
    return group


@transaction.atomic
def set_group_members(group: Group, people: Iterable[User], *, by: User | None, now: datetime) -> None:
    before, after = (
        set(group.members.values_list("username", flat=True)),
        {person.username for person in people},
    )
    if before == after:
        return
    group.members.set(people)
    _record_in_audit(
        "group.changed", group, by, now, added=sorted(after - before), removed=sorted(before - after)
    )
    engine.decide_gates_all_have_approved_on_commit(group.project_id, now)


@transaction.atomic
def delete_group(group: Group, *, by: User | None, now: datetime) -> None:
    people = sorted(group.members.values_list("username", flat=True))
    # Before: a row that was deleted has no number any more, by which the record names it
    _record_in_audit("group.deleted", group, by, now, people=people)
    group.delete()
    engine.decide_gates_all_have_approved_on_commit(group.project_id, now)


def _record_in_audit(kind: str, group: Group, by: User | None, now: datetime, **data: object) -> None:
    audit.record_administrative_act(
        kind, by=by, at=now, project=group.project, about=f"group:{group.pk}", name=group.key, **data
    )


# Gates that ask for a person by name: they wait on when that person goes, since a published version never
# changes.


@dataclass(frozen=True, slots=True)
class GateMention:
    """Gate that names a person. `live`: new tasks come to it; `tasks`: how many that have not ended are on a
    version that has it."""

    line: Line
    gate: str
    live: bool
    tasks: int


def gates_naming_user(user: User, project: Project) -> list[GateMention]:
    """Return the gates that name this user, by line and gate, in the order of their names."""
    lines = {line.pk: line for line in Line.objects.filter(project=project)}
    open_tasks = Task.objects.filter(project=project).exclude(status__in=ENDED)
    pinned = {(line.pk, line.live_id): 0 for line in lines.values() if line.live_id}
    for version in open_tasks.values_list("line_id", "pinned_id"):
        pinned[version] = pinned.get(version, 0) + 1
    gate_mentions: dict[tuple[str, int, str], GateMention] = {}
    for (line_id, version_id), tasks in pinned.items():
        line = lines[line_id]
        for gate in versions.parsed_line_by_version_id(version_id).gates:
            if any(need.kind == "user" and need.name == user.username for need in gate.approval.who):
                key = (line.name, line.pk, gate.name)
                live = line.live_id == version_id
                before = gate_mentions.get(key, GateMention(line, gate.name, live=False, tasks=0))
                gate_mentions[key] = GateMention(line, gate.name, live or before.live, tasks + before.tasks)
    return [gate_mentions[key] for key in sorted(gate_mentions)]
