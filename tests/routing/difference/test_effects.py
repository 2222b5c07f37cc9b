"""What is part of an effect and what is not: equal effects decide equally, so each knob that routes has to be in."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.difference.routing_effects import (
    RoutingEffect,
    gate_signature_or_none,
    policy_effect_if_no_rule_matches,
    rule_effect,
    sole_rework_gate_or_empty,
)
from tests.routing.support import ruled

FAILED = frozenset([("failed", "failed")])
STUCK = frozenset([("stuck",)])


def effect(rule: dict[str, Any], **more: Any) -> RoutingEffect:
    of = ruled(rule, **more)
    return rule_effect(of, of.stations[0], of.stations[0].rules[0])


def checks(action: str, **more: Any) -> dict[str, Any]:
    return {"all": [{"field": "exit_code", "operator": "equals", "value": 0, "action": action, **more}]}


def test_targets_are_stations_and_ends_with_their_kind() -> None:
    assert effect({"to": ["c", "b"]}).to == frozenset([("b",), ("c",)])
    assert effect({"to": "completed"}).to == frozenset([("completed", "completed")])
    assert effect({"to": "@origin"}).to == frozenset([("@origin",)])
    assert effect({"to": "@blocked"}).to == frozenset([("@blocked",)])


@pytest.mark.parametrize(
    ("rule", "policy", "budgets"),
    [
        ({}, {}, ()),
        ({"max_retries": 2}, {}, (2, None, None, "escalate")),
        ({"max_visits": 3}, {}, (None, 3, None, "escalate")),
        ({"max_visits": 3, "to": "completed"}, {}, ()),
        ({"to": "a"}, {"self_loop_limit": 5}, (None, None, 5, "escalate")),
        ({"to": "@origin"}, {"self_loop_limit": 5}, (None, None, 5, "escalate")),
        ({"to": "a", "max_retries": 1}, {"self_loop_limit": 5}, (1, None, None, "escalate")),
        ({"to": "b"}, {"self_loop_limit": 5}, ()),
        ({"max_retries": 2, "on_exhausted": {"to": "c"}}, {}, (2, None, None, ("c",))),
    ],
)
def test_budgets_count_where_they_bind(
    rule: dict[str, Any], policy: dict[str, Any], budgets: tuple[Any, ...]
) -> None:
    assert effect(rule, policy={"on_exhausted": "escalate", **policy}).budgets == budgets


def test_a_revisit_is_a_matter_of_the_rule_or_of_the_knob() -> None:
    assert effect({"allow_revisit": True}, policy={"revisit": "forbid"}).revisit == ("allow", False)
    assert effect({"allow_revisit": False}).revisit == ("forbid", False)
    assert effect({}, policy={"revisit": "forbid"}).revisit == ("forbid", True)
    assert effect({"to": "completed", "allow_revisit": False}).revisit == ("allow", False)


def test_what_differs_is_named_and_a_knob_that_both_follow_is_not() -> None:
    one, other = (
        RoutingEffect(STUCK, revisit=("allow", True)),
        RoutingEffect(FAILED, error="x", revisit=("forbid", True)),
    )
    assert one.differing_fields(other) == ("to", "error")
    assert one.differing_fields(RoutingEffect(STUCK, revisit=("forbid", False))) == ("revisit",)
    assert one.differing_fields(RoutingEffect(STUCK, revisit=("allow", False))) == ()
    assert one.without_policy_revisit() == RoutingEffect(STUCK, revisit=("", True))
    assert RoutingEffect(STUCK).without_policy_revisit() == RoutingEffect(STUCK)


def key(**gate: Any) -> Any:
    of = ruled({"gates": ["g"]}, gates=[{"key": "g", **gate}], policy={"on_reject": "fail"})
    return gate_signature_or_none(of, of.gate("g"))


def test_a_gate_is_what_a_decision_reads_of_it() -> None:
    assert key(mode="manual")[:3] == ("g", True, None)
    assert key(mode="manual")[3][0] == "fail"
    assert key(mode="manual", on_reject="route:b")[3][0] == "route:b"
    assert key(mode="skip") is None
    assert key(mode="auto") is None
    assert key(mode="auto", checks=checks("hold", severity="warn")) is None
    assert key(mode="auto", checks=checks("hold"))[:2] == ("g", False)
    assert key(mode="auto", checks=checks("hold"))[2] == ("all", ("exit_code", "equals", b"0", 1))
    counts, warns = checks("hold")["all"], checks("hold", severity="warn")["all"]
    assert key(mode="auto", checks={"all": [*counts, *warns]}) == key(mode="auto", checks={"all": counts})
    assert key(mode="manual", checks=checks("abort")) == key(mode="manual")
    assert key(mode="auto", checks=checks("hold")) != key(mode="auto", checks=checks("rework"))
    assert key(mode="auto", checks=checks("hold")) != key(mode="auto", checks={"any": checks("hold")["all"]})


def test_the_one_gate_at_which_only_a_person_demands_rework() -> None:
    def told(*gates: dict[str, Any]) -> str:
        of = ruled({"gates": [each["key"] for each in gates]}, gates=list(gates))
        return sole_rework_gate_or_empty(of, of.stations[0].rules[0])

    words = ["approve", "reject", "rework"]
    one, two = ({"key": each, "offers": words} for each in "gh")
    assert told(one) == "g"
    assert told(two) == "h"
    assert told(one, two) == ""
    assert told(one, {"key": "h", "mode": "skip"}) == "g"
    assert told({"key": "g", "offers": ["approve", "reject"]}) == ""
    assert told({**one, "mode": "auto", "checks": checks("hold")}) == ""


POLICIES: list[tuple[dict[str, Any], str, RoutingEffect]] = [
    ({}, "blocked", RoutingEffect(frozenset([("@blocked",)]))),
    ({"on_failure": "halt"}, "failed", RoutingEffect(FAILED)),
    ({"on_failure": "stuck"}, "failed", RoutingEffect(STUCK, error="NoValidTransition")),
    ({"on_failure": "escalate"}, "failed", RoutingEffect(frozenset([("escalate", "on_failure")]))),
    ({"on_failure": "fallback"}, "failed", RoutingEffect(frozenset([("fallback", "on_failure")]))),
    ({"no_match": "fallback"}, "passed", RoutingEffect(frozenset([("fallback", "no_match")]))),
    ({"on_failure": "station:c"}, "failed", RoutingEffect(frozenset([("c",)]))),
    ({"no_match": "default"}, "passed", RoutingEffect(frozenset([("b",)]))),
    ({"no_match": "fail"}, "passed", RoutingEffect(FAILED, error="NoValidTransition")),
    ({"no_match": "stuck"}, "passed", RoutingEffect(STUCK, error="NoValidTransition")),
    ({"no_match": "escalate"}, "passed", RoutingEffect(frozenset([("escalate", "no_match")]))),
]


@pytest.mark.parametrize(("policy", "standing", "expected"), POLICIES)
def test_where_no_rule_matches_the_policy_is_the_effect(
    policy: dict[str, Any], standing: str, expected: RoutingEffect
) -> None:
    of = ruled({"when": {"result": "failure"}}, policy=policy)
    assert policy_effect_if_no_rule_matches(of, of.stations[0], standing) == expected


@pytest.mark.parametrize(
    ("knob", "station", "expected"),
    [
        ("advance", 1, RoutingEffect(frozenset([("c",)]))),
        ("advance", 2, RoutingEffect(frozenset([("completed", "completed")]))),
        ("end", 1, RoutingEffect(frozenset([("completed", "completed")]))),
        ("refuse", 1, RoutingEffect(STUCK, error="NoValidTransition")),
    ],
)
def test_where_there_are_no_rules_too(knob: str, station: int, expected: RoutingEffect) -> None:
    of = ruled({}, policy={"no_rules": knob})
    assert policy_effect_if_no_rule_matches(of, of.stations[station], "passed") == expected
