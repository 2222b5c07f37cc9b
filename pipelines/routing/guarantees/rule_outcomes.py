"""Outcomes as rules can see them, by result, verdict and eval (law §5, steps 3 to 6), and whether a condition
can be true of one."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.routing.basics.bounds import EvaluationBudget
from pipelines.routing.basics.values import MISSING
from pipelines.routing.document.algebra import (
    All,
    Always,
    AnyOf,
    Condition,
    ConditionView,
    EvalTest,
    Not,
    ResultTest,
    VerdictTest,
)

PASSED, FAILED, BLOCKED = "passed", "failed", "blocked"


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """`eval` None: any."""

    standing: str
    result: str
    verdict: str
    eval: str | None = None


RECORDED = (
    RuleOutcome(PASSED, "success", "pass"),
    *(
        RuleOutcome(FAILED, result, verdict)
        for result, verdict in (
            ("success", "fail"),
            ("failure", "pass"),
            ("failure", "fail"),
            ("cancelled", "pass"),
            ("cancelled", "fail"),
        )
    ),
)
"""As reported, those aside that are blocked: they never come to the rules as they are."""
EXHAUSTED = (RuleOutcome(BLOCKED, "blocked", "fail"),)
"""A blocked one after exhausted `rework` signals; of others the verdict fail is among those that are reported."""
PROCEED = RuleOutcome(PASSED, "success", "pass", "ok")
FALLBACK = RuleOutcome(BLOCKED, "blocked", "blocked", "blocked")
REWORKED = RuleOutcome(FAILED, "failure", "fail", "error")
"""Forced routes (law §5)."""


def possible_truth_or_none(condition: Condition, outcome: RuleOutcome) -> bool | None:
    """True or false where that is settled by what is seen; None where something else decides."""
    if isinstance(condition, Always):
        return True
    if isinstance(condition, ResultTest):
        return outcome.result in condition.results
    if isinstance(condition, VerdictTest):
        return outcome.verdict in condition.verdicts
    if isinstance(condition, EvalTest):
        return None if outcome.eval is None else condition.test(_condition_view(outcome, outcome.eval))
    if isinstance(condition, Not):
        inner = possible_truth_or_none(condition.inner, outcome)
        return None if inner is None else not inner
    if isinstance(condition, All | AnyOf):
        settles = isinstance(condition, AnyOf)
        members = [possible_truth_or_none(member, outcome) for member in condition.members]
        if settles in members:
            return settles
        return None if None in members else not settles
    return None


def _condition_view(outcome: RuleOutcome, eval_text: str) -> ConditionView:
    return ConditionView(
        outcome.result, outcome.verdict, eval_text, None, MISSING, False, {}, {}, EvaluationBudget()
    )
