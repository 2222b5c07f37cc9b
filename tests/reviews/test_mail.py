"""Mail about gates: one per address, in the transaction of the move, through a real SMTP server (ALP A18)."""

from __future__ import annotations

import pytest
from django.db import connection

from pipelines import invariants
from pipelines.models import Task
from reviews.models import Mail
from reviews.tasks import send
from tests.factories import World
from tests.fixtures.mailbox import Mailbox
from tests.reviews.conftest import NOTIFIED, gated

pytestmark = pytest.mark.django_db(transaction=True)


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
    send(Mail.objects.get().pk)
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
    send(mail.pk)
    send(mail.pk)
    assert len(mailbox.received) == 1
    mail.refresh_from_db()
    assert mail.state == Mail.State.SENT and mail.sent_at


def test_a_refusing_server_leaves_it_queued_for_another_try(waiting: Task, mailbox: Mailbox) -> None:
    mailbox.refuse = "451 try again later"
    mail = Mail.objects.get()
    with pytest.raises(OSError):
        send(mail.pk)
    mail.refresh_from_db()
    assert mail.state == Mail.State.FAILED and "451" in mail.error
    mailbox.refuse = None
    send(mail.pk)
    assert len(mailbox.received) == 1


def test_the_closing_mail_stays_in_the_thread(world: World, waiting: Task, mailbox: Mailbox) -> None:
    asked = Mail.objects.get()
    send(asked.pk)
    world.vote(waiting, "reject", reason="Not like this.")
    closed = Mail.objects.get(kind=Mail.Kind.CLOSED)
    send(closed.pk)
    first, last = (message for _, message in mailbox.received)
    assert last["In-Reply-To"] == last["References"] == first["Message-ID"]
    assert last["Subject"] == first["Subject"]
    assert "Not like this." in last.get_body(("plain",)).get_content()


def test_who_decided_gets_no_closing_mail(world: World) -> None:
    task = world.start(world.line(**gated(notify=[world.reviewer.email])))
    world.report(task)
    world.vote(task, "approve")
    assert not Mail.objects.filter(kind=Mail.Kind.CLOSED).exists()


@pytest.mark.broken
def test_I12_a_forgotten_mail_is_found(waiting: Task) -> None:
    assert not [v for v in invariants.check() if v.invariant == "I12"]
    Mail.objects.all().delete()
    assert [v.invariant for v in invariants.check()] == ["I12"]
