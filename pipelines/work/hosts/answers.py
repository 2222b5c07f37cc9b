"""Values out of what a host answered, whatever it is: missing and malformed ones are empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text(said: Any, key: str) -> str:
    """A text of an answer; "" where it is missing or null."""
    found = said.get(key) if isinstance(said, Mapping) else None
    return found if isinstance(found, str) else ""


def number(said: Any, key: str) -> int:
    found = said.get(key) if isinstance(said, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def inner(said: Any, key: str) -> Mapping[str, Any]:
    found = said.get(key) if isinstance(said, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def rows(said: Any) -> list[Mapping[str, Any]]:
    return [each for each in said if isinstance(each, Mapping)] if isinstance(said, list) else []


def differs(source: int, target: int) -> bool:
    """Whether they are two repositories; one that is not said may be anybody's."""
    return source != target or not source


def of_fork(said: Mapping[str, Any]) -> bool:
    """Whether a pull request comes from another repository, or from one that is gone: anybody may name a branch there
    like ours. As GitHub, Gitea and Forgejo say it."""
    ids = [number(inner(inner(said, each), "repo"), "id") for each in ("head", "base")]
    return differs(ids[0], ids[1])


def link(said: str, otherwise: str) -> str:
    """An address that a page may link to."""
    return said if said.startswith(("https://", "http://")) and len(said) <= 1000 else otherwise
