"""Tools of gates: a command whose result, pass, warn or fail, is a fact of the decision (dialect A, gate tools).

Which result a run has is decided here, from what the run left; the run itself is a job of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics.bounds import Steps
from pipelines.routing.basics.errors import EvaluationFailed, NotAnswered
from pipelines.routing.basics.values import MISSING
from pipelines.routing.document.algebra import Condition, View, holds
from pipelines.routing.document.evaluations import UNANSWERED, Evaluation

KIND = "tool"
PASS, WARN, FAIL = "pass", "warn", "fail"
PARSES = ("json", "text", "exit_code")
ACTIONS = ("hold", "rework", "abort")
TIMEOUT = 60
"""Seconds, where the document does not say."""
MAX_RETRIES = 10
TROUBLES = ("timeout", "parse_error", "not_started")
"""How a run fails whatever its conditions say: the `failure_type` of its outcome."""


@dataclass(frozen=True)
class Tool:
    """`conditions` as written: pass_if, warn_if and fail_if read the tool's own output. `action`: what a fail asks for,
    as a failed check does; a warning asks a person, unless `approve_warnings`. `stdin` None: the outcome as JSON."""

    argv: tuple[str, ...]
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str | None = None
    timeout: float = TIMEOUT
    retries: int = 0
    backoff: float = 1
    parse: str = "exit_code"
    success_on: tuple[int, ...] = (0,)
    pass_if: Condition | None = None
    warn_if: Condition | None = None
    fail_if: Condition | None = None
    action: str = "rework"
    approve_warnings: bool = False
    enabled: bool = True
    conditions: Mapping[str, Any] = field(default_factory=dict)

    def question(self, gate: str) -> Evaluation:
        """What has to be run: everything by which the result could be another one."""
        return Evaluation.of(KIND, {"gate": gate, **self.run()})

    def run(self) -> dict[str, Any]:
        return {
            "argv": list(self.argv),
            "cwd": self.cwd,
            "env": dict(self.env),
            **({} if self.stdin is None else {"stdin": self.stdin}),
            "timeout": self.timeout,
            "retries": {"max": self.retries, "backoff": self.backoff},
            "outcome": {"parse": self.parse, "success_on": list(self.success_on), **self.conditions},
        }

    def to_document(self) -> dict[str, Any]:
        rest = {"action": self.action, "approve_warnings": self.approve_warnings, "enabled": self.enabled}
        return {**self.run(), **rest}


def answer_of(tool: Tool, question: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    """The fact that a run is. A run that was cancelled (its worker was lost) has no result: a person is asked."""
    if outcome.get("result") == "cancelled":
        return {**question, "answer": UNANSWERED, "text": "The tool could not be run to its end."}
    word, why = judged(tool, outcome)
    said = outcome.get("feedback") or outcome.get("summary")
    text = "\n".join(part for part in (why, said) if isinstance(part, str) and part)
    return {**question, "answer": word, **({"text": text} if text else {})}


def judged(tool: Tool, outcome: Mapping[str, Any]) -> tuple[str, str]:
    """The result and why, in this order: trouble, exit code, `fail_if`, `pass_if`, `warn_if`. With `pass_if` what it
    does not take fails, unless `warn_if` does. A condition that cannot be evaluated is false."""
    trouble, code = outcome.get("failure_type"), outcome.get("exit_code")
    if trouble in TROUBLES:
        return FAIL, str(trouble)
    if code not in tool.success_on:
        return FAIL, f"exit code {code}"
    view = _view(outcome, code)
    if _holds(tool.fail_if, view):
        return FAIL, "fail_if"
    if tool.pass_if is not None and _holds(tool.pass_if, view):
        return PASS, ""
    if _holds(tool.warn_if, view):
        return WARN, "warn_if"
    return (PASS, "") if tool.pass_if is None else (FAIL, "pass_if is not met")


def _holds(condition: Condition | None, view: View) -> bool:
    try:
        return condition is not None and holds(condition, view)
    except (EvaluationFailed, NotAnswered):
        return False


def _view(outcome: Mapping[str, Any], code: Any) -> View:
    passed = code == 0
    return View(
        result="success" if passed else "failure",
        verdict="pass" if passed else "fail",
        eval="ok" if passed else "error",
        failure_type=None,
        document=outcome.get("output", MISSING),
        unreadable=False,
        edges={},
        answers={},
        steps=Steps(),
    )
