"""The mail of one notification, composed at the moment of sending from what its kind says."""

from __future__ import annotations

from django.core.mail import EmailMultiAlternatives

from pipelines.models import Job
from pipelines.queries.addresses import absolute
from pipelines.queries.failure_causes import last_cause
from reviews.mail.message import host, message
from reviews.models import Notification
from reviews.notifications.kinds import ended, waiting
from reviews.notifications.notification_queries import NotificationView, visible_notifications
from reviews.notifications.table import BY_KEY

FAILURES = frozenset({ended.FAILED.key, waiting.KIND.key})
"""Kinds whose mail has the cause, where a run failed."""


def notification_mail(row: Notification) -> EmailMultiAlternatives | None:
    """Return the mail to the address that the person has now. None for who has none, has left the project,
    cannot sign in any more or has read it meanwhile, and for what is no news any more when the quiet hours
    end."""
    if (
        not (row.user.is_active and row.user.email)
        or not visible_notifications(row.user).filter(pk=row.pk).exists()
    ):
        return None
    if row.read_at is not None or BY_KEY[row.kind].over(row):
        return None
    notification = NotificationView(row)
    context = {
        "each": notification,
        "link": absolute("notification", row.pk),
        "settings": absolute("account-notifications"),
        "cause": last_cause(Job.objects.filter(task=row.task_id)) if row.kind in FAILURES else None,
    }
    return message(
        "notification",
        context,
        subject=notification.wording.text,
        to=row.user.email,
        unique=f"{row.token}@{host()}",
    )
