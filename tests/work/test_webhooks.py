"""Webhooks start tasks: signed, each delivery once, mapped by path, and what does not start says why."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.lines import line_operations as line_settings
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import (
    UNKNOWN,
    AdministrativeAct,
    Membership,
    Task,
    Trigger,
    TriggerDelivery,
    User,
    WebhookAddress,
    WebhookSecret,
)
from pipelines.work.hosts import standard_webhooks
from pipelines.work.triggers import receiving, starting
from tests.factories import World, make_member, station
from tests.work.webhook_calls import call

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
SECRET = standard_webhooks.new_secret()
INPUTS = [
    {"key": "request", "label": "Request", "type": "long_text", "required": True},
    {"key": "count", "label": "Count", "type": "number"},
    {"key": "loud", "label": "Loud", "type": "yes_no"},
]
PATHS = {"inputs": {"request": "ticket.text", "count": "$.ticket.count"}, "title": "ticket.title"}
BODY = {"ticket": {"title": "Mend the door", "text": "It creaks.", "count": 3}}
NAMED = {"name": "Support desk", "signature": "standard"}


def webhook(world: World, by: User | None = None, **more: Any) -> Trigger:
    version = more.pop("version", None) or world.line(
        stations=[station("work", kind="manual")], inputs=INPUTS
    )
    secret = more.pop("secret", SECRET)
    options = {**NAMED, **PATHS, **more.pop("options", {})}
    request = TriggerRequest(options, secret=secret, **more)
    return triggers.add_trigger(version.line, "webhook", request, by=by or world.operator)


def address_of(trigger: Trigger) -> str:
    return f"/api/hooks/{WebhookAddress.objects.get(trigger=trigger).address}"


def send(trigger: Trigger, document: Any = BODY, **more: Any) -> Any:
    body, headers = call(trigger.options["signature"], more.pop("secret", SECRET), document, **more)
    return post(trigger, body, headers)


def post(trigger: Trigger, body: bytes, headers: dict[str, str]) -> Any:
    return Client().post(address_of(trigger), body, content_type="application/json", headers=headers)


def log(trigger: Trigger) -> list[tuple[str, str]]:
    return list(trigger.deliveries.order_by("pk").values_list("outcome", "detail"))


def test_a_call_starts_a_task_with_what_its_paths_find(world: World) -> None:
    trigger = webhook(world)
    answer = send(trigger, message_id="msg_1")
    task = Task.objects.get()
    assert (answer.status_code, answer.json()) == (
        202,
        {"outcome": "started", "detail": "", "task": task.name},
    )
    assert (task.title, task.inputs) == ("Mend the door", {"request": "It creaks.", "count": 3})
    assert (task.requester, task.requesters) == (world.operator, [])
    delivery = trigger.deliveries.get()
    assert (delivery.key, delivery.outcome, delivery.task) == ("msg_1", "started", task)
    assert WebhookAddress.objects.get().example_of == "msg_1"


def test_the_same_call_counts_once_and_is_logged_as_repeated(world: World) -> None:
    trigger = webhook(world)
    body, headers = call("standard", SECRET, BODY, message_id="msg_1")
    assert post(trigger, body, headers).status_code == 202
    for again in (post(trigger, body, headers), send(trigger, {"ticket": {"text": "x"}}, message_id="msg_1")):
        assert (again.status_code, again.json()["outcome"]) == (200, "repeated")
    assert Task.objects.count() == 1
    assert [outcome for outcome, _ in log(trigger)] == ["started", "repeated", "repeated"]


@pytest.mark.parametrize("signature", ["github", "gitea", "gitlab"])
def test_a_host_signs_in_its_own_way_and_its_body_counts_once(world: World, signature: str) -> None:
    """Their id is not signed: who sends a body under another id starts nothing."""
    plain = "a-plain-secret-of-a-host"
    trigger = webhook(world, secret=plain, options={"signature": signature})
    assert send(trigger, secret=plain, message_id="1").status_code == 202
    assert send(trigger, secret=plain, message_id="2").json()["outcome"] == "repeated"
    assert send(trigger, secret="another-secret-of-a-host").status_code == 401
    for body in (b"\xff\xfe", b"[]", b"7"):
        assert send(trigger, body, secret=plain).json()["outcome"] == "failed"
    assert Task.objects.count() == 1


def test_gitlab_with_a_signing_token_signs_id_and_time(world: World) -> None:
    trigger = webhook(world, options={"signature": "gitlab"})
    assert send(trigger, message_id="1").status_code == 202
    assert send(trigger, message_id="2").json()["outcome"] == "started"
    assert send(trigger, message_id="1").json()["outcome"] == "repeated"
    body = json.dumps(BODY).encode()
    assert post(trigger, body, {"X-Gitlab-Token": SECRET}).status_code == 401


def test_nothing_comes_in_without_a_right_signature(world: World) -> None:
    trigger = webhook(world)
    body, headers = call("standard", SECRET, BODY)
    forged = call("standard", standard_webhooks.new_secret(), BODY)
    old = call("standard", SECRET, BODY, at=datetime.now(UTC) - timedelta(minutes=6))
    early = call("standard", SECRET, BODY, at=datetime.now(UTC) + timedelta(minutes=6))
    other_id = (body, headers | {"webhook-id": "msg_other"})
    changed = (body.replace(b"creaks", b"sticks"), headers)
    for sent in ((body, {}), forged, old, early, other_id, changed, call("github", SECRET, BODY)):
        answer = post(trigger, *sent)
        assert answer.status_code == 401, sent
        assert "Compare the secret" in answer.json()["detail"]
    assert not Task.objects.exists()
    # However often somebody tries: one row of the log a minute
    assert 1 <= len(log(trigger)) <= 2 and log(trigger)[0][0] == "failed"


def test_an_address_that_is_none_answers_as_a_wrong_signature_does(world: World) -> None:
    trigger = webhook(world)
    body, headers = call("standard", SECRET, BODY)
    wrong = post(trigger, body, {})
    for address in ("/api/hooks/none", "/api/hooks/" + "x" * 400, "/api/hooks/%E2%80%A8"):
        answer = Client().post(address, body, content_type="application/json", headers=headers)
        assert (answer.status_code, answer.json()["detail"]) == (401, wrong.json()["detail"])


@pytest.mark.parametrize(
    ("document", "outcome", "detail"),
    [
        (b"payload=%7B%7D", "failed", "The body is no JSON"),
        (b"[" * 100_000, "failed", "The body is no JSON"),
        ({"ticket": {}}, "failed", "Request is required."),
        ({"ticket": {"text": "x", "count": "many"}}, "failed", "Count"),
        ({"ticket": {"text": ["a", "b"]}}, "started", ""),
        ({"ticket": {"text": "nul \0 and \ud800"}}, "started", ""),
        ({"ticket": {"text": "x", "count": "12"}}, "started", ""),
        ([], "failed", "Request is required."),
        (7, "failed", "Request is required."),
    ],
)
def test_what_a_body_says_is_data(world: World, document: Any, outcome: str, detail: str) -> None:
    trigger = webhook(world)
    answer = send(trigger, document)
    assert answer.json()["outcome"] == outcome and detail in answer.json()["detail"], answer.json()
    assert answer.status_code == (202 if outcome == "started" else 422)
    assert Task.objects.exists() == (outcome == "started")
    assert log(trigger)[0][0] == outcome


def test_several_values_are_no_value(world: World) -> None:
    trigger = webhook(world, options={"inputs": {"request": "$.labels[*].name"}, "title": ""})
    answer = send(trigger, {"labels": [{"name": "a"}, {"name": "b"}]})
    assert answer.json()["detail"].startswith("Request finds 2 values at $.labels[*].name.")
    assert send(trigger, {"labels": [{"name": "a"}]}).status_code == 202
    assert Task.objects.get().inputs["request"] == "a"


def test_what_the_body_does_not_say_is_taken_from_the_trigger(world: World) -> None:
    trigger = webhook(world, inputs={"request": "Look at it"}, title="Call of {date}")
    send(trigger, {})
    task = Task.objects.get()
    assert task.inputs["request"] == "Look at it"
    assert task.title == f"Call of {timezone.now():%Y-%m-%d}"


def test_only_some_calls_start_a_task(world: World) -> None:
    trigger = webhook(world, options={"only_if": "$.ticket.labels[?@ == 'urgent']"})
    ignored = send(trigger)
    assert (ignored.status_code, ignored.json()["outcome"]) == (200, "ignored")
    assert "finds nothing" in ignored.json()["detail"]
    assert send(trigger, {"ticket": {"text": "x", "labels": ["urgent"]}}).status_code == 202


def test_a_body_has_a_bound(world: World) -> None:
    trigger = webhook(world)
    answer = send(trigger, {"ticket": {"text": "x" * receiving.MAX_BODY}})
    assert answer.status_code == 413 and not Task.objects.exists()
    # What is long but allowed starts a task, and is no example
    text = "y" * receiving.MAX_EXAMPLE
    assert send(trigger, {"ticket": {"text": text}}).status_code == 202
    assert WebhookAddress.objects.get().example == ""


def test_a_webhook_is_called_so_often_a_minute(world: World, settings: Any) -> None:
    settings.WEBHOOKS_PER_MINUTE = 2
    trigger = webhook(world)
    assert [send(trigger).status_code for _ in range(2)] == [202, 202]
    refused = send(trigger, message_id="late")
    assert refused.status_code == 429 and 0 < int(refused["Retry-After"]) <= 60
    assert Task.objects.count() == len(log(trigger)) == 2
    # What was refused was not received: it starts its task when it is sent again
    TriggerDelivery.objects.update(at=timezone.now() - timedelta(minutes=2))
    assert send(trigger, message_id="late").status_code == 202


def test_a_paused_archived_or_hindered_webhook_starts_nothing(world: World) -> None:
    trigger = webhook(world, one_at_a_time=True)
    triggers.set_paused(trigger, True, by=world.operator)
    assert send(trigger).json() == {"outcome": "ignored", "detail": "The trigger is paused.", "task": ""}
    triggers.set_paused(trigger, False, by=world.operator)
    assert send(trigger).status_code == 202
    task = Task.objects.get()
    assert send(trigger).json()["detail"] == f"{task.name} has not ended yet."
    engine.cancel(task.pk, actor=engine.ENGINE)
    line_settings.set_archived(trigger.line, True, by=world.admin)
    assert send(trigger).json()["detail"] == "The line is archived."
    assert Task.objects.count() == 1


def test_both_secrets_are_valid_for_a_day_after_a_change(world: World) -> None:
    trigger, new = webhook(world), standard_webhooks.new_secret()
    triggers.rotate_trigger_secret(trigger, new, at_once=False, by=world.designer)
    assert [send(trigger, secret=secret).status_code for secret in (SECRET, new)] == [202, 202]
    WebhookSecret.objects.filter(valid_until__isnull=False).update(valid_until=timezone.now())
    assert [send(trigger, secret=secret).status_code for secret in (SECRET, new)] == [401, 202]
    newest = standard_webhooks.new_secret()
    triggers.rotate_trigger_secret(trigger, newest, at_once=True, by=world.designer)
    assert [send(trigger, secret=secret).status_code for secret in (new, newest)] == [401, 202]
    assert WebhookSecret.objects.count() == 1
    for _ in range(4):
        triggers.rotate_trigger_secret(
            trigger, standard_webhooks.new_secret(), at_once=False, by=world.designer
        )
    with pytest.raises(Conflict, match="too often"):
        triggers.rotate_trigger_secret(
            trigger, standard_webhooks.new_secret(), at_once=False, by=world.designer
        )


def test_whoever_knows_the_secret_or_is_named_is_barred(world: World) -> None:
    version = world.line(
        stations=[station("work", {"id": "on", "to": "completed", "gates": ["review"]})],
        gates=[{"key": "review"}],
        inputs=INPUTS,
    )
    connector, rotator, changer, sender = (make_member(world.project, "reviewer") for _ in range(4))
    trigger = webhook(world, by=connector, version=version, options={"requester": "by"})
    new = standard_webhooks.new_secret()
    triggers.rotate_trigger_secret(trigger, new, at_once=True, by=rotator)
    options = {**NAMED, **PATHS, "requester": "by", "name": "Desk"}
    triggers.change_trigger(trigger, TriggerRequest(options), by=changer)
    send(trigger, BODY | {"by": sender.username.upper()}, secret=new)
    task = Task.objects.get()
    assert task.requester == changer
    assert task.requesters == sorted(f"person:{person.pk}" for person in (rotator, sender))
    world.report(task)
    for barred in (changer, rotator, sender):
        with pytest.raises(Forbidden):
            world.vote(task, by=barred)
    # Who connected it does not know the secret any more, and what they wrote was written anew
    world.vote(task, by=connector)
    assert world.status(task) == "completed"


@pytest.mark.parametrize(
    ("signature", "document", "expected"),
    [
        ("github", {"sender": {"login": "{member}"}}, []),
        ("github", {"sender": {"login": "somebody"}}, [UNKNOWN]),
        ("github", {}, [UNKNOWN]),
        ("github", {"sender": {"login": "bot"}, "issue": {"user": {"login": "{member}"}}}, []),
        ("gitea", {"pusher": {"login": "{member}"}}, []),
        ("gitlab", {"user": {"username": "{member}"}}, []),
        ("gitlab", {"user": {"username": "{member}"}, "object_attributes": {"author_id": 7}}, [UNKNOWN]),
        ("standard", {"sender": {"login": "somebody"}}, []),
    ],
)
def test_the_sender_that_a_host_names_asked_for_it(
    world: World, signature: str, document: Any, expected: list[str]
) -> None:
    """Where nobody knows who that is, gates ask one approval more (law §15)."""
    member = make_member(world.project, "reviewer")
    document = json.loads(json.dumps(BODY | document).replace("{member}", member.username))
    trigger = webhook(world, options={"signature": signature})
    assert send(trigger, document).status_code == 202
    named = [f"person:{member.pk}"] if member.username in str(document) else []
    assert Task.objects.get().requesters == sorted([*named, *expected])


def test_a_requester_path_that_finds_nobody_leaves_the_requester_unknown(world: World) -> None:
    trigger = webhook(world, options={"requester": "by"})
    for document in (BODY, BODY | {"by": "nobody-here"}, BODY | {"by": 7}):
        send(trigger, document)
    assert [task.requesters for task in Task.objects.all()] == [[UNKNOWN]] * 3


@pytest.mark.parametrize("name", ["\0", "\ud800"])
def test_a_name_that_no_database_takes_is_nobodys(world: World, name: str) -> None:
    trigger = webhook(world, options={"requester": "by"})
    assert send(trigger, BODY | {"by": name}).status_code == 202
    assert UNKNOWN in Task.objects.get().requesters


def test_who_lost_the_right_starts_nothing_by_a_webhook(world: World) -> None:
    trigger = webhook(world)
    Membership.objects.filter(user=world.operator).update(roles=["viewer"])
    answer = send(trigger)
    assert answer.status_code == 422 and "may no longer start tasks here" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"options": {"name": ""}}, "options.name"),
        ({"options": {"signature": "none"}}, "options.signature"),
        ({"options": {"signature": ["standard"]}}, "options.signature"),
        ({"options": {"inputs": {"request": "$["}}}, "options.inputs.request"),
        ({"options": {"inputs": {"colour": "a", "request": "b"}}}, "options.inputs.colour"),
        ({"options": {"inputs": {"request": "a", "key": "b"}}}, "options.inputs.key"),
        ({"options": {"inputs": []}, "inputs": {"request": "x"}}, "options.inputs"),
        ({"options": {"title": "$."}}, "options.title"),
        ({"options": {"inputs": {"count": "a"}}}, "inputs.request"),
        ({"options": {"colour": "red"}}, "options.colour"),
        ({"secret": "short"}, "secret"),
        ({"secret": "whsec_this is no base64"}, "secret"),
        ({"secret": "this-is-no-base64!"}, "secret"),
    ],
)
def test_a_webhook_that_could_start_nothing_is_not_saved(
    world: World, change: dict[str, Any], path: str
) -> None:
    version = world.line(
        stations=[station("work", kind="manual")], inputs=[*INPUTS, {"key": "key", "type": "secret"}]
    )
    with pytest.raises(Invalid) as refused:
        webhook(world, version=version, **change)
    assert [problem.path for problem in refused.value.problems] == [path]
    assert not Trigger.objects.exists() and not WebhookAddress.objects.exists()


def test_to_try_one_says_what_the_last_call_would_start(world: World) -> None:
    trigger = webhook(world)
    tried = starting.try_out_and_undo(trigger)
    assert (tried.outcome, tried.detail) == ("ignored", starting.NO_EXAMPLE)
    send(trigger)
    tried = starting.try_out_and_undo(trigger)
    assert tried.task is not None and tried.task.title == "Mend the door"
    tried = starting.try_out_and_undo(trigger, '{"ticket": {"text": "x", "title": "Another"}}')
    assert tried.task is not None and tried.task.title == "Another"
    assert starting.try_out_and_undo(trigger, "no").outcome == "failed"
    assert Task.objects.count() == TriggerDelivery.objects.count() == 1


def test_each_change_is_recorded_without_secret_or_address(world: World) -> None:
    trigger = webhook(world)
    new = standard_webhooks.new_secret()
    triggers.rotate_trigger_secret(trigger, new, at_once=False, by=world.operator)
    triggers.delete_trigger(trigger, by=world.operator)
    acts = list(AdministrativeAct.objects.filter(kind__startswith="trigger.").order_by("pk"))
    assert [act.kind for act in acts] == ["trigger.created", "trigger.rotated", "trigger.deleted"]
    text = str([(act.name, act.data) for act in acts])
    assert "Support desk" in text
    assert not any(secret in text for secret in (SECRET, new))
    assert not WebhookSecret.objects.exists() and not WebhookAddress.objects.exists()


def test_secrets_are_stored_encrypted(world: World) -> None:
    webhook(world)
    row = WebhookSecret.objects.get()
    assert SECRET not in row.content and row.hint == SECRET[-4:]


def test_a_body_without_a_signed_time_is_remembered_as_long_as_its_secret(world: World) -> None:
    """Else whoever has one could send it again when its delivery has expired."""
    body, headers = call("github", SECRET, BODY)
    late = timezone.now() + timedelta(days=91)
    for signature in ("github", "standard"):
        trigger = webhook(world, options={"signature": signature})
        assert send(trigger).status_code == 202
    for task in Task.objects.all():
        engine.cancel(task.pk, actor=engine.ENGINE)
    assert triggers.delete_some_old_deliveries(late) == 1
    trigger = Trigger.objects.get(options__signature="github")
    assert post(trigger, body, headers).json()["outcome"] == "repeated"
    WebhookSecret.objects.update(created_at=late)
    assert triggers.delete_some_old_deliveries(late) == 2


def test_a_call_takes_as_many_statements_whatever_came_before(world: World) -> None:
    trigger = webhook(world)
    counts = []
    for number in range(3):
        with CaptureQueriesContext(connection) as statements:
            assert send(trigger).status_code == 202
        counts.append(len(statements))
        if number == 1:
            TriggerDelivery.objects.bulk_create(
                TriggerDelivery(trigger=trigger, key=f"old {n}", at=trigger.created_at, outcome="ignored")
                for n in range(1000)
            )
    assert counts[1] == counts[2]
