"""Gates, the words said at them, and what events tell of them: I5, I6, I11."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db.models import QuerySet, UUIDField

from pipelines.engine.commands.event_export import TRANSITIONS
from pipelines.engine.core import gate_results
from pipelines.engine.invariants.record_reading import TaskRecord, task_records
from pipelines.engine.moves.absences import LONGEST_CHAIN
from pipelines.engine.moves.entitlement import (
    EntitledPerson,
    is_allowed_only_as_sole_member,
    is_barred,
    meets_any_requirement,
    reason_person_is_barred,
    tally_of_votes,
)
from pipelines.engine.moves.gates import approval_policy_of_visit
from pipelines.models import Decision, Event, GateVisit, Role, Task, Vote, Word
from pipelines.models.plumbing.compiled_queries import array_field, server_prepared
from pipelines.ports.observers import Violation
from pipelines.queries import versions
from pipelines.routing.decide.approval import Voter
from pipelines.routing.document.gates import JUMP
from pipelines.routing.document.line import Approval, ParsedLine

Ids = Sequence[int] | None


def gate_vote_violations(task_ids: Ids) -> Iterable[Violation]:
    """I5: no gate passed without the votes that its policy asks for, by entitled people, none of them barred, on that
    visit and that evidence; and no other word without a vote that says it."""
    for record in task_records(task_ids, "visits", "decisions", "events"):
        overridden = {e.data["visit"]: e for e in record.events if e.kind == "gate.overridden"}
        # Who was asked then stands in the event: members come and go
        unanimous = {e.data["visit"]: e.data["everyone"] for e in record.events if "everyone" in e.data}
        decided = [visit for visit in record.visits if visit.state == GateVisit.State.DECIDED]
        votes = defaultdict(list)
        for vote in _votes_of_visits(visits=[visit.pk for visit in decided]) if decided else ():
            votes[vote.visit_id].append(vote)
        version_by_decision = {decision.pk: decision.pinned_id for decision in record.decisions}
        for visit in decided:
            event = overridden.get(str(visit.pk))
            if visit.overridden or event:
                why = _missing_override_record_fault_or_empty(record.task, visit, event)
            else:
                everyone = unanimous.get(str(visit.pk), ())
                why = _decided_visit_fault_or_empty(
                    record.task, visit, version_by_decision[visit.asked_by_id], votes[visit.pk], everyone
                )
            if why:
                yield record.violation("I5", f"gate visit {visit.pk} ({visit.gate}): {why}")
        yield from _foreign_vote_violations(record)


@server_prepared(visits=array_field(UUIDField()))
def _votes_of_visits(visits: Any) -> QuerySet[Vote]:
    return Vote.objects.filter(visit__among=visits).select_related("user").order_by("pk")


def _stand_in_fault_or_empty(vote: Vote, task: Task, visit: GateVisit, policy: Approval) -> str:
    """Return what is wrong with a vote in the place of somebody who was away."""
    people = vote.entitled_as.get("people", [vote.user_id])
    if (people[0], people[-1], len(set(people))) != (vote.seat_id, vote.user_id, len(people)):
        return f"vote {vote.pk} stands for somebody else than it says"
    # law §6, Absence: whoever is away, and at most three stand-ins after one another
    if len(people) > LONGEST_CHAIN + 1:
        return f"vote {vote.pk} stands in at the end of a longer chain than there may be"
    if len(people) > 1 and any(is_barred(user_id, task, visit, policy) for user_id in people):
        return f"vote {vote.pk} stands in for, or through, somebody who is barred"
    return ""


def _decided_visit_fault_or_empty(
    task: Task, visit: GateVisit, asked_under: int, votes: list[Vote], everyone: Collection[str]
) -> str:
    """Return what is wrong with a decided visit, or "". `everyone`: who was asked for a unanimous approval, as
    its event says."""
    line = versions.parsed_line_by_version_id(asked_under)
    # No line declares the review of a jump.
    if visit.gate not in {JUMP, *line.gates_by_key}:
        return "its line has no such gate"
    if visit.decided_by_id is None:
        return _undeclared_timeout_fault_or_empty(line, visit, votes)
    policy = approval_policy_of_visit(visit, line)
    for vote in votes:
        person = EntitledPerson.from_dict(vote.seat_id, vote.entitled_as)
        if not meets_any_requirement(person, policy.who):
            return f"vote {vote.pk} is by somebody whom the gate does not ask"
        if reason_person_is_barred(person, task, visit, policy):
            return f"vote {vote.pk} is by somebody who is barred"
        if why := _stand_in_fault_or_empty(vote, task, visit, policy):
            return why
        alone = vote.word == Word.APPROVE and is_allowed_only_as_sole_member(person, task, visit, policy)
        if alone != vote.self_approved:
            return f"vote {vote.pk} is recorded as self-approved and is not, or the other way round"
        if (vote.evidence_digest, vote.token_version) != (visit.evidence_digest, visit.token_version):
            return f"vote {vote.pk} is about other evidence"
    tally = tally_of_votes(
        policy,
        votes,
        None if visit.word == Word.APPROVE else _placeholder_for_missing_approver_or_none(policy),
    )
    voters = {vote.entitled_as["username"] for vote in votes} | {vote.user.username for vote in votes}
    if visit.word == Word.APPROVE and not voters.issuperset(everyone):
        return "approved before all who were asked had approved"
    if tally.word != visit.word:
        return f"decided {visit.word} without the votes that its policy asks for ({tally.status})"
    last = next(vote for vote in votes if vote.entitled_as["username"] == tally.by)
    return "" if last.user_id == visit.decided_by_id else "its last vote is not by whom it names"


def _missing_override_record_fault_or_empty(task: Task, visit: GateVisit, event: Event | None) -> str:
    """An administrator approved, with a comment, and an event says so."""
    if event is None or not visit.overridden or visit.word != Word.APPROVE or not visit.reason.strip():
        return "an override without its event, its mark or its comment"
    person = EntitledPerson.from_dict(visit.decided_by_id or 0, event.data["entitled_as"])
    policy = versions.parsed_line_by_version_id(visit.asked_by.pinned_id).gate(visit.gate).approval
    if Role.ADMIN not in person.roles or reason_person_is_barred(person, task, visit, policy):
        return "overridden by somebody who is no administrator, or is barred"
    return ""


def _undeclared_timeout_fault_or_empty(line: ParsedLine, visit: GateVisit, votes: list[Vote]) -> str:
    """No person decided: then it is the rejection that its gate declares for a due time that has passed."""
    gate = line.gate(visit.gate)
    if gate.due is None or gate.due.then != "reject":
        return "decided by nobody, and its gate rejects at no time"
    if visit.word != "reject" or visit.due_at is None or visit.decided_at < visit.due_at:  # type: ignore[operator]
        return f"decided {visit.word} by nobody before it was due"
    policy = approval_policy_of_visit(visit, line)
    tally = tally_of_votes(policy, votes, _placeholder_for_missing_approver_or_none(policy))
    return "" if tally.word is None else "decided by nobody although votes decide it"


def _placeholder_for_missing_approver_or_none(policy: Approval) -> list[Voter] | None:
    """Return a placeholder for somebody who was asked and did not approve, for a unanimous policy that was not
    approved. Who it was is not stored."""
    names = frozenset(need.name for need in policy.who if need.everyone)
    return [Voter("@somebody else", names, names)] if policy.is_unanimous else None


def _foreign_vote_violations(record: TaskRecord) -> Iterable[Violation]:
    """Check that a decision read no vote that was not cast about the outcome of the same job. Whether it needed
    the vote is checked by I9."""
    decided_words = {(visit.job_id, visit.gate, visit.word) for visit in record.visits if visit.word}
    for decision in record.decisions:
        for gate, fact in decision.situation["facts"].get("gates", {}).items():
            if (decision.job_id, gate, fact["decision"]) not in decided_words:
                yield record.violation(
                    "I5", f"decision {decision.pk} was told “{fact['decision']}” of {gate}"
                )


def review_wait_violations(task_ids: Ids) -> Iterable[Violation]:
    """I6: awaiting_review ⇔ open gate visits, all of one decision, per token; every vote can still count."""
    for record in task_records(task_ids, "tokens", "visits"):
        for token in record.tokens:
            visits = [v for v in record.visits if v.token_id == token.pk and v.state == GateVisit.State.OPEN]
            if (token.status == "awaiting_review") != bool(visits):
                yield record.violation(
                    "I6", f"token {token.pk} is {token.status} with {len(visits)} open gate visits"
                )
            if len({visit.asked_by_id for visit in visits}) > 1:
                yield record.violation(
                    "I6", f"the open gate visits of token {token.pk} are of several decisions"
                )
            if any(visit.token_version != token.version for visit in visits):
                yield record.violation(
                    "I6", f"an open gate visit of token {token.pk} is about another version of it"
                )


def event_evaluation_violations(task_ids: Ids) -> Iterable[Violation]:
    """I11: what the event of a transition says of gates is what was evaluated: each result is that of a check or tool
    in the trace of its decision, or of a word that was said; a gate that it names has one of these."""
    for record in task_records(task_ids, "events", "visits", "decisions"):
        decided = {decision.pk: decision for decision in record.decisions}
        for event in record.events:
            decision = decided.get(event.decision_id) if event.decision_id else None
            if decision is None or event.kind not in TRANSITIONS:
                continue
            visits = [visit for visit in record.visits if visit.job_id == decision.job_id and visit.word]
            for why in _unevaluated_results(decision, visits):
                yield record.violation("I11", f"event {event.seq} {why}")


def _unevaluated_results(decision: Decision, visits: list[GateVisit]) -> Iterable[str]:
    verdicts = {(visit.gate, visit.word == "approve") for visit in visits}
    checked = {
        (check.get("label") or check["field"], check["passed"])
        for entry in decision.trace
        for check in entry.get("saw") or ()
        if "passed" in check
    }
    ran = {
        f"{gate}: tool"
        for gate, _, note in _partitioned_trace_reasons(decision)
        if note.startswith("its tool says")
    }
    for name, result in gate_results.pass_or_fail_by_check(decision).items():
        if (name, result == "pass") not in verdicts | checked and name not in ran:
            yield f"says {name}: {result}, which was not evaluated"
    trigger = gate_results.gate_passed_or_failed_trigger(decision)
    gates = {gate for gate, _ in verdicts} | {name.removesuffix(": tool") for name in ran}
    gates |= {
        gate_results.gate_key_of_trace_entry(entry) for entry in decision.trace if _saw_check_results(entry)
    }
    if trigger and not any(trigger.startswith(f"{gate}_") for gate in gates):
        yield f"has the trigger {trigger}, and nothing was evaluated there"


def _partitioned_trace_reasons(decision: Decision) -> Iterable[tuple[str, str, str]]:
    return (str(entry.get("why", "")).partition(": ") for entry in decision.trace)


def _saw_check_results(trace_entry: dict[str, Any]) -> bool:
    return any("passed" in check for check in trace_entry.get("saw") or ())
