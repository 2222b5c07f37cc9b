"""Which addresses an outgoing call may reach: public ones, and private ones if an operator listed them (house §5)."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]

# IPv6 that leads to the IPv4 address in its last 32 bits, whatever the rest says.
TRANSLATED = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
# Neither is the internet's, and a metadata service lives in the first; `is_global` does not know.
INWARD = (ipaddress.ip_network("192.0.0.0/24"), ipaddress.ip_network("fec0::/10"))


class RefusedAddress(httpx.ConnectError):
    """The address is private and not listed; the message says which, and where an operator would list it."""


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, as this machine's resolver has them at this moment. :raises OSError: it has none"""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True)
class Guard:
    """`private_hosts`: names, addresses and networks (`10.1.0.0/16`) that may be private. `resolve`: tests hand in one
    that changes its mind."""

    private_hosts: tuple[str, ...] = ()
    resolve: Resolve = field(default=resolve, repr=False, compare=False)

    async def addresses(self, host: str, port: int) -> list[str]:
        """Where to connect to: what the host resolves to now, once all of it is allowed. Whoever connects takes these
        and never the name, which may answer differently the next time.

        :raises RefusedAddress: one of them is private. :raises httpx.ConnectError: nobody knows the name
        """
        try:
            found = await self.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(f"The host {host} could not be found: {error}") from error
        for address in found:
            if not self.allows(host, address):
                raise RefusedAddress(
                    f"The host {host} has the private address {address}. "
                    "An operator can list it in GATELINE_PRIVATE_HOSTS."
                )
        return found

    def allows(self, host: str, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        within = embedded(parsed)
        if all(map(_public, within)):
            return True
        return any(host.lower() == entry.lower() or _lists(entry, within[-1]) for entry in self.private_hosts)

    def also(self, *hosts: str) -> Guard:
        """The same, and these hosts: what an operator set as an address needs no listing."""
        return Guard((*self.private_hosts, *hosts), self.resolve)


def embedded(address: IPAddress) -> list[IPAddress]:
    """The address and, last, the IPv4 address that it stands for: mapped, 6to4, Teredo, NAT64."""
    if not isinstance(address, ipaddress.IPv6Address):
        return [address]
    if address.ipv4_mapped:
        return [address.ipv4_mapped]
    inner = address.sixtofour or (address.teredo and address.teredo[1])
    if inner:
        return [address, inner]
    if any(address in network for network in TRANSLATED) and int(address) > 1:
        return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address]


def _public(address: IPAddress) -> bool:
    return address.is_global and not address.is_multicast and not any(address in each for each in INWARD)


def _lists(entry: str, address: IPAddress) -> bool:
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
