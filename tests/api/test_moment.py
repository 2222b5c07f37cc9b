"""A task as it was, over HTTP: what the page shows of the moment."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.models import Task
from tests.api.conftest import Api, Apis
from tests.factories import World
from tests.pages.test_task_timeline import sent_back_once

pytestmark = pytest.mark.django_db


def path(task: Task, query: str = "") -> str:
    return f"/stages/line/tasks/{task.name}/moment{query}"


@pytest.fixture
def viewer(api: Apis, world: World) -> Api:
    return api.as_(world.viewer)


def test_each_moment_leads_to_those_beside_it(world: World, viewer: Api) -> None:
    task = sent_back_once(world)
    moment = viewer.get(path(task)).json()
    task.refresh_from_db()
    assert (moment["at"], moment["after"], moment["status"]) == (task.seq, None, task.status)
    seen = []
    while moment["before"]:
        later, moment = moment, viewer.get(path(task, f"?at={moment['before']}")).json()
        assert moment["after"] == later["at"] and moment["moment"] < later["moment"]
        seen.append((moment["status"], moment["visits"], moment["cost"]))
    assert (moment["status"], moment["visits"], moment["cost"]) == ("queued", {"plan": 1}, None)
    assert ("awaiting_review", {"plan": 1, "build": 2}, 0.64) in seen
    assert moment["positions"] == [
        {"position": world.token(task).pk, "station": "plan", "status": "queued", "gates": [], "end": None}
    ]


def test_a_moment_says_which_gates_asked_then(world: World, viewer: Api) -> None:
    task = sent_back_once(world)
    opened = task.events.filter(kind="gate.opened").order_by("seq")[0].seq
    moment = viewer.get(path(task, f"?at={opened}")).json()
    assert moment["positions"][0]["gates"] == ["look"] and moment["display_status"] == "awaiting_review"
    assert moment["files"] == [] and moment["commit"] is None and moment["version"] == 1


@pytest.mark.parametrize("at", ["0", "-1", "999", "x", str(2**70), "1.5", ""])
def test_a_moment_that_there_is_not_is_said(world: World, viewer: Api, at: str) -> None:
    task = sent_back_once(world)
    answer = viewer.get(path(task, f"?at={at}"))
    assert answer.status_code == 400 and answer.json()["errors"][0]["path"] == "at"


def test_as_many_statements_for_each_moment(world: World, viewer: Api) -> None:
    task = sent_back_once(world)
    last = viewer.get(path(task)).json()["at"]

    def statements(number: int) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert viewer.get(path(task, f"?at={number}")).status_code == 200
        return len(queries)

    statements(last)
    # Before anything has ended there is less to ask for
    assert statements(1) <= statements(6) == statements(12) == statements(last)
