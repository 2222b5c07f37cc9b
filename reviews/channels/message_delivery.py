"""Sends one message to a chat or a webhook, by the guarded client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from django.conf import settings
from django.db import connection as database
from django.db.models import F
from django.db.models.functions import Now

from pipelines import engine
from pipelines.engine.moves.gates import approval_policy_of_visit
from pipelines.models import GateVisit, Word
from pipelines.ports.queue import enqueue_queue_jobs
from pipelines.ports.queue_tasks import CHANNELS, SEND_CHANNEL_MESSAGE
from pipelines.ports.vault import keys
from pipelines.queries.addresses import absolute_url
from pipelines.queries.versions import parsed_line_by_version_id
from pipelines.routing.document.line import Gate
from pipelines.work.outgoing.guard import Guard
from pipelines.work.outgoing.http_fetch import NOT_FETCHED, Call, HttpAnswer, fetch_url
from reviews.channels import interactions, mattermost_calls, slack
from reviews.channels.channel import ChannelError, ChannelUnavailable, ReviewMessage, Target
from reviews.channels.event_messages import event_message_or_none
from reviews.channels.event_outbox import first_sent_message_ref_or_empty
from reviews.channels.table import BY_KEY
from reviews.channels.visible_text import MOST_SUMMARY, shortened_visible_line
from reviews.decision.consequences import offered_votes_within_allowed_rounds
from reviews.models import ChannelConnection, ChannelMessage

SECONDS = 20.0
MOST_BYTES = 64 * 1024


def send_message_unless_sent_or_skipped(message_id: int) -> None:
    """Sends a queued message and marks it; one that is sent, or that tells nothing any more, is left alone.

    :raises ChannelUnavailable: to be tried again later"""
    try:
        messages = ChannelMessage.objects.select_related(
            "connection__project",
            "connection__created_by",
            "visit__task__project",
            "visit__asked_by__pinned",
            "visit__decided_by",
        )
        # The queue may hand it out twice
        message = messages.filter(pk=message_id).exclude(state=ChannelMessage.State.SENT).first()
        if message is not None:
            _send_message_and_store_outcome(message)
    finally:
        database.close()


def _send_message_and_store_outcome(message: ChannelMessage) -> None:
    row = ChannelMessage.objects.filter(pk=message.pk)
    kind = BY_KEY[message.connection.kind]
    try:
        review_message = _current_message_or_none(message)
        if review_message is None:
            row.update(state=ChannelMessage.State.SKIPPED)
            return
        ref = deliver_message_and_return_ref(message.connection, review_message)
    except ChannelError as problem:
        row.update(state=ChannelMessage.State.FAILED, error=str(problem)[:500], attempts=F("attempts") + 1)
        # This may pass, and the queue tries it again; any other error would only come again
        if isinstance(problem, ChannelUnavailable):
            raise
        return
    row.update(state=ChannelMessage.State.SENT, ref=ref, error="", sent_at=Now(), attempts=F("attempts") + 1)
    if message.kind == ChannelMessage.MessageKind.OPENED and kind.changes:
        _enqueue_skipped_closing_message(message)


def _current_message_or_none(message: ChannelMessage) -> ReviewMessage | None:
    """Return the message as it is now; None if there is nothing to send."""
    if message.kind == ChannelMessage.MessageKind.EVENT:
        return event_message_or_none(message)
    return (
        test_message(message)
        if message.visit is None
        else _current_review_message_or_none(message, message.visit)
    )


def _enqueue_skipped_closing_message(opened: ChannelMessage) -> None:
    """Enqueue the closing message of a review that ended while its first message was being sent."""
    late = ChannelMessage.objects.filter(
        connection=opened.connection_id,
        visit=opened.visit_id,
        kind=ChannelMessage.MessageKind.CLOSED,
        state=ChannelMessage.State.SKIPPED,
    ).first()
    if late is not None:
        enqueue_queue_jobs(SEND_CHANNEL_MESSAGE, CHANNELS, {"message_id": late.pk})


def deliver_message_and_return_ref(connection: ChannelConnection, review_message: ReviewMessage) -> str:
    """Send the message, and return the id by which the chat knows it. :raises ChannelError: refused, or not
    reached"""
    kind = BY_KEY[connection.kind]
    return kind.read(_call_chat_server_with_its_secret(connection, partial(kind.call, review_message)))


def reply_to_slack_account_if_connected(connection_id: int, room: str, account: str, text: str) -> None:
    """Answer one person in a chat; nothing where it was disconnected meanwhile. :raises ChannelUnavailable:
    try again later"""
    try:
        # Slack alone: in the others the answer to the call is what the person sees
        connection = ChannelConnection.objects.filter(pk=connection_id, kind="slack").first()
        if connection is not None:
            slack.channel_and_message_id_or_raise(
                _call_chat_server_with_its_secret(
                    connection, partial(slack.private_reply_call, text, room, account)
                )
            )
    except ChannelUnavailable:
        raise
    except ChannelError:
        return  # refused: nobody is there to be told
    finally:
        database.close()


def _call_chat_server_with_its_secret(
    connection: ChannelConnection, call: Callable[[Target], Call]
) -> HttpAnswer:
    try:
        target = Target(
            connection.address,
            connection.room,
            keys.decrypt_secret(connection.secret) if connection.secret else "",
        )
    except keys.SecretUnreadable as problem:
        raise ChannelError("No key reads the stored secret. Enter it again.") from problem
    guard = Guard(tuple(settings.PRIVATE_HOSTS), nat64=tuple(settings.NAT64_PREFIXES))
    try:
        # `fetch` bounds each silence only: a server that sends byte by byte would keep it
        return asyncio.run(asyncio.wait_for(fetch_url(call(target), guard, SECONDS, MOST_BYTES), 2 * SECONDS))
    except (*NOT_FETCHED, TimeoutError) as problem:
        raise ChannelUnavailable(str(problem) or type(problem).__name__) from problem


def _current_review_message_or_none(message: ChannelMessage, visit: GateVisit) -> ReviewMessage | None:
    """Return the message as it is now; None if there is nothing to send."""
    is_open = visit.state == GateVisit.State.OPEN
    ref = ""
    if message.kind == ChannelMessage.MessageKind.OPENED and not is_open:
        return None
    if message.kind == ChannelMessage.MessageKind.CLOSED:
        first = ChannelMessage.objects.filter(
            connection=message.connection_id, visit=visit, kind=ChannelMessage.MessageKind.OPENED
        ).first()
        # Nobody was told there yet; where messages can be changed `_skip_to_end_of_log` comes back
        if first is None or first.state != ChannelMessage.State.SENT:
            return None
        ref = first.ref
    line = parsed_line_by_version_id(visit.asked_by.pinned_id)
    gate = line.gate(visit.gate)
    outcome_summary = str((visit.evidence.get("outcome") or {}).get("summary") or "")
    return ReviewMessage(
        id=f"msg_{message.token.hex}",
        kind=message.kind,
        at=message.created_at,
        visit=str(visit.pk),
        title=shortened_visible_line(visit.task.title, 300),
        task=visit.task.name,
        place=shortened_visible_line(f"{line.name} › {gate.name}", 300),
        requester=shortened_visible_line(visit.task.requested_by, 200),
        summary=shortened_visible_line(outcome_summary, MOST_SUMMARY),
        link=absolute_url("gate-visit", visit.pk),
        outcome="" if is_open else _decision_and_person_text(visit),
        ref=ref,
        thread="" if ref else first_sent_message_ref_or_empty(message),
        **_approval_button_fields_or_empty(message.connection, visit, gate),
    )


def _approval_button_fields_or_empty(
    connection: ChannelConnection, visit: GateVisit, gate: Gate
) -> dict[str, str]:
    """Return what a button sends back and leads to, where there may be one."""
    if (
        not connection.signing
        or visit.state != GateVisit.State.OPEN
        or not interactions.may_approve_in_chat(visit, gate)
    ):
        return {}
    chat = engine.Chat(connection.name, connection.created_by)
    if chat.reason_chat_cannot_vote(
        visit,
        approval_policy_of_visit(visit, parsed_line_by_version_id(visit.asked_by.pinned_id)),
        visit.votes.all(),
    ):
        return {}
    approve = next(
        option for option in offered_votes_within_allowed_rounds(visit) if option.word == Word.APPROVE
    )
    value = interactions.visit_version_and_evidence_of_button(visit)
    fields = {"approves": value, "then": shortened_visible_line(approve.then, MOST_SUMMARY)}
    if BY_KEY[connection.kind].gives_back:
        try:
            fields["signature"] = mattermost_calls.button_signature(connection, value)
        # What comes back could not be checked, so that there is no button
        except keys.SecretUnreadable:
            return {}
        fields["answers_at"] = interactions.button_and_command_address(connection)
    return fields


def _decision_and_person_text(visit: GateVisit) -> str:
    if not visit.word:
        return "Closed without a decision"
    by = f" · {visit.decided_by}" if visit.decided_by else ""
    return shortened_visible_line(f"{visit.word_display}{by}", MOST_SUMMARY)


def test_message(message: ChannelMessage) -> ReviewMessage:
    project = message.connection.project
    return ReviewMessage(
        id=f"msg_{message.token.hex}",
        kind="test",
        at=message.created_at,
        visit="",
        title="A test from Gateline",
        task=str(project),
        place="Channels",
        requester="",
        summary="What happens in this project is told here.",
        link=absolute_url("project-channels", project.owner.key, project.key),
    )
