"""Decisions of `decide`: plain data, in the shape of line-document.md, The decision tool.

Treat a decision as immutable; it is not frozen because that makes it cheaper to create.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, overload

from pipelines.routing.basics.bounds import EvaluationBudget, EvaluationFailed, NotAnswered
from pipelines.routing.document.algebra import ConditionView
from pipelines.routing.document.checks import CheckResult
from pipelines.routing.document.operand_trace import ObservedOperand
from pipelines.routing.document.rules import Rule

# The trace of a decision: every step that was tried, in its order (law §5 and §9). Rules are tested without
# notes. What each of them saw is worked out when somebody reads its entry: a condition asked again of the
# same view sees the same.


@dataclass(slots=True, unsafe_hash=True)
class TraceEntry:
    """Trace of one step. `result`: true, false, "ask" or "error"; `took`: seconds, if there was a clock.
    Treat it as immutable; it is not frozen because that makes it cheaper."""

    step: str
    rule: str | None
    result: bool | str
    saw: tuple[ObservedOperand | CheckResult, ...] = ()
    why: str = ""
    # Not compared: two decisions are the same however long each of them took
    took: float | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        # In tenths of microseconds, as traces are stored
        took = {} if self.took is None else {"took": round(self.took, 7)}
        return {
            "step": self.step,
            "rule": self.rule,
            "result": self.result,
            "saw": [observation.to_dict() for observation in self.saw],
            "why": self.why,
            **took,
        }


@dataclass(slots=True)
class TestedRules:
    """Rules that were tested one after the other on one view: all false, but perhaps the last.

    `among`: the rules, of which, but for the ids in `without`, the first `count` were tested. `left`: how many steps
    were left before the first. `result` and `why`: of the last. `times`: of the clock, before the first and after each,
    if there was one.
    """

    view: ConditionView
    among: Sequence[Rule]
    left: int
    count: int = 0
    result: bool | str = False
    why: str = ""
    times: Sequence[float] = ()
    without: frozenset[str] = frozenset()

    @property
    def false_count(self) -> int:
        """Number of tested rules that were false."""
        # Only the last one can be other than false.
        return self.count - (self.result is not False)

    @property
    def rules(self) -> Sequence[Rule]:
        if not self.without:
            return self.among[: self.count]
        return [rule for rule in self.among if rule.id not in self.without][: self.count]

    @property
    def last_false_number(self) -> int:
        """Return the number, among all rules of the station, of the last rule that was false; 0 where the first
        was not."""
        if not self.without or not self.false_count:
            return self.false_count
        last = self.rules[self.false_count - 1].id
        return next(number for number, rule in enumerate(self.among, start=1) if rule.id == last)

    @property
    def last_entry_unless_false(self) -> TraceEntry | None:
        """The entry of the one that was not false."""
        if self.result is False:
            return None
        if self.result == "error":  # perhaps for want of steps, which those before it took
            return list(self.entries())[-1]
        at, view = self.false_count, replace(self.view, steps=EvaluationBudget(self.left, again=True))
        rule = self.rules[at]
        return TraceEntry(
            "rules",
            rule.id,
            self.result,
            _observed_operands(rule, view),
            self.why,
            self.seconds_of(at),
        )

    def entries(self) -> Iterator[TraceEntry]:
        view = replace(self.view, steps=EvaluationBudget(self.left, again=True))
        for at, rule in enumerate(self.rules):
            result, why = (False, "") if at < self.false_count else (self.result, self.why)
            yield TraceEntry(
                "rules", rule.id, result, _observed_operands(rule, view), why, self.seconds_of(at)
            )

    def seconds_of(self, at: int) -> float | None:
        return self.times[at + 1] - self.times[at] if self.times else None


def _observed_operands(rule: Rule, view: ConditionView) -> tuple[ObservedOperand, ...]:
    view.saw = []
    with suppress(EvaluationFailed, NotAnswered):  # what it saw until then
        rule.when.test(view)
    return tuple(view.saw)


class Trace(Sequence[TraceEntry]):
    """A sequence of entries, made when they are asked for. `parts` as `decide` noted them."""

    __slots__ = ("_entries", "parts")

    def __init__(self, parts: Sequence[TraceEntry | TestedRules] = ()) -> None:
        self.parts = parts
        self._entries: tuple[TraceEntry, ...] | None = None

    @property
    def entries(self) -> tuple[TraceEntry, ...]:
        if self._entries is None:
            made: list[TraceEntry] = []
            for part in self.parts:
                made += part.entries() if isinstance(part, TestedRules) else (part,)
            self._entries = tuple(made)
        return self._entries

    @property
    def step_entries(self) -> Iterator[TraceEntry]:
        """Trace entries other than the rules that were tested."""
        return (part for part in self.parts if isinstance(part, TraceEntry))

    @property
    def rule_results(self) -> tuple[tuple[str, bool | str], ...]:
        """The rules that were true or false, by id, in their order."""
        results: list[tuple[str, bool | str]] = []
        for part in self.parts:
            if isinstance(part, TestedRules):
                false, rules = part.false_count, part.rules
                results += [(rule.id, False) for rule in rules[:false]]
                if part.result is True:
                    results.append((rules[false].id, True))
        return tuple(results)

    def __len__(self) -> int:
        return sum(part.count if isinstance(part, TestedRules) else 1 for part in self.parts)

    @overload
    def __getitem__(self, at: int) -> TraceEntry: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[TraceEntry]: ...
    def __getitem__(self, at: int | slice) -> TraceEntry | Sequence[TraceEntry]:
        return self.entries[at]

    def __iter__(self) -> Iterator[TraceEntry]:
        return iter(self.entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(self.entries)

    def __repr__(self) -> str:
        return f"Trace({list(self.entries)})"


NO_TRACE = Trace()


class TracedDecision:
    """A decision: `to_stored_dict` as it is stored, `to_dict` with its trace."""

    __slots__ = ()

    trace: Trace

    def to_stored_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        return {**self.to_stored_dict(), "trace": [entry.to_dict() for entry in self.trace]}


@dataclass(slots=True, unsafe_hash=True)
class Move(TracedDecision):
    """Move to one station, or to several (fork).

    `standing`: passed, failed or blocked, as the rules saw the outcome; a join counts the branch as this.
    `passed`: whether the visit that the move ends passed, as proofs read it (law §14).
    """

    kind: ClassVar[str] = "move"

    to: tuple[str, ...]
    rule: str | None
    by: str
    feedback: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    trace: Trace = NO_TRACE
    # Neither is compared, as neither is stored (`to_stored_dict`): they say how the decision came about
    standing: str = field(default="passed", compare=False)
    passed: bool = field(default=False, compare=False)

    def to_stored_dict(self) -> dict[str, Any]:
        return {
            "decision": self.kind,
            "to": list(self.to),
            "rule": self.rule,
            "by": self.by,
            "feedback": self.feedback,
            "variables": dict(self.variables),
        }


@dataclass(slots=True, unsafe_hash=True)
class Finish(TracedDecision):
    """The token ends. `end_kind` (in documents `kind`): completed, failed, cancelled. `passed`: as of a Move."""

    kind: ClassVar[str] = "finish"

    end: str
    end_kind: str
    rule: str | None
    by: str
    error: str | None = None
    trace: Trace = NO_TRACE
    passed: bool = field(default=False, compare=False)

    def to_stored_dict(self) -> dict[str, Any]:
        return {
            "decision": self.kind,
            "end": self.end,
            "kind": self.end_kind,
            "rule": self.rule,
            "by": self.by,
            "error": self.error,
        }


@dataclass(slots=True, unsafe_hash=True)
class Wait(TracedDecision):
    """The token stays: awaiting_review, blocked or held."""

    kind: ClassVar[str] = "wait"

    status: str
    gates: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    rule: str | None = None
    question: str | None = None
    missing: tuple[str, ...] = ()
    evaluation: Mapping[str, Any] | None = None
    trace: Trace = NO_TRACE

    def to_stored_dict(self) -> dict[str, Any]:
        return {
            "decision": self.kind,
            "status": self.status,
            "gates": list(self.gates),
            "to": list(self.to),
            "rule": self.rule,
            "question": self.question,
            "missing": list(self.missing),
            "evaluation": None if self.evaluation is None else dict(self.evaluation),
        }


@dataclass(slots=True, unsafe_hash=True)
class Ask(TracedDecision):
    """An evaluation has to be run first: `{agentic: {…}}` or `{hook: {…}}`, as written in the document."""

    kind: ClassVar[str] = "ask"

    evaluation: Mapping[str, Any]
    trace: Trace = NO_TRACE

    def to_stored_dict(self) -> dict[str, Any]:
        return {"decision": self.kind, "evaluation": dict(self.evaluation)}


@dataclass(slots=True, unsafe_hash=True)
class Escalate(TracedDecision):
    """`trigger`: no_match, on_failure, compose_failed, RetryLimitExceeded. `budget`: the key of the named budget that
    is spent, and the `role` that it names."""

    kind: ClassVar[str] = "escalate"

    trigger: str
    rule: str | None = None
    budget: str | None = None
    role: str | None = None
    trace: Trace = NO_TRACE

    def to_stored_dict(self) -> dict[str, Any]:
        details = {"budget": self.budget, "role": self.role}
        return {
            "decision": self.kind,
            "trigger": self.trigger,
            "rule": self.rule,
            **{key: value for key, value in details.items() if value is not None},
        }


@dataclass(slots=True, unsafe_hash=True)
class Stuck(TracedDecision):
    """The engine could not decide; `error` is one of the names of law §11, `message` a sentence."""

    kind: ClassVar[str] = "stuck"

    error: str
    message: str
    rule: str | None = None
    trace: Trace = NO_TRACE

    def to_stored_dict(self) -> dict[str, Any]:
        return {
            "decision": self.kind,
            "error": self.error,
            "message": self.message,
            "rule": self.rule,
        }


DecisionAnswer = Move | Finish | Wait | Ask | Escalate | Stuck
