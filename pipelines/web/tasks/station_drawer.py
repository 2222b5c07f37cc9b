"""The drawer of one station of a task: its runs, what the last one did, what was observed, and why it went on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import Http404

from pipelines.engine.core.unassigned import UNLEASED
from pipelines.models import Decision, Job, Purpose
from pipelines.queries import usage
from pipelines.queries.environment_preparation import PreparationProgress
from pipelines.queries.observed_facts import FactRow, facts_so_far
from pipelines.queries.positions import PositionView
from pipelines.queries.task_view import TaskView
from pipelines.queries.usage import Spending
from pipelines.queries.why import DecisionExplanation, explain_decision
from pipelines.web.lines.overview import work_text
from pipelines.web.tasks.steps import StepsView, steps_view
from pipelines.work import logs
from pipelines.work.logs import LogPart

LINES = 60
RUNS = 50


@dataclass(frozen=True, slots=True)
class StationRun:
    job: Job
    spending: Spending


@dataclass(frozen=True, slots=True)
class StationDrawer:
    """`told`: the steps of the last run, of an agent; of others `piece`, the end of its log, where it writes one.
    `run_key` names that run. `more`: how many runs are not listed."""

    key: str
    name: str
    does: str
    runs: Sequence[StationRun]
    more: int
    last: Job | None
    told: StepsView | None
    piece: LogPart | None
    facts: Sequence[FactRow]
    why: DecisionExplanation | None
    movable: PositionView | None
    made: PreparationProgress | None = None

    @property
    def run_key(self) -> str:
        return f"{self.last.pk}.{self.last.attempt}" if self.last else ""


def drawer_of(view: TaskView, key: str, current_run: str = "") -> StationDrawer:
    """Return the drawer of a station. Steps and log of the run `current_run`, already on the page, are not
    read: they go on by themselves. Raises Http404: the line has no such station."""
    station = view.line.stations_by_key.get(key)
    if station is None:
        raise Http404
    jobs = [job for job in view.jobs if job.station == key and job.purpose == Purpose.STATION]
    last = jobs[-1] if jobs else None
    anew = last if last and f"{last.pk}.{last.attempt}" != current_run else None
    steps = steps_view(anew, anew.attempt) if anew else None
    writes = anew is not None and steps is None and anew.kind not in UNLEASED
    piece = logs.tail(anew, anew.attempt, LINES) if anew and writes else None
    decided = (
        Decision.objects.filter(job_id=last.pk).order_by("-at", "-pk").select_related("pinned")
        if last
        else None
    )
    decision = decided.first() if decided is not None else None
    places = [position for position in view.positions if position.token.station == key and position.movable]
    return StationDrawer(
        key,
        station.name,
        work_text(station),
        [StationRun(job, usage.reported_spending(job.outcome)) for job in reversed(jobs[-RUNS:])],
        max(0, len(jobs) - RUNS),
        last,
        steps,
        piece,
        facts_so_far(view.line, [last] if last else []),
        explain_decision(decision, view.visits) if decision else None,
        places[0] if places else None,
        view.preparing.get(last.pk) if last else None,
    )
