"""Daily mail: what its reader has not read yet of what they want together."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.mail import EmailMultiAlternatives
from django.db.models import QuerySet
from django.utils import timezone

from pipelines.queries.addresses import absolute
from pipelines.routing.basics.plural import plural
from pipelines.web.shell.middleware import time_zone_of
from reviews.mail.message import host, message
from reviews.models import Digest, Notification, Posted
from reviews.notifications.notification_queries import NotificationView, visible_notifications, with_related
from reviews.notifications.table import KINDS

MOST = 100


def digest_mail(digest: Digest) -> EmailMultiAlternatives | None:
    """Return the mail to the address that the person has now. None if there is nothing in it any more."""
    rows = _unread_notifications(digest)
    notifications = [NotificationView(row) for row in rows[:MOST]]
    if not (notifications and digest.user.is_active and digest.user.email):
        return None
    count = len(rows)
    subject = plural("%(n)s notification", "%(n)s notifications", count) % {"n": count}
    context = {
        "groups": _by_kind(notifications),
        "more": count - len(notifications),
        "subject": subject,
        "all": absolute("notifications"),
        "settings": absolute("account-notifications"),
    }
    with timezone.override(time_zone_of(digest.user.time_zone)):
        return message(
            "digest",
            context,
            subject=f"Gateline digest: {subject}",
            to=digest.user.email,
            unique=f"{digest.token}@{host()}",
        )


def _unread_notifications(digest: Digest) -> list[Notification]:
    """Return the unread notifications of a digest. What waits is included once; then its rows say so, whether
    or not the mail arrives at the first try."""
    waiting: QuerySet[Notification] = Notification.objects.filter(
        user=digest.user, state=Posted.State.DIGEST, digest=None, created_at__lt=digest.due_at
    )
    waiting.update(digest=digest)
    return list(
        with_related(visible_notifications(digest.user).filter(digest=digest, read_at=None)).order_by(
            "created_at", "pk"
        )
    )


def _by_kind(
    notifications: Iterable[NotificationView],
) -> list[tuple[str, list[tuple[NotificationView, str]]]]:
    """(label of the kind, its notifications with the address of each), the kinds in the order of the table."""
    by_kind: dict[str, list[tuple[NotificationView, str]]] = {kind.key: [] for kind in KINDS}
    for notification in notifications:
        by_kind[notification.row.kind].append((notification, absolute("notification", notification.row.pk)))
    return [(kind.label, by_kind[kind.key]) for kind in KINDS if by_kind[kind.key]]
