"""Trial runs of one station from the editor, over HTTP: its possible inputs, its log while it runs, its
outcome."""

from __future__ import annotations

import json
from typing import Any

from ninja import Query
from pydantic import BaseModel, Field

from pipelines.api.auth import Request, require_person
from pipelines.api.drafts import DRAFT
from pipelines.api.lookup import COSTS, Operations, action_required, costly_operation
from pipelines.api.schemas import StrictBody
from pipelines.lines import trials
from pipelines.lines.trials import TrialRequest
from pipelines.models import Job, Line, StationTrial
from pipelines.routing.basics.hidden_characters import escape_hidden, escape_hidden_json
from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.work.logs import LogLine

router = Operations("drafts", COSTS)
ADDRESS = DRAFT + "/trials"
LINES = 500
"""Lines of the log in one answer."""


class TrialIn(StrictBody):
    """`document`: what is drawn, stored or not. `run`: the recorded run of the station whose inputs, context and files
    it gets; then `inputs` and `context` are not read."""

    document: dict[str, Any]
    station: str = Field(max_length=200)
    inputs: dict[str, Any] = Field(default_factory=dict)
    context: dict[str, Any] = Field(default_factory=dict)
    run: int | None = Field(default=None, ge=1, le=2**63 - 1)


class TrialOut(BaseModel):
    """`lines`: of its log, from the asked line on, and `next` where to go on. `complete`: nothing more will come.
    `why`: how it ended without an outcome; `result` is read from the outcome, `text` is the outcome as JSON."""

    id: int
    station: str
    state: str
    word: str
    why: str
    lines: list[LogLine]
    next: int
    complete: bool
    outcome: dict[str, Any] | None
    result: str
    summary: str
    text: str


class RecordedRunOut(BaseModel):
    run: int
    task: str
    title: str
    number: int
    result: str


class TrialChoicesOut(BaseModel):
    """`runs`: those that tasks recorded of the station, newest first. `newest`: what the asker ran last of it, within
    the hour."""

    runs: list[RecordedRunOut]
    newest: TrialOut | None


@router.get(ADDRESS, response=TrialChoicesOut, summary="What a station can be run with")
@action_required("design")
def list_trial_choices(
    request: Request, line: Line, station: str = Query("", max_length=200)
) -> TrialChoicesOut:
    newest = trials.newest_trial_or_none(line, require_person(request.auth), station)
    return TrialChoicesOut(
        runs=[
            _recorded_run_out(recorded_run)
            for recorded_run in trials.recorded_runs_newest_first(line, station)
        ],
        newest=_trial_out(newest, 0) if newest else None,
    )


@router.post(ADDRESS, response=TrialOut, summary="Run one station by itself")
@action_required("design")
@costly_operation
def start_trial(request: Request, line: Line, payload: TrialIn) -> TrialOut:
    """A worker runs it as it would for a task, for ten minutes at most, and no task has any part in it. 409: another
    one of yours is still going, or no worker could run it."""
    user = require_person(request.auth)
    trial_request = TrialRequest(
        payload.document, payload.station, payload.inputs, payload.context, payload.run
    )
    return _trial_out(trials.start_trial(line, user, trial_request), 0)


@router.get(ADDRESS + "/{trial}", response=TrialOut, summary="How it goes")
@action_required("design")
def read_trial(
    request: Request,
    line: Line,
    trial: int,
    position: int = Query(0, alias="from", ge=0, le=2**31 - 1),
) -> TrialOut:
    """Return the trial with the lines of its log from `from` on. 404: it is of somebody else, or older than
    an hour."""
    return _trial_out(
        trials.get_trial(line, require_person(request.auth), _id_or_zero_if_out_of_range(trial)), position
    )


@router.post(ADDRESS + "/{trial}/cancel", response=TrialOut, summary="Cancel it")
@action_required("design")
def cancel_trial(request: Request, line: Line, trial: int) -> TrialOut:
    return _trial_out(
        trials.cancel_trial(line, require_person(request.auth), _id_or_zero_if_out_of_range(trial)), 0
    )


def _id_or_zero_if_out_of_range(trial: int) -> int:
    # PostgreSQL would refuse what no bigint holds; 0 is the id of no row.
    return trial if 0 < trial < 2**63 else 0


def _trial_out(trial: StationTrial, position: int) -> TrialOut:
    # Behind the last newline there is no whole line yet.
    every = trial.log.split("\n")[:-1]
    lines = every[position : position + LINES]
    next_position = min(position, len(every)) + len(lines)
    outcome = trial.outcome
    return TrialOut(
        id=trial.pk,
        station=trial.station,
        state=trial.state,
        word=str(StationTrial.State(trial.state).label),
        why=str(trials.ENDED.get(trial.why, "")),
        lines=[_log_line_out(number, text) for number, text in enumerate(lines, start=position + 1)],
        next=next_position,
        complete=trial.ended_at is not None and next_position == len(every),
        outcome=outcome,
        result="" if outcome is None else derived_outcome(read_outcome(outcome)).result,
        summary=escape_hidden(str((outcome or {}).get("summary") or "")),
        text="" if outcome is None else escape_hidden_json(json.dumps(outcome, indent=2, ensure_ascii=False)),
    )


def _log_line_out(number: int, text: str) -> LogLine:
    seconds, _tab, log_text = text.partition("\t")
    return LogLine(number=number, seconds=float(seconds), text=escape_hidden(log_text))


def _recorded_run_out(job: Job) -> RecordedRunOut:
    task = job.task
    return RecordedRunOut(
        run=job.pk, task=task.name, title=escape_hidden(task.title), number=job.visit, result=job.result
    )
