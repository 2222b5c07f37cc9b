"""Everything that happened in the projects in view, newest first: events of tasks in the words of their history,
publications, and what people did to members and pauses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db.models import Q

from pipelines.models import AdministrativeAct, Event, Line, LineEvent, Project, Task, User
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.audit import KINDS as ACTS
from pipelines.queries import actor_names
from pipelines.queries.history import TimelineItem, feed_items_oldest_first
from pipelines.queries.line_filter import line_condition
from pipelines.queries.statements import RECENT_EVENTS

ON_A_PAGE = 50
SCANNED = 1_000
"""Events that one page reads at most: a move writes several, of which people read one."""
MOMENT = timedelta(microseconds=1)
MOST_PEOPLE = 500

OF_TASKS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "starts": ("Starts", ("task.submitted",)),
    "moves": ("Moves", ("token.moved", "token.forked", "token.joined", "gate.opened", "task.migrated")),
    "votes": ("Votes and decisions", ("gate.voted", "gate.overridden", "gate.decided", "gate.closed")),
    "trouble": (
        "Stuck, late, escalated",
        (
            "token.stuck", "job.lost", "gate.overdue", "deadlock.found", "deadlock.resolved",
            "escalation.opened", "escalation.breached", "escalation.resolved",
        ),
    ),
    "waits": (
        "Questions and holds",
        (
            "token.waits", "token.released", "evaluation.asked", "evaluation.answered", "metadata.added",
            "handoff.added", "permission.asked", "permission.answered",
        ),
    ),
    "ends": ("Ends", ("token.ended", "task.cancelled")),
}  # fmt: skip
"""Label and events of each kind that a reader may choose."""
VERSIONS, MEMBERS, PAUSES = "versions", "members", "pauses"
OF_PROJECTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    MEMBERS: (
        "Members",
        ("invitation.accepted", "member.added", "member.changed", "member.removed", "member.left"),
    ),
    PAUSES: ("Pauses", ("work.paused", "work.resumed")),
}
"""Acts that every member may know; the audit log has the others."""
KIND_LABELS = {
    **{key: label for key, (label, _events) in OF_TASKS.items()},
    VERSIONS: "Versions",
    **{key: label for key, (label, _acts) in OF_PROJECTS.items()},
}


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """`kind`: a key of `KIND_LABELS`; `line` as `line_filter` has it; `who`: part of a name. The time begins after
    `since` and ends with `until`, with which an earlier page begins."""

    kind: str = ""
    line: str = ""
    who: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class ActivityItem:
    """`item`: of a task, as its history says it; else `sentence` with what it is about. `line`: its name."""

    at: datetime
    project: Project
    who: str
    who_kind: str
    line: str = ""
    line_key: str = ""
    task: Task | None = None
    item: TimelineItem | None = None
    sentence: str = ""
    icon: str = ""


@dataclass(frozen=True, slots=True)
class ActivityPage:
    """`older`: the instant with which an earlier page begins; None where there is nothing earlier."""

    items: Sequence[ActivityItem] = field(default_factory=list)
    older: datetime | None = None


def read_activity(projects: Sequence[Project], filters: ActivityFilter) -> ActivityPage:
    """Return the newest page up to `filters.until`; the same statements for few rows and for many."""
    by_id = {project.pk: project for project in projects}
    lines = {
        line.pk: line
        for line in Line.objects.filter(line_condition(filters.line, ""), project__in=by_id).only(
            "key", "name", "project"
        )
    }
    people = _actors_with_name_part_or_none_for_anybody(filters.who)
    ids, floors = _event_ids_and_known_moments(list(by_id), lines, filters, people)
    published, floor = _page_rows_and_earlier_moment(_publication_events(lines, filters, people))
    floors.append(floor)
    acts, floor = _page_rows_and_earlier_moment(_administrative_acts(by_id, filters, people))
    floors.append(floor)
    events = list(
        Event.objects.filter(pk__among=ids).select_related("task").defer("task__context", "task__variables")
    )
    names = actor_names.label_by_actor([*(event.actor for event in events), *(act.actor for act in acts)])
    items = [
        *_activity_items_of_tasks(events, by_id, lines, names),
        *(_activity_item_of_publication(row, by_id, lines) for row in published),
        *(_activity_item_of_administrative_act(act, by_id, names) for act in acts),
    ]
    # What one source has in full reaches further back than what another has: the page ends where all have it
    end = max((floor for floor in floors if floor), default=None)
    complete = [item for item in items if end is None or item.at > end]
    newest_first = sorted(
        complete, key=lambda item: (item.at, item.item.seq if item.item else 0), reverse=True
    )
    return ActivityPage(newest_first, end)


def _actors_with_name_part_or_none_for_anybody(who: str) -> list[str] | None:
    """Return the actors with this part of a name; None: anybody."""
    if not who:
        return None
    name_condition = Q(username__icontains=who) | Q(first_name__icontains=who) | Q(last_name__icontains=who)
    # A single letter fits everybody: the statement about their events stays small
    ids = User.objects.filter(name_condition).order_by("pk").values_list("pk", flat=True)[:MOST_PEOPLE]
    return [f"person:{pk}" for pk in ids]


def _page_rows_and_earlier_moment(rows: Sequence[Any]) -> tuple[list[Any], datetime | None]:
    """Return the rows of a page, newest first, and the instant before which there may be more. What happened at one
    instant stands on one page."""
    if len(rows) <= ON_A_PAGE:
        return list(rows), None
    # One moment back at least: where an instant has more rows than a page, it would never end
    floor: datetime = min(rows[ON_A_PAGE].at, rows[0].at - MOMENT)
    return [row for row in rows if row.at > floor], floor


@dataclass(frozen=True, slots=True)
class _EventRow:
    id: UUID
    at: datetime


def _event_ids_and_known_moments(
    projects: list[int], lines: Mapping[int, Line], filters: ActivityFilter, people: list[str] | None
) -> tuple[list[UUID], list[datetime | None]]:
    """Return the events of the page, and the instants down to which they are known."""
    chosen = OF_TASKS.get(filters.kind)
    if filters.kind and chosen is None:
        return [], []
    kinds = chosen[1] if chosen else [kind for _label, events in OF_TASKS.values() for kind in events]
    values = {
        "projects": projects,
        "lines": list(lines) if filters.line else None,
        "since": filters.since or "-infinity",
        "until": filters.until or "infinity",
        "most": SCANNED,
    }
    scanned = fetch(RECENT_EVENTS, values)
    floor = min(scanned[SCANNED][1], scanned[0][1] - MOMENT) if len(scanned) > SCANNED else None
    # Here and not in SQL: by time alone one index serves every choice of kinds and people
    kind_set, actors = frozenset(kinds), None if people is None else frozenset(people)
    rows = [
        _EventRow(event_id, at)
        for event_id, at, kind, actor in scanned
        if kind in kind_set and (actors is None or actor in actors) and (floor is None or at > floor)
    ]
    page, page_floor = _page_rows_and_earlier_moment(rows)
    return [row.id for row in page], [page_floor or floor]


def _publication_events(
    lines: Mapping[int, Line], filters: ActivityFilter, people: list[str] | None
) -> list[LineEvent]:
    if filters.kind not in ("", VERSIONS):
        return []
    rows = LineEvent.objects.filter(line__in=lines, kind=LineEvent.RecordKind.PUBLISHED)
    rows = rows.filter(_period_condition(filters)).select_related("version", "by")
    if people is not None:
        rows = rows.filter(by__in=[int(actor.partition(":")[2]) for actor in people])
    # Documents may be large, and of them only the number is shown
    rows = rows.defer("version__document", "draft", "draft_text", "data")
    return list(rows.order_by("-at", "-pk")[: ON_A_PAGE + 1])


def _administrative_acts(
    projects: Iterable[int], filters: ActivityFilter, people: list[str] | None
) -> list[AdministrativeAct]:
    groups = [acts for key, (_label, acts) in OF_PROJECTS.items() if filters.kind in ("", key)]
    # Members are of no line, and a pause of a project is one of each line: they are named where no line is chosen
    if not groups or filters.line:
        return []
    kinds = [kind for acts in groups for kind in acts]
    rows = AdministrativeAct.objects.filter(_period_condition(filters), project__in=projects, kind__in=kinds)
    if people is not None:
        # Of a person also that others let them in, or took their roles
        rows = rows.filter(Q(actor__in=people) | Q(about__in=people))
    return list(rows.order_by("-at", "-pk")[: ON_A_PAGE + 1])


def _period_condition(filters: ActivityFilter) -> Q:
    condition = Q(at__gt=filters.since) if filters.since else Q()
    return condition & Q(at__lte=filters.until) if filters.until else condition


def _activity_items_of_tasks(
    events: Iterable[Event],
    projects: Mapping[int, Project],
    lines: Mapping[int, Line],
    names: Mapping[str, actor_names.ActorLabel],
) -> list[ActivityItem]:
    events_by_task: defaultdict[int, list[Event]] = defaultdict(list)
    for event in events:
        events_by_task[event.task_id].append(event)
    items = []
    for of_task in events_by_task.values():
        task = of_task[0].task
        task.project, line = projects[task.project_id], lines[task.line_id]
        of_task.sort(key=attrgetter("seq"))
        items += [
            ActivityItem(item.at, task.project, item.by, item.by_kind, line.name, line.key, task, item)
            for item in feed_items_oldest_first(task, of_task, names)
        ]
    return items


def _activity_item_of_publication(
    row: LineEvent, projects: Mapping[int, Project], lines: Mapping[int, Line]
) -> ActivityItem:
    line = lines[row.line_id]
    who = (str(row.by), "person") if row.by else ("Gateline", "engine")
    number = row.version.number if row.version else 0
    sentence = f"Published v{number}"
    return ActivityItem(
        row.at, projects[line.project_id], *who, line.name, line.key, sentence=sentence, icon="version"
    )


def _activity_item_of_administrative_act(
    act: AdministrativeAct, projects: Mapping[int, Project], names: Mapping[str, actor_names.ActorLabel]
) -> ActivityItem:
    who = names[act.actor]
    sentence = f"{ACTS[act.kind]}: {act.name}" if act.name else ACTS[act.kind]
    icon = "pause" if act.kind in OF_PROJECTS[PAUSES][1] else "actor-people"
    return ActivityItem(
        act.at, projects[act.project_id or 0], who.name, who.kind, sentence=sentence, icon=icon
    )
