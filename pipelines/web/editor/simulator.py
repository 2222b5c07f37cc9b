"""Test mode of the canvas: a document is walked through steps, and answered with where its tokens stand, which way
they took and why, and what may happen next. Nothing is stored; the browser holds only the steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST
from pydantic import BaseModel, Field, ValidationError

from pipelines.engine.core import payload
from pipelines.errors import Invalid
from pipelines.models import Project
from pipelines.queries import choosing, walks
from pipelines.queries.trace import checks_of
from pipelines.queries.why import explained
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.line import DocumentError, Line, Problem, read_line
from pipelines.routing.simulate.expect import StepRecord
from pipelines.routing.simulate.form import outcome_of
from pipelines.routing.simulate.run import ScenarioResult, run
from pipelines.routing.simulate.scenario import MAX_STEPS, ScenarioScript, read_scenario
from pipelines.web.lines import lines
from pipelines.web.shell.page import SignedIn, costly, in_project


class OutcomeFormRequest(BaseModel):
    """An outcome that is filled in field by field, as the step after `cursor`. `at`: the token's station."""

    at: str | None = None
    values: dict[str, Any]


class SimulationRequest(BaseModel):
    """`cursor`: after how many of the steps to stand; all of them where nothing is said. `expect`: of the stored
    scenario that is walked."""

    document: dict[str, Any]
    inputs: dict[str, Any] = Field(default_factory=dict)
    task: dict[str, Any] = Field(default_factory=dict)
    steps: list[Any] = Field(default_factory=list, max_length=MAX_STEPS)
    cursor: int | None = Field(default=None, ge=0, le=MAX_STEPS)
    form: OutcomeFormRequest | None = None
    expect: dict[str, Any] | None = None


@in_project("view")
@costly
@require_POST
def walk(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """200 with the state · 400 what cannot be steps, with the place · 422 a document that is no line, or an outcome
    whose fields are wrong, with the problems."""
    lines.get(request, project, line)
    try:
        asked = SimulationRequest.model_validate_json(request.body)
        payload.accept(asked.document, "document")
        said = stepped(asked)
        scenario = scenario_of(asked, said)
        parsed = read_line(asked.document, keep_faulty_rules=True)
    except ValidationError as fault:
        return refused(400, [problem(fault)])
    except DocumentError as fault:
        return refused(422, fault.problems)
    except Invalid as fault:
        return refused(400, fault.problems)
    except Malformed as fault:
        status = 422 if fault.path.startswith("form") else 400
        return refused(status, [Problem(fault.path, fault.message)])
    return JsonResponse(
        {**state(parsed, run(parsed, scenario), asked, said), "asked": scenario.to_dict()["steps"]}
    )


def refused(status: int, problems: Iterable[Problem]) -> JsonResponse:
    return JsonResponse({"problems": [each.to_dict() for each in problems]}, status=status)


def problem(fault: ValidationError) -> Problem:
    first = fault.errors(include_url=False, include_input=False)[0]
    return Problem(".".join(map(str, first["loc"])), str(first["msg"]))


def stepped(asked: SimulationRequest) -> list[Any]:
    """The steps, the one of the form among them: it stands after the cursor, and what came later is no more.
    Raises Malformed."""
    if asked.form is None:
        return asked.steps
    kept = asked.steps if asked.cursor is None else asked.steps[: asked.cursor]
    where = {"at": asked.form.at} if asked.form.at else {}
    return [*kept, {**where, "outcome": outcome_of(asked.form.values)}]


def scenario_of(
    asked: SimulationRequest, steps: list[Any], key: str = "walk", name: str = ""
) -> ScenarioScript:
    """Raises Malformed, Invalid."""
    document = {
        "key": key,
        "name": name,
        "inputs": asked.inputs,
        "task": asked.task,
        "steps": steps,
        "expect": asked.expect,
    }
    scenario = read_scenario(document)
    payload.accept(scenario.to_dict())
    return scenario


# What is answered


def state(line: Line, result: ScenarioResult, asked: SimulationRequest, steps: list[Any]) -> dict[str, Any]:
    """Where it stands after `cursor` steps. `timeline` and `refused` are of all steps; `failures`: what was expected
    otherwise, once the whole of a stored scenario was walked."""
    if result.walk is None:
        return {"timeline": [], "cursor": 0, "refused": {"step": 0, "message": result.failures[0].message}}
    told = result.steps
    wanted = len(told) - 1 if asked.cursor is None or asked.form else asked.cursor
    cursor = min(wanted, len(told) - 1)
    here = told[cursor]
    stopped = len(told) - 1 < len(steps)
    return {
        "timeline": walks.timeline(line, result.scenario.steps, told),
        "cursor": cursor,
        "refused": {"step": len(told), "message": result.failures[0].message} if stopped else None,
        "failures": [str(each) for each in result.failures]
        if asked.expect is not None and not stopped
        else [],
        "tokens": [
            {**token, **_next(line, here, index)} for index, token in enumerate(walks.tokens(line, here.walk))
        ],
        "status": here.walk.status,
        "word": walks.status_word(here.walk.status),
        "over": here.walk.over,
        "ways": walks.ways(told[: cursor + 1]),
        "visits": dict(here.walk.visits),
        "tested": sorted({entry.rule for each in told[: cursor + 1] for entry in _rules(each)}),
        "taken": sorted({rule for each in told[: cursor + 1] for rule in each.rules}),
        "why": why(line, here),
        "inputs": [_input(each) for each in line.inputs],
    }


def _rules(told: StepRecord) -> list[Any]:
    trace = told.decision.trace if told.decision else ()
    return [entry for entry in trace if entry.step == "rules" and entry.rule]


def _next(line: Line, here: StepRecord, index: int) -> dict[str, Any]:
    """What may happen to a token: nothing to one that has ended, or that has the station of an earlier one."""
    positions = here.walk.positions
    position = positions[index]
    before = [each.station for each in positions[:index] if each.here]
    if not position.here or position.station in before:
        return {"groups": [], "form": None}
    return {
        "groups": choosing.groups(line, here.walk, position),
        "form": choosing.form(line, position),
    }


def _input(field: Any) -> dict[str, Any]:
    return {
        "key": field.key,
        "label": field.label or field.key,
        "type": field.type,
        "choices": list(field.choices),
        "default": field.default,
    }


def why(line: Line, told: StepRecord) -> str:
    """The decision of a step, rule by rule, as HTML; "" where nothing was decided."""
    if told.decision is None:
        return ""
    said = told.decision.to_dict()
    return render_to_string(
        "editor/walk_why.html",
        {
            "why": explained(line, told.station, said, said["trace"]),
            "checks": checks_of(line, said["trace"]),
        },
    )
