"""Mail about an escalation or a deadlock, composed from what is stored at the moment of sending."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.mail import EmailMultiAlternatives

from pipelines.models import Deadlock, Escalation, Status
from pipelines.queries.addresses import absolute
from pipelines.queries.versions import parsed
from pipelines.routing.sentences.escalations import action_words, deadlock_words, role_words, trigger_words
from pipelines.routing.sentences.names import station_name
from pipelines.web.tasks.escalation_cards import escalation_card
from reviews.mail.message import host, message
from reviews.models import Notice


def notice_mail(notice: Notice) -> EmailMultiAlternatives | None:
    """Return the mail of a notice; what comes later about the same stands in the thread of the first. None
    where it waited until it was resolved."""
    about = Deadlock if notice.kind == Notice.NoticeKind.DEADLOCK else Escalation
    if not about.objects.filter(pk=notice.about, state="open").exists():
        return None
    task = notice.task
    owner = task.project.owner
    context = {"task": task, "line_name": parsed(task.pinned).name, **_about(notice)}
    page = absolute("task", owner.key, task.project.key, task.name)
    context["link"] = f"{page}#{context['anchor']}-{notice.about}"
    text = f"[{task.line.name}] {context['subject']}: {task} {task.title}"
    late = f"Overdue: {text}" if notice.kind == Notice.NoticeKind.BREACHED else text
    return message(
        "notice", context, subject=late, to=notice.address, unique=_id(notice), headers=_headers(notice)
    )


def _headers(notice: Notice) -> dict[str, str]:
    made = {"List-Id": f"Line <{notice.task.line.key}.{host()}>"}
    earlier = Notice.objects.filter(about=notice.about, address=notice.address, pk__lt=notice.pk)
    first = earlier.order_by("pk").first()
    return (
        made if first is None else made | {"In-Reply-To": f"<{_id(first)}>", "References": f"<{_id(first)}>"}
    )


def _id(notice: Notice) -> str:
    return f"{notice.token}@{host()}"


def _about(notice: Notice) -> dict[str, Any]:
    context = _deadlock(notice) if notice.kind == Notice.NoticeKind.DEADLOCK else _escalation(notice)
    return {**context, "facts": [(name, value) for name, value in context["facts"] if value]}


def _deadlock(notice: Notice) -> dict[str, Any]:
    deadlock = Deadlock.objects.get(pk=notice.about)
    return {
        "anchor": "deadlock",
        "subject": "Deadlock",
        "heading": "Deadlock",
        "sentence": "Work is on hold until somebody resolves it.",
        "facts": [
            ("Kind", deadlock_words(deadlock.kind)),
            ("For", role_words(deadlock.role)),
            *_parties(deadlock),
        ],
        "verb": "Resolve it",
    }


def _escalation(notice: Notice) -> dict[str, Any]:
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
            ("Station", station_name(parsed(notice.task.pinned), escalation.station)),
            ("Reason", escalation.reason),
            *(_parties(conflict) if conflict else ()),
            ("Answer by", f"{escalation.due_at:%Y-%m-%d %H:%M} UTC" if escalation.due_at else ""),
            ("Done because of it", "\n".join(map(action_words, escalation.on_breach)) if late else ""),
            (
                "What you can do",
                "\n".join(words for _word, words in escalation_card(escalation, notice.task).answer_choices),
            ),
        ],
        "verb": "Resolve it",
    }


def _parties(deadlock: Deadlock) -> list[tuple[str, str]]:
    handoffs = [
        f"{handoff['task']} · {handoff['station']}: {handoff['result']} {handoff['summary']}"
        for handoff in deadlock.handoffs
    ]
    return [
        ("Parties", "\n".join(map(_party, deadlock.parties))),
        ("Handed over last", "\n".join(handoffs)),
        ("Suggestion", deadlock.suggestion),
    ]


def _party(party: Mapping[str, Any]) -> str:
    """Return the text of one party of a deadlock, as it was when that was detected."""
    status = dict(Status.choices).get(party["status"], party["status"])
    agent = [party["agent"]] if party.get("agent") else []
    return " · ".join(map(str, (party["name"], party["station"], status, *agent)))
