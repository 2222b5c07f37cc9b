"""The way out of a station: the guard and the client of the installation, set up from the station's environment."""

from __future__ import annotations

import asyncio
import os

import httpx

from pipelines.work.outgoing import authorities, nat64
from pipelines.work.outgoing.guard import Guard, RefusedAddress

from .report import StationError, listed
from .source import Address


def guard() -> Guard:
    authorities.trust(authorities.of_environment(os.environ))
    prefixes = listed("GATELINE_NAT64_PREFIXES", ", ")
    return Guard(tuple(listed("GATELINE_PRIVATE_HOSTS", ", ")), nat64=tuple(map(nat64.prefix, prefixes)))


def checked(origin: Address) -> str:
    """The address to connect to for `origin`, once all that its name stands for are allowed.

    :raises StationError: `refused` for a private address, `unreachable` for a name that nobody knows.
    """
    try:
        return asyncio.run(guard().addresses(origin.host, origin.port))[0].partition("%")[0]
    except RefusedAddress as error:
        raise StationError(str(error), "refused") from error
    except httpx.ConnectError as error:
        raise StationError(str(error), "unreachable") from error
