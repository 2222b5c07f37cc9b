"""What a chat sends of its buttons and commands. Nobody is signed in: the body is signed with the secret of the app."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Router
from ninja.errors import HttpError
from pydantic import BaseModel

from pipelines.api.problems import ProblemOut
from pipelines.web.shell.anonymous import wrong_tokens
from pipelines.web.shell.turns import TooMuch
from reviews.channels import interactions
from reviews.models import ChannelConnection

router = Router(tags=["gates"])


class ReplyOut(BaseModel):
    """Slack shows it to whoever typed the command, and to nobody else."""

    response_type: str = "ephemeral"
    text: str = ""


@router.post(
    "/chats/{channel}/interactions",
    response={200: ReplyOut, **dict.fromkeys((401, 413, 429), ProblemOut)},
    auth=None,
    url_name="chat-interaction",
    summary="A button or a command in Slack",
)
def take(request: HttpRequest, channel: int) -> Any:
    """The request address of a Slack app, for interactivity and for its command. 401 without a right signature of the
    last five minutes. A button that decides nothing says why to whoever pressed it."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    if len(request.body) > interactions.MOST_BYTES:
        raise HttpError(413, _("This is more than Slack sends."))
    found = (
        ChannelConnection.objects.exclude(signing="")
        .select_related("project")
        .filter(pk=channel if channel < 2**63 else 0, kind="slack", enabled=True)
        .first()
    )
    try:
        if found is None:
            raise interactions.NotSigned
        interactions.check(found, headers, request.body)
    except interactions.NotSigned as unsigned:
        if seconds := wrong_tokens.wait(request):
            said = _("Too many wrong tokens came from this address. Wait a minute.")
            raise TooMuch(said, seconds) from unsigned
        why = _("The signature is missing, wrong or older than five minutes. Compare the signing secret.")
        raise HttpError(401, why) from unsigned
    pressed = interactions.read(request.body)
    if pressed is None:
        return ReplyOut()
    text = interactions.answer(found, pressed)
    if pressed.command is None:
        interactions.tell(found, pressed, text)
        return ReplyOut()
    return ReplyOut(text=text)
