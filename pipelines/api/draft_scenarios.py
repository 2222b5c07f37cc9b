"""The scenarios of a line beside its canvas over HTTP: listed, run against what is drawn, generated, kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from pydantic import BaseModel, Field

from pipelines.api.auth import Request, require_person
from pipelines.api.drafts import DRAFT
from pipelines.api.lookup import COSTS, Operations, action_required, costly_operation, saving_in_turn
from pipelines.api.schemas import StrictBody
from pipelines.api.walks import WalkIn, walk_scenario
from pipelines.engine.core import payload as payloads
from pipelines.errors import Invalid
from pipelines.lines import scenarios
from pipelines.lines.scenarios import DRAFT as DRAFT_MARK
from pipelines.lines.scenarios import DraftUnreadable, ScenarioSubject
from pipelines.models import Line, Scenario
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences.names import gate_name, station_name
from pipelines.routing.simulate.coverage import Coverage
from pipelines.routing.simulate.report import ScenarioReport
from pipelines.routing.simulate.run import (
    ScenarioResult,
    expectation_of_same_walk,
    run_scenario_until_refused,
)
from pipelines.routing.simulate.scenario_generation import MissingScenario

router = Operations("scenarios", COSTS)
SCENARIOS = DRAFT + "/scenarios"
MAX_ROWS = 500


class DocumentIn(StrictBody):
    """`document`: what is drawn, stored or not."""

    document: dict[str, Any]


class SaveScenarioIn(WalkIn):
    """A walk to be kept. `key`: the scenario in whose place; none for a new one."""

    name: str = Field(min_length=1, max_length=200)
    key: str = Field(default="", max_length=64)


class RunOut(BaseModel):
    """`current`: of the draft as it is now."""

    holds: bool
    failures: list[str]
    current: bool


class DraftScenarioOut(BaseModel):
    key: str
    name: str
    source: str
    steps: int
    document: dict[str, Any]
    run: RunOut | None


class CoverageOut(BaseModel):
    """`rules`: what became of each in the tests."""

    rules: dict[str, str]
    taken: int
    all: int
    percent: float
    words: list[str]


class DraftScenariosOut(BaseModel):
    """Scenarios with their last runs, and of how many of `total`. `failed` and `at` where they were run just
    now."""

    scenarios: list[DraftScenarioOut]
    total: int
    coverage: CoverageOut | None
    failed: int | None
    at: str


class DraftGeneratedOut(DraftScenariosOut):
    """`missing`: rules that have none, and why; `stopped`: the time was over before every rule was searched for to the
    end."""

    missing: tuple[MissingScenario, ...]
    stopped: bool
    made: int


class SavedScenarioOut(DraftScenariosOut):
    key: str
    name: str


@router.get(SCENARIOS, response=DraftScenariosOut, summary="Scenarios beside the canvas")
@costly_operation
def index(request: Request, line: Line) -> dict[str, Any]:
    """Return the scenarios with their last runs against the stored draft."""
    return _scenarios_body(line)


@router.post(SCENARIOS + "/run", response=DraftScenariosOut, summary="Run all against what is drawn")
@costly_operation
def run_all(request: Request, line: Line, payload: DocumentIn) -> dict[str, Any]:
    """409: it is no line. 400: there are too many steps for one request."""
    subject = _document_subject(line, payload.document)
    report = scenarios.run_stored_and_store_results(line, subject, now=timezone.now())
    return _scenarios_body(line, subject, report)


@router.post(
    SCENARIOS + "/generate",
    response=DraftGeneratedOut,
    summary="Generate one per rule of what is drawn",
)
@action_required("design")
@costly_operation
def generate(request: Request, line: Line, payload: DocumentIn) -> dict[str, Any]:
    """Generate scenarios in place of those generated before, and run all."""
    user, now = require_person(request.auth), timezone.now()
    subject = _document_subject(line, payload.document)
    rows, made = scenarios.stored_and_generated_scenarios_of_subject(
        line, subject, user, now, scenarios.condition_until_generating_time_ends()
    )
    report = scenarios.run_stored_and_store_results(line, subject, now=now)
    more = {
        "missing": made.missing,
        "stopped": made.stopped,
        "made": len(rows),
    }
    return {**_scenarios_body(line, subject, report), **more}


@router.post(SCENARIOS, response=SavedScenarioOut, summary="Keep a walk as a scenario")
@action_required("design")
@saving_in_turn
def keep_walk_as_scenario(request: Request, line: Line, payload: SaveScenarioIn) -> dict[str, Any]:
    """It expects what the walk showed. 400: its steps cannot be walked to their end."""
    subject = _document_subject(line, payload.document)
    key = payload.key or scenarios.unused_scenario_key(line, payload.name)
    result = run_scenario_until_refused(
        subject.parsed, walk_scenario(payload, payload.steps, key, payload.name)
    )
    if result.failures and len(result.steps) <= len(payload.steps):
        raise Invalid.at(f"steps[{max(len(result.steps) - 1, 0)}]", result.failures[0].message)
    document = {**result.scenario.to_dict(), "expect": expectation_of_same_walk(result).to_dict()}
    row = scenarios.store_scenario(line, document, require_person(request.auth), timezone.now(), key=key)
    return {"key": row.key, "name": row.name, **_scenarios_body(line)}


def _document_subject(line: Line, document: dict[str, Any]) -> ScenarioSubject:
    """Raises Invalid, DraftUnreadable."""
    payloads.checked_digest(document, "document")
    return scenarios.subject_of_document(line, document)


# What is answered


def _scenarios_body(
    line: Line, subject: ScenarioSubject | None = None, report: ScenarioReport | None = None
) -> dict[str, Any]:
    rows = list(line.scenarios.order_by("key")[:MAX_ROWS])
    ran = {result.scenario.key: result for result in report.results} if report else {}
    subject = subject or _draft_subject_or_none(line)
    coverage = report.coverage if report else subject and scenarios.stored_coverage(line, subject)
    return {
        "scenarios": [_scenario_row(line, row, ran.get(row.key)) for row in rows],
        "total": line.scenarios.count(),
        "coverage": _coverage_data(coverage, subject.parsed) if coverage and subject else None,
        "failed": report.failed_count if report else None,
        "at": timezone.now().isoformat() if report else "",
    }


def _draft_subject_or_none(line: Line) -> ScenarioSubject | None:
    try:
        return scenarios.scenario_subject(line, DRAFT_MARK)
    except DraftUnreadable:
        return None


def _scenario_row(line: Line, row: Scenario, result: ScenarioResult | None) -> dict[str, Any]:
    return {
        "key": row.key,
        "name": row.name,
        "source": row.get_source_display(),
        "steps": len(row.document.get("steps", ())),
        "document": row.document,
        "run": _run_data(result) if result else _last_run_data_or_none(line, row),
    }


def _run_data(result: ScenarioResult) -> dict[str, Any]:
    failures = [str(failure) for failure in result.failures[: scenarios.SHOWN_FAILURES]]
    return {"holds": result.holds, "failures": failures, "current": True}


def _last_run_data_or_none(line: Line, row: Scenario) -> dict[str, Any] | None:
    """The last run against the stored draft; `current`: of the draft as it is now."""
    last = scenarios.last_run_against_or_none(row, DRAFT_MARK, line.draft_number)
    if last is None:
        return None
    return {"holds": last.holds, "failures": list(last.failures), "current": last.current}


def _coverage_data(coverage: Coverage, parsed: ParsedLine) -> dict[str, Any]:
    """`rules`: what became of each in the tests."""
    exercised = coverage.shown
    states = {
        rule: "taken" if rule in exercised.taken else "tested" if rule in exercised.tested else "never"
        for rule in coverage.rules
    }
    return {
        "rules": states,
        "taken": sum(state == "taken" for state in states.values()),
        "all": len(states),
        "percent": round(coverage.percent, 1),
        "words": _gap_sentences(coverage, parsed),
    }


def _gap_sentences(coverage: Coverage, parsed: ParsedLine) -> Sequence[str]:
    facts = coverage.to_dict()
    stations = [station_name(parsed, key) for key in facts["stations"]["never_visited"]]
    gates = [gate_name(parsed, key) for key in facts["gates"]["never_opened"]]
    return [
        *([f"Stations that no scenario reaches: {', '.join(stations)}"] if stations else []),
        *([f"Gates that no scenario opens: {', '.join(gates)}"] if gates else []),
    ]
