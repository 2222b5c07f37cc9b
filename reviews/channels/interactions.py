"""Actions of people in a chat: a button approves where the gate allows it, for whoever linked their account;
everything else leads to the page (law §15). Who vouches for it: `slack_calls`, `mattermost_calls`."""

from __future__ import annotations

from uuid import UUID

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import GateVisit, User, Word
from pipelines.people import accounts as people
from pipelines.ports.queue import enqueue_queue_jobs
from pipelines.ports.queue_tasks import CHANNELS, SEND_CHAT_REPLY
from pipelines.queries import versions
from pipelines.queries.addresses import absolute_url
from pipelines.routing.document.line import Gate
from pipelines.web.changes.trees import unopened_count
from reviews.channels import accounts
from reviews.channels.chat_actions import APPROVE, ChatAction
from reviews.decision.entitlements import Entitlements
from reviews.decision.gates import needs_no_reason_field_or_second_factor
from reviews.decision.remarks import reason_with_remarks
from reviews.models import ChannelConnection

MOST_BYTES = 64 * 1024
LINK = "link"


class ChatRefused(Exception):
    """Nothing was decided; the message says why."""


# What a message carries


def may_approve_in_chat(visit: GateVisit, gate: Gate) -> bool:
    """Return whether this gate can be approved in a chat."""
    return (
        gate.channels is not None
        and gate.channels.chat
        and needs_no_reason_field_or_second_factor(visit, gate)
    )


def visit_version_and_evidence_of_button(visit: GateVisit) -> str:
    """Return what the button sends back: which visit, and what its reader saw of it."""
    return f"{visit.pk}:{visit.token_version}:{visit.evidence_digest}"


# What comes back


def reply_to_chat_action_or_empty(connection: ChannelConnection, pressed: ChatAction) -> str:
    """Return what to say to whoever pressed; "" for nothing."""
    if pressed.command is not None:
        return _link_account_and_reply(connection, pressed)
    if pressed.action != APPROVE:
        return ""
    try:
        return _approve_from_chat_and_reply(connection, pressed)
    except ChatRefused as problem:
        return str(problem)


def enqueue_private_reply_if_any(connection: ChannelConnection, pressed: ChatAction, text: str) -> None:
    """Answer in the chat, seen by them alone. Slack waits three seconds for us, so it goes by the queue."""
    if text and pressed.room:
        enqueue_queue_jobs(
            SEND_CHAT_REPLY,
            CHANNELS,
            {
                "connection_id": connection.pk,
                "room": pressed.room,
                "account": pressed.account,
                "text": text[:2_000],
            },
        )


def _link_account_and_reply(connection: ChannelConnection, pressed: ChatAction) -> str:
    word, _space, code = (pressed.command or "").strip().partition(" ")
    if word != LINK or not code.strip():
        return f"Say “{LINK} CODE”. You get a code at {_chats_url()}"
    user = accounts.link_account_by_valid_code_or_none(
        connection, code.strip()[:100], pressed.workspace, pressed.account
    )
    if user is None:
        return (
            f"This code is not valid, was used, or is older than ten minutes. Get a new one at {_chats_url()}"
        )
    return f"You can now approve here as {user}."


def _approve_from_chat_and_reply(connection: ChannelConnection, pressed: ChatAction) -> str:
    user = accounts.linked_user_or_none(connection, pressed.workspace, pressed.account)
    if user is None:
        raise ChatRefused(
            f"Your account in this chat is not linked. Link it at {_chats_url()}, or decide on the page of the review."
        )
    visit, version, evidence = _visit_version_and_evidence_from_button(connection, pressed.value)
    _refuse_who_may_not_approve_in_chat(user, visit)
    try:
        result = engine.vote(
            visit,
            user=user,
            word=Word.APPROVE,
            reason=reason_with_remarks(visit, user, ""),
            token_version=version,
            evidence_digest=evidence,
            via=connection.kind,
            unopened=unopened_count(visit, user),
            chat=engine.Chat(connection.name, connection.created_by),
        )
    except (Conflict, Forbidden, Invalid, NotFound) as problem:
        raise ChatRefused(
            _sentence_with_link(getattr(problem, "detail", "") or str(problem), visit)
        ) from problem
    return "Approved." if result.state == "decided" else "Your vote is counted; more votes are needed."


def _visit_version_and_evidence_from_button(
    connection: ChannelConnection, value: str
) -> tuple[GateVisit, int, str]:
    """The visit that the message was about, of a task of the project."""
    key, _colon, rest = value.partition(":")
    version, _colon, evidence = rest.partition(":")
    visits = GateVisit.objects.select_related("task__project", "job", "asked_by", "decided_by")
    try:
        # PostgreSQL's integer holds any number of nine digits
        number = int(version) if version.isascii() and version.isdecimal() and len(version) < 10 else -1
        visit = visits.filter(pk=UUID(key), task__project=connection.project_id).first()
    except ValueError:
        visit = None
    if visit is None or number < 0:
        raise ChatRefused("There is no such review.")
    return visit, number, evidence


def _refuse_who_may_not_approve_in_chat(user: User, visit: GateVisit) -> None:
    """Raises ChatRefused for what the engine does not look at, in its own words for the rest."""
    if not user.is_active:
        raise ChatRefused("Your account is deactivated.")
    if people.needs_second_factor(user):
        raise ChatRefused(_sentence_with_link("Your account needs a second factor first.", visit))
    if visit.state != GateVisit.State.OPEN:
        return  # the engine says what became of it
    if not may_approve_in_chat(
        visit, versions.parsed_line_by_version_id(visit.asked_by.pinned_id).gate(visit.gate)
    ):
        raise ChatRefused(_sentence_with_link("This gate cannot be approved in a chat.", visit))
    entitlement = Entitlements(user).entitlement_to_visit(visit)
    if entitlement.may:
        return
    # It may have closed since it was read: then the engine says what became of it
    visit.refresh_from_db(fields=["state"])
    if visit.state == GateVisit.State.OPEN:
        raise ChatRefused(
            _sentence_with_link(entitlement.why or "This gate does not ask you to review.", visit)
        )


def _sentence_with_link(why: str, visit: GateVisit) -> str:
    return f"{why} {absolute_url('gate-visit', visit.pk)}"


def _chats_url() -> str:
    return absolute_url("account-chats")


def button_and_command_address(connection: ChannelConnection) -> str:
    """Return the address to which a chat sends buttons and the command."""
    return absolute_url("api-1:chat-interaction", connection.pk)
