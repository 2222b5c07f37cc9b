"""Impact and migration over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.web.shell import costly_requests
from tests.api.conftest import Apis
from tests.factories import World

pytestmark = pytest.mark.django_db

LINE = "/lines/line"


def renamed(world: World) -> Any:
    task = world.start(world.line(stations=["build", "ship"]))
    world.line(stations=["make", "ship"])
    return task


def test_looking_at_an_impact_takes_its_turn(
    world: World, api: Apis, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed(world)
    monkeypatch.setattr(costly_requests, "_turns", costly_requests.TurnLimiter(at_once=2, budget=1e-9))
    looked = [api.as_(world.designer).get(f"{LINE}/impact?to=2").status_code for _ in range(2)]
    assert looked == [200, 429]


def test_look_confirm_and_undo(world: World, api: Apis) -> None:
    task = renamed(world)
    client = api.as_(world.designer)
    seen = client.get(f"{LINE}/impact?to=2").json()
    assert (seen["counts"]["stuck"], seen["needs_mapping"]) == (1, {"build": 1})
    seen = client.get(f"{LINE}/impact?to=2&map=build:make").json()
    (position,) = seen["tasks"][0]["positions"]
    assert (seen["from_"], position["effect"], position["station"]) == ([1], "moves", "make")
    body = {"to": 2, "digest": seen["digest"], "reason": "Renamed.", "mapping": {"build": "make"}}
    made = client.post(f"{LINE}/migrations", body)
    assert (made.status_code, made.json()["counts"]) == (201, {"migrated": 1})
    assert client.post(f"{LINE}/migrations", body).status_code == 409, "the impact is another by now"
    address = f"{LINE}/migrations/{made.json()['id']}"
    undone = client.post(f"{address}/undo", {"reason": "Back."})
    assert (undone.status_code, undone.json()["counts"]) == (201, {"restored": 1})
    assert client.post(f"{address}/undo", {"reason": "Back."}).status_code == 409
    assert client.get(address).json()["undone_by"] == undone.json()["id"]
    assert len(client.get(f"{LINE}/migrations").json()) == 2
    assert client.post(f"{address}/continue", {}).status_code == 200
    assert world.at(task) == ["build"]


@pytest.mark.parametrize(
    ("query", "status", "path"),
    [
        ("to=9", 404, None),
        ("to=nine", 400, "to"),
        ("to=2&map=build", 400, "map[0]"),
        ("to=2&map=build:completed", 400, "mapping.build"),
        ("to=2&task=WI-nothing", 400, "tasks[0]"),
        ("", 400, "to"),
    ],
)
def test_what_does_not_fit_is_told_at_its_place(
    world: World, api: Apis, query: str, status: int, path: str | None
) -> None:
    renamed(world)
    answer = api.as_(world.designer).get(f"{LINE}/impact?{query}")
    assert answer.status_code == status
    assert path is None or [each["path"] for each in answer.json()["errors"]] == [path]


def test_a_missing_mapping_is_listed_and_nothing_moves(world: World, api: Apis) -> None:
    task = renamed(world)
    client = api.as_(world.designer)
    digest = client.get(f"{LINE}/impact?to=2").json()["digest"]
    answer = client.post(f"{LINE}/migrations", {"to": 2, "digest": digest, "reason": "Renamed."})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (400, "mapping.build")
    assert world.at(task) == ["build"]


def test_a_machine_and_an_operator_may_look_but_not_migrate(world: World, api: Apis) -> None:
    renamed(world)
    body = {"to": 2, "digest": "x", "reason": "Renamed."}
    for client in (api.as_(world.operator), api.machine("read", "design", role="designer")):
        assert client.get(f"{LINE}/impact?to=2").status_code == 200
        assert client.post(f"{LINE}/migrations", body).status_code == 403
