"""A scenario as data: what happens to one task, step by step, and what is expected of the line (docs/testing.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics import values
from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.basics.problems import Malformed, member_path
from pipelines.routing.decide.effects import ENDS, LIVING
from pipelines.routing.decide.situation import read_facts
from pipelines.routing.document.document_readers.names import KEY, KEY_WORDS
from pipelines.routing.document.escalations import LONGEST, ROUTED, WORDS_TO_RESOLVE
from pipelines.routing.document.gates import WORDS

MAX_STEPS = 1_000
MAX_SCENARIOS = 5_000
KNOWN = ("key", "name", "inputs", "task", "steps", "expect")
EXPECTED = ("path", "rules", "end", "status")
KINDS = ("outcome", "gates", "answers", "answer", "retry", "escalate", "resolve", "reconsider")
FLAGS = ("retry", "reconsider")
"""Kinds of steps that say only `true`."""
DETAIL_KEYS = {"escalate": ("trigger", "reason"), "resolve": ("word", "route", "reason", "trigger")}
"""What these say; the first alone may stand as a text."""
STATUSES = (*LIVING, *ENDS)


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """Event of a scenario. `kind`: outcome (perhaps with `answers` that are known already), gates (votes at
    open gates), answers (to an evaluation), answer (to a question of a blocked task), retry (by hand),
    escalate (by hand), resolve (an open escalation), reconsider (a missing precondition is now present).

    `at`: the station of the token that the event concerns; None: the first one that has not ended. `missing`:
    of outcome, unmet preconditions of a forward move, all others count as met; of reconsider, those that are
    still unmet. `details`: of escalate {trigger, reason}, of resolve {word, route, reason, trigger}."""

    kind: str
    at: str | None = None
    outcome: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[Mapping[str, Any], ...] = ()
    gates: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    answer: str = ""
    missing: tuple[str, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {"at": self.at} if self.at else {}
        if self.kind == "outcome":
            document["outcome"] = dict(self.outcome)
        if self.missing:
            document["missing"] = list(self.missing)
        if self.answers:
            document["answers"] = [dict(answer) for answer in self.answers]
        if self.kind == "gates":
            document["gates"] = {key: _word_or_whole_vote(word) for key, word in self.gates.items()}
        if self.kind == "answer":
            document["answer"] = self.answer
        if self.kind in DETAIL_KEYS:
            alone = set(self.details) == {DETAIL_KEYS[self.kind][0]}
            document[self.kind] = self.details[DETAIL_KEYS[self.kind][0]] if alone else dict(self.details)
        return {**document, self.kind: True} if self.kind in FLAGS else document


@dataclass(frozen=True, slots=True)
class Expectation:
    """None where nothing is expected. `path`: every station entered, in order; `rules`: every rule taken, in order;
    `end`: the key of the task's end, "" for none; `status`: the task's at last."""

    path: tuple[str, ...] | None = None
    rules: tuple[str, ...] | None = None
    end: str | None = None
    status: str | None = None

    def to_dict(self) -> dict[str, Any]:
        lists = {"path": self.path, "rules": self.rules}
        document: dict[str, Any] = {key: list(value) for key, value in lists.items() if value is not None}
        words = {"end": self.end, "status": self.status}
        return {**document, **{key: value for key, value in words.items() if value is not None}}


@dataclass(frozen=True, slots=True)
class ScenarioScript:
    key: str
    name: str
    steps: tuple[ScenarioStep, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    task: Mapping[str, Any] = field(default_factory=dict)
    expect: Expectation = Expectation()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON that `read_scenario` reads back."""
        data = {"inputs": dict(self.inputs), "task": dict(self.task)}
        return {
            "key": self.key,
            "name": self.name,
            **{key: value for key, value in data.items() if value},
            "steps": [step.to_dict() for step in self.steps],
            "expect": self.expect.to_dict(),
        }


def read_scenarios(data: Any) -> tuple[ScenarioScript, ...]:
    """A list of scenarios. Raises Malformed with the place of the first fault; a key that stands twice is one."""
    if type(data) is not list:
        raise Malformed("", "has to be a list of scenarios")
    if len(data) > MAX_SCENARIOS:
        raise Malformed("", f"has more than {MAX_SCENARIOS} scenarios")
    scenarios: dict[str, ScenarioScript] = {}
    for index, raw_scenario in enumerate(data):
        scenario = read_scenario(raw_scenario, f"[{index}]")
        if scenario.key in scenarios:
            raise Malformed(f"[{index}].key", f"the key {scenario.key} appears twice")
        scenarios[scenario.key] = scenario
    return tuple(scenarios.values())


def read_scenario(data: Any, at: str = "") -> ScenarioScript:
    """Raises Malformed with the place of the first fault: an unknown key is one."""
    if type(data) is not dict:
        raise Malformed(at, "has to be an object")
    values.check_keys(data, at, KNOWN)
    values.check_storable(data, at)
    key = values.read_text(data.get("key"), member_path(at, "key"))
    if key is None or not KEY.match(key):
        raise Malformed(member_path(at, "key"), f"has to be a key: {KEY_WORDS}" if key else "is missing")
    name = values.read_text(data.get("name"), member_path(at, "name")) or key
    if len(name) > 200:
        raise Malformed(member_path(at, "name"), "is longer than 200 characters")
    return ScenarioScript(
        key=key,
        name=name,
        steps=_read_steps(data.get("steps"), member_path(at, "steps")),
        inputs=values.read_mapping(data.get("inputs"), member_path(at, "inputs")),
        task=values.read_mapping(data.get("task"), member_path(at, "task")),
        expect=_read_expectation(data.get("expect"), member_path(at, "expect")),
    )


