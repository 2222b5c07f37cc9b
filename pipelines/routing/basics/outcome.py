"""The outcome of a job (or of a gate, timer, person, evaluation): plain data, and what follows from it.

Law §2. Nothing is rewritten: `Outcome` keeps what was reported, `derived_outcome` says what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pipelines.routing.basics import facts as observed
from pipelines.routing.basics.problems import Malformed, member_path
from pipelines.routing.basics.values import (
    MISSING,
    check_keys,
    check_members,
    is_number,
    read_integer_or_none,
    read_mapping,
    read_sequence,
    read_text,
    read_word,
)

RESULTS: Final = ("success", "failure", "cancelled", "blocked")
VERDICTS: Final = ("pass", "fail", "blocked")
SIGNALS: Final = ("proceed", "hold", "rework", "abort")

_RESULT_OF_VERDICT = {"pass": "success", "fail": "failure", "blocked": "blocked"}
_VERDICT_OF_RESULT = {"success": "pass", "failure": "fail", "cancelled": "fail", "blocked": "blocked"}
_EVAL_OF_RESULT = {"success": "ok", "failure": "error", "cancelled": "cancelled", "blocked": "blocked"}
_USAGE = ("cost_usd", "tokens_in", "tokens_out", "duration_sec")
_TEXTS = ("eval", "failure_type", "summary", "comment", "feedback", "reason")
_SINGLE = ("result", "verdict", "exit_code", *_TEXTS, "handoff")
_KNOWN = (*_SINGLE, "output", "output_error", "signals", "blockers", "artifacts", "usage", "git", "facts")


class OutcomeError(Malformed):
    """The outcome is not one; `path` names the place in it."""


@dataclass(slots=True, unsafe_hash=True)
class Outcome:
    """Reported result of work. Treat it as immutable; it is not frozen because that makes it cheaper to
    create. None (for `output`: MISSING) where nothing was reported; lists and maps are never None. `facts`
    holds what Gateline observed, never what the work reports (law §13)."""

    result: str | None = None
    verdict: str | None = None
    eval: str | None = None
    exit_code: int | None = None
    output: Any = MISSING
    output_error: bool | str = False
    failure_type: str | None = None
    signals: tuple[dict[str, Any], ...] = ()
    blockers: tuple[Any, ...] = ()
    artifacts: tuple[Any, ...] = ()
    summary: str | None = None
    comment: str | None = None
    feedback: str | None = None
    handoff: Any = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    git: Mapping[str, Any] = field(default_factory=dict)
    facts: observed.Facts = field(default_factory=dict)
    reason: str | None = None

    @property
    def deciding_signal(self) -> dict[str, Any] | None:
        """The first valid signal: it decides, later ones are only recorded."""
        for signal in self.signals:
            if is_signal(signal.get("verdict")):
                return signal
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON that `read_outcome` reads back."""
        values = {name: getattr(self, name) for name in _SINGLE}
        lists = {name: list(getattr(self, name)) for name in ("signals", "blockers", "artifacts")}
        document = {name: value for name, value in values.items() if value is not None}
        document |= {name: members for name, members in lists.items() if members}
        document |= {"output_error": self.output_error} if self.output_error else {}
        document |= {
            name: dict(getattr(self, name)) for name in ("usage", "git", "facts") if getattr(self, name)
        }
        return document if self.output is MISSING else {**document, "output": self.output}


@dataclass(slots=True, unsafe_hash=True)
class DerivedOutcome:
    """Result, verdict and eval with what is absent filled in, or what a forced route puts in their place."""

    result: str
    verdict: str
    eval: str

    @property
    def outcome_state(self) -> str:
        """blocked, failed or passed (law §2)."""
        result, verdict = self.result, self.verdict
        if result == "blocked" or verdict == "blocked":
            return "blocked"
        failed = verdict == "fail" or result in ("failure", "cancelled")
        return "failed" if failed else "passed"

    def with_verdict(self, verdict: str) -> DerivedOutcome:
        return replace(self, verdict=verdict)


FORCED: Final = {
    "success": DerivedOutcome("success", "pass", "ok"),
    "failure": DerivedOutcome("failure", "fail", "error"),
    "blocked": DerivedOutcome("blocked", "blocked", "blocked"),
}


