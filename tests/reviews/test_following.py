"""Following a task, a line or a station: told by bell and mail, silent without access."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Membership, Task, User
from reviews.models import Follow, Notification
from reviews.notifications.notification_queries import NotificationView, visible_notifications_newest_first
from tests.factories import World, make_member
from tests.reviews.conftest import gated
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(world: World) -> User:
    return make_member(world.project, "viewer", "reader")


@pytest.fixture
def task(world: World) -> Task:
    return world.start(world.line(**gated()), title="Add login")


def follow(world: World, who: User, **what: Any) -> None:
    address = reverse("follow", args=[world.project.owner.key, world.project.key])
    assert as_(who).post(address, {"follow": "yes", **what}).status_code == 302


def unfollow(world: World, who: User, **what: Any) -> None:
    follow(world, who, **what | {"follow": "no"})


def told(who: User) -> list[str]:
    rows = (
        visible_notifications_newest_first(who)
        .filter(kind="followed")
        .select_related("project__owner", "task")
    )
    return [NotificationView(row).wording.text for row in rows.order_by("pk")]


def test_a_followed_task_tells_of_its_review_decision_and_end(world: World, task: Task, reader: User) -> None:
    follow(world, reader, task=task.name)
    world.report(task)
    world.vote(task, "approve")
    world.report(task)
    assert told(reader) == [
        "“Add login” waits for a review.",
        "“Add login” was decided: Approve.",
        "“Add login” is completed.",
    ]
    assert set(Notification.objects.filter(user=reader).values_list("state", flat=True)) == {"digest"}


def test_a_followed_station_tells_of_arrivals_and_a_line_of_ends(
    world: World, task: Task, reader: User
) -> None:
    other = make_member(world.project, "viewer", "other")
    follow(world, reader, line="release", station="ship")
    follow(world, other, line="release")
    world.report(task)
    assert told(reader) == told(other) == []
    world.vote(task, "approve")
    assert told(reader) == ["“Add login” is at ship now."]
    world.report(task)
    assert (len(told(reader)), told(other)) == (1, ["“Add login” is completed."])


def test_one_event_is_told_once_and_never_to_who_did_it(world: World, task: Task) -> None:
    for what in ({"task": task.name}, {"line": "release"}):
        follow(world, world.reviewer, **what)
        follow(world, world.operator, **what)
    world.report(task)
    world.vote(task, "approve", by=world.reviewer)
    world.report(task)
    assert told(world.reviewer) == ["“Add login” waits for a review.", "“Add login” is completed."]
    # Whoever requested it is told of the end as ever.
    assert told(world.operator) == ["“Add login” waits for a review.", "“Add login” was decided: Approve."]


def test_without_access_it_is_silent_and_no_longer_followed_it_is_over(
    world: World, task: Task, reader: User
) -> None:
    other = make_member(world.project, "viewer", "other")
    for who in (reader, other):
        follow(world, who, task=task.name)
    unfollow(world, other, task=task.name)
    Membership.objects.filter(user=reader).delete()
    world.report(task)
    assert not Notification.objects.filter(kind="followed").exists()
    assert Follow.objects.get().user == reader


def test_what_is_not_there_is_not_followed(world: World, task: Task, reader: User) -> None:
    address = reverse("follow", args=[world.project.owner.key, world.project.key])
    for what in ({}, {"task": "WI-none-1"}, {"line": "release", "station": "nowhere"}, {"line": "\0"}):
        assert as_(reader).post(address, {"follow": "yes", **what}).status_code == 404
    assert as_(world.operator).get(address).status_code == 405
    assert not Follow.objects.exists()


def test_the_pages_offer_it_and_say_what_is_followed(world: World, task: Task, reader: User) -> None:
    at = [world.project.owner.key, world.project.key]
    line, page = reverse("line", args=[*at, "release"]), reverse("task", args=[*at, task.name])
    assert "No longer follow" not in as_(reader).get(line).content.decode()
    follow(world, reader, line="release", station="ship")
    follow(world, reader, task=task.name)
    assert "No longer follow ship" in as_(reader).get(line).content.decode()
    assert f"No longer follow {task.name}" in as_(reader).get(page).content.decode()


@pytest.mark.parametrize("many", [10, pytest.param(1_000, marks=pytest.mark.wide)])
def test_a_move_asks_as_many_statements_for_any_number_of_follows(
    world: World, task: Task, reader: User, many: int
) -> None:
    Follow.objects.bulk_create(
        Follow(user=user, project=world.project, task=task, at=timezone.now())
        for user in User.objects.bulk_create(User(username=f"gone-{n}") for n in range(many))
    )
    with CaptureQueriesContext(connection) as found:
        world.report(task)
    asked = [each["sql"] for each in found if "reviews_follow" in each["sql"]]
    assert len(asked) <= 2 and not Notification.objects.filter(kind="followed").exists()
