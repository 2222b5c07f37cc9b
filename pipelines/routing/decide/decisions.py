"""What `decide` answers: plain data, in the shape of line-document.md, The decision tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pipelines.routing.document.checks import CheckResult
from pipelines.routing.document.operand_trace import Seen

STEPS = (
    "fence",
    "record",
    "signal",
    "blocked",
    "station_gate",
    "rules",
    "target",
    "rule_gates",
    "effects",
)
"""Steps of law §5 as a trace names them; fence and record are the engine's."""


@dataclass(slots=True, unsafe_hash=True)
class TraceEntry:
    """One step that was tried. `result`: true, false, "ask" or "error"; `took`: seconds, if a clock was given. Nobody
    changes one; that it could be makes it cheaper, and a decision makes one for each rule."""

    step: str
    rule: str | None
    result: bool | str
    saw: tuple[Seen | CheckResult, ...] = ()
    why: str = ""
    took: float | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        took = {} if self.took is None else {"took": round(self.took, 7)}
        return {
            "step": self.step,
            "rule": self.rule,
            "result": self.result,
            "saw": [seen.to_dict() for seen in self.saw],
            "why": self.why,
            **took,
        }


Trace = tuple[TraceEntry, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """To one station, or to several (fork).

    `standing`: passed, failed or blocked, as the rules saw the outcome: what a branch counts as at a join.
    """

    kind: ClassVar[str] = "move"

    to: tuple[str, ...]
    rule: str | None
    by: str
    feedback: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    trace: Trace = ()
    standing: str = field(default="passed", compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "decision": self.kind,
            "to": list(self.to),
            "rule": self.rule,
            "by": self.by,
            "feedback": self.feedback,
            "variables": dict(self.variables),
            **_trace(self.trace),
        }


@dataclass(frozen=True, slots=True)
class Finish:
    """The token ends. `end_kind` (in documents `kind`): completed, failed, cancelled."""

    kind: ClassVar[str] = "finish"

    end: str
    end_kind: str
    rule: str | None
    by: str
    error: str | None = None
    trace: Trace = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "decision": self.kind,
            "end": self.end,
            "kind": self.end_kind,
            "rule": self.rule,
            "by": self.by,
            "error": self.error,
            **_trace(self.trace),
        }


@dataclass(frozen=True, slots=True)
class Wait:
    """The token stays: awaiting_review, blocked or held."""

    kind: ClassVar[str] = "wait"

    status: str
    gates: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    rule: str | None = None
    question: str | None = None
    missing: tuple[str, ...] = ()
    evaluation: Mapping[str, Any] | None = None
    trace: Trace = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "decision": self.kind,
            "status": self.status,
            "gates": list(self.gates),
            "to": list(self.to),
            "rule": self.rule,
            "question": self.question,
            "missing": list(self.missing),
            "evaluation": None if self.evaluation is None else dict(self.evaluation),
            **_trace(self.trace),
        }


@dataclass(frozen=True, slots=True)
class Ask:
    """An evaluation has to be run first: `{agentic: {…}}` or `{hook: {…}}`, as written in the document."""

    kind: ClassVar[str] = "ask"

    evaluation: Mapping[str, Any]
    trace: Trace = ()

    def to_dict(self) -> dict[str, Any]:
        return {"decision": self.kind, "evaluation": dict(self.evaluation), **_trace(self.trace)}


@dataclass(frozen=True, slots=True)
class Escalate:
    """`trigger`: no_match, on_failure, compose_failed, RetryLimitExceeded. `budget`: the key of the named budget that
    is spent, and the `role` that it names."""

    kind: ClassVar[str] = "escalate"

    trigger: str
    rule: str | None = None
    budget: str | None = None
    role: str | None = None
    trace: Trace = ()

    def to_dict(self) -> dict[str, Any]:
        named = {"budget": self.budget, "role": self.role}
        return {
            "decision": self.kind,
            "trigger": self.trigger,
            "rule": self.rule,
            **{key: value for key, value in named.items() if value is not None},
            **_trace(self.trace),
        }


@dataclass(frozen=True, slots=True)
class Stuck:
    """The engine could not decide; `error` is one of the names of law §11, `message` a sentence."""

    kind: ClassVar[str] = "stuck"

    error: str
    message: str
    rule: str | None = None
    trace: Trace = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "decision": self.kind,
            "error": self.error,
            "message": self.message,
            "rule": self.rule,
            **_trace(self.trace),
        }


Decision = Move | Finish | Wait | Ask | Escalate | Stuck


def _trace(trace: Trace) -> dict[str, Any]:
    return {"trace": [entry.to_dict() for entry in trace]}
