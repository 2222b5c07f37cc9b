"""Scenarios over HTTP and from the command line, on one line with two rules."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
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
        scenarios.put(line, each, world.designer, timezone.now())


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
        assert "run_scenarios" in answer.json()["detail"]

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


class TestCommand:
    def test_all_hold(self, world: World, line: Line) -> None:
        put(world, line, GOOD)
        assert "1 of 1 scenarios hold." in run(name(line))
        assert line.scenarios.get().runs["live"]["holds"] is True

    def test_one_that_fails_is_exit_code_1_and_told(self, world: World, line: Line) -> None:
        put(world, line, GOOD, BAD)
        out = io.StringIO()
        with pytest.raises(CommandError) as refused:
            call_command("run_scenarios", name(line), stdout=out)
        assert refused.value.returncode == 1
        assert "step 1: station 2: expected build, got ship" in out.getvalue()

    def test_too_little_coverage_is_exit_code_1(self, world: World, line: Line) -> None:
        put(world, line, GOOD)
        with pytest.raises(CommandError, match=r"50.0% of the rules are taken, fewer than 60%") as refused:
            run(name(line), "--min-coverage", "60")
        assert refused.value.returncode == 1

    def test_what_cannot_be_used_is_exit_code_2(self, world: World, line: Line, tmp_path: Path) -> None:
        bad = tmp_path / "bad.yaml"
        bad.write_text("- {key: a, stps: []}")
        for arguments in (
            ["acme/none/none"],
            [name(line)],  # no scenarios yet
            [name(line), "--version", "9"],
            [name(line), "--version", "nine"],
            [name(line), "--scenarios", str(bad)],
            [name(line), "--scenarios", str(tmp_path / "none.yaml")],
            [str(bad)],
        ):
            with pytest.raises(CommandError) as refused:
                run(*arguments)
            assert refused.value.returncode == 2, arguments

    def test_no_scenarios_do_not_hold(self, world: World, line: Line, tmp_path: Path) -> None:
        empty = tmp_path / "empty.yaml"
        empty.write_text("[]")
        for arguments in ([name(line)], [name(line), "--json"], [name(line), "--scenarios", str(empty)]):
            out = io.StringIO()
            with pytest.raises(CommandError, match="there are no scenarios; make some") as refused:
                call_command("run_scenarios", *arguments, stdout=out)
            assert (refused.value.returncode, out.getvalue()) == (2, ""), arguments

    def test_line_and_scenarios_live_in_files(self, tmp_path: Path) -> None:
        there, tests = tmp_path / "line.yaml", tmp_path / "tests.yaml"
        there.write_text(native.dumps(LINE))
        tests.write_text(run(str(there), "--generate"))
        told = json.loads(run(str(there), "--scenarios", str(tests), "--json", "--min-coverage", "100"))
        assert (told["holds"], told["coverage"]["percent"]) == (True, 100)

    def test_version_and_draft_are_told_apart(self, world: World, line: Line) -> None:
        put(world, line, GOOD)
        assert json.loads(run(name(line), "--version", "1", "--json"))["line"] == "line v1"
        assert json.loads(run(name(line), "--draft", "--json"))["line"] == "line draft 1"


def name(line: Line) -> str:
    return f"{line.project.owner.key}/{line.project.key}/{line.key}"


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("run_scenarios", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()
