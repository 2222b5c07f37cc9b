"""Gates that can demand rework: after one does, rules are tested again as failure/fail/error, without the
rules of these gates (law §5, §12)."""

from __future__ import annotations

from pipelines.routing.document.checks import RANK
from pipelines.routing.document.gates import Gate


def may_demand_rework(gate: Gate) -> bool:
    """Return whether a check or a person of the gate can demand rework."""
    by_check = gate.checks is not None and gate.enforces_checks
    return (
        "rework" in gate.tool_actions
        or reviewer_may_demand_rework(gate)
        or (
            by_check and any(c.action == "rework" for c in gate.checks.checks() if c.severity != "warn")  # type: ignore[union-attr]
        )
    )


def reviewer_may_demand_rework(gate: Gate) -> bool:
    """Return whether a person of the gate can demand rework."""
    may_hold = (
        gate.checks is not None
        and gate.enforces_checks
        and any(RANK.get(c.action) for c in gate.checks.checks())
    )
    return (
        "rework" in gate.offers
        and gate.mode != "skip"
        and (gate.has_people or may_hold or "hold" in gate.tool_actions)
    )
