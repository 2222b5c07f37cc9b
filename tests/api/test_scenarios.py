"""Scenarios over HTTP, on one line with two rules."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from pipelines.formats import native
from pipelines.lines import publishing, scenarios
from pipelines.models import Line
from tests.api.conftest import Apis
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db

AGAIN = {"id": "again", "when": {"result": "failure"}, "to": "build", "max_retries": 1}
ON = {"id": "on", "when": {"result": "success"}, "to": "ship"}
LINE = document(stations=[station("build", AGAIN, ON), station("ship")])
OK = {"outcome": {"result": "success"}}
GOOD = {"key": "good", "name": "good", "steps": [OK], "expect": {"rules": ["on"]}}
BAD = {"key": "bad", "name": "bad", "steps": [OK], "expect": {"path": ["build", "build"]}}


@pytest.fixture
def line(world: World) -> Line:
    return world.line(LINE).line


def put(world: World, line: Line, *documents: dict[str, Any]) -> None:
    for each in documents:
        scenarios.store_scenario(line, each, world.designer, timezone.now())


class TestHttp:
    def test_one_is_put_listed_run_and_deleted(self, world: World, api: Apis, line: Line) -> None:
        client = api.as_(world.designer)
        made = client.put("/lines/line/scenarios/good", json.dumps(GOOD))
        assert (made.status_code, made.json()["source"]) == (200, "written")
        told = client.post("/lines/line/run-scenarios", {"against": "live", "traces": True}).json()
        assert told["holds"]
        assert told["coverage"]["rules"]["taken"] == ["on"]
        assert told["scenarios"][0]["steps"][1]["decision"]["trace"][0]["rule"] == "again"
        listed = client.get("/lines/line/scenarios").json()
        assert listed[0]["runs"]["live"]["holds"] is True
        base = client.base + "/lines/line/scenarios/good"
        assert client.client.delete(base, headers=client.headers).status_code == 204
        assert client.client.delete(base, headers=client.headers).status_code == 404

    def test_a_fault_is_refused_with_its_place(self, world: World, api: Apis, line: Line) -> None:
        client = api.as_(world.designer)
        one = client.put("/lines/line/scenarios/a", json.dumps({"steps": [{"outcom": {}}]}))
        assert (one.status_code, one.json()["errors"][0]["path"]) == (400, "steps[0].outcom")
        other = client.put("/lines/line/scenarios/a", json.dumps({"key": "b"}))
        assert (other.status_code, other.json()["errors"][0]["path"]) == (400, "key")
        several = client.put("/lines/line/scenarios.yaml", "- key: a\n- key: b\n  stps: []\n")
        assert (several.status_code, several.json()["errors"][0]["line"]) == (400, 3)
        assert not line.scenarios.exists()

    def test_a_file_goes_in_and_comes_out(self, world: World, api: Apis, line: Line) -> None:
        client = api.as_(world.designer)
        text = native.dumps({"all": [BAD, GOOD]}).partition("all:")[2]
        assert client.put("/lines/line/scenarios.yaml", text).status_code == 200
        again = client.get("/lines/line/scenarios.yaml")
        assert client.put("/lines/line/scenarios.yaml", again.content.decode()).status_code == 200
        assert line.scenarios.count() == 2

    def test_they_run_against_draft_live_or_a_version(self, world: World, api: Apis, line: Line) -> None:
        put(world, line, GOOD)
        other = document(stations=[station("build", {**ON, "id": "other"}), station("ship")])
        publishing.save_draft(line, other, world.admin, line.draft_number)
        client = api.as_(world.viewer)
        held = {
            against: client.post("/lines/line/run-scenarios", {"against": against}).json()["holds"]
            for against in ("live", "draft", 1)
        }
        assert held == {"live": True, "draft": False, 1: True}
        assert client.post("/lines/line/run-scenarios", {"against": 7}).status_code == 404
        assert client.post("/lines/line/run-scenarios", {"against": True}).status_code == 400
        assert client.post("/lines/line/run-scenarios", {"keys": ["none"]}).status_code == 404

    def test_an_unreadable_draft_is_a_conflict_that_says_why(
        self, world: World, api: Apis, line: Line
    ) -> None:
        publishing.save_draft(line, {"gateline": 1, "key": "line"}, world.admin, line.draft_number)
        answer = api.as_(world.viewer).post("/lines/line/run-scenarios", {"against": "draft"})
        assert answer.status_code == 409
        assert answer.json()["errors"][0]["path"] == "stations"

    def test_too_many_steps_at_once_are_refused(
        self, world: World, api: Apis, line: Line, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(world, line, GOOD, BAD)
        monkeypatch.setattr(scenarios, "MAX_STEPS_AT_ONCE", 1)
        answer = api.as_(world.viewer).post("/lines/line/run-scenarios", {})
        assert answer.status_code == 400
        assert "pipelines.routing simulate" in answer.json()["detail"]

    def test_no_scenarios_do_not_hold(self, world: World, api: Apis, line: Line) -> None:
        told = api.as_(world.viewer).post("/lines/line/run-scenarios", {"against": "live"}).json()
        assert (told["holds"], told["scenarios"], told["coverage"]["percent"]) == (False, [], 0)
        put(world, line, GOOD)
        none = api.as_(world.viewer).post("/lines/line/run-scenarios", {"keys": []}).json()
        assert (none["holds"], none["scenarios"]) == (False, [])

    def test_one_is_generated_for_each_rule(self, world: World, api: Apis, line: Line) -> None:
        made = api.as_(world.designer).post("/lines/line/generate-scenarios", {}).json()
        assert [each["key"] for each in made["scenarios"]] == ["takes-again", "takes-on"]
        assert made["missing"] == []
