"""Triggers over the API: saved, looked at, changed, paused, tried, deleted, and what became of their runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from pipelines.models import Task, Trigger
from pipelines.work.scheduler import timers
from pipelines.work.triggers import line_end_starts
from tests.factories import World, station
from tests.work.webhook_calls import call

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
INPUTS = [{"key": "request", "label": "Request", "type": "long_text", "required": True}]
BODY = {
    "options": {"cron": "30 7 * * 1-5", "zone": "Europe/Berlin", "missed": "skip"},
    "title": "Upkeep of {date}",
    "inputs": {"request": "Raise coverage"},
}
SLOT = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)


def ask(
    world: World, secret: str, method: str, rest: str = "", body: Any = None, line: str = "line"
) -> tuple[int, Any]:
    at = f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}/lines/{line}/triggers{rest}"
    answer = Client().generic(
        method, at, json.dumps(body), "application/json", headers={"Authorization": f"Bearer {secret}"}
    )
    return answer.status_code, answer.json() if answer.content else None


@pytest.fixture
def mine(world: World) -> str:
    world.line(stations=[station("work", kind="manual")], inputs=INPUTS)
    return world.token_of(world.operator)[1]


def test_a_schedule_from_saving_to_its_end(world: World, mine: str) -> None:
    status, made = ask(world, mine, "POST", body=BODY)
    assert status == 201
    assert (made["words"], made["changed_by"], made["last"]) == (
        "Every weekday at 07:30",
        world.operator.username,
        None,
    )
    assert len(made["next_runs"]) == 5 and made["next_at"] == made["next_runs"][0]
    at = f"/{made['id']}"
    assert ask(world, mine, "GET", at) == (200, made)
    assert ask(world, mine, "GET") == (200, [made])

    status, tried = ask(world, mine, "POST", f"{at}/try")
    assert (status, tried["outcome"], tried["title"][:12]) == (200, "started", "Upkeep of 20")
    assert not Task.objects.exists()

    status, paused = ask(world, mine, "POST", f"{at}/pause")
    assert (paused["next_at"], paused["next_runs"]) == (None, []) and paused["paused_at"]
    changed = BODY | {"options": {"cron": "0 2 * * *"}}
    status, kept = ask(world, mine, "PUT", at, changed)
    assert (status, kept["words"], kept["options"]["zone"]) == (200, "Every day at 02:00", "UTC")
    assert kept["paused_at"], "what is paused stays so"
    status, resumed = ask(world, mine, "POST", f"{at}/resume")
    assert resumed["paused_at"] is None and resumed["next_at"]

    for day in range(2):
        Trigger.objects.update(next_at=SLOT + timedelta(days=day))
        timers.run_due_timers_and_triggers(now=SLOT + timedelta(days=day))
    status, rows = ask(world, mine, "GET", f"{at}/deliveries")
    assert [row["outcome"] for row in rows] == ["ignored", "started"]
    assert rows[1]["task"] == Task.objects.get().name
    assert ask(world, mine, "GET", f"{at}/deliveries?before={rows[0]['id']}") == (200, rows[1:])
    assert ask(world, mine, "GET", f"{at}/deliveries?limit=1") == (200, rows[:1])
    everywhere = f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}/triggers"
    answer = Client().get(everywhere, headers={"Authorization": f"Bearer {mine}"}).json()
    assert [row["last"]["outcome"] for row in answer] == ["ignored"]

    assert ask(world, mine, "DELETE", at) == (204, None)
    assert ask(world, mine, "GET", at)[0] == 404
    assert Task.objects.exists()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"options": {"cron": "never"}}, "options.cron"),
        ({"options": {"cron": "0 2 * * *", "zone": "Mars/Olympus"}}, "options.zone"),
        ({"options": {"cron": "0 2 * * *", "zone": "UTC\0"}}, "options.zone"),
        ({"options": {"cron": "0 2 * * *", "missed": "twice"}}, "options.missed"),
        ({"inputs": {}}, "inputs.request"),
        ({"inputs": {"request": "x", "colour": "red"}}, "inputs.colour"),
        ({"title": "x" * 291}, "title"),
        ({"title": "a\0b"}, "title"),
        ({"kind": "moon"}, "kind"),
        ({"options": {}}, "options.cron"),
        ({"options": {"cron": "0 2 * * *", "colour": "red"}}, "options.colour"),
        ({"options": {"cron": ["0 2 * * *"]}}, "options.cron"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(
    world: World, mine: str, body: dict[str, Any], path: str
) -> None:
    status, problem = ask(world, mine, "POST", body=BODY | body)
    assert (status, [error["path"] for error in problem["errors"]]) == (400, [path])
    assert not Trigger.objects.exists()


def test_a_machine_looks_and_makes_none(world: World, mine: str) -> None:
    """Tasks start in the name of a person, who is barred from approving them."""
    machine = world.machine()[1]
    made = ask(world, mine, "POST", body=BODY)[1]
    assert ask(world, machine, "GET") == (200, [made])
    for method, rest in (("POST", ""), ("PUT", f"/{made['id']}"), ("DELETE", f"/{made['id']}"),
                         ("POST", f"/{made['id']}/pause"), ("POST", f"/{made['id']}/resume")):  # fmt: skip
        assert ask(world, machine, method, rest, BODY)[0] == 403
    assert Trigger.objects.get().paused_at is None


def test_a_trigger_of_another_line_is_not_there(world: World, mine: str) -> None:
    world.line(key="other", stations=[station("work")])
    made = ask(world, mine, "POST", body=BODY)[1]
    for rest in (f"/{made['id']}", "/0", f"/{2**70}", "/-1"):
        assert ask(world, mine, "GET", rest, line="other")[0] == 404
        assert ask(world, mine, "DELETE", rest, line="other")[0] == 404
    assert Trigger.objects.exists()


def test_a_refused_run_says_the_remedy(world: World, mine: str) -> None:
    made = ask(world, mine, "POST", body=BODY)[1]
    Trigger.objects.update(inputs={})
    tried = ask(world, mine, "POST", f"/{made['id']}/try")[1]
    assert (tried["outcome"], tried["title"]) == ("failed", None)
    assert tried["detail"] == "Request is required. Edit the trigger, or the start form of the line."


def test_a_webhook_from_saving_to_its_end(world: World, mine: str) -> None:
    options = {"name": "Desk", "signature": "standard", "inputs": {"request": "text"}, "title": "title"}
    status, made = ask(world, mine, "POST", body={"kind": "webhook", "options": options})
    assert (status, made["words"], made["detail"], made["next_runs"]) == (
        201,
        "Desk",
        "Standard Webhooks",
        [],
    )
    assert made["secret"].startswith("whsec_") and not made["one_at_a_time"]
    at = f"/{made['id']}"
    assert ask(world, mine, "GET", at) == (200, made | {"secret": ""})
    viewer = world.token_of(world.viewer)[1]
    assert ask(world, viewer, "GET", at)[1]["address"] == ""

    path = urlsplit(made["address"]).path
    body, headers = call("standard", made["secret"], {"text": "Look", "title": "Door"}, "msg_1")
    answer = Client().post(path, body, content_type="application/json", headers=headers)
    task = Task.objects.get()
    assert (answer.status_code, answer.json()["task"], task.title) == (202, task.name, "Door")
    assert ask(world, mine, "GET", f"{at}/deliveries")[1][0]["key"] == "msg_1"
    assert ask(world, mine, "POST", f"{at}/try")[1]["title"] == "Door"
    status, tried = ask(world, mine, "POST", f"{at}/try", {"body": '{"title": "Window"}'})
    assert (tried["outcome"], tried["detail"][:20]) == ("failed", "Request is required.")

    status, rotated = ask(world, mine, "POST", f"{at}/rotate", {"at_once": True})
    assert status == 200 and rotated["secret"] not in ("", made["secret"])
    assert called(path, made["secret"]) == 401 and called(path, rotated["secret"]) == 202
    assert ask(world, mine, "POST", f"{at}/rotate", {"secret": "short"})[0] == 400
    schedule = ask(world, mine, "POST", body=BODY)[1]
    assert ask(world, mine, "POST", f"/{schedule['id']}/rotate", {})[0] == 409
    assert (
        ask(world, mine, "PUT", at, {"kind": "webhook", "options": options | {"name": "Help"}})[1]["words"]
        == "Help"
    )
    assert ask(world, world.machine()[1], "POST", f"{at}/rotate", {})[0] == 403
    assert ask(world, mine, "DELETE", at) == (204, None)
    assert called(path, rotated["secret"]) == 401


def called(path: str, secret: str) -> int:
    body, headers = call("standard", secret, {"text": "Look"})
    return Client().post(path, body, content_type="application/json", headers=headers).status_code


def test_the_end_of_another_line_from_saving_to_its_start(world: World, mine: str) -> None:
    build = world.line(key="build", stations=[station("make", {"id": "ok", "to": "completed"})])
    options = {"line": "build", "inputs": {"request": "task.title"}, "title": "task.title"}
    status, made = ask(world, mine, "POST", body={"kind": "line_end", "options": options})
    assert (status, made["options"]["state"], made["secret"], made["next_runs"]) == (201, "completed", "", [])
    assert (
        made["words"] == f"After a task of {build.line.name} completes" and made["detail"] == build.line.name
    )
    source = world.start(build, title="Fix the door")
    world.report(source)
    at = f"/{made['id']}"
    assert ask(world, mine, "POST", f"{at}/try")[1]["title"] == "Fix the door"
    assert line_end_starts.start_task_after_end_and_return_outcome(made["id"], source.pk) == "started"
    [row] = ask(world, mine, "GET", f"{at}/deliveries")[1]
    assert (row["key"], row["outcome"]) == (source.name, "started")
    status, refused = ask(world, mine, "PUT", at, {"kind": "line_end", "options": options | {"line": "line"}})
    assert status == 400 and refused["errors"][0]["path"] == "options.line"


def test_a_machine_makes_no_trigger_of_another_line(world: World, mine: str) -> None:
    world.line(key="build", stations=[station("make")])
    body = {"kind": "line_end", "options": {"line": "build", "inputs": {"request": "task.title"}}}
    assert ask(world, world.machine()[1], "POST", body=body)[0] == 403
    assert not Trigger.objects.exists()
