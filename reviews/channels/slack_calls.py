"""Calls of Slack when somebody presses a button or types the command: signed, at most five minutes old."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from urllib.parse import parse_qs

from django.views.decorators.debug import sensitive_variables

from pipelines.ports.vault import keys
from reviews.channels.chat_actions import ChatAction, NotSigned, shortened_ascii_text_or_value_error
from reviews.models import ChannelConnection

# Seconds, as Slack recommends against calls that are sent again
TOLERANCE = 300


@sensitive_variables("secret")
def refuse_unsigned_call(connection: ChannelConnection, headers: Mapping[str, str], body: bytes) -> None:
    """`headers`: their names in small letters. Raises NotSigned."""
    stamp, signature = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
    try:
        secret = keys.decrypt_secret(connection.signing)
    except keys.SecretUnreadable as problem:
        raise NotSigned from problem
    old = not (stamp.isascii() and stamp.isdecimal() and len(stamp) < 12)
    if old or abs(time.time() - int(stamp)) > TOLERANCE:
        raise NotSigned
    made = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    # As bytes: compare_digest takes no texts beyond ASCII
    if not hmac.compare_digest(f"v0={made}".encode(), signature.encode()):
        raise NotSigned


def chat_action_or_none(body: bytes) -> ChatAction | None:
    """Return the action in a call of Slack; None for a call that means nothing here. The body is checked, since
    whoever signs could send anything."""
    try:
        form = {name: values[0] for name, values in parse_qs(body.decode(), max_num_fields=100).items()}
        if "command" in form:
            return ChatAction(
                shortened_ascii_text_or_value_error(form["team_id"]),
                shortened_ascii_text_or_value_error(form["user_id"]),
                shortened_ascii_text_or_value_error(form.get("channel_id", "")),
                command=form.get("text", ""),
            )
        payload = json.loads(form["payload"])
        action = payload["actions"][0]
        pressed = ChatAction(
            shortened_ascii_text_or_value_error(payload["team"]["id"]),
            shortened_ascii_text_or_value_error(payload["user"]["id"]),
            shortened_ascii_text_or_value_error(payload["channel"]["id"]),
            shortened_ascii_text_or_value_error(action["action_id"]),
            shortened_ascii_text_or_value_error(action.get("value", ""), 200),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return None
    return pressed if pressed.workspace and pressed.account else None
