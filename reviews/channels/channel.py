"""Channels, a chat or a webhook: one file each, which says how a message is sent and what the answer means."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.work.outgoing.http_fetch import Call, HttpAnswer


class ChannelError(Exception):
    """The server refused a message; the message says why. It is not tried again by itself."""


class ChannelUnavailable(ChannelError):
    """The server could not take it now: it is tried again later."""


@dataclass(frozen=True)
class ReviewMessage:
    """Message about one gate visit. `id` stays the same however often it is sent; `ref` names its first
    message, for those that can be changed. `outcome`: empty while it is open."""

    id: str
    kind: str
    at: datetime
    visit: str
    title: str
    task: str
    place: str
    requester: str
    summary: str
    link: str
    outcome: str = ""
    ref: str = ""
    approves: str = ""
    """What a button that approves says back (`reviews.channels.interactions`); empty where the gate allows none."""
    then: str = ""
    """What an approval leads to."""
    signature: str = ""
    """Ours over `approves`, for a chat that signs nothing and gives it back."""
    answers_at: str = ""
    """Where such a chat sends what somebody chose."""
    event: str = ""
    """Of another event than a review, such as task.failed."""
    thread: str = ""
    """What the first message about the same task is called there."""
    opens: str = "Open the review"
    """What the link says."""

    @property
    def type_name(self) -> str:
        return self.event or f"review.{self.kind}"

    @property
    def facts(self) -> str:
        return " · ".join(filter(None, (self.task, self.place, self.requester)))

    @property
    def is_closed(self) -> bool:
        return bool(self.outcome)


@dataclass(frozen=True)
class Target:
    """Destination of a message. `address`: of the server or the webhook; `room`: the channel there; `secret`:
    token or key."""

    address: str
    room: str
    secret: str


@dataclass(frozen=True)
class ChannelKind:
    """Row of the table. `call` makes the request, `read` returns what names the message there, or raises.
    `rooms`: whether a message needs a room. `secret_label` is empty where there is no secret; `changes`:
    whether a message that was sent is changed when the review is over (else a second one is sent);
    `makes_secret`: whether one is created where none is entered; `signing_help`: where to look for the
    secret that vouches for its calls to us, if it makes any; `signing_label`: what it is called there;
    `gives_back`: whether what vouches for a button is a signature of ours, sent back."""

    key: str
    label: str
    address_label: str
    address_help: str
    address: str
    secret_label: str
    secret_help: str
    call: Callable[[ReviewMessage, Target], Call]
    read: Callable[[HttpAnswer], str]
    rooms: bool = False
    changes: bool = False
    makes_secret: bool = False
    signing_help: str = ""
    signing_label: str = ""
    gives_back: bool = False


def json_call(url: str, document: Mapping[str, Any], method: str = "POST", **headers: str) -> Call:
    extra_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return Call(method, url, {"content-type": "application/json; charset=utf-8", **extra_headers}, body)


def raise_if_answer_refused(answer: HttpAnswer) -> None:
    """Raises ChannelUnavailable for what may pass, ChannelError for what does not."""
    if answer.status == 429 or answer.status >= 500:
        raise ChannelUnavailable(f"The server answered {answer.status}.")
    if not 200 <= answer.status < 300:
        raise ChannelError(f"The server answered {answer.status}: {answer.text()[:200]}")


def check_answer_without_message_id(answer: HttpAnswer) -> str:
    """Read the answer of a channel that names no message. Raises ChannelUnavailable, ChannelError."""
    raise_if_answer_refused(answer)
    return ""


def answer_object_or_empty(answer: HttpAnswer) -> dict[str, Any]:
    """The JSON object of an answer; empty for anything else."""
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
