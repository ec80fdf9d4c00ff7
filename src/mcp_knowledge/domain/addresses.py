"""Which IP addresses are on the public internet. Everything else is refused before a connection is made.

Python's `ipaddress` follows the IANA special-purpose registries, but each Python version knows another edition of them.
So its judgement is needed and not enough: the lists here are the union of what any edition refuses, and an IPv6 address
must lie in the only block that IANA hands out. Addresses that carry an IPv4 address are judged by what they carry.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

# IANA IPv4 Special-Purpose Address Registry, with what is global in it only by exception left refused.
_REFUSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared between a provider and its customers
        "127.0.0.0/8",
        "168.63.129.16/32",  # answers every machine in Azure as if it stood beside it
        "169.254.0.0/16",  # link-local: the metadata services of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_UNICAST_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_COMPATIBLE = IPv6Network("::/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # the upper half of an ISATAP interface identifier (RFC 5214 section 6.1)
_LOW_32 = 0xFFFF_FFFF


def is_public(text: str) -> bool:
    """Whether an address, as an address look-up gives it, is on the public internet. False for what is no address."""
    try:
        return public(ip_address(text))
    except ValueError:
        return False


def is_address(text: str) -> bool:
    """Whether this is the text of an IP address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(text: str) -> bool:
    """Whether an address is this machine's own, also as a socket for both families tells it (`::ffff:127.0.0.1`)."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is on the public internet; one with a zone (`fe80::1%eth0`) never is."""
    if isinstance(address, IPv4Address):
        return address.is_global and not _special(address) and not _in_any(address, _REFUSED_V4)
    if address.scope_id is not None:
        return False
    carried, carrier_counts = _carried(address)
    if not all(public(inner) for inner in carried):
        return False
    return bool(carried and not carrier_counts) or _public_v6(address)


def _public_v6(address: IPv6Address) -> bool:
    if address not in _UNICAST_V6 or _special(address):
        return False
    return address.is_global and not _in_any(address, _REFUSED_V6)


def _special(address: IPv4Address | IPv6Address) -> bool:
    return (
        address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or address.is_loopback
        or address.is_link_local
        or address.is_private
    )


def _in_any(address: IPv4Address | IPv6Address, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    return any(address in network for network in networks)


def _carried(address: IPv6Address) -> tuple[list[IPv4Address], bool]:
    """The IPv4 addresses that an IPv6 address leads to, and whether the IPv6 address itself must be public too."""
    value = int(address)
    if _in_any(address, (_MAPPED, _COMPATIBLE, _TRANSLATED, _NAT64)):  # RFC 4291 2.5.5, RFC 7915, RFC 6052 2.1
        return [IPv4Address(value & _LOW_32)], False
    if address in _SIX_TO_FOUR:  # RFC 3056 section 2
        return [IPv4Address(value >> 80 & _LOW_32), *_isatap(value)], False
    if address in _TEREDO:  # RFC 4380 section 4: the server, and the client with every bit turned
        return [IPv4Address(value >> 64 & _LOW_32), IPv4Address(value & _LOW_32 ^ _LOW_32)], False
    return list(_isatap(value)), True


def _isatap(value: int) -> Iterator[IPv4Address]:
    if value >> 32 & _LOW_32 in _ISATAP:
        yield IPv4Address(value & _LOW_32)
