"""RFC 9535 paths: the library's parser, our bounded and exact evaluation."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonpath_rfc9535 import JSONPathEnvironment

from pipelines.routing.basics.bounds import MAX_STEPS, EvaluationBudget, EvaluationFailed
from pipelines.routing.document.paths import PathError, compile_path

DATA = {
    "a": [{"n": 1, "s": "x"}, {"n": 2.5, "s": "y", "deep": {"n": 3}}, [1, [2]], "é", None, True],
    "b": {"c": 0, "d": [], "e f": {"n": 4}},
}

CASES = [
    ("$", [DATA]),
    ("$.b.c", [0]),
    ("$['b']['e f'].n", [4]),
    ("$.a[0,1].s", ["x", "y"]),
    ("$.a[-2]", [None]),
    ("$.a[99]", []),
    ("$.a[1::2]", [DATA["a"][1], "é", True]),
    ("$.a[::-1][0]", [1]),
    ("$.a[::0]", []),
    ("$.b.*", [0, [], {"n": 4}]),
    ("$..n", [1, 2.5, 3, 4]),
    ("$..[0]", [{"n": 1, "s": "x"}, 1, 2]),
    ("$.a[?@.n]", [DATA["a"][0], DATA["a"][1]]),
    ("$.a[?!@.n]", [[1, [2]], "é", None, True]),
    ("$.a[?@.n > 1 && @.s == 'y'].n", [2.5]),
    ("$.a[?@.n > 2 || @ == true]", [DATA["a"][1], True]),
    ("$.a[?@.deep.n >= $.a[0].n].s", ["y"]),
    ("$.a[?@ == null]", [None]),
    ("$.a[?@.x == @.y]", list(DATA["a"])),
    ("$.a[?@.x != 1]", list(DATA["a"])),
    ("$.a[?@.s < 'y'].s", ["x"]),
    ("$.a[?length(@) == 2]", [DATA["a"][0], [1, [2]]]),
    ("$.a[?length(@) == 1]", ["é"]),
    ("$.a[?count(@.*) == 3].s", ["y"]),
    ("$.a[?value(@..n) == 1].s", ["x"]),
    ("$[?@.d]", [DATA["b"]]),
    ("$.a[?$.b.c == 0 && @.n == 1].s", ["x"]),
    ("$.a[?@.n == 1 && $.b.c == 0].s", ["x"]),
    ("$.a[?$.b.c == 1 || @.n == 1].s", ["x"]),
    ("$.a[?!($.b.c == 0)]", []),
]


@pytest.mark.parametrize(("path", "nodes"), CASES)
def test_a_path_finds_its_nodes_in_order(path: str, nodes: list[Any]) -> None:
    assert compile_path(path).nodes(DATA, EvaluationBudget()) == nodes


def test_a_name_may_have_any_character_of_the_rfc() -> None:
    assert compile_path("$.😀.☃").nodes({"😀": {"☃": 1}}, EvaluationBudget()) == [1]
    assert compile_path("$.a-b").nodes({"a-b": 1}, EvaluationBudget()) == [1]
    for path in ("$.1a", "$.a b"):
        with pytest.raises(PathError):
            compile_path(path)


REFUSED = [
    "",
    "$a",
    "$.",
    "$ ",
    "$..",
    "$[",
    "$[]",
    "$.a b",
    "$[?]",
    "$[?1]",
    "$[?@.a == 01]",
    "$[?@.a == -]",
    "$[?match(@.a, 'b')]",
    "$[?search(@.a, 'b')]",
    "$[?odd(@.a)]",
    "$[?length(@.*) > 1]",
    "$[?count(1) > 1]",
    "$[?@..a == 1]",
    "$['\\ud800']",
    "$[9007199254740992]",
    "$[?@.a == 1e99999999999999999999]",
    "$" + ".a" * 600,
    "$" + "[?@" * 50 + "]" * 50,
    "$[?" + "!" * 300 + "@.a]",
    "$[?" + "(" * 300 + "@.a" + ")" * 300 + "]",
]


@pytest.mark.parametrize("path", REFUSED)
def test_what_is_no_path_is_refused_when_it_is_read(path: str) -> None:
    with pytest.raises(PathError):
        compile_path(path)


@given(st.text(alphabet="$.[]?@*!&|=<>()'\"\\abu019-,: elncgthv", max_size=30))
@settings(max_examples=100)
def test_any_text_is_a_path_or_is_refused(text: str) -> None:
    try:
        path = compile_path("$" + text)
    except PathError:
        return
    assert isinstance(path.nodes(DATA, EvaluationBudget()), list)


keys = st.sampled_from(["a", "b", "n"])
data = st.recursive(
    st.none() | st.integers(-2, 2) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)
operand = st.sampled_from(["@.a", "@.n", "$.b", "@", "1", "'a'", "null", "length(@)", "count(@.*)", "@[0]"])
comparison = st.builds(
    "{} {} {}".format, operand, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), operand
)
test = st.one_of(
    comparison,
    st.sampled_from(["@.a", "!@.n", "$.b"]),
    st.builds("({}) && {}".format, comparison, comparison),
    st.builds("!({}) || {}".format, comparison, comparison),
)
selector = st.one_of(
    st.sampled_from(["'a'", "'n'", "0", "-1", "*", "1:", "::2", "::-1", "0:2:1"]),
    st.builds("?{}".format, test),
)
segment = st.builds(
    lambda dots, selectors: f"{dots}[{', '.join(selectors)}]",
    st.sampled_from(["", "..", ""]),
    st.lists(selector, min_size=1, max_size=2),
)
query = st.builds(lambda parts: "$" + "".join(parts), st.lists(segment, max_size=3))


@given(query, data)
@settings(max_examples=100, deadline=None)
def test_it_finds_what_the_library_finds(text: str, value: Any) -> None:
    expected = JSONPathEnvironment().find(text, value).values()
    assert compile_path(text).nodes(value, EvaluationBudget()) == expected


@pytest.mark.parametrize("path", ["$..*..*..*..*", "$..[?@..[?@..*]]", "$[*,*][*,*][*,*][*,*][*,*][*,*]"])
def test_an_explosive_path_ends_with_an_error(path: str) -> None:
    value: Any = [0]
    for _ in range(5):
        value = [value] * 6
    steps = EvaluationBudget()
    with pytest.raises(EvaluationFailed, match=str(MAX_STEPS)):
        for _ in range(20):
            compile_path(path).nodes(value, steps)
    assert steps.left < 0


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("$." + "[?" * 60 + "@" + "]" * 60, "not a JSONPath (RFC 9535): "),
        ("$.a[?@ == 01]", "invalid number"),
        ("$.a[?@ == -00]", "invalid number"),
    ],
)
def test_why_a_path_is_refused_is_said(path: str, message: str) -> None:
    with pytest.raises(PathError, match=re.escape(message)):
        compile_path(path)
