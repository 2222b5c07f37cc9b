"""Mail about gates: one per address, in the transaction of the move, through a real SMTP server (ALP A18)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.utils import timezone

from pipelines import engine
from pipelines.engine import invariants
from pipelines.models import Due, Task
from pipelines.work.scheduler import timers
from reviews.mail.review_mail import compose_mail
from reviews.models import Mail, Notice
from reviews.tasks import deliver_mail, deliver_notice
from tests.factories import World
from tests.fixtures.mailbox import Mailbox
from tests.reviews.conftest import NOTIFIED, gated

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("admin_only_where_named")]


def tickets() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'reviews.send_mail'")
        return cursor.fetchone()[0]


def test_A18_one_mail_per_address_when_the_gate_opens(world: World) -> None:
    line = world.line(**gated(notify=[NOTIFIED, "other@example.com", NOTIFIED]))
    task = world.start(line)
    assert Mail.objects.count() == 0
    world.report(task)
    assert sorted(Mail.objects.values_list("address", "kind")) == [
        (NOTIFIED, "asked"),
        ("other@example.com", "asked"),
    ]
    assert tickets() == 2


def test_a_refused_report_leaves_no_mail(world: World, line: object) -> None:
    task = world.start(line)
    world.report(task, {"output": {}})
    assert (Mail.objects.count(), tickets()) == (0, 0)


def test_it_arrives_with_what_is_asked_and_what_each_word_does(waiting: Task, mailbox: Mailbox) -> None:
    deliver_mail(Mail.objects.get().pk)
    ((recipients, message),) = mailbox.received
    assert recipients == [NOTIFIED]
    assert message["Subject"].strip() == f"[Release] Review: {waiting.name} Add login · Release review"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["X-Auto-Response-Suppress"] == "All"
    text = message.get_body(("plain",)).get_content()
    visit = waiting.gate_visits.get()
    for expected in ("Approve → ship", "Send back → build", "Reject: the task fails", f"/inbox/{visit.pk}/"):
        assert expected in text
    html = message.get_body(("html",)).get_content()
    assert "&lt;b&gt;well" in html and "<b>well" not in html


def test_it_is_sent_once_however_often_the_ticket_runs(waiting: Task, mailbox: Mailbox) -> None:
    mail = Mail.objects.get()
    deliver_mail(mail.pk)
    deliver_mail(mail.pk)
    assert len(mailbox.received) == 1
    mail.refresh_from_db()
    assert mail.state == Mail.State.SENT and mail.sent_at


def test_a_refusing_server_leaves_it_queued_for_another_try(waiting: Task, mailbox: Mailbox) -> None:
    mailbox.refuse = "451 try again later"
    mail = Mail.objects.get()
    with pytest.raises(OSError):
        deliver_mail(mail.pk)
    mail.refresh_from_db()
    assert mail.state == Mail.State.FAILED and "451" in mail.error
    mailbox.refuse = None
    deliver_mail(mail.pk)
    assert len(mailbox.received) == 1


def test_who_was_asked_is_reminded_once_when_the_gate_is_due(world: World, mailbox: Mailbox) -> None:
    task = world.start(world.line(**gated(due={"after": "1h", "then": "remind"})))
    world.report(task)
    Due.objects.filter(task=task).update(due_at=timezone.now())
    for _ in range(2):
        timers.run_due_timers_and_triggers()
    deliver_mail(Mail.objects.get(kind=Mail.MailKind.OVERDUE).pk)
    ((recipients, message),) = mailbox.received
    assert (recipients, "is overdue" in message.get_body(("plain",)).get_content()) == ([NOTIFIED], True)


def test_a_gate_that_notifies_nobody_reminds_who_may_decide(world: World) -> None:
    task = world.start(world.line(**gated(due={"after": "1h"}, notify=[])), by=world.reviewers(1)[0])
    world.report(task)
    Due.objects.filter(task=task).update(due_at=timezone.now())
    assert world.reviewer.email
    timers.run_due_timers_and_triggers()
    assert {mail.address for mail in Mail.objects.all()} == {world.reviewer.email, world.admin.email}


def test_a_rejection_by_time_is_told_without_a_name(world: World, mailbox: Mailbox) -> None:
    task = world.start(world.line(**gated(due={"after": "1h", "then": "reject"})))
    world.report(task)
    deliver_mail(Mail.objects.get(kind=Mail.MailKind.ASKED).pk)
    past = timezone.now()
    Due.objects.filter(task=task).update(due_at=past)
    task.gate_visits.update(due_at=past)
    timers.run_due_timers_and_triggers()
    deliver_mail(Mail.objects.get(kind=Mail.MailKind.CLOSED).pk)
    text = mailbox.received[1][1].get_body(("plain",)).get_content()
    assert "automatically after its due time: Reject" in text


def test_the_closing_mail_stays_in_the_thread(world: World, waiting: Task, mailbox: Mailbox) -> None:
    asked = Mail.objects.get()
    deliver_mail(asked.pk)
    world.vote(waiting, "reject", reason="Not like this.")
    closed = Mail.objects.get(kind=Mail.MailKind.CLOSED)
    deliver_mail(closed.pk)
    first, last = (message for _, message in mailbox.received)
    assert last["In-Reply-To"] == last["References"] == first["Message-ID"]
    assert last["Subject"] == first["Subject"]
    assert "Not like this." in last.get_body(("plain",)).get_content()
    page = last.get_body(("html",)).get_content()
    assert "Nothing is left to decide." in page and "You cannot decide" not in page


def test_who_decided_gets_no_closing_mail(world: World) -> None:
    # As a line writes it, in whatever letters
    task = world.start(world.line(**gated(notify=[world.reviewer.email.title()])))
    world.report(task)
    world.vote(task, "approve")
    assert not Mail.objects.filter(kind=Mail.MailKind.CLOSED).exists()


def test_who_is_responsible_is_told_of_an_escalation_and_once_more_when_nobody_answered(
    world: World, mailbox: Mailbox
) -> None:
    rule = {"trigger": "security", "role": "admin", "sla": "1h", "on_breach": ["notify", "create_incident"]}
    assert world.admin.email
    task = world.start(world.line(escalations=[rule]), title="Add login")
    engine.escalate(task.pk, user=world.operator, trigger="security", reason="A key <b>in the log</b>.")
    past = timezone.now()
    Due.objects.filter(task=task).update(due_at=past)
    task.escalated.update(due_at=past)
    timers.run_due_timers_and_triggers()
    for notice in Notice.objects.order_by("pk"):
        deliver_notice(notice.pk)
    (_, first), (_, last) = mailbox.received
    found = task.escalated.get()
    assert first["Subject"].strip() == f"[Line] Escalated: {task.name} Add login"
    assert last["Subject"].strip() == f"Overdue: {first['Subject'].strip()}"
    assert last["In-Reply-To"] == last["References"] == first["Message-ID"]
    text, late = (each.get_body(("plain",)).get_content() for each in (first, last))
    for said in (
        "a question of security",
        "the administrators",
        "A key <b>in the log</b>.",
        "Cancel the task",
    ):
        assert said in text
    assert f"/tasks/{task.name}/#escalation-{found.pk}" in text
    assert "Nobody has answered" in late and "an incident was opened" in late
    html = first.get_body(("html",)).get_content()
    assert "A key &lt;b&gt;in the log" in html and f"#escalation-{found.pk}" in html


def test_who_is_responsible_is_told_of_a_deadlock(world: World, mailbox: Mailbox) -> None:
    assert world.admin.email
    one = world.start(world.line(), title="One")
    two = world.start(one.pinned, title="Two")
    actor = engine.Actor.person(world.operator)
    engine.wait_for_tasks(one.pk, [two.name], actor=actor)
    engine.wait_for_tasks(two.pk, [one.name], actor=actor)
    for notice in Notice.objects.all():
        deliver_notice(notice.pk)
    ((_, message),) = mailbox.received
    text = message.get_body(("plain",)).get_content()
    assert "Deadlock: " in message["Subject"]
    for said in (
        f"{one.name} · build · On hold",
        f"{two.name} · build",
        "wait for each other",
        "Suggestion: ",
    ):
        assert said in text, text


@pytest.mark.broken
def test_I12_a_forgotten_mail_is_found(waiting: Task) -> None:
    assert not [v for v in invariants.find_violations() if v.invariant == "I12"]
    Mail.objects.all().delete()
    assert [v.invariant for v in invariants.find_violations()] == ["I12"]


@pytest.mark.parametrize("prefix", ["/", "/line/"])
def test_a_link_has_the_path_prefix_once(waiting: Task, settings: Any, prefix: str) -> None:
    """In a thread of the sender `reverse` does not know the prefix, in a command it does."""
    settings.BASE_URL = "https://a.example/line"
    before = get_script_prefix()
    set_script_prefix(prefix)
    try:
        body = compose_mail(Mail.objects.get()).body
    finally:
        set_script_prefix(before)
    assert f"https://a.example/line/inbox/{waiting.gate_visits.get().pk}/" in body


def test_the_development_mail_is_for_administrators_at_this_machine(
    world: World, settings: Any, tmp_path: Path
) -> None:
    settings.EMAIL_FILE_PATH = tmp_path / "mail"
    settings.EMAIL_FILE_PATH.mkdir()
    (tmp_path / "secret.eml").write_text("Subject: secret\n\n")
    (settings.EMAIL_FILE_PATH / "one.eml").write_text(
        "Subject: Review <b>\nDate: Sat, 28 Nov 2026 21:49:00 -0000\n\nPlease look.\n"
    )
    world.admin.is_superuser = True
    world.admin.set_password("a password")
    world.admin.save()
    client = Client()
    client.force_login(world.admin)
    one = reverse("mail-dev-message", args=["one.eml"])
    assert "Please look." in client.get(one).content.decode()
    (settings.EMAIL_FILE_PATH / "two.eml").write_text("Subject: None\nDate: soon\n\n")
    listed = client.get(reverse("mail-dev")).content.decode()
    assert "Review &lt;b&gt;" in listed and "Sat 28 Nov 2026, 21:49:00" in listed
    assert client.get(one, headers={"X-Forwarded-For": "10.0.0.7"}).status_code == 404
    assert client.get(one, REMOTE_ADDR="10.0.0.7").status_code == 404
    for name in ("..%2fsecret.eml", "%2e%2e%2fsecret.eml", "secret.eml"):
        assert client.get(f"{reverse('mail-dev')}{name}/").status_code == 404
