"""What somebody says with a vote, and what that is refused for (law §5 “A person's word at any gate”, §6 Approval)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.engine.commands.inputs import fill
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.engine.core.values import ENGINE, Actor
from pipelines.engine.moves.absences import Seat, seats_of, usable
from pipelines.engine.moves.chat_votes import Chat
from pipelines.engine.moves.entitlement import EntitledPerson, meets_any
from pipelines.engine.moves.gates import gate_of, policy_at
from pipelines.models import GateVisit, Token, User, Vote, Word
from pipelines.ports.vault.finding import Reach
from pipelines.queries import versions
from pipelines.routing.document.gates import OFFERS
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


def may_say(
    visit: GateVisit, said: VoteRequest, votes: Sequence[Vote], person: EntitledPerson | None
) -> tuple[Seat, Approval]:
    """In whose place somebody votes, and under which policy. `person`: who they are in the project. Raises NotFound,
    Forbidden, Invalid."""
    line = versions.by_id(visit.asked_by.pinned_id)
    policy = policy_at(visit, line)
    assert said.user is not None
    mine = seats_of(said.user, visit.task.project_id, person)
    seat = _seat(mine, visit, policy, said.seat, votes)
    if said.chat and (refusal := said.chat.refusal(visit, policy, votes)):
        raise Forbidden(refusal)
    _check_words(line, gate_of(line, visit.gate), said, reason_required=policy.reason_required)
    return seat, policy


def _seat(mine: Sequence[Seat], visit: GateVisit, policy: Approval, name: str, votes: Sequence[Vote]) -> Seat:
    """Raises NotFound for a non-member, Forbidden for somebody who is not asked or is barred."""
    if not mine:
        raise NotFound()
    named = [seat for seat in mine if name in ("", seat.person.username)]
    if not named:
        raise Forbidden(f"You do not stand in for {name} in this project.")
    found = usable(named, visit, policy, votes) or usable(named, visit, policy, ())
    if not found:
        asked = next((seat for seat in named if meets_any(seat.person, policy.who)), None)
        why = asked.barred(visit.task, visit, policy) if asked else ""
        raise Forbidden(why or "This gate does not ask you to review.")
    return found[0]


def check_free(votes: Sequence[Vote], seat: Seat) -> None:
    """Nobody's place is taken twice. Raises Conflict."""
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


def _check_words(line: ParsedLine, gate: Gate | None, said: VoteRequest, *, reason_required: bool) -> None:
    offers = gate.offers if gate else OFFERS
    if said.word not in offers:
        raise Invalid.at(
            "word",
            f"“{said.word}” is not offered here",
            f"Use one of {', '.join(offers)}.",
        )
    payload.text(said.reason, "reason")
    if (reason_required or said.word in NEEDS_REASON) and not said.reason.strip():
        raise Invalid.at("reason", "A reason is needed.", "Enter a reason. It is stored and shown.")
    chooses = ((gate and gate.on_reject) or line.policy.on_reject) == CHOOSES
    if said.word == Word.REJECT and chooses:
        if said.route not in ("fail", "rework") and said.route not in line.stations_by_key:
            raise Invalid.at(
                "route", "has to be fail, rework or a station", "Choose where the task goes then."
            )
    elif said.route:
        raise Invalid.at("route", "is not asked for here", "Leave it out.")


def filled(visit: GateVisit, said: VoteRequest) -> dict[str, Any]:
    """The values of the gate's fields with an approval; any other word fills in nothing. A box that has to be ticked
    is. Raises Invalid (path `fields.<key>`)."""
    gate = gate_of(versions.by_id(visit.asked_by.pinned_id), visit.gate)
    asked = gate.fields if gate and said.word == Word.APPROVE else ()
    if not asked and not said.fields:
        return {}
    given = {
        key: None if value is False and _has_to_be_ticked(asked, key) else value
        for key, value in said.fields.items()
    }
    return fill(asked, given, Reach.of(visit.task), "fields")


def _has_to_be_ticked(fields: Iterable[Input], key: str) -> bool:
    return any(each.key == key and each.type == "yes_no" and each.required for each in fields)


def still_shown(batch: Batch, visit: GateVisit, said: VoteRequest, votes: Sequence[Vote] = ()) -> Token:
    """The token, if the visit is open, the vote is about what is shown there now, and none of these is theirs (law
    §6)."""
    if visit.state != GateVisit.State.OPEN:
        raise too_late(visit)
    token = batch.tokens.get(visit.token_id)
    shown = (visit.token_version, visit.evidence_digest)
    if (
        token is None
        or token.version != visit.token_version
        or (said.token_version, said.evidence_digest) != shown
    ):
        raise Conflict("What you saw is no longer what is under review. Reload the page.")
    if said.user is not None and any(vote.user_id == said.user.pk for vote in votes):
        raise Conflict("You have already voted here.", by=str(said.user))
    return token


def too_late(visit: GateVisit) -> Conflict:
    by = str(visit.decider or "")
    what = f"{by} said “{visit.word_display}” here first." if visit.word else "This review is closed."
    return Conflict(what, by=by, at=visit.decided_at)
