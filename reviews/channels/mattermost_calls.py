"""Calls of Mattermost when somebody chooses from a menu or types the command. It signs nothing; it sends back
what only it received: the token of its slash command, and in the context of an action, which users never
see, a signature of ours over what was visible there (law §15)."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from django.views.decorators.debug import sensitive_variables

from pipelines.ports.vault import keys
from reviews.channels.chat_actions import APPROVE, ChatAction, NotSigned, shortened_ascii_text_or_value_error
from reviews.models import ChannelConnection

WORKSPACE = "server"
"""People of a server have one id in all of its teams."""


@sensitive_variables("secret")
def button_signature(connection: ChannelConnection, value: str) -> str:
    """Return the proof that a call comes from the server that got this button. Raises SecretUnreadable."""
    secret = keys.decrypt_secret(connection.signing)
    signed_text = f"gateline:button:{connection.pk}:{value}"
    return hmac.new(secret.encode(), signed_text.encode(), hashlib.sha256).hexdigest()


@sensitive_variables("secret")
def refuse_unsigned_call(connection: ChannelConnection, headers: Mapping[str, str], body: bytes) -> None:
    """Raises NotSigned."""
    document, form = _action_object_or_empty(body), _first_form_values_or_empty(body)
    try:
        if document:
            context = document["context"]
            expected, received = (
                button_signature(connection, str(context["value"])),
                str(context["signature"]),
            )
        else:
            expected, received = keys.decrypt_secret(connection.signing), form["token"]
    # ValueError: of half a surrogate pair, which JSON may hold, no signature can be made
    except (keys.SecretUnreadable, KeyError, TypeError, ValueError) as problem:
        raise NotSigned from problem
    # As bytes: compare_digest takes no texts beyond ASCII
    if not hmac.compare_digest(expected.encode(), received.encode("utf-8", "replace")):
        raise NotSigned


def chat_action_or_none(body: bytes) -> ChatAction | None:
    """None of what says nothing to us."""
    document, form = _action_object_or_empty(body), _first_form_values_or_empty(body)
    try:
        if document:
            context = document["context"]
            action = APPROVE if context.get("selected_option") == APPROVE else ""
            value = shortened_ascii_text_or_value_error(context["value"], 200)
            pressed = ChatAction(
                WORKSPACE, shortened_ascii_text_or_value_error(document["user_id"]), "", action, value
            )
        else:
            pressed = ChatAction(
                WORKSPACE,
                shortened_ascii_text_or_value_error(form["user_id"]),
                "",
                command=form.get("text", ""),
            )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return pressed if pressed.account else None


def _action_object_or_empty(body: bytes) -> dict[str, Any]:
    """The JSON object of an action; empty for a command, which is a form."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _first_form_values_or_empty(body: bytes) -> dict[str, str]:
    try:
        return {name: values[0] for name, values in parse_qs(body.decode(), max_num_fields=100).items()}
    except ValueError:
        return {}
