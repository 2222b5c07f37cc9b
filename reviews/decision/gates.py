"""Gates as their visits ask them, in words and by what they need."""

from __future__ import annotations

from dataclasses import replace

from pipelines.engine.moves.gates import approval_policy_of_visit
from pipelines.models import GateVisit, Word
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.line import Approval, Gate, ParsedLine


def gate_with_approval_policy_of_visit(visit: GateVisit, line: ParsedLine) -> Gate:
    """The gate as this visit asks it."""
    return replace(line.gate(visit.gate), approval=approval_policy_of_visit(visit, line))


def approval_count_text_or_empty(policy: Approval, approval_count: int) -> str:
    """“1 of 2 approvals”, or that all have to approve; "" where one is enough."""
    if policy.is_unanimous:
        words = singular_or_plural(
            "%(n)s approval of everyone asked", "%(n)s approvals of everyone asked", approval_count
        )
        return words % {"n": approval_count}
    need = policy.min_votes
    return f"{approval_count} of {need} approvals" if need > 1 else ""


def needs_no_reason_field_or_second_factor(visit: GateVisit, gate: Gate) -> bool:
    """Return whether an approval may come without a session, if the gate allows one: it asks for nothing but
    the word, and its project for no second factor (law §15)."""
    bare = not gate.fields and not gate.approval.reason_required and Word.APPROVE in gate.offers
    return bare and not visit.task.project.second_factor
