"""Addresses that an outgoing call may reach: public ones, and private ones if an operator listed them (house
§5)."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import httpx2

from pipelines.work.outgoing import nat64
from pipelines.work.outgoing.special_purpose import Address, is_private_network, is_public

Resolve = Callable[[str, int], Awaitable[list[str]]]


class RefusedAddress(httpx2.ConnectError):
    """The address is private and not listed; the message says which, and where an operator would list it."""


async def resolve_addresses(host: str, port: int) -> list[str]:
    """The addresses of a host, as this machine's resolver has them at this moment. :raises OSError: it has none"""
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


@dataclass(frozen=True)
class Guard:
    """`private_hosts`: names, addresses and networks (`10.1.0.0/16`) that may be private. `resolve`: tests hand in one
    that changes its mind. `nat64`: prefixes through which this network reaches IPv4 (RFC 6052). `inside`: hosts,
    in small letters, and ports that may be in a private network: not on this machine or a link, nor a cloud's keys."""

    private_hosts: tuple[str, ...] = ()
    resolve: Resolve = field(default=resolve_addresses, repr=False, compare=False)
    nat64: tuple[ipaddress.IPv6Network, ...] = ()
    inside: tuple[tuple[str, int], ...] = ()

    async def allowed_addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses to connect to: what the host resolves to now, once all of it is allowed.
        Callers connect to these and never to the name, which may resolve differently the next time.

        :raises RefusedAddress: one of them is private. :raises httpx2.ConnectError: nobody knows the name
        """
        try:
            addresses = await self.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(f"The host {host} could not be found: {error}") from error
        # One private address refuses the name, whichever of them would be connected to
        for address in addresses:
            if not self.allows_address(host, address, port):
                raise RefusedAddress(
                    f"The host {host} has the private address {address}. {unlisted_address_remedy(address)}"
                )
        return addresses

    def allows_address(self, host: str, address: str, port: int | None = None) -> bool:
        try:
            # fe80::1%eth0: the interface is no part of the address
            reached = self.address_behind_translation(ipaddress.ip_address(address.partition("%")[0]))
        except ValueError:
            return False
        inside = (host.lower(), port) in self.inside and is_private_network(reached)
        return is_public(reached) or inside or self._is_listed(host, reached)

    def is_listed_host(self, host: str) -> bool:
        """Return whether an operator listed this name or address, or a network that contains it. No name is
        resolved."""
        try:
            return self._is_listed(
                host, self.address_behind_translation(ipaddress.ip_address(host.partition("%")[0]))
            )
        except ValueError:
            return self._is_listed(host, None)

    def _is_listed(self, host: str, reached: Address | None) -> bool:
        return any(
            host.lower() == entry.lower() or (reached is not None and _entry_covers(entry, reached))
            for entry in self.private_hosts
        )

    def address_behind_translation(self, address: Address) -> Address:
        """Return where a connection to the address ends: at the mapped IPv4 address, or the one behind a
        listed NAT64."""
        if not isinstance(address, ipaddress.IPv6Address):
            return address
        return address.ipv4_mapped or nat64.translated_address_or_none(address, self.nat64) or address

    def with_hosts(self, *hosts: str) -> Guard:
        """The same, and these hosts: what an operator set as an address needs no listing."""
        return replace(self, private_hosts=(*self.private_hosts, *hosts))


def unlisted_address_remedy(address: str) -> str:
    """Return the sentence on where an operator lists the address."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if any(parsed in prefix for prefix in nat64.SET_ASIDE):
        return "If this network reaches IPv4 so, an operator can list the prefix in GATELINE_NAT64_PREFIXES."
    return "An operator can list it in GATELINE_PRIVATE_HOSTS."


def _entry_covers(entry: str, address: Address) -> bool:
    try:
        # Not strict: 10.1.2.3/16 is the network that it lies in
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
