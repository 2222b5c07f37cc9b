"""The native format: YAML 1.2 or JSON, strict, every fault with its line and column."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.formats import native
from pipelines.routing.document.line import DocumentError, Problem
from tests.routing.test_reading import FULL

PLAIN = [
    ("on", "on"),
    ("no", "no"),
    ("yes", "yes"),
    ("off", "off"),
    ("12:30", "12:30"),
    ("2024-01-02", "2024-01-02"),
    ("1_000", "1_000"),
    ("true", True),
    ("False", False),
    ("null", None),
    ("~", None),
    ("", None),
    ("5", 5),
    ("+5", 5),
    ("-07", -7),
    ("0x1F", 31),
    ("0o17", 15),
    ("017", 17),
    ("1.5", 1.5),
    (".5", 0.5),
    ("5.", 5.0),
    ("1e3", 1000.0),
    ("'5'", "5"),
    ('"true"', "true"),
    ("!!str 5", "5"),
    ('"\\u00e9"', "é"),
    ("=", "="),
    ("<<", "<<"),
    ("1.2.3", "1.2.3"),
    ("$.a[0]", "$.a[0]"),
    ('"a\x85b\u2028c"', "a\x85b\u2028c"),
    ("a\x85 b", "a\x85 b"),
    ("'\x85\ue000'", "\x85\ue000"),
    ("12345678901234567890", 12345678901234567890),
]


@pytest.mark.parametrize(("text", "value"), PLAIN)
def test_a_scalar_reads_by_the_core_schema_of_yaml_1_2(text: str, value: Any) -> None:
    read = native.loads(f"x: {text}\n")["x"]
    assert (read, type(read)) == (value, type(value))


REFUSED = [
    ("", 1, 1),
    ("- a\n", 1, 1),
    ("5\n", 1, 1),
    ("a: 1\na: 2\n", 2, 1),
    ("a: {b: 1, b: 2}\n", 1, 11),
    ("a: [1\nb: 2\n", 2, 2),
    ("a: .nan\n", 1, 4),
    ("a: -.inf\n", 1, 4),
    ("a: 1e400\n", 1, 4),
    ("a: 0.1000000000000000055511151231257827\n", 1, 4),
    ('a: "x\\0y"\n', 1, 4),
    ('a: "\\ud800"\n', 1, 4),
    ("a: x\x00y\n", 1, 5),
    ("5: x\n", 1, 1),
    ("true: x\n", 1, 1),
    ("[a]: x\n", 1, 1),
    ("a: !thing x\n", 1, 4),
    ("a: !thing {x: 1}\n", 1, 4),
    ("a: *nothing\n", 1, 4),
    ("a: 1\n---\nb: 2\n", 2, 1),
    ("a: " + "[" * 101 + "]" * 101, 1, 103),
    ('{"a": NaN}', None, None),
    ('{"a": 1, "a": 2}', 1, 10),
    ('{"a": 1e400}', 1, 7),
    ('{"a": "\\u0000"}', 1, 7),
    ('{"a": ["\\ud83d"]}', 1, 8),
    ('{"a": [1,\n 2', 2, 3),
    (b"a: \xff\n", 1, 4),
    ("a: " + "x" * (4 * 1024 * 1024), 1, 1),
]


@pytest.mark.parametrize(("text", "line", "column"), REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place(
    text: Any, line: int | None, column: int | None
) -> None:
    with pytest.raises(DocumentError) as caught:
        native.loads(text)
    [problem] = caught.value.problems
    assert (problem.line, problem.column) == (line, column), problem


def test_a_billion_laughs_are_refused() -> None:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    text += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    with pytest.raises(DocumentError, match="more than 50000 values"):
        native.loads(text)


def test_an_alias_repeats_what_was_anchored() -> None:
    read = native.loads("a: &x {n: 1}\nb: *x\n")
    assert read == {"a": {"n": 1}, "b": {"n": 1}}


def test_an_alias_does_not_hide_nesting() -> None:
    text = "a: &x " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*x" + "]" * 60
    with pytest.raises(DocumentError, match="nested deeper than 100"):
        native.loads(text)


def test_json_is_read_as_json() -> None:
    assert native.loads('{"a": "\\ud83d\\ude00", "b": "\\/", "c": 1E2}') == {"a": "😀", "b": "/", "c": 100.0}
    assert native.loads("{a: on, b: [1]}") == {"a": "on", "b": [1]}


def test_exact_numbers_are_kept_where_they_are_asked_for() -> None:
    assert native.loads("a: 1e400\nb: 0.1\n", exact=True) == {"a": Decimal("1e400"), "b": 0.1}
    assert native.loads('{"a": 1e400}', exact=True) == {"a": Decimal("1e400")}
    assert native.loads("a: 123456789012345678901234567890\n") == {"a": 123456789012345678901234567890}


def test_every_problem_of_a_line_has_its_place_in_the_text() -> None:
    text = (
        "key: x\n"
        "preset: alps\n"
        "stations:\n"
        "  - key: a\n"
        "    rules:\n"
        "      - id: r\n"
        "        to: z\n"
        "        when: {output: {path: k, op: bigger, value: 1}}\n"
        "  - {key: b, lable: 1}\n"
    )
    with pytest.raises(DocumentError) as caught:
        native.read_text(text)
    assert [(p.path, p.line, p.column) for p in caught.value.problems] == [
        ("preset", 2, 1),
        ("stations[0].rules[0].when.output.op", 8, 34),
        ("stations[0].rules[0].to", 7, 9),
        ("stations[1].lable", 9, 14),
    ]


def test_a_problem_of_something_missing_stands_at_what_should_hold_it() -> None:
    with pytest.raises(DocumentError) as caught:
        native.read_text("key: x\nstations:\n  - name: A\n")
    assert [(p.path, p.line, p.column) for p in caught.value.problems] == [("stations[0].key", 3, 5)]


def test_places_of_json_documents_are_told_too() -> None:
    with pytest.raises(DocumentError) as caught:
        native.read_text('{"key": "x",\n "stations": [{"key": "a",\n  "odd key": 1}]}')
    assert [(p.path, p.line, p.column) for p in caught.value.problems] == [('stations[0]["odd key"]', 3, 3)]


def test_a_document_written_reads_back() -> None:
    assert native.loads(native.dumps(FULL)) == FULL
    text = native.dumps({"b": 1, "a": "x\ny\n"})
    assert text == "b: 1\na: |\n  x\n  y\n"


texts = st.text(max_size=12) | st.sampled_from(
    [
        "on",
        "1e3",
        "0x1F",
        "~",
        "null",
        "- a",
        "a: b",
        "#x",
        "x #y",
        " x",
        "x ",
        "a\nb",
        "\n",
        "",
        "=",
        "%a",
        "@a",
        "`",
        "\x85",
        "\ufeff",
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(texts, values, max_size=4))
@settings(max_examples=100, deadline=None)
def test_whatever_can_be_stored_reads_back_from_yaml(document: dict[str, Any]) -> None:
    if not _storable(document):
        return
    assert native.loads(native.dumps(document)) == document


def _storable(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" not in value and not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return all(map(_storable, value)) and all(map(_storable, value.values()))
    return all(map(_storable, value)) if isinstance(value, list) else True


def test_json_that_is_no_yaml_is_read_and_its_problems_have_no_place() -> None:
    text = r'{"name": "\ud83d\ude00"}'
    assert native.loads(text) == {"name": "\U0001f600"}
    [problem] = native.problems_with_places(text, [Problem("name", "is no name")])
    assert (problem.message, problem.line) == ("is no name", None)
