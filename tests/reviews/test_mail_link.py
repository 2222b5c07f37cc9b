"""Approving by a link in a mail (law §15): once, by one person, about one visit; only the button decides."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.models import GateVisit, Membership, Project, Task, User, Vote
from reviews.decision.mail_link import issue_token_to_sole_member_or_empty
from reviews.models import Mail, MailLink
from reviews.tasks import deliver_mail
from tests.factories import World, make_member, make_project
from tests.fixtures.mailbox import Mailbox
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated, remark_on

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lead(world: World) -> User:
    return make_member(world.project, "reviewer", "lead")


def asked(world: World, lead: User, **gate: Any) -> Task:
    channels = gate.pop("channels", {"mail_link": True})
    task = world.start(world.line(**gated(channels=channels, notify=[lead.email], **gate)), title="Add login")
    world.report(task, {"result": "success", "summary": "Built"})
    return task


def link_in(mailbox: Mailbox, mail: Mail) -> str:
    """The path of the link in the mail that is sent now; "" without one."""
    deliver_mail(mail.pk)
    text = mailbox.received[-1][1].get_body(("plain",)).get_content()
    html = mailbox.received[-1][1].get_body(("html",)).get_content()
    found = re.search(r"https?://[^/\s]+(/decide/\S+)", text)
    assert bool(found) == ("/decide/" in html)
    return found.group(1) if found else ""


def link(mailbox: Mailbox, task: Task) -> str:
    return link_in(mailbox, Mail.objects.filter(visit__task=task, kind="asked", chosen=False).latest("pk"))


def confirm(client: Client, path: str) -> Any:
    """Follow the link and press the button."""
    client.get(path)
    return client.post(reverse("mail-link"))


def test_the_button_approves_once_and_the_vote_says_how(world: World, lead: User, mailbox: Mailbox) -> None:
    task = asked(world, lead)
    path, client = link(mailbox, task), Client()
    token = path.strip("/").split("/")[-1]
    assert len(token) >= 43 and not MailLink.objects.filter(digest=token).exists()
    arrived = client.get(path)
    assert arrived["Location"] == reverse("mail-link") and token not in arrived["Location"]
    assert arrived["Referrer-Policy"] == "no-referrer" and "no-store" in arrived["Cache-Control"]
    shown = client.get(reverse("mail-link"))
    assert "Approve as lead" in shown.content.decode() and "no-store" in shown["Cache-Control"]
    assert not Vote.objects.exists()
    done = client.post(reverse("mail-link"))
    assert (done.status_code, world.at(task)) == (200, ["ship"])
    vote = Vote.objects.get()
    assert (vote.user, vote.via, vote.word) == (lead, "mail", "approve")
    again = confirm(Client(), path)
    assert again.status_code == 410 and "works once" in again.content.decode()


def test_remarks_go_with_an_approval_by_the_link(world: World, lead: User, mailbox: Mailbox) -> None:
    task = asked(world, lead)
    remark_on(world.visit(task), lead, "Fine, but slow.")
    assert confirm(Client(), link(mailbox, task)).status_code == 200
    assert Vote.objects.get().reason == "app.py:3: Fine, but slow."


def test_looking_never_decides(world: World, lead: User, mailbox: Mailbox) -> None:
    task = asked(world, lead)
    path = link(mailbox, task)
    for method in ("get", "head", "options"):
        for _ in range(3):
            client = Client()
            getattr(client, method)(path, follow=method != "options")
            getattr(client, method)(reverse("mail-link"))
    assert not Vote.objects.exists() and MailLink.objects.get().used_at is None
    assert world.status(task) == "awaiting_review"


@pytest.mark.soak
def test_looking_at_five_hundred_links_decides_none(world: World, lead: User) -> None:
    """GET, HEAD and OPTIONS, three times each, as mail scanners do."""
    version = world.line(**gated(channels={"mail_link": True}, notify=[lead.email]))
    for _ in range(500):
        world.report(world.start(version))
    visits = GateVisit.objects.select_related("task__project", "job", "asked_by")
    tokens = [issue_token_to_sole_member_or_empty(visit, lead.email, timezone.now()) for visit in visits]
    assert len(set(tokens)) == 500 and "" not in tokens
    for token in tokens:
        client, path = Client(), reverse("mail-link-arrive", args=[token])
        for method in ("get", "head", "options") * 3:
            assert getattr(client, method)(path).status_code < 500
            assert getattr(client, method)(reverse("mail-link")).status_code < 500
    assert not Vote.objects.exists() and not MailLink.objects.filter(used_at__isnull=False).exists()


@pytest.mark.parametrize(
    "gate",
    [
        {"channels": {}},
        {"fields": [{"key": "ring", "type": "text"}]},
        {"approval": {"reason_required": True}},
        {"approval": {"who": [{"user": "nobody-else", "count": 1}]}},
    ],
)
def test_a_gate_that_does_not_allow_it_or_asks_for_more_sends_no_link(
    world: World, lead: User, mailbox: Mailbox, gate: dict[str, Any]
) -> None:
    assert link(mailbox, asked(world, lead, **gate)) == ""
    assert not MailLink.objects.exists()


def test_who_is_no_member_or_shares_an_address_gets_no_link(
    world: World, lead: User, mailbox: Mailbox
) -> None:
    other = make_member(world.project, "reviewer", "other")
    User.objects.filter(pk=other.pk).update(email=lead.email.upper())
    assert link(mailbox, asked(world, lead)) == ""
    Membership.objects.filter(user__in=[lead, other]).delete()
    task = world.start(world.line(**gated(channels={"mail_link": True}, notify=[lead.email])))
    world.report(task)
    assert link(mailbox, task) == ""


def test_a_second_factor_of_the_project_forbids_it(world: World, lead: User, mailbox: Mailbox) -> None:
    task = asked(world, lead)
    path = link(mailbox, task)
    Project.objects.update(second_factor=True)
    refused = confirm(Client(), path)
    assert refused.status_code == 403 and "can no longer be approved by a link" in refused.content.decode()
    assert not Vote.objects.exists()


def test_who_needs_a_second_factor_for_another_project_decides_by_no_link(
    world: World, lead: User, mailbox: Mailbox
) -> None:
    """As by no page and in no chat: it is asked of the whole account."""
    path = link(mailbox, asked(world, lead))
    other = make_project("vault", "other")
    Membership.objects.create(project=other, user=lead, roles=["viewer"])
    Project.objects.filter(pk=other.pk).update(second_factor=True)
    refused = confirm(Client(), path)
    assert refused.status_code == 403 and "needs a second factor first" in refused.content.decode()
    assert not Vote.objects.exists()
    Project.objects.filter(pk=other.pk).update(second_factor=False)
    assert confirm(Client(), path).status_code == 200


def _decided(world: World, task: Task, lead: User) -> None:
    world.vote(task, "reject", reason="No")


def _next_round(world: World, task: Task, lead: User) -> None:
    world.vote(task, "send_back", reason="Again")
    world.report(task, {"result": "success", "summary": "Built again"})


def _cancelled(world: World, task: Task, lead: User) -> None:
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="No")


def _left(world: World, task: Task, lead: User) -> None:
    Membership.objects.filter(user=lead).delete()


def _deactivated(world: World, task: Task, lead: User) -> None:
    User.objects.filter(pk=lead.pk).update(is_active=False)


def _became_requester(world: World, task: Task, lead: User) -> None:
    Task.objects.filter(pk=task.pk).update(requester=lead)


@pytest.mark.parametrize(
    ("happens", "status", "says"),
    [
        (_decided, 409, "Already decided"),
        (_next_round, 409, "Already decided"),
        (_cancelled, 410, "This review is over"),
        (_left, 403, "You cannot decide this now"),
        (_deactivated, 403, "You cannot decide this now"),
        pytest.param(_became_requester, 403, "You requested this task", marks=pytest.mark.broken),
    ],
)
def test_a_stale_link_decides_nothing_and_says_why(
    world: World, lead: User, mailbox: Mailbox, happens: Any, status: int, says: str
) -> None:
    task = asked(world, lead)
    path, client = link(mailbox, task), Client()
    client.get(path)
    happens(world, task, lead)
    before = Vote.objects.count()
    for answer in (client.get(reverse("mail-link")), client.post(reverse("mail-link"))):
        assert (answer.status_code, says in answer.content.decode()) == (status, True)
    assert Vote.objects.count() == before
    assert (
        MailLink.objects.get(
            user=lead, visit=GateVisit.objects.filter(task=task).earliest("opened_at")
        ).used_at
        is None
    )


def test_who_is_signed_in_uses_no_link_of_somebody_else(world: World, lead: User, mailbox: Mailbox) -> None:
    path = link(mailbox, asked(world, lead))
    other = client_of(world.reviewer)
    other.get(path)
    for answer in (other.get(reverse("mail-link")), other.post(reverse("mail-link"))):
        assert (answer.status_code, "of somebody else" in answer.content.decode()) == (403, True)
    assert not Vote.objects.exists()
    assert confirm(client_of(lead), path).status_code == 200
    assert Vote.objects.get().user == lead


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t + "A", lambda t: "x", lambda t: t.lower()])
def test_a_token_that_is_cut_or_changed_is_not_valid(
    world: World, lead: User, mailbox: Mailbox, change: Any
) -> None:
    task = asked(world, lead)
    token = link(mailbox, task).strip("/").split("/")[-1]
    client = Client()
    client.get(reverse("mail-link-arrive", args=[change(token)]))
    assert client.post(reverse("mail-link")).status_code == 404
    assert Client().post(reverse("mail-link")).status_code == 404
    assert not Vote.objects.exists()


def test_the_button_needs_the_token_of_its_form(world: World, lead: User, mailbox: Mailbox) -> None:
    path, client = link(mailbox, asked(world, lead)), Client(enforce_csrf_checks=True)
    client.get(path)
    assert client.post(reverse("mail-link")).status_code == 403
    assert not Vote.objects.exists()


def test_an_address_that_no_token_has_leads_nowhere(db: None) -> None:
    for odd in ("€", "a b", "x" * 101):
        assert Client().get(reverse("mail-link-arrive", args=[odd])).status_code == 404
