"""Gates that ask everybody of a role or group, and the owner of a station (law §6, Approval)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Forbidden
from pipelines.models import (
    Absence,
    Agent,
    Event,
    GateVisit,
    Group,
    LineVersion,
    Membership,
    Task,
    User,
)
from pipelines.people import departures, groups, members
from pipelines.work.scheduler import timers
from reviews.decision.review_access import visits_among_which_user_may_decide
from tests.engine.test_timers import pass_time
from tests.factories import World, make_member, station

pytestmark = pytest.mark.django_db


def asking(world: World, *who: dict[str, Any], agent: str = "", **gate: Any) -> Task:
    """build —[review]→ ship, waiting for whoever is asked."""
    rule = {"id": "to-ship", "when": {"result": "success"}, "to": "ship", "gates": ["review"]}
    build = station("build", rule) | ({"agent": agent} if agent else {})
    approval = {"who": list(who), **gate.pop("approval", {})}
    declared = [{"key": "review", "name": "Review", "mode": "manual", "approval": approval, **gate}]
    version: LineVersion = world.line(stations=[build, "ship"], gates=declared)
    task = world.start(version)
    world.report(task, {"result": "success", "summary": "Built."})
    return task


def grouped(world: World, key: str, *people: User) -> None:
    group, _new = Group.objects.get_or_create(project=world.project, key=key, defaults={"name": key})
    group.members.add(*people)


def agent(world: World, key: str, owner: User) -> Agent:
    return Agent.objects.create(project=world.project, key=key, owner=owner, created_at=timezone.now())


def finds(world: World, user: User, task: Task) -> bool:
    """Whether the inbox of this person has it, by SQL."""
    visit = world.visit(task)
    return visits_among_which_user_may_decide(user, [world.project.pk], {visit.pk}) == {visit.pk}


def test_everybody_of_a_group_has_to_approve(world: World) -> None:
    ann, ben, eva = (make_member(world.project, "viewer", name) for name in ("ann", "ben", "eva"))
    grouped(world, "law", ann, ben, eva)
    task = asking(world, {"group": "law", "count": "all"})
    for user in (ann, ben):
        assert finds(world, user, task)
        assert world.vote(task, "approve", by=user).state == "open"
        assert not finds(world, user, task)
    assert world.vote(task, "approve", by=eva).state == "decided"
    decided = Event.objects.get(task=task, kind="gate.decided")
    assert decided.data["everyone"] == sorted(user.username for user in (ann, ben, eva))


def test_who_is_barred_is_none_of_all(world: World) -> None:
    ann = make_member(world.project, "viewer", "ann")
    grouped(world, "law", ann, world.operator)
    task = asking(world, {"group": "law", "count": "all"})
    assert world.vote(task, "approve", by=ann).state == "decided"


def test_one_rejection_decides_against_all(world: World) -> None:
    ann, ben = (make_member(world.project, "viewer", name) for name in ("ann", "ben"))
    grouped(world, "law", ann, ben)
    task = asking(world, {"group": "law", "count": "all"})
    world.vote(task, "approve", by=ann)
    assert world.vote(task, "reject", by=ben, reason="No.").state == "decided"


def test_a_rejection_beside_all_counts_while_one_of_all_is_missing(world: World) -> None:
    ann, ben = (make_member(world.project, "viewer", name) for name in ("ann", "ben"))
    grouped(world, "law", ann, ben)
    first, second = world.reviewers(2)
    task = asking(world, {"group": "law", "count": "all"}, {"role": "reviewer"})
    world.vote(task, "approve", by=ann)
    assert world.vote(task, "approve", by=first).state == "open"
    assert world.vote(task, "reject", by=second, reason="No.").state == "decided"


def test_a_gate_that_rejects_does_so_while_one_of_all_is_missing(world: World) -> None:
    ann, ben = (make_member(world.project, "viewer", name) for name in ("ann", "ben"))
    grouped(world, "law", ann, ben)
    task = asking(world, {"group": "law", "count": "all"}, due={"after": "1h", "then": "reject"})
    world.vote(task, "approve", by=ann)
    pass_time(task)
    assert timers.run_due_timers_and_triggers() == {"fired": 1}
    assert GateVisit.objects.get(task=task).word == "reject"


def test_who_stands_in_for_one_of_all_approves_for_both(world: World) -> None:
    ann, ben = (make_member(world.project, "viewer", name) for name in ("ann", "ben"))
    grouped(world, "law", ann, ben)
    until = timezone.now() + timedelta(days=1)
    Absence.objects.create(user=ann, stand_in=ben, until=until, created_at=timezone.now())
    task = asking(world, {"group": "law", "count": "all"})
    assert world.vote(task, "approve", by=ben, seat=ann.username).state == "decided"


def test_who_joins_is_waited_for_and_who_leaves_is_not(world: World) -> None:
    ann, ben, eva = (make_member(world.project, "viewer", name) for name in ("ann", "ben", "eva"))
    grouped(world, "law", ann, ben)
    task = asking(world, {"group": "law", "count": "all"})
    world.vote(task, "approve", by=ann)
    grouped(world, "law", eva)
    assert world.vote(task, "approve", by=eva).state == "open", "ben has not approved"
    dan = make_member(world.project, "viewer", "dan")
    grouped(world, "law", dan)
    Membership.objects.get(project=world.project, user=ben).delete()
    assert world.vote(task, "approve", by=dan).state == "decided"


def _removed(world: World, user: User) -> None:
    departures.remove_person(world.project, user, heir=None, by=world.admin, now=timezone.now())


def _deactivated(world: World, user: User) -> None:
    departures.deactivate_user(user, heir=None, by=None, now=timezone.now())


def _out_of_the_group(world: World, user: User) -> None:
    group = Group.objects.get(key="law")
    left = group.members.exclude(pk=user.pk)
    groups.set_group_members(group, list(left), by=world.admin, now=timezone.now())


@pytest.mark.parametrize("goes", [_removed, _deactivated, _out_of_the_group])
def test_where_nobody_else_was_missing_their_leaving_decides(
    world: World,
    django_capture_on_commit_callbacks: Callable[..., Any],
    goes: Callable[[World, User], None],
) -> None:
    ann, ben, eva = (make_member(world.project, "viewer", name) for name in ("ann", "ben", "eva"))
    grouped(world, "law", ann, ben, eva)
    task = asking(world, {"group": "law", "count": "all"})
    world.vote(task, "approve", by=ann)
    with django_capture_on_commit_callbacks(execute=True):
        goes(world, eva)
    assert world.status(task) == "awaiting_review", "ben has not approved"
    with django_capture_on_commit_callbacks(execute=True):
        goes(world, ben)
    visit = GateVisit.objects.get(task=task)
    assert (visit.state, visit.word, visit.decided_by, world.at(task)) == (
        "decided",
        "approve",
        ann,
        ["ship"],
    )
    assert Event.objects.get(task=task, kind="gate.decided").data["everyone"] == [ann.username]


def test_who_loses_the_role_is_waited_for_no_longer(
    world: World, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    first, second = world.reviewers(2)
    task = asking(world, {"role": "reviewer", "count": "all"})
    for approver in (first, world.admin):
        world.vote(task, "approve", by=approver)
    demoted = Membership.objects.get(project=world.project, user=second)
    with django_capture_on_commit_callbacks(execute=True):
        members.change_member(
            world.project, demoted.pk, roles=["viewer"], execute=False, by=None, now=timezone.now()
        )
    assert world.at(task) == ["ship"]


def test_what_was_missed_is_decided_within_the_hour(world: World) -> None:
    ann, ben = (make_member(world.project, "viewer", name) for name in ("ann", "ben"))
    grouped(world, "law", ann, ben)
    task = asking(world, {"group": "law", "count": "all"})
    world.vote(task, "approve", by=ann)
    assert engine.decide_gates_all_have_approved(timezone.now()) == 0
    Membership.objects.get(project=world.project, user=ben).delete()
    assert engine.decide_gates_all_have_approved(timezone.now()) == 1
    assert world.at(task) == ["ship"]
    assert engine.decide_gates_all_have_approved(timezone.now()) == 0


def test_the_owner_of_a_station_is_asked_and_nobody_else(world: World) -> None:
    olga, ann = (make_member(world.project, "operator", name) for name in ("olga", "ann"))
    builder = agent(world, "builder", olga)
    task = asking(world, {"owner": "build"}, agent="builder")
    assert finds(world, olga, task) and not finds(world, ann, task)
    with pytest.raises(Forbidden):
        world.vote(task, "approve", by=ann)
    builder.owner = ann
    builder.save()
    assert finds(world, ann, task) and not finds(world, olga, task)
    assert world.vote(task, "approve", by=ann).state == "decided"


def test_a_vote_of_an_owner_counts_when_the_agent_is_handed_over(world: World) -> None:
    olga, ann, rev = (make_member(world.project, "operator", name) for name in ("olga", "ann", "rev"))
    builder = agent(world, "builder", olga)
    task = asking(world, {"owner": "build"}, {"user": rev.username}, agent="builder")
    world.vote(task, "approve", by=olga)
    builder.owner = ann
    builder.save()
    with pytest.raises(Forbidden):
        world.vote(task, "approve", by=olga)
    assert world.vote(task, "approve", by=rev).state == "decided"
