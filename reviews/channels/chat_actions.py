"""Actions of people in a chat, as it reports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

APPROVE = "approve"


class NotSigned(Exception):
    """Error: the proof of a call is missing, wrong or old."""


@dataclass(frozen=True)
class ChatAction:
    """Somebody pressed a button, or typed a command (`command`: its text). `room`: where to answer them; "" where the
    answer to the call itself is shown to them."""

    workspace: str
    account: str
    room: str
    action: str = ""
    value: str = ""
    command: str | None = None


def shortened_ascii_text_or_value_error(value: Any, max_length: int = 64) -> str:
    """Raises ValueError for anything but a short plain text."""
    if not isinstance(value, str) or "\0" in value or not value.isascii():
        raise ValueError
    return value[:max_length]
