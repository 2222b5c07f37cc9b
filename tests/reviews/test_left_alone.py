"""Whoever deactivates or removes the others does not get a project of one by it: for 30 days those count, and requester
and producer stay barred (law §6)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.models import GateVisit, Membership, Project, Task, User, Vote
from pipelines.people import departures, provider_roles
from tests.api.conftest import Apis, gate_path
from tests.factories import World, make_member
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db(transaction=True)


def deactivated(world: World, mallory: User, other: User) -> None:
    """On the page of the member, by an admin."""
    member = Membership.objects.get(user=other)
    path = reverse("member-account", args=[world.project.owner.key, world.project.key, member.pk])
    assert client_of(mallory).post(path, {"deactivate": "1"}).status_code == 302
    other.refresh_from_db()
    assert not other.is_active


def removed(world: World, mallory: User, other: User) -> None:
    departures.remove_person(world.project, other, heir=None, by=mallory, now=timezone.now())


def without_a_group(world: World, mallory: User, other: User) -> None:
    """The provider says that they are in no group any more."""
    Membership.objects.filter(user=other).update(roles=["reviewer"], provider_roles=["reviewer"])
    provider_roles.set_roles_given_by_provider(other, [], {}, timezone.now())


def by_hand(world: World, mallory: User, other: User) -> None:
    """In the administration, or in the database."""
    User.objects.filter(pk=other.pk).update(is_active=False)


WAYS: list[Callable[[World, User, User], None]] = [deactivated, removed, without_a_group, by_hand]


def approve(task: Task, user: User) -> int:
    visit = GateVisit.objects.get(task=task, state=GateVisit.State.OPEN)
    seen = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
    return (
        client_of(user).post(reverse("gate-decide", args=[visit.pk]), {"word": "approve", **seen}).status_code
    )


@pytest.mark.smoke(4)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("part", ["requester", "producer"])
def test_who_was_left_alone_stays_barred_for_a_month(
    world: World, way: Callable[[World, User, User], None], part: str
) -> None:
    mallory = make_member(world.project, ["admin", "operator"], "mallory")
    other = make_member(world.project, ["reviewer", "operator"], "other")
    document = gated()
    document["stations"][0]["work"] = {"kind": "manual", "instructions": "Build it."}
    version = world.line(**document)
    task = world.start(version, by=mallory if part == "requester" else other)
    world.report(task, by=f"person:{mallory.pk}")
    for member in Membership.objects.exclude(user__in=[mallory, other]):
        member.delete()
    Project.objects.update(left_at=None)
    way(world, mallory, other)
    assert Membership.objects.filter(user__is_active=True).count() == 1
    assert approve(task, mallory) == 403
    said = {"action": "approve", "visit": str(world.visit(task).pk)}
    assert Apis(world).as_(mallory).post(gate_path(task), said).status_code == 403
    assert not Vote.objects.exists()
    Project.objects.update(left_at=timezone.now() - timedelta(days=30, seconds=1))
    assert approve(task, mallory) == 302
    assert Vote.objects.get().self_approved


def test_a_project_that_never_had_another_member_is_one_of_one(world: World) -> None:
    mallory = make_member(world.project, ["admin", "operator"], "mallory")
    task = world.start(world.line(**gated()), by=mallory)
    world.report(task, {"result": "success"})
    Membership.objects.exclude(user=mallory).delete()
    Project.objects.update(left_at=None)
    assert approve(task, mallory) == 302 and Vote.objects.get().self_approved
