"""The queue's entry point for mail."""

from __future__ import annotations

import asyncio
import smtplib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.core.mail import EmailMultiAlternatives
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import QuerySet
from django.db.models.functions import Now
from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from pipelines.models import GateVisit, Invitation
from pipelines.ports import queue_tasks
from reviews.channels import message_delivery
from reviews.channels.channel import ChannelUnavailable
from reviews.mail.notices import (
    digest_mail_if_any_unread,
    invitation_mail,
    notice_mail_if_still_open,
    notification_mail_or_none,
)
from reviews.mail.review_mail import compose_mail
from reviews.models import Digest, Mail, Notice, Notification, Posted
from reviews.notifications.notification_queries import notifications_with_task_and_project
from reviews.notifications.recipients import members_by_project_and_address

# A pool of its own: the loop's default one is small and shared, and a slow mail server must starve nothing.
SENDERS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="mail")
CALLERS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="channels")
# A database that was away for a moment loses no mail: what was sent and could not be noted is sent again.
AWAY = (DatabaseError, InterfaceError)
# A worker that is stopped in the middle leaves the ticket to the next.
STOPPED: tuple[Any, ...] = (asyncio.CancelledError,)
CHANNEL_RETRY = RetryStrategy(
    max_attempts=8, exponential_wait=5, retry_exceptions=[ChannelUnavailable, *AWAY, *STOPPED]
)
Row = TypeVar("Row", bound=Posted)
RETRY = RetryStrategy(
    max_attempts=8, exponential_wait=5, retry_exceptions=[OSError, smtplib.SMTPException, *AWAY, *STOPPED]
)


@app.task(name=queue_tasks.SEND_MAIL, queue=queue_tasks.MAIL, retry=RETRY)
async def send_mail(mail_id: int) -> None:
    await asyncio.get_running_loop().run_in_executor(SENDERS, deliver_mail, mail_id)


@app.task(name=queue_tasks.SEND_NOTICE, queue=queue_tasks.MAIL, retry=RETRY)
async def send_notice(notice_id: int) -> None:
    await asyncio.get_running_loop().run_in_executor(SENDERS, deliver_notice, notice_id)


@app.task(name=queue_tasks.SEND_NOTIFICATION, queue=queue_tasks.MAIL, retry=RETRY)
async def send_notification(notification_id: int) -> None:
    await asyncio.get_running_loop().run_in_executor(SENDERS, deliver_notification, notification_id)


@app.task(name=queue_tasks.SEND_DIGEST, queue=queue_tasks.MAIL, retry=RETRY)
async def send_digest(digest_id: int) -> None:
    await asyncio.get_running_loop().run_in_executor(SENDERS, deliver_digest, digest_id)


@app.task(name=queue_tasks.SEND_INVITATION, queue=queue_tasks.MAIL, retry=RETRY)
async def send_invitation(invitation_id: int) -> None:
    await asyncio.get_running_loop().run_in_executor(SENDERS, deliver_invitation, invitation_id)


@app.task(name=queue_tasks.SEND_CHANNEL_MESSAGE, queue=queue_tasks.CHANNELS, retry=CHANNEL_RETRY)
async def send_channel_message(message_id: int) -> None:
    await asyncio.get_running_loop().run_in_executor(
        CALLERS, message_delivery.send_message_unless_sent_or_skipped, message_id
    )


@app.task(name=queue_tasks.SEND_CHAT_REPLY, queue=queue_tasks.CHANNELS, retry=CHANNEL_RETRY)
async def send_chat_reply(connection_id: int, room: str, account: str, text: str) -> None:
    await asyncio.get_running_loop().run_in_executor(
        CALLERS, message_delivery.reply_to_slack_account_if_connected, connection_id, room, account, text
    )


def deliver_invitation(invitation_id: int) -> None:
    """Like `send`, for an invitation; skipped if it was used or revoked in the meantime."""
    waiting = Invitation.objects.select_related("project", "created_by")
    open_still = waiting.filter(accepted_at=None, revoked_at=None, mailed_at=None)
    try:
        invitation = open_still.filter(pk=invitation_id).first()
        if invitation is not None:
            _mail_invitation(invitation)
    finally:
        connection.close()


def _mail_invitation(invitation: Invitation) -> None:
    # By its key: renewed meanwhile, it has a mail of its own to come.
    row = Invitation.objects.filter(pk=invitation.pk, key=invitation.key)
    try:
        invitation_mail(invitation).send()
    except (OSError, smtplib.SMTPException) as problem:
        row.update(mail_error=str(problem))
        raise
    row.update(mailed_at=Now(), mail_error="")


def deliver_mail(mail_id: int) -> None:
    """Sends a queued mail and marks it; one that is already sent, or gone with its task, is left alone.

    At least once: a crash between the server's answer and the mark sends the same Message-ID again.
    """
    waiting = Mail.objects.select_related(
        "visit__task__project", "visit__job", "visit__token", "visit__asked_by__pinned"
    )
    _deliver_row(waiting, mail_id, _review_mail_or_none)


def _review_mail_or_none(mail: Mail) -> EmailMultiAlternatives | None:
    """The mail, or None if its reader chose it themselves and is no longer a member, or if it became outdated while
    waiting: a decided review asks nobody, and closes nothing for people who were not asked."""
    if mail.kind == Mail.MailKind.CLOSED:
        sent = Mail.objects.filter(visit=mail.visit_id, address=mail.address, state=Posted.State.SENT)
        if not sent.exists():
            return None
    elif mail.visit.state != GateVisit.State.OPEN:
        return None
    there = (mail.visit.task.project_id, mail.address.lower())
    return None if mail.chosen and not members_by_project_and_address([there]) else compose_mail(mail)


def deliver_notice(notice_id: int) -> None:
    """Like `send`, for an escalation or a deadlock."""
    _deliver_row(
        Notice.objects.select_related("task__project__owner", "task__line", "task__pinned"),
        notice_id,
        notice_mail_if_still_open,
    )


def deliver_notification(notification_id: int) -> None:
    """Like `send`, for a notification; skipped if its reader has left the project."""
    _deliver_row(
        notifications_with_task_and_project(Notification.objects.select_related("user")),
        notification_id,
        notification_mail_or_none,
    )


def deliver_digest(digest_id: int) -> None:
    """Send a queued digest, like `deliver_mail`. Its content is fixed before it is sent, so that a retry sends
    the same mail."""
    _deliver_row(Digest.objects.select_related("user"), digest_id, digest_mail_if_any_unread)


def _deliver_row(
    waiting: QuerySet[Row], pk: int, composed: Callable[[Row], EmailMultiAlternatives | None]
) -> None:
    try:
        row = waiting.filter(pk=pk).exclude(state__in=[Posted.State.SENT, Posted.State.SKIPPED]).first()
        if row is not None:
            _deliver_mail(row, composed(row))
    finally:
        connection.close()


def _deliver_mail(mail: Posted, message: EmailMultiAlternatives | None) -> None:
    """Send the mail; None means that nobody is to be notified any more."""
    row = type(mail)._default_manager.filter(pk=mail.pk)
    if message is None:
        row.update(state=Posted.State.SKIPPED)
        return
    try:
        message.send()
    except (OSError, smtplib.SMTPException) as problem:
        # Shown as failed while it waits for the next try
        row.update(state=Posted.State.FAILED, error=str(problem))
        raise
    row.update(state=Posted.State.SENT, sent_at=Now(), error="")
