"""Conditions in words for people."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import read_line
from pipelines.routing.sentences.conditions import condition_words
from tests.factories import document, station

SUCCESS, FAILURE = {"result": "success"}, {"result": "failure"}
EITHER = "result is success or result is failure"
HIGH = {"output": {"path": "$.high", "op": "gt", "value": 0}}


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ({"always": True}, "always"),
        (SUCCESS, "result is success"),
        ({"result": ["success", "failure"]}, "result is success or failure"),
        (HIGH, "high is greater than 0"),
        ({"output": {"path": "a", "op": "missing"}}, "a is missing"),
        ({"output": {"path": "$.a[*]", "op": "gte", "value": 2, "of": "count"}}, "the number of a[*] is at least 2"),
        ({"output": {"path": "ok", "op": "equals", "value": True}}, "ok is true"),
        ({"eval": {"op": "range", "value": "1,5"}}, "eval is between 1 and 5"),
        ({"edge": {"from": "a", "to": "b", "at_least": 2}}, "a → b was taken 2 times or more"),
        ({"all": [SUCCESS, HIGH]}, "result is success and high is greater than 0"),
        ({"all": [{"any": [SUCCESS, FAILURE]}, {"not": FAILURE}]}, f"({EITHER}) and not result is failure"),
        ({"not": {"all": [SUCCESS, HIGH]}}, "not (result is success and high is greater than 0)"),
        ({"not": SUCCESS}, "not result is success"),
    ],
)  # fmt: skip
def test_a_condition_reads_as_a_sentence(when: dict[str, Any], words: str) -> None:
    line = read_line(document([station("a", {"id": "r", "when": when, "to": "completed"}), "b"]))
    assert condition_words(line.stations[0].rules[0].when) == words
