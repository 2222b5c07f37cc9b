"""Chats and webhooks that are told of reviews, against local servers that answer as their documentation says."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from django.db import connection as database
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.models import AdministrativeAct, Task
from pipelines.ports.vault import keys
from reviews.channels.channel import ChannelUnavailable
from reviews.channels.message_delivery import send_message_unless_sent_or_skipped
from reviews.models import ChannelConnection, ChannelMessage
from tests.factories import World
from tests.outgoing.servers import Asked, Server, say, serving
from tests.published.chats import card_message_faults, post_faults
from tests.published.packages import NotFetched
from tests.published.slack import call_faults
from tests.reviews.conftest import gated
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
HOSTILE = "<!channel> <script>alert(1)</script> **bold** [x](http://evil) @all \u202egnp.exe\u200b `a`"


class Chat:
    """One local server for all four kinds; `refuse` answers every call with this status, or with a Slack error."""

    def __init__(self) -> None:
        self.refuse: int | str = 0
        self.server: Server

    def answer(self, to: BaseHTTPRequestHandler, asked: Asked) -> None:
        if isinstance(self.refuse, int) and self.refuse:
            return say(to, self.refuse, b"no", retry_after="1")
        if "/chat." in asked.path:
            if asked.headers.get("authorization") != "Bearer xoxb-1":
                return _json(to, {"ok": False, "error": "invalid_auth"})
            if self.refuse:
                return _json(to, {"ok": False, "error": self.refuse})
            said = json.loads(asked.body)
            room = "C1" if said["channel"] in ("reviews", "C1") else ""
            if not room or (asked.path.endswith("chat.update") and said["ts"] != "17.5"):
                return _json(to, {"ok": False, "error": "channel_not_found"})
            return _json(to, {"ok": True, "channel": room, "ts": "17.5"})
        if "/api/v4/posts" in asked.path:
            return _json(to, {"id": "post1"}, 201 if asked.method == "POST" else 200)
        return say(to, 202)

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        return [(each.path, json.loads(each.body)) for each in self.server.asked]


def _json(to: BaseHTTPRequestHandler, document: dict[str, Any], status: int = 200) -> None:
    say(to, status, json.dumps(document).encode(), content_type="application/json")


@pytest.fixture
def chat(settings: Any) -> Iterator[Chat]:
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    found = Chat()
    with serving(found.answer) as server:
        found.server = server
        yield found
    # The other tests do without what cannot be fetched
    with suppress(NotFetched):
        for path, payload in found.calls:
            assert published_faults(path, payload) == []


def published_faults(path: str, payload: dict[str, Any]) -> list[str]:
    if "/chat." in path:
        return call_faults(path.rpartition("/")[2], payload)
    if "/api/v4/posts" in path:
        return post_faults(payload)
    return card_message_faults(payload) if "/workflows/" in path else []


def connect(world: World, chat: Chat, kind: str, **more: Any) -> ChannelConnection:
    given = {
        "slack": {"address": f"{chat.server.url}/api", "room": "reviews", "secret": "xoxb-1"},
        "mattermost": {"address": chat.server.url, "room": "room1", "secret": "token"},
        "teams": {"address": f"{chat.server.url}/workflows/1", "secret": ""},
        "webhook": {"address": f"{chat.server.url}/hook", "secret": SECRET},
    }[kind] | {"name": kind, **more}
    secret = given.pop("secret")
    return ChannelConnection.objects.create(
        project=world.project, kind=kind, created_at=timezone.now(),
        secret=keys.encrypt_secret(secret) if secret else "", **given,
    )  # fmt: skip


def asked(world: World, title: str = "Add login") -> Task:
    task = world.start(world.line(**gated()), title=title)
    world.report(task, {"result": "success", "summary": title})
    return task


def deliver() -> None:
    """What the worker does with the tickets."""
    for pk in ChannelMessage.objects.filter(state="queued").order_by("pk").values_list("pk", flat=True):
        send_message_unless_sent_or_skipped(pk)


def at(world: World, name: str, *more: int) -> str:
    return reverse(name, args=[world.project.owner.key, world.project.key, *more])


def tickets() -> int:
    with database.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'reviews.send_channel_message'"
        )
        return int(cursor.fetchone()[0])


def test_what_slack_did_not_publish_is_found() -> None:
    text = {"type": "plain_text", "text": "x", "emoji": False}
    said = {"channel": "C1", "text": "x", "blocks": [{"type": "section", "text": text}]}
    assert call_faults("chat.postMessage", said) == []
    assert call_faults("chat.send", said) == ["chat.send: no such method is published"]
    assert call_faults("chat.postMessage", {**said, "rooms": "C1"}) == [
        "chat.postMessage rooms: nobody published it"
    ]
    assert call_faults("chat.update", said) == ["chat.update.ts: is required"]
    for wrong in (
        {"type": "sections", "text": text},
        {"type": "section", "text": {**text, "text": "x" * 3_001}},
        {"type": "section", "text": text, "colour": "red"},
    ):
        assert len(call_faults("chat.postMessage", {**said, "blocks": [wrong]})) == 1, wrong


def test_what_mattermost_and_microsoft_did_not_publish_is_found() -> None:
    action = {"id": "a", "name": "Approve", "type": "select", "options": [{"text": "A", "value": "a"}]}
    post = {"channel_id": "c", "message": "x", "props": {"attachments": [{"text": "x", "actions": [action]}]}}
    schema = "http://adaptivecards.io/schemas/adaptive-card.json"
    card = {
        "type": "AdaptiveCard",
        "$schema": schema,
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": "x"}],
    }

    def message(content: Any, **more: Any) -> dict[str, Any]:
        kind = "application/vnd.microsoft.card.adaptive"
        return {"type": "message", "attachments": [{"contentType": kind, "content": content}], **more}

    try:
        assert post_faults(post) == [] and card_message_faults(message(card)) == []
    except NotFetched as error:
        pytest.skip(str(error))
    assert post_faults({**post, "root_id": 7, "colour": "red"}) == [
        "Post.root_id: 7 is no string",
        "Post.colour: nobody published it",
    ]
    wrong = {"attachments": [{"text": "x", "buttons": []}]}
    assert post_faults({"props": wrong}) == ["MessageAttachment.buttons: nobody published it"]
    assert card_message_faults(message(card, cards=[])) == ["Activity.cards: nobody published it"]
    for block in (
        {"type": "Text", "text": "x"},
        {**card["body"][0], "bold": True},
        {**card["body"][0], "size": "h1"},
    ):
        assert len(card_message_faults(message({**card, "body": [block]}))) == 1, block


def test_slack_posts_and_changes_its_message_when_it_is_decided(world: World, chat: Chat) -> None:
    connect(world, chat, "slack")
    task = asked(world)
    assert (chat.calls, tickets()) == ([], 1)
    visit = world.visit(task)
    deliver()
    world.vote(task, "approve")
    deliver()
    (posted, first), (updated, second) = chat.calls
    assert (posted, updated) == ("/api/chat.postMessage", "/api/chat.update")
    assert (second["channel"], second["ts"]) == ("C1", "17.5")
    assert first["blocks"][-1]["elements"][0]["url"].endswith(f"/inbox/{visit.pk}/")
    assert "Approve · reviewer" in json.dumps(second["blocks"], ensure_ascii=False)
    assert list(ChannelMessage.objects.values_list("kind", "state")) == [
        ("opened", "sent"),
        ("closed", "sent"),
    ]


@pytest.mark.wide
def test_mattermost_posts_and_patches(world: World, chat: Chat) -> None:
    connect(world, chat, "mattermost")
    task = asked(world)
    deliver()
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="No")
    deliver()
    (_first, made), (_second, changed) = chat.calls
    assert [each.path for each in chat.server.asked] == ["/api/v4/posts", "/api/v4/posts/post1/patch"]
    assert [each.method for each in chat.server.asked] == ["POST", "PUT"]
    assert made["channel_id"] == "room1" and "Closed without a decision" in changed["message"]


def test_teams_gets_a_card_and_a_second_one(world: World, chat: Chat) -> None:
    connect(world, chat, "teams", topics=["waiting"])
    task = asked(world)
    deliver()
    world.vote(task, "reject", reason="No")
    deliver()
    cards = [said["attachments"][0]["content"] for _path, said in chat.calls]
    assert [card["type"] for card in cards] == ["AdaptiveCard"] * 2
    assert "Reject" in cards[1]["body"][1]["text"]


def test_a_webhook_is_signed_as_the_standard_says(world: World, chat: Chat) -> None:
    connect(world, chat, "webhook")
    asked(world)
    # It waited for an hour: what is signed is the time of the try, as receivers refuse old ones.
    ChannelMessage.objects.update(created_at=timezone.now() - timedelta(hours=1))
    deliver()
    [call] = chat.server.asked
    assert abs(timezone.now().timestamp() - int(call.headers["webhook-timestamp"])) < 300
    signed = f"{call.headers['webhook-id']}.{call.headers['webhook-timestamp']}.".encode() + call.body
    wanted = base64.b64encode(hmac.new(b"k" * 32, signed, hashlib.sha256).digest()).decode()
    assert call.headers["webhook-signature"] == f"v1,{wanted}"
    assert json.loads(call.body)["type"] == "review.opened"


@pytest.mark.parametrize("kind", ["slack", "mattermost", "teams", "webhook"])
def test_what_people_and_agents_wrote_is_no_markup_and_no_mention(
    world: World, chat: Chat, kind: str
) -> None:
    connect(world, chat, kind)
    asked(world, HOSTILE)
    deliver()
    body = chat.server.asked[-1].body.decode()
    assert "\u202e" not in body and "\u200b" not in body
    if kind == "slack":
        [(_path, said)] = chat.calls
        assert "<" not in said["text"]
        texts = [block["text"] for block in said["blocks"] if "text" in block]
        assert {each["type"] for each in texts} == {"plain_text"}
    if kind == "mattermost":
        text = json.loads(body)["message"].split("\n")[0]
        assert r"\*\*bold\*\*" in text and r"\[x\]\(" in text and "@all" not in text and r"\<" in text
    if kind == "teams":
        assert r"\*\*bold\*\* \[x\]\(" in json.loads(body)["attachments"][0]["content"]["body"][0]["text"]


@pytest.mark.parametrize(
    ("refuse", "again"),
    [(503, True), (429, True), (404, False), ("ratelimited", True), ("invalid_auth", False)],
)
def test_what_is_refused_is_kept_and_sent_again(
    world: World, chat: Chat, refuse: int | str, again: bool
) -> None:
    connect(world, chat, "slack")
    asked(world)
    chat.refuse = refuse
    if again:
        with pytest.raises(ChannelUnavailable):
            deliver()
    else:
        deliver()
    letter = ChannelMessage.objects.get()
    assert (letter.state, letter.attempts, str(refuse) in letter.error) == ("failed", 1, True)
    page = as_(world.admin).get(at(world, "project-channels")).content.decode()
    assert "Not sent" in page and str(refuse) in page
    chat.refuse = 0
    address = at(world, "channel-again", letter.pk)
    assert as_(world.admin).post(address).status_code == 302
    deliver()
    letter.refresh_from_db()
    assert (letter.state, letter.error) == ("sent", "")
    assert as_(world.admin).post(address).status_code == 404


def test_a_review_that_ended_before_it_was_told_is_told_to_nobody(world: World, chat: Chat) -> None:
    connect(world, chat, "slack")
    task = asked(world)
    world.vote(task, "approve")
    deliver()
    assert chat.calls == []
    assert set(ChannelMessage.objects.values_list("state", flat=True)) == {"skipped"}


def test_a_private_address_that_no_operator_listed_is_not_called(
    world: World, chat: Chat, settings: Any
) -> None:
    settings.PRIVATE_HOSTS = []
    connect(world, chat, "webhook")
    asked(world)
    with pytest.raises(ChannelUnavailable):
        deliver()
    assert chat.server.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.1.2.3", "[::1]"])
def test_a_private_address_is_refused_when_it_is_connected(world: World, settings: Any, host: str) -> None:
    admin, here = as_(world.admin), at(world, "project-channels")
    form = {"kind": "webhook", "name": "Hook", "address": f"http://{host}:9000/hook"}
    settings.PRIVATE_HOSTS = []
    refused = admin.post(here, form)
    assert refused.status_code == 422
    assert "is a private address" in refused.content.decode()
    assert "GATELINE_PRIVATE_HOSTS" in refused.content.decode()
    assert not ChannelConnection.objects.exists()
    settings.PRIVATE_HOSTS = [host.strip("[]") if host != "localhost" else "127.0.0.1"]
    assert "is a private address" not in admin.post(here, form).content.decode()
    assert ChannelConnection.objects.count() == 1


def test_the_first_of_a_kind_has_a_name(world: World, chat: Chat) -> None:
    admin, here = as_(world.admin), at(world, "project-channels")
    filled = re.compile(r'name="name"[^>]* value="Slack"')
    assert filled.search(admin.get(here).content.decode())
    connect(world, chat, "slack", name="Slack")
    page = admin.get(here).content.decode()
    assert not filled.search(page) and 'name="name"' not in page
    page = admin.get(f"{here}?kind=slack").content.decode()
    assert not filled.search(page) and 'name="name"' in page


def test_each_topic_says_in_one_line_what_it_means(world: World) -> None:
    page = " ".join(
        as_(world.admin).get(f"{at(world, 'project-channels')}?kind=slack").content.decode().split()
    )
    for line in (
        "a task is blocked: its station needs an answer",
        "a task stands still by a fault: no rule takes its outcome",
        "a task or a review is past its due time",
        "On hold: somebody holds a task, or it waits for other tasks",
    ):
        assert line in page, line


def test_it_is_connected_tested_and_removed_in_the_settings(world: World, chat: Chat) -> None:
    admin, here = as_(world.admin), at(world, "project-channels")
    form = {"kind": "slack", "name": "Reviews", "address": f"{chat.server.url}/api", "room": "reviews"}
    refused = admin.post(here, form)
    assert refused.status_code == 422 and "Enter the token" in refused.content.decode()
    assert admin.post(here, {**form, "secret": "xoxb-1"}).status_code == 302
    made = ChannelConnection.objects.get()
    page = admin.get(here).content.decode()
    assert "xoxb-1" not in page and "xoxb-1" not in made.secret
    assert "Reviews accepted a test." in _told(world, admin, "channel-test", made.pk)
    chat.refuse = "not_in_channel"
    assert "Slack answered not_in_channel" in _told(world, admin, "channel-test", made.pk)
    assert "Disconnected" in _told(world, admin, "channel-remove", made.pk)
    kinds = AdministrativeAct.objects.filter(kind__startswith="channel").order_by("pk")
    assert list(kinds.values_list("kind", flat=True)) == ["channel.connected", "channel.disconnected"]


def _told(world: World, admin: Client, name: str, pk: int) -> str:
    return admin.post(at(world, name, pk), follow=True).content.decode()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kind": "webhook", "address": "ftp://x"}, "begins with https"),
        ({"kind": "webhook", "address": "https://a:b@x"}, "begins with https"),
        ({"kind": "webhook", "address": "https://x", "secret": "no base 64"}, "whsec_ and Base64"),
        ({"kind": "mattermost", "address": "https://x", "secret": "t"}, "Enter the channel"),
        ({"kind": "mattermost", "address": "https://x", "room": "r", "secret": "tök"}, "A token has no"),
        ({"kind": "slack", "room": "r", "secret": "xoxb-\x01-very-secret"}, "A token has no"),
        ({"kind": "carrier pigeon", "address": "https://x"}, "Select a valid choice"),
    ],
)
def test_what_cannot_work_is_refused_in_the_form(world: World, given: dict[str, str], says: str) -> None:
    here = at(world, "project-channels")
    world.admin  # noqa: B018
    answer = as_(world.admin).post(here, {"name": "x", **given})
    assert (answer.status_code, says in answer.content.decode()) == (422, True)
    assert not ChannelConnection.objects.exists()
