"""Four eyes against triggers: who lets a task start does not approve it alone, whichever way it starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from pipelines import engine
from pipelines.errors import Forbidden
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import ApiToken, Task, Trigger, User, WebhookAddress
from pipelines.work.hosts import standard_webhooks
from pipelines.work.scheduler import timers
from pipelines.work.triggers import line_end_starts
from tests.api.conftest import Api
from tests.factories import World, make_member, station
from tests.work.test_line_ends import tickets
from tests.work.webhook_calls import call

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
OWN, OTHER = standard_webhooks.new_secret(), standard_webhooks.new_secret()
NIGHT = datetime(2026, 11, 20, 2, tzinfo=UTC)
NIGHTLY = {"cron": "0 2 * * *"}
INPUTS = [{"key": "request", "type": "text", "required": True}]
Way = Callable[[World, User], None]


def schedule(world: World, by: User, text: str = "Tidy up") -> Trigger:
    return triggers.add_trigger(
        line_of(world), "schedule", TriggerRequest(NIGHTLY, inputs={"request": text}), by=by
    )


def webhook(world: World, by: User, secret: str = OTHER, **options: Any) -> Trigger:
    paths = {"name": "Desk", "inputs": {"request": "text"}} | options
    return triggers.add_trigger(line_of(world), "webhook", TriggerRequest(paths, secret=secret), by=by)


def line_of(world: World) -> Any:
    return world.line(
        stations=[station("work", {"id": "on", "to": "completed", "gates": ["review"]})],
        gates=[{"key": "review"}],
        inputs=INPUTS,
    ).line


def run_schedules() -> None:
    Trigger.objects.filter(kind="schedule").update(next_at=NIGHT)
    timers.run_due_timers_and_triggers(now=NIGHT + timedelta(seconds=1))


def send(trigger: Trigger, secret: str = OTHER, **document: Any) -> None:
    body, headers = call(trigger.options["signature"], secret, {"text": "Do it"} | document)
    address = f"/api/hooks/{WebhookAddress.objects.get(trigger=trigger).address}"
    answer = Client().post(address, body, content_type="application/json", headers=headers)
    assert answer.status_code == 202, answer.content


def resumed(trigger: Trigger, by: User) -> Trigger:
    """From then on it starts tasks in the name of somebody else."""
    triggers.set_paused(trigger, True, by=by)
    return triggers.set_paused(trigger, False, by=by)


def schedule_of_their_own(world: World, mallory: User) -> None:
    schedule(world, mallory)
    run_schedules()


def schedule_that_they_resumed(world: World, mallory: User) -> None:
    resumed(schedule(world, world.operator), mallory)
    run_schedules()


def schedule_that_they_wrote_and_another_resumed(world: World, mallory: User) -> None:
    resumed(schedule(world, mallory), world.operator)
    run_schedules()


def schedule_whose_inputs_they_changed(world: World, mallory: User) -> None:
    trigger = schedule(world, world.operator)
    triggers.change_trigger(trigger, TriggerRequest(NIGHTLY, inputs={"request": "Mine"}), by=mallory)
    resumed(trigger, world.operator)
    run_schedules()


def webhook_of_their_own(world: World, mallory: User) -> None:
    send(webhook(world, mallory))


def webhook_that_another_resumed(world: World, mallory: User) -> None:
    send(resumed(webhook(world, mallory), world.operator))


def webhook_whose_paths_they_wrote(world: World, mallory: User) -> None:
    trigger = webhook(world, world.operator)
    options = {"name": "Desk", "inputs": {"request": "mine"}}
    triggers.change_trigger(trigger, TriggerRequest(options), by=mallory)
    send(resumed(trigger, world.operator), mine="Do something else")


def webhook_whose_secret_they_made(world: World, mallory: User) -> None:
    trigger = webhook(world, world.operator)
    triggers.rotate_trigger_secret(trigger, OWN, at_once=True, by=mallory)
    send(trigger, OWN)


def old_secret_of_theirs(world: World, mallory: User) -> None:
    """It is valid for a day after another person changed it."""
    trigger = webhook(world, mallory, OWN)
    options = {"name": "Desk", "inputs": {"request": "text"}, "title": "title"}
    triggers.change_trigger(trigger, TriggerRequest(options), by=world.operator)
    triggers.rotate_trigger_secret(trigger, OTHER, at_once=False, by=world.operator)
    send(trigger, OWN)


def their_account_of_the_host(world: World, mallory: User) -> None:
    send(webhook(world, world.operator, signature="github"), sender={"login": mallory.username})


def their_issue_that_a_bot_labelled(world: World, mallory: User) -> None:
    trigger = webhook(world, world.operator, signature="github")
    send(trigger, sender={"login": "bot"}, issue={"user": {"login": mallory.username.upper()}})


def their_account_under_another_name(world: World, mallory: User) -> None:
    send(webhook(world, world.operator, signature="gitea"), sender={"login": "somebody-else"})


def author_that_gitlab_keeps_back(world: World, mallory: User) -> None:
    trigger = webhook(world, world.operator, signature="gitlab")
    send(trigger, user={"username": world.operator.username}, object_attributes={"author_id": 7})


def their_mail_address_in_the_body(world: World, mallory: User) -> None:
    EmailAddress.objects.create(user=mallory, email="mallory@example.com", verified=True)
    send(webhook(world, world.operator, requester="by"), by="Mallory@Example.com")


def nobody_in_the_body(world: World, mallory: User) -> None:
    send(webhook(world, world.operator, requester="by"), by="somebody-else")


def another_named_in_the_body_by_their_secret(world: World, mallory: User) -> None:
    trigger = webhook(world, world.operator, requester="by")
    triggers.rotate_trigger_secret(trigger, OWN, at_once=True, by=mallory)
    send(trigger, OWN, by=world.viewer.username)


def order_that_they_gave_by_a_comment(world: World, mallory: User) -> None:
    trigger = webhook(world, world.operator, signature="github", event="comment")
    send(trigger, **order(mallory), sender={"login": world.operator.username})


def order_of_another_in_their_issue(world: World, mallory: User) -> None:
    trigger = webhook(world, world.operator, signature="github", event="comment")
    send(trigger, **order(world.operator) | {"issue": {"user": {"login": mallory.username}}})


def request_of_theirs_that_another_merged(world: World, mallory: User) -> None:
    trigger = webhook(world, world.operator, signature="gitea", event="merged")
    request = {"merged": True, "user": {"login": mallory.username}, "base": {"ref": "main"}}
    send(trigger, action="closed", pull_request=request, sender={"login": world.operator.username})


def check_that_failed_on_their_branch(world: World, mallory: User) -> None:
    """The host names its own program, and nobody."""
    trigger = webhook(world, world.operator, signature="github", event="check_failed")
    run = {"conclusion": "failure", "check_suite": {"head_branch": "theirs"}}
    send(trigger, action="completed", check_run=run, sender={"login": "checks"})


def order(author: User) -> dict[str, Any]:
    said = {"body": "/gateline fix it", "user": {"login": author.username}}
    return {"action": "created", "issue": {}, "comment": said}


def passing(world: World, key: str, kind: str = "noop", **more: Any) -> Any:
    """A line of one station, after which others may start."""
    return world.line(key=key, stations=[station("make", {"id": "ok", "to": "completed"}, kind=kind)], **more)


def after(world: World, by: User, source: str = "first", line: Any = None) -> Trigger:
    options = {"line": source, "inputs": {"request": "task.title"}}
    return triggers.add_trigger(line or line_of(world), "line_end", TriggerRequest(options), by=by)


def end(world: World, task: Task, **more: Any) -> None:
    """Let a task end, and start what waits for that."""
    world.report(task, **more)
    line_end_starts.start_task_after_end_and_return_outcome(**tickets()[-1])


def end_that_they_wait_for(world: World, mallory: User) -> None:
    first = passing(world, "first")
    after(world, mallory)
    end(world, world.start(first))


def end_that_they_waited_for_and_another_resumed(world: World, mallory: User) -> None:
    first = passing(world, "first")
    resumed(after(world, mallory), world.operator)
    end(world, world.start(first))


def end_of_a_task_that_they_requested(world: World, mallory: User) -> None:
    first = passing(world, "first")
    after(world, world.operator)
    end(world, world.start(first, by=mallory))


def end_of_a_task_that_they_did_by_hand(world: World, mallory: User) -> None:
    first = passing(world, "first", "manual")
    after(world, world.operator)
    end(world, world.start(first), by=f"person:{mallory.pk}")


def end_two_lines_behind_their_schedule(world: World, mallory: User) -> None:
    first, second = passing(world, "first").line, passing(world, "second", inputs=INPUTS).line
    triggers.add_trigger(first, "schedule", TriggerRequest(NIGHTLY), by=mallory)
    after(world, world.operator, "first", second)
    after(world, world.operator, "second")
    run_schedules()
    for line in (first, second):
        end(world, Task.objects.get(line=line))


def retry_of_what_their_schedule_started(world: World, mallory: User) -> None:
    schedule_that_they_wrote_and_another_resumed(world, mallory)
    task = Task.objects.get()
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator))
    engine.start_retry_task(task.pk, station="", actor=engine.Actor.person(world.operator))


def fork_of_what_their_webhook_started(world: World, mallory: User) -> None:
    webhook_whose_secret_they_made(world, mallory)
    engine.fork(Task.objects.get().pk, user=world.operator)


def token_of_theirs(world: World, mallory: User) -> None:
    api = Api(world.project, world.token_of(mallory, "submit")[1])
    started = api.post(f"/stages/{line_of(world).key}/tasks", {"title": "T", "inputs": {"request": "Mine"}})
    assert started.status_code == 201, started.content


def token_of_a_machine_that_they_made(world: World, mallory: User) -> None:
    token, secret = world.machine("submit")
    ApiToken.objects.filter(pk=token.pk).update(created_by=mallory)
    body = {"title": "T", "inputs": {"request": "Mine"}}
    started = Api(world.project, secret).post(f"/stages/{line_of(world).key}/tasks", body)
    assert started.status_code == 201, started.content


WAYS: list[Way] = [
    schedule_of_their_own,
    schedule_that_they_resumed,
    schedule_that_they_wrote_and_another_resumed,
    schedule_whose_inputs_they_changed,
    webhook_of_their_own,
    webhook_that_another_resumed,
    webhook_whose_paths_they_wrote,
    webhook_whose_secret_they_made,
    old_secret_of_theirs,
    their_account_of_the_host,
    their_issue_that_a_bot_labelled,
    their_account_under_another_name,
    author_that_gitlab_keeps_back,
    their_mail_address_in_the_body,
    nobody_in_the_body,
    another_named_in_the_body_by_their_secret,
    order_that_they_gave_by_a_comment,
    order_of_another_in_their_issue,
    request_of_theirs_that_another_merged,
    check_that_failed_on_their_branch,
    end_that_they_wait_for,
    end_that_they_waited_for_and_another_resumed,
    end_of_a_task_that_they_requested,
    end_of_a_task_that_they_did_by_hand,
    end_two_lines_behind_their_schedule,
    retry_of_what_their_schedule_started,
    fork_of_what_their_webhook_started,
    token_of_theirs,
    token_of_a_machine_that_they_made,
]


@pytest.mark.smoke(len(WAYS))
@pytest.mark.parametrize("way", WAYS)
def test_who_lets_it_start_does_not_approve_it_alone(world: World, way: Way) -> None:
    mallory = make_member(world.project, "admin")
    way(world, mallory)
    task = Task.objects.filter(line__key="line").latest("pk")
    world.report(task)
    with suppress(Forbidden):
        world.vote(task, by=mallory)
    assert world.status(task) == "awaiting_review"
    # Somebody else still can: it is no dead end
    world.vote(task, by=world.reviewer)
    assert world.status(task) == "completed"
