"""Failures of a station by their type: a table over ordinary rules (AEEF E16)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse

from pipelines.lines.publishing import create_line
from tests.factories import World, document
from tests.pages.conftest import As, door

pytestmark = pytest.mark.django_db

NAMES = {
    "stations": [{"key": "build", "name": "Build"}, {"key": "test", "name": "Test"}],
    "ends": [{"key": "gone", "kind": "failed"}],
    "rules": ["test-failure", "on"],
}
GAP = {"id": "gap", "when": {"failure_type": ["test gap", "test_gap"]}, "to": "build", "max_retries": 2}
BOTH = {"id": "both", "when": {"all": [{"result": "failure"}, {"failure_type": "flaky"}]}, "to": "test"}
TELLS = {**GAP, "on_exhausted": "escalate", "told": "lead"}

Ask = Callable[..., Any]


@pytest.fixture
def ask(world: World, signed_in: As) -> Ask:
    create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.designer)
    client, address = signed_in(world.designer), door(world, "/draft/forms/failures")

    def asked(*rules: dict[str, Any], **more: Any) -> Any:
        body = {"fragment": {"rules": rules} if rules else {}, "own": "test", "names": NAMES, **more}
        return client.post(address, json.dumps(body), "application/json")

    return asked


def rules(answer: HttpResponse) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(answer.content)["fragment"].get("rules", [])
    return found


def test_E16_a_type_of_failure_is_led_somewhere_by_a_rule_with_a_limit(ask: Ask) -> None:
    added = ask(deed={"do": "add", "rows": "rules"})
    new = {"id": "test-failure-2", "when": {"failure_type": ""}, "to": "build", "max_retries": 3}
    assert rules(added) == [new]
    assert "Is empty" in added.json()["html"]
    typed = {
        "rules[0].when.failure_type": ["test failure"],
        "rules[0].to": ["gone"],
        "rules[0].max_retries": ["1"],
    }
    said = ask(new, typed=typed)
    assert said.status_code == 200
    assert rules(said) == [
        {"id": "test-failure-2", "when": {"failure_type": "test failure"}, "to": "gone", "max_retries": 1}
    ]
    assert "Is empty" not in said.json()["html"]


def test_rules_that_stand_there_are_rows_and_keep_what_they_are_known_by(ask: Ask) -> None:
    html = ask(GAP, BOTH).json()["html"]
    assert "test gap, test_gap → Build, at most 2" in html
    assert "flaky → Test" in html
    typed = {"rules[0].max_retries": ["4"], "rules[1].when.all[1].failure_type": ["flaky, slow"]}
    slow = {"all": [{"result": "failure"}, {"failure_type": ["flaky", "slow"]}]}
    assert rules(ask(GAP, BOTH, typed=typed)) == [{**GAP, "max_retries": 4}, {**BOTH, "when": slow}]
    assert rules(ask(GAP, BOTH, deed={"do": "remove", "rows": "rules", "index": 0})) == [BOTH]


def test_a_label_that_says_the_type_follows_it_and_another_one_stays(ask: Ask) -> None:
    typed = {"rules[0].when.failure_type": ["slow"]}
    one = {"id": "a", "label": "flaky", "when": {"failure_type": "flaky"}, "to": "build"}
    assert rules(ask(one, typed=typed))[0]["label"] == "slow"
    assert rules(ask({**one, "label": "Again"}, typed=typed))[0]["label"] == "Again"


def test_who_is_told_has_it_escalated_and_goes_with_the_escalation(ask: Ask) -> None:
    told = rules(ask(GAP, typed={"rules[0].told": ["lead"]}))
    assert told == [TELLS]
    assert rules(ask(TELLS, typed={"rules[0].told": [""]})) == [{**GAP, "on_exhausted": "escalate"}]
    assert rules(ask(TELLS, typed={"rules[0].on_exhausted": ["stuck"]})) == [{**GAP, "on_exhausted": "stuck"}]


@pytest.mark.parametrize(
    ("rows", "field", "typed", "message"),
    [
        ([GAP], "rules[0].when.failure_type", "", "Names no failure type"),
        ([GAP, BOTH], "rules[1].when.all[1].failure_type", "test gap", "“test gap” has a row already"),
        ([GAP], "rules[0].to", "moon", "The line has no station or end “moon”"),
        ([GAP], "rules[0].max_retries", "often", "Has to be a whole number"),
        ([GAP], "rules[0].on_exhausted", "to:moon", "Cannot be “moon”: the line has no such station or end"),
        ([BOTH], "rules[0].told", "lead", "Nobody can be told where there is no limit"),
        ([TELLS], "rules[0].max_retries", "", "Nobody can be told where there is no limit"),
        ([TELLS], "rules[0].to", "gone", "Nobody is told of a path to an end"),
        ([GAP], "rules[0].told", "x" * 65, "Has to be a text of at most 64 characters"),
    ],
)
def test_a_fault_of_a_row_stands_at_its_field_and_is_not_written(
    ask: Ask, rows: list[dict[str, Any]], field: str, typed: str, message: str
) -> None:
    answer = ask(*rows, typed={field: [typed]})
    said = answer.json()
    assert (answer.status_code, said["refused"]) == (200, [field])
    assert rules(answer) == rows
    assert message in said["html"].partition(f'data-name="{field}"')[2].partition("ef-block")[0]
