"""Four eyes against triggers: who lets a task start does not approve it alone, whichever way it starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from pipelines.errors import Forbidden
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Task, Trigger, User, WebhookAddress
from pipelines.work.hosts import standard_webhooks
from pipelines.work.scheduler import timers
from tests.factories import World, make_member, station
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
    Trigger.objects.update(next_at=NIGHT)
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
]


@pytest.mark.smoke(len(WAYS))
@pytest.mark.parametrize("way", WAYS)
def test_who_lets_it_start_does_not_approve_it_alone(world: World, way: Way) -> None:
    mallory = make_member(world.project, "admin")
    way(world, mallory)
    task = Task.objects.get()
    world.report(task)
    with suppress(Forbidden):
        world.vote(task, by=mallory)
    assert world.status(task) == "awaiting_review"
    # Somebody else still can: it is no dead end
    world.vote(task, by=world.reviewer)
    assert world.status(task) == "completed"
