"""Decisions of `decide`: plain data, in the shape of line-document.md, The decision tool.

Treat a decision as immutable; it is not frozen because that makes it cheaper to create.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pipelines.routing.decide.trace import NO_TRACE, Trace


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


Decision = Move | Finish | Wait | Ask | Escalate | Stuck
