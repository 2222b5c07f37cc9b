"""Moving a task by hand over the API (law §17)."""

from __future__ import annotations

import pytest

from tests.api.conftest import Apis
from tests.engine.test_move import PROMISE, gated
from tests.factories import World, station

pytestmark = pytest.mark.django_db


def test_a_move_does_what_its_plan_said(api: Apis, world: World) -> None:
    task = world.start(world.line(stations=["build", "test", "ship"]))
    world.started(task)
    client, path = api.machine("read", "report"), f"/stages/line/tasks/{task.name}/move"
    planned = client.post(f"{path}/plan", {"to": "ship"}).json()
    assert planned == {
        "places": [{"station": "ship", "status": "queued"}],
        "end": "",
        "gates": [],
        "asks": [],
        "closes": [],
        "votes": 0,
        "stops": "build",
        "spent": 0.0,
        "cap": None,
        "breaks": [],
        "why": [],
        "version": world.token(task).version,
    }
    assert world.at(task) == ["build"]
    moved = client.post(path, {"to": "ship"}, key="once")
    assert (moved.status_code, moved.json()["columnId"]) == (200, "ship")
    repeated = client.post(path, {"to": "ship"}, key="once")
    assert repeated.json() == moved.json() and task.events.filter(kind="token.moved").count() == 1


def test_a_position_that_changed_or_is_unclear_moves_nothing(api: Apis, world: World) -> None:
    fork = station("plan", {"id": "fork", "to": ["left", "right"]})
    branches = [station(key, {"id": f"{key}-on", "to": "meet"}) for key in ("left", "right")]
    meet = station("meet", join={"wait_for": ["left", "right"]})
    task = world.start(world.line(stations=[fork, *branches, meet]))
    client, path = api.as_(world.operator), f"/stages/line/tasks/{task.name}/move"
    shown = world.token(task).version
    world.report(task)
    unclear = client.post(path, {"to": "meet"})
    assert unclear.status_code == 400 and "left" in unclear.json()["detail"] + str(unclear.json())
    assert client.post(path, {"station": "left", "to": "right", "version": shown + 7}).status_code == 409
    assert client.post(path, {"station": "left", "to": "right"}).status_code == 200
    assert world.at(task) == ["right", "right"]


def test_what_breaks_is_named_and_confirmed_by_an_administrator(api: Apis, world: World) -> None:
    task = gated(world, guarantees=[PROMISE])
    path, body = f"/stages/line/tasks/{task.name}/move", {"to": "ship", "reason": "Now"}
    operator, admin = api.as_(world.operator), api.as_(world.admin)
    planned = operator.post(f"{path}/plan", body).json()
    assert (planned["breaks"], planned["why"]) == (["reviewed"], ["Nothing reaches ship without Review"])
    assert (planned["closes"], planned["stops"]) == (["review"], "")
    unnamed = admin.post(path, body)
    assert unnamed.status_code == 400 and unnamed.json()["errors"][0]["path"] == "accepts"
    confirmed = {**body, "accepts": ["reviewed"]}
    assert operator.post(path, confirmed).status_code == 403
    assert api.machine("read", "report").post(path, confirmed).status_code == 403
    assert world.status(task) == "awaiting_review"
    assert admin.post(path, confirmed).status_code == 200
    assert world.at(task) == ["ship"]
