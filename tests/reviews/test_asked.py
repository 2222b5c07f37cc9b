"""Who may decide, asked of SQL: the same people as by the engine's rule, for every way a gate asks."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines import engine
from pipelines.models import GateVisit, Membership, User
from reviews.decision.entitlements import Entitlements
from reviews.decision.invariants import asked_people_violations, asked_place_violations
from reviews.decision.review_access import (
    ReviewFilter,
    ordered_open_visits_of_projects,
    ordered_open_visits_user_requested,
    ordered_visits_user_may_decide,
    visits_among_which_user_may_decide,
)
from reviews.models import AskedPlace
from tests.factories import World
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db

WHO: dict[str, dict[str, Any]] = {
    "a role": {"who": [{"role": "reviewer", "count": 1}]},
    "a role that others include": {"who": [{"role": "operator", "count": 2}]},
    "a group": {"who": [{"group": "security", "count": 1}]},
    "a person": {"who": [{"user": "second", "count": 1}]},
    "several": {"who": [{"role": "reviewer", "count": 1}, {"group": "security", "count": 2}]},
    "a group that nobody is in": {"who": [{"group": "nobody", "count": 1}]},
    "the requester too": {"who": [{"role": "operator", "count": 1}], "requester_may": True},
    "the producer too": {"who": [{"role": "operator", "count": 1}], "producer_may": True},
}


def by_rule(user: User) -> set[Any]:
    standings = Entitlements(user)
    visits = GateVisit.objects.select_related("task", "job", "asked_by")
    return {visit.pk for visit in visits if standings.entitlement_to_visit(visit).may}


def by_sql(world: World, user: User) -> set[Any]:
    within = ReviewFilter([world.project.pk])
    return {visit_id for _at, visit_id in ordered_visits_user_may_decide(user, within, 1000)}


@pytest.fixture
def people(world: World) -> list[User]:
    everybody = [world.viewer, world.operator, world.designer, world.reviewer, world.admin, world.stranger]
    second, third = world.reviewers(2)
    second.username = "second"
    second.save()
    world.group("security", second, third, world.viewer)
    inactive = world.reviewers(1)[0]
    inactive.is_active = False
    inactive.save()
    return [*everybody, second, third, inactive]


@pytest.mark.smoke(4)
@pytest.mark.parametrize("kind", WHO)
def test_sql_names_the_people_of_the_rule(world: World, people: list[User], kind: str) -> None:
    stations = gated(approval=WHO[kind])
    stations["stations"][0] |= {"work": {"kind": "manual"}} if kind == "the producer too" else {}
    task = world.start(world.line(**stations))
    world.report(task)
    for _look in range(3):
        for user in people:
            assert by_sql(world, user) == by_rule(user), user
        may = [user for user in people if by_rule(user)]
        if not may or world.at(task) != ["build"]:
            break
        world.vote(task, "approve", by=may[0])
    assert list(asked_place_violations(None)) == []
    assert list(asked_people_violations(None)) == []


def test_what_changes_with_people_is_looked_up(world: World) -> None:
    task = world.start(world.line(**gated(approval={"who": [{"group": "security", "count": 1}]})))
    world.report(task)
    group = world.group("security")
    assert by_sql(world, world.reviewer) == set()
    group.members.add(world.reviewer)
    assert by_sql(world, world.reviewer) == {world.visit(task).pk}
    Membership.objects.filter(user=world.reviewer).delete()
    assert by_sql(world, world.reviewer) == set()


def test_the_only_member_is_asked_as_requester_too(world: World) -> None:
    task = world.start(world.line(**gated()), by=world.admin)
    world.report(task)
    Membership.objects.exclude(user=world.admin).delete()
    assert by_sql(world, world.admin) == by_rule(world.admin) == {world.visit(task).pk}
    assert (
        ordered_open_visits_user_requested(world.admin, ReviewFilter([world.project.pk]), 10)[0][1]
        == world.visit(task).pk
    )


def test_nothing_is_listed_of_what_is_over(world: World) -> None:
    version = world.line(**gated())
    decided, cancelled, waits = (world.start(version) for _ in range(3))
    for task in (decided, cancelled, waits):
        world.report(task)
    world.vote(decided, "approve")
    engine.cancel(cancelled.pk, actor=engine.ENGINE)
    [place] = ordered_open_visits_of_projects(world.viewer, ReviewFilter([world.project.pk]), 10)
    assert place[1] == world.visit(waits).pk
    assert AskedPlace.objects.count() == 1


def test_the_invariant_names_what_differs(world: World) -> None:
    task = world.start(world.line(**gated()))
    world.report(task)
    assert world.reviewer.is_active
    AskedPlace.objects.update(name="designer")
    assert [each.subject for each in asked_place_violations([task.pk])] == [
        f"gate visit {world.visit(task).pk}"
    ]
    assert any(asked_people_violations([task.pk]))
    AskedPlace.objects.update(name="reviewer")


@pytest.mark.wide
def test_a_page_of_many_follows_the_last_one(world: World) -> None:
    version = world.line(**gated(due={"after": 60, "then": "remind"}))
    later = world.line(**{**gated(), "key": "later"})
    for each in (later, version, later, version):
        world.report(world.start(each))
    within = ReviewFilter([world.project.pk])
    whole = ordered_visits_user_may_decide(world.reviewer, within, 10)
    with CaptureQueriesContext(
        connection,
    ) as counted:
        first = ordered_visits_user_may_decide(world.reviewer, within, 2)
    assert len(counted) == 2
    assert [*first, *ordered_visits_user_may_decide(world.reviewer, within, 10, after=first[-1])] == whole
    gates = GateVisit.objects.in_bulk([visit_id for _at, visit_id in whole])
    assert [bool(gates[visit_id].due_at) for _at, visit_id in whole] == [True, True, False, False]
    assert visits_among_which_user_may_decide(world.reviewer, [world.project.pk], [whole[0][1]]) == {
        whole[0][1]
    }
