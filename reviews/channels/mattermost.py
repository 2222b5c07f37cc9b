"""Mattermost by a bot account: a post, and a patch of it when the review is over."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pipelines.work.outgoing.fetching import Call, HttpAnswer
from reviews.channels.channel import ChannelKind, ReviewMessage, Target, check, document_of, post

MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|>~<:])")


def _call(message: ReviewMessage, target: Target) -> Call:
    text = "\n".join(filter(None, (f"**{plain(message.title)}**", *_lines(message))))
    token = {"authorization": f"Bearer {target.secret}"}
    server = f"{target.address.rstrip('/')}/api/v4/posts"
    if message.ref:
        return post(f"{server}/{message.ref}/patch", {"message": text}, "PUT", **token)
    return post(server, {"channel_id": target.room, "message": text}, **token)


def _lines(message: ReviewMessage) -> list[str]:
    facts = f"{message.task} · {message.place} · {message.requester}"
    said = message.outcome or message.summary
    return [plain(said), plain(facts), f"[{_('Open the review')}]({message.link})"]


def plain(text: str) -> str:
    """Text in which nothing is markup, and no name is a mention."""
    return MARKUP.sub(r"\\\1", " ".join(text.split())).replace("@", "@\u2060")


def _read(answer: HttpAnswer) -> str:
    check(answer)
    return str(document_of(answer).get("id", ""))


KIND = ChannelKind(
    key="mattermost",
    label="Mattermost",
    address_label=gettext_lazy("Server"),
    address_help=gettext_lazy("Such as https://chat.example.com."),
    address="",
    secret_label=gettext_lazy("Bot token"),
    secret_help=gettext_lazy("The access token of a bot account in the channel. Stored encrypted."),
    call=_call,
    read=_read,
    rooms=True,
    changes=True,
)
