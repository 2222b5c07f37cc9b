"""Scenarios over HTTP: the tests of a line (docs/testing.md)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import HttpResponse
from django.utils import timezone
from ninja import Body
from pydantic import BaseModel, Field, StrictInt

from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, LINE, Operations, action_required, costly_operation, saving_in_turn
from pipelines.api.schemas import StrictBody
from pipelines.formats import scenarios as texts
from pipelines.lines import scenarios
from pipelines.models import Line, Scenario
from pipelines.routing.simulate.scenario import MAX_SCENARIOS
from pipelines.routing.simulate.scenario_generation import MissingScenario

router = Operations("scenarios", CHANGES)
SCENARIOS = LINE + "/scenarios"


class ScenarioOut(BaseModel):
    """`runs`: the last run against `draft` and against `live`."""

    key: str
    name: str
    source: str
    at: datetime
    made_by: str | None
    document: dict[str, Any]
    runs: dict[str, Any]

    @classmethod
    def of(cls, row: Scenario) -> ScenarioOut:
        return cls(
            key=row.key,
            name=row.name,
            source=row.source,
            at=row.at,
            made_by=str(row.made_by) if row.made_by else None,
            document=row.document,
            runs={mark: {k: v for k, v in run.items() if k != "shown"} for mark, run in row.runs.items()},
        )


class RunIn(StrictBody):
    """`against`: `live`, `draft` or the number of a version; absent is live, or the draft where nothing is live.
    `keys`: which scenarios, absent is all. `traces`: with every step's decision, trace and position."""

    against: Literal["live", "draft"] | StrictInt | None = None
    keys: list[str] | None = Field(default=None, max_length=MAX_SCENARIOS)
    traces: bool = False


class ReportOut(BaseModel):
    line: str
    holds: bool
    scenarios: list[dict[str, Any]]
    coverage: dict[str, Any]


class GenerateIn(StrictBody):
    against: Literal["live", "draft"] | StrictInt | None = None


class GeneratedOut(BaseModel):
    scenarios: list[ScenarioOut]
    missing: tuple[MissingScenario, ...]
    stopped: bool
    """Before every rule was searched for to the end: a request searches for ten seconds."""


@router.get(SCENARIOS, response=list[ScenarioOut], summary="List scenarios")
def index(request: Request, line: Line) -> list[ScenarioOut]:
    return [ScenarioOut.of(row) for row in line.scenarios.select_related("made_by").order_by("key")]


@router.get(SCENARIOS + ".yaml", response={200: None}, summary="Scenarios as one YAML list")
def export(request: Request, line: Line) -> HttpResponse:
    """The file that `python -m pipelines.routing simulate` reads."""
    text = texts.dumps(scenarios.read_script(row.document) for row in line.scenarios.order_by("key"))
    return HttpResponse(text, content_type="application/yaml; charset=utf-8")


@router.put(SCENARIOS + ".yaml", response=list[ScenarioOut], summary="Put several scenarios")
@action_required("design")
@saving_in_turn
def put_several(request: Request, line: Line) -> list[ScenarioOut]:
    """The body is a YAML or JSON list. Each takes the place of the one with its key; the others stay."""
    user = require_person(request.auth)
    rows = scenarios.store_scenarios(line, texts.loads(request.body), user, timezone.now())
    return [ScenarioOut.of(row) for row in rows]


@router.put(SCENARIOS + "/{key}", response=ScenarioOut, summary="Put a scenario")
@action_required("design")
def put(request: Request, line: Line, key: str, payload: Body[dict[str, Any]]) -> ScenarioOut:
    """Store a scenario, in place of the one with this key, if there is one."""
    user = require_person(request.auth)
    return ScenarioOut.of(
        scenarios.store_scenario(line, {"key": key, **payload}, user, timezone.now(), key=key)
    )


@router.delete(SCENARIOS + "/{key}", response={204: None}, summary="Delete a scenario")
@action_required("design")
def delete(request: Request, line: Line, key: str) -> None:
    scenarios.delete_scenario(line, key, require_person(request.auth))


@router.post(LINE + "/run-scenarios", response=ReportOut, summary="Run scenarios")
@costly_operation
def run(request: Request, line: Line, payload: RunIn) -> ReportOut:
    """Walks the line; no task is touched. What became of each is kept for the draft and the live version."""
    report = scenarios.run_stored_scenarios(
        line, _target_or_default(payload.against), payload.keys, now=timezone.now()
    )
    return ReportOut(**report.to_dict(traces=payload.traces))


@router.post(
    LINE + "/generate-scenarios",
    response=GeneratedOut,
    summary="Generate one scenario per rule",
)
@action_required("design")
@costly_operation
def generate(request: Request, line: Line, payload: GenerateIn) -> GeneratedOut:
    """Generate scenarios in place of those that were generated before. `missing` names the rules that have
    none, and why."""
    user = require_person(request.auth)
    rows, generated = scenarios.stored_and_generated_scenarios(
        line,
        user,
        timezone.now(),
        _target_or_default(payload.against),
        scenarios.condition_until_generating_time_ends(),
    )
    return GeneratedOut(
        scenarios=[ScenarioOut.of(row) for row in rows],
        missing=generated.missing,
        stopped=generated.stopped,
    )


def _target_or_default(target: str | int | None) -> str | int:
    return "" if target is None else target
