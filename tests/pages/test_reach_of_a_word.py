"""Reach of a word that is typed into a form of the editor, answered and saved by one request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.factories import World
from tests.pages.conftest import As, door
from tests.tracing import traced

pytestmark = pytest.mark.django_db
STATEMENTS, FILES, FUNCTIONS, CHANGES = 14, 125, 510, 1_220
STATION: dict[str, Any] = {"key": "build", "name": "Build", "rules": [{"id": "on", "to": "completed"}]}
WORK = {"kind": "agent", "agent": "claude", "prompt": "Build it."}
DOCUMENT = {"gateline": 1, "key": "drawn", "name": "Drawn", "stations": [{**STATION, "work": WORK}]}
NAMES = {"stations": [{"key": "build", "name": "Build", "kind": "agent"}], "rules": ["on"]}


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", DOCUMENT, world.designer)


Type = Callable[[str], HttpResponse]


@pytest.fixture
def type_prompt(world: World, signed_in: As, line: Line) -> Type:
    client = signed_in(world.designer)

    def typed(text: str) -> HttpResponse:
        line.refresh_from_db()
        station = {**STATION, "work": {**WORK, "prompt": text}}
        edit = {
            "document": {**DOCUMENT, "stations": [station]},
            "base": line.draft,
            "based_on": line.draft_number,
        }
        fragment, expected = (
            {k: v for k, v in each.items() if k != "rules"} for each in (*line.draft["stations"], station)
        )
        asked = {"fragment": fragment, "own": "build", "names": NAMES, "typed": {"work.prompt": [text]}}
        body = {**asked, "save": {"expected": expected, "edit": edit}}
        return client.post(door(world, "/draft/forms/station"), json.dumps(body), "application/json")

    return typed


def test_a_word_goes_a_straight_way(type_prompt: Type, line: Line) -> None:
    for text in ("One.", "Two."):
        assert type_prompt(text).status_code == 200
    answers: list[HttpResponse] = []
    trace = traced(lambda: answers.append(type_prompt("Three.")))
    line.refresh_from_db()
    assert line.draft["stations"][0]["work"]["prompt"] == "Three."
    # One of them reads the line for the test.
    assert len(trace.statements) <= STATEMENTS + 1, "\n".join(trace.statements)
    assert len(trace.files) <= FILES, "\n".join(sorted(trace.files))
    assert len(trace.functions) <= FUNCTIONS
    assert trace.changes <= CHANGES
