"""Plain values: how large one is, which number a text says, and which integer a number is."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines.routing.basics.values import (
    MISSING,
    are_equal,
    exact_number,
    is_less,
    is_number,
    json_number_or_none,
    json_type,
    node_count,
    whole_number_or_none,
)

SIZES = [(None, 1), ("text", 1), ([], 1), ({}, 1), ([1, [2, 3]], 5), ({"a": 1, "b": {"c": [1, {}]}}, 6)]


@pytest.mark.parametrize(("value", "nodes"), SIZES)
def test_a_value_is_as_large_as_its_nodes_are_many(value: Any, nodes: int) -> None:
    assert node_count(value) == nodes


NUMERALS = [
    ("5", 5),
    (" -0.50\n", Decimal("-0.5")),
    ("1e3", 1000),
    ("1E+400", Decimal("1e400")),
    ("05", None),
    ("+5", None),
    (".5", None),
    ("5.", None),
    ("1_000", None),
    ("5 5", None),
    ("", None),
    ("NaN", None),
    ("5\x00", None),
    ("1e99999999999999999999", None),
]


@pytest.mark.parametrize(("text", "number"), NUMERALS)
def test_a_text_says_a_number_where_it_is_a_json_number(text: str, number: Any) -> None:
    assert json_number_or_none(text) == number


WHOLE = [
    (3, 3),
    (3.0, 3),
    (Decimal("3e2"), 300),
    (-1, -1),
    (3.5, None),
    (Decimal("0.5"), None),
    (True, None),
    ("3", None),
    (None, None),
    (Decimal("1e4000"), 10**4000),
    (Decimal("1e4001"), None),
]


@pytest.mark.parametrize(("value", "integer"), WHOLE)
def test_a_whole_number_is_one_however_it_is_written(value: Any, integer: int | None) -> None:
    assert (whole_number_or_none(value), type(whole_number_or_none(value))) == (integer, type(integer))


def test_numbers_of_all_kinds_compare_without_rounding() -> None:
    assert exact_number(0.1) == Decimal("0.1")
    assert are_equal(0.1, Decimal("0.1"))
    assert not are_equal(0.1, Decimal("0.1000000000000000055511151231257827"))
    assert are_equal(2**53 + 1, Decimal(2**53 + 1))
    assert is_less(2**53, Decimal(2**53 + 1))
    assert not is_less(Decimal(1), 1)
    assert not is_less("1", 2)
    assert not is_less(1, True)
    assert [is_number(value) for value in (1, 1.5, Decimal(1), True, "1", None)] == [True] * 3 + [False] * 3


def test_nothing_there_is_not_null_and_counts_as_false() -> None:
    assert not MISSING
    assert MISSING is not None
    kinds = ["null", "boolean", "number", "string", "array", "object"]
    assert [json_type(value) for value in (None, True, 1.5, "", [], {})] == kinds
