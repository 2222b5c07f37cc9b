"""Requests of a chat from its buttons and commands. Nobody is signed in: the body says what vouches for it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router
from ninja.errors import HttpError
from pydantic import BaseModel

from pipelines.api.problems import ProblemOut
from pipelines.web.shell.costly_requests import TurnRefused
from pipelines.web.shell.rate_limits import wrong_tokens
from reviews.channels import interactions, mattermost_calls, slack_calls
from reviews.channels.chat_actions import NotSigned
from reviews.models import ChannelConnection

router = Router(tags=["gates"])


class ReplyOut(BaseModel):
    """Shown to whoever typed the command, and to nobody else."""

    response_type: str = "ephemeral"
    text: str = ""


class PressedOut(BaseModel):
    """Mattermost shows it to whoever chose from the menu, as it is."""

    ephemeral_text: str
    skip_slack_parsing: bool = True


CALLS = {"slack": slack_calls, "mattermost": mattermost_calls}
"""Of each chat whose calls can be told from others: what vouches for them and what they say."""


@router.post(
    "/chats/{channel}/interactions",
    response={200: PressedOut | ReplyOut, **dict.fromkeys((401, 413, 429), ProblemOut)},
    auth=None,
    url_name="chat-interaction",
    summary="A button or a command in a chat",
)
def receive_chat_call(request: HttpRequest, channel: int) -> Any:
    """The request address of a Slack app, for interactivity and for its command, and of a slash command in Mattermost;
    its menus bring it themselves. 401 without what vouches for the call. What decides nothing says why to whoever
    pressed it."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    if len(request.body) > interactions.MOST_BYTES:
        raise HttpError(413, "This is more than a chat sends.")
    connection = (
        ChannelConnection.objects.exclude(signing="")
        .select_related("project")
        # Beyond a bigint there is no connection
        .filter(pk=channel if channel < 2**63 else 0, kind__in=CALLS, enabled=True)
        .first()
    )
    try:
        if connection is None:
            raise NotSigned
        CALLS[connection.kind].refuse_unsigned_call(connection, headers, request.body)
    except NotSigned as unsigned:
        if seconds := wrong_tokens.count_and_retry_after(request):
            message = "Too many wrong tokens came from this address. Wait a minute."
            raise TurnRefused(message, seconds) from unsigned
        why = "The signature or token is missing, wrong or older than five minutes. Compare the secret."
        raise HttpError(401, why) from unsigned
    pressed = CALLS[connection.kind].chat_action_or_none(request.body)
    if pressed is None:
        return ReplyOut()
    text = interactions.reply_to_chat_action_or_empty(connection, pressed)
    if pressed.command is None and not pressed.room:
        return PressedOut(ephemeral_text=text)
    if pressed.command is None:
        interactions.enqueue_private_reply_if_any(connection, pressed, text)
        return ReplyOut()
    return ReplyOut(text=text)
