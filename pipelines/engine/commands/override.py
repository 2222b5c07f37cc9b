"""An administrator approves a gate instead of the people it asks (law §6, Override)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from pipelines.engine.commands.vote import record_gate_event, store_decision_and_move_task
from pipelines.engine.commands.vote_request import (
    VoteRequest,
    already_decided_error,
    approval_field_values,
    token_if_vote_is_current,
)
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import VoteResult
from pipelines.engine.moves.entitlement import (
    EntitledPerson,
    entitled_person_or_none,
    reason_person_is_barred,
)
from pipelines.engine.moves.gates import get_visit_with_context
from pipelines.errors import Forbidden, Invalid, NotFound
from pipelines.models import GateVisit, Role, User, Word
from pipelines.queries import versions


def override_gate_as_administrator(
    visit_id: UUID,
    *,
    user: User,
    comment: str,
    confirm: str,
    token_version: int,
    evidence_digest: str,
    fields: Mapping[str, Any] | None = None,
    via: str = "page",
) -> VoteResult:
    """Approve a gate visit as an administrator of its project, whoever is asked there and however many. `confirm`: the
    number of the task, typed. Requester and producer are barred as from voting. It is an event of its own,
    `gate.overridden`, and the visit says so ever after.

    Raises NotFound (no such visit, or a stranger), Forbidden (no administrator, or barred), Invalid (path `comment`,
    `confirm` or `fields.<key>`), Conflict (decided already, or other evidence than was shown).
    """
    request = VoteRequest(
        user, Word.APPROVE, comment, "", token_version, evidence_digest, via, fields or {}, overrides=True
    )
    return run_in_transaction(partial(_override_gate, visit_id, request, confirm))


def _override_gate(visit_id: UUID, request: VoteRequest, confirm: str) -> VoteResult:
    visit = get_visit_with_context(visit_id)
    # Before any lock, so that a stranger holds up nobody
    administrator_for_override(visit, request.user)
    if visit.state != GateVisit.State.OPEN:
        raise already_decided_error(visit)
    _check_comment_and_confirmation(visit, request, confirm)
    batch = Batch.of_tasks(visit.task_id)
    task, visit = batch.tasks[visit.task_id], get_visit_with_context(visit_id)
    # Again under the lock: roles and votes may have changed meanwhile.
    person = administrator_for_override(visit, request.user)
    token = token_if_vote_is_current(batch, visit, request)
    request = replace(request, fields=approval_field_values(visit, request))
    record_gate_event(
        batch, task, visit, request, "gate.overridden", entitled_as=person.to_dict(), via=request.via
    )
    answer = store_decision_and_move_task(batch, task, token, visit, request)
    batch.flush()
    return VoteResult(visit.state, bool(answer), task.status, batch.now, answer)


def administrator_for_override(visit: GateVisit, user: User | None) -> EntitledPerson:
    """Return the administrator who overrides the gate. Raises NotFound, Forbidden."""
    person = entitled_person_or_none(visit.task.project_id, user) if user else None
    if person is None:
        raise NotFound()
    if Role.ADMIN not in person.roles:
        raise Forbidden("Only an administrator of the project can override a gate.")
    policy = versions.parsed_line_by_version_id(visit.asked_by.pinned_id).gate(visit.gate).approval
    why = reason_person_is_barred(person, visit.task, visit, policy)
    if why:
        raise Forbidden(why)
    return person


def _check_comment_and_confirmation(visit: GateVisit, request: VoteRequest, confirm: str) -> None:
    payload.checked_text(request.reason, "comment")
    if not request.reason.strip():
        raise Invalid.at("comment", "A comment is needed.", "It is stored and shown ever after.")
    if confirm.strip() != visit.task.name:
        hint = f"Type {visit.task.name} to confirm."
        raise Invalid.at("confirm", "This is not the number of the task.", hint)
