"""The situations that are tried for a sample, and what of two decisions routes."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.difference.change import StationPair
from pipelines.routing.analysis.difference.rework import (
    rework_facts,
    rework_rule_pairs,
    shared_rework_gate_or_empty,
)
from pipelines.routing.analysis.difference.routing_effects import LinePair, may_demand_rework
from pipelines.routing.analysis.difference.samples import (
    Sample,
    facts_with_each_gate_refusing,
    first_sample_decided_otherwise_or_none,
    outcomes_at_check_values,
    outputs_at_condition_values,
    passing_outcome,
    routing_part_of_decision,
    shared_station_keys,
    situation_with_merged_facts,
    situations_telling_rules_apart,
)
from pipelines.routing.decide.decisions import Ask, DecisionAnswer, Escalate, Finish, Move, Stuck, Wait
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.document.rules import Rule
from tests.routing.support import line, ruled

OK = {"result": "success"}


def gate_of(**gate: Any) -> Any:
    return ruled({}, gates=[{"key": "g", "mode": "auto", **gate}]).gate("g")


def checking(field: str, value: Any = 1, operator: str = "equals", **more: Any) -> Any:
    return gate_of(checks={"all": [{"field": field, "operator": operator, "value": value, **more}]})


# What routes


SAME: list[tuple[DecisionAnswer, DecisionAnswer]] = [
    (Move(("b", "c"), "r1", "rule"), Move(("c", "b"), "r2", "policy")),
    (
        Move(("b",), "r1", "rule", variables={"x": 1, "y": 2}),
        Move(("b",), "r1", "rule", variables={"y": 2, "x": 1}),
    ),
    (Finish("out", "failed", "r1", "rule"), Finish("out", "failed", None, "gate")),
    (Wait("awaiting_review", ("g",), ("b", "c"), "r1", "Q"), Wait("awaiting_review", ("g",), ("c", "b"))),
    (Escalate("no_match", "r1"), Escalate("no_match")),
    (Stuck("E", "one", "r1"), Stuck("E", "other")),
    (Ask({"agentic": {"question": "q"}}), Ask({"agentic": {"question": "q"}})),
]
OTHER: list[tuple[DecisionAnswer, DecisionAnswer]] = [
    (Move(("b",), None, "rule"), Move(("c",), None, "rule")),
    (Move(("b",), None, "rule", feedback=None), Move(("b",), None, "rule", feedback="f")),
    (Move(("b",), None, "rule", variables={"x": 1}), Move(("b",), None, "rule", variables={"x": 2})),
    (Finish("out", "failed", None, "rule"), Finish("completed", "completed", None, "rule")),
    (Finish("out", "failed", None, "rule"), Finish("out", "failed", None, "rule", "E")),
    (Finish("out", "failed", None, "rule"), Finish("out", "completed", None, "rule")),
    (Wait("held"), Wait("blocked")),
    (Wait("held", ("g", "h")), Wait("held", ("h", "g"))),
    (Wait("held", to=("b",)), Wait("held", to=("c",))),
    (Wait("held", missing=("x",)), Wait("held", missing=("y",))),
    (Wait("blocked", evaluation={"agentic": {"question": "q"}}), Wait("blocked")),
    (Escalate("no_match"), Escalate("on_failure")),
    (Stuck("E", "m"), Stuck("F", "m")),
    (Ask({"agentic": {"question": "q"}}), Ask({"agentic": {"question": "p"}})),
    (Ask({"agentic": {"question": "q"}}), Wait("blocked", evaluation={"agentic": {"question": "q"}})),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_rules_messages_and_order_in_a_fork_do_not_route(one: DecisionAnswer, two: DecisionAnswer) -> None:
    assert routing_part_of_decision(one) == routing_part_of_decision(two)


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_everything_else_does(one: DecisionAnswer, two: DecisionAnswer) -> None:
    assert routing_part_of_decision(one) != routing_part_of_decision(two)


def test_the_first_situation_that_is_decided_otherwise_is_the_sample() -> None:
    pair = LinePair(ruled({"when": OK, "to": "b"}), ruled({"when": OK, "to": "c"}))
    tries = [
        {"station": "gone", "outcome": OK},
        {"station": "a", "outcome": {"result": "failure"}},
        {"station": "a", "outcome": OK, "facts": {"origin": "b"}},
        {"station": "a", "outcome": OK},
    ]
    found = first_sample_decided_otherwise_or_none(pair, iter(tries))
    assert isinstance(found, Sample)
    assert (found.situation, found.old["to"], found.new["to"]) == (tries[2], ["b"], ["c"])
    assert "trace" not in found.old and "trace" not in found.new
    assert found.to_dict() == {"situation": tries[2], "old": found.old, "new": found.new}
    assert first_sample_decided_otherwise_or_none(pair, iter(tries[:2])) is None


# Values


@pytest.mark.parametrize(
    ("gate", "tries"),
    [
        (checking("exit_code", 3), [{**OK, "exit_code": n} for n in (3, 4, 2)]),
        (checking("exit_code", "x"), [{**OK, "exit_code": n} for n in (0, 1)]),
        (
            checking("failure_type", "late"),
            [{**OK, "failure_type": word} for word in ("late", "other")],
        ),
        (checking("output.n", 1.5), [{**OK, "output": {"n": n}} for n in (1.5, 2.5, 0.5)]),
        (
            checking("output.n", ["x"], "in"),
            [{**OK, "output": {"n": n}} for n in ("x", "other")],
        ),
        (
            checking("output.n", "x"),
            [{**OK, "output": {"n": n}} for n in ("x", "other", 0, 1)],
        ),
        (checking("cost_usd", 2), [{**OK, "usage": {"cost_usd": n}} for n in (2, 3, 1)]),
        (checking("tokens_in", 2), [{**OK, "usage": {"tokens_in": n}} for n in (2, 3, 1)]),
        (checking("tokens_out", 2), [{**OK, "usage": {"tokens_out": n}} for n in (2, 3, 1)]),
        (checking("input.risk", 2), []),
        (gate_of(mode="manual"), []),
    ],
)
def test_outcomes_with_the_values_that_checks_name_and_their_neighbours(gate: Any, tries: list[Any]) -> None:
    assert list(outcomes_at_check_values(OK, [gate])) == tries


def test_what_an_outcome_says_already_is_kept_beside_a_value() -> None:
    given = {**OK, "output": {"m": 1}, "usage": {"cost_usd": 9}}
    assert next(outcomes_at_check_values(given, [checking("output.n", 2)]))["output"] == {"m": 1, "n": 2}
    assert next(outcomes_at_check_values(given, [checking("tokens_in", 2)]))["usage"] == {
        "cost_usd": 9,
        "tokens_in": 2,
    }
    assert next(outcomes_at_check_values({**OK, "output": [1]}, [checking("output.n", 2)]))["output"] == {
        "n": 2
    }


@pytest.mark.parametrize(
    ("operator", "value", "passes"),
    [
        ("equals", 3, 3),
        ("not_equals", 3, "other"),
        ("not_equals", "other", "another"),
        ("less_than", 3, 2),
        ("greater_than", 3, 4),
        ("in", [7, 8], 7),
        ("exists", None, 1),
    ],
)
def test_an_outcome_that_passes_what_is_asked(operator: str, value: Any, passes: Any) -> None:
    more = {} if operator == "exists" else {"value": value}
    checks = {"all": [{"field": "output.n", "operator": operator, **more}]}
    assert passing_outcome(OK, gate_of(checks=checks)) == {**OK, "output": {"n": passes}}
    assert passing_outcome(OK, gate_of(mode="manual")) == OK


def rule_of(when: dict[str, Any]) -> Rule:
    return ruled({"when": when}).stations[0].rules[0]


def test_objects_in_which_each_operand_finds_its_value() -> None:
    test = {"output": {"path": "n", "op": "gt", "value": 3}}
    assert list(outputs_at_condition_values(rule_of(test))) == [{"n": 3}, {"n": 4}, {"n": 2}]
    assert list(outputs_at_condition_values(rule_of({"not": test}))) == list(
        outputs_at_condition_values(rule_of(test))
    )
    other = {"output": {"path": "$.a.b", "op": "equals", "value": "x"}}
    both = list(outputs_at_condition_values(rule_of({"any": [test, {"all": [other]}]})))
    assert both[:3] == [{"n": 3}, {"n": 4}, {"n": 2}]
    assert {"a": {"b": "x"}} in both[3:]
    assert list(outputs_at_condition_values(rule_of(OK))) == []


# Facts


def test_facts_are_merged_one_level_deep_and_left_out_where_they_say_nothing() -> None:
    given = {"station": "a", "outcome": OK, "facts": {"gates": {"g": 1}, "origin": "b"}}
    assert situation_with_merged_facts(given, {"gates": {"h": 2}, "origin": "c"})["facts"] == {
        "gates": {"g": 1, "h": 2},
        "origin": "c",
    }
    assert given["facts"] == {"gates": {"g": 1}, "origin": "b"}
    assert situation_with_merged_facts({"station": "a", "outcome": OK}, {"gates": {}}) == {
        "station": "a",
        "outcome": OK,
    }


REVIEW = {"key": "g", "offers": ["approve", "reject", "send_back"], "approval": {"max_rounds": 4}}


def test_each_gate_refuses_in_each_way_while_the_others_approve() -> None:
    of = ruled({"gates": ["g"]}, gates=[REVIEW])
    less = ruled({}, gates=[{**REVIEW, "approval": {"max_rounds": 2}}])
    yes = {"g": {"decision": "approve"}, "h": {"decision": "approve"}}
    found = list(facts_with_each_gate_refusing(LinePair(of, less), yes, {"g": (of.gate("g"), of)}))
    assert [each["gates"]["g"]["decision"] for each in found] == [
        "approve",
        "reject",
        "send_back",
        "send_back",
        "send_back",
        "rework",
        "abort",
    ]
    assert all(each["gates"]["h"] == {"decision": "approve"} for each in found)
    assert found[1]["gates"]["g"]["route"] == "fail"
    assert [each.get("rounds") for each in found[2:5]] == [None, {"g": 2}, {"g": 4}]


def facts_of(old: ParsedLine, new: ParsedLine, given: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    base = given or {"station": "a", "outcome": OK}
    found = situations_telling_rules_apart(
        LinePair(old, new), base, old.stations[0].rules[0], new.stations[0].rules[0]
    )
    return [{key: fact for key, fact in each.get("facts", {}).items() if fact} for each in found]


def test_budgets_are_tried_at_their_edge_and_escalations_when_open() -> None:
    old = ruled({"id": "x", "max_retries": 2}, policy={"self_loop_limit": 5})
    new = ruled({"id": "y", "to": "c", "max_visits": 3}, policy={"revisit": "limit:6"})
    found = facts_of(old, new)
    for count in (2, 5):
        assert {"rules": {"x": count, "y": count}} in found
    for count in (1, 3, 7):
        for key in ("b", "c"):
            assert {"visits": {key: count}, "visited": sorted({"a", key})} in found
    assert {"open_escalations": 1} in found


def test_gates_are_passed_and_refused() -> None:
    gated = ruled({"gates": ["g"]}, gates=[REVIEW])
    found = facts_of(gated, ruled({}, gates=[REVIEW]))
    assert found[:2] == [{}, {"gates": {"g": {"decision": "approve"}}}]
    assert {"gates": {"g": {"decision": "abort"}}} in found
    assert {"gates": {"g": {"decision": "approve"}}, "open_escalations": 1} in found


def test_a_move_back_is_tried_from_each_station_that_both_have() -> None:
    back, on = ruled({"to": "@origin"}), ruled({})
    assert shared_station_keys(LinePair(back, on)) == ["a", "b", "c"]
    assert {"origin": "c"} in facts_of(on, back)
    assert {"origin": "c"} not in facts_of(on, on)
    assert shared_station_keys(LinePair(line({}), on)) == ["a"]


def test_an_answer_gets_a_text_that_may_become_feedback() -> None:
    said = {"agentic": {"question": "q"}, "answer": "yes"}
    given = {"station": "a", "outcome": OK, "facts": {"answers": [said]}}
    found = facts_of(ruled({}), ruled({"to": "c"}), given)
    assert {"answers": [{**said, "text": "why"}]} in found


def test_a_signal_to_proceed_is_tried_where_nothing_was_signalled() -> None:
    def outcomes(outcome: dict[str, Any]) -> list[Any]:
        of = ruled({})
        rule = of.stations[0].rules[0]
        given = {"station": "a", "outcome": outcome}
        return [
            each["outcome"].get("signals")
            for each in situations_telling_rules_apart(LinePair(of, of), given, rule, rule)
        ]

    assert [{"verdict": "proceed"}] in outcomes(OK)
    hold = [{"verdict": "hold"}]
    assert all(each == hold for each in outcomes({**OK, "signals": hold}))


def test_outputs_are_tried_in_which_a_composition_finds_something_and_nothing() -> None:
    composed = ruled({"compose": [{"var": "v", "path": "$.x"}, {"var": "w", "path": "y"}]})
    rule = composed.stations[0].rules[0]
    pair = LinePair(composed, ruled({}))
    outputs = [
        each["outcome"].get("output")
        for each in situations_telling_rules_apart(
            pair, {"station": "a", "outcome": OK}, rule, pair.new.stations[0].rules[0]
        )
    ]
    assert outputs[0] is None
    assert {"x": "found", "y": "found"} in outputs
    assert {"y": "found"} in outputs and "found" in outputs
    given = {"station": "a", "outcome": {**OK, "output": {"x": 1}}}
    kept = [each["outcome"]["output"] for each in situations_telling_rules_apart(pair, given, rule, rule)]
    assert {"x": 1, "y": "found"} in kept and "found" not in kept


# Rework


REWORKS = {"key": "h", "offers": ["approve", "rework"]}


def sides(*gates: dict[str, Any]) -> StationPair:
    of = ruled({"gates": [each["key"] for each in gates]}, {"to": "c"}, gates=list(gates))
    return StationPair(LinePair(of, of), of.stations[0], of.stations[0])


@pytest.mark.parametrize(
    ("gate", "demands"),
    [
        ({"offers": ["approve", "rework"]}, True),
        ({"offers": ["approve"]}, False),
        (
            {
                "mode": "auto",
                "checks": {"all": [{"field": "exit_code", "operator": "exists", "action": "rework"}]},
            },
            True,
        ),
        (
            {
                "mode": "auto",
                "checks": {"all": [{"field": "exit_code", "operator": "exists", "action": "abort"}]},
            },
            False,
        ),
        (
            {
                "mode": "auto",
                "checks": {
                    "all": [
                        {"field": "exit_code", "operator": "exists", "action": "rework", "severity": "warn"}
                    ]
                },
            },
            False,
        ),
    ],
)
def test_a_gate_demands_rework_by_a_person_or_by_a_check_that_counts(
    gate: dict[str, Any], demands: bool
) -> None:
    assert may_demand_rework(ruled({}, gates=[{"key": "g", **gate}]).gate("g")) is demands


def test_every_gate_at_which_a_person_can_is_told_and_the_only_one_is_named() -> None:
    two = sides(REWORKS, {"key": "i", "offers": ["approve", "rework"]}, {"key": "j", "offers": ["approve"]})
    rule, _ = two.old.rules
    assert list(rework_rule_pairs(two, two.old.rules, two.new.rules)) == [(rule, rule)]
    assert rework_facts(two, (rule, rule)) == {
        "gates": {"h": {"decision": "rework"}, "i": {"decision": "rework"}}
    }
    assert shared_rework_gate_or_empty(two, (rule, rule)) == ""
    one = sides(REWORKS)
    both = (one.old.rules[0], one.new.rules[0])
    assert shared_rework_gate_or_empty(one, both) == "h"
    assert shared_rework_gate_or_empty(one, (both[0], one.new.rules[1])) == ""
    assert shared_rework_gate_or_empty(one, (one.old.rules[1], one.new.rules[1])) == ""
    assert rework_facts(one, (one.old.rules[1], one.new.rules[1])) == {"gates": {}}
