"""Branches that contradict each other pause the agents that wrote it, until their escalation is resolved (AEEF E22,
E23)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.errors import Conflict, Forbidden
from pipelines.models import Deadlock, Escalation, Task
from pipelines.routing.decide.deadlocks import SUGGESTIONS
from reviews.mail.notices import notice_mail_if_still_open
from reviews.models import Notice
from tests.engine.joining import begun, gate5, on
from tests.factories import World, make_member, station

pytestmark = pytest.mark.django_db

MANAGER = {"trigger": "deadlock", "role": "Development Manager"}
ARCHITECT = {"trigger": "contradiction", "role": "Solution Architect"}


def contradicted(world: World, **more: Any) -> Task:
    """qa and then its checker, security: qa's word about `n` stays as it was, security says another one."""
    qa = on("qa", {"to": "check"}, agent="qa-agent")
    check = on("check", {"to": "release"}, agent="checker")
    security = on("security", {"to": "release"}, agent="security-agent")
    release = on(
        "release", {"to": "completed"}, join={"wait_for": ["check", "security"]}, agent="release-agent"
    )
    line = gate5(
        world, qa, check, security, release,
        policy={"contradiction": "escalate"}, escalations=[MANAGER, ARCHITECT], **more,
    )  # fmt: skip
    task = begun(world, line)
    handoff = {"next": "Release it."}
    world.report(task, {"result": "success", "output": {"n": 1, "m": 1}}, station="qa")
    world.report(task, {"result": "success", "output": {"x": 1}, "handoff": handoff}, station="check")
    world.report(task, {"result": "success", "output": {"n": 2}}, station="security")
    return task


def work_of(world: World, agent: str) -> bool:
    """True if the agent gets new work of another task."""
    key = f"other-{agent}"
    other = world.start(world.line(key=key, stations=[station("do", agent=agent)]))
    return engine.start_claimed_job_or_none(world.job(other).pk, world.claim()) is not None


def resolve(world: World, task: Task, word: str, **more: Any) -> Task:
    found = Escalation.objects.get(task=task)
    return engine.resolve_escalation(
        found.pk, **{"user": world.admin, "word": word, "reason": "Because.", **more}
    )


def test_E22_branches_that_contradict_each_other_are_a_deadlock_of_who_wrote_it(world: World) -> None:
    task = contradicted(world)
    found = Deadlock.objects.get()
    assert (found.kind, found.role, found.task) == ("contradiction", "Development Manager", task)
    assert found.escalation == Escalation.objects.get(task=task, role="Solution Architect")
    told = [(party["station"], party["agent"]) for party in found.parties]
    assert told == [("qa", "qa-agent"), ("security", "security-agent")], "and not who wrote nothing of it"


def test_E23_the_agents_of_a_contradiction_get_no_new_work_until_it_is_resolved(world: World) -> None:
    task = contradicted(world)
    assert [work_of(world, agent) for agent in ("qa-agent", "security-agent")] == [False, False]
    assert [work_of(world, agent) for agent in ("checker", "release-agent")] == [True, True]
    resolve(world, task, "choose", route="check")
    task.refresh_from_db()
    assert (task.context["n"], world.at(task), world.status(task)) == (1, ["release"], "queued")
    assert [work_of(world, agent) for agent in ("qa-agent", "security-agent")] == [True, True]
    found = Deadlock.objects.get()
    assert (found.state, found.how, found.resolved_by) == ("resolved", "output", world.admin)


def test_E23_of_a_contradiction_the_manager_is_told_states_handoffs_and_a_suggestion(world: World) -> None:
    manager, architect = (make_member(world.project, "viewer", name) for name in ("manager", "architect"))
    world.group("development-manager", manager)
    world.group("solution-architect", architect)
    contradicted(world)
    found = Deadlock.objects.get()
    assert [(party["agent"], party["status"]) for party in found.parties] == [
        ("qa-agent", "held"),
        ("security-agent", "held"),
    ]
    handed = {each["station"]: each["handoff"] for each in found.handoffs}
    assert handed["check"] == {"next": "Release it."}
    assert found.suggestion == SUGGESTIONS["contradiction"]
    told = set(Notice.objects.values_list("kind", "address"))
    assert told == {("deadlock", manager.email), ("escalated", architect.email)}


def test_E23_both_mails_have_agents_states_handoffs_and_the_suggestion(world: World) -> None:
    manager, architect = (make_member(world.project, "viewer", name) for name in ("manager", "architect"))
    world.group("development-manager", manager)
    world.group("solution-architect", architect)
    contradicted(world)
    anchors = {"deadlock": Deadlock.objects.get().pk, "escalation": Escalation.objects.get().pk}
    mails = [
        mail.body for notice in Notice.objects.order_by("kind") if (mail := notice_mail_if_still_open(notice))
    ]
    for body, (anchor, about) in zip(mails, anchors.items(), strict=True):
        words = ("qa-agent", "security-agent", "On hold", "check: success", SUGGESTIONS["contradiction"])
        assert [each for each in (*words, f"#{anchor}-{about}") if each not in body] == []


def test_who_is_of_both_roles_is_told_once(world: World) -> None:
    contradicted(world)
    assert list(Notice.objects.values_list("kind", flat=True)) == ["escalated"]


@pytest.mark.parametrize("group", ["development-manager", "solution-architect"])
def test_E23_either_role_resolves_it_once(world: World, group: str) -> None:
    somebody, nobody = world.reviewers(2)
    world.group(group, somebody)
    world.group("development-manager" if group == "solution-architect" else "solution-architect", world.admin)
    task = contradicted(world)
    with pytest.raises(Forbidden):
        resolve(world, task, "go_on", user=nobody)
    resolve(world, task, "go_on", user=somebody)
    with pytest.raises(Conflict):
        resolve(world, task, "go_on", user=world.admin)
    assert Deadlock.objects.get().resolved_by == somebody


def test_E23_context_reaches_the_station_where_they_meet(world: World) -> None:
    task = contradicted(world)
    resolve(world, task, "retry", reason="Both count: 3.")
    assert (world.job(task).station, world.job(task).feedback) == ("release", "Both count: 3.")
    assert Deadlock.objects.get().how == "context"


@pytest.mark.parametrize("by", ["word", "cancel"])
def test_E23_a_task_that_ends_lets_them_go(world: World, by: str) -> None:
    task = contradicted(world)
    if by == "word":
        resolve(world, task, "cancel")
    else:
        engine.cancel(task.pk, actor=engine.Actor.person(world.operator))
    found = Deadlock.objects.get()
    assert (world.status(task), found.state) == ("cancelled", "resolved")
    assert found.how == ("cancel" if by == "word" else "ended")
    assert work_of(world, "qa-agent")


def test_it_is_resolved_by_its_escalation_alone(world: World) -> None:
    contradicted(world)
    with pytest.raises(Conflict, match="escalation"):
        engine.resolve_deadlock(Deadlock.objects.get().pk, user=world.admin, word="cancel", reason="No.")


def test_later_wins_pauses_nobody(world: World) -> None:
    task = begun(world, gate5(world, policy={"contradiction": "later_wins"}))
    for key, value in (("qa", 1), ("security", 2)):
        world.report(task, {"result": "success", "output": {"n": value}}, station=key)
    assert not Deadlock.objects.exists() and world.at(task) == ["release"]
