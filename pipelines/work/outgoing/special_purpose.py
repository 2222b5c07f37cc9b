"""The addresses that are nobody's on the internet, as IANA lists them.

Source: the IANA IPv4 and IPv6 Special-Purpose Address Registries
(https://www.iana.org/assignments/iana-ipv4-special-registry, …/iana-ipv6-special-registry; RFC 6890, RFC 8190), taken
whole as of October 2025. Also refused are the entries that the registries call globally reachable: relays and anycast
services of the network itself, behind which nobody offers what a station calls.
"""

from __future__ import annotations

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

REGISTRIES = """
    0.0.0.0/8           this network                        RFC 791
    0.0.0.0/32          this host on this network           RFC 1122
    10.0.0.0/8          private use                         RFC 1918
    100.64.0.0/10       shared address space                RFC 6598
    127.0.0.0/8         loopback                            RFC 1122
    169.254.0.0/16      link local                          RFC 3927
    172.16.0.0/12       private use                         RFC 1918
    192.0.0.0/24        IETF protocol assignments           RFC 6890
    192.0.0.0/29        IPv4 service continuity             RFC 7335
    192.0.0.8/32        IPv4 dummy address                  RFC 7600
    192.0.0.9/32        port control protocol anycast       RFC 7723
    192.0.0.10/32       TURN anycast                        RFC 8155
    192.0.0.170/32      NAT64/DNS64 discovery               RFC 8880
    192.0.0.171/32      NAT64/DNS64 discovery               RFC 8880
    192.0.2.0/24        documentation (TEST-NET-1)          RFC 5737
    192.31.196.0/24     AS112-v4                            RFC 7535
    192.52.193.0/24     AMT                                 RFC 7450
    192.88.99.0/24      6to4 relay anycast, deprecated      RFC 7526
    192.88.99.2/32      6a44 relay anycast                  RFC 6751
    192.168.0.0/16      private use                         RFC 1918
    192.175.48.0/24     direct delegation AS112             RFC 7534
    198.18.0.0/15       benchmarking                        RFC 2544
    198.51.100.0/24     documentation (TEST-NET-2)          RFC 5737
    203.0.113.0/24      documentation (TEST-NET-3)          RFC 5737
    240.0.0.0/4         reserved                            RFC 1112
    255.255.255.255/32  limited broadcast                   RFC 919
    ::1/128             loopback                            RFC 4291
    ::/128              unspecified                         RFC 4291
    ::ffff:0:0/96       IPv4-mapped                         RFC 4291
    64:ff9b::/96        IPv4-IPv6 translation               RFC 6052
    64:ff9b:1::/48      IPv4-IPv6 translation               RFC 8215
    100::/64            discard only                        RFC 6666
    100:0:0:1::/64      dummy prefix                        RFC 9780
    2001::/23           IETF protocol assignments           RFC 2928
    2001::/32           Teredo                              RFC 4380
    2001:1::1/128       port control protocol anycast       RFC 7723
    2001:1::2/128       TURN anycast                        RFC 8155
    2001:1::3/128       DNS-SD registration anycast         RFC 9665
    2001:2::/48         benchmarking                        RFC 5180
    2001:3::/32         AMT                                 RFC 7450
    2001:4:112::/48     AS112-v6                            RFC 7535
    2001:10::/28        ORCHID, deprecated                  RFC 4843
    2001:20::/28        ORCHIDv2                            RFC 7343
    2001:30::/28        drone remote identification         RFC 9374
    2001:db8::/32       documentation                       RFC 3849
    2002::/16           6to4                                RFC 3056
    2620:4f:8000::/48   direct delegation AS112             RFC 7534
    3fff::/20           documentation                       RFC 9637
    5f00::/16           segment routing                     RFC 9602
    fc00::/7            unique local                        RFC 4193
    fe80::/10           link local unicast                  RFC 4291
"""
SPECIAL_PURPOSE: tuple[Network, ...] = tuple(
    ipaddress.ip_network(line.split()[0]) for line in REGISTRIES.strip().splitlines()
)
# Networks inside an organization: numbered by itself, shared with its provider or a VPN, or set aside for documentation
# and measurements, so that nobody outside is there. No machine's own and no link's.
INSIDE: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
        "100.64.0.0/10",
        *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
        "198.18.0.0/15",
    )
)
# Where clouds answer with their keys in one of these networks.
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("100.100.100.200", "fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe")
)
# Of IPv6 only this is given out (RFC 4291 §2.4); multicast is in no registry of special purposes.
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")


def is_public(address: Address) -> bool:
    """Return whether the address may belong to somebody on the internet."""
    if address.is_multicast or (address.version == 6 and address not in GLOBAL_UNICAST):
        return False
    return not any(address in network for network in SPECIAL_PURPOSE)


def is_private_network(address: Address) -> bool:
    """Recognize an address inside an organization that is no cloud's server of keys."""
    return address not in METADATA and any(address in network for network in INSIDE)
