"""What a trace shows of a value: whole when small, cut when not, at the same place every time."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.operand_trace import ObservedOperand, shorten_value

SHOWN = [
    ("x" * 200, "x" * 200),
    ("x" * 201, "x" * 200 + "…"),
    (list(range(10)), list(range(10))),
    (list(range(12)), [*range(10), "… 2 more"]),
    ([[[1]]], [[[1]]]),
    ([[[[1]]]], [[["[…]"]]]),
    ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 1}}}),
    ({"a": {"b": {"c": {"d": 1}}}}, {"a": {"b": {"c": "{…}"}}}),
    ({"a": [{"b": []}]}, {"a": [{"b": "[…]"}]}),
    ({str(i): i for i in range(10)}, {str(i): i for i in range(10)}),
    ({str(i): i for i in range(13)}, {**{str(i): i for i in range(10)}, "…": "3 more"}),
    ({"k" * 201: None}, {"k" * 200 + "…": None}),
    (["x" * 201, {"y": "x" * 201}], ["x" * 200 + "…", {"y": "x" * 200 + "…"}]),
    (None, None),
    (0.5, 0.5),
]


@pytest.mark.parametrize(("value", "seen"), SHOWN)
def test_a_value_is_shown_whole_or_cut(value: Any, seen: Any) -> None:
    assert shorten_value(value) == seen


def test_an_operand_is_shown_with_its_path_and_an_output_with_its_nodes() -> None:
    assert ObservedOperand("eval", "ok").to_dict() == {"operand": "eval", "value": "ok"}
    assert ObservedOperand("edge", 2, "a->b").to_dict() == {"operand": "edge", "path": "a->b", "value": 2}
    assert ObservedOperand("output", [1], "$.n").to_dict() == {
        "operand": "output",
        "path": "$.n",
        "nodes": [1],
    }
