"""A plain webhook, signed as Standard Webhooks say: `webhook-id`, `webhook-timestamp`, `webhook-signature`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from pipelines.ports import clock
from pipelines.work.hosts import standard_webhooks
from pipelines.work.outgoing.http_fetch import Call
from reviews.channels.channel import (
    ChannelError,
    ChannelKind,
    ReviewMessage,
    Target,
    check_answer_without_message_id,
    json_call,
)


def _message_call(message: ReviewMessage, target: Target) -> Call:
    document = {
        "type": message.type_name,
        "timestamp": message.at.isoformat(),
        "data": {
            "visit": message.visit,
            "task": message.task,
            "title": message.title,
            "place": message.place,
            "requester": message.requester,
            "summary": message.summary,
            "outcome": message.outcome,
            "link": message.link,
        },
    }
    call = json_call(target.address, document)
    # Of this try: a receiver refuses what is older than some minutes, however late it is sent again.
    moment = clock.now()
    headers = {
        "webhook-id": message.id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": message_signature(target.secret, message.id, moment, call.body),
    }
    return replace(call, headers={**call.headers, **headers})


def message_signature(secret: str, message_id: str, moment: datetime, body: bytes) -> str:
    """`moment`: in UTC. Raises ChannelError: the secret is no key."""
    try:
        return standard_webhooks.webhook_signature(secret, message_id, moment, body)
    except ValueError as error:
        raise ChannelError(
            "The signing secret has to be whsec_ and Base64 after it. Leave it empty to create one."
        ) from error


KIND = ChannelKind(
    key="webhook",
    label="Webhook",
    address_label="Address",
    address_help="What is chosen below is posted there as JSON.",
    address="",
    secret_label="Signing secret",
    secret_help=(
        "Begins with whsec_. Leave empty to create one. "
        "Receivers check signatures with it (Standard Webhooks)."
    ),
    call=_message_call,
    read=check_answer_without_message_id,
    makes_secret=True,
)
