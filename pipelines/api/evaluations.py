"""Evaluations over HTTP: past tasks that are given once more to a station as a draft has it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, Field

from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import COSTS, LINE, Operations, action_required, costly_operation
from pipelines.api.schemas import StrictBody
from pipelines.lines import evaluations, trials
from pipelines.lines.evaluations import EvaluationRequest
from pipelines.models import Line, LineEvaluation
from pipelines.queries.evaluations import EvaluatedTask, FigureSums, RunFigures, evaluation_result
from pipelines.routing.basics.hidden_characters import escape_hidden

router = Operations("lines", COSTS)
PATH = LINE + "/evaluations"


class EvaluationIn(StrictBody):
    """`document`: the line with what is to be tried; none: its draft. `check`: a station that runs a command on what
    the first one made. `tasks`: names of accepted tasks; none: the `last` of them. `cost_limit`: in dollars, of all
    runs."""

    station: str = Field(max_length=200)
    check: str = Field("", max_length=200)
    document: dict[str, Any] | None = None
    tasks: list[str] = Field(default_factory=list, max_length=1000)
    last: int = evaluations.USUAL_TASKS
    cost_limit: Decimal = Field(max_digits=12, decimal_places=4)


class EvaluationOut(BaseModel):
    id: int
    station: str
    check: str
    cost_limit: str
    by: str
    created_at: datetime
    stopped_at: datetime | None


class EvaluationFiguresOut(BaseModel):
    """Figures of one run and its check. `tests`: counts, by the report of the check, else of the station."""

    result: str
    check_result: str
    tests: dict[str, int] | None
    cost_usd: str | None
    seconds: float | None


class EvaluationSumsOut(BaseModel):
    """Sums over the tasks that have ended. `passed`: the station succeeded, and its check."""

    passed: int
    tests: dict[str, int]
    cost_usd: str | None
    seconds: float


class EvaluatedTaskOut(BaseModel):
    """Task of an evaluation. `before`: the first run of the station in it, of the `runs` until its change was
    accepted; `after`: the run of this evaluation. `same`: whether the files are those that were accepted, null where
    that is not known."""

    run: int
    task: str
    title: str
    state: str
    why: str
    runs: int
    before: EvaluationFiguresOut
    after: EvaluationFiguresOut
    same: bool | None
    files: int | None
    added: int | None
    removed: int | None


class EvaluationResultOut(EvaluationOut):
    state: str
    compared: int
    same: int
    before: EvaluationSumsOut
    after: EvaluationSumsOut
    tasks: list[EvaluatedTaskOut]


@router.get(PATH, response=list[EvaluationOut], summary="Evaluations of a line, newest first")
def list_evaluations(request: Request, line: Line) -> list[EvaluationOut]:
    return [EvaluationOut(**_evaluation_fields(row)) for row in evaluations.evaluations_of_line(line)]


@router.post(PATH, response={201: EvaluationResultOut}, summary="Give past tasks to a station again")
@action_required("publish")
@costly_operation
def start_evaluation(request: Request, line: Line, payload: EvaluationIn) -> EvaluationResultOut:
    """Its runs go one after another on the workers beside the database. No task has any part in them. 409: another one
    of the line is still running, or no worker could run it."""
    evaluation = evaluations.start_evaluation(
        line,
        require_person(request.auth),
        EvaluationRequest(
            line.draft if payload.document is None else payload.document,
            payload.station,
            payload.cost_limit,
            payload.check,
            payload.last,
            payload.tasks,
        ),
    )
    return _result_out(evaluation)


@router.get(PATH + "/{evaluation}", response=EvaluationResultOut, summary="Results of an evaluation")
def read_evaluation(request: Request, line: Line, evaluation: int) -> EvaluationResultOut:
    return _result_out(evaluations.get_evaluation(line, _storable_id_or_zero(evaluation)))


@router.post(PATH + "/{evaluation}/stop", response=EvaluationResultOut, summary="Stop an evaluation")
@action_required("publish")
def stop_evaluation(request: Request, line: Line, evaluation: int) -> EvaluationResultOut:
    user = require_person(request.auth)
    return _result_out(evaluations.stop_evaluation(line, user, _storable_id_or_zero(evaluation)))


def _storable_id_or_zero(evaluation: int) -> int:
    # PostgreSQL would refuse what no bigint holds; 0 is the id of no row.
    return evaluation if 0 < evaluation < 2**63 else 0


def _evaluation_fields(row: LineEvaluation) -> dict[str, Any]:
    return {
        "id": row.pk,
        "station": row.station,
        "check": row.check_station,
        "cost_limit": str(row.cost_limit.normalize()),
        "by": row.by.username,
        "created_at": row.created_at,
        "stopped_at": row.stopped_at,
    }


def _result_out(evaluation: LineEvaluation) -> EvaluationResultOut:
    result = evaluation_result(evaluation)
    return EvaluationResultOut(
        **_evaluation_fields(evaluation),
        state=result.state,
        compared=len(result.compared_tasks),
        same=result.same_count,
        before=_sums_out(result.sums_before),
        after=_sums_out(result.sums_after),
        tasks=[_task_out(task) for task in result.tasks],
    )


def _task_out(row: EvaluatedTask) -> EvaluatedTaskOut:
    compared = row.trial.comparison
    return EvaluatedTaskOut(
        run=row.trial.pk,
        task=row.source.task.name if row.source else "",
        title=escape_hidden(row.source.task.title) if row.source else "",
        state=row.trial.state,
        why=trials.ENDED.get(row.trial.why, ""),
        runs=row.runs,
        before=_figures_out(row.before),
        after=_figures_out(row.after),
        same=row.is_same,
        files=compared.get("files"),
        added=compared.get("added"),
        removed=compared.get("removed"),
    )


def _figures_out(figures: RunFigures) -> EvaluationFiguresOut:
    tests = figures.tests
    return EvaluationFiguresOut(
        result=figures.result,
        check_result=figures.check_result,
        tests=None if tests is None else {key: n for key, n in tests.items() if isinstance(n, int)},
        cost_usd=_amount_or_none(figures.spending.cost),
        seconds=figures.seconds,
    )


def _sums_out(sums: FigureSums) -> EvaluationSumsOut:
    return EvaluationSumsOut(
        passed=sums.passed,
        tests=dict(sums.tests),
        cost_usd=_amount_or_none(sums.spending.cost),
        seconds=sums.seconds,
    )


def _amount_or_none(cost: Decimal | None) -> str | None:
    return None if cost is None else str(cost)
