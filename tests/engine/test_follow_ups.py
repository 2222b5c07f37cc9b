"""An end starts the item that follows, where the line says so (AEEF E13)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from procrastinate.contrib.django.models import ProcrastinateJob

from pipelines import engine
from pipelines.errors import Conflict
from pipelines.models import Escalation, LineVersion, Task
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import read_line
from tests.factories import World, document, station
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db

ENDS = [
    {"key": "deployed", "kind": "completed", "label": "DEPLOYED", "follow_up": "feedback"},
    {"key": "rolled-back", "kind": "failed", "label": "ROLLED_BACK", "follow_up": "always"},
]
STATIONS = [
    station("intake", {"id": "in", "to": "operations"}),
    station(
        "operations",
        {"id": "stable", "when": {"verdict": "pass"}, "to": "deployed"},
        {"id": "incident", "when": {"verdict": "fail"}, "to": "rolled-back"},
    ),
]
INCIDENT = {"verdict": "fail", "feedback": "The login is slow."}


def line(world: World, **more: Any) -> LineVersion:
    said = {"stations": STATIONS, "ends": ENDS, "inputs": [{"key": "ticket", "type": "text"}]}
    return world.line(**{**said, **more})


def ended(world: World, outcome: dict[str, Any], version: LineVersion | None = None) -> Task:
    task = world.start(
        version or line(world), title="Log in", description="With a key.", inputs={"ticket": "T-7"}
    )
    finished(world, task, outcome)
    return task


def finished(world: World, task: Task, outcome: dict[str, Any]) -> None:
    world.report(task)
    world.report(task, outcome)
    task.refresh_from_db()


def queued() -> list[int]:
    """The tasks whose end is to be looked at by a worker."""
    rows = ProcrastinateJob.objects.filter(task_name="pipelines.follow_up").order_by("id")
    return [row.args["task_id"] for row in rows]


def followed(task: Task) -> Task:
    new = engine.start_follow_up_task(task.pk)
    assert new is not None
    return new


def test_E13_a_rollback_starts_a_linked_item_at_intake(world: World) -> None:
    task = ended(world, INCIDENT)
    assert (task.status, task.end, queued()) == ("failed", "rolled-back", [task.pk])
    new = followed(task)
    task.refresh_from_db()
    assert (task.status, new.follows, new.number) == ("failed", task, task.number + 1), "the old one stays"
    assert (world.at(new), new.title, new.inputs) == (["intake"], "Log in", {"ticket": "T-7"})
    assert new.description == f"With a key.\n\n{task.name} ended as ROLLED_BACK:\nThe login is slow."
    assert (new.requester, new.requested_by) == (task.requester, task.requested_by), "who may not decide"


def test_E13_a_deployment_starts_one_for_its_feedback_alone(world: World) -> None:
    version = line(world)
    quiet = ended(world, {"verdict": "pass", "summary": "All is well."}, version)
    assert engine.start_follow_up_task(quiet.pk) is None
    asked = ended(world, {"verdict": "pass", "feedback": "Add a second key."}, version)
    new = followed(asked)
    assert new.description.endswith(f"{asked.name} ended as DEPLOYED:\nAdd a second key.")


def test_E13_where_the_line_says_nothing_nothing_follows(world: World) -> None:
    plain = [{key: value for key, value in end.items() if key != "follow_up"} for end in ENDS]
    task = ended(world, INCIDENT, line(world, ends=plain))
    assert (task.end, queued()) == ("rolled-back", [])
    cancelled = world.start(line(world))
    engine.cancel(cancelled.pk, actor=engine.ENGINE)
    assert queued() == []


def test_E13_nothing_follows_what_was_cancelled() -> None:
    ends = [{"key": "cancelled", "kind": "cancelled", "follow_up": "always"}]
    with pytest.raises(DocumentError, match="nothing follows what was cancelled"):
        read_line(document(ends=ends))


def test_it_is_started_once_however_often_it_is_told(world: World) -> None:
    task = ended(world, INCIDENT)
    followed(task)
    with pytest.raises(Conflict):
        engine.start_follow_up_task(task.pk)
    assert Task.objects.filter(follows=task).count() == 1


def test_one_that_a_person_started_is_another(world: World) -> None:
    task = ended(world, INCIDENT)
    mine = world.start(task.pinned, follows=task)
    assert followed(task) != mine


def test_the_third_in_a_row_waits_for_a_person(world: World) -> None:
    task = ended(world, INCIDENT)
    for _ in range(2):
        task = followed(task)
        assert world.status(task) == "queued"
        finished(world, task, INCIDENT)
    third = followed(task)
    assert (world.status(third), engine.start_claimed_job_or_none(world.job(third).pk, world.claim())) == (
        "held",
        None,
    )
    found = Escalation.objects.get(task=third)
    assert (found.trigger, found.role) == ("RetryLimitExceeded", "admin")
    engine.resolve_escalation(found.pk, user=world.admin, word="go_on", reason="The cause is found.")
    assert world.status(third) == "queued"
    finished(world, third, INCIDENT)
    assert world.status(followed(third)) == "held", "and so does each one after it"


def test_under_the_limits_of_aeef_the_cto_is_asked(world: World) -> None:
    policy = {"standard_budgets": "yes"}
    task = ended(world, INCIDENT, line(world, policy=policy))
    for _ in range(2):
        task = followed(task)
        finished(world, task, INCIDENT)
    followed(task)
    assert Escalation.objects.get().role == "cto"


def test_it_takes_the_live_version_unless_that_asks_for_something_else(world: World) -> None:
    task = ended(world, INCIDENT)
    newer = line(world, description="Better.")
    assert followed(task).pinned == newer
    other = ended(world, INCIDENT, newer)
    line(world, inputs=[{"key": "customer", "type": "text", "required": True}])
    assert followed(other).pinned == newer


def test_an_archived_line_takes_none(world: World) -> None:
    task = ended(world, INCIDENT)
    task.line.archived_at = task.ended_at
    task.line.save(update_fields=["archived_at"])
    with pytest.raises(Conflict):
        engine.start_follow_up_task(task.pk)
    assert not Task.objects.filter(follows=task).exists()


def test_both_pages_and_the_api_lead_from_one_to_the_other(world: World, client: Client) -> None:
    task = ended(world, INCIDENT)
    new = followed(task)
    owner, project = task.project.owner.key, task.project.key
    old_page = as_(world.viewer).get(reverse("task", args=[owner, project, task.name])).content.decode()
    new_page = as_(world.viewer).get(reverse("task", args=[owner, project, new.name])).content.decode()
    assert new.name in old_page and task.name in new_page
    assert f"Follows {task.name}" in new_page
    assert as_(world.stranger).get(reverse("task", args=[owner, project, new.name])).status_code == 404
    for user, status in ((world.viewer, 200), (world.stranger, 404)):
        _token, secret = world.token_of(user)
        address = f"/api/owners/{owner}/projects/{project}/stages/line/tasks/{new.name}"
        answer = client.get(address, headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code == status
    assert world.stranger and Task.objects.filter(project=world.project).count() == 2
