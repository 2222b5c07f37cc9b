"""A person's notifications, of the projects they are a member of now, whatever they were when written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from pipelines import access
from pipelines.models import User
from reviews.models import Notification
from reviews.notifications.kind import NotificationKind, NotificationText
from reviews.notifications.table import BY_KEY

MOST_COUNTED = 99
FIRST = 10
"""Those behind the bell; the page has more."""
LISTED = 200
# Columns of a task that may be large, and that no sentence names
NOT_READ = ("context", "variables", "inputs", "visits", "edges", "rules", "rounds", "description")


@dataclass(frozen=True)
class NotificationView:
    """A notification as a page or a mail shows it."""

    row: Notification

    @cached_property
    def kind(self) -> NotificationKind:
        return BY_KEY[self.row.kind]

    @cached_property
    def wording(self) -> NotificationText:
        return self.kind.says(self.row)

    @property
    def address(self) -> str:
        """Address of the page that it leads to."""
        name, *arguments = self.wording.page
        return reverse(name, args=arguments) + (f"#{self.wording.anchor}" if self.wording.anchor else "")


def visible_notifications_newest_first(user: User) -> QuerySet[Notification]:
    """Return all notifications this person may see now, newest first. Kinds that no longer exist are left
    out."""
    own_rows = Notification.objects.filter(user=user, kind__in=BY_KEY)
    # Projects come with an order, which would be sorted for nothing inside of IN
    return own_rows.filter(project__in=access.visible_projects_with_owner(user).order_by()).order_by("-id")


def visible_bell_notifications(user: User) -> QuerySet[Notification]:
    """Return those of this person's notifications that are behind the bell."""
    return visible_notifications_newest_first(user).filter(bell=True)


def notifications_with_task_and_project(rows: QuerySet[Notification]) -> QuerySet[Notification]:
    """Return the rows with what their sentences name, in the same query."""
    related_rows = rows.select_related("project__owner", "task__project")
    return related_rows.defer(*(f"task__{name}" for name in NOT_READ))


def capped_unread_count_text(user: User) -> str:
    """Return the count as the bell shows it: empty for none."""
    # One more than is shown tells that there are more; beyond that nothing is counted
    count = visible_bell_notifications(user).filter(read_at=None)[: MOST_COUNTED + 1].count()
    return f"{MOST_COUNTED}+" if count > MOST_COUNTED else str(count or "")


def latest_bell_notifications(user: User, *, unread: bool, limit: int) -> list[NotificationView]:
    rows = (
        visible_bell_notifications(user).filter(read_at=None) if unread else visible_bell_notifications(user)
    )
    return [NotificationView(row) for row in notifications_with_task_and_project(rows)[:limit]]


def visible_notification_or_none(user: User, pk: int) -> NotificationView | None:
    """Return one notification. Mails lead here too, and a mail can exist without the bell."""
    row = notifications_with_task_and_project(visible_notifications_newest_first(user)).filter(pk=pk).first()
    return NotificationView(row) if row else None


def mark_read_and_count(user: User, now: datetime, **which: Any) -> int:
    """Mark these as read and return how many were unread. `which`: a filter; without one all behind the bell."""
    rows = visible_notifications_newest_first(user) if which else visible_bell_notifications(user)
    return rows.filter(read_at=None, **which).order_by().update(read_at=now)
