"""Mails about what happened, composed from what is stored at the moment of sending: escalations and deadlocks, other
notifications, the daily digest, and invitations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.core.mail import EmailMultiAlternatives
from django.db.models import QuerySet
from django.utils import timezone

from pipelines.models import Deadlock, Escalation, Invitation, Job, Status
from pipelines.people.invitations import invitation_secret
from pipelines.queries.addresses import absolute_url
from pipelines.queries.failure_causes import cause_of_last_run_or_none
from pipelines.queries.versions import parsed_version
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.sentences.escalations import (
    breach_action_words,
    deadlock_words,
    role_words,
    trigger_words,
)
from pipelines.routing.sentences.names import station_name
from pipelines.web.shell.middleware import zone_or_utc
from pipelines.web.tasks.escalation_cards import escalation_card
from reviews.mail.message import mail_host_or_localhost, multipart_message
from reviews.models import Digest, Notice, Notification, Posted
from reviews.notifications.kinds import ended, waiting
from reviews.notifications.notification_queries import (
    NotificationView,
    notifications_with_task_and_project,
    visible_notifications_newest_first,
)
from reviews.notifications.table import BY_KEY, KINDS


def notice_mail_if_still_open(notice: Notice) -> EmailMultiAlternatives | None:
    """Return the mail of a notice; what comes later about the same stands in the thread of the first. None
    where it waited until it was resolved."""
    about = Deadlock if notice.kind == Notice.NoticeKind.DEADLOCK else Escalation
    # It waited for quiet hours to end, and was settled meanwhile
    if not about.objects.filter(pk=notice.about, state="open").exists():
        return None
    task = notice.task
    owner = task.project.owner
    context = {"task": task, "line_name": parsed_version(task.pinned).name, **_notice_context(notice)}
    page = absolute_url("task", owner.key, task.project.key, task.name)
    context["link"] = f"{page}#{context['anchor']}-{notice.about}"
    text = f"[{task.line.name}] {context['subject']}: {task} {task.title}"
    late = f"Overdue: {text}" if notice.kind == Notice.NoticeKind.BREACHED else text
    return multipart_message(
        "notice",
        context,
        subject=late,
        to=notice.address,
        unique=_message_id(notice),
        headers=_notice_headers(notice),
    )


def _notice_headers(notice: Notice) -> dict[str, str]:
    made = {"List-Id": f"Line <{notice.task.line.key}.{mail_host_or_localhost()}>"}
    earlier = Notice.objects.filter(about=notice.about, address=notice.address, pk__lt=notice.pk)
    first = earlier.order_by("pk").first()
    return (
        made
        if first is None
        else made | {"In-Reply-To": f"<{_message_id(first)}>", "References": f"<{_message_id(first)}>"}
    )


def _message_id(notice: Notice) -> str:
    return f"{notice.token}@{mail_host_or_localhost()}"


def _notice_context(notice: Notice) -> dict[str, Any]:
    context = (
        _deadlock_context(notice)
        if notice.kind == Notice.NoticeKind.DEADLOCK
        else _escalation_context(notice)
    )
    return {**context, "facts": [(name, value) for name, value in context["facts"] if value]}


def _deadlock_context(notice: Notice) -> dict[str, Any]:
    deadlock = Deadlock.objects.get(pk=notice.about)
    return {
        "anchor": "deadlock",
        "subject": "Deadlock",
        "heading": "Deadlock",
        "sentence": "Work is on hold until somebody resolves it.",
        "facts": [
            ("Kind", deadlock_words(deadlock.kind)),
            ("For", role_words(deadlock.role)),
            *_labels_and_texts_of_deadlock(deadlock),
        ],
        "verb": "Resolve it",
    }


def _escalation_context(notice: Notice) -> dict[str, Any]:
    escalation = Escalation.objects.select_related("deadlock").get(pk=notice.about)
    conflict = getattr(escalation, "deadlock", None)
    late = notice.kind == Notice.NoticeKind.BREACHED
    in_time = "The task does not move forward until this is resolved."
    overdue = f"Nobody has answered this escalation in time. {in_time}"
    return {
        "anchor": "escalation",
        "subject": "Escalated",
        "heading": "Not answered in time" if late else "Escalated",
        "sentence": overdue if late else in_time,
        "facts": [
            ("What", trigger_words(escalation.trigger)),
            ("For", role_words(escalation.role)),
            ("Station", station_name(parsed_version(notice.task.pinned), escalation.station)),
            ("Reason", escalation.reason),
            *(_labels_and_texts_of_deadlock(conflict) if conflict else ()),
            ("Answer by", f"{escalation.due_at:%Y-%m-%d %H:%M} UTC" if escalation.due_at else ""),
            ("Done because of it", "\n".join(map(breach_action_words, escalation.on_breach)) if late else ""),
            (
                "What you can do",
                "\n".join(words for _word, words in escalation_card(escalation, notice.task).answer_choices),
            ),
        ],
        "verb": "Resolve it",
    }


def _labels_and_texts_of_deadlock(deadlock: Deadlock) -> list[tuple[str, str]]:
    handoffs = [
        f"{handoff['task']} · {handoff['station']}: {handoff['result']} {handoff['summary']}"
        for handoff in deadlock.handoffs
    ]
    return [
        ("Parties", "\n".join(map(_party_text, deadlock.parties))),
        ("Handed over last", "\n".join(handoffs)),
        ("Suggestion", deadlock.suggestion),
    ]


def _party_text(party: Mapping[str, Any]) -> str:
    """Return the text of one party of a deadlock, as it was when that was detected."""
    status = dict(Status.choices).get(party["status"], party["status"])
    agent = [party["agent"]] if party.get("agent") else []
    return " · ".join(map(str, (party["name"], party["station"], status, *agent)))


# Daily mail: what its reader has not read yet of what they want together.


MOST = 100


def digest_mail_if_any_unread(digest: Digest) -> EmailMultiAlternatives | None:
    """Return the mail to the address that the person has now. None if there is nothing in it any more."""
    rows = _include_and_list_unread_notifications(digest)
    notifications = [NotificationView(row) for row in rows[:MOST]]
    if not (notifications and digest.user.is_active and digest.user.email):
        return None
    count = len(rows)
    subject = singular_or_plural("%(n)s notification", "%(n)s notifications", count) % {"n": count}
    context = {
        "groups": _notifications_and_addresses_by_kind_label(notifications),
        "more": count - len(notifications),
        "subject": subject,
        "all": absolute_url("notifications"),
        "settings": absolute_url("account-notifications"),
    }
    with timezone.override(zone_or_utc(digest.user.time_zone)):
        return multipart_message(
            "digest",
            context,
            subject=f"Gateline digest: {subject}",
            to=digest.user.email,
            unique=f"{digest.token}@{mail_host_or_localhost()}",
        )


def _include_and_list_unread_notifications(digest: Digest) -> list[Notification]:
    """Return the unread notifications of a digest. What waits is included once; then its rows say so, whether
    or not the mail arrives at the first try."""
    waiting: QuerySet[Notification] = Notification.objects.filter(
        user=digest.user, state=Posted.State.DIGEST, digest=None, created_at__lt=digest.due_at
    )
    waiting.update(digest=digest)
    unread = visible_notifications_newest_first(digest.user).filter(digest=digest, read_at=None)
    rows = notifications_with_task_and_project(unread).order_by("created_at", "pk")
    # What is over by now is no news, as in a mail of its own
    return [row for row in rows if not BY_KEY[row.kind].over(row)]


def _notifications_and_addresses_by_kind_label(
    notifications: Iterable[NotificationView],
) -> list[tuple[str, list[tuple[NotificationView, str]]]]:
    """(label of the kind, its notifications with the address of each), the kinds in the order of the table."""
    by_kind: dict[str, list[tuple[NotificationView, str]]] = {kind.key: [] for kind in KINDS}
    for notification in notifications:
        by_kind[notification.row.kind].append(
            (notification, absolute_url("notification", notification.row.pk))
        )
    return [(kind.label, by_kind[kind.key]) for kind in KINDS if by_kind[kind.key]]


# The mail of an invitation, composed at the moment of sending: its link is made then and stored nowhere.


def invitation_mail(invitation: Invitation) -> EmailMultiAlternatives:
    project_name = invitation.project.name or invitation.project.key
    context = {
        "invitation": invitation,
        "project_name": project_name,
        "link": absolute_url("join", invitation_secret(invitation)),
    }
    text = f"{invitation.created_by} invited you to {project_name}"
    # The key changes when it is renewed: that is another mail.
    unique = f"invitation-{invitation.pk}-{invitation.expires_at.timestamp():.0f}@{mail_host_or_localhost()}"
    return multipart_message("invitation", context, subject=text, to=invitation.email, unique=unique)


# The mail of one notification, composed at the moment of sending from what its kind says.


FAILURES = frozenset({ended.FAILED.key, waiting.KIND.key})
"""Kinds whose mail has the cause, where a run failed."""


def notification_mail_or_none(row: Notification) -> EmailMultiAlternatives | None:
    """Return the mail to the address that the person has now. None for who has none, has left the project,
    cannot sign in any more or has read it meanwhile, and for what is no news any more when the quiet hours
    end."""
    if (
        not (row.user.is_active and row.user.email)
        or not visible_notifications_newest_first(row.user).filter(pk=row.pk).exists()
    ):
        return None
    if row.read_at is not None or BY_KEY[row.kind].over(row):
        return None
    notification = NotificationView(row)
    context = {
        "each": notification,
        "link": absolute_url("notification", row.pk),
        "settings": absolute_url("account-notifications"),
        "cause": cause_of_last_run_or_none(Job.objects.filter(task=row.task_id))
        if row.kind in FAILURES
        else None,
    }
    return multipart_message(
        "notification",
        context,
        subject=notification.wording.text,
        to=row.user.email,
        unique=f"{row.token}@{mail_host_or_localhost()}",
    )
