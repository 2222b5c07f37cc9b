"""Slack by a bot token: `chat.postMessage`, and `chat.update` when the review is over. An incoming webhook could not
change what it sent."""

from __future__ import annotations

from typing import Any

from pipelines.work.outgoing.http_fetch import Call, HttpAnswer
from reviews.channels.channel import (
    ChannelError,
    ChannelKind,
    ChannelUnavailable,
    ReviewMessage,
    Target,
    answer_object_or_empty,
    json_call,
    raise_if_answer_refused,
)
from reviews.channels.chat_actions import APPROVE

# Errors of Slack that may be over at the next try
PASSING = ("ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout")
# Slack takes 3,000 characters of a text, and 300 of a confirmation
LONGEST = 2_900
LONGEST_CONFIRM = 290


def _message_call(message: ReviewMessage, target: Target) -> Call:
    payload: dict[str, Any] = {
        "channel": target.room,
        "text": escape_mentions(message.title),
        "blocks": _message_blocks(message),
    }
    method = "chat.postMessage"
    if message.ref:
        # `channel` has to be the id that the first answer named.
        channel, _colon, payload["ts"] = message.ref.partition(":")
        method, payload["channel"] = "chat.update", channel
    else:
        # Else Slack fetches the page, without being signed in, and shows what it got below the message
        payload |= {"unfurl_links": False, "unfurl_media": False}
        if message.thread:
            # Shown in the channel, too: a reply alone would be seen by nobody who does not look for it
            payload |= {"thread_ts": message.thread.partition(":")[2], "reply_broadcast": True}
    token = {"authorization": f"Bearer {target.secret}"}
    return json_call(f"{target.address.rstrip('/')}/{method}", payload, **token)


def _message_blocks(message: ReviewMessage) -> list[dict[str, Any]]:
    lines = [message.outcome or message.summary, message.facts]
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": _plain_text_block(message.title)},
        *({"type": "context", "elements": [_plain_text_block(line)]} for line in lines if line),
    ]
    button = {
        "type": "button",
        "text": _plain_text_block(message.opens),
        "url": message.link,
        "action_id": "open",
    }
    approve = (
        [_approve_button_with_confirmation(message)] if message.approves and not message.is_closed else []
    )
    return [*blocks, {"type": "actions", "elements": [*approve, button]}]


def _approve_button_with_confirmation(message: ReviewMessage) -> dict[str, Any]:
    """It asks once more before it says anything."""
    confirm = {
        "title": _plain_text_block("Approve?"),
        "text": _plain_text_block(" ".join(filter(None, (message.title, message.then)))[:LONGEST_CONFIRM]),
        "confirm": _plain_text_block("Approve"),
        "deny": _plain_text_block("Cancel"),
    }
    return {
        "type": "button",
        "style": "primary",
        "text": _plain_text_block("Approve"),
        "action_id": APPROVE,
        "value": message.approves,
        "confirm": confirm,
    }


def private_reply_call(text: str, room: str, account: str, target: Target) -> Call:
    """A message that only one person sees."""
    payload = {"channel": room, "user": account, "text": escape_mentions(text)}
    return json_call(
        f"{target.address.rstrip('/')}/chat.postEphemeral", payload, authorization=f"Bearer {target.secret}"
    )


def _plain_text_block(text: str) -> dict[str, Any]:
    """Text in which nothing is a mention, a link or an emoji."""
    return {"type": "plain_text", "text": text[:LONGEST] or "-", "emoji": False}


def escape_mentions(text: str) -> str:
    """Escape the fallback text, where `<…>` would be a mention or a link."""
    # `&` first, for what the others become begins with it
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def channel_and_message_id_or_raise(answer: HttpAnswer) -> str:
    raise_if_answer_refused(answer)
    document = answer_object_or_empty(answer)
    if document.get("ok") is not True:
        error = str(document.get("error") or "no answer")[:200]
        raise (ChannelUnavailable if error in PASSING else ChannelError)(f"Slack answered {error}.")
    return f"{document.get('channel', '')}:{document.get('ts', '')}"


KIND = ChannelKind(
    key="slack",
    label="Slack",
    address_label="API address",
    address_help="As it is, unless your company has an address of its own in front of Slack.",
    address="https://slack.com/api",
    secret_label="Bot token",
    secret_help=(
        "Begins with xoxb-. The app needs the scope chat:write and must be a member of the channel. "
        "Stored encrypted."
    ),
    call=_message_call,
    read=channel_and_message_id_or_raise,
    rooms=True,
    changes=True,
    signing_label="Signing secret",
    signing_help=(
        "From Basic information of the app; only needed to approve in Slack. "
        "Who knows it can approve for everybody who linked an account."
    ),
)
