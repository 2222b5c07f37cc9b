"""Room that the door has to give, and the words with which it refuses (config/request_bounds.py)."""

from __future__ import annotations

import json
import resource
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

# Seconds, for Retry-After
RETRY: Final = 5
MOST_CONNECTIONS: Final = 8192


@dataclass
class Capacity:
    """Bytes, or connections, of one process. Of three quarters nobody has more than stays free, so that few
    never use them up. The last quarter is for those who have little: it takes 128 of them to fill it."""

    total: int
    used: int = 0
    _shares: Counter[str] = field(default_factory=Counter)

    @property
    def small_share(self) -> int:
        return max(1, self.total // 512)

    def has_room(self, sender: str, size: int) -> bool:
        share, used = self._shares[sender] + size, self.used + size
        if share <= self.small_share:
            return used <= self.total
        return share <= self.total * 3 // 4 - used

    def try_to_reserve(self, sender: str, size: int) -> bool:
        """Return False, and take nothing, where there is not enough."""
        if not self.has_room(sender, size):
            return False
        self._shares[sender] += size
        self.used += size
        return True

    def free(self, sender: str, size: int) -> None:
        """Give back what was taken."""
        self._shares[sender] -= size
        self.used -= size
        # A Counter keeps zeros: it would grow by an entry for every address that ever came.
        if not self._shares[sender]:
            del self._shares[sender]


def raise_file_limit_for_connections() -> int:
    """Let this process open as many files as it may, and return how many of them can be connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 2 * MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(2 * MOST_CONNECTIONS, hard)
    # A process may raise its own soft limit up to the hard one.
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    # The other half is for what a connection opens besides, such as the file of its body
    return most // 2


@dataclass(frozen=True)
class Refusal:
    status: int
    title: str
    detail: str
    retry: bool = False

    def http_response_bytes(self) -> bytes:
        """Return a problem in words, as HTTP."""
        problem = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        body = json.dumps(problem).encode()
        head = [
            f"HTTP/1.1 {self.status} {self.title}",
            "Content-Type: application/problem+json",
            f"Content-Length: {len(body)}",
            "Cache-Control: no-store",
            "Connection: close",
            *([f"Retry-After: {RETRY}"] if self.retry else []),
        ]
        return "\r\n".join([*head, "", ""]).encode() + body


def too_large_refusal(most: int) -> Refusal:
    return Refusal(
        413,
        "Content Too Large",
        f"A request to this address may have at most {most // 1024**2} MB.",
    )


STRANGER: Final = Refusal(
    413,
    "Content Too Large",
    "A request may have at most 1 MB before you sign in. Sign in, or send a valid token.",
)
REFUSED_TOKEN: Final = Refusal(
    401, "Unauthorized", "This token is not valid. Send a valid one as “Authorization: Bearer …”."
)
BUSY: Final = Refusal(
    503,
    "Service Unavailable",
    "Too much is being sent to this server at once. Try again in a few seconds.",
    retry=True,
)
SLOW: Final = Refusal(
    408,
    "Request Timeout",
    "This request came too slowly. Send it again over a faster connection, or send less at once.",
)
FULL: Final = Refusal(
    507,
    "Insufficient Storage",
    "The disk of this server is full. Ask its administrator to make room, then send this again.",
)
LONG_LINE: Final = Refusal(
    414, "URI Too Long", "The address of a request may have at most 16 kB. Send less in it."
)
LONG_HEADERS: Final = Refusal(
    431,
    "Request Header Fields Too Large",
    "The headers of a request may have at most 16 kB. Delete cookies of this site, or send fewer headers.",
)
