"""The writer of JSON: numbers keep every digit and stay numbers, in the layouts of `json.dumps`."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.routing.basics import jsontext

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)


@given(VALUES, st.sampled_from([None, 1, 2]), st.booleans(), st.booleans())
def test_it_writes_as_the_standard_library(
    value: Any, indent: int | None, ascii_only: bool, sort: bool
) -> None:
    expected = json.dumps([value], indent=indent, ensure_ascii=ascii_only, sort_keys=sort)
    assert jsontext.dumps([value], indent=indent, ascii_only=ascii_only, sort_keys=sort) == expected
    # The same layout by our own writer, which a decimal needs.
    text = jsontext.dumps([value, Decimal("0.5")], indent=indent, ascii_only=ascii_only, sort_keys=sort)
    assert text == json.dumps([value, 0.5], indent=indent, ensure_ascii=ascii_only, sort_keys=sort)


@pytest.mark.parametrize(
    "digits", ["0.5", "1E+400", "0.1000000000000000055511151231257827", "12345678901234567890.5"]
)
def test_it_writes_a_decimal_as_the_number_that_it_is(digits: str) -> None:
    text = jsontext.dumps({"n": [Decimal(digits)]})
    assert text == f'{{"n": [{digits}]}}'
    (number,) = jsontext.loads(text)["n"]
    assert Decimal(str(number)) == Decimal(digits)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("Infinity")])
def test_it_refuses_what_is_no_number_of_json(value: object) -> None:
    with pytest.raises(ValueError, match=r"JSON|Out of range"):
        jsontext.dumps([value, Decimal(1)])
