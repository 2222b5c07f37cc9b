"""Law §5 step 6 and §4: rules in order, the policies, the presets."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import PRESETS
from tests.routing.support import BLOCKED, FAILED, OK, decided, goes, line, ruled, traced

NEVER = {"when": {"failure_type": "never"}}
FAULTY = {"when": {"sometimes": True}}


def test_the_first_true_rule_wins_in_the_order_of_the_document() -> None:
    of = ruled(NEVER, {"to": "c"}, {"to": "b"})
    assert decided(of, OK) == {
        "decision": "move",
        "to": ["c"],
        "rule": "r2",
        "by": "rule",
        "feedback": None,
        "variables": {},
    }


def test_rules_after_the_match_are_not_tested() -> None:
    tested = [e["rule"] for e in traced(ruled(NEVER, {}, {}), OK)["trace"] if e["step"] == "rules"]
    assert tested == ["r1", "r2"]


def test_a_rule_without_when_is_always_true() -> None:
    assert goes(ruled({}), FAILED) == "move b by rule r1"


TARGETS = [
    ({"to": "c"}, "move c by rule r1"),
    ({"to": "a"}, "move a by rule r1"),
    ({"to": ["b", "c"]}, "move b+c by rule r1"),
    ({"to": ["b"]}, "move b by rule r1"),
    ({"to": "completed"}, "finish completed by rule r1"),
    ({"to": "failed"}, "finish failed by rule r1"),
    ({"to": "cancelled"}, "finish cancelled by rule r1"),
    ({"to": "done"}, "finish done by rule r1"),
    ({"to": "@blocked"}, "wait blocked r1"),
    ({"to": "@origin"}, "move c by rule r1"),
]


@pytest.mark.parametrize(("rule", "expected"), TARGETS)
def test_a_rule_leads_to_its_target(rule: dict[str, Any], expected: str) -> None:
    of = ruled(rule, ends=[{"key": "done", "kind": "failed", "label": "DONE"}])
    assert goes(of, OK, origin="c") == expected


def test_an_end_has_its_own_kind() -> None:
    of = ruled({"to": "done"}, ends=[{"key": "done", "kind": "cancelled"}])
    answer = decided(of, OK)
    assert (answer["end"], answer["kind"], answer["error"]) == ("done", "cancelled", None)


@pytest.mark.parametrize("origin", [None, "nowhere", "completed"])
def test_without_an_origin_the_task_is_stuck(origin: str | None) -> None:
    assert goes(ruled({"to": "@origin"}), OK, origin=origin) == "stuck NoOrigin r1"


FAULTS: list[dict[str, Any]] = [
    FAULTY,
    {"when": {}},
    {"when": None},
    {"when": []},
    {"when": "success"},
    {"when": {"always": False}},
    {"when": {"result": "success", "verdict": "pass"}},
    {"when": {"result": "ok"}},
    {"when": {"result": 5}},
    {"when": {"verdict": ["pass", "passed"]}},
    {"when": {"eval": {"op": "is", "value": "x"}}},
    {"when": {"eval": {"op": "equals"}}},
    {"when": {"eval": {"op": "range", "value": "5,1"}}},
    {"when": {"eval": {"op": "range", "value": "1"}}},
    {"when": {"eval": {"op": "range", "value": "1,2,3"}}},
    {"when": {"eval": {"op": "range", "value": "a,b"}}},
    {"when": {"eval": {"op": "range", "value": [1, 2]}}},
    {"when": {"eval": {"op": "exists"}}},
    {"when": {"output": {"path": "k"}}},
    {"when": {"output": {"op": "exists"}}},
    {"when": {"output": {"path": "", "op": "exists"}}},
    {"when": {"output": {"path": "k", "op": "equals"}}},
    {"when": {"output": {"path": "k", "op": "range", "value": "1,2"}}},
    {"when": {"output": {"path": "k", "op": "exists", "of": "all"}}},
    {"when": {"output": {"path": "k", "op": "exists", "scope": "merged"}}},
    {"when": {"output": {"path": "$high", "op": "exists"}}},
    {"when": {"output": {"path": "$.a[", "op": "exists"}}},
    {"when": {"output": {"path": "$[?match(@.a, 'x')]", "op": "exists"}}},
    {"when": {"output": {"path": "$[?search(@.a, 'x')]", "op": "exists"}}},
    {"when": {"output": {"path": "k", "op": "matches", "value": "("}}},
    {"when": {"output": {"path": "k", "op": "matches", "value": "(?=x)"}}},
    {"when": {"output": {"path": "k", "op": "matches", "value": r"(a)\1"}}},
    {"when": {"output": {"path": "k", "op": "matches", "value": 5}}},
    {"when": {"output": {"path": "k", "op": "in", "value": "abc"}}},
    {"when": {"output": {"path": "k", "op": "type", "value": "integer"}}},
    {"when": {"failure_type": [1]}},
    {"when": {"edge": {"from": "a", "to": "z", "at_least": 1}}},
    {"when": {"edge": {"from": "a", "to": "b"}}},
    {"when": {"edge": {"from": "a", "to": "b", "at_least": -1}}},
    {"when": {"all": {"always": True}}},
    {"when": {"any": [{"always": True}, FAULTY["when"]]}},
    {"when": {"not": [{"always": True}]}},
    {"when": {"agentic": {"question": "?"}}},
    {"when": {"agentic": {"question": "?"}, "answer": "pass"}},
    {"when": {"agentic": {"question": ""}, "answer": "yes"}},
    {"when": {"hook": {"argv": []}, "answer": "pass"}},
    {"when": {"hook": {"argv": "check"}, "answer": "pass"}},
    {"when": {"hook": {"argv": ["x"], "timeout": "soon"}, "answer": "pass"}},
    {"to": "nowhere"},
    {"to": []},
    {"to": ["b", "b"]},
    {"to": ["b", "completed"]},
    {"to": ["b", "@origin"]},
    {"to": None},
    {"to": 5},
    {"gates": ["nogate"]},
    {"gates": "g"},
    {"gates": [None]},
]


@pytest.mark.parametrize("rule", FAULTS)
def test_a_faulty_rule_that_is_reached_makes_the_task_stuck(rule: dict[str, Any]) -> None:
    of = ruled(NEVER, rule, {})
    answer = decided(of, OK)
    assert (answer["decision"], answer["error"], answer["rule"]) == ("stuck", "InvalidTransitionSyntax", "r2")
    assert "stations[0].rules[1]" in answer["message"]


def test_a_rule_without_a_target_is_faulty() -> None:
    of = line({"rules": [{"id": "r1"}]})
    assert goes(of, OK) == "stuck InvalidTransitionSyntax r1"


@pytest.mark.parametrize("rule", FAULTS)
def test_a_fault_after_the_match_raises_nothing(rule: dict[str, Any]) -> None:
    assert goes(ruled({}, rule), OK) == "move b by rule r1"


def test_a_faulty_rule_is_validated_before_its_condition_is_evaluated() -> None:
    of = ruled({**NEVER, "to": "nowhere"}, {})
    assert goes(of, OK) == "stuck InvalidTransitionSyntax r1"


# Without a match

NO_RULES = [
    ("advance", "move b by policy"),
    ("end", "finish completed by policy"),
    ("refuse", "stuck NoValidTransition"),
]


@pytest.mark.parametrize(("knob", "expected"), NO_RULES)
def test_a_passed_station_without_rules_does_as_no_rules_says(knob: str, expected: str) -> None:
    of = line({}, {}, policy={"no_rules": knob, "no_match": "fail"})
    assert goes(of, OK) == expected


def test_advance_completes_after_the_last_station() -> None:
    assert goes(line({}, {}), OK, station="b") == "finish completed by policy"
    assert goes(ruled(NEVER, station={"key": "a"}), OK) == "move b by policy"


NO_MATCH = [
    ("default", "move b by policy"),
    ("fail", "finish failed by policy with NoValidTransition"),
    ("stuck", "stuck NoValidTransition"),
    ("escalate", "escalate no_match"),
    ("fallback", "wait blocked"),
]


@pytest.mark.parametrize(("knob", "expected"), NO_MATCH)
def test_a_passed_station_whose_rules_do_not_match_does_as_no_match_says(knob: str, expected: str) -> None:
    of = ruled(NEVER, policy={"no_match": knob, "no_rules": "refuse"})
    assert goes(of, OK) == expected


def test_no_rules_is_counted_per_station() -> None:
    of = line({"rules": [{"id": "r", "to": "b"}]}, {}, {}, policy={"no_rules": "end", "no_match": "stuck"})
    assert goes(of, OK, station="b") == "finish completed by policy"


ON_FAILURE = [
    ("halt", "finish failed by policy"),
    ("stuck", "stuck NoValidTransition"),
    ("escalate", "escalate on_failure"),
    ("fallback", "wait blocked"),
    ("station:c", "move c by policy"),
]


@pytest.mark.parametrize(("knob", "expected"), ON_FAILURE)
@pytest.mark.parametrize("rules", [[], [NEVER]])
@pytest.mark.parametrize(
    "outcome", [FAILED, {"result": "cancelled"}, {"result": "success", "verdict": "fail"}]
)
def test_a_failed_station_without_a_match_does_as_on_failure_says(
    knob: str, expected: str, rules: list[dict[str, Any]], outcome: dict[str, Any]
) -> None:
    of = ruled(*rules, policy={"on_failure": knob, "no_rules": "refuse", "no_match": "stuck"})
    assert goes(of, outcome) == expected


@pytest.mark.parametrize("rules", [[], [NEVER]])
def test_a_blocked_outcome_without_a_match_waits(rules: list[dict[str, Any]]) -> None:
    of = ruled(*rules, policy={"on_failure": "stuck", "no_rules": "refuse", "no_match": "fail"})
    answer = decided(of, BLOCKED)
    assert (answer["status"], answer["rule"], answer["to"]) == ("blocked", None, [])


def test_fallback_is_the_forced_blocked_route() -> None:
    takes_blocked = {"when": {"result": "blocked"}, "to": "c"}
    assert goes(ruled(takes_blocked, policy={"no_match": "fallback"}), OK) == "move c by fallback r1"
    assert goes(ruled(takes_blocked, policy={"on_failure": "fallback"}), FAILED) == "move c by fallback r1"


@pytest.mark.parametrize(
    ("knob", "expected"), [("yes", "move b by rule r1"), ("no", "finish failed by policy")]
)
@pytest.mark.parametrize("outcome", [FAILED, {"result": "cancelled"}, {"exit_code": 0, "verdict": "fail"}])
def test_failure_rules_no_sends_a_failed_outcome_straight_to_on_failure(
    knob: str, expected: str, outcome: dict[str, Any]
) -> None:
    assert goes(ruled({}, policy={"failure_rules": knob}), outcome) == expected


def test_failure_rules_no_leaves_passed_and_blocked_outcomes_to_the_rules() -> None:
    of = ruled({}, policy={"failure_rules": "no"})
    assert goes(of, OK) == "move b by rule r1"
    assert goes(of, BLOCKED) == "move b by fallback r1"


def test_failure_rules_no_binds_the_forced_failure_route_too() -> None:
    of = ruled({}, gates=[{"key": "g"}], station={"gate": "g"}, policy={"failure_rules": "no"})
    assert goes(of, OK, gates={"g": {"decision": "rework"}}) == "finish failed by policy"
    assert (
        goes(of, {**OK, "signals": [{"verdict": "rework"}]}, signal_reworks=3) == "wait awaiting_review at g"
    )


def test_failure_rules_no_still_hears_a_proceed_signal() -> None:
    of = ruled({}, policy={"failure_rules": "no"})
    assert goes(of, {"exit_code": 1, "signals": [{"verdict": "proceed"}]}) == "move b by signal r1"


# Presets: the table of §4, spelt out

TABLE = {
    "alp": ("advance", "default", "halt", "allow", 3, "fail", "fail", "later_wins"),
    "contenox": ("end", "fail", "halt", "allow", None, "fail", "stuck", "later_wins"),
    "vibe-factory": ("end", "stuck", "halt", "forbid", None, "rework", "stuck", "later_wins"),
    "flux": ("refuse", "fallback", "fallback", "allow", None, "reviewer_chooses", "stuck", "later_wins"),
    "aeef": ("refuse", "escalate", "escalate", "allow", None, "rework", "escalate", "escalate"),
}


@pytest.mark.parametrize("preset", TABLE)
def test_a_preset_fills_every_knob_as_the_table_says(preset: str) -> None:
    policy = line({}, preset=preset).policy
    knobs = (
        policy.no_rules,
        policy.no_match,
        policy.on_failure,
        policy.revisit,
        policy.self_loop_limit,
        policy.on_reject,
        policy.on_exhausted,
        policy.contradiction,
    )
    assert knobs == TABLE[preset]
    assert (policy.failure_rules, policy.condition_scope, policy.visit_cap) == (True, "current", 100)


def test_there_are_these_presets_and_a_new_line_starts_with_alp() -> None:
    assert set(PRESETS) == set(TABLE)
    assert line({}).preset == "alp"


def test_a_named_knob_overrides_the_preset_and_leaves_the_others() -> None:
    policy = line({}, preset="flux", policy={"no_match": "stuck"}).policy
    assert (policy.no_match, policy.no_rules) == ("stuck", "refuse")


def test_under_flux_a_gate_offers_other_words() -> None:
    assert line({}, preset="flux", gates=[{"key": "g"}]).gate("g").offers == ("approve", "rework", "abort")
    assert line({}, gates=[{"key": "g"}]).gate("g").offers == ("approve", "send_back", "reject")


# Named behaviours of the dialects that routing alone shows

LINEAR = line({}, {}, {})


def test_a1_a2_a3_a4_without_rules_a_line_advances_completes_or_fails() -> None:
    assert goes(LINEAR, OK) == "move b by policy"
    assert goes(LINEAR, OK, station="c") == "finish completed by policy"
    assert goes(LINEAR, FAILED) == "finish failed by policy"
    assert goes(LINEAR, {"result": "cancelled"}) == "finish failed by policy"


def test_a9_of_overlapping_rules_the_first_wins() -> None:
    of = ruled({"when": {"result": "success"}, "to": "c"}, {"when": {"result": "any"}, "to": "b"})
    assert goes(of, OK) == "move c by rule r1"


def test_a10_where_no_rule_matches_the_default_row_applies() -> None:
    of = ruled({"when": {"result": "cancelled"}, "to": "c"})
    assert goes(of, OK) == "move b by policy"
    assert goes(of, FAILED) == "finish failed by policy"


def test_c16_c17_vibe_factory_without_rules_completes_and_without_match_is_stuck() -> None:
    assert goes(line({}, {}, preset="vibe-factory"), OK) == "finish completed by policy"
    assert goes(ruled(NEVER, preset="vibe-factory"), OK) == "stuck NoValidTransition"


def test_c20_a_failed_station_is_routed_by_its_rules_or_halts() -> None:
    of = ruled({"when": {"result": "failure"}, "to": "c"}, preset="vibe-factory")
    assert goes(of, FAILED) == "move c by rule r1"
    assert goes(ruled(NEVER, preset="vibe-factory"), FAILED) == "finish failed by policy"


def test_d17_a_gate_rework_on_a_failed_outcome_goes_the_failure_route_too() -> None:
    check = {"field": "verdict", "operator": "equals", "value": "pass", "action": "rework"}
    of = ruled(
        {"when": {"verdict": "fail"}, "to": "c"},
        preset="flux",
        gates=[{"key": "g", "mode": "auto", "checks": {"all": [check]}}],
        station={"gate": "g"},
    )
    assert goes(of, {"verdict": "fail"}) == "move c by gate r1"


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"strategy": "override"}, "compose: the output finds nothing for the variable v"),
        ({"path": "$.x"}, "compose: $.x finds nothing for the variable v"),
    ],
)
def test_the_trace_names_what_compose_did_not_find(entry: dict[str, Any], why: str) -> None:
    trace = traced(ruled({"compose": [{"var": "v", **entry}]}), OK)["trace"]
    assert [each["why"] for each in trace if each["result"] == "error"] == [why]
