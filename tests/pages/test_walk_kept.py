"""Tests of a line beside its canvas: a walk is kept as a scenario, all are run against what is drawn, one is generated
for each rule."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.utils import timezone

from pipelines.lines import scenarios
from pipelines.models import Line, Scenario
from tests.factories import World, document, station
from tests.pages.conftest import As, at, door
from tests.pages.test_walk import APPROVE, DOCUMENT, FAILURE, SUCCESS, line

pytestmark = pytest.mark.django_db
__all__ = ["line"]
ENDS = {
    each: f"/draft/scenarios{end}"
    for each, end in {"keep": "", "run": "/run", "generate": "/generate"}.items()
}


@pytest.fixture
def ask(world: World, signed_in: As, line: Line) -> Any:
    client = signed_in(world.designer)

    def sent(what: str, **body: Any) -> HttpResponse:
        said = json.dumps({"document": DOCUMENT, **body})
        return client.post(door(world, ENDS[what]), said, content_type="application/json")

    return sent


def test_a_walk_is_kept_with_what_it_showed_and_holds(ask: Any, line: Line) -> None:
    steps = [FAILURE, SUCCESS, APPROVE]
    kept = ask("keep", name="Second time lucky", steps=steps).json()
    assert kept["key"] == "second-time-lucky"
    stored = line.scenarios.get()
    assert stored.document["steps"] == steps
    assert stored.document["expect"] == {
        "path": ["build", "build", "ship"],
        "rules": ["again", "on"],
        "status": "queued",
    }
    assert scenarios.run_stored_scenarios(line, "draft", now=timezone.now()).failed_count == 0


def test_a_second_walk_of_that_name_is_another_one_and_a_key_replaces(ask: Any, line: Line) -> None:
    ask("keep", name="Once", steps=[SUCCESS])
    assert ask("keep", name="Once", steps=[FAILURE]).json()["key"] == "once-2"
    ask("keep", name="Once more", key="once", steps=[FAILURE])
    assert line.scenarios.get(key="once").name == "Once more"
    assert line.scenarios.count() == 2


def test_a_walk_that_does_not_reach_its_last_step_is_not_kept(ask: Any) -> None:
    answer = ask("keep", name="Wrong", steps=[SUCCESS, FAILURE])
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == "steps[1]"
    assert not Scenario.objects.exists()


def test_all_are_run_against_what_is_drawn_stored_or_not(ask: Any, line: Line) -> None:
    ask("keep", name="Once", steps=[SUCCESS])
    ran = ask("run").json()
    assert ran["failed"] == 0
    assert ran["coverage"]["rules"] == {"again": "tested", "high": "tested", "on": "tested", "dead": "never"}
    other = document(key="drawn", stations=[station("build", {"id": "all", "to": "failed"})])
    ran = ask("run", document=other).json()
    assert ran["failed"] == 1
    assert "expected" in ran["scenarios"][0]["run"]["failures"][0]
    # What was only drawn leaves no mark on the stored draft's last run.
    assert scenarios.last_run_against_or_none(line.scenarios.get(), "draft", line.draft_number).holds  # type: ignore[union-attr]


def test_one_is_generated_for_each_live_rule_and_covers_it(ask: Any) -> None:
    made = ask("generate").json()
    assert made["made"] == 3
    assert [(each["rule"], each["kind"]) for each in made["missing"]] == [("dead", "never")]
    assert not made["stopped"]
    assert made["coverage"]["rules"] == {"again": "taken", "high": "taken", "on": "taken", "dead": "never"}
    assert made["coverage"]["percent"] == 75.0


def test_generating_that_takes_too_long_stops_and_says_so(
    ask: Any, monkeypatch: pytest.MonkeyPatch, world: World, signed_in: As
) -> None:
    monkeypatch.setattr(scenarios, "condition_until_generating_time_ends", lambda: lambda: False)
    made = ask("generate").json()
    assert made["stopped"]
    assert made["made"] == 0
    assert "the time for it was over" in made["missing"][0]["why"]
    page = signed_in(world.designer).post(at(world, "line-tests-generate", "drawn"), {"against": "draft"})
    assert "this page searches for ten seconds" in page.content.decode()


def test_a_test_is_deleted_and_a_strange_one_is_not_there(ask: Any, world: World, signed_in: As) -> None:
    ask("keep", name="Once", steps=[SUCCESS])
    client = signed_in(world.designer)
    assert client.delete(door(world, "/scenarios/twice")).status_code == 404
    assert client.delete(door(world, "/scenarios/a%00b")).status_code in (400, 404)
    assert client.delete(door(world, "/scenarios/once")).status_code == 204
    assert client.get(door(world, "/draft/scenarios")).json()["scenarios"] == []


@pytest.mark.parametrize("what", ["run", "generate", "keep"])
def test_a_document_that_is_no_line_has_its_problems(ask: Any, what: str) -> None:
    walk = {"name": "Once", "steps": []} if what == "keep" else {}
    answer = ask(what, document={"stations": []}, **walk)
    assert answer.status_code == 409
    assert answer.json()["errors"]


@pytest.mark.parametrize("what", ["run", "generate", "keep"])
@pytest.mark.parametrize("body", [b"", b"\xff", "[]", '{"document": 3}', '{"document": {"a": "\\u0000"}}'])
def test_whatever_is_sent_is_answered(world: World, signed_in: As, line: Line, what: str, body: Any) -> None:
    client = signed_in(world.designer)
    answer = client.post(door(world, ENDS[what]), body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["detail"]
