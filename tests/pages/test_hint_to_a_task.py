"""Hint to the open page of a task: one answer for all that is shown, nothing where it is as it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from pipelines import engine
from pipelines.lines import drawings
from pipelines.models import Artifact, Blob, Drawing, Handoff, Job, Membership, Task, User
from pipelines.work.logs import Writer
from tests.factories import World, station
from tests.pages.conftest import As, at
from tests.tracing import traced

pytestmark = pytest.mark.django_db
STATEMENTS = 10
LINE: dict[str, Any] = {
    "stations": [
        station("plan", {"id": "on", "to": "code"}),
        station(
            "code", {"id": "done", "to": "ship", "gates": ["review"]}, kind="command", work={"argv": ["true"]}
        ),
        "ship",
    ],
    "gates": [{"key": "review", "name": "Review"}],
}


def working(world: World) -> tuple[Task, Job]:
    task = world.start(world.line(**LINE))
    world.report(task)
    return task, world.started(task)


def asks(world: World, task: Task, more: str = "") -> str:
    return f"{at(world, 'task', task.name)}?fragment=live{more}"


def tag(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return str(answer["ETag"])


@pytest.mark.parametrize("tab", ["log", "steps"])
def test_a_hint_takes_few_statements_with_its_tab(world: World, signed_in: As, tab: str) -> None:
    task, job = working(world)
    Writer(job.pk, job.attempt).append_chunk("1.000\tOne line\n", timezone.now())
    client, address = signed_in(world.operator), asks(world, task, f"&tab={tab}&shown=")
    client.get(address)
    # What the worker does meanwhile: the page has asked for the drawing of its line.
    for drawing in Drawing.objects.all():
        drawings.draw_if_pending(drawing.pk)
    client.get(address)
    answers: list[HttpResponse] = []
    trace = traced(lambda: answers.append(client.get(address)))
    assert len(trace.statements) <= STATEMENTS, "\n".join(trace.statements)
    page = answers[0].content.decode()
    assert 'id="task-live"' in page and 'id="panel" hx-swap-oob="true"' in page
    assert ("One line" in page) == (tab == "log")


def test_the_page_asks_once_for_all_that_a_hint_changes(world: World, signed_in: As) -> None:
    task, job = working(world)
    client = signed_in(world.operator)
    page = client.get(at(world, "task", task.name)).content.decode()
    assert page.count(f"gl:task-{task.name}") == 1
    shown = f"&tab=log&shown={job.pk}.{job.attempt}"
    assert f'name="shown" value="{job.pk}.{job.attempt}"' in page
    same = client.get(asks(world, task, shown)).content.decode()
    assert 'id="log-meta" hx-swap-oob="true"' in same and 'id="panel"' not in same
    other = client.get(asks(world, task, f"&tab=log&shown={job.pk}.7")).content.decode()
    assert 'id="panel" hx-swap-oob="true"' in other


def test_who_has_it_already_gets_nothing(world: World, signed_in: As) -> None:
    task, _job = working(world)
    client, address = signed_in(world.operator), asks(world, task)
    first = client.get(address)
    # Its own tag stands in the answer, so that the next request sends it.
    assert re.search(r"""hx-headers='\{"If-None-Match": "\\"([0-9a-f]{32})\\""\}'""", first.content.decode())
    again = client.get(address, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content, again["HX-Reswap"]) == (304, b"", "none")
    assert again["ETag"] == first["ETag"]
    world.report(task, {"exit_code": 0})
    assert client.get(address, headers={"If-None-Match": first["ETag"]}).status_code == 200


def _artifact(world: World, task: Task) -> None:
    blob = Blob.objects.create(digest="0" * 64, size=1, created_at=timezone.now())
    Artifact.objects.create(task=task, job=task.jobs.order_by("pk")[0], name="report.txt", blob=blob)


def _handoff(world: World, task: Task) -> None:
    job = task.jobs.order_by("pk")[0]
    Handoff.objects.create(
        task=task, job=job, name="HO-plan-code-1", source="plan", document={}, by="engine", at=timezone.now()
    )


def _person(world: World, task: Task, **names: str) -> None:
    User.objects.filter(pk=world.operator.pk).update(**names)


def _role(world: World, task: Task, role: str) -> None:
    Membership.objects.filter(user=world.operator).update(roles=[role])


def _task(world: World, task: Task, **fields: Any) -> None:
    Task.objects.filter(pk=task.pk).update(**fields)


def _waits_for(world: World, task: Task, *, on: bool) -> None:
    other = world.start(task.pinned, title="Other")
    first, second = (task, other) if on else (other, task)
    first.depends_on.create(on=second, made_at=timezone.now())


def _job(world: World, task: Task, **fields: Any) -> None:
    Job.objects.filter(task=task, state=Job.State.RUNNING).update(**fields)


def _by(change: Callable[..., None], **more: Any) -> Callable[[World, Task], None]:
    return partial(change, **more)


CHANGES: dict[str, Callable[[World, Task], None]] = {
    "title": _by(_task, title="Other title"),
    "description": _by(_task, description="More about it"),
    "labels": _by(_task, labels=["urgent"]),
    "priority": _by(_task, priority="high"),
    "due time": _by(_task, due_at=timezone.now() + timedelta(days=3)),
    "station": lambda world, task: world.report(task, {"exit_code": 0}) and None,
    "failure": lambda world, task: world.report(task, {"exit_code": 1}) and None,
    "cancelled": lambda world, task: (
        engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="No") and None
    ),
    "result of the run": _by(_job, result="success"),
    "start of the run": _by(_job, started_at=timezone.now() - timedelta(hours=1)),
    "artifact": _artifact,
    "handoff": _handoff,
    "depends on": _by(_waits_for, on=True),
    "needed by": _by(_waits_for, on=False),
    "followed by": lambda world, task: _task(world, world.start(task.pinned), follows=task),
    "name of who asked for it": _by(_person, first_name="Ada", last_name="Other"),
    "rights: fewer": _by(_role, role="viewer"),
    "rights: more": _by(_role, role="designer"),
}


@pytest.mark.broken  # rows are changed that only moves change
def test_whatever_is_shown_changes_the_tag(world: World, signed_in: As) -> None:
    version, client = world.line(**LINE), signed_in(world.operator)
    unchanged = []
    for name, change in CHANGES.items():
        task = world.start(version)
        world.report(task)
        job = world.started(task)
        address = asks(world, task, f"&tab=log&shown={job.pk}.{job.attempt}")
        before = tag(client, address)
        assert tag(client, address) == before, name
        change(world, task)
        unchanged += [name] if tag(client, address) == before else []
        Membership.objects.filter(user=world.operator).update(roles=["operator"])
    assert unchanged == []


def test_the_state_of_a_gate_changes_the_tag(world: World, signed_in: As) -> None:
    task, _job = working(world)
    client, address = signed_in(world.operator), asks(world, task)
    world.report(task, {"exit_code": 0})
    waits = tag(client, address)
    world.vote(task, "send_back", reason="Again")
    assert tag(client, address) != waits
