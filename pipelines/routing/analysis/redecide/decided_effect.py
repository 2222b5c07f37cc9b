"""Effect of a decision: where the token goes, ends or stays. The rule is reported, and does not count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics.canonical import canonical_json


@dataclass(frozen=True, slots=True)
class DecidedEffect:
    """`kind`: move, finish, review, blocked, held, ask, escalate or stuck. `to`: stations (of a fork in the order of
    their keys), or the end. `detail`: the kind of the end, the error, what is missing or the evaluation."""

    kind: str
    to: tuple[str, ...] = ()
    detail: str = ""
    rule: str | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "to": list(self.to), "detail": self.detail, "rule": self.rule}


def decided_effect(answer: Mapping[str, Any]) -> DecidedEffect:
    """Return the effect of an answer as it is stored (line-document.md, The decision tool)."""
    kind, rule = answer["decision"], answer.get("rule")
    if kind == "move":
        return DecidedEffect("move", tuple(sorted(answer["to"])), "", rule)
    if kind == "finish":
        return DecidedEffect("finish", (answer["end"],), answer["kind"], rule)
    if kind == "wait":
        return _wait_effect(answer)
    if kind == "ask":
        return DecidedEffect("ask", (), _evaluation_text(answer["evaluation"]))
    if kind == "escalate":
        return DecidedEffect("escalate", (), "", rule)
    return DecidedEffect("stuck", (), answer["error"], rule)


def _wait_effect(answer: Mapping[str, Any]) -> DecidedEffect:
    status, rule = answer["status"], answer.get("rule")
    if status == "awaiting_review":
        return DecidedEffect("review", tuple(sorted(answer["gates"])), "", rule)
    if status == "held":
        return DecidedEffect("held", tuple(sorted(answer["to"])), ", ".join(answer["missing"]), rule)
    evaluation = answer.get("evaluation")
    return DecidedEffect("blocked", (), _evaluation_text(evaluation) if evaluation else "", rule)


def _evaluation_text(evaluation: Mapping[str, Any]) -> str:
    return canonical_json(evaluation).decode()
