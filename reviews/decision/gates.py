"""A gate by its key, including the review of a jump, which no line declares (line-document.md, `@jump`)."""

from __future__ import annotations

from dataclasses import replace

from pipelines.engine.moves.gates import JUMP
from pipelines.models import GateVisit, Word
from pipelines.routing.basics.plural import plural
from pipelines.routing.decide.approval import with_extra_votes
from pipelines.routing.document.line import Approval, Gate, ParsedLine


def gate_of(line: ParsedLine, key: str) -> Gate:
    """The declared gate, or the default policy under which a jump is reviewed."""
    return Gate(key=JUMP, name="Jump") if key == JUMP else line.gate(key)


def gate_of_visit(visit: GateVisit, line: ParsedLine) -> Gate:
    """The gate as this visit asks it."""
    gate = gate_of(line, visit.gate)
    return replace(gate, approval=with_extra_votes(gate.approval, visit.producers))


def approval_words(policy: Approval, have: int) -> str:
    """“1 of 2 approvals”, or that all have to approve; "" where one is enough."""
    if policy.is_unanimous:
        words = plural("%(n)s approval of everyone asked", "%(n)s approvals of everyone asked", have)
        return words % {"n": have}
    need = policy.min_votes
    return f"{have} of {need} approvals" if need > 1 else ""


def needs_word_only(visit: GateVisit, gate: Gate) -> bool:
    """Return whether an approval may come without a session, if the gate allows one: it asks for nothing but
    the word, and its project for no second factor (law §15)."""
    bare = not gate.fields and not gate.approval.reason_required and Word.APPROVE in gate.offers
    return bare and not visit.task.project.second_factor
