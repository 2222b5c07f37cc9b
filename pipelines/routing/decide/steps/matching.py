"""Step 6 of law §5: rules in order, the first true one wins."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.routing.basics.errors import EvaluationFailed, NotAnswered
from pipelines.routing.decide.decisions import Ask, Decision, Stuck, TraceEntry, Wait
from pipelines.routing.decide.steps.context import Case, TakenRoute
from pipelines.routing.document.rules import Rule


@dataclass(frozen=True, slots=True)
class Match:
    """The first rule that was true. `text`: from the last answered evaluation that it reached."""

    rule: Rule
    text: str | None


def first_match(case: Case, route: TakenRoute) -> Match | Decision | None:
    """The match, or None, or a decision where a rule is faulty, cannot be evaluated, or has to ask."""
    view, clock, note = case.view(route), case.clock, case.trace.append
    for rule in case.station.rules:
        if rule.id in case.left_out:
            continue
        if rule.fault is not None:
            note(TraceEntry("rules", rule.id, "error", (), str(rule.fault)))
            return Stuck("InvalidTransitionSyntax", f"Rule {rule.id} cannot be read: {rule.fault}", rule.id)
        view.saw, view.text = [], None
        started = clock() if clock else 0.0
        try:
            true = rule.when.test(view)
        except (EvaluationFailed, NotAnswered) as error:
            result, why, answer = _without_answer(rule, error)
            note(
                TraceEntry(
                    "rules", rule.id, result, tuple(view.saw), why, clock() - started if clock else None
                )
            )
            return answer
        note(TraceEntry("rules", rule.id, true, tuple(view.saw), "", clock() - started if clock else None))
        if true:
            return Match(rule, view.text)
    return None


def _without_answer(rule: Rule, error: EvaluationFailed | NotAnswered) -> tuple[str, str, Decision]:
    """What the trace says of a rule that is neither true nor false, why, and what is decided."""
    if isinstance(error, EvaluationFailed):
        return "error", error.message, Stuck(error.name, error.message, rule.id)
    waits = Wait("blocked", evaluation=error.evaluation) if error.unanswered else Ask(error.evaluation)
    return "ask", str(error), waits
