"""Every place at which a task waits for a machine says what for and what would help: over HTTP, on the page of the task
and on the board."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pipelines.models import Task, Worker
from tests.api.conftest import Apis
from tests.api.test_positions import position
from tests.factories import World, station
from tests.pages.conftest import client_of

pytestmark = pytest.mark.django_db

HOOK = {"hook": {"argv": ["security-gate"]}, "answer": "pass"}
FLAGS = {"agentic_conditions": True}


def question(evaluator: str) -> dict[str, Any]:
    return {"agentic": {"question": "Is it good?", "evaluator": evaluator}, "answer": "yes"}


def asking(world: World, when: dict[str, Any], **more: Any) -> Task:
    """Start a task and report its first station, whose rule has to be asked about."""
    rules = [{"id": "good", "when": when, "to": "ship"}, {"id": "else", "to": "completed"}]
    task = world.start(world.line(stations=[station("build", *rules, **more), "ship"], flags=FLAGS))
    world.report(task, {"result": "success"})
    assert world.status(task) == "evaluating"
    return task


def words(client: Client, place: str, *arguments: str) -> str:
    return " ".join(client.get(reverse(place, args=arguments)).content.decode().split())


def check(world: World, api: Apis, task: Task, text: str, remedy: str) -> None:
    where = position(api.as_(world.operator), task)
    assert (text in where["waits_for"], remedy in where["remedy"]) == (True, True), where
    client, project = client_of(world.operator), ("acme", world.project.key)
    for page in (
        words(client, "task", *project, task.name),
        words(client, "line-live", *project, task.line.key),
    ):
        assert text in page and remedy in page


def test_a_hook_that_a_worker_can_run_is_only_evaluated(world: World, api: Apis) -> None:
    where = position(api.as_(world.operator), asking(world, HOOK))
    assert where["waits_for"] == "Evaluating: Does the hook “security-gate” pass?"


def test_a_hook_at_a_station_whose_label_nobody_has(world: World, api: Apis) -> None:
    task = asking(world, HOOK, labels=["vibecheck"], kind="manual")
    check(world, api, task, "No active runner has the label vibecheck.", "--label vibecheck")


def test_a_hook_where_no_worker_runs_programs(world: World, api: Apis) -> None:
    task = asking(world, HOOK)
    Worker.objects.update(offers=["kind:noop", "kind:manual"])
    check(world, api, task, "No active runner runs programs", "Add a runner under Settings › Runners")


def test_a_hook_where_no_worker_is(world: World, api: Apis) -> None:
    task = asking(world, HOOK)
    Worker.objects.all().delete()
    check(world, api, task, "No active runner serves this project.", "manage.py worker")


@pytest.mark.parametrize(
    ("evaluator", "text", "remedy"),
    [
        ("model", "No active runner has a model that could answer", "GATELINE_MODEL_URL and GATELINE_MODEL"),
        ("worker", "No active runner has the evaluator", "manage.py worker --label evaluator"),
    ],
)
def test_a_question_whose_machine_went_away(
    world: World, api: Apis, evaluator: str, text: str, remedy: str
) -> None:
    world.able(evaluator)
    task = asking(world, question(evaluator))
    where = position(api.as_(world.operator), task)
    assert where["waits_for"] == "Evaluating: Is it good?"
    Worker.objects.update(answers=[])
    check(world, api, task, text, remedy)


def test_a_precondition_says_where_it_is_supplied(world: World, api: Apis) -> None:
    first = station("build", {"id": "on", "to": "ship"}, requires=["agent"])
    task = world.start(world.line(stations=[first, station("ship", agent="shipper")]))
    world.report(task)
    where = position(api.as_(world.operator), task)
    assert "agent shipper" in where["waits_for"]
    assert where["remedy"].startswith("Register the agent under Settings › Agents")
