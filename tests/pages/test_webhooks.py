"""Pages of webhooks: connected with a secret that is shown once, mapped beside an example, tried, rotated."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import LineVersion, Task, Trigger, WebhookAddress, WebhookSecret
from pipelines.work.hosts import standard_webhooks
from tests.factories import World, station
from tests.pages.conftest import As, at, text
from tests.work.webhook_calls import call

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
SECRET = standard_webhooks.new_secret()
INPUTS = [
    {"key": "request", "label": "Request", "type": "long_text", "required": True},
    {"key": "branch", "label": "Branch", "type": "text"},
    {"key": "key", "label": "Key", "type": "secret"},
]
FORM = {
    "name": "Support desk",
    "signature": "standard",
    "path.inputs.request": "ticket.text",
    "path.title": "ticket.title",
    "inputs.branch": "main",
    "example": '{"ticket": {"title": "Mend the door", "text": "It creaks."}}',
}


def version_of(world: World) -> LineVersion:
    return world.line(key="line", stations=[station("work", kind="manual")], inputs=INPUTS)


def new(world: World) -> str:
    return at(world, "trigger-new", "line") + "?kind=webhook"


def connected(world: World, **more: Any) -> Trigger:
    options = {"name": "Support desk", "inputs": {"request": "ticket.text"}, "title": "ticket.title"} | more
    request = TriggerRequest(options, inputs={"branch": "main"}, secret=SECRET)
    return triggers.add_trigger(version_of(world).line, "webhook", request, by=world.operator)


def called(trigger: Trigger, document: Any, message_id: str) -> None:
    body, headers = call("standard", SECRET, document, message_id)
    address = f"/api/hooks/{WebhookAddress.objects.get(trigger=trigger).address}"
    Client().post(address, body, content_type="application/json", headers=headers)


def test_a_webhook_is_saved_and_its_secret_shown_once(world: World, signed_in: As) -> None:
    version_of(world)
    client = signed_in(world.operator)
    page = text(client.get(new(world)))
    assert "New webhook" in page and 'name="path.inputs.request"' in page
    assert 'name="path.inputs.key"' not in page, "no body chooses a secret"
    page = text(client.post(new(world), FORM))
    trigger = Trigger.objects.get()
    assert trigger.options == {
        "name": "Support desk",
        "signature": "standard",
        "event": "",
        "branch": "",
        "files": "",
        "author": "",
        "label": "",
        "inputs": {"request": "ticket.text"},
        "title": "ticket.title",
        "requester": "",
        "only_if": "",
    }
    assert trigger.inputs == {"branch": "main"} and not trigger.one_at_a_time
    address = f"/api/hooks/{WebhookAddress.objects.get().address}"
    assert page.count("whsec_") == 1 and "Copy the signing secret now" in page and address in page
    again = text(client.get(at(world, "line-triggers", "line")))
    assert "whsec_" not in again and address in again and WebhookSecret.objects.get().hint in again
    for words in ("Incoming webhook · Standard Webhooks", "ticket.text", "No delivery yet", "main"):
        assert words in again
    assert address not in text(signed_in(world.viewer).get(at(world, "line-triggers", "line")))


def test_a_secret_of_the_sender_is_not_shown(world: World, signed_in: As) -> None:
    version_of(world)
    answer = signed_in(world.operator).post(new(world), FORM | {"secret": SECRET})
    assert answer.status_code == 302 and WebhookSecret.objects.get().hint == SECRET[-4:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "Enter what calls it"),
        ({"path.inputs.request": "$["}, "Not a JSONPath"),
        ({"path.inputs.request": ""}, "Request is required."),
        ({"path.only_if": "$["}, "Not a JSONPath"),
        ({"secret": "short"}, "Use 16 to 200 letters"),
        ({"signature": "none"}, "Choose one of"),
    ],
)
def test_what_is_wrong_with_a_webhook_is_said_at_its_place(
    world: World, signed_in: As, change: dict[str, str], message: str
) -> None:
    version_of(world)
    answer = signed_in(world.operator).post(new(world), FORM | change)
    page = text(answer)
    assert answer.status_code == 422 and not Trigger.objects.exists()
    assert message in page and "ticket.title" in page and "Mend the door" in page


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, ["It creaks.", "Mend the door"]),
        ({"path.inputs.branch": "$.branches[*]"}, ["Finds nothing."]),
        ({"path.inputs.branch": "$["}, ["Not a JSONPath"]),
        ({"path.inputs.branch": "ticket"}, ["&quot;title&quot;"]),
        ({"path.only_if": "ticket.urgent"}, ["It would start nothing"]),
        ({"example": "no"}, ["The body is no JSON"]),
        ({"example": ""}, ["With an example you see here"]),
        ({"path.inputs.request": "", "path.title": ""}, ["Nothing is taken from it yet."]),
    ],
)
def test_the_example_shows_what_each_path_finds(
    world: World, signed_in: As, change: dict[str, str], expected: list[str]
) -> None:
    version_of(world)
    page = text(signed_in(world.operator).post(at(world, "trigger-example", "line"), FORM | change))
    for words in expected:
        assert words in page
    if not change:
        assert "would start nothing" not in page


def test_what_came_last_is_the_example_and_is_tried(world: World, signed_in: As) -> None:
    trigger, client = connected(world, requester="by"), signed_in(world.operator)
    tried = at(world, "trigger-try", "line", trigger.pk)
    assert "Nothing came yet." in text(client.post(tried))
    called(trigger, {"ticket": {"title": "Mend the door", "text": "It creaks."}}, "msg_1")
    called(trigger, {"ticket": {}}, "msg_2")
    called(trigger, {"ticket": {}}, "msg_2")
    assert "Would fail now" in text(client.post(tried))
    page = text(client.get(at(world, "trigger-change", "line", trigger.pk)))
    assert "Edit webhook" in page and "{&quot;ticket&quot;: {}}" in page and 'name="secret"' not in page
    page = text(client.get(at(world, "line-triggers", "line")))
    for words in (
        "Started",
        "Failed",
        "Repeated",
        "msg_1",
        "msg_2",
        "Received",
        "Request is required.",
        "Requested by",
    ):
        assert words in page
    page = text(client.get(at(world, "trigger-log", "line", trigger.pk)))
    assert "Deliveries" in page and Task.objects.get().name in page
    page = text(client.get(at(world, "project-triggers")))
    assert "When it is called" in page


def test_an_example_that_was_pasted_is_kept(world: World, signed_in: As) -> None:
    trigger, client = connected(world), signed_in(world.operator)
    answer = client.post(at(world, "trigger-change", "line", trigger.pk), FORM | {"name": "Desk"})
    assert answer.status_code == 302 and json.loads(WebhookAddress.objects.get().example)["ticket"]
    assert Trigger.objects.get().options["name"] == "Desk"
    assert "Would start <strong>Mend the door" in text(
        client.post(at(world, "trigger-try", "line", trigger.pk))
    )


def test_a_secret_is_changed_and_the_old_one_named_while_it_is_valid(world: World, signed_in: As) -> None:
    trigger, client = connected(world), signed_in(world.operator)
    address = at(world, "trigger-rotate", "line", trigger.pk)
    assert client.post(address).status_code == 302 and WebhookSecret.objects.count() == 1
    page = text(client.post(address, {"sure": "yes"}))
    assert page.count("whsec_") == 1 and f"ends with {SECRET[-4:]}" in page
    assert client.post(address, {"sure": "yes", "secret": SECRET, "at_once": "on"}).status_code == 302
    assert WebhookSecret.objects.get().hint == SECRET[-4:]
    page = text(client.post(address, {"sure": "yes", "secret": "short"}, follow=True))
    assert "Use 16 to 200 letters" in page


def test_a_new_webhook_of_a_project_begins_with_its_line(world: World, signed_in: As) -> None:
    version_of(world)
    world.line(key="other", stations=[station("work")])
    page = text(signed_in(world.operator).get(at(world, "trigger-new-choose") + "?kind=webhook"))
    assert "New webhook" in page and at(world, "trigger-new", "other") + "?kind=webhook" in page


def test_an_unknown_kind_is_a_schedule(world: World, signed_in: As) -> None:
    version_of(world)
    assert "New schedule" in text(
        signed_in(world.operator).get(at(world, "trigger-new", "line") + "?kind=moon")
    )
    assert 'value="github" selected' in text(signed_in(world.operator).get(new(world) + "&signature=github"))
