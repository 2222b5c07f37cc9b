"""A task as it was at one moment of its past: its events folded to there (`engine.core.fold`), with the runs and gate
visits that there were. What the page shows of now shows that, too."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

from django.db.models import Q

from pipelines.engine.core.fold import row_folded_from_events
from pipelines.models import (
    ENDED,
    WAITING_FOR_INPUT,
    Event,
    GateVisit,
    Job,
    LineVersion,
    Pause,
    Status,
    Task,
    Token,
    VisitCommit,
)
from pipelines.queries.observed_facts import FactRow, latest_fact_rows
from pipelines.queries.pauses import PauseView, pause_views_of_task
from pipelines.queries.task_view import TaskView
from pipelines.routing.sentences.names import gate_name, station_name, target_name
from pipelines.web.changes.tree_comparison import CountedFile, compare_trees
from pipelines.web.changes.trees import TaskTrees
from pipelines.web.lines.drawing import LineDrawing, drawing_of_version
from pipelines.web.tasks.task_path import policy_endings, task_path_json_text
from pipelines.web.tasks.task_tabs import OutputEntry, output_entries

ENTERING = ("task.submitted", "token.moved", "token.forked", "token.joined")
"""Events after which a position has just come to its station."""
MOST_FILES = 50
UNDECIDED = {
    "state": GateVisit.State.OPEN,
    "word": "",
    "route": "",
    "reason": "",
    "decided_at": None,
    "decided_by_id": None,
    "overridden": False,
}
UNREPORTED = {"outcome": None, "result": "", "exit_code": None, "summary": "", "ended_at": None}


def view_at(view: TaskView, number: int) -> TaskView:
    """Return the task as it was after its event of this number, and after what happened at the same instant with it."""
    last = next(step for step in moment_numbers(view.events) if step >= number)
    events = view.events[:last]
    instant = events[-1].at
    folded = row_folded_from_events(events)
    task = _past_task(view, folded, instant)
    past = TaskView(task, instant)
    jobs = [_past_job(job, events, instant) for job in view.jobs if job.created_at <= instant]
    done = {job.pk for job in jobs if job.state == Job.State.DONE}
    vars(past).update(
        events=events,
        jobs=jobs,
        tokens=_past_tokens(view.tokens, task, folded["tokens"], events),
        gate_visits=[_past_visit(visit, instant) for visit in view.gate_visits if visit.opened_at <= instant],
        artifacts=[artifact for artifact in view.artifacts if artifact.job_id in done],
        decision_ids=list(dict.fromkeys(str(event.decision_id) for event in events if event.decision_id)),
        pauses=[] if task.status in ENDED else _past_pauses(view.task, instant),
        # What only the present knows
        preparing={},
    )
    vars(task)["display_status"] = _display_status(task.status, past)
    return past


def _past_task(view: TaskView, folded: Mapping[str, Any], instant: datetime) -> Task:
    task = copy.copy(view.task)
    pinned_id = folded["pinned_id"] or _first_version_number_or_none(view.events) or task.pinned_id
    if pinned_id != task.pinned_id:
        task.pinned = LineVersion.objects.defer("document").get(pk=pinned_id)
    for name, value in folded.items():
        if name not in ("tokens", "pinned_id"):
            setattr(task, name, value)
    task.changed_at = instant
    return task


def _first_version_number_or_none(events: Iterable[Event]) -> int | None:
    """Return the version before the first migration, for a task whose start did not say it."""
    return next((event.data.get("was") for event in events if event.kind == "task.migrated"), None)


def _past_tokens(
    tokens: Sequence[Token], task: Task, states: Mapping[int, Mapping[str, Any]], events: Iterable[Event]
) -> list[Token]:
    entered: dict[int, datetime] = {}
    changed: dict[int, datetime] = {}
    waits: dict[int, dict[str, Any]] = {}
    for event in events:
        for state in event.data.get("tokens", ()):
            token_id = state["id"]
            if token_id not in entered or (event.kind in ENTERING and event.token_id == token_id):
                entered[token_id] = task.created_at if event.kind == "task.submitted" else event.at
            changed[token_id] = event.at
            joins = {"join": state["join"]} if "join" in state else {}
            waits[token_id] = {**event.data.get("wait", {}), **joins}
    past = []
    for token in tokens:
        if token.pk in states:
            row = copy.copy(token)
            for name, value in states[token.pk].items():
                setattr(row, name, value)
            row.task, row.wait = task, waits[token.pk]
            row.entered_at, row.changed_at = entered[token.pk], changed[token.pk]
            row.ended_at = changed[token.pk] if row.status in ENDED else None
            past.append(row)
    return past


def _past_job(job: Job, events: Sequence[Event], instant: datetime) -> Job:
    if job.ended_at is not None and job.ended_at <= instant:
        return job
    row = copy.copy(job)
    for name, value in UNREPORTED.items():
        setattr(row, name, value)
    row.state, row.started_at, row.attempt = Job.State.QUEUED, None, 1
    for event in events:
        for ref in [*event.data.get("jobs", ()), *([event.data["job"]] if "job" in event.data else ())]:
            if ref["id"] == job.pk:
                begins = ref["state"] == Job.State.RUNNING
                row.started_at = (row.started_at or event.at) if begins else None
                row.state, row.attempt = ref["state"], ref["attempt"]
    return row


def _past_visit(visit: GateVisit, instant: datetime) -> GateVisit:
    if visit.decided_at is not None and visit.decided_at <= instant:
        return visit
    row = copy.copy(visit)
    for name, value in UNDECIDED.items():
        setattr(row, name, value)
    return row


def _past_pauses(task: Task, instant: datetime) -> list[Pause]:
    """Return the pauses that were in force over the task, oldest first."""
    pauses = Pause.of_task(task).filter(Q(ended_at=None) | Q(ended_at__gt=instant), since__lte=instant)
    return list(pauses.select_related("by").order_by("since"))


def _display_status(status: str, task_view: TaskView) -> str:
    """Return the status that was shown, as `models.tasks_with_display_status` says it of now."""
    by_hand = any(job.kind == "manual" and job.state == Job.State.RUNNING for job in task_view.jobs)
    if status in (Status.RUNNING, Status.EVALUATING) and by_hand:
        return WAITING_FOR_INPUT
    if status != Status.BLOCKED:
        return status
    living = [token for token in task_view.tokens if token.status not in ENDED and not token.forked]
    statuses = {WAITING_FOR_INPUT if token.asks_question else token.status for token in living}
    foremost = (Status.BLOCKED, Status.HELD, Status.AWAITING_REVIEW)
    return next((str(word) for word in foremost if word in statuses), WAITING_FOR_INPUT)


@dataclass(frozen=True, slots=True)
class PastFiles:
    """Files of one position: at the station with this key and name. `more`: how many changed files are not listed."""

    station: str
    place: str
    digest: str
    changed: Sequence[CountedFile]
    more: int


@dataclass(frozen=True, slots=True)
class DisplayedMoment:
    """Display of a task at one moment. `number`: of the last event that counts; `step`: the place of that among the
    moments that there are by now, `steps`."""

    view: TaskView
    number: int
    step: int
    steps: Sequence[int]
    event: str
    places: Sequence[tuple[str, str]]
    facts: Sequence[FactRow]
    outputs: Sequence[OutputEntry]
    files: Sequence[PastFiles]
    commit: VisitCommit | None
    path: str
    drawing: LineDrawing

    @property
    def at(self) -> datetime:
        return self.view.now

    @property
    def total(self) -> int:
        """Number of events that there are by now."""
        return self.steps[-1]

    @property
    def pauses(self) -> list[PauseView]:
        """Pauses under which it was as a whole, or where it stood."""
        places = {
            token.station for token in self.view.tokens if token.status not in ENDED and not token.forked
        }
        rows = [row for row in self.view.pauses if not row.station or row.station in places]
        return pause_views_of_task(rows, self.view.line)


def moment_numbers(events: Sequence[Event]) -> list[int]:
    """Return the numbers of the events after which the task can be looked at: events of one instant are one moment."""
    return [event.seq for event, later in zip_longest(events, events[1:]) if not later or later.at > event.at]


def displayed_moment(view: TaskView, number: int) -> DisplayedMoment:
    """Return what is shown of the moment of this event."""
    past = view_at(view, number)
    steps = moment_numbers(view.events)
    endings = policy_endings(past)
    last = past.events[-1]
    return DisplayedMoment(
        past,
        last.seq,
        steps.index(last.seq) + 1,
        steps,
        next((item.text or f"{item.source} → {item.target}" for item in past.history), ""),
        _status_and_place_of_positions(past),
        latest_fact_rows(past.line, past.jobs),
        output_entries(past),
        _past_files(past),
        _last_commit_or_none(past),
        _stopped_path(task_path_json_text(past, endings)),
        drawing_of_version(past.task.pinned, past.task.project_id, endings),
    )


def _stopped_path(path: str) -> str:
    """Return the path without what goes on in the browser: how long it stood anywhere then stays as it was."""
    marks = json.loads(path)
    for mark in (*marks["places"].values(), *marks["gates"].values()):
        mark["since"] = mark["ticking"] = ""
    return json.dumps(marks)


def _status_and_place_of_positions(task_view: TaskView) -> list[tuple[str, str]]:
    """Return status and place of each position: its open gates, else its station, or the end."""
    places = []
    for token in task_view.tokens:
        if token.forked or token.joined_id:
            continue
        gates = [
            gate_name(task_view.line, visit.gate)
            for visit in task_view.open_visits
            if visit.token_id == token.pk
        ]
        place = (
            target_name(task_view.line, token.end)
            if token.end
            else station_name(task_view.line, token.station)
        )
        places.append((token.status, ", ".join(gates) or place))
    return places


def _past_files(task_view: TaskView) -> list[PastFiles]:
    """Return the files of each branch that had any, once where several had the same."""
    if not task_view.line.workspace:
        return []
    trees, files = TaskTrees(task_view.task.pk), {}
    for token in task_view.tokens:
        if token.forked or token.joined_id:
            continue
        tree = trees.tree_at(token.pk, task_view.now)
        if tree.digest and tree.digest not in files:
            changed = compare_trees(trees.start_tree(token.pk, task_view.now), tree).files
            files[tree.digest] = PastFiles(
                token.station,
                station_name(task_view.line, token.station),
                tree.digest,
                changed[:MOST_FILES],
                max(0, len(changed) - MOST_FILES),
            )
    return list(files.values())


def _last_commit_or_none(task_view: TaskView) -> VisitCommit | None:
    done = [job.pk for job in task_view.jobs if job.state == Job.State.DONE]
    return VisitCommit.objects.filter(job__in=done).order_by("-job__ended_at", "-job_id").first()
