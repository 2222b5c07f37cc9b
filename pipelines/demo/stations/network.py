"""Which hosts a repository address may lead to (house §5): public ones, and private ones only if listed."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import Any

from .report import StationError

resolve = socket.getaddrinfo


def reachable(host: str, port: int, private_hosts: Sequence[str]) -> str:
    """The first IP address of `host`, once all of them are allowed.

    `private_hosts` lists host names, addresses and networks (`10.1.0.0/16`) that may be private.

    :raises StationError: `refused` for a private address, `unreachable` for a name that nobody knows.
    """
    try:
        found = resolve(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise StationError(f"The host {host} could not be found: {error}", "unreachable") from error
    addresses = [str(entry[4][0]).partition("%")[0] for entry in found]
    for address in addresses:
        if not allowed(host, address, private_hosts):
            raise StationError(
                f"The host {host} has the private address {address}. "
                "An administrator can list it in GATELINE_PRIVATE_HOSTS.",
                "refused",
            )
    return addresses[0]


def allowed(host: str, address: str, private_hosts: Sequence[str]) -> bool:
    parsed: Any = ipaddress.ip_address(address)
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    if parsed.is_global and not parsed.is_multicast:
        return True
    return any(host.lower() == entry.lower() or _within(parsed, entry) for entry in private_hosts)


def _within(address: Any, entry: str) -> bool:
    try:
        network = ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
    return address in network


def guard(private_hosts: Sequence[str]) -> None:
    """From now on no connection of this process resolves a name to a private address.

    For the client that runs inside this process: it resolves anew on each connection, and a name may answer
    differently the second time.
    """

    def guarded(host: Any, port: Any, *args: Any, **more: Any) -> Any:
        found = resolve(host, port, *args, **more)
        for entry in found:
            if not allowed(str(host), str(entry[4][0]).partition("%")[0], private_hosts):
                raise OSError(f"{host} has the private address {entry[4][0]}")
        return found

    socket.getaddrinfo = guarded
