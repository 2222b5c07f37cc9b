"""How often each station that is reached can be entered at most: what the ways and budgets of a line allow."""

from __future__ import annotations

import pytest

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.visits import (
    max_entries_by_station,
    stations_breaking_unbounded_cycles,
    unbounded_cycle_targets_by_rule,
    unbounded_cycles,
)
from pipelines.routing.document.line import ParsedLine
from tests.routing.support import line, ruled

VISITS: dict[str, tuple[ParsedLine, dict[str, int]]] = {
    "a straight line is gone once": (line({}, {}, {}), {"a": 1, "b": 1, "c": 1}),
    "a loop is entered as often as its budget allows, and once from the start": (
        ruled({"when": {"result": "failure"}, "to": "a", "max_retries": 2}, {"to": "completed"}),
        {"a": 3},
    ),
    "a loop without a budget of its own has the limit of the policy": (
        ruled({"when": {"result": "failure"}, "to": "a"}, {"to": "completed"}),
        {"a": 4},
    ),
    "without that limit only the cap is left": (
        ruled(
            {"when": {"result": "failure"}, "to": "a"},
            {"to": "completed"},
            policy={"self_loop_limit": "none"},
        ),
        {"a": 100},
    ),
    "the cap may be lower": (
        ruled(
            {"when": {"result": "failure"}, "to": "a"},
            {"to": "completed"},
            policy={"self_loop_limit": "none", "visit_cap": 7},
        ),
        {"a": 7},
    ),
    "a station's limit of visits binds it": (
        line(
            {"rules": [{"id": "r1", "to": "b"}]},
            {
                "limits": {"max_visits": 2},
                "rules": [
                    {"id": "r2", "when": {"result": "failure"}, "to": "a"},
                    {"id": "r3", "to": "completed"},
                ],
            },
        ),
        {"a": 3, "b": 2},
    ),
    "the smaller of both binds": (
        line(
            {
                "limits": {"max_visits": 3},
                "rules": [
                    {"id": "r1", "when": {"result": "failure"}, "to": "a", "max_retries": 9},
                    {"id": "r2", "to": "completed"},
                ],
            }
        ),
        {"a": 3},
    ),
    "a rule may allow what the policy forbids": (
        line(
            {"rules": [{"id": "r1", "to": "b", "allow_revisit": True}]},
            {
                "rules": [
                    {"id": "r2", "when": {"result": "failure"}, "to": "a", "allow_revisit": True},
                    {"id": "r3", "to": "completed"},
                ]
            },
            policy={"revisit": "forbid"},
        ),
        {"a": 100, "b": 100},
    ),
    "a station to which nothing leads is not in it": (ruled({"to": "c"}), {"a": 1, "c": 1}),
    "a failure goes where the policy says": (
        ruled({"when": {"result": "success"}, "to": "completed"}, policy={"on_failure": "station:c"}),
        {"a": 1, "c": 100},
    ),
    "a failure that a rule takes does not": (
        ruled({"to": "completed"}, policy={"on_failure": "station:c"}),
        {"a": 1},
    ),
    "failures that go past the rules do": (
        ruled({"to": "completed"}, policy={"on_failure": "station:c", "failure_rules": "no"}),
        {"a": 1, "c": 100},
    ),
    "so does what cannot be composed": (
        ruled(
            {"to": "completed", "compose": [{"var": "v", "path": "k"}]}, policy={"on_failure": "station:c"}
        ),
        {"a": 1, "c": 100},
    ),
    "no match leads to the next station": (
        ruled({"when": {"result": "failure"}, "to": "completed"}),
        {"a": 1, "b": 1, "c": 1},
    ),
    "no match that ends leads nowhere": (
        ruled({"when": {"result": "failure"}, "to": "completed"}, policy={"no_match": "fail"}),
        {"a": 1},
    ),
    "no rules that end lead nowhere": (line({}, {}, policy={"no_rules": "end"}), {"a": 1}),
    "an exhausted rule leads to its other target": (
        ruled({"to": "completed", "max_retries": 0, "on_exhausted": {"to": "c"}}),
        {"a": 1, "c": 1},
    ),
    "a rejection may route to a station, which is no visit by rules": (
        ruled({"to": "completed", "gates": ["g"]}, gates=[{"key": "g", "on_reject": "route:c"}]),
        {"a": 1, "c": 0},
    ),
    "a reviewer who chooses may choose any station": (
        ruled({"to": "completed", "gates": ["g"]}, gates=[{"key": "g", "on_reject": "reviewer_chooses"}]),
        {"a": 1, "b": 0, "c": 0},
    ),
    "a gate that offers no rejection routes nowhere": (
        ruled(
            {"to": "completed", "gates": ["g"]},
            gates=[{"key": "g", "on_reject": "route:c", "offers": ["approve"]}],
        ),
        {"a": 1},
    ),
    "a gate that is skipped routes nowhere": (
        ruled(
            {"to": "completed", "gates": ["g"]}, gates=[{"key": "g", "on_reject": "route:c", "mode": "skip"}]
        ),
        {"a": 1},
    ),
    "a station's gate routes too, by the line's knob": (
        ruled(
            {"to": "completed"}, station={"gate": "g"}, gates=[{"key": "g"}], policy={"on_reject": "route:b"}
        ),
        {"a": 1, "b": 0, "c": 0},
    ),
    "back to the origin": (
        line(
            {"rules": [{"id": "r1", "to": "c"}]},
            {},
            {
                "rules": [
                    {"id": "r2", "when": {"result": "failure"}, "to": "@origin", "max_retries": 2},
                    {"id": "r3", "to": "completed"},
                ]
            },
        ),
        {"a": 3, "c": 3},
    ),
    "a fork goes to each of its targets": (ruled({"to": ["b", "c"]}), {"a": 1, "b": 1, "c": 2}),
    "a dead rule leads nowhere": (ruled({"to": "completed"}, {"to": "b"}), {"a": 1}),
    "a rule to @blocked leads nowhere": (ruled({"to": "@blocked"}), {"a": 1}),
}


