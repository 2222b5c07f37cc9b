"""The AEEF state machine as a line, with its states and ways (E2 to E12)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

STAGES = (
    "intake",
    "requirements",
    "design",
    "implementation",
    "testing",
    "security",
    "deployment",
    "operations",
)
OWNERS = {
    "intake": "orchestrator",
    "requirements": "product-agent",
    "design": "architect-agent",
    "implementation": "developer-agent",
    "testing": "qa-agent",
    "security": "security-agent",
    "deployment": "platform-agent",
    "operations": "ops-agent",
}
"""Of each state the first of its owners (E2)."""
HANDOFF = {
    "change_summary": {"what_changed": "a", "files_touched": ["a.py"], "rationale": "b"},
    "evidence": {
        "prompt_reference": "p",
        "contract_version": "1.0",
        "test_evidence": {"passed": 3},
        "security_scan_result": "pass",
    },
}
"""What every forward move takes along (E14)."""
REWORKS = {
    "requirements": "rework_req",
    "design": "rework_design",
    "implementation": "rework_impl",
    "testing": "rework_test",
    "security": "rework_sec",
    "deployment": "rework_deploy",
}
"""Where what belongs to a stage is mended (E3)."""
FORWARD = dict(pairwise(STAGES))
FAILS: dict[str, dict[str | None, str]] = {
    "requirements": {None: "rework_req"},
    "design": {None: "rework_design"},
    "implementation": {None: "rework_impl"},
    "testing": {
        "test failure": "rework_impl",
        "test gap": "rework_test",
        "acceptance mismatch": "rework_req",
    },
    "security": {
        "vulnerability": "rework_impl",
        "license": "rework_impl",
        "evidence gap": "rework_sec",
    },
    "deployment": {None: "rework_deploy"},
}
"""Station → failure type (None: any) → where it is mended (E5 to E10, E16)."""


def _rule(station: str, name: str, to: str, **when: Any) -> dict[str, Any]:
    return {"id": f"{station}-{name}".replace(" ", "-"), "when": when, "to": to}


def _failing(station: str, failure: str | None, to: str) -> dict[str, Any]:
    failed: dict[str, Any] = {"verdict": "fail"}
    if failure is None:
        return _rule(station, "fail", to, **failed)
    return _rule(station, failure, to, all=[failed, {"failure_type": failure}])


def _stage(key: str) -> dict[str, Any]:
    if key == "operations":
        rules = [
            _rule(key, "stable", "deployed", verdict="pass"),
            _rule(key, "incident", "rollback", verdict="fail"),
        ]
    else:
        rules = [_rule(key, "pass", FORWARD[key], verdict="pass")]
        rules += [_failing(key, failure, to) for failure, to in FAILS.get(key, {}).items()]
    return _station(key, *rules)


def _station(key: str, *rules: dict[str, Any]) -> dict[str, Any]:
    return {"key": key, "work": {"kind": "noop"}, "rules": list(rules)}


def _both(stage: str) -> list[dict[str, Any]]:
    """A rework stands before its stage: the way there leads back, never forward."""
    rework = REWORKS.get(stage)
    before = [_station(rework, _rule(rework, "done", "@origin", verdict="pass"))] if rework else []
    return [*before, _stage(stage)]


def owned() -> dict[str, Any]:
    """The machine, each state with the agent that owns it."""
    document = machine()
    for station in document["stations"]:
        if station["key"] in OWNERS:
            station["agent"] = OWNERS[station["key"]]
    return document


def machine(**more: Any) -> dict[str, Any]:
    """The whole machine as a line document."""
    rollback = _station("rollback", _rule("rollback", "done", "rolled_back", always=True))
    return {
        "gateline": 1,
        "key": "aeef",
        "name": "AEEF",
        "preset": "aeef",
        "start": "intake",
        "stations": [*(station for stage in STAGES for station in _both(stage)), rollback],
        "ends": [
            {"key": "deployed", "kind": "completed", "label": "DEPLOYED"},
            {"key": "rolled_back", "kind": "failed", "label": "ROLLED_BACK"},
        ],
        **more,
    }
