"""Deletes old notifications, read or not: they only point to what is stored elsewhere."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings

from reviews.models import Digest, Notification

AT_ONCE = 1_000


def delete_batch_of_expired_notifications(now: datetime) -> int:
    """Delete at most `AT_ONCE` of each that are older than NOTIFICATION_DAYS, the oldest first; how many."""
    if not settings.NOTIFICATION_DAYS:
        return 0
    before = now - timedelta(days=settings.NOTIFICATION_DAYS)
    deleted = 0
    for model in (Notification, Digest):
        old = model._default_manager.filter(created_at__lt=before).order_by("created_at")
        deleted += model._default_manager.filter(pk__in=old.values("pk")[:AT_ONCE]).delete()[0]
    return deleted
