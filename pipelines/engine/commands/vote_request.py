"""Content of a vote, and the reasons to refuse it (law §5 “A person's word at any gate”, §6 Approval)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.engine.commands.inputs import checked_inputs_with_defaults
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.values import ENGINE, Actor
from pipelines.engine.moves.absences import Seat, seats_of_person_in_project, usable_seats_of
from pipelines.engine.moves.chat_votes import Chat
from pipelines.engine.moves.entitlement import EntitledPerson, meets_any_requirement
from pipelines.engine.moves.gates import approval_policy_of_visit
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import GateVisit, Token, User, Vote, Word
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import versions
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.line import Approval, Gate, ParsedLine

NEEDS_REASON = (Word.REJECT, Word.SEND_BACK)
CHOOSES = "reviewer_chooses"


@dataclass(frozen=True)
class VoteRequest:
    """A vote and what it is about: the token version and evidence that were shown. `user` is None when the gate's due
    time decides. `overrides`: an administrator approves instead of the people that the gate asks. `seat`: the user
    name of whose place it takes, "" for the first that is free. `unopened`: changed files that the person was not
    shown."""

    user: User | None
    word: str
    reason: str
    route: str
    token_version: int
    evidence_digest: str
    via: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    overrides: bool = False
    seat: str = ""
    chat: Chat | None = None
    unopened: int = 0

    @property
    def actor(self) -> Actor:
        return Actor.person(self.user) if self.user else ENGINE


def seat_and_policy_of_vote(
    visit: GateVisit, request: VoteRequest, votes: Sequence[Vote], person: EntitledPerson | None
) -> tuple[Seat, Approval]:
    """Return the seat in which somebody votes, and the policy of the visit. `person`: their membership of the
    project. Raises NotFound, Forbidden, Invalid."""
    line = versions.parsed_line_by_version_id(visit.asked_by.pinned_id)
    policy = approval_policy_of_visit(visit, line)
    assert request.user is not None
    own_seats = seats_of_person_in_project(request.user, visit.task.project_id, person)
    seat = _allowed_seat_without_vote(own_seats, visit, policy, request.seat, votes)
    if request.chat and (refusal := request.chat.reason_chat_cannot_vote(visit, policy, votes)):
        raise Forbidden(refusal)
    _check_vote_word_and_reason(line, line.gate(visit.gate), request, reason_required=policy.reason_required)
    return seat, policy


def _allowed_seat_without_vote(
    seats: Sequence[Seat], visit: GateVisit, policy: Approval, name: str, votes: Sequence[Vote]
) -> Seat:
    """Raises NotFound for a non-member, Forbidden for somebody who is not asked or is barred."""
    if not seats:
        raise NotFound()
    matching = [seat for seat in seats if name in ("", seat.person.username)]
    if not matching:
        raise Forbidden(f"You do not stand in for {name} in this project.")
    # Where each seat is taken, one of them is returned all the same: check_seat_has_no_vote names who took it.
    usable_seats = usable_seats_of(matching, visit, policy, votes) or usable_seats_of(
        matching, visit, policy, ()
    )
    if not usable_seats:
        eligible = next((seat for seat in matching if meets_any_requirement(seat.person, policy.who)), None)
        why = eligible.reason_seat_is_barred(visit.task, visit, policy) if eligible else ""
        raise Forbidden(why or "This gate does not ask you to review.")
    return usable_seats[0]


def check_seat_has_no_vote(votes: Sequence[Vote], seat: Seat) -> None:
    """Check that nobody has voted for this seat yet. Raises Conflict."""
    for vote in votes:
        if vote.seat_id == seat.person.user_id:
            who = {"who": str(vote.user), "name": seat.person.username}
            raise Conflict("{who} has already voted here for {name}.".format(**who), by=str(vote.user))
        if vote.connected_by == seat.person.user_id:
            why = "%(who)s voted in the chat %(chat)s, which %(name)s connected: the two count as one."
            raise Conflict(
                why % {"who": str(vote.user), "chat": vote.chat, "name": seat.person.username},
                by=str(vote.user),
            )


def _check_vote_word_and_reason(
    line: ParsedLine, gate: Gate, request: VoteRequest, *, reason_required: bool
) -> None:
    if request.word not in gate.offers:
        raise Invalid.at(
            "word",
            f"“{request.word}” is not offered here",
            f"Use one of {', '.join(gate.offers)}.",
        )
    payload.checked_text(request.reason, "reason")
    # law §6: a reason is always needed to reject and to send back.
    if (reason_required or request.word in NEEDS_REASON) and not request.reason.strip():
        raise Invalid.at("reason", "A reason is needed.", "Enter a reason. It is stored and shown.")
    chooses = (gate.on_reject or line.policy.on_reject) == CHOOSES
    if request.word == Word.REJECT and chooses:
        if request.route not in ("fail", "rework") and request.route not in line.stations_by_key:
            raise Invalid.at(
                "route", "has to be fail, rework or a station", "Choose where the task goes then."
            )
    elif request.route:
        raise Invalid.at("route", "is not asked for here", "Leave it out.")


def approval_field_values(visit: GateVisit, request: VoteRequest) -> dict[str, Any]:
    """Return the values of the gate's fields that come with an approval; other votes have none. A box that is
    required has to be ticked. Raises Invalid (path `fields.<key>`)."""
    gate = versions.parsed_line_by_version_id(visit.asked_by.pinned_id).gate(visit.gate)
    fields = gate.fields if request.word == Word.APPROVE else ()
    if not fields and not request.fields:
        return {}
    values = {
        key: None if value is False and _is_required_checkbox(fields, key) else value
        for key, value in request.fields.items()
    }
    return checked_inputs_with_defaults(fields, values, ValueScope.scope_of_task(visit.task), "fields")


def _is_required_checkbox(fields: Iterable[Input], key: str) -> bool:
    return any(
        form_field.key == key and form_field.type == "yes_no" and form_field.required for form_field in fields
    )


def token_if_vote_is_current(
    batch: Batch, visit: GateVisit, request: VoteRequest, votes: Sequence[Vote] = ()
) -> Token:
    """Return the token if the visit is open, the vote is about its current evidence, and the person has no
    vote in `votes` (law §6). Raises Conflict."""
    if visit.state != GateVisit.State.OPEN:
        raise already_decided_error(visit)
    token = batch.tokens.get(visit.token_id)
    # law §6: a review is bound to the visit, the version of the token and the evidence.
    current = (visit.token_version, visit.evidence_digest)
    if (
        token is None
        or token.version != visit.token_version
        or (request.token_version, request.evidence_digest) != current
    ):
        raise Conflict("What you saw is no longer what is under review. Reload the page.")
    if request.user is not None and any(vote.user_id == request.user.pk for vote in votes):
        raise Conflict("You have already voted here.", by=str(request.user))
    return token


def already_decided_error(visit: GateVisit) -> Conflict:
    by = str(visit.decider or "")
    what = f"{by} said “{visit.word_display}” here first." if visit.word else "This review is closed."
    return Conflict(what, by=by, at=visit.decided_at)
