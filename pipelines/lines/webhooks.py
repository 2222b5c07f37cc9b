"""Addresses and secrets of triggers that are called over HTTP: made with the trigger, shown once, rotated (law §16)."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime, timedelta

from django.views.decorators.debug import sensitive_variables

from pipelines.errors import Conflict, Invalid
from pipelines.models import Trigger, User, WebhookAddress, WebhookSecret
from pipelines.ports.vault import keys
from pipelines.work.hosts import standard_webhooks
from pipelines.work.triggers.receiving import MAX_EXAMPLE
from pipelines.work.triggers.signatures import STANDARD

OVERLAP = timedelta(hours=24)
"""For how long the old secret is valid after a change, so that nothing is lost until its sender has the new one."""
MOST_VALID = 5
SHORTEST_SECRET, LONGEST_SECRET = 16, 200
HINT = 4


@sensitive_variables("secret")
def check_secret(secret: str, signature: str) -> None:
    """Raises Invalid: nothing can be signed with it as the sender does."""
    if not SHORTEST_SECRET <= len(secret) <= LONGEST_SECRET or not all("!" <= sign <= "~" for sign in secret):
        message = (
            f"Use {SHORTEST_SECRET} to {LONGEST_SECRET} letters, digits and signs of ASCII, without blanks."
        )
        raise Invalid.at("secret", message)
    if signature == STANDARD or secret.startswith(standard_webhooks.PREFIX):
        try:
            base64.b64decode(secret.removeprefix(standard_webhooks.PREFIX), validate=True)
        except ValueError as error:
            raise Invalid.at("secret", "Enter whsec_ and Base64, as its sender shows it.") from error


@sensitive_variables("secret")
def connect(trigger: Trigger, secret: str, *, by: User, now: datetime) -> None:
    """Give a new trigger its address and its first secret."""
    WebhookAddress.objects.create(trigger=trigger, address=secrets.token_urlsafe(24))
    _store(trigger, secret, by, now)


@sensitive_variables("secret")
def replace_secret(trigger: Trigger, secret: str, *, at_once: bool, by: User, now: datetime) -> None:
    """Store a new secret; the one before it stays valid for OVERLAP, unless it ends `at_once`, with all before it.
    Raises Conflict: too many are valid. The row of the trigger is locked by the caller."""
    trigger.secrets.filter(valid_until__lte=now).delete()
    if at_once:
        trigger.secrets.all().delete()
    elif trigger.secrets.count() >= MOST_VALID:
        raise Conflict("Its secret was changed too often today. Let the old ones end at once, or wait.")
    trigger.secrets.filter(valid_until=None).update(valid_until=now + OVERLAP)
    _store(trigger, secret, by, now)


def set_example(trigger: Trigger, text: str) -> None:
    """Keep a body that somebody pasted as the example of the form."""
    if text and len(text) <= MAX_EXAMPLE and "\0" not in text:
        WebhookAddress.objects.filter(trigger=trigger).exclude(example=text).update(
            example=text, example_of=""
        )


def _store(trigger: Trigger, secret: str, by: User, now: datetime) -> None:
    WebhookSecret.objects.create(
        trigger=trigger, content=keys.encrypt(secret), hint=secret[-HINT:], created_at=now, created_by=by
    )
