"""Voting at a gate (law §5 “A person's word at any gate”, §6 Approval)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pipelines.engine.commands.vote_request import (
    VoteRequest,
    already_decided_error,
    approval_field_values,
    check_seat_has_no_vote,
    seat_and_policy_of_vote,
    token_if_vote_is_current,
)
from pipelines.engine.core import agent_trust, sampling, sampling_fallback
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import (
    DecisionContext,
    decide_and_store_decision,
    facts_of_task_without_votes,
)
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import VoteResult, add_counts_to_task
from pipelines.engine.moves import decision_application, escalations
from pipelines.engine.moves.absences import Seat
from pipelines.engine.moves.chat_votes import Chat
from pipelines.engine.moves.entitlement import (
    entitled_person_or_none,
    entitled_person_query,
    is_allowed_only_as_sole_member,
    person_from_rows_or_none,
    tally_of_votes,
    unanimous_voters_or_none,
)
from pipelines.engine.moves.gates import (
    approval_policy_of_visit,
    close_visit,
    drop_visit_due_times,
    get_visit_with_context,
    store_visit_decision_if_unchanged,
    visit_with_id,
    visits_asked_together,
    votes_of_visit,
)
from pipelines.errors import Conflict
from pipelines.models import DUE_TIME, GateVisit, Task, Token, User, Vote, Word
from pipelines.models.plumbing import bulk_rows
from pipelines.ports import observers
from pipelines.queries import versions
from pipelines.routing.decide.effects import facts_with_votes
from pipelines.routing.document.line import Approval


def vote(
    visit: GateVisit,
    *,
    user: User,
    word: str,
    reason: str = "",
    route: str = "",
    token_version: int,
    evidence_digest: str,
    via: str = "page",
    fields: Mapping[str, Any] | None = None,
    seat: str = "",
    chat: Chat | None = None,
    unopened: int = 0,
) -> VoteResult:
    """Record one person's vote on one gate visit, which may have been read a while ago. The first word other than
    approve decides at once; approvals decide when the policy is satisfied. `fields`: what an approval fills in, by the
    keys of the gate's fields. `seat`: the user name of whoever is away and stood in for, or one's own; "" takes one's
    own where the gate asks one, else the first of those. `chat`: through which it comes, if it does. `unopened`:
    changed files that the person was not shown, as their page told them.

    Raises NotFound (the visit is gone, or a stranger), Forbidden (not asked, or barred: requester, producer), Invalid
    (path `word`, `reason`, `route` or `fields.<key>`), Conflict (decided or closed already, another evidence, voted
    already, no round left to send back).
    """
    request = VoteRequest(
        user,
        word,
        reason,
        route,
        token_version,
        evidence_digest,
        via,
        fields or {},
        seat=seat,
        unopened=unopened,
        chat=chat,
    )
    return run_in_transaction(partial(_vote, visit, request))


def _vote(stale_visit: GateVisit, request: VoteRequest) -> VoteResult:
    task_id, project_id = stale_visit.task_id, stale_visit.task.project_id
    assert request.user is not None
    if stale_visit.state != GateVisit.State.OPEN:
        # No lock for a late vote: a closed visit never opens again.
        visit = get_visit_with_context(stale_visit.pk)
        # For what it refuses: a stranger, or who may not vote here, is not told who decided
        seat_and_policy_of_vote(
            visit, request, list(visit.votes.all()), entitled_person_or_none(project_id, request.user)
        )
        raise already_decided_error(visit)
    # law §12: entitlement is what holds when the vote is cast, so it is read after the lock.
    batch, (together, votes, memberships) = Batch.of_task_and_answers(
        task_id,
        visits_asked_together.bind(visit=stale_visit.pk),
        votes_of_visit.bind(visit=stale_visit.pk),
        entitled_person_query(project_id, request.user),
    )
    visit = visit_with_id(stale_visit.pk, together)
    task = visit.task = batch.tasks[task_id]
    seat, policy = seat_and_policy_of_vote(
        visit, request, votes, person_from_rows_or_none(request.user, memberships)
    )
    request = replace(request, fields=approval_field_values(visit, request))
    token = token_if_vote_is_current(batch, visit, request, votes)
    # law §12: refused here, and the gate stays open.
    if request.word == Word.SEND_BACK and task.rounds.get(visit.gate, 0) >= policy.max_rounds:
        raise Conflict(f"This was already sent back {policy.max_rounds} times. Approve or reject it.")
    check_seat_has_no_vote(votes, seat)
    # law §6, A project of one: an approval that is barred elsewhere is marked `self_approved`.
    alone = (
        not seat.is_stand_in
        and request.word == Word.APPROVE
        and is_allowed_only_as_sole_member(seat.person, task, visit, policy)
    )
    cast = _store_vote(batch, task, visit, request, seat, _self_approval_data(alone))
    # Counted at once: it may be the one that decides
    votes.append(cast)
    decides = votes_decide_visit(task, visit, policy, votes)
    answer = (
        store_decision_and_move_task(batch, task, token, visit, request, votes, together) if decides else {}
    )
    batch.flush()
    return VoteResult(visit.state, bool(answer), task.status, batch.now, answer)


def votes_decide_visit(task: Task, visit: GateVisit, policy: Approval, votes: Sequence[Vote]) -> bool:
    """Return whether the votes decide the visit, by the people who are asked at this moment."""
    return tally_of_votes(policy, votes, unanimous_voters_or_none(task, visit, policy)).word is not None


def _store_vote(
    batch: Batch, task: Task, visit: GateVisit, request: VoteRequest, seat: Seat, marks: dict[str, bool]
) -> Vote:
    assert request.user is not None
    cast = bulk_rows.new_row(
        Vote,
        visit=visit,
        user=request.user,
        stands_for_id=seat.person.user_id if seat.is_stand_in else None,
        word=request.word,
        reason=request.reason,
        route=request.route,
        token_version=request.token_version,
        evidence_digest=request.evidence_digest,
        entitled_as=seat.person.to_dict()
        | ({"people": list(seat.people)} if seat.is_stand_in else {})
        | (request.chat.fields_stored_with_vote() if request.chat else {})
        | marks,
        fields=request.fields,
        via=request.via,
        at=batch.now,
    )
    # At once and not with the batch: the event names the vote by its id
    bulk_rows.insert_rows([cast])
    instead = {"stands_for": seat.person.username} if seat.is_stand_in else {}
    instead |= {"chat": request.chat.name} if request.chat else {}
    record_gate_event(
        batch,
        task,
        visit,
        request,
        "gate.voted",
        vote=cast.pk,
        **_self_approval_data(cast.self_approved),
        **instead,
        **{"unopened": request.unopened} if request.unopened else {},
    )
    batch.emit(observers.VoteCast(visit.pk, task.pk, request.user.pk, batch.now))
    return cast


def store_decision_and_move_task(
    batch: Batch,
    task: Task,
    token: Token,
    visit: GateVisit,
    request: VoteRequest,
    votes: Sequence[Vote] | None = None,
    simultaneous_visits: Sequence[GateVisit] | None = None,
) -> dict[str, Any]:
    """Record the decision of the visit. Returns what was decided about the task, in the shape of line-document.md, The
    decision tool; nothing while not everything that was asked is settled: after an approval, when another gate is open.
    `votes`: all that were cast here, in their order, `together`: this visit and those that
    were asked with it, if they are known."""
    _store_decision(batch, visit, request)
    approvals = [] if request.word != Word.APPROVE else _approval_votes(visit, votes)
    # What is decided is due no longer, and an escalation of it has its answer
    drop_visit_due_times(batch, task, visit)
    escalations.close_escalations_of_visit(batch, task, visit, request.actor)
    gate = versions.parsed_line_by_version_id(visit.asked_by.pinned_id).gate(visit.gate)
    if gate.sample is not None and request.user:
        if request.word == Word.APPROVE:
            sampling.allow_new_draw_for_request(gate, task)
        elif sampling.is_drawn_or_asks_the_same_as_drawn(gate, task, visit.asked_by.situation["facts"]):
            sampling_fallback.make_gates_ask_about_every_task(
                task, [gate], sampling_fallback.REFUSED, batch.now
            )
            work = agent_trust.agents_and_stations_of(task)
            agent_trust.lower_trust_after(batch.agents, task, work, sampling_fallback.REFUSED, batch.now)
    count = add_counts_to_task(task, {"rounds": {visit.gate: 1} if request.word == Word.SEND_BACK else {}})
    variables = (
        _store_approval_variables(batch, task, approvals, request) if request.word == Word.APPROVE else {}
    )
    alone = any(approval.self_approved for approval in approvals)
    marks: dict[str, Any] = _self_approval_data(alone) | ({"overridden": True} if request.overrides else {})
    marks |= _unanimous_voters_data(task, visit, request) | ({} if request.user else {"by": DUE_TIME})
    record_gate_event(batch, task, visit, request, "gate.decided", count=count, **marks, **variables)
    pk, email = (request.user.pk, request.user.email) if request.user else (None, "")
    batch.emit(observers.GateDecided(visit.pk, task.pk, request.word, pk, email, batch.now))
    if simultaneous_visits is None:
        simultaneous_visits = visits_asked_together(visit=visit.pk)
    others = [sibling for sibling in simultaneous_visits if sibling.state == GateVisit.State.OPEN]
    # law §5 step 8: the people of all gates are asked together, and each gate has to pass.
    if request.word == Word.APPROVE and others:
        return {}
    # law §5: the first word other than approve decides at once.
    for other in others:
        close_visit(batch, task, other, request.actor, "decided_elsewhere")
    return _decide_again(batch, task, token, visit, request, simultaneous_visits)


def _unanimous_voters_data(task: Task, visit: GateVisit, request: VoteRequest) -> dict[str, Any]:
    """Return the user names of everybody who was asked, for the event of a unanimous approval; otherwise
    nothing."""
    policy = approval_policy_of_visit(visit, versions.parsed_line_by_version_id(visit.asked_by.pinned_id))
    if request.word != Word.APPROVE or request.overrides or not policy.is_unanimous:
        return {}
    return {"everyone": sorted(voter.person for voter in unanimous_voters_or_none(task, visit, policy) or ())}


def _approval_votes(visit: GateVisit, votes: Sequence[Vote] | None) -> list[Vote]:
    cast = visit.votes.order_by("pk") if votes is None else votes
    return [cast_vote for cast_vote in cast if cast_vote.word == Word.APPROVE]


def _store_approval_variables(
    batch: Batch, task: Task, approvals: Iterable[Vote], request: VoteRequest
) -> dict[str, Any]:
    """Set what the approvals filled in as variables of the task, the later one over the earlier; for the event."""
    variables: dict[str, Any] = {}
    for approval in approvals:
        variables.update(approval.fields)
    variables.update(request.fields)
    if not variables:
        return {}
    task.variables = {**task.variables, **variables}
    batch.mark_task_changed(task, "variables")
    return {"variables": variables}


def _store_decision(batch: Batch, visit: GateVisit, request: VoteRequest) -> None:
    decided = {
        # As it is read from its row: a choice of an enumeration is no plain text.
        "word": str(request.word),
        "route": request.route,
        "reason": request.reason,
        "decided_by": request.user,
        "decided_at": batch.now,
        "overridden": request.overrides,
    }
    # house §4: one conditional UPDATE on gate visit and version; the loser gets 409.
    if not store_visit_decision_if_unchanged(visit, decided, request.token_version):
        raise Conflict()


def _decide_again(
    batch: Batch,
    task: Task,
    token: Token,
    visit: GateVisit,
    request: VoteRequest,
    simultaneous_visits: Iterable[GateVisit],
) -> dict[str, Any]:
    """Decide again on the situation that was shown plus the votes; step 7 reads current facts (law §5 step 8, §12)."""
    decision = visit.asked_by
    against = request.word != Word.APPROVE
    context = DecisionContext(
        batch,
        task,
        token,
        visit.job,
        request.actor,
        cause=f"gate:{visit.pk}",
        trigger=f"gate:{visit.gate}",
        word=request.word if against else "",
        reason=request.reason if against else "",
        asked_rule=decision.answer.get("rule"),
        other_judge_version_id=decision.pinned_id,
    )
    facts = facts_with_votes(
        decision.situation["facts"],
        facts_of_task_without_votes(context),
        _decided_votes_by_gate(simultaneous_visits),
    )
    answer = decide_and_store_decision(context, {**decision.situation, "facts": facts})
    decision_application.apply_decision(context, answer)
    return answer.to_stored_dict()


def _decided_votes_by_gate(simultaneous_visits: Iterable[GateVisit]) -> dict[str, dict[str, str]]:
    """Return the votes decided at the gates that were asked together, by gate."""
    return {
        visit.gate: visit.decision_fields
        for visit in simultaneous_visits
        if visit.state == GateVisit.State.DECIDED
    }


def _self_approval_data(self_approved: bool) -> dict[str, bool]:
    return {"self_approved": True} if self_approved else {}


def record_gate_event(
    batch: Batch, task: Task, visit: GateVisit, request: VoteRequest, kind: str, **more: Any
) -> None:
    batch.append_event(
        task,
        kind,
        request.actor,
        token=batch.tokens[visit.token_id],
        source=visit.gate,
        target=visit.gate,
        trigger=f"gate:{visit.gate}",
        visit=str(visit.pk),
        word=request.word,
        reason=request.reason,
        **more,
    )
