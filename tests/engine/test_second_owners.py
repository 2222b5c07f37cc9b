"""A state whose table names two owners asks both: at its gate, and where its stage is reworked too often (AEEF E2, E16,
E20)."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Agent, Escalation, LineVersion, Project, Task, User
from reviews.decision.review_access import visits_among_which_user_may_decide
from tests.factories import World, make_member, make_project, station
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db

OWNERS = {"agent": "qa-agent", "second_agent": "devmgr-agent"}


def people(world: World) -> tuple[User, User]:
    """Whoever answers for the first agent and for the second."""
    qa, manager = (make_member(world.project, "operator", name) for name in ("qa", "manager"))
    answers_for(world.project, "qa-agent", qa)
    answers_for(world.project, "devmgr-agent", manager)
    return qa, manager


def answers_for(project: Project, key: str, owner: User) -> Agent:
    return Agent.objects.create(project=project, key=key, owner=owner, created_at=timezone.now())


def gated(world: World) -> LineVersion:
    """testing —[gate_4]→ ship, which asks the owners of the state."""
    onward = {"id": "on", "when": {"result": "success"}, "to": "ship", "gates": ["gate_4"]}
    gate = {"key": "gate_4", "name": "Gate 4", "mode": "manual", "approval": {"who": [{"owner": "testing"}]}}
    return world.line(stations=[station("testing", onward, **OWNERS), "ship"], gates=[gate])


def waiting(world: World) -> Task:
    task = world.start(gated(world))
    world.report(task)
    return task


def approve(world: World, task: Task, user: User) -> HttpResponse:
    """Over the gate endpoint."""
    project = f"/api/owners/{task.project.owner.key}/projects/{task.project.key}"
    _token, secret = world.token_of(user)
    answer: HttpResponse = Client().post(
        f"{project}/stages/line/tasks/{task.name}/gates/gate_4",
        {"action": "approve"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    return answer


def is_asked(task: Task, user: User, world: World) -> bool:
    """Tell whether the inbox of this person has it, by SQL."""
    visit = world.visit(task)
    return visits_among_which_user_may_decide(user, [world.project.pk], {visit.pk}) == {visit.pk}


def test_E2_both_owners_of_a_state_are_asked_at_its_gate(world: World) -> None:
    qa, manager = people(world)
    task = waiting(world)
    assert [is_asked(task, user, world) for user in (qa, manager, world.reviewer)] == [True, True, False]
    assert approve(world, task, world.reviewer).status_code == 403
    assert approve(world, task, qa).status_code == 200
    assert (world.at(task), is_asked(task, manager, world)) == (["testing"], True)
    page = as_(manager).get(reverse("gate-visit", args=[world.visit(task).pk])).content.decode()
    assert "whoever answers for devmgr-agent" in page
    assert approve(world, task, manager).status_code == 200
    assert world.at(task) == ["ship"]


def test_E2_who_answers_for_both_is_asked_once(world: World) -> None:
    qa, _manager = people(world)
    Agent.objects.filter(project=world.project).update(owner=qa)
    task = waiting(world)
    assert approve(world, task, qa).status_code == 200
    assert world.at(task) == ["ship"]


def test_E2_nobody_who_answers_for_the_second_is_never_an_approval(world: World) -> None:
    qa, _manager = people(world)
    Agent.objects.filter(project=world.project, key="devmgr-agent").delete()
    task = waiting(world)
    assert approve(world, task, qa).status_code == 200
    assert world.at(task) == ["testing"]


def test_E2_the_owner_of_an_agent_of_another_owner_is_nobody_here(world: World) -> None:
    people(world)
    elsewhere = make_project("elsewhere", "other")
    stranger = make_member(elsewhere, "admin", "devmgr")
    answers_for(elsewhere, "devmgr-agent", stranger)
    task = waiting(world)
    assert approve(world, task, stranger).status_code == 404
    assert not is_asked(task, stranger, world)


def reworked(world: World, **agents: Any) -> tuple[Task, Escalation]:
    """The stage was reworked three times, and would be a fourth time."""
    again = {"id": "again", "when": {"result": "failure"}, "to": "testing"}
    onward = {"id": "on", "when": {"result": "success"}, "to": "ship"}
    policy = {"standard_budgets": "yes", "self_loop_limit": "none"}
    line = world.line(stations=[station("testing", onward, again, **agents), "ship"], policy=policy)
    task = world.start(line)
    for _ in range(4):
        world.report(task, {"result": "failure"})
    return task, Escalation.objects.get(task=task)


def test_E20_rework_beyond_its_limit_asks_both_owners_of_the_stage(world: World) -> None:
    qa, manager = people(world)
    task, found = reworked(world, **OWNERS)
    assert found.role == "owner:qa-agent,devmgr-agent"
    address = reverse("task-resolve", args=[task.project.owner.key, task.project.key, task.name, found.pk])
    said = {"word": "retry", "reason": "Once more, with the seed."}
    assert as_(world.operator).post(address, said).status_code == 403
    page = as_(world.viewer).get(reverse("task", args=[task.project.owner.key, task.project.key, task.name]))
    words = page.content.decode()
    assert "Escalated to whoever answers for devmgr-agent or qa-agent" in words
    assert (
        "Whoever answers for devmgr-agent or qa-agent or an administrator of the project resolves it" in words
    )
    for user in (qa, manager):
        assert f"need-escalation-{found.pk}" in as_(user).get(reverse("needs-me")).content.decode()
    assert as_(manager).post(address, said).status_code == 302
    assert world.job(task).feedback == "Once more, with the seed."


def test_E20_a_stage_without_an_agent_asks_the_administrators(world: World) -> None:
    task, found = reworked(world)
    address = reverse("task-resolve", args=[task.project.owner.key, task.project.key, task.name, found.pk])
    said = {"word": "retry", "reason": "Again."}
    assert as_(world.operator).post(address, said).status_code == 403
    assert as_(world.admin).post(address, said).status_code == 302
