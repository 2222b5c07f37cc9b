"""Tells what each button at a gate would do, computed by the same `decide` that will do it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.engine import VoteResult
from pipelines.engine.moves.entitlement import usernames_yet_to_approve
from pipelines.engine.moves.gates import approval_policy_of_visit
from pipelines.models import GateVisit, Word
from pipelines.queries import versions
from pipelines.queries.versions import parsed_version
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.document.kinds.deliver import MERGE
from pipelines.routing.document.line import Gate, ParsedLine
from pipelines.routing.sentences.names import consequence_text, end_name, station_names

VERBS = {
    Word.APPROVE: "Approve",
    Word.SEND_BACK: "Send back",
    Word.REJECT: "Reject",
    Word.REWORK: "Send back",
    Word.ABORT: "Abort",
}
CONFIRMS = {
    Word.APPROVE: "Confirm approval",
    Word.SEND_BACK: "Confirm and send back",
    Word.REJECT: "Confirm rejection",
    Word.REWORK: "Confirm and send back",
    Word.ABORT: "Confirm and abort",
}
DONE = {
    Word.APPROVE: "approved",
    Word.SEND_BACK: "sent back",
    Word.REJECT: "rejected",
    Word.REWORK: "sent back",
    Word.ABORT: "aborted",
}
REASON_PLACEHOLDER = "…"
"""Stands for the reviewer's text, while it is not known."""
NEEDS_REASON = frozenset({Word.SEND_BACK, Word.REJECT})
# word: (icon, key, variant of its button, tone of its icon); one filled button per view
LOOKS = {
    Word.APPROVE: ("check", "a", "primary", "tone-ok"),
    Word.SEND_BACK: ("send-back", "r", "", "muted"),
    Word.REJECT: ("x", "d", "danger", "tone-danger"),
    Word.REWORK: ("send-back", "r", "", "muted"),
    Word.ABORT: ("x", "d", "danger", "tone-danger"),
}


@dataclass(frozen=True)
class VoteOption:
    """Describes one button. `routes` are offered where the reviewer chooses where a rejection leads: (value, label).
    `answer`: what `decide` says to it, empty where that is chosen later."""

    word: str
    verb: str
    label: str
    then: str
    needs_reason: bool
    reason_help: str
    routes: tuple[tuple[str, str], ...] = ()
    answer: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def icon(self) -> str:
        return LOOKS[Word(self.word)][0]

    @property
    def key(self) -> str:
        """The letter that arms this button."""
        return LOOKS[Word(self.word)][1]

    @property
    def variant(self) -> str:
        return LOOKS[Word(self.word)][2]

    @property
    def confirm(self) -> str:
        """The label of the button of the second step."""
        return str(CONFIRMS[Word(self.word)])

    @property
    def confirm_variant(self) -> str:
        return "danger-filled" if self.variant == "danger" else "primary"

    @property
    def tone(self) -> str:
        return LOOKS[Word(self.word)][3]


def offered_votes_within_allowed_rounds(visit: GateVisit) -> list[VoteOption]:
    """The words that this gate offers, each with its consequence, without a send back beyond the allowed rounds."""
    line = parsed_version(visit.asked_by.pinned)
    gate = line.gate(visit.gate)
    return [
        _vote_option(line, visit, word) for word in gate.offers if not _are_rounds_used_up(gate, visit, word)
    ]


def sentence_after_vote(visit: GateVisit, word: str, result: VoteResult) -> str:
    """Tell whoever decided what was done, and what happens now: as the engine decided, or, while more votes are needed,
    in the sentence of the button."""
    line = versions.parsed_line_by_version_id(visit.asked_by.pinned_id)
    if result.state != GateVisit.State.DECIDED:
        words = _consequence_with_missing_votes(
            line, visit, word, _decision_if_others_approve(line, visit, word, None), counted=True
        )
        return f"Your vote is counted. {_as_sentence(words)}"
    return "{task}: {done}. {then}".format(
        task=visit.task.name,
        done=DONE[Word(word)],
        then=_as_sentence(_consequence_once_decided(line, visit, word, result.answer))
        if result.moved
        else "The task goes on when its other reviews are decided.",
    )


def _as_sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


def no_send_back_reason_or_empty(visit: GateVisit) -> str:
    """Tell why a gate that can send work back does not now, or "" if it does."""
    gate = parsed_version(visit.asked_by.pinned).gate(visit.gate)
    if Word.REWORK in gate.offers:
        return ""
    if Word.SEND_BACK not in gate.offers:
        return "Send back is not offered here: no rule of the line leads back from this gate."
    if _are_rounds_used_up(gate, visit, Word.SEND_BACK):
        most = gate.approval.max_rounds
        sentence = singular_or_plural(
            "Send back is not possible: %(n)s of %(n)s is used.",
            "Send back is not possible: %(n)s of %(n)s are used.",
            most,
        )
        return sentence % {"n": most}
    return ""


def _are_rounds_used_up(gate: Gate, visit: GateVisit, word: str) -> bool:
    """Tell whether it was sent back as often as the gate allows (law §5)."""
    return word == Word.SEND_BACK and visit.round > gate.approval.max_rounds


