"""The queue's entry point for mail."""

from __future__ import annotations

import asyncio
import smtplib
from concurrent.futures import ThreadPoolExecutor

from django.core.mail import EmailMultiAlternatives
from django.db import connection
from django.db.models.functions import Now
from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from pipelines.models import Invitation
from reviews.mail.invitation import invitation_mail
from reviews.mail.notices import letter
from reviews.mail.review_mail import compose
from reviews.models import Mail, Notice

# A pool of its own: the loop's default one is small and shared, and a slow mail server must starve nothing.
SENDERS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="mail")
RETRY = RetryStrategy(max_attempts=8, exponential_wait=5, retry_exceptions=[OSError, smtplib.SMTPException])


@app.task(name="reviews.send_mail", queue="mail", retry=RETRY)
async def send_mail(mail_id: int) -> None:
    await asyncio.get_running_loop().run_in_executor(SENDERS, send, mail_id)


@app.task(name="reviews.send_notice", queue="mail", retry=RETRY)
async def send_notice(notice_id: int) -> None:
    await asyncio.get_running_loop().run_in_executor(SENDERS, tell, notice_id)


@app.task(name="reviews.send_invitation", queue="mail", retry=RETRY)
async def send_invitation(invitation_id: int) -> None:
    await asyncio.get_running_loop().run_in_executor(SENDERS, invite, invitation_id)


def invite(invitation_id: int) -> None:
    """As `send`, of an invitation; one that was used or revoked meanwhile is left alone."""
    waiting = Invitation.objects.select_related("project", "created_by")
    open_still = waiting.filter(accepted_at=None, revoked_at=None, mailed_at=None)
    try:
        found = open_still.filter(pk=invitation_id).first()
        if found is not None:
            _mail_invitation(found)
    finally:
        connection.close()


def _mail_invitation(found: Invitation) -> None:
    # By its key: renewed meanwhile, it has a mail of its own to come.
    row = Invitation.objects.filter(pk=found.pk, key=found.key)
    try:
        invitation_mail(found).send()
    except (OSError, smtplib.SMTPException) as problem:
        row.update(mail_error=str(problem))
        raise
    row.update(mailed_at=Now(), mail_error="")


def tell(notice_id: int) -> None:
    """As `send`, of an escalation or a deadlock."""
    try:
        waiting = Notice.objects.select_related("task__project__owner", "task__line", "task__pinned")
        notice = waiting.filter(pk=notice_id).exclude(state=Mail.State.SENT).first()
        if notice is not None:
            _deliver(notice, letter(notice))
    finally:
        connection.close()


def send(mail_id: int) -> None:
    """Sends a queued mail and marks it; one that is already sent, or gone with its task, is left alone.

    At least once: a crash between the server's answer and the mark sends the same Message-ID again.
    """
    try:
        mail = (
            Mail.objects.select_related(
                "visit__task__project", "visit__job", "visit__token", "visit__asked_by__pinned"
            )
            .filter(pk=mail_id)
            .exclude(state=Mail.State.SENT)
            .first()
        )
        if mail is not None:
            _deliver(mail, compose(mail))
    finally:
        connection.close()


def _deliver(mail: Mail | Notice, message: EmailMultiAlternatives) -> None:
    row = type(mail)._default_manager.filter(pk=mail.pk)
    try:
        message.send()
    except (OSError, smtplib.SMTPException) as problem:
        row.update(state=Mail.State.FAILED, error=str(problem))
        raise
    row.update(state=Mail.State.SENT, sent_at=Now(), error="")
