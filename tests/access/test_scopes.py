"""A bearer token opens over HTTP what its scopes say, and no more."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from pipelines import engine
from pipelines.models import Task
from tests.factories import World

pytestmark = pytest.mark.django_db


def call(client: Client, secret: str, method: str, path: str, body: object = None) -> int:
    said = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
    answer = client.generic(method, path, headers={"authorization": f"Bearer {secret}"}, **said)  # type: ignore[arg-type]
    return answer.status_code


@pytest.fixture
def task(world: World) -> Task:
    return world.start(world.line())


def reading(task: Task) -> list[str]:
    project = f"/api/owners/{task.project.owner.key}/projects/{task.project.key}"
    tasks = f"{project}/stages/line/tasks"
    own = [f"{tasks}/{task.name}{more}" for more in ("", "/events", "/decisions")]
    return [
        tasks,
        *own,
        f"{project}/lines",
        f"{project}/lines/line/document",
        f"{project}/lines/line/versions",
    ]


@pytest.mark.parametrize("scope", ["submit", "report", "decide", "design"])
def test_without_the_scope_to_read_nothing_is_read(
    world: World, task: Task, client: Client, scope: str
) -> None:
    _, secret = world.token_of(world.admin, scope)
    assert {path: call(client, secret, "GET", path) for path in reading(task)} == dict.fromkeys(
        reading(task), 403
    )
    answer = client.get("/api/projects", headers={"Authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer.json()) == (200, [])


def test_with_it_everything_is_read_and_nothing_changed(world: World, task: Task, client: Client) -> None:
    _, secret = world.token_of(world.admin, "read")
    assert {call(client, secret, "GET", path) for path in reading(task)} == {200}
    tasks = reading(task)[0]
    assert call(client, secret, "POST", tasks, {"title": "x"}) == 403
    assert call(client, secret, "POST", f"{tasks}/{task.name}/cancel", {}) == 403


def test_only_a_token_that_may_decide_resolves_an_escalation(
    world: World, task: Task, client: Client
) -> None:
    opened = engine.escalate(task.pk, user=world.admin, trigger="security", reason="Why?")
    path = f"{reading(task)[0]}/{task.name}/escalations/{opened.pk}/resolve"
    for scope, status in (("read", 403), ("report", 403), ("decide", 200)):
        _, secret = world.token_of(world.admin, scope)
        assert call(client, secret, "POST", path, {"word": "go_on", "reason": "x"}) == status


def test_the_scope_to_submit_starts_a_task(world: World, task: Task, client: Client) -> None:
    _, secret = world.token_of(world.operator, "submit")
    assert call(client, secret, "POST", reading(task)[0], {"title": "x"}) == 201


def test_for_a_stranger_nothing_is_there(world: World, task: Task, client: Client) -> None:
    _, secret = world.token_of(world.stranger)
    assert {call(client, secret, "GET", path) for path in reading(task)} == {404}


@pytest.mark.parametrize("body", [b"\xff\xfe", b"", b"[]", b"name: 5\nkey: [", b"a: \x00"], ids=repr)
def test_a_body_that_is_no_document_is_refused_not_failed_on(
    world: World, task: Task, client: Client, body: bytes
) -> None:
    _, secret = world.token_of(world.designer)
    for line in ("line/draft?based_on=1", "new/draft"):
        answer = client.generic(
            "PUT", f"{reading(task)[4]}/{line}", body, headers={"authorization": f"Bearer {secret}"}
        )
        assert answer.status_code == 400


def test_a_draft_whose_name_is_no_text_makes_a_line_all_the_same(
    world: World, task: Task, client: Client
) -> None:
    _, secret = world.token_of(world.designer)
    path = f"{reading(task)[4]}/new/draft"
    answer = client.generic("PUT", path, b"name: 5", headers={"authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer.json()["name"]) == (200, "new")
