"""Microsoft Teams by the webhook of a workflow, which takes an adaptive card. It cannot change what it sent, so the end
of a review is a second message."""

from __future__ import annotations

import re
from typing import Any

from pipelines.work.outgoing.http_fetch import Call
from reviews.channels.channel import (
    ChannelKind,
    ReviewMessage,
    Target,
    check_answer_without_message_id,
    json_call,
)

MARKUP = re.compile(r"([\\*_\[\]()#+\-!<>`~|])")


def _message_call(message: ReviewMessage, target: Target) -> Call:
    body = [
        _text_block(message.title, weight="Bolder"),
        *(
            _text_block(line, isSubtle=True)
            for line in (message.outcome or message.summary, message.facts)
            if line
        ),
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": message.opens, "url": message.link}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return json_call(target.address, {"type": "message", "attachments": [attachment]})


def _text_block(text: str, **look: Any) -> dict[str, Any]:
    """A text block knows some Markdown: none of it is in what people and agents wrote."""
    return {"type": "TextBlock", "text": MARKUP.sub(r"\\\1", " ".join(text.split())), "wrap": True, **look}


KIND = ChannelKind(
    key="teams",
    label="Microsoft Teams",
    address_label="Webhook address",
    address_help="Copy it from the workflow “Post to a channel when a webhook request is received”.",
    address="",
    secret_label="",
    secret_help="",
    call=_message_call,
    read=check_answer_without_message_id,
)
