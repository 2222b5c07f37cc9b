"""Whoever is asked to decide gets a mail at once, unless they chose otherwise; without a mail server the review says
where it is."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Membership, Task, User
from pipelines.work.scheduler import timers
from reviews.models import Mail, Notification, NotificationSettings, Posted
from reviews.notifications.recipients import MailChoice
from reviews.notifications.table import BY_KEY as KINDS
from reviews.tasks import deliver_mail
from tests.factories import World
from tests.fixtures.mailbox import Mailbox
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db(transaction=True)
DUE = {"after": "4h", "then": "remind"}


def reviewers(world: World, count: int) -> list[User]:
    people = world.reviewers(count)
    for number, person in enumerate(people):
        person.email = f"reviewer-{number}@example.com"
        person.save()
    return people


def asked(world: World, **gate: Any) -> Task:
    task = world.start(world.line(**gated(notify=[], **gate)), title="Add login")
    world.report(task, {"result": "success", "summary": "Built it"})
    return task


def queued() -> dict[str, Mail]:
    return {mail.address: mail for mail in Mail.objects.filter(state=Posted.State.QUEUED)}


def test_reviewers_are_mailed_what_is_asked_by_when_and_what_each_button_does(
    world: World, mailbox: Mailbox
) -> None:
    first, second = reviewers(world, 2)
    task = asked(world, due=DUE)
    mails = queued()
    assert {*mails} >= {first.email, second.email} and task.requester.email not in mails
    deliver_mail(mails[first.email].pk)
    ((to, message),) = mailbox.received
    body = message.get_body(("plain",))
    assert body is not None
    text = str(body.get_content())
    visit = world.visit(task)
    assert to == [first.email] and "Add login" in str(message["Subject"])
    assert "Release review" in text
    assert f"Due: {visit.due_at:%Y-%m-%d}" in text
    for button in ("Approve → ship", "Send back", "Reject"):
        assert f"- {button}" in text
    (link,) = re.findall(r"Open the review: (\S+)", text)
    page = client_of(first).get(urlsplit(link).path)
    assert page.status_code == 200 and "Approve → ship" in unescape(page.content.decode())


def test_who_chose_otherwise_is_not_mailed(world: World) -> None:
    never, named, asks = reviewers(world, 3)
    for person, choice in ((never, MailChoice.NEVER), (named, MailChoice.NAMED)):
        NotificationSettings.objects.create(user=person, choices={"review": {"bell": True, "mail": choice}})
    asked(world)
    assert {never.email, named.email} & {*queued()} == set()
    assert asks.email in queued()


def test_who_requested_it_is_mailed_where_nobody_else_can_decide(world: World) -> None:
    alone = world.admin
    Membership.objects.exclude(user=alone).filter(project=world.project).delete()
    Membership.objects.filter(user=alone).update(roles=["admin", "reviewer"])
    task = world.start(world.line(**gated(notify=[])), by=alone, title="Add login")
    world.report(task, {"result": "success"})
    assert {*queued()} == {alone.email}


def test_without_a_mail_server_the_review_leads_to_the_mail(
    world: World, settings: Any, tmp_path: Path
) -> None:
    (reviewer,) = reviewers(world, 1)
    settings.EMAIL_FILE_PATH = tmp_path
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    reviewer.is_superuser = True
    reviewer.save()
    task = asked(world)
    page = reverse("gate-visit", args=[world.visit(task).pk])
    link = f'href="{reverse("mail-dev")}">Saved in Development mail</a>'
    assert link in client_of(reviewer).get(page).content.decode()
    assert link not in client_of(reviewer).get(page, REMOTE_ADDR="10.0.0.7").content.decode()
    Mail.objects.all().delete()
    assert link not in client_of(reviewer).get(page).content.decode()


def test_who_requested_a_task_is_told_at_once_when_it_is_late(world: World) -> None:
    (reviewer,) = reviewers(world, 1)
    now = timezone.now()
    task = world.start(
        world.line(**gated(notify=[], due=DUE)), title="Add login", due_at=now + timedelta(hours=2)
    )
    world.report(task, {"result": "success"})
    timers.run_due_timers_and_triggers(now + timedelta(hours=3))
    timers.run_due_timers_and_triggers(now + timedelta(hours=5))
    late = Notification.objects.filter(user=task.requester, kind="waiting").order_by("pk")
    assert [row.state for row in late] == [Posted.State.QUEUED] * 2
    said = [str(KINDS["waiting"].says(row).text) for row in late]
    assert said == [
        "“Add login” is late: its due time has passed.",
        "“Add login” is late: its review is overdue.",
    ]
    assert [KINDS["waiting"].says(row).facts for row in late] == [
        [("Where", "build, waiting for review")]
    ] * 2
    assert not any(KINDS["waiting"].over(row) for row in late)
    world.vote(task, by=reviewer)
    task.refresh_from_db()
    task_row, review_row = late
    assert (KINDS["waiting"].over(task_row), KINDS["waiting"].over(review_row)) == (False, True)
    assert reviewer.pk not in late.values_list("user_id", flat=True)
