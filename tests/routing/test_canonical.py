"""Canonical JSON (RFC 8785) and the hash of a document."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.routing.basics import jsontext
from pipelines.routing.document.line import CanonicalError, canonical_digest, canonical_json

RFC = [
    ({"b": 1, "a": [True, None, "é"]}, '{"a":[true,null,"é"],"b":1}'),
    (
        {"numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27]},
        '{"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}',
    ),
    ([1.0, -0.0, 100.0, 1e21, 1e-7], "[1,0,100,1e+21,1e-7]"),
    ({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "ö": 7}, None),
    ([], "[]"),
    ({}, "{}"),
    ('a\n"\\\x1f', '"a\\n\\"\\\\\\u001f"'),
]


@pytest.mark.parametrize(("value", "text"), RFC)
def test_it_writes_what_the_rfc_says(value: Any, text: str | None) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)
    if text is not None:
        assert canonical_json(value).decode() == text


WIDE = [
    (2**53 - 1, "9007199254740991"),
    (2**53 + 1, "9007199254740993"),
    (-(2**60), "-1152921504606846976"),
    (10**23, "1e+23"),
    (Decimal("1e400"), "1e+400"),
    (Decimal("-12.50e500"), "-125e+499"),
    (Decimal("0.1"), "0.1"),
    (Decimal("0.10000000000000000001"), "10000000000000000001e-20"),
    (12345678901234567890123, "12345678901234567890123"),
    (Decimal(2**53), "9007199254740992"),
]


@pytest.mark.parametrize(("number", "text"), WIDE)
def test_a_number_that_no_double_holds_is_written_exactly(number: Any, text: str) -> None:
    assert canonical_json(number).decode() == text
    assert canonical_json({"z": number, "a": 1}).decode() == f'{{"a":1,"z":{text}}}'


SAME = [(1, 1.0), (1, Decimal("1.00")), (10**23, 1e23), (Decimal("1e400"), Decimal("10e399")), (0, -0.0)]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_numbers_have_one_hash(one: Any, other: Any) -> None:
    assert canonical_digest([one]) == canonical_digest([other])


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "\ud800", {"\udfff": 1}, {1: 2}, {"a": object()}]
)
def test_what_is_not_json_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(CanonicalError):
        canonical_json(value)
    with pytest.raises(CanonicalError):
        canonical_json([value, 10**30 + 1])


def test_the_order_of_keys_does_not_change_the_hash_and_the_order_of_lists_does() -> None:
    assert canonical_digest({"a": 1, "b": 2}) == canonical_digest({"b": 2, "a": 1})
    assert canonical_digest([1, 2]) != canonical_digest([2, 1])
    assert len(canonical_digest({})) == 64


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(plain)
@settings(max_examples=100)
def test_the_canonical_form_reads_back_and_stays_what_it_is(value: Any) -> None:
    try:
        bytes_ = canonical_json(value)
    except CanonicalError:  # a lone surrogate
        return
    assert canonical_json(jsontext.loads(bytes_.decode())) == bytes_


@given(plain)
@settings(max_examples=100)
def test_json_text_reads_back_to_equal_values(value: Any) -> None:
    text = jsontext.dumps(value)
    assert jsontext.loads(text) == value == json.loads(text)


def test_json_text_keeps_every_digit() -> None:
    for text in (
        "1e400",
        "0.1",
        "1.0",
        "123456789012345678901234567890",
        "0.30000000000000000000002",
        "9" * 6000,
    ):
        assert Decimal(jsontext.dumps(jsontext.loads(text))) == Decimal(text)


WRITTEN = [
    (
        {"a": Decimal("1e400"), "b": [1, Decimal("0.10"), {}], "é": "\u2028"},
        '{"a": 1E+400, "b": [1, 0.10, {}], "\\u00e9": "\\u2028"}',
    ),
    ([Decimal("2.5"), [None, True], "x"], '[2.5, [null, true], "x"]'),
    ((Decimal("2.5"), 1), "[2.5, 1]"),
    ({"a": 1, "b": [1, 2]}, '{"a": 1, "b": [1, 2]}'),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN)
def test_json_text_is_written_on_one_line_in_ascii(value: Any, text: str) -> None:
    assert jsontext.dumps(value) == text


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": Decimal(1), "b": float("nan")}])
def test_what_json_does_not_know_is_not_written(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        jsontext.dumps(value)


NOT_JSON = [
    ("NaN", "NaN is not JSON", None),
    ('{"a":1,"b":{"c":1,"d":2,"c":3}}', 'the key "c" appears twice in one object', None),
    ("1e99999999999999999999", "the exponent of 1e99999999999999999999 is out of range", None),
    ('{\n "a": }', "line 2, column 7: Expecting value", (2, 7)),
    ("[" * 10**6, "nested too deeply", None),
]


@pytest.mark.parametrize(("text", "told", "place"), NOT_JSON)
def test_text_that_is_not_json_says_why_and_where(
    text: str, told: str, place: tuple[int, int] | None
) -> None:
    with pytest.raises(jsontext.JsonTextError) as caught:
        jsontext.loads(text)
    assert str(caught.value) == told
    assert (caught.value.line, caught.value.column) == (place or (None, None))
    assert told.endswith(caught.value.message)


def test_a_number_becomes_a_float_only_where_that_says_the_same() -> None:
    kinds = {
        text: type(jsontext.loads(text)) for text in ("1", "-7", "0.1", "1e400", "0.1000000000000000000001")
    }
    assert list(kinds.values()) == [int, int, float, Decimal, Decimal]
    assert type(jsontext.parse_number("9" * jsontext.MAX_INT_DIGITS)) is int
    assert type(jsontext.parse_number("9" * (jsontext.MAX_INT_DIGITS + 1))) is Decimal
    assert (jsontext.is_double(Decimal("0.1")), jsontext.is_double(Decimal("1e400"))) == (True, False)


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", '{"a":1,"a":2}', "", "01", "1e99999999999999999999", "[" * 10**6]
)
def test_what_is_not_json_text_is_refused(text: str) -> None:
    with pytest.raises(jsontext.JsonTextError):
        jsontext.loads(text)
