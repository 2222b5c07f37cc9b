"""Approving in Mattermost (law §15): by what only its server was given, by a linked account."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from pipelines.models import Task, User, Vote
from pipelines.ports.vault import keys
from reviews.channels import accounts
from reviews.models import ChannelConnection, ChatAccount
from tests.factories import World
from tests.reviews.test_channels import HOSTILE, Chat, chat, connect, deliver  # noqa: F401 a fixture
from tests.reviews.test_chat_decisions import waiting

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = "nezum4kpu3faiec7r7c5zt6tfy"


@dataclass
class Mattermost:
    """A server as its documentation describes it: it gives the context of an action back, and the token of its slash
    command with each command."""

    chat: Chat
    connection: ChannelConnection
    token: str = TOKEN

    def send(self, body: bytes, content_type: str) -> HttpResponse:
        client = Client(enforce_csrf_checks=True)
        address = reverse("api-1:chat-interaction", args=[self.connection.pk])
        answer: HttpResponse = client.generic("POST", address, body, content_type)
        return answer

    def choose(self, action: dict[str, Any], user: str = "user1", option: str = "approve") -> HttpResponse:
        said = {
            "user_id": user,
            "post_id": "post1",
            "channel_id": "room1",
            "team_id": "team1",
            "context": {**action["integration"]["context"], "selected_option": option},
        }
        client = Client(enforce_csrf_checks=True)
        answer: HttpResponse = client.post(action["integration"]["url"], said, "application/json")
        return answer

    def command(self, text: str, user: str = "user1") -> HttpResponse:
        said = {
            "command": "/gateline",
            "text": text,
            "team_id": "team1",
            "user_id": user,
            "token": self.token,
        }
        return self.send(urlencode(said).encode(), "application/x-www-form-urlencoded")

    def menu(self) -> dict[str, Any]:
        """That of the last message; empty without one."""
        deliver()
        attachments = self.chat.calls[-1][1].get("props", {}).get("attachments", [])
        return dict(attachments[0]["actions"][0]) if attachments else {}

    def link(self, user: User, account: str = "user1") -> None:
        answer = self.command(
            f"link {accounts.replace_code_that_links_chat(user, self.connection.pk)}", account
        )
        assert answer.status_code == 200 and str(user) in answer.json()["text"]


@pytest.fixture
def mattermost(world: World, chat: Chat) -> Iterator[Mattermost]:  # noqa: F811
    yield Mattermost(chat, connect(world, chat, "mattermost", signing=keys.encrypt_secret(TOKEN)))


def said(answer: HttpResponse) -> str:
    assert answer.status_code == 200
    return str(answer.json()["ephemeral_text"])  # type: ignore[attr-defined]


def undecided(world: World, task: Task) -> None:
    assert not Vote.objects.exists() and world.status(task) == "awaiting_review"


def test_a_linked_account_approves_by_the_menu_which_goes(world: World, mattermost: Mattermost) -> None:
    task = waiting(world)
    menu = mattermost.menu()
    assert menu["type"] == "select" and [each["value"] for each in menu["options"]] == ["approve"]
    mattermost.link(world.reviewer)
    assert said(mattermost.choose(menu)) == "Approved."
    vote = Vote.objects.get()
    assert (vote.user, vote.via, world.at(task)) == (world.reviewer, "mattermost", ["ship"])
    deliver()
    path, change = mattermost.chat.calls[-1]
    assert path.endswith("/posts/post1/patch") and change["props"] == {"attachments": []}
    assert "Approved" in said(mattermost.choose(menu)) or "first" in said(mattermost.choose(menu))
    assert Vote.objects.count() == 1


def test_what_nobody_vouches_for_is_refused(world: World, mattermost: Mattermost) -> None:
    task = waiting(world)
    menu = mattermost.menu()
    mattermost.link(world.reviewer)
    context = menu["integration"]["context"]
    for forged in (
        {**context, "signature": "0" * 64},
        {**context, "value": context["value"][:-1] + "x"},
        {"value": context["value"]},
        {"value": "\ud800", "signature": "x"},
        {**context, "signature": ["x"]},
        {},
    ):
        action = {"integration": {**menu["integration"], "context": forged}}
        assert mattermost.choose(action).status_code == 401
    mattermost.token = "wrong"
    assert mattermost.command("link x").status_code == 401
    for body in (b"", b"[]", b"null", b"\xff\xfe", b"{" * 5_000, b'{"context": 1}'):
        assert mattermost.send(body, "application/json").status_code == 401
    undecided(world, task)


def test_another_connection_vouches_for_nothing_here(
    world: World,
    chat: Chat,  # noqa: F811
    mattermost: Mattermost,
) -> None:
    task = waiting(world)
    menu = mattermost.menu()
    other = connect(world, chat, "mattermost", name="other", signing=keys.encrypt_secret(TOKEN))
    mattermost.link(world.reviewer)
    url = menu["integration"]["url"].replace(f"/{mattermost.connection.pk}/", f"/{other.pk}/")
    assert mattermost.choose({"integration": {**menu["integration"], "url": url}}).status_code == 401
    undecided(world, task)


def test_what_decides_nothing_says_why(world: World, mattermost: Mattermost) -> None:
    task = waiting(world)
    menu = mattermost.menu()
    assert "not linked" in said(mattermost.choose(menu))
    mattermost.link(world.operator)
    assert "/inbox/" in said(mattermost.choose(menu)), "the requester: the page says it too"
    mattermost.link(world.reviewer, "user2")
    assert said(mattermost.choose(menu, "user2", option="other")) == ""
    assert mattermost.choose(menu, "\u00e4").status_code == 200
    undecided(world, task)
    world.vote(task, "send_back", reason="Again.")
    world.report(task, {"result": "success", "summary": "Built again"})
    assert not Vote.objects.filter(word="approve").exists()
    assert "send back" in said(mattermost.choose(menu, "user2")).lower()
    assert world.status(task) == "awaiting_review"


def test_there_is_no_menu_where_the_gate_or_the_connection_has_none(
    world: World, mattermost: Mattermost
) -> None:
    waiting(world, channels={"mail_link": True})
    assert mattermost.menu() == {}
    ChannelConnection.objects.update(signing="")
    waiting(world)
    assert mattermost.menu() == {}
    assert mattermost.command("link x").status_code == 401
    assert not ChatAccount.objects.exists()
