"""Views that rules can have of an outcome, as far as result, verdict and eval say it: the ways in which `decide`
reaches them (law §5, steps 3 to 6), and whether a condition can be true there."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.routing.basics.bounds import Steps
from pipelines.routing.basics.values import MISSING
from pipelines.routing.document.algebra import (
    All,
    Always,
    AnyOf,
    Condition,
    EvalTest,
    Not,
    ResultIs,
    VerdictIs,
    View,
)

PASSED, FAILED, BLOCKED = "passed", "failed", "blocked"


@dataclass(frozen=True, slots=True)
class SeenOutcome:
    """`eval` None: any."""

    standing: str
    result: str
    verdict: str
    eval: str | None = None


RECORDED = (
    SeenOutcome(PASSED, "success", "pass"),
    *(
        SeenOutcome(FAILED, result, verdict)
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
EXHAUSTED = (SeenOutcome(BLOCKED, "blocked", "fail"),)
"""A blocked one after exhausted `rework` signals; of others the verdict fail is among those that are reported."""
PROCEED = SeenOutcome(PASSED, "success", "pass", "ok")
FALLBACK = SeenOutcome(BLOCKED, "blocked", "blocked", "blocked")
REWORKED = SeenOutcome(FAILED, "failure", "fail", "error")
"""Forced routes (law §5)."""


def can_be(condition: Condition, outcome: SeenOutcome) -> bool | None:
    """True or false where that is settled by what is seen; None where something else decides."""
    if isinstance(condition, Always):
        return True
    if isinstance(condition, ResultIs):
        return outcome.result in condition.results
    if isinstance(condition, VerdictIs):
        return outcome.verdict in condition.verdicts
    if isinstance(condition, EvalTest):
        return None if outcome.eval is None else condition.test(_view(outcome, outcome.eval))
    if isinstance(condition, Not):
        inner = can_be(condition.inner, outcome)
        return None if inner is None else not inner
    if isinstance(condition, All | AnyOf):
        settles = isinstance(condition, AnyOf)
        members = [can_be(member, outcome) for member in condition.members]
        if settles in members:
            return settles
        return None if None in members else not settles
    return None


def _view(outcome: SeenOutcome, eval_text: str) -> View:
    return View(outcome.result, outcome.verdict, eval_text, None, MISSING, False, {}, {}, Steps())
