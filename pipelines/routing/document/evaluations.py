"""Evaluations that a decision cannot make itself, and what was answered (law §3, agentic and hook)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.durations import DurationError, parse_seconds

WORDS = {"agentic": ("yes", "no"), "hook": ("pass", "block")}
"""Of conditions: the two words that answer them."""
ANSWERS = {**WORDS, "tool": ("pass", "warn", "fail")}
"""Of everything that a decision may ask."""
UNANSWERED = "unanswered"
MODEL, WORKER, PERSON = "model", "worker", "person"
EVALUATORS = (WORKER, MODEL, PERSON)
"""Who answers an agentic question, in this order where the question does not say."""
MACHINES = (WORKER, MODEL)
HOOK_TIMEOUT = 60
"""Seconds, where the document does not say."""


def evaluation_key(kind: str, payload: Any) -> str:
    """The same for the same evaluation: timeouts by length, `60s` = 60 = absent."""
    if kind == "hook" and isinstance(payload, dict):
        try:
            timeout = parse_seconds(payload.get("timeout", HOOK_TIMEOUT))
        except DurationError:
            timeout = payload["timeout"]
        payload = {**payload, "timeout": timeout}
    return f"{kind} {jsontext.dumps(_objects_as_sorted_pairs(payload))}"


def _objects_as_sorted_pairs(value: Any) -> Any:
    """Whatever the order of keys: objects as lists of their members."""
    if isinstance(value, dict):
        return [[key, _objects_as_sorted_pairs(member)] for key, member in sorted(value.items())]
    return [_objects_as_sorted_pairs(member) for member in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`payload` as written in the document: `{question}` or `{argv, timeout}`; of a tool see `gate_tools`."""

    kind: str
    payload: dict[str, Any]
    key: str = field(compare=False, repr=False)

    @classmethod
    def of(cls, kind: str, payload: dict[str, Any]) -> Evaluation:
        return cls(kind, payload, evaluation_key(kind, payload))

    def to_dict(self) -> dict[str, Any]:
        return {self.kind: self.payload}


@dataclass(frozen=True, slots=True)
class EvaluationAnswer:
    """Entry of the fact `answers`. Any word but the two of its kind is no answer."""

    kind: str
    payload: Any
    word: str
    text: str | None = None

    @property
    def is_valid_word(self) -> bool:
        return self.word in ANSWERS[self.kind]

    def to_dict(self) -> dict[str, Any]:
        text = {} if self.text is None else {"text": self.text}
        return {self.kind: self.payload, "answer": self.word, **text}


def answers_by_key(answers: Iterable[EvaluationAnswer]) -> dict[str, EvaluationAnswer]:
    """Return the answers by evaluation; of several answers to one evaluation the last counts."""
    return {evaluation_key(answer.kind, answer.payload): answer for answer in answers}


def evaluator_that_answers(question: Mapping[str, Any], able: Collection[str]) -> str:
    """Return who answers: the evaluator that the question names, else the first of `EVALUATORS` that can.
    `able`: the machines that can. A named machine that is missing is replaced by a person, never by
    another machine."""
    evaluator = question.get("agentic", {}).get("evaluator")
    # Without a name the first that there is answers, in this order; a person comes last (law §3).
    candidates = (evaluator,) if evaluator else MACHINES
    return next((candidate for candidate in candidates if candidate in able), PERSON)


def fact_of_evaluation_outcome(question: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    """The fact that the outcome of an evaluation's job is: its `eval` is the word, its `feedback` the text. Whatever
    is not one of the two words, a job that was cancelled or failed among them, is `unanswered` (law §3)."""
    kind = next(iter(question))
    word = outcome.get("eval") if outcome.get("result") in (None, "success") else None
    answer = word if word in WORDS[kind] else UNANSWERED
    text = outcome.get("feedback") or outcome.get("summary")
    return {**question, "answer": answer, **({"text": text} if type(text) is str else {})}
