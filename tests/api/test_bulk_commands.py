"""Commands for many tasks over the API: by name and by what matches, with a token and its reach."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.lines import bulk_commands
from pipelines.models import ApiToken, BulkCommand, Task
from pipelines.people import accounts
from tests.factories import World, document

pytestmark = pytest.mark.django_db
AT = "/api/v1/bulk-commands"


def client_of(world: World, scopes: tuple[str, ...] = ("read", "report")) -> Client:
    _token, secret = accounts.mint_token_and_secret(
        kind=ApiToken.TokenKind.PERSON,
        name="t",
        scopes=list(scopes),
        now=timezone.now(),
        created_by=world.operator,
        user=world.operator,
    )
    return Client(headers={"Authorization": f"Bearer {secret}"})


def post(client: Client, path: str, body: dict[str, Any] | None = None) -> Any:
    return client.post(AT + path, body or {}, content_type="application/json")


@pytest.fixture
def tasks(world: World) -> list[Task]:
    version = world.line(document(["build", "ship"], "line"))
    return [world.start(version, title=f"task {number}") for number in range(3)]


def test_it_is_planned_started_and_read(world: World, tasks: list[Task]) -> None:
    client = client_of(world)
    named = [{"task": task.name} for task in tasks]
    made = post(client, "", {"action": "move", "to": "ship", "reason": "r", "tasks": named})
    assert (made.status_code, made.json()["state"]) == (201, "planning")
    at = f"/{made.json()['id']}"
    assert post(client, at + "/start").status_code == 409
    bulk_commands.work_on_bulk_command(BulkCommand.objects.get().pk)
    plan = client.get(AT + at).json()
    assert (plan["state"], plan["counts"]) == ("planned", {"planned": 3})
    assert plan["plan"] == ["3 tasks can be moved.", "ship starts: 3 tasks."]
    assert post(client, at + "/start").json()["state"] == "running"
    bulk_commands.work_on_bulk_command(BulkCommand.objects.get().pk)
    ended = client.get(AT + at).json()
    assert (ended["state"], ended["counts"]) == ("finished", {"done": 3})
    assert [entry["station"] for entry in ended["entries"]] == ["ship"] * 3
    assert [world.at(task) for task in tasks] == [["ship"]] * 3
    assert post(client, at + "/stop").status_code == 409
    assert [row["id"] for row in client.get(AT).json()] == [ended["id"]]


def test_a_token_reaches_no_further_than_its_scopes(world: World, tasks: list[Task]) -> None:
    reader = client_of(world, ("read",))
    body = {"action": "cancel", "matching": {}}
    assert post(reader, "", body).status_code == 400
    named = post(reader, "", {"action": "cancel", "tasks": [{"task": tasks[0].name}]}).json()
    assert named["counts"] == {"refused": 1}
    writer = client_of(world)
    at = f"/{post(writer, '', body).json()['id']}"
    bulk_commands.work_on_bulk_command(BulkCommand.objects.latest("created_at").pk)
    assert reader.get(AT + at).status_code == 200
    assert post(reader, at + "/start").status_code == 403
    assert post(reader, at + "/stop").status_code == 403
    assert post(writer, at + "/stop").json()["counts"] == {"left": 3}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"action": "move", "tasks": []}, "tasks"),
        ({"action": "cancel", "tasks": [{"task": "WI-x-1"}], "matching": {}}, "tasks"),
        ({"action": "cancel", "tasks": [{"task": "WI-x-99999999999999999999"}]}, "tasks[0]"),
        ({"action": "cancel", "tasks": [{"task": "\0"}]}, "tasks[0]"),
        ({"action": "cancel", "matching": {"show": "all"}}, "matching.show"),
        ({"action": "cancel", "matching": {"requester": "you"}}, "matching.requester"),
        ({"action": "cancel", "matching": {"line": "nowhere"}}, "matching.line"),
        ({"action": "cancel", "matching": {"project": "a/b\0"}}, "matching.project"),
        ({"action": "cancel", "matching": {"q": "no such title"}}, "matching"),
        ({"action": "skip", "matching": {}}, "action"),
        ({"action": "move", "matching": {}}, "to"),
        ({"action": "cancel", "to": "ship", "matching": {}}, "to"),
        ({"action": "cancel", "reason": "x" * 2_001, "matching": {}}, "reason"),
        ({"action": "cancel", "reason": "\0", "matching": {}}, "reason"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    world: World, tasks: list[Task], body: dict[str, Any], path: str
) -> None:
    answer = post(client_of(world), "", body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == path
    assert not BulkCommand.objects.exists()
