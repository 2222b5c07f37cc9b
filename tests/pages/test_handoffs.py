"""Handoffs on the page of a task: what was handed on, and the form for one that is missing."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from pipelines.models import Task
from tests.factories import World, station
from tests.pages.conftest import As, text
from tests.routing.test_preconditions import HANDOFF

pytestmark = pytest.mark.django_db


def held(world: World) -> Task:
    first = station("dev", {"id": "on", "to": "qa"}, requires=["handoff"])
    task = world.start(world.line(stations=[first, "qa"]))
    world.report(task)
    return task


def address(task: Task, name: str = "task", **more: int) -> str:
    keys = {"owner": task.project.owner.key, "project": task.project.key, "wi": task.name}
    return reverse(name, kwargs={**keys, **more})


def test_a_missing_handoff_is_named_and_given_on_the_page(world: World, signed_in: As) -> None:
    task, client = held(world), signed_in(world.operator)
    page = text(client.get(address(task)))
    assert "Missing: a valid handoff document." in page and "Provide the handoff" in page
    token = world.token(task)
    to = address(task, "task-handoff", token=token.pk)
    given = {"document": json.dumps(HANDOFF), "token_version": token.version}
    assert client.post(to, given).status_code == 302
    assert world.at(task) == ["qa"]
    assert f"HO-dev-qa-{task.handoffs.exclude(name='').get().at:%Y%m%d}" in text(client.get(address(task)))


FAULTS = [
    ("{", 422, "This is not valid JSON"),
    ("", 422, "required"),
    (json.dumps({**HANDOFF, "evidence": {}}), 422, "handoff.evidence"),
    (json.dumps({"a": "\0"}), 422, "NUL"),
]


@pytest.mark.parametrize(("document", "status", "told"), FAULTS)
def test_one_that_is_no_good_is_refused_with_its_fault(
    world: World, signed_in: As, document: str, status: int, told: str
) -> None:
    task = held(world)
    token = world.token(task)
    answer = signed_in(world.operator).post(
        address(task, "task-handoff", token=token.pk), {"document": document, "token_version": token.version}
    )
    assert (answer.status_code, told in text(answer)) == (status, True)
    assert world.status(task) == "held"
