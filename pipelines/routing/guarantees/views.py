"""What rules can see of an outcome, as far as result, verdict and eval say it: the ways in which `decide` reaches them
(law §5, steps 3 to 6), and whether a condition can be true there."""

from __future__ import annotations

from dataclasses import dataclass, replace

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

ASKED, PEOPLE, PASSED_BY, WORD, CHECKED = "asked", "people", "passed by", "word", "checked"
"""How the gate of the station was treated on the way: asked; only its people, after a `proceed`; not asked, because
the outcome is blocked; a person said rework there; a check demanded it."""
PASSED, FAILED, BLOCKED = "passed", "failed", "blocked"


@dataclass(frozen=True, slots=True)
class SeenOutcome:
    """`eval` None: any. `gate`: how the station's gate was treated. `spoken`: a gate of the rule `without` at which a
    person said rework, "" where a check demanded it; `by_gate`: a gate demanded the route."""

    standing: str
    result: str
    verdict: str
    eval: str | None = None
    gate: str = ASKED
    without: str = ""
    spoken: str = ""
    by_gate: bool = False


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
    SeenOutcome(BLOCKED, "blocked", "fail"),
)
"""As reported; the last is a blocked one after exhausted `rework` signals."""
PROCEED = SeenOutcome(PASSED, "success", "pass", "ok", PEOPLE)
FALLBACK = SeenOutcome(BLOCKED, "blocked", "blocked", "blocked", PASSED_BY)
REWORK = SeenOutcome(FAILED, "failure", "fail", "error", by_gate=True)


def reworked(gate: str, without: str = "", spoken: str = "") -> SeenOutcome:
    """The forced failure route that a gate demands."""
    return replace(REWORK, gate=gate, without=without, spoken=spoken)


def can_be(condition: Condition, seen: SeenOutcome) -> bool | None:
    """True or false where that is settled by what is seen; None where something else decides."""
    if isinstance(condition, Always):
        return True
    if isinstance(condition, ResultIs):
        return seen.result in condition.results
    if isinstance(condition, VerdictIs):
        return seen.verdict in condition.verdicts
    if isinstance(condition, EvalTest):
        return None if seen.eval is None else condition.test(_view(seen, seen.eval))
    if isinstance(condition, Not):
        inner = can_be(condition.inner, seen)
        return None if inner is None else not inner
    if isinstance(condition, All | AnyOf):
        settles = isinstance(condition, AnyOf)
        members = [can_be(member, seen) for member in condition.members]
        if settles in members:
            return settles
        return None if None in members else not settles
    return None


def _view(seen: SeenOutcome, said: str) -> View:
    return View(seen.result, seen.verdict, said, None, MISSING, False, {}, {}, Steps())