def _vote_option(line: ParsedLine, visit: GateVisit, word: str) -> VoteOption:
    routes = _rejection_routes_if_reviewer_chooses(line, visit.gate) if word == Word.REJECT else ()
    answer = _decision_if_others_approve(line, visit, word, routes[0][0] if routes else None)
    then = (
        _consequence_with_missing_votes(line, visit, word, answer)
        if not routes
        else "you choose where it goes"
    )
    return VoteOption(
        word=word,
        verb=str(VERBS[Word(word)]),
        label=_vote_and_destination_label(
            line, answer, str(VERBS[Word(word)]), then, loaded_base_branch_or_empty(visit)
        ),
        then=_as_sentence(then),
        needs_reason=line.gate(visit.gate).approval.reason_required or word in NEEDS_REASON,
        reason_help=_destination_of_reason_text(line, answer, bool(routes)),
        routes=routes,
        answer={} if routes else answer,
    )


def _destination_of_reason_text(line: ParsedLine, answer: dict[str, Any], chosen: bool) -> str:
    """Say where the reviewer's text goes."""
    if chosen:
        return "Kept in the history. A station that you choose also gets it as feedback."
    if answer["decision"] == "move" and answer["feedback"] == REASON_PLACEHOLDER:
        return f"Goes to {station_names(line, answer['to'])} as feedback, and is kept in the history."
    return "Kept with the task and in its history."


def _consequence_with_missing_votes(
    line: ParsedLine, visit: GateVisit, word: str, answer: Mapping[str, Any], *, counted: bool = False
) -> str:
    """Tell what follows, with the round for a send back and the missing votes for an approval. `counted`: this one is
    among the votes already."""
    follows = _consequence_once_decided(line, visit, word, answer)
    if word != Word.APPROVE:
        return follows
    policy = approval_policy_of_visit(visit, line)
    missing = policy.min_votes - sum(v.word == Word.APPROVE for v in visit.votes.all())
    # Without the vote itself, unless it is among those that were counted
    missing = max(missing, len(usernames_yet_to_approve(visit, policy))) - (not counted)
    if missing <= 0:
        return follows
    needed = singular_or_plural(
        "%(n)s more vote is needed, then", "%(n)s more votes are needed, then", missing
    )
    return f"{needed % {'n': missing}} {follows}"


def _consequence_once_decided(
    line: ParsedLine, visit: GateVisit, word: str, answer: Mapping[str, Any]
) -> str:
    """Tell what follows once the visit is decided."""
    if word == Word.SEND_BACK:
        station, most = (
            station_names(line, [visit.asked_by.station]),
            line.gate(visit.gate).approval.max_rounds,
        )
        return f"{station} runs again with your reason (send-back {visit.round} of {most})"
    return consequence_text(line, answer)


def _decision_if_others_approve(
    line: ParsedLine, visit: GateVisit, vote: str, route: str | None
) -> dict[str, Any]:
    """Return the answer of `decide` to the stored situation with this vote at this gate, and approval at the
    others asked with it."""
    situation = dict(visit.asked_by.situation)
    facts = dict(situation.get("facts") or {})
    gates = dict(facts.get("gates") or {})
    # As if the others approved: only so does this one word alone say where it leads
    for other in visit.asked_by.gate_visits.all():
        gates[other.gate] = {"decision": other.word or "approve"}
    gates[visit.gate] = {
        "decision": vote,
        "reason": REASON_PLACEHOLDER,
        **({"route": route} if route else {}),
    }
    facts["gates"] = gates
    return decide(line, read_situation({**situation, "facts": facts})).to_dict()


def loaded_base_branch_or_empty(visit: GateVisit) -> str:
    """The branch that its task started from, where the query of the visit brought it; else ""."""
    return str(vars(visit).get("base_branch") or "")


def _vote_and_destination_label(
    line: ParsedLine, answer: dict[str, Any], verb: str, then: str, base_branch: str
) -> str:
    if answer["decision"] == "move":
        stations = [line.station(key) for key in answer["to"]]
        merges = any(one.kind == DELIVER.key and one.work.get("to", MERGE) == MERGE for one in stations)
        to = f" to {escape_hidden(base_branch)}" if merges and base_branch else ""
        return f"{verb} → {station_names(line, answer['to'])}{to}"
    if answer["decision"] == "finish" and answer["kind"] == "completed":
        return f"{verb} → {end_name(line, answer['end'])}"
    return f"{verb}: {then}"


def _rejection_routes_if_reviewer_chooses(line: ParsedLine, gate_key: str) -> tuple[tuple[str, str], ...]:
    """The destinations that a rejection names under `on_reject: reviewer_chooses` (law §4)."""
    gate = line.gate(gate_key)
    if (gate.on_reject or line.policy.on_reject) != "reviewer_chooses":
        return ()
    fixed = (("fail", "the task fails"), ("rework", "the producing station runs again"))
    return (*fixed, *((station.key, station.name) for station in line.stations))
