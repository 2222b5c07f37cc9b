"""On how many recorded outcomes a condition is true: by the evaluator of `decide`, of this station of this line only,
and what is not known is told as such."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from pipelines.models import Decision
from pipelines.queries import rule_match_counts
from pipelines.queries.rule_match_counts import count_station_matches
from pipelines.routing.analysis.condition_matching import ConditionAnswer, answers_of_tested_rules_or_none
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import read_line
from tests.factories import World, document, station
from tests.pages.conftest import As, door

pytestmark = pytest.mark.django_db

HIGH = {"id": "high", "when": {"output": {"path": "high", "op": "gt", "value": 2}}, "to": "fix"}
OK = {"id": "ok", "when": {"result": "success"}, "to": "ship"}
BAD = {"id": "bad", "when": {"result": "failure"}, "to": "failed"}
ASKS = {"agentic": {"question": "Is it good?"}, "answer": "yes"}


def drawn(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return document(key="drawn", stations=[station("build", *rules), "fix", "ship"], **more)


def outcomes(world: World, *said: dict[str, Any], **more: Any) -> Any:
    version = world.line(drawn(OK, BAD, **more))
    for each in said:
        world.report(world.start(version), each, station="build")
    return version.line


def high(value: int) -> dict[str, Any]:
    return {"result": "success", "output": {"high": value}}


def asked(client: Client, world: World, given: dict[str, Any], key: str = "build") -> Any:
    body = json.dumps({"document": given, "station": key})
    return client.post(door(world, "/draft/matches"), body, content_type="application/json")


def test_each_condition_is_counted_by_itself_with_the_newest_example(world: World, signed_in: As) -> None:
    outcomes(world, *(high(value) for value in range(6)), {"result": "failure"})
    said = asked(signed_in(world.viewer), world, drawn(OK, HIGH, BAD)).json()
    assert (said["outcomes"], said["aside"], said["unread"]) == (7, 0, 0)
    assert {rule: told["matches"] for rule, told in said["rules"].items()} == {"ok": 6, "high": 3, "bad": 1}
    assert {rule: told["takes"] for rule, told in said["rules"].items()} == {"ok": 6, "high": 0, "bad": 1}
    assert said["rules"]["high"]["instead"] == {"ok": 3}
    project = world.project.key
    shown = said["rules"]["high"]["shown"]
    assert [(each["task"], each["run"]) for each in shown] == [(f"WI-{project}-{n}", 1) for n in (6, 5, 4)]
    assert signed_in(world.viewer).get(shown[0]["url"]).status_code == 200
    assert said["rules"]["ok"]["shown"] == []
    assert said["untaken"] == 0
    example = said["rules"]["high"]["example"]
    assert example["task"] == f"WI-{world.project.key}-6"
    assert example["matches"]
    assert example["values"] == [["high is greater than 2", "5"]]
    assert signed_in(world.viewer).get(example["url"]).status_code == 200


def test_a_condition_that_matches_nothing_shows_what_was_there(world: World, signed_in: As) -> None:
    outcomes(world, high(1), high(2))
    told = asked(signed_in(world.viewer), world, drawn(HIGH)).json()["rules"]["high"]
    assert (told["matches"], told["example"]["matches"]) == (0, False)
    assert told["example"]["values"] == [["high is greater than 2", "2"]]


def test_what_is_not_known_and_what_failed_is_told(world: World, signed_in: As) -> None:
    outcomes(world, high(1), {"result": "success", "output_error": "not JSON"})
    given = drawn({"id": "asks", "when": ASKS, "to": "ship"}, HIGH)
    rules = asked(signed_in(world.viewer), world, given).json()["rules"]
    assert (rules["asks"]["unknown"], rules["asks"]["matches"], rules["asks"]["failed"]) == (2, 0, 0)
    assert (rules["high"]["failed"], rules["high"]["matches"]) == (1, 0)
    assert "not JSON" in rules["high"]["why"]


def test_no_outcome_yet(world: World, signed_in: As) -> None:
    outcomes(world)
    said = asked(signed_in(world.viewer), world, drawn(OK)).json()
    assert said["outcomes"] == 0
    assert said["rules"]["ok"] == {
        "matches": 0,
        "takes": 0,
        "instead": {},
        "shown": [],
        "unknown": 0,
        "failed": 0,
        "why": "",
        "example": None,
    }


def test_only_outcomes_of_this_station_of_this_line_count(world: World, signed_in: As) -> None:
    outcomes(world, high(1))
    other = world.line(document(key="other", stations=[station("build", OK), "ship"]))
    world.report(world.start(other), high(9))
    client = signed_in(world.viewer)
    assert asked(client, world, drawn(OK)).json()["outcomes"] == 1
    assert asked(client, world, drawn(OK), "ship").json()["outcomes"] == 0
    assert asked(client, world, drawn(OK), "none").status_code == 404


def test_outcomes_that_come_to_no_rule_are_told_apart(world: World, signed_in: As) -> None:
    """A failure that the policy takes, and a signal; a gate of the station keeps nothing from being counted."""
    abort = {"result": "success", "signals": [{"verdict": "abort"}]}
    outcomes(world, high(1), {"result": "failure"}, abort)
    client = signed_in(world.viewer)
    assert asked(client, world, drawn(OK, BAD)).json()["aside"] == 1
    said = asked(client, world, drawn(OK, BAD, policy={"failure_rules": False})).json()
    assert (said["outcomes"], said["aside"], said["rules"]["bad"]["matches"]) == (1, 2, 0)
    gated = drawn(OK, BAD, gates=[{"key": "look", "name": "A look"}])
    gated["stations"][0]["gate"] = "look"
    assert asked(client, world, gated).json()["outcomes"] == 2


def test_a_faulty_rule_is_left_out_and_a_line_that_cannot_be_read_is_refused(
    world: World, signed_in: As
) -> None:
    outcomes(world, high(1))
    client = signed_in(world.viewer)
    faulty = {"id": "odd", "when": {"sometimes": True}, "to": "ship"}
    assert set(asked(client, world, drawn(faulty, OK)).json()["rules"]) == {"ok"}
    assert asked(client, world, {"stations": 3}).status_code == 400


def test_the_first_rule_that_matches_is_the_one_that_was_taken(world: World) -> None:
    """Beside the decisions themselves: of the rules that match, the first is the one by which the task went."""
    line = outcomes(world, *(high(value) for value in range(5)), {"result": "failure"})
    given = read_line(drawn(HIGH, OK, BAD))
    for stored in Decision.objects.filter(task__line=line, station="build"):
        taken = decide(given, read_situation(stored.situation)).to_dict()["rule"]
        told = answers_of_tested_rules_or_none(given, stored.situation, given.station("build").rules) or []
        first = next(each.rule.id for each in told if each.answer == ConditionAnswer.MATCHES)
        assert first == taken


def test_however_many_outcomes_it_takes_as_many_statements_and_is_bounded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, taken = read_line(drawn(HIGH)), []
    for said in (1, 9):
        line = outcomes(world, *(high(value) for value in range(said)))
        count_station_matches(line, given, "build")
        with CaptureQueriesContext(connection) as seen:
            count_station_matches(line, given, "build")
        taken.append(len(seen))
    assert taken == [2, 2]
    monkeypatch.setattr(rule_match_counts, "OUTCOMES", 4)
    told = count_station_matches(line, given, "build")
    assert (told.outcomes, told.rules["high"].matches) == (4, 4)
    monkeypatch.setattr(rule_match_counts, "TESTS", 3)
    assert count_station_matches(line, given, "build").outcomes == 3