@pytest.mark.parametrize(("of", "most"), list(VISITS.values()), ids=list(VISITS))
def test_a_station_is_entered_at_most_so_often(of: ParsedLine, most: dict[str, int]) -> None:
    assert max_entries_by_station(LintSubject(of)) == most


def rule(name: str, to: str, **more: object) -> dict[str, object]:
    return {"id": name, "when": {"output": {"path": name, "op": "equals", "value": 1}}, "to": to, **more}


def two_loops() -> ParsedLine:
    """a and b go round each other, c round itself; d goes back to c with a budget."""
    return line(
        {"rules": [rule("ab", "b"), rule("a-on", "c")]},
        {"rules": [rule("ba", "a"), rule("b-on", "c")]},
        {"rules": [rule("cc", "c"), rule("c-on", "d")]},
        {"rules": [rule("dc", "c", max_retries=2), rule("out", "completed")]},
        policy={"self_loop_limit": "none", "no_match": "stuck", "on_failure": "stuck"},
    )


def test_the_cycles_without_a_budget_their_rules_and_what_would_bound_them() -> None:
    subject = LintSubject(two_loops())
    assert unbounded_cycles(subject) == [("a", "b"), ("c",)]
    assert unbounded_cycle_targets_by_rule(subject) == {"ab": ("b",), "ba": ("a",), "cc": ("c",)}
    assert stations_breaking_unbounded_cycles(subject, "a") == ("a",)
    assert stations_breaking_unbounded_cycles(subject, "c") == ("c",)
    assert (
        stations_breaking_unbounded_cycles(subject, "b") == ()
        and stations_breaking_unbounded_cycles(subject, "d") == ()
    )


def test_as_many_limits_are_named_as_leave_no_cycle() -> None:
    """b is in both circles, a only in one; the first of what is left is taken each time."""
    of = line(
        {"rules": [rule("ab", "b"), rule("out", "completed")]},
        {"rules": [rule("ba", "a"), rule("bc", "c")]},
        {"rules": [rule("cb", "b"), rule("ca", "a")]},
        policy={"no_match": "stuck", "on_failure": "stuck"},
    )
    assert unbounded_cycles(LintSubject(of)) == [("a", "b", "c")]
    assert stations_breaking_unbounded_cycles(LintSubject(of), "a") == ("a", "b")
    assert unbounded_cycle_targets_by_rule(LintSubject(of)) == {
        "ab": ("b",),
        "ba": ("a",),
        "bc": ("c",),
        "cb": ("b",),
        "ca": ("a",),
    }