def derived_outcome(outcome: Outcome, failed: str = "error") -> DerivedOutcome:
    """Derive the absent fields: result ← exit code ← verdict ← success; verdict ← result; eval ← result.
    `failed`: the eval of a failure, which the kind of work defines."""
    result = outcome.result or _derive_result(outcome)
    verdict = outcome.verdict or _VERDICT_OF_RESULT[result]
    return DerivedOutcome(
        result, verdict, _derive_eval(result, failed) if outcome.eval is None else outcome.eval
    )


def _derive_result(outcome: Outcome) -> str:
    if outcome.exit_code is not None:
        return "success" if outcome.exit_code == 0 else "failure"
    return _RESULT_OF_VERDICT[outcome.verdict] if outcome.verdict else "success"


def _derive_eval(result: str, failed: str) -> str:
    return failed if result == "failure" else _EVAL_OF_RESULT[result]


def read_outcome(data: Any, at: str = "") -> Outcome:
    """An outcome from plain JSON. `at` is the path in front of the places that errors name.

    Raises OutcomeError: an unknown key, a wrong type, text or nesting that cannot be stored (law §2,
    last line), or none of result, verdict, eval and exit_code.
    """
    try:
        return _read_object(data, at)
    except OutcomeError:
        raise
    except Malformed as error:
        raise OutcomeError(error.path, error.message) from None


def _read_object(data: Any, at: str) -> Outcome:
    if type(data) is not dict:
        raise OutcomeError(at, "has to be an object")
    check_keys(data, at, _KNOWN)
    check_members(data, at)
    # Most are absent, and of those nobody needs the place.
    members = {
        name: read(value, f"{at}.{name}" if at else name)
        for name, read in _READERS
        if (value := data.get(name)) is not None
    }
    outcome = Outcome(**members, output=data.get("output", MISSING))
    if (outcome.result, outcome.verdict, outcome.eval, outcome.exit_code) == (None, None, None, None):
        raise OutcomeError(at, "says none of result, verdict, eval and exit_code")
    return outcome


def _read_output_error(value: Any, path: str) -> bool | str:
    if type(value) is not bool and type(value) is not str:
        raise Malformed(path, "has to be true, false or a text")
    return value or False


def _read_signals(value: Any, path: str) -> tuple[dict[str, Any], ...]:
    signals = read_sequence(value, path)
    for index, signal in enumerate(signals):
        if type(signal) is not dict:
            raise Malformed(member_path(path, index), "has to be an object")
        if is_signal(signal.get("verdict")):
            # Signals with another verdict are recorded as they are, and ignored (law §2).
            read_text(signal.get("reason"), member_path(member_path(path, index), "reason"))
            read_mapping(signal.get("meta"), member_path(member_path(path, index), "meta"))
    return tuple(signals)


def is_signal(verdict: Any) -> bool:
    """Return whether a signal with this verdict counts; any other is recorded and ignored (law §2)."""
    return type(verdict) is str and verdict in SIGNALS


def _read_usage(value: Any, path: str) -> dict[str, Any]:
    usage = read_mapping(value, path)
    for key in _USAGE:
        if usage.get(key) is not None and not is_number(usage[key]):
            raise Malformed(member_path(path, key), "has to be a number")
        # What was never spent would pay for what comes: limits of cost count the sum.
        if usage.get(key) is not None and usage[key] < 0:
            raise Malformed(member_path(path, key), "has to be 0 or more")
    return usage


def _read_members(value: Any, path: str) -> tuple[Any, ...]:
    return tuple(read_sequence(value, path))


_READERS: Final[tuple[tuple[str, Callable[[Any, str], Any]], ...]] = (
    *((name, read_text) for name in _TEXTS),
    ("result", lambda value, path: read_word(value, path, RESULTS)),
    ("verdict", lambda value, path: read_word(value, path, VERDICTS)),
    ("exit_code", read_integer_or_none),
    ("output_error", _read_output_error),
    ("signals", _read_signals),
    ("blockers", _read_members),
    ("artifacts", _read_members),
    ("handoff", lambda value, path: value),
    ("usage", _read_usage),
    ("git", read_mapping),
    ("facts", observed.read_observed_facts),
)
"""How each value that is not null is read, in the order in which faults are told; the output is as it is."""
