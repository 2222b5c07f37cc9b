"""Where nobody vouches for who pushed, a gate asks one approval more (law §15): whoever may give it is told, and what
is said of the gate counts it."""

from __future__ import annotations

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.models import GateVisit, Repository, Task, VisitCommit
from pipelines.work.host_notifications.texts import commit_state_and_description
from reviews.models import Notification
from reviews.review.detail import build_review_detail
from tests.factories import World
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db


def pushed(world: World, *, by_host: bool) -> Task:
    """It waits at a gate for one administrator, after somebody pushed."""
    Repository.objects.create(
        project=world.project, name="app", address="/no/such/folder", connected_at=timezone.now()
    )
    given = gated(approval={"who": [{"user": world.admin.username}]}, notify=[])
    given["stations"][0]["work"] = {"kind": "manual", "instructions": "Build it."}
    given["workspace"] = {"git": {"repository": "app"}}
    task = world.start(world.line(**given))
    job = world.started(task)
    world.report(task)
    VisitCommit.objects.create(
        job=job, task=task, repository_name="app", branch="b", base_branch="main",
        base="0" * 40, head="1" * 40, tree="2" * 40, created_at=timezone.now(),
    )  # fmt: skip
    Notification.objects.all().delete()
    said = engine.ObservedPush("3" * 40, "somebody", (world.operator.pk,) if by_host else (), 1, by_host)
    assert engine.record_push_visit_and_return_result(task.pk, said) == "taken"
    world.report(task)
    task.refresh_from_db()
    return task


@pytest.mark.parametrize(
    ("by_host", "told", "said"),
    [
        (True, ["admin"], "Waits for Release review"),
        (False, ["admin", "reviewer"], "Waits for Release review: 0 of 2"),
    ],
)
def test_whoever_may_give_the_approval_more_is_told(
    world: World, by_host: bool, told: list[str], said: str
) -> None:
    known = {world.admin.pk: "admin", world.reviewer.pk: "reviewer"}
    task = pushed(world, by_host=by_host)
    heard = Notification.objects.filter(task=task, kind="review").values_list("user_id", flat=True)
    assert sorted(known.get(pk, str(pk)) for pk in heard) == told
    assert commit_state_and_description(task, "3" * 40)[1] == said


def test_a_review_shows_what_was_pushed_before_it_and_nothing_later(world: World) -> None:
    task = pushed(world, by_host=False)
    asked = world.visit(task)
    said = engine.ObservedPush("4" * 40, "somebody", (), 2, False)
    assert engine.record_push_visit_and_return_result(task.pk, said) == "taken"
    world.report(task)
    shown = [
        [each.commit[0] for each in build_review_detail(visit, world.admin).pushes]
        for visit in (GateVisit.objects.get(pk=asked.pk), world.visit(task))
    ]
    assert shown == [["3"], ["3", "4"]]
