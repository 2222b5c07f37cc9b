"""Acts of people on a gate that samples (law §15): propose a sample, and let it sample again after it fell back."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from pipelines import access
from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.formats.top_members import text_with_members_or_empty
from pipelines.lines.project_lint import examine_document
from pipelines.lines.publishing import lock_line, replace_draft
from pipelines.models import Line, LineEvent, SampledDraw, User
from pipelines.ports import clock
from pipelines.queries import versions
from pipelines.routing.analysis.lint.guarantee_findings import PROVED
from pipelines.routing.document.line import read_line
from pipelines.routing.guarantees.guarantee_proofs import prove_guarantees

MAX_ONE_IN = 100


def set_gate_sample_in_draft(line: Line, gate: str, one_in: int, *, by: User) -> None:
    """Let the gate ask about one task in `one_in`, in the draft: publishing shows what that changes, proves the
    guarantees again, and is the decision of a person. Raises Forbidden, NotFound (the draft has no such gate),
    Invalid (the line could not be published so, or a guarantee would not be proved any more), Conflict (only a
    person can change the text of the draft)."""
    access.require_permission(by, "design", line.project)
    if not 1 < one_in <= MAX_ONE_IN:
        raise Invalid.at("one_in", f"Choose a number from 2 to {MAX_ONE_IN}.")
    with transaction.atomic():
        stored = lock_line(line, line.draft_number)
        gates = [dict(member) for member in stored.draft.get("gates") or () if isinstance(member, dict)]
        sampled = next((member for member in gates if member.get("key") == gate), None)
        if sampled is None:
            raise NotFound
        sampled["sample"] = {**(sampled.get("sample") or {}), "one_in": one_in}
        draft = {**stored.draft, "gates": gates}
        _check_publishable(stored, draft)
        text = text_with_members_or_empty(stored.draft_text, draft, ["gates"]) if stored.draft_text else ""
        if stored.draft_text and not text:
            raise Conflict("The draft of this line is a text of its own. Write the sample at the gate there.")
        replace_draft(stored, draft, text, by)


def _check_publishable(stored: Line, draft: dict[str, Any]) -> None:
    """:raises Invalid"""
    errors = examine_document(draft, stored.project).errors
    if errors:
        raise Invalid.at(errors[0].path, errors[0].message, errors[0].hint)
    if stored.live is None:
        return
    proved = {
        answer.guarantee
        for answer in prove_guarantees(versions.parsed_version(stored.live))
        if answer.answer == PROVED
    }
    for answer in prove_guarantees(read_line(draft)):
        if answer.guarantee in proved and answer.answer != PROVED:
            raise Invalid.at("guarantees", f"“{answer.sentence}” is proved now, and would not be any more.")


def let_gate_draw_again(line: Line, gate: str, *, by: User) -> None:
    """Let a gate that fell back draw again. Raises Forbidden, NotFound (it did not)."""
    access.require_permission(by, "execute", line.project)
    with transaction.atomic():
        deleted, _kinds = SampledDraw.objects.filter(line=line, gate=gate, about=SampledDraw.ALL).delete()
        if not deleted:
            raise NotFound
        live_gate = (
            versions.parsed_line_by_version_id(line.live_id).gates_by_key.get(gate) if line.live_id else None
        )
        LineEvent.objects.create(
            line=line,
            kind=LineEvent.RecordKind.SAMPLES,
            version=line.live,
            by=by,
            at=clock.now(),
            data={"gate": gate, "name": live_gate.name if live_gate else gate},
        )
