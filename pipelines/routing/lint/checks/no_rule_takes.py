"""Outcomes that no rule of a station takes, and what the policy does with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipelines.routing.lint.finding import INFO, WARNING, Finding
from pipelines.routing.lint.subject import Subject
from pipelines.routing.model import Station
from pipelines.routing.regions.stations import STANDINGS, Rest

ID = "no-rule-takes"
WORDS = {"passed": "that passed", "failed": "that failed", "blocked": "that are blocked"}


def check(subject: Subject) -> Iterator[Finding]:
    """A station without rules leaves everything to the policy: that is no gap."""
    for station in subject.line.stations:
        for standing in STANDINGS if station.rules else ():
            rest = subject.analysis(station).rest(standing)
            if rest is not None:
                yield _finding(subject, station, rest)


def _finding(subject: Subject, station: Station, rest: Rest) -> Finding:
    decision = rest.witness.decision if rest.witness else None
    what = WORDS[rest.standing]
    if decision is None:
        message = f"Unknown whether a rule of {station.key} takes all outcomes {what}: {rest.why}"
    else:
        message = f"No rule of {station.key} takes some outcomes {what}: {_then(decision)}"
    return Finding(
        check=ID,
        severity=WARNING if decision and rest.standing == "passed" and _is_bad(decision) else INFO,
        path=f"{subject.path(station)}.rules",
        message=message,
        hint="" if decision is None else "add a rule without `when` at the end to decide it here",
        station=station.key,
        witness=rest.witness,
    )


def _is_bad(decision: dict[str, Any]) -> bool:
    return decision["decision"] in ("stuck", "escalate") or decision.get("kind") == "failed"


def _then(decision: dict[str, Any]) -> str:
    kind = decision["decision"]
    if kind == "move":
        return f"the policy sends the task to {', '.join(decision['to'])}"
    if kind == "finish":
        return f"the policy ends the task: {decision['end']}"
    if kind == "stuck":
        return f"the task is stuck with {decision['error']}"
    if kind == "escalate":
        return "the policy escalates"
    return f"the task waits, {decision.get('status', 'for an answer')}"
