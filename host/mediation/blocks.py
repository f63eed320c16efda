"""Which addresses are special: IANA's registries as a table.

Sources, as of 2025: the IPv4 and the IPv6 Special-Purpose Address Registry (RFC 6890 and its updates), the
IPv4 and IPv6 multicast registries, the IPv6 address space registry (nothing outside of 2000::/3 is global
unicast), and the documentation of the cloud providers for metadata services. The longest prefix decides.
``docs/network.md`` has the same table; a test compares the two.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

__all__ = ["IPV4_BLOCKS", "IPV6_BLOCKS", "METADATA", "Block", "Kind"]

#: What an address is for. ``embedded`` is an IPv6 address that stands for an IPv4 address.
Kind = Literal["public", "private", "loopback", "link-local", "multicast", "reserved", "embedded", "metadata"]


class Block(NamedTuple):
    """A stretch of addresses.

    Attributes:
        prefix: as in ``10.0.0.0/8``.
        kind: what its addresses are; ``public`` where the registry says "globally reachable".
        name: what the registry calls it.
        source: what defines it.
    """

    prefix: str
    kind: Kind
    name: str
    source: str


IPV4_BLOCKS: Final = (
    Block("0.0.0.0/0", "public", "global unicast", "RFC 791"),
    Block("0.0.0.0/8", "reserved", "this network", "RFC 791"),
    Block("10.0.0.0/8", "private", "private use", "RFC 1918"),
    Block("100.64.0.0/10", "private", "shared address space", "RFC 6598"),
    Block("127.0.0.0/8", "loopback", "loopback", "RFC 1122"),
    Block("169.254.0.0/16", "link-local", "link local", "RFC 3927"),
    Block("172.16.0.0/12", "private", "private use", "RFC 1918"),
    Block("192.0.0.0/24", "reserved", "IETF protocol assignments", "RFC 6890"),
    Block("192.0.0.9/32", "public", "Port Control Protocol anycast", "RFC 7723"),
    Block("192.0.0.10/32", "public", "TURN anycast", "RFC 8155"),
    Block("192.0.2.0/24", "reserved", "documentation (TEST-NET-1)", "RFC 5737"),
    Block("192.88.99.0/24", "reserved", "deprecated 6to4 relay anycast", "RFC 7526"),
    Block("192.168.0.0/16", "private", "private use", "RFC 1918"),
    Block("198.18.0.0/15", "reserved", "benchmarking", "RFC 2544"),
    Block("198.51.100.0/24", "reserved", "documentation (TEST-NET-2)", "RFC 5737"),
    Block("203.0.113.0/24", "reserved", "documentation (TEST-NET-3)", "RFC 5737"),
    Block("224.0.0.0/4", "multicast", "multicast", "RFC 5771"),
    Block("240.0.0.0/4", "reserved", "reserved, limited broadcast among it", "RFC 1112"),
)

IPV6_BLOCKS: Final = (
    Block("::/0", "reserved", "not global unicast", "RFC 4291"),
    Block("::/96", "embedded", "deprecated IPv4-compatible address", "RFC 4291"),
    Block("::/128", "reserved", "unspecified address", "RFC 4291"),
    Block("::1/128", "loopback", "loopback", "RFC 4291"),
    Block("::ffff:0:0:0/96", "embedded", "IPv4-translated address", "RFC 2765"),
    Block("64:ff9b::/96", "embedded", "IPv4-IPv6 translation (NAT64)", "RFC 6052"),
    Block("64:ff9b:1::/48", "embedded", "IPv4-IPv6 translation, local use", "RFC 8215"),
    Block("100::/64", "reserved", "discard-only", "RFC 6666"),
    Block("100:0:0:1::/64", "reserved", "dummy prefix", "RFC 9780"),
    Block("2000::/3", "public", "global unicast", "RFC 4291"),
    Block("2001::/23", "reserved", "IETF protocol assignments", "RFC 2928"),
    Block("2001::/32", "embedded", "Teredo", "RFC 4380"),
    Block("2001:1::1/128", "public", "Port Control Protocol anycast", "RFC 7723"),
    Block("2001:1::2/128", "public", "TURN anycast", "RFC 8155"),
    Block("2001:1::3/128", "public", "DNS-SD SRP anycast", "RFC 9665"),
    Block("2001:2::/48", "reserved", "benchmarking", "RFC 5180"),
    Block("2001:3::/32", "public", "AMT", "RFC 7450"),
    Block("2001:4:112::/48", "public", "AS112", "RFC 7535"),
    Block("2001:10::/28", "reserved", "deprecated ORCHID", "RFC 4843"),
    Block("2001:20::/28", "public", "ORCHIDv2", "RFC 7343"),
    Block("2001:30::/28", "public", "drone remote ID", "RFC 9374"),
    Block("2001:db8::/32", "reserved", "documentation", "RFC 3849"),
    Block("2002::/16", "embedded", "6to4", "RFC 3056"),
    Block("3fff::/20", "reserved", "documentation", "RFC 9637"),
    Block("5f00::/16", "reserved", "segment routing identifiers", "RFC 9602"),
    Block("fc00::/7", "private", "unique local", "RFC 4193"),
    Block("fe80::/10", "link-local", "link local", "RFC 4291"),
    Block("fec0::/10", "private", "deprecated site local", "RFC 3879"),
    Block("ff00::/8", "multicast", "multicast", "RFC 4291"),
)

#: Addresses of services that tell a machine in a cloud its credentials (contract 11.33, and two of IPv6).
METADATA: Final = (
    Block("169.254.169.254/32", "metadata", "metadata", "Amazon EC2, Microsoft Azure, Google Cloud and others"),
    Block("169.254.170.2/32", "metadata", "task credentials", "Amazon ECS"),
    Block("168.63.129.16/32", "metadata", "wire server", "Microsoft Azure"),
    Block("100.100.100.200/32", "metadata", "metadata", "Alibaba Cloud"),
    Block("192.0.0.192/32", "metadata", "metadata", "Oracle Cloud Infrastructure Classic"),
    Block("fd00:ec2::254/128", "metadata", "metadata", "Amazon EC2"),
    Block("fd00:ec2::23/128", "metadata", "pod identity", "Amazon EKS"),
    Block("fd20:ce::254/128", "metadata", "metadata", "Google Compute Engine"),
)
