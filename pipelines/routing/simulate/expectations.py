"""Comparison of expected and actual results: each mismatch with its step, and why the line went as it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.decide.decisions import DecisionAnswer
from pipelines.routing.simulate.scenario import Expectation
from pipelines.routing.simulate.state import SimulatedTask, StepRecord


@dataclass(frozen=True, slots=True)
class ExpectationFailure:
    """`step`: the number of the step that went otherwise, None where none did. `why`: from the trace."""

    step: int | None
    message: str
    what: str = ""
    expected: Any = None
    got: Any = None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "what": self.what,
            "message": self.message,
            "expected": self.expected,
            "got": self.got,
            "why": self.why,
        }

    def __str__(self) -> str:
        where = f"step {self.step}: " if self.step else ""
        return f"{where}{self.message}" + (f" ({self.why})" if self.why else "")


def failed_expectations(
    expect: Expectation, steps: Sequence[StepRecord], walk: SimulatedTask
) -> tuple[ExpectationFailure, ...]:
    """Every expectation that does not hold, in the order path, rules, end, status."""
    failures: list[ExpectationFailure] = []
    if expect.path is not None:
        failures += _first_sequence_difference("path", expect.path, steps, lambda step: step.entered)
    if expect.rules is not None:
        failures += _first_sequence_difference("rules", expect.rules, steps, lambda step: step.rules)
    if expect.end is not None:
        failures += _failure_if_words_differ("end", expect.end, walk.end, steps)
    if expect.status is not None:
        failures += _failure_if_words_differ("status", expect.status, walk.status, steps)
    return tuple(failures)


def _first_sequence_difference(
    what: str,
    expected: tuple[str, ...],
    steps: Sequence[StepRecord],
    of: Callable[[StepRecord], tuple[str, ...]],
) -> list[ExpectationFailure]:
    """The first place at which the two differ; the step is the one that went there, or the last."""
    went = [(key, step) for step in steps for key in of(step)]
    got = tuple(key for key, _ in went)
    if got == expected:
        return []
    place = next((i for i, pair in enumerate(zip(expected, got, strict=False)) if pair[0] != pair[1]), None)
    if place is None:
        place = min(len(expected), len(got))
    step = went[place][1] if place < len(went) else steps[-1]
    this = expected[place] if place < len(expected) else "nothing more"
    other = got[place] if place < len(got) else "nothing more"
    message = f"{NOUNS[what]} {place + 1}: expected {this}, got {other}"
    return [
        ExpectationFailure(
            step.number or None, message, what, list(expected), list(got), trace_summary(step.decision)
        )
    ]


NOUNS = {"path": "station", "rules": "rule"}


def _failure_if_words_differ(
    what: str, expected: str, got: str, steps: Sequence[StepRecord]
) -> list[ExpectationFailure]:
    if expected == got:
        return []
    last = steps[-1]
    message = f"{what}: expected {expected or 'none'}, got {got or 'none'}"
    return [
        ExpectationFailure(last.number or None, message, what, expected, got, trace_summary(last.decision))
    ]


def trace_summary(decision: DecisionAnswer | None) -> str:
    """A trace in one line: the rules that were tested, then what was said last."""
    if decision is None:
        return ""
    tested = [f"{e.rule} {_result_text(e.result)}" for e in decision.trace if e.step == "rules" and e.rule]
    reasons = [entry.why for entry in decision.trace if entry.why]
    return "; ".join([*([f"rules: {', '.join(tested)}"] if tested else []), *reasons[-1:]])


def _result_text(result: bool | str) -> str:
    return str(result).lower()
