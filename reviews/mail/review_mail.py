"""Mail about one gate visit, composed from what is stored at the moment of sending."""

from __future__ import annotations

from django.core.mail import EmailMultiAlternatives
from django.utils import timezone

from pipelines.queries.addresses import absolute_url
from pipelines.queries.versions import parsed_version
from pipelines.routing.sentences.names import by_rule_phrase_or_empty
from reviews.decision import mail_link
from reviews.decision.consequences import VoteOption, offered_votes_within_allowed_rounds
from reviews.mail.message import mail_host_or_localhost, multipart_message
from reviews.models import Mail


def compose_mail(mail: Mail) -> EmailMultiAlternatives:
    """The mail as it is sent: text complete by itself, HTML beside it, headers that let clients thread it."""
    visit = mail.visit
    line = parsed_version(visit.asked_by.pinned)
    gate = line.gate(visit.gate)
    context = {
        "mail": mail,
        "visit": visit,
        "task": visit.task,
        "line_name": line.name,
        "gate_name": gate.name,
        "station_name": line.station(visit.token.station).name,
        "rule": by_rule_phrase_or_empty(line, visit.evidence["rule"]["id"])
        if visit.evidence.get("rule")
        else "",
        "outcome": visit.evidence.get("outcome", {}),
        "options": _vote_options_while_open(mail),
        "confirm": _confirm_url_or_empty(mail),
        "link": absolute_url("gate-visit", visit.pk),
    }
    return multipart_message(
        str(mail.kind),
        context,
        subject=stable_mail_subject(line.name, visit.task, gate.name),
        to=mail.address,
        unique=message_id(mail),
        headers=list_and_thread_headers(mail, line.key),
    )


def stable_mail_subject(line_name: str, task: object, gate_name: str) -> str:
    """Stable per task and gate, so that clients thread it: `[Line] Review: WI-app-42 Add login · Security gate`."""
    return f"[{line_name}] Review: {task} {getattr(task, 'title', '')} · {gate_name}"


def list_and_thread_headers(mail: Mail, line_key: str) -> dict[str, str]:
    """Later mails point to the first of this task, gate and address."""
    first = (
        Mail.objects.filter(
            visit__task_id=mail.visit.task_id,
            visit__gate=mail.visit.gate,
            address=mail.address,
            pk__lt=mail.pk,
        )
        .order_by("pk")
        .first()
    )
    made = {"List-Id": f"Line <{line_key}.{mail_host_or_localhost()}>"}
    if first is not None:
        made |= {"In-Reply-To": f"<{message_id(first)}>", "References": f"<{message_id(first)}>"}
    return made


def message_id(mail: Mail) -> str:
    return f"{mail.token}@{mail_host_or_localhost()}"


def _confirm_url_or_empty(mail: Mail) -> str:
    """The address of the page where this person approves without a session, where the gate allows that."""
    token = (
        mail_link.issue_token_to_sole_member_or_empty(mail.visit, mail.address, timezone.now())
        if mail.kind != Mail.MailKind.CLOSED
        else ""
    )
    return absolute_url("mail-link-arrive", token) if token else ""


def _vote_options_while_open(mail: Mail) -> list[VoteOption]:
    return (
        offered_votes_within_allowed_rounds(mail.visit)
        if mail.kind != Mail.MailKind.CLOSED and mail.visit.state == "open"
        else []
    )
