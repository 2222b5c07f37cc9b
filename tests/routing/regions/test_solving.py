"""The solver: guesses, evaluations and gates as choices, what is found, and how much may be spent."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.satisfiability import choices
from pipelines.routing.analysis.satisfiability.document_guesses import (
    documents_with_leaf_at_path,
    guess_documents,
)
from pipelines.routing.analysis.satisfiability.effort import EffortExhausted, limiting_effort, spend_effort
from pipelines.routing.analysis.satisfiability.formulas import (
    Conjunction,
    Disjunction,
    Literal,
    negated_formula,
)
from pipelines.routing.analysis.satisfiability.rework import may_demand_rework
from pipelines.routing.analysis.satisfiability.search_failures import Impossible, Unknown
from pipelines.routing.analysis.satisfiability.solver import Box, first_accepted_result
from pipelines.routing.basics.values import MISSING
from tests.routing.regions.support import analysed, both, either, output
from tests.routing.support import ruled

# Guesses, evaluations, gates


@pytest.mark.parametrize(
    ("path", "leaf", "shapes"),
    [
        ("$.a[*]", 1, [{"a": [1]}]),
        ("$.a[2].b", 1, [{"a": [None, None, {"b": 1}]}]),
        ("$.a[0]", 1, [{"a": [1]}]),
    ],
)
def test_a_leaf_is_wrapped_in_what_its_path_walks_through(path: str, leaf: Any, shapes: list[Any]) -> None:
    assert list(documents_with_leaf_at_path(path, leaf)) == shapes


def test_what_a_filter_names_is_put_beside_the_leaf() -> None:
    shapes = list(documents_with_leaf_at_path("$.a[?@.kind == 'x'].b", 7))
    assert shapes[0] == {"a": [{"b": 7}]}
    assert {"a": [{"kind": "x", "b": 7}]} in shapes
    assert {"a": [{"kind": True, "b": 7}]} in shapes
    numbered = list(documents_with_leaf_at_path('$[?@.n > 3 && @.m == "y"].b', 7))
    assert numbered[0] == [{"b": 7}]
    for wanted in ({"n": "y"}, {"n": 3}, {"n": 4}, {"n": True}, {"m": "y"}, {"m": 3}, {"m": 4}, {"m": True}):
        assert [{**wanted, "b": 7}] in numbered, wanted
    assert len(numbered) <= 12
    assert {"a": [{"n": -2, "b": 7}]} in list(documents_with_leaf_at_path("$.a[?@.n == -2].b", 7))


def test_a_filter_is_met_by_a_document_made_for_it() -> None:
    analysis = analysed(output("$.a[?@.kind == 'x'].b", "equals", 7))
    shown = analysis.rule_liveness[0].witness
    assert shown is not None
    assert shown.situation["outcome"]["output"] == {"a": [{"kind": "x", "b": 7}]}


AGENTIC = {"agentic": {"question": "Is it good?"}, "answer": "yes"}


HOOK = {"hook": {"argv": ["./ok"]}, "answer": "block"}


FLAGS = {"flags": {"agentic_conditions": True}}


@pytest.mark.parametrize(
    ("when", "kinds"),
    [
        (both(AGENTIC, HOOK), ["agentic", "hook"]),
        (either(HOOK, {"result": "failure"}), ["hook"]),
        ({"not": either(HOOK, both(AGENTIC))}, ["hook", "agentic"]),
        ({"result": "failure"}, []),
    ],
)
def test_all_that_a_condition_asks_for_is_answered(when: dict[str, Any], kinds: list[str]) -> None:
    rule = ruled({"when": when}, **FLAGS).stations[0].rules[0]
    assert [each.kind for each in rule.evaluations] == kinds


def test_an_answer_is_shown_as_the_rule_wants_it_and_one_that_is_no_matter_is_the_usual_one() -> None:
    standings = analysed(both(AGENTIC, {"not": HOOK}), HOOK, **FLAGS).rule_liveness
    shown = [standing.witness.situation["facts"]["answers"] for standing in standings if standing.witness]
    told = [[(next(iter(each)), each["answer"]) for each in answers] for answers in shown]
    assert told == [[("agentic", "yes"), ("hook", "pass")], [("agentic", "yes"), ("hook", "block")]]


ALL_WORDS = ["approve", "reject", "rework"]


def checks(action: str, **more: Any) -> dict[str, Any]:
    return {"all": [{"field": "exit_code", "operator": "equals", "value": 0, "action": action, **more}]}


@pytest.mark.parametrize(
    ("gate", "demands"),
    [
        ({"offers": ALL_WORDS}, True),
        ({"offers": ["approve", "reject"]}, False),
        ({"offers": ALL_WORDS, "mode": "skip"}, False),
        ({"offers": ALL_WORDS, "mode": "auto"}, False),
        ({"offers": ALL_WORDS, "mode": "auto", "checks": checks("hold")}, True),
        ({"offers": ["approve"], "mode": "auto", "checks": checks("hold")}, False),
        ({"offers": ["approve"], "mode": "auto", "checks": checks("rework")}, True),
        ({"offers": ["approve"], "mode": "auto", "checks": checks("abort")}, False),
        ({"offers": ["approve"], "mode": "manual", "checks": checks("rework")}, False),
        ({"offers": ["approve"], "mode": "auto", "checks": checks("rework", severity="warn")}, False),
    ],
)
def test_who_can_demand_rework_at_a_gate(gate: dict[str, Any], demands: bool) -> None:
    of = ruled({"gates": ["g"]}, gates=[{"key": "g", **gate}])
    assert may_demand_rework(of.gate("g")) is demands


# The solver

X, Y, Z = ("x",), ("y",), ("z",)


GIVEN: Box = {X: choices.choice_among(1, 2), Y: choices.choice_among(1, 2)}


def is_(variable: tuple[str], *values: int) -> Literal:
    return Literal(variable, choices.choice_among(*values), choices.choice_among(*values).complement())


@pytest.mark.parametrize(
    ("formulas", "found"),
    [
        ([], (1, 1)),
        ([is_(X, 2)], (2, 1)),
        ([negated_formula(is_(X, 1))], (2, 1)),
        ([is_(X, 3)], None),
        ([is_(X, 1), is_(X, 2)], None),
        ([Disjunction((is_(X, 3), is_(Y, 2)))], (1, 2)),
        ([Disjunction((is_(X, 3), is_(Y, 3)))], None),
        ([Disjunction((is_(X, 1), is_(Y, 2))), is_(X, 2)], (2, 2)),
        ([Disjunction((Conjunction((is_(X, 1), is_(Y, 2))), is_(X, 3)))], (1, 2)),
        ([Disjunction((Conjunction((is_(X, 1), is_(Y, 3))), is_(X, 2))), negated_formula(is_(X, 2))], None),
        ([negated_formula(Conjunction((is_(X, 1), is_(Y, 1)))), is_(X, 1)], (1, 2)),
        ([negated_formula(Disjunction((is_(X, 1), is_(Y, 1))))], (2, 2)),
        ([Disjunction((Disjunction((is_(X, 3), is_(Y, 3))), Disjunction((is_(X, 4), is_(Y, 2)))))], (1, 2)),
        ([Disjunction((Disjunction((is_(X, 1, 2), is_(Y, 3))), is_(Y, 4)))], (1, 1)),
    ],
)
def test_a_point_is_found_or_there_is_none(formulas: list[Any], found: tuple[int, int] | None) -> None:
    def lowest(box: Box) -> tuple[int, int]:
        return min(box[X].only), min(box[Y].only)

    if found is None:
        with pytest.raises(Impossible):
            first_accepted_result(formulas, GIVEN, lowest)
    else:
        assert first_accepted_result(formulas, GIVEN, lowest) == found


def test_what_is_given_stays_as_it_was() -> None:
    given = dict(GIVEN)
    first_accepted_result([is_(X, 1), is_(Z, 1)], given, lambda box: None)
    assert given == GIVEN


def test_a_choice_that_holds_anyhow_binds_nothing() -> None:
    choice = Disjunction((is_(X, 1, 2), is_(Z, 1)))
    assert first_accepted_result([choice], GIVEN, dict) == GIVEN
    assert (
        first_accepted_result(
            [Disjunction((Conjunction((is_(X, 1, 2), is_(Y, 1, 2))), is_(Z, 1)))], GIVEN, dict
        )
        == GIVEN
    )


def test_a_doubt_is_told_only_where_nothing_else_was_found() -> None:
    def doubted(box: Box) -> str:
        if box[X] == choices.choice_among(1):
            raise Unknown("a doubt")
        return "found"

    choice = Disjunction((is_(X, 1), is_(X, 2)))
    assert first_accepted_result([choice], GIVEN, doubted) == "found"
    with pytest.raises(Unknown, match=r"^a doubt$"):
        first_accepted_result([choice, is_(X, 1)], GIVEN, doubted)


def test_more_cases_than_the_bound_are_unknown() -> None:
    def refused(box: Box) -> None:
        raise Impossible

    pairs = [Disjunction((is_((f"v{i}",), 1), is_((f"w{i}",), 1))) for i in range(12)]
    with pytest.raises(Unknown, match=r"^more cases than the bound allows$"):
        first_accepted_result(pairs, {}, refused)
    with pytest.raises(Impossible):
        first_accepted_result(pairs[:8], {}, refused)


# Effort


def test_the_last_unit_may_be_spent_and_not_one_more() -> None:
    with limiting_effort(10) as meter:
        spend_effort(4)
        spend_effort(6)
        assert meter.left == 0
        with pytest.raises(EffortExhausted, match=r"^it would take more work than the bounds allow$"):
            spend_effort(1)


def test_the_bound_within_a_bound_is_its_own() -> None:
    with limiting_effort(10) as outer:
        with limiting_effort(3) as inner:
            spend_effort(2)
        spend_effort(1)
    assert (outer.left, inner.left) == (9, 1)


def free_paths(*conditions: dict[str, Any]) -> list[tuple[Any, bool]]:
    return [(ruled({"when": each}).stations[0].rules[0].when, True) for each in conditions]


def test_each_free_path_is_tried_with_each_value_that_it_could_want() -> None:
    one = free_paths(output("$.a[*].n", "in", [3, 4]))
    tried = list(guess_documents(MISSING, one))
    assert tried[0] is MISSING
    assert [each["a"][0]["n"] for each in tried[1:]] == [3, 4, "other"]
    number = [
        each["a"][0]
        for each in guess_documents(MISSING, free_paths(output("$.a[*]", "gt", 5)))
        if each is not MISSING
    ]
    assert number == [5, 6, 4]
    word = [
        each["a"][0]
        for each in guess_documents(MISSING, free_paths(output("$.a[*]", "contains", "x")))
        if each is not MISSING
    ]
    assert word == ["x", "other", 1]
    nothing = [
        each["a"][0]
        for each in guess_documents(MISSING, free_paths(output("$.a[*]", "equals", None)))
        if each is not MISSING
    ]
    assert nothing == ["other", 1, None]


def test_what_is_tried_is_laid_over_the_document_and_over_each_other() -> None:
    free = free_paths(
        output("$.a[*].n", "equals", 1), output("$.a[*].m", "equals", 2), output("$.b", "equals", 3)
    )
    tried = list(guess_documents({"a": [{"z": 0}], "c": 5}, free[:2]))
    assert {"a": [{"z": 0}, {"n": 1}], "c": 5} in tried
    assert {"a": [{"z": 0}, {"n": 1}, {"m": 2}], "c": 5} in tried
    assert {"a": {"k": 1}} in list(guess_documents({"a": {"k": 1}}, free[:1]))
    assert list(guess_documents("a text", free)) == ["a text"]
    assert list(guess_documents({"a": 1}, [])) == [{"a": 1}]
