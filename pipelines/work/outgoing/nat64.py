"""NAT64: an IPv4 address inside an IPv6 one, behind a prefix that the network chose (RFC 6052)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

# Where the four bytes stand for each length of prefix; byte 8 is always zero (§2.2).
BYTES = {
    32: (4, 5, 6, 7),
    40: (5, 6, 7, 9),
    48: (6, 7, 9, 10),
    56: (7, 9, 10, 11),
    64: (9, 10, 11, 12),
    96: (12, 13, 14, 15),
}
# Set aside for it: an address in them says what it is, even where no prefix is listed.
SET_ASIDE = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


def parsed_prefix(text: str) -> ipaddress.IPv6Network:
    """A prefix, such as `64:ff9b::/96`. :raises ValueError: it is none"""
    network = ipaddress.IPv6Network(text)
    if network.prefixlen not in BYTES:
        raise ValueError(f"the length of a NAT64 prefix is one of {', '.join(map(str, BYTES))}")
    return network


def translated_address_or_none(
    address: ipaddress.IPv6Address, prefixes: Iterable[ipaddress.IPv6Network]
) -> ipaddress.IPv4Address | None:
    """The IPv4 address that a translator behind one of the prefixes would connect to."""
    for network in prefixes:
        if address in network:
            # What the translator would connect to is what has to be allowed
            return ipaddress.IPv4Address(bytes(address.packed[place] for place in BYTES[network.prefixlen]))
    return None
