"""Stand-ins of people who are away (law §6, Absence)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from pipelines import engine
from pipelines.engine.commands.event_export import export_task
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound, Refused
from pipelines.models import Absence, AdministrativeAct, GateVisit, Membership, Project, Task, User, Vote
from pipelines.people import absences
from reviews.decision.entitlements import Entitlements
from reviews.decision.invariants import asked_people_violations
from reviews.decision.review_access import ReviewFilter, asked_people_rows, ordered_visits_user_may_decide
from reviews.models import AskedPlace, Notification
from tests.factories import World, make_member, make_project
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db
FAR = datetime(2999, 1, 1, tzinfo=UTC)
PAST = datetime(2001, 1, 1, tzinfo=UTC)


def away(user: User, stand_in: User, project: Project | None = None, until: datetime = FAR) -> Absence:
    return Absence.objects.create(user=user, stand_in=stand_in, project=project, until=until, created_at=PAST)


def waiting(world: World, by: User | None = None, **approval: Any) -> Task:
    task = world.start(world.line(**gated(approval=approval) if approval else gated()), by=by)
    world.report(task)
    return task


def listed(world: World, user: User) -> bool:
    return bool(ordered_visits_user_may_decide(user, ReviewFilter([world.project.pk]), 10))


def may(world: World, task: Task, user: User) -> bool:
    """Whether a vote of theirs is taken, the rule says so, and the list of SQL has it: all the same."""
    visit = GateVisit.objects.select_related("task", "job", "asked_by").get(pk=world.visit(task).pk)
    try:
        with transaction.atomic():
            world.vote(task, "approve", by=user)
            raise Undone
    except Undone:
        taken = True
    except Refused:
        taken = False
    assert (Entitlements(user).entitlement_to_visit(visit).may, listed(world, user)) == (taken, taken)
    return taken


class Undone(Exception):
    """The vote was taken, and is rolled back."""


def test_a_stand_in_decides_and_both_are_named(world: World) -> None:
    task = waiting(world)
    assert not may(world, task, world.viewer)
    away(world.reviewer, world.viewer)
    assert may(world, task, world.viewer)
    assert may(world, task, world.reviewer), "who is away still may decide"
    world.vote(task, "approve", by=world.viewer)
    vote = Vote.objects.get()
    assert (vote.user, vote.stands_for, vote.entitled_as["username"]) == (
        world.viewer,
        world.reviewer,
        world.reviewer.username,
    )
    event = task.events.get(kind="gate.voted")
    assert (event.actor, event.data["stands_for"]) == (
        f"person:{world.viewer.pk}",
        world.reviewer.username,
    )
    approvals = [line["human_approval"] for line in export_task(task) if line["human_approval"]]
    assert {each["in_place_of"] for each in approvals} == {world.reviewer.username}


@pytest.mark.wide
def test_it_ends_by_the_clock_of_the_database(world: World) -> None:
    task = waiting(world)
    row = away(world.reviewer, world.viewer, until=PAST)
    assert not may(world, task, world.viewer)
    Absence.objects.filter(pk=row.pk).update(until=FAR)
    assert may(world, task, world.viewer)


@pytest.mark.wide
def test_one_of_a_project_counts_there_instead(world: World) -> None:
    task, other = waiting(world), make_project("else", "where")
    away(world.reviewer, world.viewer)
    row = away(world.reviewer, world.designer, world.project)
    assert (may(world, task, world.viewer), may(world, task, world.designer)) == (False, True)
    Absence.objects.filter(pk=row.pk).update(until=PAST)
    assert (may(world, task, world.viewer), may(world, task, world.designer)) == (True, False)
    Absence.objects.filter(project=None).update(project=other)
    assert not may(world, task, world.viewer)


@pytest.mark.wide
def test_a_chain_is_of_three_and_ends_at_a_circle(world: World) -> None:
    task = waiting(world, who=[{"user": "first", "count": 1}])
    people = [world.reviewer, *(make_member(world.project, "viewer") for _ in range(4))]
    people[0].username = "first"
    people[0].save()
    for one, next_one in pairwise(people):
        away(one, next_one)
    assert [may(world, task, each) for each in people] == [True, True, True, True, False]
    Absence.objects.filter(user=people[2]).update(stand_in=people[1])
    assert [may(world, task, each) for each in people] == [True, True, True, False, False]
    Absence.objects.filter(user=people[1]).delete()
    assert [may(world, task, each) for each in people] == [True, True, False, False, False]


@pytest.mark.parametrize("place", ["absent", "between", "stand-in"])
@pytest.mark.parametrize("involved", ["requester", "producer"])
def test_a_bar_on_anyone_of_the_chain_bars_it(world: World, place: str, involved: str) -> None:
    people = dict(zip(("absent", "between", "stand-in"), world.reviewers(3), strict=True))
    barred = people[place]
    asked_for = {"who": [{"user": people["absent"].username, "count": 1}]}
    task = waiting(world, barred if involved == "requester" else None, **asked_for)
    if involved == "producer":
        GateVisit.objects.update(producers=[f"person:{barred.pk}"])
        visit = GateVisit.objects.select_related("task", "job", "asked_by").get()
        AskedPlace.objects.all().delete()
        AskedPlace.objects.bulk_create(asked_people_rows(visit))
    away(people["absent"], people["between"])
    away(people["between"], people["stand-in"])
    expected = {"absent": [False] * 3, "between": [True, False, False], "stand-in": [True, True, False]}
    assert [may(world, task, each) for each in people.values()] == expected[place]


@pytest.mark.wide
def test_a_seat_is_taken_once(world: World) -> None:
    task = waiting(world, who=[{"role": "reviewer", "count": 2}])
    away(world.reviewer, world.viewer)
    world.vote(task, "approve", by=world.viewer)
    assert not may(world, task, world.reviewer)
    with pytest.raises(Conflict, match="has already voted here for"):
        world.vote(task, "approve", by=world.reviewer)
    with pytest.raises(IntegrityError), transaction.atomic():
        vote = Vote.objects.get()
        vote.pk, vote.user, vote.stands_for = None, world.reviewer, None
        vote.save(force_insert=True)
    [second] = world.reviewers(1)
    away(second, world.viewer)
    assert not may(world, task, world.viewer), "one person has one vote, whomever they stand for"
    world.vote(task, "approve", by=second)
    assert world.at(task) == ["ship"]


def test_one_chooses_in_whose_place(world: World) -> None:
    task = waiting(world, who=[{"role": "reviewer", "count": 1}, {"group": "security", "count": 1}])
    world.group("security", world.designer)
    away(world.designer, world.reviewer)
    visit = world.visit(task)
    about = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
    with pytest.raises(Forbidden, match="do not stand in for"):
        engine.vote(visit, user=world.reviewer, word="approve", seat="nobody", **about)
    engine.vote(visit, user=world.reviewer, word="approve", seat=world.designer.username, **about)
    assert Vote.objects.get().stands_for == world.designer
    [second] = world.reviewers(1)
    engine.vote(visit, user=second, word="approve", **about)
    assert world.at(task) == ["ship"]


@pytest.mark.parametrize("gone", ["no member", "deactivated", "stand-in no member", "stand-in deactivated"])
def test_both_are_members_who_can_sign_in(world: World, gone: str) -> None:
    task = waiting(world)
    away(world.reviewer, world.viewer)
    who = world.viewer if gone.startswith("stand-in") else world.reviewer
    if gone.endswith("no member"):
        Membership.objects.filter(user=who).delete()
    else:
        User.objects.filter(pk=who.pk).update(is_active=False)
    assert not may(world, task, User.objects.get(pk=world.viewer.pk))


def test_a_stand_in_cannot_override(world: World) -> None:
    task = waiting(world)
    away(world.admin, world.viewer)
    visit = world.visit(task)
    with pytest.raises(Forbidden):
        engine.override_gate_as_administrator(
            visit.pk,
            user=world.viewer,
            comment="Nobody is here",
            confirm=task.name,
            token_version=visit.token_version,
            evidence_digest=visit.evidence_digest,
        )


def test_stand_ins_are_told_of_reviews(world: World) -> None:
    away(world.reviewer, world.viewer)
    waiting(world)
    assert Notification.objects.filter(user=world.viewer, kind="review").exists()
    assert not Notification.objects.filter(user=world.designer, kind="review").exists()


def test_the_invariant_compares_lists_with_the_rule(world: World) -> None:
    task = waiting(world)
    away(world.reviewer, world.viewer)
    away(world.viewer, world.designer)
    assert list(asked_people_violations([task.pk])) == []


def test_naming_a_stand_in_is_refused_where_it_cannot_be(world: World) -> None:
    now = datetime(2026, 11, 23, tzinfo=UTC)
    until, other = now + timedelta(days=3), make_project("else", "where")
    me, her = world.reviewer, world.viewer
    for path, given in {
        "until": (her, None, now),
        "project": (her, other, until),
        "stand_in": (world.stranger, None, until),
    }.items():
        with pytest.raises(Invalid) as refused:
            absences.set_absence(me, *given, now=now)
        assert refused.value.path == path
    with pytest.raises(Invalid):
        absences.set_absence(me, me, None, until, now=now)
    with pytest.raises(Invalid):
        absences.set_absence(me, her, None, now + timedelta(days=400), now=now)
    assert not Absence.objects.exists()


def test_naming_replaces_refuses_a_circle_and_is_recorded(world: World) -> None:
    now = datetime.now(UTC)
    until = now + timedelta(days=3)
    absences.set_absence(world.reviewer, world.designer, None, until, now=now)
    kept = absences.set_absence(world.reviewer, world.viewer, None, until, now=now)
    absences.set_absence(world.viewer, world.operator, world.project, until, now=now)
    with pytest.raises(Invalid, match="stand in for yourself"), transaction.atomic():
        absences.set_absence(world.operator, world.reviewer, None, until, now=now)
    with pytest.raises(NotFound):
        absences.end_absence(world.viewer, kept.pk, now=now)
    absences.end_absence(world.reviewer, kept.pk, now=now)
    kinds = AdministrativeAct.objects.filter(kind__startswith="absence").order_by("pk")
    assert list(kinds.values_list("kind", flat=True)) == ["absence.set"] * 3 + ["absence.ended"]
