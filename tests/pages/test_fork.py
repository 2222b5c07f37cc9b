"""Forking a task on its pages: the links, the plan, and what both tasks show (law §17)."""

from __future__ import annotations

import re
import threading

import pytest
from django.db import connection
from django.test import Client

from pipelines.models import Event, Task
from tests.engine.test_fork import PROMISE, forked_line, shipping
from tests.factories import World
from tests.pages.conftest import As, at, text
from tests.waiting import LONG

pytestmark = pytest.mark.django_db


def test_each_step_leads_to_its_fork_and_both_pages_say_it(world: World, signed_in: As) -> None:
    task = shipping(world)
    client = signed_in(world.operator)
    page = text(client.get(at(world, "task", task.name)))
    here = at(world, "task-fork", task.name)
    for number in (1, task.seq):
        assert f"{here}?at={number}" in page
    asked = text(client.get(here, {"at": 1}))
    assert "From event 1: Start → build" in asked
    assert "A new task starts at build. This one continues unchanged." in asked
    assert "It has no changed files yet." in asked
    assert Task.objects.count() == 1
    plan = text(client.get(here, {"at": task.seq, "station": "build", "fragment": "plan"}))
    assert "A new task starts at build" in plan and "<h1" not in plan
    answer = client.post(here, {"at": task.seq, "station": "", "reason": "Another way"})
    new = Task.objects.get(follows=task)
    assert (answer.status_code, answer["Location"]) == (302, at(world, "task", new.name))
    shown = text(client.get(at(world, "task", new.name)))
    assert "Forked from" in shown and f"at event {task.seq}" in shown and "Another way" in shown
    old = text(client.get(at(world, "task", task.name)))
    assert f"fork at event {task.seq}" in old and f"forked it as {new.name}" in old


def test_branches_are_offered(world: World, signed_in: As) -> None:
    task = world.start(forked_line(world))
    world.report(task)
    task.refresh_from_db()
    client, here = signed_in(world.operator), at(world, "task-fork", task.name)
    page = text(client.get(here, {"at": task.seq}))
    right = world.token(task, "right").pk
    assert f'value="{right}"' in page
    assert "It is one branch alone" in text(client.get(here, {"at": task.seq, "position": right}))
    assert client.post(here, {"at": task.seq, "position": right}).status_code == 302
    assert world.at(Task.objects.get(follows=task)) == ["right"]


def test_what_breaks_is_confirmed_on_the_page(world: World, signed_in: As) -> None:
    task = shipping(world, guarantees=[PROMISE])
    here = at(world, "task-fork", task.name)
    operator = signed_in(world.operator)
    page = text(operator.get(here))
    assert "Nothing reaches ship without Look" in page and 'name="accepts"' not in page
    assert operator.post(here, {"accepts": ["looked"], "reason": "So"}).status_code == 403
    admin = signed_in(world.admin)
    assert 'name="accepts"' in text(admin.get(here))
    assert admin.post(here, {"reason": "So"}).status_code == 422
    assert admin.post(here, {"accepts": ["looked"], "reason": "So"}).status_code == 302


@pytest.mark.parametrize("query", [{"at": "999"}, {"at": "x"}, {"at": "0"}, {"at": str(2**70)}])
def test_a_moment_that_there_is_not_is_said(world: World, signed_in: As, query: dict[str, str]) -> None:
    task = shipping(world)
    client, here = signed_in(world.operator), at(world, "task-fork", task.name)
    assert client.get(here, query).status_code == 422
    assert client.post(here, query).status_code == 422
    for odd in ({"station": "nowhere"}, {"position": "12345678"}):
        assert client.get(here, odd).status_code == 200, "the plan says what does not fit"
        assert client.post(here, odd).status_code == 422
    assert Task.objects.count() == 1


def test_a_viewer_is_offered_no_fork(world: World, signed_in: As) -> None:
    task = shipping(world)
    client, here = signed_in(world.viewer), at(world, "task-fork", task.name)
    assert here not in text(client.get(at(world, "task", task.name)))
    assert client.get(here).status_code == 403


def form_key(page: str) -> str:
    return re.findall(r'name="request_key" value="(\w+)"', page)[0]


def test_each_showing_of_the_form_starts_one_task(world: World, signed_in: As) -> None:
    task = shipping(world)
    client, here = signed_in(world.operator), at(world, "task-fork", task.name)
    form = {"at": 1, "reason": "Another way", "request_key": form_key(text(client.get(here, {"at": 1})))}
    first, again = client.post(here, form), client.post(here, form)
    new = Task.objects.get(follows=task)
    assert first["Location"] == again["Location"] == at(world, "task", new.name)
    # Back, and something else: that is another request
    assert client.post(here, form | {"reason": "A third way"}).status_code == 302
    # Whoever else sends the same is somebody else
    assert signed_in(world.admin).post(here, form).status_code == 302
    # What was refused can be put right and sent again
    odd = form | {"station": "nowhere"}
    assert [client.post(here, odd).status_code for _ in range(2)] == [422, 422]
    assert client.post(here, form | {"request_key": form_key(text(client.get(here)))}).status_code == 302
    assert client.post(here, form | {"request_key": "x" * 65}).status_code == 422
    assert Task.objects.filter(follows=task).count() == 4


@pytest.mark.django_db(transaction=True)
def test_of_two_clicks_at_once_one_starts_a_task(world: World, signed_in: As) -> None:
    task = shipping(world)
    clients = [signed_in(world.operator), Client()]
    clients[1].cookies = clients[0].cookies
    here = at(world, "task-fork", task.name)
    form = {"at": 1, "request_key": form_key(text(clients[0].get(here, {"at": 1})))}
    ready, answers = threading.Barrier(2), ["", ""]

    def send(index: int) -> None:
        ready.wait(timeout=LONG)
        answers[index] = clients[index].post(here, form)["Location"]
        connection.close()

    threads = [threading.Thread(target=send, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=LONG)
    new = Task.objects.get(follows=task)
    assert answers == [at(world, "task", new.name)] * 2
    assert Event.objects.filter(task=task, kind="task.forked").count() == 1
