"""Approving in Slack (law §15): signed, at most five minutes old, by a linked account, where the gate allows it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from pipelines import engine
from pipelines.models import AdministrativeAct, Membership, Project, Task, User, Vote
from pipelines.ports.vault import keys
from reviews.channels import accounts
from reviews.channels.message_delivery import reply_to_slack_account_if_connected
from reviews.models import ChannelConnection, ChatAccount, ChatCode
from tests.factories import World, make_member, make_project
from tests.reviews.conftest import gated, remark_on
from tests.reviews.test_channels import HOSTILE, Chat, chat, connect, deliver  # noqa: F401 a fixture
from tests.reviews.test_pages import as_
from tests.waiting import LONG

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


@dataclass
class Slack:
    """An app as its documentation describes it: it signs what people press and type, and keeps what we post."""

    chat: Chat
    connection: ChannelConnection
    secret: str = SECRET

    def send(self, form: dict[str, str], *, at: float | None = None, **headers: str) -> HttpResponse:
        body = urlencode(form).encode()
        stamp = str(int(timezone.now().timestamp() if at is None else at))
        made = hmac.new(self.secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
        signed = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={made}", **headers}
        client = Client(enforce_csrf_checks=True)
        address = reverse("api-1:chat-interaction", args=[self.connection.pk])
        answer: HttpResponse = client.generic(
            "POST", address, body, "application/x-www-form-urlencoded", headers=signed
        )
        return answer

    def press(self, value: str, user: str = "U1", *, action: str = "approve", **more: Any) -> HttpResponse:
        said = {
            "type": "block_actions",
            "team": {"id": "T1"},
            "user": {"id": user},
            "channel": {"id": "C1"},
            "actions": [{"action_id": action, "value": value}],
        }
        return self.send({"payload": json.dumps(said)}, **more)

    def command(self, text: str, user: str = "U1") -> str:
        form = {"command": "/gateline", "text": text, "team_id": "T1", "user_id": user, "channel_id": "C1"}
        answer = self.send(form)
        assert answer.status_code == 200
        return str(answer.json()["text"])

    def button(self) -> str:
        """What the button of the last message says back; "" without one."""
        deliver()
        elements = self.chat.calls[-1][1]["blocks"][-1]["elements"]
        return str(next((each["value"] for each in elements if each["action_id"] == "approve"), ""))

    def told(self) -> str:
        """What was answered to whoever pressed, as the chat shows it."""
        jobs = ProcrastinateJob.objects.filter(task_name="reviews.send_chat_reply").order_by("pk")
        job = jobs.last()
        return "" if job is None else str(job.args["text"])


@pytest.fixture
def slack(world: World, chat: Chat) -> Iterator[Slack]:  # noqa: F811
    yield Slack(chat, connect(world, chat, "slack", signing=keys.encrypt_secret(SECRET)))


def waiting(world: World, **gate: Any) -> Task:
    channels = gate.pop("channels", {"chat": True})
    task = world.start(world.line(**gated(channels=channels, **gate)), title="Add login")
    world.report(task, {"result": "success", "summary": "Built"})
    return task


def linked(slack: Slack, user: User, account: str = "U1") -> None:
    assert str(user) in slack.command(
        f"link {accounts.replace_code_that_links_chat(user, slack.connection.pk)}", account
    )


def test_a_linked_account_approves_and_the_message_says_so(world: World, slack: Slack) -> None:
    task = waiting(world)
    value = slack.button()
    shown = slack.chat.calls[-1][1]["blocks"][-1]["elements"][0]
    assert shown["confirm"]["confirm"]["text"] == "Approve" and "Ship" in shown["confirm"]["text"]["text"]
    linked(slack, world.reviewer)
    assert slack.press(value).status_code == 200
    vote = Vote.objects.get()
    assert (vote.user, vote.via, vote.word, world.at(task)) == (world.reviewer, "slack", "approve", ["ship"])
    assert slack.told() == "Approved."
    deliver()
    path, changed = slack.chat.calls[-1]
    assert path == "/api/chat.update" and "value" not in json.dumps(changed["blocks"])
    slack.press(value)
    assert Vote.objects.count() == 1 and "here first" in slack.told()


def test_remarks_go_with_an_approval_in_a_chat(world: World, slack: Slack) -> None:
    task, value = waiting(world), slack.button()
    remark_on(world.visit(task), world.reviewer, "Fine, but slow.")
    linked(slack, world.reviewer)
    slack.press(value)
    assert Vote.objects.get().reason == "app.py:3: Fine, but slow."


@pytest.mark.wide
def test_an_answer_is_seen_by_whoever_pressed_alone(world: World, slack: Slack) -> None:
    reply_to_slack_account_if_connected(slack.connection.pk, "C1", "U1", "Not you <!channel>")
    path, said = slack.chat.calls[-1]
    assert path == "/api/chat.postEphemeral"
    assert said == {"channel": "C1", "user": "U1", "text": "Not you &lt;!channel&gt;"}


WRONG: list[tuple[float, dict[str, str]]] = [
    (-301, {}),
    (301 + LONG, {}),  # or it is right by the time that it is read
    (0, {"X-Slack-Signature": "v0=" + "0" * 64}),
    (0, {"X-Slack-Signature": "v1=ü"}),
    (0, {"X-Slack-Signature": ""}),
    (0, {"X-Slack-Request-Timestamp": "1e9"}),
    (0, {"X-Slack-Request-Timestamp": "９９９９９９９９９９"}),
    (0, {"X-Slack-Request-Timestamp": str(int(timezone.now().timestamp()) - 1)}),
]


def test_a_wrong_signature_or_an_old_one_is_refused(world: World, slack: Slack) -> None:
    task = waiting(world)
    value = slack.button()
    linked(slack, world.reviewer)
    for later, headers in WRONG:
        answer = slack.press(value, at=timezone.now().timestamp() + later, **headers)
        assert answer.status_code == 401 and "signature" in answer.json()["detail"], (later, headers)
    assert not Vote.objects.exists() and world.status(task) == "awaiting_review"
    slack.press(value, at=timezone.now().timestamp() - 300 + LONG)
    assert Vote.objects.count() == 1


def test_another_connection_vouches_for_nobody(world: World, slack: Slack) -> None:
    """Whoever runs an app of their own, in another project or this one, signs what they like with its secret."""
    waiting(world)
    value = slack.button()
    linked(slack, world.reviewer)
    other = Slack(
        slack.chat, connect(world, slack.chat, "slack", name="other", signing=keys.encrypt_secret("x")), "x"
    )
    other.press(value)
    assert "not linked" in other.told() and not Vote.objects.exists()
    away = World(make_project("else", "where"), world.worker)
    made = connect(away, slack.chat, "slack", name="away", signing=keys.encrypt_secret("x"))
    foreign = Slack(slack.chat, made, "x")
    ChatAccount.objects.create(
        connection=made, user=world.reviewer, workspace="T1", account="U1", linked_at=timezone.now()
    )
    foreign.press(value)
    assert foreign.told() == "There is no such review." and not Vote.objects.exists()
    slack.secret = "x"
    assert slack.press(value).status_code == 401


def _unlinked(world: World, task: Task, lead: User) -> None:
    accounts.unlink_own_chat_account(lead, ChatAccount.objects.get().pk)


def _deactivated(world: World, task: Task, lead: User) -> None:
    User.objects.filter(pk=lead.pk).update(is_active=False)


def _left(world: World, task: Task, lead: User) -> None:
    Membership.objects.filter(user=lead).delete()


def _second_factor(world: World, task: Task, lead: User) -> None:
    Project.objects.update(second_factor=True)


def _decided(world: World, task: Task, lead: User) -> None:
    world.vote(task, "reject", reason="No")


def _next_round(world: World, task: Task, lead: User) -> None:
    world.vote(task, "send_back", reason="Again")
    world.report(task, {"result": "success", "summary": "Built again"})


def _cancelled(world: World, task: Task, lead: User) -> None:
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="No")


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("happens", "says"),
    [
        (_unlinked, "not linked"),
        (_deactivated, "deactivated"),
        (_left, "does not ask you"),
        (_second_factor, "second factor"),
        (_decided, "here first"),
        (_next_round, "here first"),
        (_cancelled, ""),
    ],
)
def test_what_may_not_decide_is_told_why_and_changes_nothing(
    world: World, slack: Slack, happens: Any, says: str
) -> None:
    lead = make_member(world.project, "reviewer", "lead")
    task = waiting(world)
    value = slack.button()
    linked(slack, lead)
    happens(world, task, lead)
    before = (Vote.objects.count(), world.status(task))
    assert slack.press(value).status_code == 200
    assert slack.told() and says in slack.told()
    assert (Vote.objects.count(), world.status(task)) == before


def test_other_evidence_than_was_shown_is_refused(world: World, slack: Slack) -> None:
    waiting(world)
    value = slack.button()
    linked(slack, world.reviewer)
    key, version, evidence = value.split(":")
    for said in (f"{key}:{version}:{'0' * 64}", f"{key}:{int(version) + 1}:{evidence}", "x", "", key):
        assert slack.press(said).status_code == 200
    assert slack.told() and not Vote.objects.exists()


def test_who_requested_or_produced_it_is_barred(world: World, slack: Slack) -> None:
    task = waiting(world)
    value = slack.button()
    Membership.objects.filter(user=world.operator).update(roles=["operator", "reviewer"])
    linked(slack, world.operator)
    slack.press(value)
    assert "You requested this task" in slack.told() and not Vote.objects.exists()
    assert world.status(task) == "awaiting_review"


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    "gate",
    [
        {"channels": {}},
        {"channels": {"mail_link": True}},
        {"fields": [{"key": "ring", "type": "text"}]},
        {"approval": {"reason_required": True}},
    ],
)
def test_a_gate_that_does_not_allow_it_or_asks_for_more_has_no_button(
    world: World, slack: Slack, gate: dict[str, Any]
) -> None:
    task = waiting(world, **gate)
    assert slack.button() == ""
    linked(slack, world.reviewer)
    visit = world.visit(task)
    slack.press(f"{visit.pk}:{visit.token_version}:{visit.evidence_digest}")
    assert "cannot be approved in a chat" in slack.told() and not Vote.objects.exists()


@pytest.mark.wide
def test_of_two_votes_the_first_is_counted_and_said_so(world: World, slack: Slack) -> None:
    make_member(world.project, "reviewer", "second")
    task = waiting(world, approval={"who": [{"role": "reviewer", "count": 2}]})
    value = slack.button()
    linked(slack, world.reviewer)
    slack.press(value)
    assert "more votes" in slack.told() and world.status(task) == "awaiting_review"
    slack.press(value)
    assert "You have voted" in slack.told() and Vote.objects.count() == 1


def test_a_code_links_once_within_ten_minutes_where_it_was_made(world: World, slack: Slack) -> None:
    client = as_(world.reviewer)
    page = client.post(reverse("account-chats"), {"connection": slack.connection.pk})
    code = page.content.decode().split(">link ")[1].split("<")[0].strip()
    assert page.status_code == 200 and len(code) == 16 and "no-store" in page["Cache-Control"]
    assert not ChatCode.objects.filter(digest=code).exists()
    assert "not valid" in slack.command(f"link {code[:-1]}")
    assert "You can now approve here" in slack.command(f"link {code}")
    assert "not valid" in slack.command(f"link {code}", "U2")
    assert "CODE" in slack.command("") and "CODE" in slack.command("unlink everybody")
    made = ChatAccount.objects.get()
    assert (made.user, made.account, made.workspace) == (world.reviewer, "U1", "T1")
    assert AdministrativeAct.objects.filter(kind="chat.linked").count() == 1
    old = accounts.replace_code_that_links_chat(world.reviewer, slack.connection.pk)
    ChatCode.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "not valid" in slack.command(f"link {old}", "U3")
    assert as_(world.operator).post(reverse("account-chat-unlink", args=[made.pk])).status_code == 404
    assert client.post(reverse("account-chat-unlink", args=[made.pk])).status_code == 302
    assert not ChatAccount.objects.exists()


@pytest.mark.wide
def test_who_left_the_project_links_nothing(world: World, slack: Slack) -> None:
    code = accounts.replace_code_that_links_chat(world.reviewer, slack.connection.pk)
    Membership.objects.filter(user=world.reviewer).delete()
    assert "not valid" in slack.command(f"link {code}")
    page = as_(world.reviewer).post(reverse("account-chats"), {"connection": slack.connection.pk})
    assert page.status_code == 422 and "cannot be linked" in page.content.decode()


FORMS: list[dict[str, str]] = [
    {},
    {"payload": "no JSON"},
    {"payload": "[" * 5_000},
    {"payload": '{"actions": [], "team": {"id": "T1"}}'},
    {
        "payload": '{"actions": [{"action_id": 7}], "team": {"id": "T1"}, "user": {"id": "U"}, "channel": {"id": "C"}}'
    },
    {
        "payload": '{"actions": [{"action_id": "approve", "value": "\\ud800"}], "team": {"id": "\\u0000"}, "user": []}'
    },
    {"command": "/gateline", "text": "link \0"},
    {"command": "/gateline", "text": "link \0", "team_id": "T\0", "user_id": "U1"},
]


@pytest.mark.wide
def test_whatever_is_signed_is_answered(world: World, slack: Slack) -> None:
    for form in FORMS:
        assert slack.send(form).status_code == 200
    assert not Vote.objects.exists() and not ChatAccount.objects.exists()


@pytest.mark.wide
def test_more_than_slack_sends_is_refused(world: World, slack: Slack) -> None:
    assert slack.send({"payload": "x" * 70_000}).status_code == 413


@pytest.mark.wide
def test_the_link_of_a_message_is_taken_note_of_and_decides_nothing(world: World, slack: Slack) -> None:
    waiting(world)
    value = slack.button()
    linked(slack, world.reviewer)
    assert slack.press(value, action="open").status_code == 200
    assert not Vote.objects.exists() and slack.told() == ""


def test_hostile_words_are_neither_markup_nor_a_button_in_the_confirmation(
    world: World, slack: Slack
) -> None:
    task = world.start(world.line(**gated(channels={"chat": True})), title=HOSTILE)
    world.report(task, {"result": "success", "summary": HOSTILE})
    slack.button()
    body = slack.chat.server.asked[-1].body.decode()
    elements = slack.chat.calls[-1][1]["blocks"][-1]["elements"]
    assert [each["action_id"] for each in elements] == ["approve", "open"]
    confirm = elements[0]["confirm"]
    assert {each["type"] for each in confirm.values()} == {"plain_text"}
    assert len(confirm["text"]["text"]) <= 300 and "\u202e" not in body and "\u200b" not in body
