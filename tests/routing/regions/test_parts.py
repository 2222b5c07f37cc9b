"""The parts that the analysis is made of, each by itself: sets and their borders, formulas, guesses, automata."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines.routing.analysis.satisfiability import cells, choices, numbers, solver, texts
from pipelines.routing.analysis.satisfiability.automata import (
    ContainsAutomaton,
    PrefixAutomaton,
    TextListAutomaton,
    accepted_texts,
    distinguishing_characters,
    search_automaton,
)
from pipelines.routing.analysis.satisfiability.choices import ValueChoice
from pipelines.routing.analysis.satisfiability.evals import EvalSet
from pipelines.routing.analysis.satisfiability.formulas import condition_formula
from pipelines.routing.analysis.satisfiability.numbers import Interval, NumberSet
from pipelines.routing.analysis.satisfiability.solver import IntersectionCache
from pipelines.routing.basics.values import MISSING
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
    held = numbers.comparison_set(op, 5)
    assert tuple(map(held.contains, (4, 5, 6))) == holds
    assert tuple(map(held.complement().contains, (4, 5, 6))) == tuple(not each for each in holds)
    assert held.complement().complement() == held


def test_a_range_has_both_its_ends_and_an_empty_one_nothing() -> None:
    assert [numbers.interval_set(1, 3).contains(n) for n in (0, 1, 2, 3, 4)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert [numbers.interval_set(1, 3).complement().contains(n) for n in (0, 1, 3, 4)] == [
        True,
        False,
        False,
        True,
    ]
    assert numbers.interval_set(2, 2) == numbers.single_number_set(2)
    assert numbers.interval_set(3, 1).is_empty


def test_intervals_that_touch_share_the_point_only_if_both_have_it() -> None:
    def shared(left: str, right: str) -> NumberSet:
        return numbers.comparison_set(left, 2).intersection(numbers.comparison_set(right, 2))

    assert shared("lte", "gte") == numbers.single_number_set(2)
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
    held = numbers.comparison_set(first, low).intersection(numbers.comparison_set(second, high))
    found = list(held.samples())
    assert found
    assert all(map(held.contains, found))


def test_the_simplest_number_is_shown_first() -> None:
    assert next(numbers.ANY.samples()) == 0
    assert next(numbers.comparison_set("gt", 0).samples()) == 1
    assert next(numbers.comparison_set("lt", 0).samples()) == -1
    assert next(numbers.comparison_set("gt", 9).samples()) == 10
    assert next(numbers.comparison_set("lt", -9).samples()) == -10
    assert list(numbers.finite_set([3, 1, 3]).intervals) == [Interval(3, 3), Interval(1, 1)]


# Choices, cells


def test_choices_meet_and_turn_round() -> None:
    some, but = choices.choice_among("a", "b"), ValueChoice(None, frozenset(["b", "c"]))
    assert some.intersection(but) == but.intersection(some) == choices.choice_among("a")
    assert some.complement() == ValueChoice(None, frozenset(["a", "b"]))
    assert some.complement().complement() == some
    assert but.intersection(ValueChoice(None, frozenset(["d"]))) == ValueChoice(None, frozenset("bcd"))
    assert (choices.ANY.is_empty, choices.NONE.is_empty, but.is_empty) == (False, True, False)
    assert [but.contains(each) for each in "abc"] == [True, False, False]


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
    yes, no = cells.true_and_false_cells(op, value)
    expected = [any(type(v) is type(t) and v == t for t in those) for v in VALUES]
    assert [yes.contains(v) for v in VALUES] == expected
    assert [no.contains(v) for v in VALUES] == [not each for each in expected]
    assert yes.intersection(no).is_empty


def test_lists_that_have_and_have_not_a_member_are_none() -> None:
    has, has_not = cells.true_and_false_cells("contains", 1)
    assert has.intersection(has_not).is_empty
    assert not has.intersection(cells.true_and_false_cells("contains", 2)[0]).is_empty
    assert has.intersection(cells.true_and_false_cells("equals", [2])[0]).is_empty
    assert not has.intersection(cells.true_and_false_cells("equals", [1, 2])[0]).is_empty
    assert has_not.intersection(cells.true_and_false_cells("equals", [1, 2])[0]).is_empty


# Evals


def test_an_eval_says_a_number_or_none_at_all() -> None:
    few = EvalSet(within=numbers.interval_set(1, 3))
    others = EvalSet(outside=numbers.interval_set(1, 3))
    assert [few.contains(text) for text in ("1", " 3 ", "2.5", "4", "x")] == [True, True, True, False, False]
    assert [others.contains(text) for text in ("1", " 3 ", "2.5", "4", "x")] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert few.intersection(others).is_empty
    assert not few.is_empty
    assert not others.is_empty
    assert others.contains(others.sample_text())
    assert few.contains(few.sample_text())


def test_evals_that_meet_keep_only_what_both_allow() -> None:
    met = EvalSet(within=numbers.interval_set(1, 3)).intersection(EvalSet(within=numbers.interval_set(3, 5)))
    assert [met.contains(text) for text in ("1", "3", "5")] == [False, True, False]
    listed = EvalSet(texts.text_sets_of_list(frozenset(["2", "9", "x"])).yes)
    assert listed.intersection(EvalSet(within=numbers.interval_set(1, 3))).sample_text() == "2"
    assert listed.intersection(EvalSet(outside=numbers.interval_set(1, 3))).texts.only == {"9", "x"}
    both_out = EvalSet(outside=numbers.single_number_set(1)).intersection(
        EvalSet(outside=numbers.single_number_set(2))
    )
    assert [both_out.contains(text) for text in ("1", "2", "3", "x")] == [False, False, True, True]


def test_a_number_whose_text_is_taken_is_spelled_otherwise() -> None:
    taken = texts.text_sets_of_list(frozenset(["1", "1 ", "1  "])).no
    among = EvalSet(taken, within=numbers.single_number_set(1))
    assert among.sample_text().strip() == "1"
    assert among.sample_text() not in ("1", "1 ", "1  ")


# Texts and automata


def test_texts_are_shown_simplest_first_and_never_one_that_is_left_out() -> None:
    assert list(texts.ANY.samples(4)) == ["other", "", "other 2", "other 3"]
    assert list(texts.text_sets_of_list(frozenset(["other", ""])).no.samples(2)) == ["other 2", "other 3"]
    assert list(texts.text_sets_of_list(frozenset(["bb", "a", "b"])).yes.samples()) == ["a", "b", "bb"]
    assert (
        texts.true_and_false_text_sets("starts_with", "ab")
        .yes.intersection(texts.text_sets_of_list(frozenset(["ab"])).no)
        .contains("abx")
    )


def test_one_letter_stands_for_each_group_that_can_be_told_apart() -> None:
    assert distinguishing_characters([PrefixAutomaton("q")])[:3] == ["x", "a", "q"]
    letters = distinguishing_characters([search_automaton("[b-d]"), PrefixAutomaton("c")])
    assert len(letters) == len(set(letters))
    assert letters[:3] == ["x", "a", "b"]
    assert "c" in letters
    assert "d" in letters
    assert "\0" not in letters
    assert not any("\ud800" <= letter <= "\udfff" for letter in letters)
    assert any(letter >= "\ue000" for letter in letters)


def test_the_last_character_of_all_is_a_letter_like_another() -> None:
    last = "\U0010ffff"
    assert last in distinguishing_characters([PrefixAutomaton(last)])
    assert next(accepted_texts([(PrefixAutomaton(last), True)])) == last
    assert "\x01" in distinguishing_characters([PrefixAutomaton("\x01")])
    assert "\ue000" in distinguishing_characters([PrefixAutomaton("\ue000")])
    assert "\ud7ff" in distinguishing_characters([PrefixAutomaton("\ud7ff")])


@pytest.mark.parametrize(
    ("parts", "shortest"),
    [
        ([(ContainsAutomaton("aab"), True)], "aab"),
        ([(ContainsAutomaton("ab", at_end=True), True), (ContainsAutomaton("ba"), True)], "bab"),
        (
            [
                (ContainsAutomaton("aa", at_end=True), True),
                (ContainsAutomaton("aaa"), False),
                (PrefixAutomaton("b"), True),
            ],
            "baa",
        ),
        ([(TextListAutomaton(frozenset(["", "x", "a"])), False)], "b"),
        ([(TextListAutomaton(frozenset(["ab", "ba"])), True), (PrefixAutomaton("b"), True)], "ba"),
        ([(PrefixAutomaton("ab"), True), (PrefixAutomaton("a"), False)], None),
        (
            [
                (search_automaton("^a*$"), True),
                (ContainsAutomaton("aa"), False),
                (PrefixAutomaton("a"), True),
            ],
            "a",
        ),
    ],
)
def test_the_shortest_text_that_does_all_of_it_comes_first(parts: Any, shortest: str | None) -> None:
    assert next(accepted_texts(parts), None) == shortest


# What the stations of a line share


def test_equal_operands_are_one_literal_and_those_that_only_compare_equal_are_not() -> None:
    one, again, fraction, true = (
        condition_formula(
            ruled({"when": {"output": {"path": "k", "op": "equals", "value": value}}})
            .stations[0]
            .rules[0]
            .when
        )
        for value in (1, 1, 1.0, True)
    )
    assert one is again
    assert one is not fraction
    assert one != true


def test_what_was_met_is_forgotten_beyond_the_bound_and_met_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "MAX_REMEMBERED", 2)
    meets, sets = IntersectionCache(), [numbers.single_number_set(number) for number in range(3)]
    first = meets.intersection(sets[0], numbers.ANY)
    assert meets.intersection(sets[0], numbers.ANY) is first
    assert meets.intersection(sets[1], sets[2]).is_empty
    assert meets.intersection(None, sets[2]).common is sets[2]
    assert meets.intersection(sets[0], numbers.ANY) is not first
    assert meets.intersection(sets[0], numbers.ANY).is_all
