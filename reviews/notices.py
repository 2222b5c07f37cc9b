"""One mail about an escalation or a deadlock, composed from what is stored at the moment of sending."""

from __future__ import annotations

from typing import Any

from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from pipelines.addresses import absolute
from pipelines.models import Deadlock, Escalation
from pipelines.queries.words import deadlock_words, station_name, trigger_words
from pipelines.versions import parsed
from reviews.mail import SUBJECT_LENGTH, host
from reviews.models import Notice


def letter(notice: Notice) -> EmailMultiAlternatives:
    """Text complete by itself, HTML beside it."""
    task = notice.task
    owner = task.project.owner
    context = {"task": task, "line_name": parsed(task.pinned).name, **_about(notice)}
    context["link"] = absolute("task", owner.key, task.project.key, task.name)
    message = EmailMultiAlternatives(
        subject=" ".join(f"[{task.line.name}] {context['heading']}: {task} {task.title}".split())[
            :SUBJECT_LENGTH
        ],
        body=render_to_string("reviews/mail/notice.txt", context),
        to=[notice.address],
        headers={
            "Message-ID": f"<{notice.token}@{host()}>",
            "Auto-Submitted": "auto-generated",
            "X-Auto-Response-Suppress": "All",
        },
    )
    message.attach_alternative(render_to_string("reviews/mail/notice.html", context), "text/html")
    return message


def _about(notice: Notice) -> dict[str, Any]:
    return _deadlock(notice) if notice.kind == Notice.Kind.DEADLOCK else _escalation(notice)


def _deadlock(notice: Notice) -> dict[str, Any]:
    found = Deadlock.objects.get(pk=notice.about)
    parties = [
        f"{party['name']} · {party['station']} · {party['status']}"
        + (f" · {party['agent']}" if party["agent"] else "")
        for party in found.parties
    ]
    handoffs = [
        f"{each['task']} · {each['station']}: {each['result']} {each['summary']}" for each in found.handoffs
    ]
    facts = [
        (_("Kind"), deadlock_words(found.kind)),
        (_("For"), found.role),
        (_("Parties"), "\n".join(parties)),
        (_("Handed over last"), "\n".join(handoffs)),
        (_("Suggestion"), found.suggestion),
    ]
    return {
        "heading": _("Deadlock"),
        "sentence": _("Nothing goes on there until somebody resolves it."),
        "facts": [(name, value) for name, value in facts if value],
        "verb": _("Resolve it"),
    }


def _escalation(notice: Notice) -> dict[str, Any]:
    found = Escalation.objects.get(pk=notice.about)
    late = notice.kind == Notice.Kind.BREACHED
    facts = [
        (_("What"), trigger_words(found.trigger)),
        (_("For"), found.role),
        (_("Station"), station_name(parsed(notice.task.pinned), found.station)),
        (_("Reason"), found.reason),
        (_("Answer by"), f"{found.due_at:%Y-%m-%d %H:%M} UTC" if found.due_at else ""),
    ]
    return {
        "heading": _("Not answered in time") if late else _("Escalated"),
        "sentence": _(
            "Nobody has answered this escalation in time. The task does not go forward until it is resolved."
        )
        if late
        else _("The task does not go forward until this is resolved."),
        "facts": [(name, value) for name, value in facts if value],
        "verb": _("Resolve it"),
    }
