"""Values out of what a host answered, whatever it is: missing and malformed ones are empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text_field(payload: Any, key: str) -> str:
    """A text of an answer; "" where it is missing or null."""
    value = payload.get(key) if isinstance(payload, Mapping) else None
    return value if isinstance(value, str) else ""


def number_field(payload: Any, key: str) -> int:
    value = payload.get(key) if isinstance(payload, Mapping) else None
    # True is an int, too.
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def object_field(payload: Any, key: str) -> Mapping[str, Any]:
    value = payload.get(key) if isinstance(payload, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def object_rows(payload: Any) -> list[Mapping[str, Any]]:
    return [row for row in payload if isinstance(row, Mapping)] if isinstance(payload, list) else []


def is_other_repository(source: int, target: int) -> bool:
    """Return whether they are two repositories; an unknown one may be anybody's."""
    return source != target or not source


def is_from_fork(pull_request: Mapping[str, Any]) -> bool:
    """Return whether a pull request comes from another repository, or from one that is gone: anybody may name
    a branch there like ours. As GitHub, Gitea and Forgejo report it."""
    ids = [
        number_field(object_field(object_field(pull_request, side), "repo"), "id")
        for side in ("head", "base")
    ]
    return is_other_repository(ids[0], ids[1])


def safe_link(address: str, default: str) -> str:
    """An address that a page may link to."""
    # `javascript:` would run in the page.
    return address if address.startswith(("https://", "http://")) and len(address) <= 1000 else default
