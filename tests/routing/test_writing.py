"""A line says back everything that its document said, and of what it did not say only what a version should hold."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pipelines.routing.document.line import read_line
from tests.routing.support import document
from tests.routing.test_reading import FULL

COMMON = {"failure_rules": "yes", "condition_scope": "current", "visit_cap": 100}
PRESETS: dict[str, dict[str, Any]] = {
    "alp": {
        "no_rules": "advance",
        "no_match": "default",
        "on_failure": "halt",
        "revisit": "allow",
        "self_loop_limit": 3,
        "on_reject": "fail",
        "on_exhausted": "fail",
        "contradiction": "later_wins",
    },
    "contenox": {
        "no_rules": "end",
        "no_match": "fail",
        "on_failure": "halt",
        "revisit": "allow",
        "self_loop_limit": "none",
        "on_reject": "fail",
        "on_exhausted": "stuck",
        "contradiction": "later_wins",
    },
    "vibe-factory": {
        "no_rules": "end",
        "no_match": "stuck",
        "on_failure": "halt",
        "revisit": "forbid",
        "self_loop_limit": "none",
        "on_reject": "rework",
        "on_exhausted": "stuck",
        "contradiction": "later_wins",
    },
    "flux": {
        "no_rules": "refuse",
        "no_match": "fallback",
        "on_failure": "fallback",
        "revisit": "allow",
        "self_loop_limit": "none",
        "on_reject": "reviewer_chooses",
        "on_exhausted": "stuck",
        "contradiction": "later_wins",
    },
    "aeef": {
        "no_rules": "refuse",
        "no_match": "escalate",
        "on_failure": "escalate",
        "revisit": "allow",
        "self_loop_limit": "none",
        "on_reject": "rework",
        "on_exhausted": "escalate",
        "contradiction": "escalate",
        "standard_budgets": "yes",
        "preconditions": "yes",
        "deadlocks": "yes",
    },
}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_fills_every_knob_as_the_law_says(preset: str) -> None:
    assert read_line(document({}, preset=preset)).to_document()["policy"] == {**COMMON, **PRESETS[preset]}


def test_what_a_document_does_not_say_stands_where_a_version_should_hold_it_and_nowhere_else() -> None:
    said = read_line(document({}, gates=[{"key": "g"}], inputs=[{"key": "i"}])).to_document()
    assert said == {
        "gateline": 1,
        "key": "line",
        "name": "line",
        "preset": "alp",
        "policy": {**COMMON, **PRESETS["alp"]},
        "flags": {"agentic_conditions": False},
        "start": "a",
        "inputs": [{"key": "i", "type": "text"}],
        "stations": [
            {"key": "a", "name": "a", "work": {"kind": "manual"}, "result_document": "none", "rules": []}
        ],
        "gates": [
            {
                "key": "g",
                "name": "g",
                "mode": "manual",
                "requires_approval": True,
                "approval": {
                    "who": [{"role": "reviewer", "count": 1}],
                    "requester_may": False,
                    "producer_may": False,
                    "reason_required": False,
                    "max_rounds": 3,
                },
                "offers": ["approve", "send_back", "reject"],
            }
        ],
        "ends": [],
    }


def everything() -> dict[str, Any]:
    """The complete document of `test_reading`, with what it leaves out and with durations in seconds."""
    of = copy.deepcopy(FULL)
    _, station, *_ = of["stations"]
    station["limits"] |= {"idle_timeout": 120, "max_timeout": 3600}
    review, checked = of["gates"]
    review |= {
        "description": "Read it",
        "extra": {"g": 1},
        "checks": {"any": [{"field": "eval", "operator": "in", "value": ["ok"], "label": "Good"}]},
        "due": {"after": 14400, "then": "reject"},
    }
    review["approval"] |= {"producer_may": True, "reason_required": True}
    review["approval"]["who"] = [
        {"role": "reviewer", "count": 2},
        {"group": "security", "count": 1},
        {"user": "lead", "count": 1},
    ]
    review["checks"]["any"][0] |= {"severity": "warn", "action": "notify"}
    checked["checks"]["all"][1]["any"][0]["all"][0] = {
        "field": "eval",
        "operator": "exists",
        "severity": "required",
        "action": "hold",
    }
    of["inputs"][0] |= {"extra": {"i": 1}, "default": None}
    of["ends"][0]["extra"] = {"e": 1}
    return of


def missing(part: Any, whole: Any, path: str = "") -> list[str]:
    """Where the whole does not say what the part says."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return [m for key, value in part.items() for m in missing(value, whole.get(key), f"{path}.{key}")]
    if isinstance(part, list) and isinstance(whole, list) and len(part) == len(whole):
        pairs = enumerate(zip(part, whole, strict=True))
        return [m for index, (one, other) in pairs for m in missing(one, other, f"{path}[{index}]")]
    return [] if part == whole and type(part) is type(whole) else [f"{path}: {part!r}, {whole!r}"]


def test_everything_that_a_document_says_is_said_back() -> None:
    said = read_line(everything()).to_document()
    assert missing(everything(), said) == []
    assert read_line(said).to_document() == said


@pytest.mark.parametrize("members", [{"default": 0}, {"default": ""}, {"default": False, "required": True}])
def test_a_default_that_says_little_is_a_default(members: dict[str, Any]) -> None:
    [field] = read_line(document({}, inputs=[{"key": "i", **members}])).to_document()["inputs"]
    assert field == {"key": "i", "type": "text", **members}


def test_a_zero_is_said_back_and_a_no_only_where_it_overrides() -> None:
    rule = {"id": "r", "to": "a", "max_retries": 0, "allow_revisit": False, "feedback": False}
    [said] = read_line(document({"rules": [rule]})).to_document()["stations"][0]["rules"]
    assert said == {"id": "r", "to": "a", "max_retries": 0, "allow_revisit": False}
