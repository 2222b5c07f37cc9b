"""What a host says of an issue, and who signed that: pure, over the headers and the body as they came."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from pipelines.work.hosts.host import text

Headers = Mapping[str, str]
"""Their names in small letters."""
TOLERANCE = 300.0
"""Seconds between a signed time and ours."""


@dataclass(frozen=True)
class IssueHeard:
    """An issue got a label, or was assigned. `exact` False: it has it now, and the host does not say since when.
    `at`: when it changed last, None where it says nothing that can be read."""

    path: str
    number: int
    url: str
    title: str
    body: str
    by: str
    on: Literal["label", "assignee"]
    value: str
    at: datetime | None
    exact: bool = True


def hexed(body: bytes, secret: str, said: str) -> bool:
    """Whether this is the HMAC-SHA256 of the body, in hexadecimal."""
    made = hmac.new(secret.encode(), body, "sha256").hexdigest()
    return hmac.compare_digest(made.encode(), said.strip().lower().encode())


def moment(said: Any, key: str) -> datetime | None:
    found = text(said, key).replace(" UTC", "+00:00")
    try:
        at = datetime.fromisoformat(found)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
