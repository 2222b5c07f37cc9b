"""Everything that a decision reads, frozen and stored with it: station, outcome and facts (line-document.md)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from pipelines.routing.basics import facts as observed
from pipelines.routing.basics import values
from pipelines.routing.basics.outcome import Outcome, read_outcome
from pipelines.routing.basics.problems import Malformed, member_path
from pipelines.routing.basics.values import check_storable
from pipelines.routing.decide.sampling import DRAWS
from pipelines.routing.document.evaluations import ANSWERS, EvaluationAnswer
from pipelines.routing.document.gates import JUMP, WORDS
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.preconditions import GATE_PASSED, HANDOFF

OF_NOW = (
    *("visits", "edges", "rules", "failures", "visited", "open_escalations", "beside"),
    *("context", "variables", "inputs", "task", "unreadable"),
)
"""The facts that may have changed by the time of a vote or an answer; step 7 then reads their current values."""

AGENT_STATES = ("available", "suspended", "no_contract")

_KNOWN = ("station", "outcome", "facts")


class SituationError(Malformed):
    """The situation is malformed; `path` names the place."""


@dataclass(frozen=True, slots=True)
class GateWord:
    """A person's decision at a gate on this visit. `decision` is None while there is none."""

    decision: str | None = None
    route: str | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        members = {"decision": self.decision, "route": self.route, "reason": self.reason}
        return {key: value for key, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class AgentFact:
    """Availability of an agent for new work, and how many more jobs it takes (None: any number).

    `state`: available, suspended, or no_contract (none, or one that is no longer valid).
    """

    state: str = "available"
    free: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"state": self.state, **({} if self.free is None else {"free": self.free})}


@dataclass(frozen=True, slots=True)
class SamePatch:
    """The tree `approved` was approved, asked by `rule` ("": none), and `tree` is the same change on a base that moved,
    checked again (law §15)."""

    rule: str = ""
    approved: str = ""
    tree: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"rule": self.rule, "approved": self.approved, "tree": self.tree}


