"""Lookups about a batch of consequences before anything is written: one round trip for all of it. Most of it
finds nothing, and is read in the cheapest way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, UUIDField

from pipelines.engine.moves.absences import StandIns, absences_query, stand_ins_from_rows
from pipelines.engine.moves.entitlement import EntitledPerson, people_from_rows, people_query
from pipelines.models import GateVisit
from pipelines.models.plumbing.compiled_queries import BoundQuery, array_field, server_prepared
from pipelines.models.plumbing.statements import fetch_bound
from pipelines.ports.observers import (
    Consequence,
    GateClosed,
    GateDecided,
    GateOpened,
    TaskEnded,
    TaskMoved,
    TaskWaits,
)
from reviews.models.statements import KNOWN_FOLLOWERS

HEARD_BY_FOLLOWERS = (TaskMoved, TaskEnded, TaskWaits, GateDecided)


class Lookups:
    """`followed`: ids of the follows of tasks to which something happened, and of their lines. `connected`: whether a
    channel hears of a project in which a gate opened; `messaged`, `mailed`: whether one, or somebody by mail, was told
    of a gate that is over. `visits`: those that opened, as they are now; `people` and `away`: by the projects of these,
    the members and who stands in for whom."""

    followed: Sequence[int] = ()
    connected = messaged = mailed = False
    visits: Sequence[GateVisit] = ()

    def __init__(self, batch: Sequence[Consequence]) -> None:
        self.people: dict[int, dict[int, EntitledPerson]] = {}
        self.away: Mapping[int, StandIns] = {}
        tasks = list({event.task_id for event in batch if isinstance(event, HEARD_BY_FOLLOWERS)})
        opened = [event for event in batch if isinstance(event, GateOpened)]
        over = [event.visit_id for event in batch if isinstance(event, GateDecided | GateClosed)]
        if not (tasks or opened or over):
            return
        projects = list({event.project_id for event in opened})
        questions: list[BoundQuery[Any]] = [BoundQuery(KNOWN_FOLLOWERS, [tasks, tasks, projects, over, over])]
        if opened:
            visits = _visits.bind(visits=[event.visit_id for event in opened])
            questions += [visits, people_query(projects), absences_query(projects)]
        [(self.followed, self.connected, self.messaged, mailed)], *rest = fetch_bound(*questions)
        # Of what opened just now a mail is written after this was asked.
        both: set[UUID] = {event.visit_id for event in opened} & {*over}
        self.mailed = mailed or bool(both)
        if opened:
            self.visits, members, away = rest
            self.people = people_from_rows(projects, members)
            self.away = stand_ins_from_rows(projects, away)


@server_prepared(visits=array_field(UUIDField()))
def _visits(visits: Any) -> QuerySet[GateVisit, GateVisit]:
    """Return the visits with no more than whom they ask depends on, and what is reported of them."""
    visit_rows = GateVisit.objects.filter(pk__among=visits).select_related("task", "job", "asked_by")
    needed = (
        "task_id",
        "gate",
        "state",
        "producers",
        "opened_at",
        "due_at",
        "paused_at",
        "job_id",
        "asked_by_id",
    )
    of_task = ("task__project_id", "task__line_id", "task__requester_id", "task__requesters")
    return visit_rows.only(*needed, *of_task, "job__reported_by", "asked_by__pinned_id").order_by(
        "task_id", "position"
    )
