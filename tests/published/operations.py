"""Operation of a host's API as it is published, and what is wrong with one exchange by it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote


@dataclass(frozen=True)
class Exchange:
    """A call of Gateline's client and the answer of a server of the tests. `path`: without the prefix of the API, as it
    was sent; `query`: as text."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    status: int
    reply: Any

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.status}"


class PublishedApi(Protocol):
    """API of a host as somebody else wrote it down."""

    def faults(self, exchange: Exchange) -> list[str]:
        """Return what is wrong with it."""


def path_pattern(template: str) -> re.Pattern[str]:
    """Return the pattern of a path with `{names}`: a slash within a part is sent escaped."""
    return re.compile(re.sub(r"\\\{[^/]*?\\\}", "[^/]+", re.escape(template.strip("/"))))


def matching_template(path: str, templates: Iterable[str]) -> str | None:
    """Return the template of this path: of several the one with the fewest names."""
    found = [each for each in templates if path_pattern(each).fullmatch(path.strip("/"))]
    return min(found, key=lambda each: each.count("{")) if found else None


def unknown_names(kind: str, given: Iterable[str], known: Iterable[str]) -> list[str]:
    known = set(known)
    return [f"{kind} {unquote(name)}: nobody published it" for name in given if name not in known]
