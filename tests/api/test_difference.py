"""The difference and the numbers of a line over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.formats import native
from pipelines.models import Line
from tests.api.conftest import Apis
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db

FAILURE = {"result": "failure"}


def with_target(target: str, **more: Any) -> dict[str, Any]:
    rule = {"id": "bad", "when": FAILURE, "to": target, **more}
    return document([station("check", rule), "fix", "ship"], key="app-check")


@pytest.fixture
def line(world: World) -> Line:
    """Version 1 leads failures to fix, version 2, which is live, to ship; the draft ends them."""
    world.line(with_target("fix"))
    return world.line(with_target("ship")).line


def test_it_says_what_goes_elsewhere_between_two_versions(world: World, api: Apis, line: Line) -> None:
    answer = api.as_(world.viewer).get("/lines/app-check/difference?from=1&to=2")
    assert answer.status_code == 200
    said = answer.json()
    (change,) = said["changes"]
    assert said["difference"] == "some"
    assert change["sample"]["situation"] == {"station": "check", "outcome": FAILURE}
    assert (change["sample"]["old"]["to"], change["sample"]["new"]["to"]) == (["fix"], ["ship"])
    assert change["sentence"].endswith("went to fix by rule 1; now they go to ship by rule 1.")


def test_it_proves_that_nothing_does(world: World, api: Apis, line: Line) -> None:
    said = api.as_(world.viewer).get("/lines/app-check/difference?from=2&to=live").json()
    assert said == {"difference": "none", "structure": [], "changes": [], "unknown": []}


def test_live_against_the_draft_is_what_it_compares_unasked(world: World, api: Apis, line: Line) -> None:
    draft = native.dumps(with_target("failed"))
    who = api.as_(world.designer)
    assert who.put(f"/lines/app-check/draft?based_on={line.draft_number}", draft).status_code == 200
    (change,) = who.get("/lines/app-check/difference").json()["changes"]
    assert (change["sample"]["old"]["to"], change["sample"]["new"]["end"]) == (["ship"], "failed")


def test_it_lists_what_differs_with_what_it_affects(world: World, api: Apis, line: Line) -> None:
    (change,) = api.as_(world.viewer).get("/lines/app-check/changes?from=1&to=2").json()
    assert (change["path"], change["old"], change["new"]) == ("stations[check].rules[bad].to", "fix", "ship")
    assert (change["affects"], change["kind"], change["station"]) == ("routing", "rule", "check")
    assert change["sentence"] == "check, rule 1: Target: fix → ship."
    assert api.as_(world.viewer).get("/lines/app-check/changes").json() == [], "live against an equal draft"
    assert api.as_(world.viewer).get("/lines/app-check/changes?to=9").status_code == 404


@pytest.mark.parametrize("wanted", ["9", "x", "-1", "99999999999", "²"])
def test_a_version_that_there_is_not_is_404(world: World, api: Apis, line: Line, wanted: str) -> None:
    answer = api.as_(world.viewer).get(f"/lines/app-check/difference?from={wanted}")
    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("application/problem+json")


def test_a_draft_that_is_no_line_is_refused_with_its_place(world: World, api: Apis, line: Line) -> None:
    who = api.as_(world.designer)
    draft = "key: app-check\ngateline: 1\nstations: 7\n"
    assert who.put(f"/lines/app-check/draft?based_on={line.draft_number}", draft).status_code == 200
    answer = who.get("/lines/app-check/difference")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == "stations"


@pytest.mark.moves
def test_the_numbers_of_a_version(world: World, api: Apis, line: Line) -> None:
    world.report(world.start(line.live), FAILURE)
    said = api.as_(world.viewer).get("/lines/app-check/analytics?version=2").json()
    (rule,) = said["stations"][0]["rules"]
    assert (said["version"], said["tasks"], rule["taken"], rule["share"]) == (2, 1, 1, 1.0)
    before = api.as_(world.viewer).get("/lines/app-check/analytics?version=1").json()
    assert before["stations"][0]["rules"][0]["never"] == {
        "tasks": 0,
        "can": True,
        "witness": {"station": "check", "outcome": FAILURE},
        "killers": [],
        "why": "",
    }


def test_there_are_no_numbers_of_no_version(world: World, api: Apis, line: Line) -> None:
    assert api.as_(world.viewer).get("/lines/app-check/analytics?version=9").status_code == 404
    assert api.as_(world.viewer).get("/lines/app-check/analytics?version=x").status_code == 400
