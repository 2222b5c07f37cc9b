"""Conditions of JSONLogic mean what its reference says, or the import says that they do not."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import isnan, nan
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.formats.foreign.import_notes import ImportNotes
from pipelines.formats.foreign.vibe_factory.reader import transition_condition_or_none
from pipelines.routing.basics.bounds import EvaluationBudget
from pipelines.routing.document.algebra import ConditionView
from pipelines.routing.document.algebra import condition_holds as true_of
from pipelines.routing.document.document_readers.conditions import read_condition
from pipelines.routing.document.document_readers.reader import Problems


def number(value: Any) -> float:
    """`Number(value)` of JavaScript."""
    if value is None or value is False:
        return 0.0
    if isinstance(value, bool | int | float | Decimal):
        return float(value)
    if isinstance(value, list):
        return number(joined(value))
    if isinstance(value, dict):
        return nan
    text = str(value).strip()
    try:
        return float(text) if text and not text[0].isalpha() and "_" not in text else 0.0 if not text else nan
    except ValueError:
        return nan


def joined(value: Any) -> str:
    """`String(value)` of JavaScript."""
    if isinstance(value, list):
        return ",".join("" if member is None else joined(member) for member in value)
    if isinstance(value, dict):
        return "[object Object]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else str(value)


def strictly(left: Any, right: Any) -> bool:
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return False
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def loosely(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, bool):
        return loosely(int(left), right)
    if isinstance(right, bool):
        return loosely(left, int(right))
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        return False
    if isinstance(left, list | dict):
        return loosely(joined(left), right)
    if isinstance(right, list | dict):
        return loosely(left, joined(right))
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    return number(left) == number(right)


def ordered(sign: str, left: Any, right: Any) -> bool:
    pair = [joined(value) if isinstance(value, list | dict) else value for value in (left, right)]
    a, b = pair if all(isinstance(value, str) for value in pair) else map(number, pair)
    if not isinstance(a, str) and (isnan(a) or isnan(b)):
        return False
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign])


def truthy(value: Any) -> bool:
    return value != [] if isinstance(value, list) else isinstance(value, dict) or bool(value)


def variable(name: Any, data: Any) -> Any:
    for step in str(name).split("."):
        if isinstance(data, dict) and step in data:
            data = data[step]
        elif isinstance(data, list | str) and step.isdecimal() and int(step) < len(data):
            data = data[int(step)]
        elif isinstance(data, list | str) and step == "length":
            data = len(data)
        else:
            return None
    return data


def within(part: Any, held: Any) -> bool:
    if isinstance(held, str) and held:
        return joined(part) in held
    return isinstance(held, list) and any(strictly(part, member) for member in held)


CALLS: dict[str, Callable[..., Any]] = {
    "==": loosely,
    "===": strictly,
    "!=": lambda left, right: not loosely(left, right),
    "!==": lambda left, right: not strictly(left, right),
    "in": within,
    "!": lambda value: not truthy(value),
    "!!": truthy,
}


def reference(rule: Any, data: Any) -> Any:
    """As json-logic-js evaluates what is drawn here."""
    if isinstance(rule, list):
        return [reference(member, data) for member in rule]
    if not isinstance(rule, dict) or len(rule) != 1:
        return rule
    [(sign, asked)] = rule.items()
    members = asked if isinstance(asked, list) else [asked]
    if sign in ("and", "or"):
        value = None
        for member in members:
            value = reference(member, data)
            if truthy(value) is (sign == "or"):
                break
        return value
    values = [reference(member, data) for member in members]
    if sign == "var":
        return variable(values[0], data)
    if sign in ("<", "<=", ">", ">="):
        last = values[2:] if sign in ("<", "<=") else []
        return ordered(sign, *values[:2]) and all(ordered(sign, values[1], value) for value in last)
    return CALLS[sign](*values)


def decided(rule: Any, data: Any) -> tuple[bool, list[str]]:
    """What the line decides of an output, and what its import says is otherwise."""
    import_notes, problems = ImportNotes(), Problems()
    when = transition_condition_or_none(rule, "when", import_notes)
    assert when is not None, import_notes.faults
    made = read_condition(when, "when", problems, ())
    assert not problems.found, problems.found
    view = ConditionView("success", "pass", "", None, data, False, {}, {}, EvaluationBudget())
    return true_of(made, view), [str(loss.message) for loss in import_notes.losses]


@pytest.mark.parametrize(
    ("rule", "output", "taken"),
    [
        ({"===": [{"var": "n"}, None]}, {}, True),
        ({"===": [{"var": "n"}, None]}, {"n": None}, True),
        ({"===": [{"var": "n"}, None]}, {"n": 0}, False),
        ({"!==": [{"var": "n"}, None]}, {}, False),
        ({"!==": [{"var": "n"}, 3]}, {}, True),
        ({"!==": [3, {"var": "n"}]}, {"n": 3}, False),
        ({"===": [{"var": "a.b"}, 1]}, {"a.b": 1}, False),
        ({"===": [{"var": "a.b"}, 1]}, {"a": {"b": 1}}, True),
        ({"===": [{"var": "$ok"}, 1]}, {"$ok": 1}, True),
        ({"===": [{"var": "$.a"}, 1]}, {"a": 1, "$": {"a": 2}}, False),
        ({"===": [{"var": "it's \"x\""}, 1]}, {"it's \"x\"": 1}, True),
        ({"in": [{"var": "n"}, [None, 1]]}, {}, True),
        ({"!": {"var": "n"}}, {"n": []}, True),
        ({"!!": [{"var": ["n"]}]}, {"n": {}}, True),
        ({"var": "n"}, {"n": "0"}, True),
        ({"!": {"var": "n"}}, {}, True),
    ],
)  # fmt: skip
def test_C28_json_logic_is_exact(rule: Any, output: Any, taken: bool) -> None:
    assert decided(rule, output) == (taken, [])
    assert truthy(reference(rule, output)) is taken


@pytest.mark.parametrize(
    ("rule", "output", "said"),
    [
        ({"==": [{"var": "n"}, 3]}, {"n": "3"}, "compare strictly here"),
        ({"!=": [{"var": "n"}, True]}, {"n": 1}, "compare strictly here"),
        ({"==": [{"var": "n"}, "a"]}, {"n": ["a"]}, "compare strictly here"),
        ({"==": [{"var": "n"}, None]}, {"n": 0}, "nothing is not 0"),
        ({"<": [{"var": "n"}, 5]}, {}, "only numbers have an order"),
        ({">=": [{"var": "n"}, 5]}, {"n": "7"}, "only numbers have an order"),
        ({"<": [{"var": "day"}, "2025-06-01"]}, {"day": "2025-01-01"}, "cannot be said"),
        ({"===": [{"var": "a.length"}, 2]}, {"a": [1, 2]}, "length of texts and lists"),
        ({"===": [{"var": "a.0"}, "x"]}, {"a": "xyz"}, "does not look into texts"),
        ({"===": [{"var": "n"}, [1]]}, {"n": [1]}, "cannot be said"),
        ({"===": [{"var": ["n", 3]}, 3]}, {}, "cannot be said"),
        ({"not": [{"var": "n"}]}, {}, "cannot be said"),
        ({"in": [{"var": "n"}, [10**16]]}, {"n": 10**16 + 1}, "cannot be said"),
        ({"var": "constructor"}, {}, "that nobody gave it"),
        ({"!": {"var": "a.toString"}}, {"a": 1}, "that nobody gave it"),
    ],
)
def test_C28_what_json_logic_decides_otherwise_is_told(rule: Any, output: Any, said: str) -> None:
    _taken, losses = decided(rule, output)
    assert any(said in loss for loss in losses), losses


def test_C28_a_place_of_a_list_is_read() -> None:
    rule = {"===": [{"var": "a.0"}, "x"]}
    assert decided(rule, {"a": ["x"]})[0] and decided(rule, {"a": {"0": "x"}})[0]
    assert not decided(rule, {"a": ["y", "x"]})[0]


NAMES = st.sampled_from(["a", "b", "a.b", "a.0", "a.length", "$a", "b c", "0", "a..b"])
LEAVES = st.sampled_from([None, True, False, 0, 1, 3, -2, 1.5, "", "a", "ab", "3", "0", " 3 ", "1.0", "x,y"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
DATA = VALUES | st.dictionaries(st.sampled_from(["a", "b", "a.b", "$a", "b c", "0"]), VALUES, max_size=4)
VARIABLES = NAMES.map(lambda name: {"var": name}) | NAMES.map(lambda name: {"var": [name]})
COMPARED = st.one_of(
    *(
        st.tuples(VARIABLES, VALUES).flatmap(lambda pair: st.permutations(list(pair))).map(lambda p, s=sign: {s: p})
        for sign in ("==", "===", "!=", "!==", "<", "<=", ">", ">=", "in")
    ),
    st.tuples(LEAVES, VARIABLES, LEAVES).map(lambda three: {"<=": list(three)}),
    VARIABLES,
)  # fmt: skip
RULES = st.recursive(
    COMPARED,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"and": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"or": parts}),
        inner.map(lambda part: {"!": part}),
        inner.map(lambda part: {"!!": [part]}),
    ),
    max_leaves=4,
)


def agrees(rule: Any, data: Any) -> None:
    taken, losses = decided(rule, data)
    if not losses:
        assert taken is truthy(reference(rule, data))


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(RULES, DATA)
def test_C28_nothing_is_decided_otherwise_in_silence(rule: Any, data: Any) -> None:
    agrees(rule, data)


@pytest.mark.soak
@settings(max_examples=50_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(RULES, DATA)
def test_C28_nothing_is_ever_decided_otherwise_in_silence(rule: Any, data: Any) -> None:
    agrees(rule, data)
