"""Wire format between processes: one NOTIFY payload per group message, under PostgreSQL's 8,000 bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

LIMIT = 7_900  # PostgreSQL refuses payloads of 8,000 bytes


class MessageTooLarge(ValueError):
    """A live message must stay under 7,900 bytes: send ids and versions only."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """A message on its way to a group (or one channel); `origin` is the process that has delivered it already."""

    origin: str
    to: str
    message: dict[str, Any]

    def encode(self) -> str:
        text = json.dumps([self.origin, self.to, self.message], separators=(",", ":"))
        if len(text) > LIMIT:  # json.dumps answers ASCII: characters are bytes
            raise MessageTooLarge(f"{len(text)} bytes")
        return text


def decode(payload: str) -> Parcel | None:
    """None for a payload that no process of ours wrote."""
    try:
        origin, to, message = json.loads(payload)
    except ValueError:
        return None
    if not (isinstance(origin, str) and isinstance(to, str) and isinstance(message, dict)):
        return None
    return Parcel(origin, to, message)
