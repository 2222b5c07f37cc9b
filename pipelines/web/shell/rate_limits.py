"""Rate limits by client address: pages per minute for people who are not signed in, and wrong tokens and
invitation links for everybody. The counts are in the database, so they hold across web processes."""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from pipelines.models.plumbing.compiled_queries import execute, fetch
from pipelines.web.statements import COUNT_REQUEST, SWEEP_MINUTES

View = Callable[[HttpRequest], HttpResponseBase]

MOST_REMEMBERED = 10_000
PROBES = ("/healthz", "/metrics")
"""Answered also while the database, which counts, is away."""
UNKNOWN = "0.0.0.0"


class RateLimiter:
    """Limits requests of one kind by client address to the number in a setting (0: no limit). An address that
    this process refused is refused again without a statement until it has room."""

    def __init__(self, kind: str, setting: str) -> None:
        self._kind, self._setting = kind, setting
        self._refused: dict[str, float] = {}
        self._lock = threading.Lock()

    def retry_after(self, request: HttpRequest) -> int:
        """Return the seconds for which this process still refuses the address of the request; 0 if it does not.

        Counts nothing.
        """
        with self._lock:
            until = self._refused.get(f"{self._kind}{rate_limit_key(request)}", 0.0)
        return max(0, math.ceil(until - time.monotonic()))

    def count_and_retry_after(self, request: HttpRequest) -> int:
        """Count the request and return the seconds after which its address may try again; 0 if it may continue."""
        most: int = getattr(settings, self._setting)
        if not most:
            return 0
        if seconds := self.retry_after(request):
            return seconds
        address, now = f"{self._kind}{rate_limit_key(request)}", time.monotonic()
        seconds = seconds_until_room(*count_request(address), most)
        if seconds:
            with self._lock:
                # Whose time is over is dropped when the table is full, not by each request.
                if len(self._refused) >= MOST_REMEMBERED:
                    self._refused = {key: end for key, end in self._refused.items() if end > now}
                self._refused[address] = now + seconds
        return seconds


# A right token or link always works: a wrong one that somebody else sends from the same address locks nobody out.
wrong_tokens = RateLimiter("token ", "GUESSES_PER_MINUTE")
wrong_invitations = RateLimiter("join ", "GUESSES_PER_MINUTE")


class CountedRequests(NamedTuple):
    """Requests of an address in this minute and in the one before; `second` of this minute, by the database's clock."""

    requests: int
    second: float
    before: int


def count_request(address: str) -> CountedRequests:
    """Count one request of an address."""
    [(requests, second, before)] = fetch(COUNT_REQUEST, {"address": address})
    # Once for each address and minute, so sweeping costs little.
    if requests == 1:
        execute(SWEEP_MINUTES)
    return CountedRequests(requests, second, before)


def seconds_until_room(requests: int, second: float, before: int, most: int) -> int:
    """Seconds until there is room again; 0 where there is."""
    if requests + before * (60 - second) / 60 <= most:
        return 0
    if requests > most:  # not within this minute, and then not until enough of it has slid out
        return max(1, round(60 - second + 60 * (1 - most / requests)))
    # The second at which requests + before · (60 − second) / 60 comes down to `most`
    return max(1, round(60 - second - 60 * (most - requests) / before))


def client_address(request: HttpRequest) -> str:
    """Address that a request comes from. Behind a proxy: the last address of X-Forwarded-For, the one that the proxy
    itself saw; those before it are the client's own words. 0.0.0.0 where nobody knows."""
    raw_address = str(request.META.get("REMOTE_ADDR") or "")
    if settings.TRUST_PROXY:
        raw_address = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2].strip() or raw_address
    try:
        # A link-local address names its interface: `fe80::1%eth0`.
        address = ipaddress.ip_address(raw_address.partition("%")[0])
    except ValueError:
        return UNKNOWN
    # `::ffff:192.0.2.1` is 192.0.2.1, and counts as such.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def rate_limit_key(request: HttpRequest) -> str:
    """Address that counts as one client: a network of IPv6 counts as one, since whoever has one has all of its
    addresses."""
    known = client_address(request)
    if known == UNKNOWN:
        return "unknown"
    address = ipaddress.ip_address(known)
    # Whoever has one address of such a network has all of them
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((address, 64), strict=False))
    return known
