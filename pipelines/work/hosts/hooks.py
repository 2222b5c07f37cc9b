"""Messages of a host about an issue, and who signed them: pure, over the headers and the body as they came."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from pipelines.work.hosts.answers import object_field, object_rows, text_field

Headers = Mapping[str, str]
"""Their names in small letters."""
HEADS = "refs/heads/"
COMMIT = re.compile(r"[0-9a-f]{40}")
MOST, ROLES = 100, ("author", "committer")
"""Commits of a push whose authors are read."""


@dataclass(frozen=True)
class IssueEvent:
    """An issue got a label, or was assigned. `by`: who did that; `author`: who wrote the issue, "" where the host does
    not say; `addresses`: of both, as the host knows them. `exact` False: it has it now, and the host does not say since
    when. `at`: when it changed last, None where it says nothing that can be read."""

    path: str
    number: int
    url: str
    title: str
    body: str
    by: str
    on: Literal["label", "assignee"]
    value: str
    at: datetime | None
    author: str
    addresses: tuple[str, ...]
    exact: bool = True


@dataclass(frozen=True)
class PushEvent:
    """A branch was pushed. `logins`, `addresses`: of who pushed, as the host knows them. `authors`: addresses that the
    commits name, which is what their authors wrote."""

    path: str
    branch: str
    commit: str
    logins: tuple[str, ...]
    addresses: tuple[str, ...]
    authors: tuple[str, ...] = ()


@dataclass(frozen=True)
class HookSenders:
    """People of a delivery, as the host names them: who did what it is about, and who wrote the text in it; "" where it
    does not say. `are_all`: False where it keeps back who wrote it."""

    logins: tuple[str, ...]
    addresses: tuple[str, ...]
    are_all: bool = True


def parsed_push_event_or_none(
    payload: Any, path: str, logins: Iterable[str], addresses: Iterable[str]
) -> PushEvent | None:
    """None of a tag, or of a branch that was deleted."""
    ref, commit = text_field(payload, "ref"), text_field(payload, "after")
    # Of a deleted branch a host tells forty zeros as its commit
    if not ref.startswith(HEADS) or not COMMIT.fullmatch(commit) or not commit.strip("0"):
        return None
    of_commits = (
        text_field(object_field(pushed_commit, role), "email")
        for pushed_commit in object_rows(payload.get("commits"))[:MOST]
        for role in ROLES
    )
    known = [tuple(filter(None, names)) for names in (logins, addresses, of_commits)]
    return PushEvent(path, ref.removeprefix(HEADS), commit, *known)


def is_valid_hmac(body: bytes, secret: str, signature: str) -> bool:
    """Return whether this is the HMAC-SHA256 of the body, in hexadecimal."""
    made = hmac.new(secret.encode(), body, "sha256").hexdigest()
    # As bytes: of texts compare_digest takes ASCII only, and raises for what anybody may send
    return hmac.compare_digest(made.encode(), signature.strip().lower().encode())


def time_field_or_none(payload: Any, key: str) -> datetime | None:
    # Such as `2024-01-31 12:00:00 UTC`, which fromisoformat does not read
    timestamp = text_field(payload, key).replace(" UTC", "+00:00")
    try:
        at = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
