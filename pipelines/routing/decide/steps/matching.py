"""Step 6 of law §5: rules in order, the first true one wins."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.routing.basics.errors import EvaluationFailed, NotAnswered
from pipelines.routing.decide.decisions import Ask, Decision, Stuck, TraceEntry, Wait
from pipelines.routing.decide.steps.context import Case, TakenRoute
from pipelines.routing.document.algebra import View, holds
from pipelines.routing.document.rules import Rule


@dataclass(frozen=True, slots=True)
class Match:
    """The first rule that was true. `text`: from the last answered evaluation that it reached."""

    rule: Rule
    text: str | None


def first_match(case: Case, route: TakenRoute) -> Match | Decision | None:
    """The match, or None, or a decision where a rule is faulty, cannot be evaluated, or has to ask."""
    view = case.view(route)
    for rule in case.station.rules:
        if rule.id in case.left_out:
            continue
        found = _test(case, rule, view)
        if found is not None:
            return found
    return None


def _test(case: Case, rule: Rule, view: View) -> Match | Decision | None:
    """None: not true, go on with the next rule."""
    if rule.fault is not None:
        _note(case, rule, "error", view, str(rule.fault))
        return Stuck("InvalidTransitionSyntax", f"Rule {rule.id} cannot be read: {rule.fault}", rule.id)
    view.saw, view.text = [], None
    started = case.clock() if case.clock else None
    try:
        true = holds(rule.when, view)
    except EvaluationFailed as failure:
        _note(case, rule, "error", view, failure.message, started)
        return Stuck(failure.name, failure.message, rule.id)
    except NotAnswered as asked:
        _note(case, rule, "ask", view, str(asked), started)
        return Wait("blocked", evaluation=asked.evaluation) if asked.unanswered else Ask(asked.evaluation)
    _note(case, rule, true, view, "", started)
    return Match(rule, view.text) if true else None


def _note(
    case: Case, rule: Rule, result: bool | str, view: View, why: str, started: float | None = None
) -> None:
    took = case.clock() - started if case.clock and started is not None else None
    case.trace.append(TraceEntry("rules", rule.id, result, tuple(view.saw), why, took))
