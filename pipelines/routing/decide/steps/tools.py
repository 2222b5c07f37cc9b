"""Tools of gates inside a decision: asked for like an evaluation, and judged like a check."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.routing.decide.decisions import Ask, Decision, Wait
from pipelines.routing.decide.steps.context import Case
from pipelines.routing.document.gate_tools import FAIL, WARN
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.rules import Rule


def unrun(case: Case, step: str, gates: Sequence[Gate], rule: Rule | None) -> Decision | None:
    """The first tool without a known result, which has to be run; None if all are known."""
    for gate in gates:
        if gate.tool is None or not gate.runs_its_tool:
            continue
        question = gate.tool.question(gate.key)
        answer = case.answers.get(question.key)
        if answer is None:
            case.note(step, rule, "ask", f"{gate.key}: its tool is run")
            return Ask(question.to_dict())
        if not answer.is_word:
            case.note(step, rule, "ask", f"{gate.key}: its tool has no result")
            return Wait("blocked", evaluation=question.to_dict())
    return None


def action_of(case: Case, step: str, gate: Gate, rule: Rule | None) -> tuple[str, str | None]:
    """The action that the result asks for, and its text if it failed. Under `manual` a result is only shown."""
    tool = gate.tool
    if tool is None:
        return "proceed", None
    if not gate.runs_its_tool:
        case.note(step, rule, True, f"{gate.key}: its tool is switched off")
        return "proceed", None
    answer = case.answers[tool.question(gate.key).key]
    asked = {FAIL: tool.action, WARN: "proceed" if tool.approve_warnings else "hold"}.get(
        answer.word, "proceed"
    )
    action = asked if gate.mode != "manual" else "proceed"
    note = "" if action == asked else ", shown only"
    case.note(step, rule, action == "proceed", f"{gate.key}: its tool says {answer.word}{note}")
    return action, answer.text if answer.word == FAIL else None
