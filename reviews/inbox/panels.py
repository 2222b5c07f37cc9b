"""The panels of Home that are about people: what needs its reader, what is late or stuck, and what they requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from pipelines.models import Task, User
from pipelines.queries.home import (
    MAX_ROWS,
    TroubledPosition,
    living_tokens_by_task,
    open_tasks_requested_by,
    station_names_of_tokens,
    troubled_positions,
)
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.web.lines.path_strip import PathStrip, task_path_strip
from reviews.inbox.item import InboxItem, InboxViewer
from reviews.inbox.kinds import OfferedItem

FIRST = 8
"""Items that Home shows of the inbox."""


@dataclass(frozen=True, slots=True)
class NeedRow:
    """`urgency`: overdue, next (the first that will be), or "" for what comes after it."""

    need: InboxItem
    verb: str
    urgency: str


@dataclass(frozen=True, slots=True)
class RequestedRow:
    """`place`: the names of the stations where it is."""

    task: Task
    place: str
    strip: PathStrip


@dataclass(frozen=True, slots=True)
class Panels:
    """`summary`: what there is of what needs the reader. `overdue`: how many of them are. `next_review`: the key of the
    gate visit to begin with. `requested_count`, `troubled_count`: how many there are, `8+` beyond what is listed.
    `operable`: ids of projects whose tasks the reader moves."""

    needs: Sequence[NeedRow]
    summary: str
    overdue: int
    next_review: str
    requested: Sequence[RequestedRow]
    requested_count: str
    troubled: Sequence[TroubledPosition]
    troubled_count: str
    operable: Collection[int]


def panels_of_home(
    user: User, viewer: InboxViewer, offered_items: Sequence[OfferedItem], now: datetime
) -> Panels:
    """Return the panels of Home. `offered_items`: all that needs this person, due first; their tasks are left
    out of the other panels."""
    # A task that needs them stands there already, with its button
    listed = {offered.need.task.pk for offered in offered_items}
    late = [offered for offered in offered_items if offered.need.due_at and offered.need.due_at < now]
    following = next(
        (offered for offered in offered_items if offered.need.due_at and offered.need.due_at >= now), None
    )
    requested = open_tasks_requested_by(user, viewer.visible_projects, listed, now)
    troubled = troubled_positions(viewer.visible_projects, now, listed)
    return Panels(
        [_need_row(offered, late, following) for offered in offered_items[:FIRST]],
        _item_counts_text(offered_items),
        sum(offered.need.kind != "late" for offered in late),
        next((offered.need.key for offered in offered_items if offered.need.kind == "gate"), ""),
        _requested_rows(requested[:MAX_ROWS]),
        _count_text(requested),
        troubled[:MAX_ROWS],
        _count_text(troubled),
        {project.pk for project in viewer.operable_projects},
    )


def _count_text(rows: Sequence[object]) -> str:
    return f"{MAX_ROWS}+" if len(rows) > MAX_ROWS else str(len(rows))


def _item_counts_text(offered_items: Sequence[OfferedItem]) -> str:
    """“3 reviews, 1 question”."""
    counted = Counter(offered.need.kind for offered in offered_items)
    reviews, questions = counted["gate"], counted["question"]
    others = len(offered_items) - reviews - questions
    words = [
        (reviews, singular_or_plural("%(n)s review", "%(n)s reviews", reviews)),
        (questions, singular_or_plural("%(n)s question", "%(n)s questions", questions)),
        (others, singular_or_plural("%(n)s other", "%(n)s others", others)),
    ]
    return ", ".join(text % {"n": number} for number, text in words if number)


def _need_row(offered: OfferedItem, late: Sequence[OfferedItem], following: OfferedItem | None) -> NeedRow:
    urgency = "overdue" if offered in late else "next" if offered is following else ""
    return NeedRow(offered.need, offered.verbs[0].label if offered.verbs else "", urgency)


def _requested_rows(tasks: Sequence[Task]) -> list[RequestedRow]:
    living = living_tokens_by_task(tasks)
    return [
        RequestedRow(
            task,
            station_names_of_tokens(task, living.get(task.pk, [])),
            task_path_strip(task, living.get(task.pk, [])),
        )
        for task in tasks
    ]
