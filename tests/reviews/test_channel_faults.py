"""Mail servers and chats that refuse, hang and drop after they took it: nothing is lost, and twice comes only what was
taken before the server broke off (house §4)."""

from __future__ import annotations

import asyncio
import smtplib
from collections import Counter
from http.server import BaseHTTPRequestHandler
from typing import Any

import psycopg
import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session
from django.db import DatabaseError
from django.db import connection as database
from procrastinate.jobs import Job

from pipelines.models import Task
from reviews.channels import message_delivery
from reviews.channels.channel import ChannelUnavailable
from reviews.models import ChannelMessage, Mail
from reviews.tasks import CHANNEL_RETRY, RETRY, deliver_mail
from tests.factories import World
from tests.fixtures.mailbox import Mailbox
from tests.outgoing.servers import Asked, serving, silent
from tests.reviews.test_channels import Chat, asked, chat, connect  # noqa: F401 a fixture
from tests.waiting import LONG

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("admin_only_where_named")]


def test_mail_arrives_whatever_its_server_does(
    waiting: Task, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults, dropped = iter(("refuse", "drop", "drop")), 0
    took = mailbox.handle_DATA

    async def faulty(server: SMTP, session: Session, envelope: Envelope) -> str:
        nonlocal dropped
        fault = next(faults, "")
        if fault == "refuse":
            return "451 not now"
        said = await took(server, session, envelope)
        if fault == "drop":
            dropped += 1
            assert server.transport is not None
            server.transport.abort()
        return said

    monkeypatch.setattr(mailbox, "handle_DATA", faulty)
    mail = Mail.objects.get(visit__task=waiting)
    failed = 0
    for _ in range(4):
        try:
            deliver_mail(mail.pk)
        except (OSError, smtplib.SMTPException):
            failed += 1
            assert Mail.objects.get().state == "failed"
    deliver_mail(mail.pk)
    ids = Counter(message["Message-ID"] for _to, message in mailbox.received)
    assert (Mail.objects.get().state, failed, dropped) == ("sent", 3, 2)
    # Once for each drop and once for good, all of them one mail to a mail client.
    assert list(ids.values()) == [3]


def test_a_mail_is_sent_again_when_the_database_went_away_before_it_was_noted(
    waiting: Task, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    took, cut = mailbox.handle_DATA, [True]
    mail = Mail.objects.get(visit__task=waiting)
    with database.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [own] = cursor.fetchone()

    def cut_off() -> None:
        with psycopg.connect(**database.get_connection_params() | {"cursor_factory": None}) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [own])

    async def faulty(server: SMTP, session: Session, envelope: Envelope) -> str:
        said = await took(server, session, envelope)
        if cut and cut.pop():
            await asyncio.to_thread(cut_off)
        return said

    monkeypatch.setattr(mailbox, "handle_DATA", faulty)
    with pytest.raises(DatabaseError) as gone:
        deliver_mail(mail.pk)
    job = Job(id=1, queue="mail", lock=None, queueing_lock=None, task_name="reviews.send_mail")
    assert RETRY.get_retry_decision(exception=gone.value, job=job) is not None
    assert CHANNEL_RETRY.get_retry_decision(exception=gone.value, job=job) is not None
    assert Mail.objects.get().state == "queued"
    deliver_mail(mail.pk)
    first, second = (message["Message-ID"] for _to, message in mailbox.received)
    assert (Mail.objects.get().state, first == second) == ("sent", True)


def test_a_chat_is_told_whatever_its_server_does(
    world: World,
    chat: Chat,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faults, taken = iter(("503", "hang", "drop")), Counter[str]()
    answer = chat.answer

    def faulty(to: BaseHTTPRequestHandler, said: Asked) -> Any:
        fault = next(faults, "")
        taken[fault] += 1
        if fault == "503":
            chat.refuse = 503
            answer(to, said)
            chat.refuse = 0
        elif fault == "hang":
            silent(to)
        elif fault == "drop":
            to.connection.close()
        else:
            answer(to, said)

    with serving(faulty) as chat.server:
        connect(world, chat, "slack")
        asked(world)
        message = ChannelMessage.objects.get()
        for turn in range(3):
            # Only what hangs is not waited for, however slow the machine is.
            monkeypatch.setattr(message_delivery, "SECONDS", 0.3 if turn == 1 else LONG)
            with pytest.raises(ChannelUnavailable):
                message_delivery.send_message_unless_sent_or_skipped(message.pk)
            message.refresh_from_db()
            assert (message.state, bool(message.error)) == ("failed", True)
        # A busy machine may take longer than the silence that was waited for.
        monkeypatch.setattr(message_delivery, "SECONDS", 30)
        message_delivery.send_message_unless_sent_or_skipped(message.pk)
        message_delivery.send_message_unless_sent_or_skipped(message.pk)
        message.refresh_from_db()
        assert (message.state, message.attempts, taken[""]) == ("sent", 4, 1)
