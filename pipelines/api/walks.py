"""Test mode of the canvas over HTTP: a document is walked through steps, and answered with where its tokens stand,
which way they took and why, and what may happen next. Nothing is stored; the caller holds the steps."""

from __future__ import annotations

from typing import Any

from django.template.loader import render_to_string
from pydantic import Field

from pipelines.api.auth import Request
from pipelines.api.lookup import COSTS, LINE, Operations, costly_operation
from pipelines.api.schemas import StrictBody
from pipelines.engine.core import payload as payloads
from pipelines.errors import Invalid
from pipelines.lines import scenarios
from pipelines.models import Line
from pipelines.queries import walk_choices, walk_words
from pipelines.queries.decision_trace import gate_check_results
from pipelines.queries.why import explain_answer
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.simulate.outcome_form import outcome_from_form
from pipelines.routing.simulate.run import ScenarioResult, run_scenario_until_refused
from pipelines.routing.simulate.scenario import MAX_STEPS, ScenarioScript
from pipelines.routing.simulate.state import StepRecord

router = Operations("scenarios", COSTS)


class OutcomeFormIn(StrictBody):
    """An outcome that is filled in field by field, as the step after `cursor`. `at`: the token's station."""

    at: str | None = None
    values: dict[str, Any]


class WalkIn(StrictBody):
    """`cursor`: after how many of the steps to stand; all of them where nothing is said. `expect`: of the stored
    scenario that is walked."""

    document: dict[str, Any]
    inputs: dict[str, Any] = Field(default_factory=dict)
    task: dict[str, Any] = Field(default_factory=dict)
    steps: list[Any] = Field(default_factory=list, max_length=MAX_STEPS)
    cursor: int | None = Field(default=None, ge=0, le=MAX_STEPS)
    form: OutcomeFormIn | None = None
    expect: dict[str, Any] | None = None


@router.post(LINE + "/walk", response=dict[str, Any], summary="Walk a document step by step")
@costly_operation
def walk_document(request: Request, line: Line, payload: WalkIn) -> dict[str, Any]:
    """The document is stored nowhere. 400: it is no line, or a step or a field of `form` is wrong, each with its
    place."""
    payloads.checked_digest(payload.document, "document")
    steps = walk_steps(payload)
    scenario = walk_scenario(payload, steps)
    parsed = read_line(payload.document, keep_faulty_rules=True)
    body = walk_state(parsed, run_scenario_until_refused(parsed, scenario), payload, steps)
    return {**body, "asked": scenario.to_dict()["steps"]}


def walk_steps(payload: WalkIn) -> list[Any]:
    """Return the steps of the walk. With a form, its outcome is the step after the cursor and all later steps
    are dropped. Raises Invalid."""
    if payload.form is None:
        return payload.steps
    previous_steps = payload.steps if payload.cursor is None else payload.steps[: payload.cursor]
    where = {"at": payload.form.at} if payload.form.at else {}
    try:
        return [*previous_steps, {**where, "outcome": outcome_from_form(payload.form.values)}]
    except Malformed as fault:
        raise Invalid.at(fault.path, fault.message) from fault


def walk_scenario(payload: WalkIn, steps: list[Any], key: str = "walk", name: str = "") -> ScenarioScript:
    """Raises Invalid."""
    document = {
        "key": key,
        "name": name,
        "inputs": payload.inputs,
        "task": payload.task,
        "steps": steps,
        "expect": payload.expect,
    }
    return scenarios.read_script(document)


# What is answered


def walk_state(line: ParsedLine, result: ScenarioResult, payload: WalkIn, steps: list[Any]) -> dict[str, Any]:
    """Return the state after `cursor` steps. `timeline` and `refused` are of all steps; `failures`: what was
    expected otherwise, once the whole of a stored scenario was walked."""
    if result.walk is None:
        return {"timeline": [], "cursor": 0, "refused": {"step": 0, "message": result.failures[0].message}}
    records = result.steps
    # records[0] is the beginning: there is one more of them than steps.
    requested_cursor = len(records) - 1 if payload.cursor is None or payload.form else payload.cursor
    cursor = min(requested_cursor, len(records) - 1)
    here = records[cursor]
    stopped = len(records) - 1 < len(steps)
    return {
        "timeline": walk_words.walk_timeline(line, result.scenario.steps, records),
        "cursor": cursor,
        "refused": {"step": len(records), "message": result.failures[0].message} if stopped else None,
        "failures": [str(failure) for failure in result.failures]
        if payload.expect is not None and not stopped
        else [],
        "tokens": [
            {**token, **_next_choices(line, here, index)}
            for index, token in enumerate(walk_words.position_rows(line, here.walk))
        ],
        "status": here.walk.status,
        "word": walk_words.status_word(here.walk.status),
        "over": here.walk.is_over,
        "ways": walk_words.counted_moves(line, records[: cursor + 1]),
        "visits": dict(here.walk.visits),
        "tested": sorted({entry.rule for record in records[: cursor + 1] for entry in _rule_trace(record)}),
        "taken": sorted({rule for record in records[: cursor + 1] for rule in record.rules}),
        "why": decision_html(line, here),
        "inputs": [_input_data(field) for field in line.inputs],
    }


def _rule_trace(record: StepRecord) -> list[Any]:
    trace = record.decision.trace if record.decision else ()
    return [entry for entry in trace if entry.step == "rules" and entry.rule]


def _next_choices(line: ParsedLine, record: StepRecord, index: int) -> dict[str, Any]:
    """Return what may happen to a token: nothing to one that has ended, or that has the station of an earlier
    one."""
    positions = record.walk.positions
    position = positions[index]
    before = [earlier.station for earlier in positions[:index] if earlier.is_active]
    if not position.is_active or position.station in before:
        return {"groups": [], "form": None}
    return {
        "groups": walk_choices.choice_groups(line, record.walk, position),
        "form": walk_choices.outcome_form_or_none(line, position),
    }


def _input_data(field: Any) -> dict[str, Any]:
    return {
        "key": field.key,
        "label": field.label or field.key,
        "type": field.type,
        "choices": list(field.choices),
        "default": field.default,
    }


def decision_html(line: ParsedLine, record: StepRecord) -> str:
    """The decision of a step, rule by rule, as HTML; "" where nothing was decided."""
    if record.decision is None:
        return ""
    decision = record.decision.to_dict()
    return render_to_string(
        "editor/walk_why.html",
        {
            "why": explain_answer(line, record.station, decision, decision["trace"]),
            "checks": gate_check_results(line, decision["trace"]),
        },
    )