@dataclass(slots=True, unsafe_hash=True)
class Facts:
    """Every other fact, each with its default; nobody changes them (see `Outcome`). What a key means stands in
    line-document.md.

    `visits` holds what was given: ask `visit_count`. `visited` is None where nothing was given. `beside`: stations in
    which other tokens of the task stand. `failures` {"station:failure type": n} counts the moves out of a station by
    outcomes of that type; `agents` those of the line's agents that are registered. `spent`: what the task cost before
    this outcome, in dollars. `observed` {station: facts}: of other stations, on the tree of this outcome. `samples`
    {gate: what was drawn}: at gates that ask about a sample. `stands` {gate: SamePatch}: whose approval stands
    for the same change on a base that moved.

    `now`: since a gate asked or an evaluation was answered, those of `OF_NOW` that are otherwise by this moment. Only
    step 7 reads them; rules and checks stand as they were (law §12, Gates and words).
    """

    visits: Mapping[str, int] = field(default_factory=dict)
    edges: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    signal_reworks: int = 0
    visited: tuple[str, ...] | None = None
    origin: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    task: Mapping[str, Any] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[EvaluationAnswer, ...] = ()
    gates: Mapping[str, GateWord] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    rounds: Mapping[str, int] = field(default_factory=dict)
    open_escalations: int = 0
    beside: tuple[str, ...] = ()
    preconditions: Mapping[str, bool] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    agents: Mapping[str, AgentFact] = field(default_factory=dict)
    now: Mapping[str, Any] = field(default_factory=dict)
    spent: Any = 0
    observed: Mapping[str, observed.Facts] = field(default_factory=dict)
    samples: Mapping[str, str] = field(default_factory=dict)
    stands: Mapping[str, SamePatch] = field(default_factory=dict)

    @property
    def of_now(self) -> Facts:
        """The facts as step 7 reads them."""
        # `now` holds only what is otherwise, so all else stays as it was frozen.
        return replace(self, **self.now, now={}) if self.now else self

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON that `read_situation` reads back; defaults are left out."""
        document: dict[str, Any] = {name: getattr(self, name) for name in _FACTS}
        document["visited"] = None if self.visited is None else list(self.visited)
        document["beside"] = list(self.beside)
        document["now"] = {name: list(v) if type(v) is tuple else v for name, v in self.now.items()}
        document["answers"] = [answer.to_dict() for answer in self.answers]
        document["gates"] = {key: word.to_dict() for key, word in self.gates.items()}
        document["stands"] = {key: stands.to_dict() for key, stands in self.stands.items()}
        document["agents"] = {key: agent.to_dict() for key, agent in self.agents.items()}
        # None is their default: an empty `visited` says that no station had a job.
        texts_and_lists = {"visited", "origin"}
        return {k: v for k, v in document.items() if v or (k in texts_and_lists and v is not None)}


NO_FACTS: Final = Facts()


@dataclass(slots=True, unsafe_hash=True)
class Situation:
    station: str
    outcome: Outcome
    facts: Facts = NO_FACTS

    @property
    def of_now(self) -> Situation:
        """Situation as step 7 reads it."""
        return replace(self, facts=self.facts.of_now) if self.facts.now else self

    def visit_count(self, station: str) -> int:
        """Entries so far, the present one included: 1 for the present station unless told, else 0."""
        return self.facts.visits.get(station, 1 if station == self.station else 0)

    def has_visited(self, station: str) -> bool:
        """Return whether the station has had a job in this task, the present one included."""
        if station == self.station:
            return True
        visited = self.facts.visited
        return self.visit_count(station) > 0 if visited is None else station in visited

    def to_dict(self) -> dict[str, Any]:
        facts = self.facts.to_dict()
        situation = {"station": self.station, "outcome": self.outcome.to_dict()}
        return {**situation, "facts": facts} if facts else situation


def read_situation(data: Any) -> Situation:
    """A situation from plain JSON. Raises Malformed (SituationError or OutcomeError) with the place."""
    if type(data) is not dict:
        raise SituationError("", "has to be an object")
    values.check_keys(data, "", _KNOWN)
    station = values.read_text(data.get("station"), "station")
    if station is None:
        raise SituationError("station", "is missing")
    if data.get("outcome") is None:
        raise SituationError("outcome", "is missing")
    return Situation(
        station, read_outcome(data["outcome"], "outcome"), read_facts(data.get("facts"), "facts")
    )


SOUND = (
    *("visits", "edges", "rules", "rounds", "failures", "signal_reworks", "open_escalations", "origin"),
    *("context", "variables", "inputs", "task", "unreadable"),
)
"""Facts that an engine reads from rows of its own: each value was checked when it came in."""


def situation_from_engine(data: Mapping[str, Any], outcome: Outcome | None = None) -> Situation:
    """`read_situation` of what an engine put together itself. `outcome`: as it was read already."""
    facts = {
        # What comes from typed rows was checked when it came in, and every decision reads it
        key: value if key in SOUND else _FACTS[key](value, member_path("facts", key))
        for key, value in data["facts"].items()
        if value is not None
    }
    return Situation(data["station"], outcome or read_outcome(data["outcome"], "outcome"), Facts(**facts))


def check_situation(line: ParsedLine, situation: Situation) -> None:
    """Check the situation against the line: its station exists, and a reviewer who has to choose a route did. Raises
    SituationError."""
    if situation.station not in line.stations_by_key:
        raise SituationError("station", f"the line has no station {situation.station}")
    for key, word in situation.facts.gates.items():
        # Only here a word needs a second one: where the rejection leads (law §4).
        if word.decision == "reject" and _reviewer_chooses(line, key):
            _check_choice(line, word.route, f"{member_path('facts.gates', key)}.route")


def _reviewer_chooses(line: ParsedLine, key: str) -> bool:
    if key == JUMP:
        return line.policy.on_reject == "reviewer_chooses"
    gate = line.gates_by_key.get(key)
    return gate is not None and (gate.on_reject or line.policy.on_reject) == "reviewer_chooses"


def _check_choice(line: ParsedLine, route: str | None, path: str) -> None:
    if route is None:
        raise SituationError(path, "is missing: at this gate a reject names fail, rework or a station")
    if route not in ("fail", "rework") and route not in line.stations_by_key:
        raise SituationError(path, f"has to be fail, rework or a station of the line, not {route}")


def assumed_preconditions(
    line: ParsedLine, station: str, outcome: Mapping[str, Any], but: tuple[str, ...] = ()
) -> dict[str, bool]:
    """The preconditions that an engine would look up, assumed to be met where there is no engine: in scenarios and
    samples. A handoff in the outcome is still checked. `but`: those that are missing."""
    # What `decide` looks up by itself is not assumed.
    known = (GATE_PASSED, HANDOFF) if outcome.get("handoff") is not None else (GATE_PASSED,)
    preconditions = {name: True for name in line.requirements_of(station) if name not in known}
    return {**preconditions, **dict.fromkeys(but, False)}


def read_facts(data: Any, at: str) -> Facts:
    """Raises Malformed."""
    members = {} if data is None else _read_members(data, at, _KNOWN_FACTS)
    return Facts(**members) if members else NO_FACTS


def _read_members(data: Any, at: str, known: tuple[str, ...]) -> dict[str, Any]:
    facts = values.read_mapping(data, at)
    values.check_keys(facts, at, known)
    members = {}
    for key, value in facts.items():
        path = f"{at}.{key}" if at else key
        check_storable(value, path)
        if value is not None:
            members[key] = _FACTS[key](value, path)
    return members


def _read_facts_of_now(value: Any, path: str) -> dict[str, Any]:
    return _read_members(value, path, OF_NOW)


def _read_texts(value: Any, path: str) -> tuple[str, ...]:
    for index, member in enumerate(values.read_sequence(value, path)):
        if type(member) is not str:
            raise Malformed(member_path(path, index), "has to be a text")
    return tuple(value)


def _read_answers(value: Any, path: str) -> tuple[EvaluationAnswer, ...]:
    return tuple(
        _read_answer(member, member_path(path, index))
        for index, member in enumerate(values.read_sequence(value, path))
    )


def _read_answer(value: Any, path: str) -> EvaluationAnswer:
    if type(value) is not dict:
        raise Malformed(path, "has to be an object")
    values.check_keys(value, path, (*ANSWERS, "answer", "text"))
    # A null is absent, as everywhere in a situation.
    kinds = [kind for kind in ANSWERS if value.get(kind) is not None]
    if len(kinds) != 1:
        raise Malformed(path, "has to name the evaluation: agentic, hook or tool")
    if type(value[kinds[0]]) is not dict:
        raise Malformed(member_path(path, kinds[0]), "has to be an object")
    word = values.read_text(value.get("answer"), member_path(path, "answer"))
    if word is None:
        raise Malformed(member_path(path, "answer"), "is missing")
    return EvaluationAnswer(
        kinds[0], value[kinds[0]], word, values.read_text(value.get("text"), member_path(path, "text"))
    )


def _read_unreadable(value: Any, path: str) -> dict[str, str]:
    """{key: station} of the context that could not be read; "" once another station has said it."""
    members = values.read_mapping(value, path)
    return {key: values.read_text(member, member_path(path, key)) or "" for key, member in members.items()}


def _read_gate_words(value: Any, path: str, known: Collection[str] = WORDS) -> dict[str, str]:
    """{gate: the last word at it}, on earlier visits of this task, or another word of each gate."""
    members = values.read_mapping(value, path)
    words = {key: values.read_word(member, member_path(path, key), known) for key, member in members.items()}
    return {key: word for key, word in words.items() if word is not None}


def _read_gates(value: Any, path: str) -> dict[str, GateWord]:
    members = values.read_mapping(value, path)
    return {
        key: _read_gate_word(member, member_path(path, key))
        for key, member in members.items()
        if member is not None
    }


def _read_gate_word(value: Any, path: str) -> GateWord:
    if type(value) is not dict:
        raise Malformed(path, "has to be an object")
    values.check_keys(value, path, ("decision", "route", "reason"))
    return GateWord(
        decision=values.read_word(value.get("decision"), member_path(path, "decision"), WORDS),
        route=values.read_text(value.get("route"), member_path(path, "route")),
        reason=values.read_text(value.get("reason"), member_path(path, "reason")),
    )


def _read_same_patches(value: Any, path: str) -> dict[str, SamePatch]:
    members = values.read_mapping(value, path)
    return {
        key: _read_same_patch(member, member_path(path, key))
        for key, member in members.items()
        if member is not None
    }


def _read_same_patch(value: Any, path: str) -> SamePatch:
    if type(value) is not dict:
        raise Malformed(path, "has to be an object")
    known = ("rule", "approved", "tree")
    values.check_keys(value, path, known)
    return SamePatch(*(values.read_text(value.get(key), member_path(path, key)) or "" for key in known))


def _read_observed(value: Any, path: str) -> dict[str, Any]:
    members = values.read_mapping(value, path)
    return {
        key: observed.read_observed_facts(member, member_path(path, key))
        for key, member in members.items()
        if member is not None
    }


def _read_agents(value: Any, path: str) -> dict[str, AgentFact]:
    members = values.read_mapping(value, path)
    return {
        key: _read_agent(member, member_path(path, key))
        for key, member in members.items()
        if member is not None
    }


def _read_agent(value: Any, path: str) -> AgentFact:
    if type(value) is not dict:
        raise Malformed(path, "has to be an object")
    values.check_keys(value, path, ("state", "free"))
    state = values.read_word(value.get("state"), member_path(path, "state"), AGENT_STATES)
    return AgentFact(state or "available", values.read_count(value.get("free"), member_path(path, "free")))


_FACTS: dict[str, Any] = {
    "visits": values.read_counts,
    "edges": values.read_counts,
    "rules": values.read_counts,
    "signal_reworks": values.read_count,
    "visited": _read_texts,
    "origin": values.read_text,
    "context": values.read_mapping,
    "variables": values.read_mapping,
    "inputs": values.read_mapping,
    "task": values.read_mapping,
    "unreadable": _read_unreadable,
    "answers": _read_answers,
    "gates": _read_gates,
    "words": _read_gate_words,
    "rounds": values.read_counts,
    "open_escalations": values.read_count,
    "beside": _read_texts,
    "preconditions": values.read_flags,
    "failures": values.read_counts,
    "agents": _read_agents,
    "now": _read_facts_of_now,
    "spent": observed.read_amount,
    "observed": _read_observed,
    "samples": partial(_read_gate_words, known=DRAWS),
    "stands": _read_same_patches,
}
"""How each fact is read; there are no other keys."""
_KNOWN_FACTS = tuple(_FACTS)
