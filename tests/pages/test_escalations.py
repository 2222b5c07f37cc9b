"""Escalations and deadlocks on the page of a task, on “Inbox”, and over the API."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.models import Deadlock, Due, Escalation, Job, Task, Token
from pipelines.work.scheduler import timers
from reviews.inbox import item_queries
from reviews.inbox.item import InboxViewer
from tests.factories import World, station
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db


def address(name: str, task: Task, *more: Any) -> str:
    return reverse(name, args=[task.project.owner.key, task.project.key, task.name, *more])


def escalated(world: World) -> tuple[Task, Escalation]:
    build = station("build", {"id": "on", "when": {"result": "success"}, "to": "ship"})
    line = world.line(
        stations=[build, "ship"],
        policy={"on_failure": "escalate"},
        escalations=[{"trigger": "on_failure", "role": "Lead", "sla": "4h", "on_breach": ["notify"]}],
    )
    task = world.start(line)
    world.report(task, {"result": "failure"})
    return task, Escalation.objects.get(task=task)


def locked(world: World) -> tuple[Task, Deadlock]:
    build = station("build", {"id": "on", "to": "ship"}, limits={"expected": "1m"})
    task = world.start(world.line(stations=[build, "ship"], policy={"deadlocks": "yes"}))
    since = timezone.now() - timedelta(seconds=121)
    world.started(task)
    Job.objects.filter(task=task).update(started_at=since)
    Token.objects.filter(task=task).update(entered_at=since)
    Due.objects.filter(task=task).update(set_at=since, due_at=timezone.now())
    timers.run_due_timers_and_triggers()
    return task, Deadlock.objects.get(task=task)


def test_the_page_of_the_task_says_who_is_asked_and_takes_the_answer(world: World) -> None:
    task, found = escalated(world)
    page = as_(world.admin).get(address("task", task)).content.decode()
    assert "Escalated to Lead: a station failed." in page
    assert "Run build again, with the reason" in page
    assert "Lead or an administrator" in as_(world.viewer).get(address("task", task)).content.decode()
    said = {"word": "retry", "reason": "Use the other branch."}
    answer = as_(world.admin).post(address("task-resolve", task, found.pk), said)
    assert answer.status_code == 302
    assert world.job(task).feedback == "Use the other branch."
    late = as_(world.admin).post(address("task-resolve", task, found.pk), said)
    assert late.status_code == 409


def test_used_up_retries_are_told_in_words_and_named_in_the_details(world: World) -> None:
    failed = {"when": {"result": "failure"}, "max_retries": 1, "on_exhausted": "escalate"}
    build = station(
        "build",
        {"id": "on", "when": {"result": "success"}, "to": "ship"},
        {"id": "again", "to": "build", **failed},
    )
    task = world.start(world.line(stations=[build, "ship"]))
    for _ in range(2):
        world.report(task, {"result": "failure"})
    assert Escalation.objects.get(task=task).trigger == "RetryLimitExceeded"
    for path in (address("task", task), reverse("inbox")):
        page = as_(world.admin).get(path, follow=True).content.decode()
        assert "the retries are used up" in page
        visible = re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)
        assert "RetryLimitExceeded" in page and ">RetryLimitExceeded<" not in visible, path


def test_who_is_not_asked_cannot_resolve_it(world: World) -> None:
    task, found = escalated(world)
    said = {"word": "retry", "reason": "I like it."}
    assert as_(world.operator).post(address("task-resolve", task, found.pk), said).status_code == 403


def test_a_person_escalates_on_the_page(world: World) -> None:
    task = world.start(world.line(stations=["build"]))
    said = {"trigger": "architecture", "reason": "Too big."}
    assert as_(world.operator).post(address("task-escalate", task), said).status_code == 302
    assert Escalation.objects.get(task=task).reason == "Too big."
    blank = as_(world.operator).post(address("task-escalate", task), {"trigger": "architecture"})
    assert blank.status_code == 422


@pytest.mark.wide
def test_it_needs_those_who_are_asked(world: World) -> None:
    _task, found = escalated(world)
    world.group("lead", world.operator)
    for user, asked in ((world.operator, True), (world.viewer, False)):
        page = as_(user).get(reverse("needs-me")).content.decode()
        assert (f"need-escalation-{found.pk}" in page) == asked
    said = {"verb": "resolve", "word": "retry", "reason": "Again."}
    as_(world.operator).post(reverse("need-act", args=["escalation", found.pk]), said)
    found.refresh_from_db()
    assert (found.how, found.resolved_by) == ("retry", world.operator)


@pytest.mark.wide
def test_a_deadlock_needs_those_who_are_asked(world: World) -> None:
    task, found = locked(world)
    page = as_(world.admin).get(reverse("needs-me")).content.decode()
    assert f"need-deadlock-{found.pk}" in page
    assert "more than twice the time" in as_(world.admin).get(address("task", task)).content.decode()
    said = {"verb": "unlock", "word": "output", "output": '{"built": true}', "reason": "It was done."}
    as_(world.admin).post(reverse("need-act", args=["deadlock", found.pk]), said)
    task.refresh_from_db()
    assert task.context == {"built": True}


def test_a_deadlock_is_resolved_on_the_page_of_its_task(world: World) -> None:
    task, found = locked(world)
    said = {"word": "context", "reason": "Use less."}
    assert as_(world.admin).post(address("task-unlock", task, found.pk), said).status_code == 302
    assert world.job(task).feedback == "Use less."


def contradicted(world: World, of: str = "") -> tuple[Task, Escalation]:
    branch = {"id": "on", "to": "release"}
    stations = [
        station("plan", {"id": "both", "to": ["qa", "security"]}),
        station("qa", {**branch, "id": "qa-on"}, agent=f"qa-agent{of}"),
        station("security", {**branch, "id": "security-on"}, agent=f"security-agent{of}"),
        station("release", {"id": "done", "to": "completed"}, join={"wait_for": ["qa", "security"]}),
    ]
    task = world.start(world.line(stations=stations, policy={"contradiction": "escalate"}))
    world.report(task, station="plan")
    for key, verdict in (("qa", "ship"), ("security", "stop")):
        handoff = {"decision_request": f"{key} decided."}
        said = {"result": "success", "output": {"release": verdict}, "summary": f"{key} says {verdict}"}
        world.report(task, {**said, "handoff": handoff}, station=key)
    return task, Escalation.objects.get(task=task)


def test_E23_the_page_of_a_contradiction_has_states_handoffs_and_a_suggestion(world: World) -> None:
    task, found = contradicted(world)
    about = (
        "qa-agent",
        "security-agent",
        "On hold",
        "qa says ship",
        "security says stop",
        "Choose the branch",
    )
    for user in (world.admin, world.viewer):
        page = as_(user).get(address("task", task)).content.decode()
        assert [words for words in about if words not in page] == []
    inbox = as_(world.admin).get(reverse("inbox"), follow=True).content.decode()
    assert [words for words in about if words not in inbox] == []
    assert inbox.count("need-deadlock-") == 0, "one thing to resolve, shown once"
    said = {"word": "choose", "route": "security", "reason": "A hole."}
    assert as_(world.admin).post(address("task-resolve", task, found.pk), said).status_code == 302
    task.refresh_from_db()
    assert task.context["release"] == "stop"
    assert "Choose the branch" not in as_(world.viewer).get(address("task", task)).content.decode()


def test_more_contradictions_cost_the_inbox_no_more_statements(world: World) -> None:
    counts = []
    for numbers in (range(2), range(2, 6)):
        for number in numbers:
            contradicted(world, f"-{number}")
        with CaptureQueriesContext(connection) as seen:
            items = [
                row
                for row in item_queries.open_escalations_for_viewer_roles(InboxViewer(world.admin))
                if row.about["each"].conflict
            ]
        counts.append((len(items), len(seen)))
    assert counts == [(2, counts[0][1]), (6, counts[0][1])]


def test_E23_a_contradiction_over_the_api_is_its_projects_alone(world: World, client: Client) -> None:
    task, found = contradicted(world)
    _token, secret = world.token_of(world.admin)
    _other, elsewhere = world.token_of(world.stranger)
    here = f"/api/owners/{task.project.owner.key}/projects/{task.project.key}/stages/line/tasks/{task.name}"
    mine: Any = {"headers": {"Authorization": f"Bearer {secret}"}, "content_type": "application/json"}
    theirs: Any = {**mine, "headers": {"Authorization": f"Bearer {elsewhere}"}}
    [told] = client.get(f"{here}/deadlocks", **mine).json()
    assert (told["kind"], told["escalation"], told["state"]) == ("contradiction", str(found.pk), "open")
    assert [party["agent"] for party in told["parties"]] == ["qa-agent", "security-agent"]
    assert [each["station"] for each in told["handoffs"]] == ["security", "qa", "plan"]
    assert client.get(f"{here}/deadlocks", **theirs).status_code == 404
    said = {"word": "choose", "route": "qa", "reason": "Ship it."}
    resolve = f"{here}/escalations/{found.pk}/resolve"
    assert client.post(resolve, said, **theirs).status_code == 404
    by_itself = {"word": "cancel", "reason": "Ship it."}
    assert client.post(f"{here}/deadlocks/{told['id']}/resolve", by_itself, **mine).status_code == 409
    assert client.post(resolve, said, **mine).status_code == 200
    [told] = client.get(f"{here}/deadlocks", **mine).json()
    assert (told["state"], told["how"], told["answer"]) == ("resolved", "output", "Ship it.")


def test_the_api_escalates_resolves_and_tells(world: World, client: Client) -> None:
    task = world.start(world.line(stations=["build"]))
    _token, secret = world.token_of(world.admin)
    here = f"/api/owners/{task.project.owner.key}/projects/{task.project.key}/stages/line/tasks/{task.name}"
    more: dict[str, Any] = {
        "headers": {"Authorization": f"Bearer {secret}"},
        "content_type": "application/json",
    }
    made = client.post(f"{here}/escalations", {"trigger": "security", "reason": "A key."}, **more)
    assert made.status_code == 201
    [told] = client.get(f"{here}/escalations", **more).json()
    assert (told["trigger"], told["state"]) == ("security", "open")
    said = {"word": "go_on", "reason": "It was a test key."}
    done = client.post(f"{here}/escalations/{told['id']}/resolve", said, **more)
    assert (done.status_code, done.json()["how"]) == (200, "go_on")
    other = engine.submit(
        task.pinned, actor=engine.Actor.person(world.admin), title="Other", depends_on=[task.name]
    )
    assert client.get(f"{here.replace(task.name, other.name)}/deadlocks", **more).json() == []
