"""Documents of lines that are read from an address of the web."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from pipelines.errors import Invalid
from pipelines.work.outgoing.guard import Guard
from pipelines.work.outgoing.http_fetch import NOT_FETCHED, Call, HttpAnswer, fetch_url

SECONDS: Final = 20
MOST_BYTES: Final = 2_000_000
ACCEPT: Final = "application/yaml, application/json, text/plain, */*"


def fetch_document(address: str) -> bytes:
    """Return what stands at the address, at most 2 MB. The addresses that it leads to are under the same rules as those
    of stations. Raises Invalid, with the field `address`."""
    guard = Guard(tuple(settings.PRIVATE_HOSTS), nat64=tuple(settings.NAT64_PREFIXES))
    try:
        parts = urlsplit(address)
        is_allowed = parts.scheme == "https" or (
            parts.scheme == "http" and guard.is_listed_host(parts.hostname or "")
        )
    except ValueError:
        is_allowed = False
    if not is_allowed:
        raise Invalid.at("address", "Enter an address that begins with https://.")
    answer = asyncio.run(_fetch_with_timeout(address, guard))
    if answer.status != 200:
        raise Invalid.at(
            "address", f"The server answered {answer.status}.", "Enter the address of the file itself."
        )
    if answer.cut:
        raise Invalid.at("address", "The document is larger than 2 MB.")
    # The page of a file on a host, and not the file: the usual mistake
    if answer.headers.get("content-type", "").partition(";")[0].strip() == "text/html":
        raise Invalid.at(
            "address",
            "There is a page, and no document.",
            "Enter the address of the file itself, such as that behind Raw.",
        )
    return answer.body


async def _fetch_with_timeout(address: str, guard: Guard) -> HttpAnswer:
    try:
        async with asyncio.timeout(SECONDS):
            return await fetch_url(Call("GET", address, {"accept": ACCEPT}), guard, SECONDS, MOST_BYTES)
    except TimeoutError as error:
        raise Invalid.at("address", f"The server did not answer within {SECONDS} seconds.") from error
    except NOT_FETCHED as error:
        raise Invalid.at("address", f"It cannot be fetched: {error}") from error
