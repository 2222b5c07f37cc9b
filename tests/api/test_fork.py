"""Forking a task over the API (law §17)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.models import Task
from tests.api.conftest import Apis
from tests.engine.test_fork import PROMISE, fork, forked_line, shipping
from tests.factories import World

pytestmark = pytest.mark.django_db


def test_a_fork_does_what_its_plan_said(api: Apis, world: World) -> None:
    task = shipping(world)
    client, path = api.machine("read", "report"), f"/stages/line/tasks/{task.name}/fork"
    planned = client.post(f"{path}/plan", {"at": task.seq}).json()
    token = world.token(task)
    assert planned.pop("moment")
    assert planned == {
        "at": task.seq,
        "position": token.pk,
        "station": "ship",
        "status": "queued",
        "positions": [{"position": token.pk, "station": "ship"}],
        "alone": False,
        "commit": "",
        "tree": "",
        "files": 0,
        "asks": ["completed"],
        "cap": None,
        "breaks": [],
        "why": [],
    }
    assert Task.objects.count() == 1
    made = client.post(path, {"at": task.seq, "reason": "Another way"}, key="once")
    assert made.status_code == 200
    said = made.json()
    assert (said["follows"], said["forkEvent"], said["columnId"]) == (task.name, task.seq, "ship")
    assert client.post(path, {"at": task.seq, "reason": "Another way"}, key="once").json() == said
    assert Task.objects.filter(follows=task).count() == 1
    first = client.post(path, {"at": 1}).json()
    assert (first["columnId"], first["context"]) == ("build", {})


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"at": 999}, "at"),
        ({"position": 999_999_999}, "position"),
        ({"station": "nowhere"}, "station"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(
    api: Apis, world: World, body: dict[str, Any], path: str
) -> None:
    task = shipping(world)
    for door in ("fork", "fork/plan"):
        refused = api.as_(world.operator).post(f"/stages/line/tasks/{task.name}/{door}", body)
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["path"] == path
    assert Task.objects.count() == 1


@pytest.mark.parametrize("body", [{"at": 0}, {"at": "x"}, {"at": 2**40}, {"position": 2**70}, {"odd": 1}])
def test_what_cannot_be_read_is_refused(api: Apis, world: World, body: dict[str, Any]) -> None:
    task = shipping(world)
    answer = api.as_(world.operator).post(f"/stages/line/tasks/{task.name}/fork", body)
    assert answer.status_code in (400, 422)
    assert Task.objects.count() == 1


def test_branches_are_listed_and_one_is_named(api: Apis, world: World) -> None:
    task = world.start(forked_line(world))
    world.report(task)
    client, path = api.as_(world.operator), f"/stages/line/tasks/{task.name}/fork"
    unclear = client.post(path, {})
    assert unclear.status_code == 400
    assert "left" in str(unclear.json())
    right = world.token(task, "right").pk
    planned = client.post(f"{path}/plan", {"position": right}).json()
    assert (planned["alone"], planned["station"], len(planned["positions"])) == (True, "right", 2)
    assert client.post(path, {"position": right}).json()["columnId"] == "right"


def test_what_breaks_is_confirmed_by_an_administrator(api: Apis, world: World) -> None:
    task = shipping(world, guarantees=[PROMISE])
    path, body = f"/stages/line/tasks/{task.name}/fork", {"reason": "Now"}
    operator, admin = api.as_(world.operator), api.as_(world.admin)
    assert operator.post(f"{path}/plan", body).json()["breaks"] == ["looked"]
    unnamed = admin.post(path, body)
    assert (unnamed.status_code, unnamed.json()["errors"][0]["path"]) == (400, "accepts")
    confirmed = {**body, "accepts": ["looked"]}
    assert operator.post(path, confirmed).status_code == 403
    assert api.machine("read", "report").post(path, confirmed).status_code == 403
    assert admin.post(path, confirmed).status_code == 200


def test_a_viewer_and_a_stranger_fork_nothing(api: Apis, world: World) -> None:
    task = shipping(world)
    assert api.as_(world.viewer).post(f"/stages/line/tasks/{task.name}/fork", {}).status_code == 403
    assert fork(world, task).follows == task
