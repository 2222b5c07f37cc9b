"""Signatures of Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`, made and checked."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook, WebhookVerificationError

PREFIX: Final = "whsec_"
MESSAGE_ID: Final = "webhook-id"
# Seconds since 1970 in one spelling only, such as 1712000000: no sign, no leading zero
TIMESTAMP = re.compile(r"[1-9][0-9]{0,11}")


def new_secret() -> str:
    """Create a signing secret for who brings none."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def webhook_signature(secret: str, message_id: str, moment: datetime, body: bytes) -> str:
    """Return the signature. `moment`: in UTC. Raises ValueError: the secret is no key."""
    # The library drops what is no Base64 without a word, and would sign with another key.
    key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    try:
        return Webhook(key).sign(message_id, moment, body.decode())
    except EmptyWebhookSecretError as error:
        raise ValueError("The secret is empty.") from error


def is_signed(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Return whether the sender of this knows the secret, and signed it in the last five minutes. `headers`: their
    names in small letters."""
    # The library takes any spelling of the time, and signs its own: one that was not signed counts as none.
    if not TIMESTAMP.fullmatch(headers.get("webhook-timestamp", "")):
        return False
    try:
        Webhook(secret).verify(body, dict(headers), json_parse=False)
    except (WebhookVerificationError, EmptyWebhookSecretError, ValueError):
        return False
    return True
