"""A plain webhook, signed as Standard Webhooks say: `webhook-id`, `webhook-timestamp`, `webhook-signature`."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import replace

from django.utils.translation import gettext_lazy

from pipelines.ports import clock
from pipelines.work.outgoing.fetching import Call, HttpAnswer
from reviews.channels.channel import ChannelError, ChannelKind, ReviewMessage, Target, check, post

PREFIX = "whsec_"


def _call(message: ReviewMessage, target: Target) -> Call:
    document = {
        "type": f"review.{message.kind}",
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
    call = post(target.address, document)
    # Of this try: a receiver refuses what is older than some minutes, however late it is sent again.
    stamp = str(int(clock.now().timestamp()))
    headers = {
        "webhook-id": message.id,
        "webhook-timestamp": stamp,
        "webhook-signature": signature(target.secret, message.id, stamp, call.body),
    }
    return replace(call, headers={**call.headers, **headers})


def signature(secret: str, message_id: str, stamp: str, body: bytes) -> str:
    """Raises ChannelError: the secret is no key."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ChannelError("The signing secret is no Base64.") from error
    signed = hmac.digest(key, f"{message_id}.{stamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed).decode()}"


def _read(answer: HttpAnswer) -> str:
    check(answer)
    return ""


KIND = ChannelKind(
    key="webhook",
    label=gettext_lazy("Webhook"),
    address_label=gettext_lazy("Address"),
    address_help=gettext_lazy("Each opened and closed review is posted there as JSON."),
    address="",
    secret_label=gettext_lazy("Signing secret"),
    secret_help=gettext_lazy(
        "Begins with whsec_. Leave empty to create one. Receivers check signatures with it (Standard Webhooks)."
    ),
    call=_call,
    read=_read,
    makes_secret=True,
)
