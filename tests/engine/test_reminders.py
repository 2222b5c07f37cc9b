"""What reminds of a gate: before it is due, and again until somebody decides; in working time where it says so."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.engine.core.working_time import WorkingTime
from pipelines.models import Absence, Due, Escalation, Event, GateVisit, Project, Task, User
from pipelines.people import working_time
from pipelines.people.working_time import WorkingHours
from pipelines.routing.document.line import DocumentError, read_line
from reviews.models import Mail, Notification
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db
LEAD = "lead@example.com"


def gated(world: World, **due: Any) -> Task:
    gate = {"key": "review", "due": {"after": "4h", **due}, "notify": [LEAD]}
    rule = {"id": "on", "to": "ship", "gates": ["review"]}
    task = world.start(world.line(stations=[station("build", rule), "ship"], gates=[gate]))
    world.report(task)
    return task


def fire_next(task: Task) -> None:
    """As if its time had come."""
    due = Due.objects.filter(task=task, kind="gate").order_by("due_at").first()
    assert due is not None
    assert engine.fire_due_time_and_return_result(due.pk, due.due_at) == "fired"


def reminders(task: Task) -> list[tuple[str, int]]:
    sent = Mail.objects.filter(visit__task=task, address=LEAD).exclude(kind="asked").order_by("pk")
    return list(sent.values_list("kind", "number"))


def test_a_reminder_goes_out_before_it_is_due(world: World) -> None:
    task = gated(world, before="1h")
    visit = GateVisit.objects.get(task=task)
    soon, due = Due.objects.filter(task=task, kind="gate").order_by("due_at")
    assert visit.due_at is not None
    assert (due.due_at, visit.due_at - soon.due_at) == (visit.due_at, timedelta(hours=1))
    fire_next(task)
    assert reminders(task) == [("soon", 0)]
    assert "gate.overdue" not in world.kinds(task)
    fire_next(task)
    assert reminders(task) == [("soon", 0), ("overdue", 1)]


def test_reminders_are_repeated_and_end_at_their_bound(world: World) -> None:
    task = gated(world, every="2h", times=3)
    for _number in range(4):
        fire_next(task)
    assert reminders(task) == [("overdue", 1), ("overdue", 2), ("overdue", 3), ("overdue", 4)]
    assert not Due.objects.filter(task=task).exists()
    told = Event.objects.filter(task=task, kind="gate.overdue").order_by("seq")
    assert [each.data.get("number", 1) for each in told] == [1, 2, 3, 4]


def test_a_decision_ends_reminders_and_settles_those_that_were_told(world: World) -> None:
    world.reviewer.email = LEAD
    world.reviewer.save()
    task = gated(world, before="1h", every="2h")
    for _number in range(3):
        fire_next(task)
    unread = Notification.objects.filter(user=world.reviewer, task=task, read_at=None)
    assert unread.count() == 4, "asked, due soon, overdue twice"
    world.vote(task)
    assert not Due.objects.filter(task=task).exists()
    assert not unread.exists()


def test_an_escalation_is_opened_once_and_then_reminded_of(world: World) -> None:
    task = gated(world, then="escalate", every="2h", times=2)
    for _number in range(3):
        fire_next(task)
    assert Escalation.objects.filter(task=task).count() == 1
    assert reminders(task) == [("overdue", 2), ("overdue", 3)]


@pytest.mark.parametrize(
    ("due", "path"),
    [
        ({"after": "1h", "before": "1h"}, "before"),
        ({"after": "1h", "every": "1h", "then": "reject"}, "every"),
        ({"after": "1h", "every": "1h", "times": 11}, "times"),
        ({"after": "1h", "business": "yes"}, "business"),
    ],
)
def test_a_due_time_that_contradicts_itself_is_refused(due: dict[str, Any], path: str) -> None:
    with pytest.raises(DocumentError) as refused:
        read_line(document(gates=[{"key": "review", "due": due}]))
    assert [each.path for each in refused.value.problems] == [f"gates[0].due.{path}"]


def test_a_gate_counts_the_working_time_of_its_project(world: World) -> None:
    hours = WorkingHours("Europe/Berlin", [1, 3, 5], time(10), time(12))
    working_time.change_working_hours(world.project, hours, by=world.admin)
    task = gated(world, business=True, before="1h")
    visit = GateVisit.objects.get(task=task)
    project = Project.objects.get(pk=world.project.pk)
    assert visit.due_at == WorkingTime.of_project(project).end_after_working_seconds(
        visit.opened_at, 4 * 3600
    )
    assert visit.due_at is not None and visit.due_at - visit.opened_at >= timedelta(days=2)
    soon = Due.objects.filter(task=task).order_by("due_at")[0].due_at
    assert soon == WorkingTime.of_project(project).end_after_working_seconds(visit.opened_at, 3 * 3600)
    working_time.change_working_hours(
        project, WorkingHours("UTC", range(1, 8), time(0), time(0)), by=world.admin
    )
    again = GateVisit.objects.get(task=task)
    assert again.due_at == visit.due_at, "what is due stays"


def test_another_gate_counts_every_hour(world: World) -> None:
    task = gated(world)
    visit = GateVisit.objects.get(task=task)
    assert visit.due_at == visit.opened_at + timedelta(hours=4)


def test_nobody_is_reminded_after_a_late_start_of_the_worker_all_at_once(world: World) -> None:
    task = gated(world, every="2h", times=3)
    long_ago: datetime = timezone.now() - timedelta(days=9)
    Due.objects.filter(task=task).update(due_at=long_ago)
    due = Due.objects.get(task=task)
    assert engine.fire_due_time_and_return_result(due.pk) == "fired"
    assert Due.objects.get(task=task).due_at > timezone.now() + timedelta(hours=1)


def test_who_has_voted_is_reminded_no_more_and_who_has_no_address_by_the_bell(world: World) -> None:
    first, second, third = world.reviewers(3)
    User.objects.filter(pk=second.pk).update(email="")
    User.objects.filter(pk=third.pk).update(email="third@example.com")
    gate = {"key": "review", "due": {"after": "4h"}, "approval": {"who": [{"role": "reviewer", "count": 3}]}}
    rule = {"id": "on", "to": "ship", "gates": ["review"]}
    task = world.start(world.line(stations=[station("build", rule), "ship"], gates=[gate]))
    world.report(task)
    world.vote(task, "approve", by=first)
    fire_next(task)
    overdue = Notification.objects.filter(task=task, about__endswith=":overdue", kind="review")
    assert set(overdue.values_list("user", flat=True)) == {second.pk, third.pk, world.admin.pk}
    mailed = Mail.objects.filter(kind="overdue").values_list("address", flat=True)
    assert set(mailed) == {"third@example.com", world.admin.email}


def test_whose_place_a_stand_in_has_taken_is_reminded_no_more(world: World) -> None:
    away, other = world.reviewers(2)
    User.objects.filter(pk=other.pk).update(email="other@example.com")
    now = timezone.now()
    Absence.objects.create(user=away, stand_in=world.viewer, until=now + timedelta(days=1), created_at=now)
    gate = {"key": "review", "due": {"after": "4h"}, "approval": {"who": [{"role": "reviewer", "count": 2}]}}
    rule = {"id": "on", "to": "ship", "gates": ["review"]}
    task = world.start(world.line(stations=[station("build", rule), "ship"], gates=[gate]))
    world.report(task)
    world.vote(task, "approve", by=world.viewer)
    fire_next(task)
    overdue = Notification.objects.filter(task=task, about__endswith=":overdue", kind="review")
    assert set(overdue.values_list("user", flat=True)) == {other.pk, world.admin.pk}
