"""The parts that the analysis is made of, each by itself: sets and their borders, formulas, guesses, automata."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines.routing.analysis.regions import cells, choices, numbers, texts
from pipelines.routing.analysis.regions.automata import (
    Beginning,
    Containing,
    ListedTexts,
    alphabet,
    searching,
    words,
)
from pipelines.routing.analysis.regions.choices import ValueChoice
from pipelines.routing.analysis.regions.effort import EffortExhausted, at_most, spend
from pipelines.routing.analysis.regions.evals import Evals
from pipelines.routing.analysis.regions.formulas import Both, Either, Literal, negation
from pipelines.routing.analysis.regions.guesses import around, guesses
from pipelines.routing.analysis.regions.numbers import Interval, NumberSet
from pipelines.routing.analysis.regions.outcomes import Impossible, Unknown
from pipelines.routing.analysis.regions.situations import evaluations
from pipelines.routing.analysis.regions.solver import Box, solve
from pipelines.routing.analysis.regions.stations import demands_rework
from pipelines.routing.basics.values import MISSING
from tests.routing.regions.support import analysed, both, either, output
from tests.routing.support import ruled

# Numbers


@pytest.mark.parametrize(
    ("op", "holds"),
    [("gt", (False, False, True)), ("gte", (False, True, True)), ("lt", (True, False, False))]
    + [("lte", (True, True, False))],
)
def test_a_comparison_is_exact_at_its_border_and_so_is_what_it_leaves(
    op: str, holds: tuple[bool, ...]
) -> None:
    held = numbers.compared(op, 5)
    assert tuple(map(held.holds, (4, 5, 6))) == holds
    assert tuple(map(held.complement().holds, (4, 5, 6))) == tuple(not each for each in holds)
    assert held.complement().complement() == held


def test_a_range_has_both_its_ends_and_an_empty_one_nothing() -> None:
    assert [numbers.between(1, 3).holds(n) for n in (0, 1, 2, 3, 4)] == [False, True, True, True, False]
    assert [numbers.between(1, 3).complement().holds(n) for n in (0, 1, 3, 4)] == [True, False, False, True]
    assert numbers.between(2, 2) == numbers.just(2)
    assert numbers.between(3, 1).is_empty


def test_intervals_that_touch_share_the_point_only_if_both_have_it() -> None:
    def shared(left: str, right: str) -> NumberSet:
        return numbers.compared(left, 2).meet(numbers.compared(right, 2))

    assert shared("lte", "gte") == numbers.just(2)
    assert shared("lt", "gte").is_empty
    assert shared("lte", "gt").is_empty
    assert Interval(2, 2).is_empty is False
    assert Interval(2, 2, low_closed=False).is_empty
    assert Interval(2, 2, high_closed=False).is_empty


@pytest.mark.parametrize("first", ["gt", "gte"])
@pytest.mark.parametrize("second", ["lt", "lte"])
@pytest.mark.parametrize(
    ("low", "high"), [(1, 2), (1, 3), (-4, -3), (Decimal("0.5"), Decimal("0.6")), (7, 8)]
)
def test_between_two_ends_a_number_is_found(first: str, second: str, low: Any, high: Any) -> None:
    held = numbers.compared(first, low).meet(numbers.compared(second, high))
    found = list(held.samples())
    assert found
    assert all(map(held.holds, found))


def test_the_simplest_number_is_shown_first() -> None:
    assert next(numbers.ANY.samples()) == 0
    assert next(numbers.compared("gt", 0).samples()) == 1
    assert next(numbers.compared("lt", 0).samples()) == -1
    assert next(numbers.compared("gt", 9).samples()) == 10
    assert next(numbers.compared("lt", -9).samples()) == -10
    assert list(numbers.listed([3, 1, 3]).intervals) == [Interval(3, 3), Interval(1, 1)]


# Choices, cells


def test_choices_meet_and_turn_round() -> None:
    some, but = choices.only("a", "b"), ValueChoice(None, frozenset(["b", "c"]))
    assert some.meet(but) == but.meet(some) == choices.only("a")
    assert some.complement() == ValueChoice(None, frozenset(["a", "b"]))
    assert some.complement().complement() == some
    assert but.meet(ValueChoice(None, frozenset(["d"]))) == ValueChoice(None, frozenset("bcd"))
    assert (choices.ANY.is_empty, choices.NONE.is_empty, but.is_empty) == (False, True, False)
    assert [but.holds(each) for each in "abc"] == [True, False, False]


VALUES = [
    MISSING,
    None,
    True,
    False,
    0,
    1,
    2,
    Decimal("1.5"),
    "",
    "a",
    "ab",
    [],
    [1],
    ["a"],
    [None],
    {},
    {"a": 1},
]
TESTS: list[tuple[str, Any, list[Any]]] = [
    ("exists", None, VALUES[1:]),
    ("missing", None, [MISSING]),
    ("equals", 1, [1]),
    ("equals", None, [None]),
    ("equals", True, [True]),
    ("equals", "a", ["a"]),
    ("equals", [1], [[1]]),
    ("equals", {"a": 1}, [{"a": 1}]),
    ("in", [1, "a", None, [], {}], [None, 1, "a", [], {}]),
    (
        "not_in",
        [1, "a", None, [], {}, True],
        [False, 0, 2, Decimal("1.5"), "", "ab", [1], ["a"], [None], {"a": 1}],
    ),
    ("not_equals", True, [v for v in VALUES[1:] if v is not True]),
    ("contains", "a", ["a", "ab", ["a"]]),
    ("contains", None, [[None]]),
    ("contains", 1, [[1]]),
    ("not_contains", "a", [v for v in VALUES[1:] if v not in ("a", "ab", ["a"])]),
    ("starts_with", "a", ["a", "ab"]),
    ("ends_with", "b", ["ab"]),
    ("starts_with", 1, []),
    ("gt", 1, [2, Decimal("1.5")]),
    ("lte", 1, [0, 1]),
    ("lt", "a", []),
    ("type", "null", [None]),
    ("type", "boolean", [True, False]),
    ("type", "number", [0, 1, 2, Decimal("1.5")]),
    ("type", "string", ["", "a", "ab"]),
    ("type", "array", [[], [1], ["a"], [None]]),
    ("type", "object", [{}, {"a": 1}]),
]


@pytest.mark.parametrize(("op", "value", "those"), TESTS)
def test_an_operator_is_a_set_and_everything_else(op: str, value: Any, those: list[Any]) -> None:
    yes, no = cells.tested(op, value)
    expected = [any(type(v) is type(t) and v == t for t in those) for v in VALUES]
    assert [yes.holds(v) for v in VALUES] == expected
    assert [no.holds(v) for v in VALUES] == [not each for each in expected]
    assert yes.meet(no).is_empty


def test_lists_that_have_and_have_not_a_member_are_none() -> None:
    has, has_not = cells.tested("contains", 1)
    assert has.meet(has_not).is_empty
    assert not has.meet(cells.tested("contains", 2)[0]).is_empty
    assert has.meet(cells.tested("equals", [2])[0]).is_empty
    assert not has.meet(cells.tested("equals", [1, 2])[0]).is_empty
    assert has_not.meet(cells.tested("equals", [1, 2])[0]).is_empty


# Evals


def test_an_eval_says_a_number_or_none_at_all() -> None:
    few = Evals(within=numbers.between(1, 3))
    others = Evals(outside=numbers.between(1, 3))
    assert [few.holds(text) for text in ("1", " 3 ", "2.5", "4", "x")] == [True, True, True, False, False]
    assert [others.holds(text) for text in ("1", " 3 ", "2.5", "4", "x")] == [False, False, False, True, True]
    assert few.meet(others).is_empty
    assert not few.is_empty
    assert not others.is_empty
    assert others.holds(others.sample())
    assert few.holds(few.sample())


def test_evals_that_meet_keep_only_what_both_allow() -> None:
    met = Evals(within=numbers.between(1, 3)).meet(Evals(within=numbers.between(3, 5)))
    assert [met.holds(text) for text in ("1", "3", "5")] == [False, True, False]
    listed = Evals(texts.listed(frozenset(["2", "9", "x"])).yes)
    assert listed.meet(Evals(within=numbers.between(1, 3))).sample() == "2"
    assert listed.meet(Evals(outside=numbers.between(1, 3))).texts.only == {"9", "x"}
    both_out = Evals(outside=numbers.just(1)).meet(Evals(outside=numbers.just(2)))
    assert [both_out.holds(text) for text in ("1", "2", "3", "x")] == [False, False, True, True]


def test_a_number_whose_text_is_taken_is_spelled_otherwise() -> None:
    taken = texts.listed(frozenset(["1", "1 ", "1  "])).no
    among = Evals(taken, within=numbers.just(1))
    assert among.sample().strip() == "1"
    assert among.sample() not in ("1", "1 ", "1  ")


# Texts and automata


def test_texts_are_shown_simplest_first_and_never_one_that_is_left_out() -> None:
    assert list(texts.ANY.samples(4)) == ["other", "", "other 2", "other 3"]
    assert list(texts.listed(frozenset(["other", ""])).no.samples(2)) == ["other 2", "other 3"]
    assert list(texts.listed(frozenset(["bb", "a", "b"])).yes.samples()) == ["a", "b", "bb"]
    assert texts.tested("starts_with", "ab").yes.meet(texts.listed(frozenset(["ab"])).no).holds("abx")


def test_one_letter_stands_for_each_group_that_can_be_told_apart() -> None:
    assert alphabet([Beginning("q")])[:3] == ["x", "a", "q"]
    letters = alphabet([searching("[b-d]"), Beginning("c")])
    assert len(letters) == len(set(letters))
    assert letters[:3] == ["x", "a", "b"]
    assert "c" in letters
    assert "d" in letters
    assert "\0" not in letters
    assert not any("\ud800" <= letter <= "\udfff" for letter in letters)
    assert any(letter >= "\ue000" for letter in letters)


def test_the_last_character_of_all_is_a_letter_like_another() -> None:
    last = "\U0010ffff"
    assert last in alphabet([Beginning(last)])
    assert next(words([(Beginning(last), True)])) == last
    assert "\x01" in alphabet([Beginning("\x01")])
    assert "\ue000" in alphabet([Beginning("\ue000")])
    assert "\ud7ff" in alphabet([Beginning("\ud7ff")])


@pytest.mark.parametrize(
    ("parts", "shortest"),
    [
        ([(Containing("aab"), True)], "aab"),
        ([(Containing("ab", at_end=True), True), (Containing("ba"), True)], "bab"),
        ([(Containing("aa", at_end=True), True), (Containing("aaa"), False), (Beginning("b"), True)], "baa"),
        ([(ListedTexts(frozenset(["", "x", "a"])), False)], "b"),
        ([(ListedTexts(frozenset(["ab", "ba"])), True), (Beginning("b"), True)], "ba"),
        ([(Beginning("ab"), True), (Beginning("a"), False)], None),
        ([(searching("^a*$"), True), (Containing("aa"), False), (Beginning("a"), True)], "a"),
    ],
)
def test_the_shortest_text_that_does_all_of_it_comes_first(parts: Any, shortest: str | None) -> None:
    assert next(words(parts), None) == shortest


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
    assert list(around(path, leaf)) == shapes


def test_what_a_filter_names_is_put_beside_the_leaf() -> None:
    shapes = list(around("$.a[?@.kind == 'x'].b", 7))
    assert shapes[0] == {"a": [{"b": 7}]}
    assert {"a": [{"kind": "x", "b": 7}]} in shapes
    assert {"a": [{"kind": True, "b": 7}]} in shapes
    numbered = list(around('$[?@.n > 3 && @.m == "y"].b', 7))
    assert numbered[0] == [{"b": 7}]
    for wanted in ({"n": "y"}, {"n": 3}, {"n": 4}, {"n": True}, {"m": "y"}, {"m": 3}, {"m": 4}, {"m": True}):
        assert [{**wanted, "b": 7}] in numbered, wanted
    assert len(numbered) <= 12
    assert {"a": [{"n": -2, "b": 7}]} in list(around("$.a[?@.n == -2].b", 7))


def test_a_filter_is_met_by_a_document_made_for_it() -> None:
    analysis = analysed(output("$.a[?@.kind == 'x'].b", "equals", 7))
    shown = analysis.standings[0].witness
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
    assert [each.kind for each in evaluations(rule.when)] == kinds


def test_an_answer_is_shown_as_the_rule_wants_it_and_one_that_is_no_matter_is_the_usual_one() -> None:
    standings = analysed(both(AGENTIC, {"not": HOOK}), HOOK, **FLAGS).standings
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
    assert demands_rework(of.gate("g")) is demands


# The solver

X, Y, Z = ("x",), ("y",), ("z",)
GIVEN: Box = {X: choices.only(1, 2), Y: choices.only(1, 2)}


def is_(variable: tuple[str], *values: int) -> Literal:
    return Literal(variable, choices.only(*values), choices.only(*values).complement())


@pytest.mark.parametrize(
    ("formulas", "found"),
    [
        ([], (1, 1)),
        ([is_(X, 2)], (2, 1)),
        ([negation(is_(X, 1))], (2, 1)),
        ([is_(X, 3)], None),
        ([is_(X, 1), is_(X, 2)], None),
        ([Either((is_(X, 3), is_(Y, 2)))], (1, 2)),
        ([Either((is_(X, 3), is_(Y, 3)))], None),
        ([Either((is_(X, 1), is_(Y, 2))), is_(X, 2)], (2, 2)),
        ([Either((Both((is_(X, 1), is_(Y, 2))), is_(X, 3)))], (1, 2)),
        ([Either((Both((is_(X, 1), is_(Y, 3))), is_(X, 2))), negation(is_(X, 2))], None),
        ([negation(Both((is_(X, 1), is_(Y, 1)))), is_(X, 1)], (1, 2)),
        ([negation(Either((is_(X, 1), is_(Y, 1))))], (2, 2)),
        ([Either((Either((is_(X, 3), is_(Y, 3))), Either((is_(X, 4), is_(Y, 2)))))], (1, 2)),
        ([Either((Either((is_(X, 1, 2), is_(Y, 3))), is_(Y, 4)))], (1, 1)),
    ],
)
def test_a_point_is_found_or_there_is_none(formulas: list[Any], found: tuple[int, int] | None) -> None:
    def lowest(box: Box) -> tuple[int, int]:
        return min(box[X].only), min(box[Y].only)

    if found is None:
        with pytest.raises(Impossible):
            solve(formulas, GIVEN, lowest)
    else:
        assert solve(formulas, GIVEN, lowest) == found


def test_what_is_given_stays_as_it_was() -> None:
    given = dict(GIVEN)
    solve([is_(X, 1), is_(Z, 1)], given, lambda box: None)
    assert given == GIVEN


def test_a_choice_that_holds_anyhow_binds_nothing() -> None:
    choice = Either((is_(X, 1, 2), is_(Z, 1)))
    assert solve([choice], GIVEN, dict) == GIVEN
    assert solve([Either((Both((is_(X, 1, 2), is_(Y, 1, 2))), is_(Z, 1)))], GIVEN, dict) == GIVEN


def test_a_doubt_is_told_only_where_nothing_else_was_found() -> None:
    def doubted(box: Box) -> str:
        if box[X] == choices.only(1):
            raise Unknown("a doubt")
        return "found"

    choice = Either((is_(X, 1), is_(X, 2)))
    assert solve([choice], GIVEN, doubted) == "found"
    with pytest.raises(Unknown, match=r"^a doubt$"):
        solve([choice, is_(X, 1)], GIVEN, doubted)


def test_more_cases_than_the_bound_are_unknown() -> None:
    def refused(box: Box) -> None:
        raise Impossible

    pairs = [Either((is_((f"v{i}",), 1), is_((f"w{i}",), 1))) for i in range(12)]
    with pytest.raises(Unknown, match=r"^more cases than the bound allows$"):
        solve(pairs, {}, refused)
    with pytest.raises(Impossible):
        solve(pairs[:8], {}, refused)


# Effort


def test_the_last_unit_may_be_spent_and_not_one_more() -> None:
    with at_most(10) as meter:
        spend(4)
        spend(6)
        assert meter.left == 0
        with pytest.raises(EffortExhausted, match=r"^it would take more work than the bounds allow$"):
            spend(1)


def test_the_bound_within_a_bound_is_its_own() -> None:
    with at_most(10) as outer:
        with at_most(3) as inner:
            spend(2)
        spend(1)
    assert (outer.left, inner.left) == (9, 1)


def free_paths(*conditions: dict[str, Any]) -> list[tuple[Any, bool]]:
    return [(ruled({"when": each}).stations[0].rules[0].when, True) for each in conditions]


def test_each_free_path_is_tried_with_each_value_that_it_could_want() -> None:
    one = free_paths(output("$.a[*].n", "in", [3, 4]))
    tried = list(guesses(MISSING, one))
    assert tried[0] is MISSING
    assert [each["a"][0]["n"] for each in tried[1:]] == [3, 4, "other"]
    number = [
        each["a"][0]
        for each in guesses(MISSING, free_paths(output("$.a[*]", "gt", 5)))
        if each is not MISSING
    ]
    assert number == [5, 6, 4]
    word = [
        each["a"][0]
        for each in guesses(MISSING, free_paths(output("$.a[*]", "contains", "x")))
        if each is not MISSING
    ]
    assert word == ["x", "other", 1]
    nothing = [
        each["a"][0]
        for each in guesses(MISSING, free_paths(output("$.a[*]", "equals", None)))
        if each is not MISSING
    ]
    assert nothing == ["other", 1, None]


def test_what_is_tried_is_laid_over_the_document_and_over_each_other() -> None:
    free = free_paths(
        output("$.a[*].n", "equals", 1), output("$.a[*].m", "equals", 2), output("$.b", "equals", 3)
    )
    tried = list(guesses({"a": [{"z": 0}], "c": 5}, free[:2]))
    assert {"a": [{"z": 0}, {"n": 1}], "c": 5} in tried
    assert {"a": [{"z": 0}, {"n": 1}, {"m": 2}], "c": 5} in tried
    assert {"a": {"k": 1}} in list(guesses({"a": {"k": 1}}, free[:1]))
    assert list(guesses("a text", free)) == ["a text"]
    assert list(guesses({"a": 1}, [])) == [{"a": 1}]
