"""Mattermost by a bot account: a post, and a patch of it when the review is over."""

from __future__ import annotations

import re
from typing import Any

from pipelines.work.outgoing.http_fetch import Call, HttpAnswer
from reviews.channels.channel import (
    ChannelKind,
    ReviewMessage,
    Target,
    answer_object_or_empty,
    json_call,
    raise_if_answer_refused,
)
from reviews.channels.chat_actions import APPROVE

MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|>~<:])")


def _message_call(message: ReviewMessage, target: Target) -> Call:
    text = "\n".join(filter(None, (f"**{escape_markup(message.title)}**", *_message_lines(message))))
    token = {"authorization": f"Bearer {target.secret}"}
    server = f"{target.address.rstrip('/')}/api/v4/posts"
    if message.ref:
        # What could be chosen goes with the decision.
        payload = {"message": text, "props": {"attachments": []}}
        return json_call(f"{server}/{message.ref}/patch", payload, "PUT", **token)
    payload = {"channel_id": target.room, "message": text}
    if message.thread:
        payload["root_id"] = message.thread
    if message.approves and not message.is_closed:
        payload["props"] = {"attachments": [_two_step_approve_menu(message)]}
    return json_call(server, payload, **token)


def _two_step_approve_menu(message: ReviewMessage) -> dict[str, Any]:
    """A menu takes a second step, which a button would not: open it, then approve. Its context goes to no user."""
    approve = {"text": "Approve", "value": APPROVE}
    context = {"value": message.approves, "signature": message.signature}
    return {
        "fallback": "Approve",
        "text": escape_markup(message.then),
        "actions": [
            {
                "id": "approve",
                "name": "Approve …",
                "type": "select",
                "options": [approve],
                "integration": {"url": message.answers_at, "context": context},
            }
        ],
    }


def _message_lines(message: ReviewMessage) -> list[str]:
    summary = message.outcome or message.summary
    return [escape_markup(summary), escape_markup(message.facts), f"[{message.opens}]({message.link})"]


def escape_markup(text: str) -> str:
    """Text in which nothing is markup, and no name is a mention."""
    # A word joiner, which nobody sees, keeps an @ from naming somebody
    return MARKUP.sub(r"\\\1", " ".join(text.split())).replace("@", "@\u2060")


def _checked_message_id_or_empty(answer: HttpAnswer) -> str:
    raise_if_answer_refused(answer)
    return str(answer_object_or_empty(answer).get("id", ""))


KIND = ChannelKind(
    key="mattermost",
    label="Mattermost",
    address_label="Server",
    address_help="Such as https://chat.example.com.",
    address="",
    secret_label="Bot token",
    secret_help="The access token of a bot account in the channel. Stored encrypted.",
    call=_message_call,
    read=_checked_message_id_or_empty,
    rooms=True,
    changes=True,
    signing_label="Token of the slash command",
    signing_help=(
        "Shown by Mattermost when the slash command is made; only needed to approve in Mattermost. "
        "Who knows it can approve for everybody who linked an account."
    ),
    gives_back=True,
)
