"""Limit of a line and quotas of a project where people and programs see and set them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from pipelines.models import Line, LineVersion, Project, Task
from pipelines.people import projects
from tests.factories import World, station
from tests.pages.conftest import As, at, text

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
SCOPES = ("read", "submit", "design", "settings")


def version_of(world: World) -> LineVersion:
    return world.line(
        key="line",
        stations=[station("work", kind="manual")],
        inputs=[{"key": "branch", "label": "Branch", "type": "text"}],
    )


def ask(world: World, method: str, rest: str, body: Any = None, by: Any = None) -> tuple[int, Any]:
    at_project = f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}{rest}"
    headers = {"Authorization": f"Bearer {world.token_of(by or world.admin, *SCOPES)[1]}"}
    answer = Client().generic(method, at_project, json.dumps(body), "application/json", headers=headers)
    return answer.status_code, answer.json()


def test_a_limit_is_set_shown_and_removed(world: World, signed_in: As) -> None:
    version_of(world)
    client, address = signed_in(world.designer), at(world, "line-limit", "line")
    answer = client.post(address, {"tasks": "2", "key": "inputs.branch", "over": "replace"})
    assert answer.status_code == 302
    page = text(client.get(at(world, "line-settings", "line")))
    assert 'value="2"' in page and 'value="inputs.branch"' in page and "It replaces the oldest" in page
    line = Line.objects.get(key="line")
    assert (line.limit_tasks, line.limit_key, line.limit_over) == (2, "inputs.branch", "replace")
    client.post(address, {"tasks": "", "key": "inputs.branch", "over": "queue"})
    assert (Line.objects.get(key="line").limit_tasks, Line.objects.get(key="line").limit_key) == (None, "")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"tasks": "0", "over": "queue"}, "greater than or equal to 1"),
        ({"tasks": "1", "key": "$[", "over": "queue"}, "Not a JSONPath"),
        ({"tasks": "1", "over": "drop"}, "Select a valid choice"),
    ],
)
def test_a_limit_that_means_nothing_says_so_at_its_field(
    world: World, signed_in: As, typed: dict[str, str], message: str
) -> None:
    version_of(world)
    answer = signed_in(world.designer).post(at(world, "line-limit", "line"), typed)
    assert answer.status_code == 422 and message in text(answer)
    assert Line.objects.get(key="line").limit_tasks is None


def test_a_task_says_after_which_it_is_its_turn(world: World, signed_in: As) -> None:
    version = version_of(world)
    Line.objects.filter(pk=version.line_id).update(limit_tasks=1)
    version = LineVersion.objects.get(pk=version.pk)
    first, second = (world.start(version, inputs={}) for _ in range(2))
    page = text(signed_in(world.operator).get(at(world, "task", second.name)))
    assert f"It waits for its turn after {first.name}: the line has a limit." in page
    assert "Continues automatically. Release starts it now." in page


def test_quotas_are_set_and_their_use_is_shown(world: World, signed_in: As) -> None:
    version = version_of(world)
    client, address = signed_in(world.admin), at(world, "project-quotas")
    assert client.post(address, {"day_tasks": "1", "day_cost_usd": "2.50"}).status_code == 302
    project = Project.objects.get(pk=world.project.pk)
    assert (project.day_tasks, project.month_tasks, project.day_cost_usd) == (1, None, Decimal("2.50"))
    world.start(LineVersion.objects.get(pk=version.pk), inputs={})
    page = text(client.get(at(world, "project-general")))
    assert "Used today: 1." in page and "Used up: no task starts until tomorrow." in page
    assert 'value="2.50"' in page and "Used this month: 1." in page
    answer = client.post(address, {"day_tasks": "-1"})
    assert answer.status_code == 422 and "greater than or equal to 0" in text(answer)


def test_the_start_form_says_which_quota_is_used_up(world: World, signed_in: As) -> None:
    version_of(world)
    projects.change_quotas(world.project, {"day_tasks": 0}, by=world.admin)
    answer = signed_in(world.operator).post(at(world, "task-new", "line"), {"title": "A task"}, follow=True)
    assert "0 of 0 tasks started today" in text(answer) and not Task.objects.exists()


def test_a_limit_and_quotas_over_the_api(world: World) -> None:
    version_of(world)
    limit = {"tasks": 1, "key": "inputs.branch", "over": "queue"}
    assert ask(world, "PATCH", "/lines/line", {"limit": limit})[1]["limit"] == limit
    assert ask(world, "GET", "/lines")[1][0]["limit"] == limit
    assert ask(world, "PATCH", "/lines/line", {"name": "Other"})[1]["limit"] == limit
    status, refused = ask(world, "PATCH", "/lines/line", {"limit": {"tasks": 0}})
    assert (status, refused["errors"][0]["path"]) == (400, "limit.tasks")
    assert ask(world, "PATCH", "/lines/line", {"limit": None})[1]["limit"] is None

    status, changed = ask(world, "PATCH", "", {"day_tasks": 1, "day_cost_usd": 2.5})
    assert status == 200, changed
    assert (status, changed["day_tasks"], changed["month_tasks"], changed["day_cost_usd"]) == (
        200,
        1,
        None,
        2.5,
    )
    assert ask(world, "POST", "/stages/line/tasks", {"title": "A task", "inputs": {}})[0] == 201
    rows = ask(world, "GET", "/quotas", by=world.viewer)[1]
    assert rows[0] == {"quota": "day_tasks", "used": 1, "limit": 1, "used_up": True}
    assert [row["quota"] for row in rows] == ["day_tasks", "month_tasks", "day_cost_usd", "month_cost_usd"]
    status, refused = ask(world, "POST", "/stages/line/tasks", {"title": "A task", "inputs": {}})
    assert status == 409 and "1 of 1 tasks started today" in refused["detail"]
    assert ask(world, "PATCH", "", {"day_tasks": None})[1]["day_tasks"] is None
    assert ask(world, "PATCH", "", {"month_tasks": -1})[0] == 400
    assert ask(world, "PATCH", "", {"day_tasks": 1}, by=world.designer)[0] == 403
