"""The forms of the editor: what is typed is validated where it is typed, and what a form does not know survives it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse

from pipelines.models import Line
from pipelines.publishing import create_line
from tests.factories import World, document
from tests.pages.conftest import As, at

pytestmark = pytest.mark.django_db

STATION = {
    "key": "lint",
    "name": "Lint",
    "work": {"kind": "command", "argv": ["ruff", "check", "Hello {{ input.who }}"], "env": {"A": "b=c"}},
    "limits": {"max_timeout": "1h", "expected": 300},
    "labels": ["python"],
    "extra": {"theirs": [1, {"a": None}]},
}
NAMES = {
    "stations": [{"key": "lint", "name": "Lint"}, {"key": "ship", "name": "Ship"}],
    "gates": [{"key": "look", "name": "Look"}],
    "ends": [],
}


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.designer)


@pytest.fixture
def ask(world: World, signed_in: As, line: Line) -> Any:
    def asked(what: str, fragment: Any, **more: Any) -> HttpResponse:
        body = {"fragment": fragment, "own": "lint", "names": NAMES, **more}
        client = signed_in(world.designer)
        return client.post(at(world, "line-draw-form", "drawn", what), json.dumps(body), "application/json")

    return asked


def test_what_is_typed_is_written_and_the_rest_stays_as_it_was(ask: Any) -> None:
    answer = ask("station", STATION, typed={"limits.expected": ["10m"], "labels": ["python, fast"]})
    assert answer.status_code == 200
    said = answer.json()
    assert said["fragment"] == {
        **STATION,
        "labels": ["python", "fast"],
        "limits": {"max_timeout": "1h", "expected": "10m"},
    }
    assert said["label"] == "Expected time, Labels"


def test_what_the_reader_refuses_stands_in_the_form_with_its_error_and_the_rest_is_taken(ask: Any) -> None:
    answer = ask("station", STATION, typed={"limits.expected": ["soon"], "labels": ["python, fast"]})
    assert answer.status_code == 422
    said = answer.json()
    assert said["refused"] == ["limits.expected"]
    assert said["fragment"] == {**STATION, "labels": ["python", "fast"]}
    assert 'value="soon"' in said["html"]
    assert "A duration is a number of seconds, or a text like 90s, 5m, 2h, 1d" in said["html"]
