"""The policy table of law §4, decided: each preset in each situation, and each knob by itself."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import ParsedLine
from pipelines.routing.document.publishable import publishing_problems
from tests.routing.support import BLOCKED, FAILED, OK, goes, line

PRESETS = ("alp", "contenox", "vibe-factory", "flux", "aeef")
Case = tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]

NEVER = {"id": "r", "when": {"eval": {"op": "equals", "value": "never"}}, "to": "b"}
PASSED = {"result": "success"}

# What the first of two stations says: its rules, the outcome, the facts.
SITUATIONS: dict[str, Case] = {
    "no rules, passed": ([], OK, {}),
    "no rules, failed": ([], FAILED, {}),
    "no rules, blocked": ([], BLOCKED, {}),
    "no match, passed": ([NEVER], OK, {}),
    "no match, failed": ([NEVER], FAILED, {}),
    "no match, blocked": ([NEVER], BLOCKED, {}),
    "a rule for blocked": ([{"id": "r", "when": BLOCKED, "to": "cancelled"}], BLOCKED, {}),
    "a rule for failed": ([{"id": "r", "when": FAILED, "to": "cancelled"}], FAILED, {}),
    "to a station again": (
        [{"id": "r", "to": "b"}],
        {**OK, "handoff": {}},
        {"visits": {"b": 1}, "preconditions": dict.fromkeys(("station_gate", "handoff", "agent"), True)},
    ),
    "the fourth time round": ([{"id": "r", "to": "a", "allow_revisit": True}], OK, {"rules": {"r": 3}}),
    "a budget is used up": (
        [{"id": "r", "to": "a", "max_retries": 1, "allow_revisit": True}],
        OK,
        {"rules": {"r": 1}},
    ),
    "a reviewer rejects": (
        [{"id": "r", "when": PASSED, "to": "b", "gates": ["g"]}],
        OK,
        {"gates": {"g": {"decision": "reject", "route": "rework", "reason": "No."}}},
    ),
    "nothing to compose": (
        [{"id": "r", "when": PASSED, "to": "b", "compose": [{"var": "v", "path": "$.v"}]}],
        OK,
        {},
    ),
}

DECISIONS: dict[str, tuple[str, str, str, str, str]] = {
    # alp, contenox, vibe-factory, flux, aeef
    "no rules, passed": (
        "move b by policy",
        "finish completed by policy",
        "finish completed by policy",
        "stuck NoValidTransition",
        "stuck NoValidTransition",
    ),
    "no rules, failed": (
        "finish failed by policy",
        "finish failed by policy",
        "finish failed by policy",
        "wait blocked",
        "escalate on_failure",
    ),
    "no rules, blocked": ("wait blocked",) * 5,
    "no match, passed": (
        "move b by policy",
        "finish failed by policy with NoValidTransition",
        "stuck NoValidTransition",
        "wait blocked",
        "escalate no_match",
    ),
    "no match, failed": (
        "finish failed by policy",
        "finish failed by policy",
        "finish failed by policy",
        "wait blocked",
        "escalate on_failure",
    ),
    "no match, blocked": ("wait blocked",) * 5,
    "a rule for blocked": ("finish cancelled by fallback r",) * 5,
    "a rule for failed": ("finish cancelled by rule r",) * 5,
    "to a station again": (
        "move b by rule r",
        "move b by rule r",
        "stuck CircularWorkflow r",
        "move b by rule r",
        "move b by rule r",
    ),
    "the fourth time round": (
        "finish failed by policy with RetryLimitExceeded r",
        "move a by rule r",
        "move a by rule r",
        "move a by rule r",
        "move a by rule r",
    ),
    "a budget is used up": (
        "finish failed by policy with RetryLimitExceeded r",
        "stuck RetryLimitExceeded r",
        "stuck RetryLimitExceeded r",
        "stuck RetryLimitExceeded r",
        "escalate RetryLimitExceeded r",
    ),
    "a reviewer rejects": (
        "finish failed by gate r",
        "finish failed by gate r",
        "move a by gate r",
        "move a by gate r",
        "move a by gate r",
    ),
    "nothing to compose": (
        "finish failed by policy with compose_failed r",
        "finish failed by policy with compose_failed r",
        "finish failed by policy with compose_failed r",
        "wait blocked",
        "escalate compose_failed r",
    ),
}


def under(rules: list[dict[str, Any]], **more: Any) -> ParsedLine:
    return line(
        {"rules": rules}, {"rules": [{"id": "last", "to": "completed"}]}, gates=[{"key": "g"}], **more
    )


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_each_preset_decides_each_situation_as_its_row_says(preset: str, situation: str) -> None:
    rules, outcome, facts = SITUATIONS[situation]
    decision = goes(under(rules, preset=preset), outcome, **facts)
    assert decision == DECISIONS[situation][PRESETS.index(preset)]


@pytest.mark.parametrize("preset", PRESETS)
def test_after_the_last_station_without_rules_a_preset_completes_or_refuses(preset: str) -> None:
    of = line({}, preset=preset)
    refused = preset in ("flux", "aeef")
    assert goes(of, OK) == ("stuck NoValidTransition" if refused else "finish completed by policy")
    assert bool(publishing_problems(of)) == refused, "what refuses is not published in the first place"


# Each knob by itself, whatever the preset says of the others

KNOBS: list[tuple[dict[str, Any], str, str]] = [
    ({"no_rules": "advance"}, "no rules, passed", "move b by policy"),
    ({"no_rules": "end"}, "no rules, passed", "finish completed by policy"),
    ({"no_rules": "refuse"}, "no rules, passed", "stuck NoValidTransition"),
    ({"no_match": "default"}, "no match, passed", "move b by policy"),
    ({"no_match": "fail"}, "no match, passed", "finish failed by policy with NoValidTransition"),
    ({"no_match": "stuck"}, "no match, passed", "stuck NoValidTransition"),
    ({"no_match": "fallback"}, "no match, passed", "wait blocked"),
    ({"no_match": "escalate"}, "no match, passed", "escalate no_match"),
    ({"on_failure": "halt"}, "no match, failed", "finish failed by policy"),
    ({"on_failure": "stuck"}, "no match, failed", "stuck NoValidTransition"),
    ({"on_failure": "escalate"}, "no match, failed", "escalate on_failure"),
    ({"on_failure": "fallback"}, "no match, failed", "wait blocked"),
    ({"on_failure": "station:a"}, "no match, failed", "move a by policy"),
    ({"on_failure": "station:a"}, "nothing to compose", "move a by policy r"),
    ({"failure_rules": "no", "on_failure": "stuck"}, "a rule for failed", "stuck NoValidTransition"),
    ({"failure_rules": "yes", "on_failure": "stuck"}, "a rule for failed", "finish cancelled by rule r"),
    ({"revisit": "allow"}, "to a station again", "move b by rule r"),
    ({"revisit": "forbid"}, "to a station again", "stuck CircularWorkflow r"),
    ({"revisit": "limit:1"}, "to a station again", "move b by rule r"),
    ({"revisit": "limit:0"}, "to a station again", "stuck CircularWorkflow r"),
    ({"self_loop_limit": 4}, "the fourth time round", "move a by rule r"),
    (
        {"self_loop_limit": 3, "on_exhausted": "stuck"},
        "the fourth time round",
        "stuck RetryLimitExceeded r",
    ),
    ({"self_loop_limit": "none"}, "the fourth time round", "move a by rule r"),
    ({"on_exhausted": "fail"}, "a budget is used up", "finish failed by policy with RetryLimitExceeded r"),
    ({"on_exhausted": "stuck"}, "a budget is used up", "stuck RetryLimitExceeded r"),
    ({"on_exhausted": "escalate"}, "a budget is used up", "escalate RetryLimitExceeded r"),
    ({"on_reject": "fail"}, "a reviewer rejects", "finish failed by gate r"),
    ({"on_reject": "rework"}, "a reviewer rejects", "move a by gate r"),
    ({"on_reject": "route:b", "no_rules": "advance"}, "a reviewer rejects", "move b by gate r"),
    ({"on_reject": "reviewer_chooses"}, "a reviewer rejects", "move a by gate r"),
    ({"visit_cap": 1}, "the fourth time round", "stuck VisitLimitExceeded r"),
]


@pytest.mark.parametrize(("policy", "situation", "expected"), KNOBS)
def test_each_knob_by_itself(policy: dict[str, Any], situation: str, expected: str) -> None:
    rules, outcome, facts = SITUATIONS[situation]
    for preset in ("alp", "contenox", "vibe-factory", "flux"):
        assert goes(under(rules, preset=preset, policy=policy), outcome, **facts) == expected, preset


@pytest.mark.parametrize(
    ("scope", "output", "expected"),
    [
        ("current", {}, "finish failed by policy with NoValidTransition"),
        ("current", {"high": 1}, "move b by rule r"),
        ("merged", {}, "move b by rule r"),
        ("merged", {"high": 0}, "finish failed by policy with NoValidTransition"),
    ],
)
def test_the_scope_says_whether_conditions_read_the_context_too(
    scope: str, output: dict[str, Any], expected: str
) -> None:
    rules = [{"id": "r", "when": {"output": {"path": "high", "op": "gt", "value": 0}}, "to": "b"}]
    of = under(rules, policy={"condition_scope": scope, "no_match": "fail"})
    assert goes(of, {**OK, "output": output}, context={"high": 5}) == expected
