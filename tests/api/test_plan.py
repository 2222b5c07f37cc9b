"""What publishing a document would do, over HTTP; nothing of it is stored."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.formats import native
from pipelines.models import Line
from tests.api.conftest import Api, Apis
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db
STATEMENTS = 60
"""At most, whatever is planned: two look-ups of lint, the versions, one reading of each 500 decisions and of each 200
running tasks."""


def given(**more: Any) -> dict[str, Any]:
    rules = {"id": "on", "when": {"result": "success"}, "to": "ship", "gates": ["look"]}
    stations = [
        station("build", rules, name="Build"),
        station("ship", {"id": "done", "to": "completed"}, name="Ship"),
    ]
    return {"stations": stations, "gates": [{"key": "look", "name": "Second look"}], **more}


def planned(api: Api, of: dict[str, Any]) -> dict[str, Any]:
    answer = api.client.post(api.base + "/plan", native.dumps(of), "application/yaml", headers=api.headers)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_a_document_that_begins_a_line_has_findings_and_guarantees_alone(world: World, api: Apis) -> None:
    promise = {"id": "p", "never": {"reach": "ship", "without": "look"}}
    found = planned(api.as_(world.viewer), document(**given(guarantees=[promise])))
    assert (found["line"], found["live"], found["changes"], found["impact"]) == ("line", None, None, None)
    assert [(each["id"], each["answer"]) for each in found["guarantees"]] == [("p", "proved")]
    assert Line.objects.count() == 0


def test_what_changes_is_told_with_an_example_and_nothing_is_stored(world: World, api: Apis) -> None:
    version = world.line(**given())
    world.report(world.start(version))
    changed = given()
    del changed["stations"][0]["rules"][0]["gates"]
    changed["guarantees"] = [{"id": "p", "never": {"reach": "ship", "without": "look"}}]
    found = planned(api.as_(world.viewer), document(key=version.line.key, **changed))
    assert (found["live"], found["verdict"]) == (1, "refused")
    [promise] = found["guarantees"]
    assert promise["answer"] == "refuted"
    assert promise["walk"]["steps"]
    assert any(each["sample"] for each in found["difference"]["changes"])
    assert found["backtest"]["decisions"]["gate_newly_skipped"] == 1
    assert found["impact"]["total"] == 1
    stored = Line.objects.get()
    assert (stored.draft_number, stored.versions.count()) == (1, 1)


def test_its_sentences_have_names_and_no_keys(world: World, api: Apis) -> None:
    version = world.line(**given())
    rule = {
        "id": "zq-rule-3",
        "when": {"edge": {"from": "build", "to": "ship", "at_least": 1}},
        "to": "zq_fix_7",
    }
    changed = given(guarantees=[{"id": "p", "never": {"reach": "zq_fix_7", "without": "look"}}])
    dead = {"id": "zq-dead-4", "when": {"result": "failure"}, "to": "zq_fix_7"}
    rules = [{"id": "zq-all-1", "to": "build"}, dead]
    changed["stations"] = [
        station("build", rule, name="Build"),
        changed["stations"][1],
        station("zq_fix_7", *rules, name="Fix"),
    ]
    found = planned(api.as_(world.viewer), document(key=version.line.key, **changed))
    said = [
        *(each[part] for each in found["findings"] for part in ("message", "hint")),
        *(each[part] for each in found["guarantees"] for part in ("sentence", "path", "why")),
        *(each["sentence"] for each in found["changes"]),
        *(
            each["sentence"]
            for part in ("structure", "changes", "unknown")
            for each in found["difference"][part]
        ),
    ]
    assert "Rule 2 of Fix never matches: rule 1 of Fix already takes everything" in said
    assert "Build has a new rule 1: Build → Ship was taken 1 times or more → Fix." in said
    assert "Station Fix is new." in said
    assert not [each for each in said if "zq" in each]


def test_what_is_live_changes_nothing(world: World, api: Apis) -> None:
    version = world.line(**given())
    assert planned(api.as_(world.viewer), document(key=version.line.key, **given()))["verdict"] == "same"


def test_what_cannot_be_read_is_refused_with_its_problems(world: World, api: Apis) -> None:
    found = planned(api.as_(world.viewer), {"key": "line"})
    assert found["verdict"] == "refused"
    assert found["findings"]


def test_it_takes_a_bounded_number_of_statements(world: World, api: Apis) -> None:
    version = world.line(**given())
    for _ in range(3):
        world.start(version)
    asking = api.as_(world.viewer)
    with CaptureQueriesContext(connection) as asked:
        planned(asking, document(key=version.line.key, **given(name="Other")))
    assert len(asked) <= STATEMENTS