def _read_steps(data: Any, at: str) -> tuple[ScenarioStep, ...]:
    steps = values.read_sequence(data, at)
    if len(steps) > MAX_STEPS:
        raise Malformed(at, f"has more than {MAX_STEPS} steps")
    return tuple(read_step(step, member_path(at, index)) for index, step in enumerate(steps))


def read_step(data: Any, at: str) -> ScenarioStep:
    """Raises Malformed with the place of the first fault."""
    if type(data) is not dict:
        raise Malformed(at, "has to be an object")
    values.check_keys(data, at, ("at", *KINDS, "missing"))
    kinds = {key for key in KINDS if data.get(key) is not None}
    # Beside an outcome `answers` are those that are known already; alone they are a step.
    kind = "outcome" if kinds == {"outcome", "answers"} else next(iter(kinds), "")
    if not kind or kinds - {kind, "answers"} or (len(kinds) > 1 and kind != "outcome"):
        raise Malformed(at, f"has to say one of {', '.join(KINDS)} (answers may stand beside an outcome)")
    if kind in FLAGS and data[kind] is not True:
        raise Malformed(member_path(at, kind), "has to be true")
    if kind == "outcome":
        # Only for what it refuses: the step keeps the outcome as it was written
        read_outcome(data["outcome"], member_path(at, "outcome"))
    answers = values.read_sequence(data.get("answers"), member_path(at, "answers"))
    read_facts({"answers": answers}, at)
    if kind == "answers" and not answers:
        raise Malformed(member_path(at, "answers"), "is empty")
    missing = _texts_or_none(data.get("missing"), member_path(at, "missing")) or ()
    if missing and kind not in ("outcome", "reconsider"):
        raise Malformed(member_path(at, "missing"), "stands beside an outcome or reconsider")
    return ScenarioStep(
        kind=kind,
        at=values.read_text(data.get("at"), member_path(at, "at")),
        outcome=data.get("outcome") or {},
        answers=tuple(answers),
        gates=_read_votes(data.get("gates"), at),
        answer=_nonblank_text(data.get("answer"), member_path(at, "answer")) if kind == "answer" else "",
        missing=missing,
        details=_read_details(kind, data[kind], member_path(at, kind)) if kind in DETAIL_KEYS else {},
    )


def _read_details(kind: str, data: Any, at: str) -> dict[str, str]:
    """Read the details of a step: of resolve `go_on`, or `{word: route, route: fix, reason: …, trigger: …}`;
    of escalate `security`, or `{trigger: security, reason: …}`."""
    first = DETAIL_KEYS[kind][0]
    members = {first: data} if type(data) is str else values.read_mapping(data, at)
    values.check_keys(members, at, DETAIL_KEYS[kind])
    details = {key: text for key in members if (text := values.read_text(members[key], member_path(at, key)))}
    if first not in details:
        raise Malformed(member_path(at, first), "is missing")
    if kind == "escalate" and len(details["trigger"]) > LONGEST:
        raise Malformed(member_path(at, first), f"is longer than {LONGEST} characters")
    if kind == "resolve":
        values.read_word(details["word"], member_path(at, "word"), WORDS_TO_RESOLVE)
        # One way or the other: a route that no word takes would be dropped without a word
        if ("route" in details) is not (details["word"] in ROUTED):
            message = (
                "names a station" if details["word"] in ROUTED else f"stands only with {' or '.join(ROUTED)}"
            )
            raise Malformed(member_path(at, "route"), message)
    return details


def _read_votes(data: Any, at: str) -> dict[str, dict[str, str]]:
    """`{review: approve}`, or `{review: {decision, route, reason}}` as the facts of a decision have it."""
    votes = {
        key: {"decision": word} if type(word) is str else word
        for key, word in values.read_mapping(data, member_path(at, "gates")).items()
    }
    for key, word in read_facts({"gates": votes}, at).gates.items():
        if word.decision is None:
            raise Malformed(
                member_path(member_path(at, "gates"), key), f"has to say one of {', '.join(WORDS)}"
            )
    # A step that says nothing would be walked, and change nothing
    if data is not None and not votes:
        raise Malformed(member_path(at, "gates"), "is empty")
    return votes


def _word_or_whole_vote(word: Mapping[str, str]) -> Any:
    return word["decision"] if set(word) == {"decision"} else dict(word)


def _nonblank_text(data: Any, at: str) -> str:
    text = values.read_text(data, at) or ""
    if not text.strip():
        raise Malformed(at, "is blank")
    return text


def _read_expectation(data: Any, at: str) -> Expectation:
    members = values.read_mapping(data, at)
    values.check_keys(members, at, EXPECTED)
    return Expectation(
        path=_texts_or_none(members.get("path"), member_path(at, "path")),
        rules=_texts_or_none(members.get("rules"), member_path(at, "rules")),
        end=values.read_text(members.get("end"), member_path(at, "end")),
        status=values.read_word(members.get("status"), member_path(at, "status"), STATUSES),
    )


def _texts_or_none(data: Any, at: str) -> tuple[str, ...] | None:
    if data is None:
        return None
    for index, member in enumerate(values.read_sequence(data, at)):
        if type(member) is not str:
            raise Malformed(member_path(at, index), "has to be a text")
    return tuple(data)
