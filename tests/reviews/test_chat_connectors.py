"""Whoever connected a chat typed the secret that vouches for it, and so could press as everybody who linked an account:
it approves nothing of theirs, and never two approvals of one gate (law §15)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import reverse

from pipelines.models import Membership, Task, User, Vote
from pipelines.queries.receipts import _receipt_approval_or_none
from reviews.models import ChannelConnection
from tests.factories import World, make_member
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated
from tests.reviews.test_channels import Chat, chat, connect  # noqa: F401 a fixture
from tests.reviews.test_chat_decisions import SECRET, Slack, linked

pytestmark = pytest.mark.django_db(transaction=True)


class Forger:
    """Mallory administers the project, connects the chat on its page and presses with its secret as others."""

    def __init__(self, world: World, chat: Chat) -> None:  # noqa: F811
        self.world = world
        self.mallory = make_member(world.project, ["admin", "operator"], "mallory")
        self.second = make_member(world.project, ["reviewer"], "second")
        typed = {
            "kind": "slack", "name": "Reviews", "address": f"{chat.server.url}/api", "room": "reviews",
            "secret": "xoxb-1", "signing": SECRET,
        }  # fmt: skip
        address = reverse("project-channels", args=["acme", world.project.key])
        assert client_of(self.mallory).post(address, typed).status_code == 302
        self.slack = Slack(chat, ChannelConnection.objects.get())
        for number, user in enumerate((world.reviewer, self.second)):
            linked(self.slack, user, f"U{number}")

    def waiting(self, by: User, **gate: Any) -> Task:
        version = self.world.line(**gated(channels={"chat": True}, **gate))
        task = self.world.start(version, by=by, title="Add login")
        self.world.report(task, {"result": "success", "summary": "Built"})
        return task

    def press(self, task: Task, account: str = "U0") -> str:
        visit = self.world.visit(task)
        self.slack.press(f"{visit.pk}:{visit.token_version}:{visit.evidence_digest}", account)
        return self.slack.told()

    def by_page(self, task: Task, user: User) -> int:
        visit = self.world.visit(task)
        seen = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
        address = reverse("gate-decide", args=[visit.pk])
        return client_of(user).post(address, {"word": "approve", **seen}).status_code


@pytest.fixture
def forger(world: World, chat: Chat) -> Forger:  # noqa: F811
    return Forger(world, chat)


def test_a_chat_approves_nothing_that_its_connector_requested(forger: Forger) -> None:
    task = forger.waiting(forger.mallory)
    assert forger.slack.button() == ""
    assert "connected this chat and requested" in forger.press(task)
    assert not Vote.objects.exists() and forger.world.status(task) == "awaiting_review"


def test_a_chat_approves_nothing_that_its_connector_made(forger: Forger) -> None:
    document = gated(channels={"chat": True})
    document["stations"][0]["work"] = {"kind": "manual", "instructions": "Build it."}
    task = forger.world.start(forger.world.line(**document))
    forger.world.report(task, by=f"person:{forger.mallory.pk}")
    assert "connected this chat and requested or produced" in forger.press(task)
    Membership.objects.filter(user=forger.mallory).delete()
    assert "Decide on the page" in forger.press(task), "whoever left knows the secret still"
    assert not Vote.objects.exists()


def test_chat_and_connector_together_give_one_of_several_approvals(forger: Forger) -> None:
    task = forger.waiting(forger.world.operator, approval={"who": [{"role": "reviewer", "count": 2}]})
    inbox = f"{reverse('needs-me')}?fragment=list"
    assert task.name in client_of(forger.mallory).get(inbox).content.decode()
    assert "more votes" in forger.press(task)
    assert "counts as one already" in forger.press(task, "U1")
    assert forger.by_page(task, forger.mallory) == 409
    assert task.name not in client_of(forger.mallory).get(inbox).content.decode(), "nothing needs them there"
    assert task.name in client_of(forger.second).get(inbox).content.decode()
    assert Vote.objects.count() == 1 and forger.world.status(task) == "awaiting_review"
    assert forger.by_page(task, forger.second) == 302
    assert forger.world.at(task) == ["ship"]


def test_a_chat_adds_nothing_to_what_its_connector_approved(forger: Forger) -> None:
    task = forger.waiting(forger.world.operator, approval={"who": [{"role": "reviewer", "count": 2}]})
    assert forger.by_page(task, forger.mallory) == 302
    assert "counts as one already" in forger.press(task)
    assert Vote.objects.count() == 1 and forger.world.status(task) == "awaiting_review"


def test_where_all_of_a_role_have_to_approve_the_connector_does_by_the_page(forger: Forger) -> None:
    everybody = {"who": [{"role": "reviewer", "count": "all"}]}
    task = forger.waiting(forger.world.operator, approval=everybody)
    assert "counts as one already" in forger.press(task) and not Vote.objects.exists()


def test_review_history_receipt_and_events_name_the_chat(forger: Forger) -> None:
    task = forger.waiting(forger.world.operator)
    visit = forger.world.visit(task)
    assert forger.slack.button() and forger.press(task) == "Approved."
    reader = client_of(forger.world.reviewer)

    def read(name: str, *place: Any, **asked: str) -> str:
        answer: HttpResponse = reader.get(reverse(name, args=place), asked)
        assert answer.status_code == 200
        return b"".join(answer.streaming_content).decode() if answer.streaming else answer.content.decode()

    assert "in the chat Reviews" in read("gate-visit", visit.pk, show="history")
    votes = json.loads(read("gate-history", visit.pk))["rounds"][0]["votes"]
    assert [(vote["via"], vote["chat"]) for vote in votes] == [("slack", "Reviews")]
    assert "(in the chat Reviews)" in read("task", "acme", task.project.key, task.name)
    visit.refresh_from_db()
    approval = _receipt_approval_or_none(visit)
    assert approval is not None
    assert approval.votes[0].by == f"{forger.world.reviewer.username} in the chat Reviews"
