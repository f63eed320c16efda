"""What an address is: public, or one of those that nothing is sent to (contract 11.14 and 11.33).

An IPv4 address inside an IPv6 address is found in every form there is. The mapped form is that IPv4 address
everywhere; the others are refused, unless the operator says that a prefix leads through the network's own NAT64.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from capgate.host.mediation.blocks import IPV4_BLOCKS, IPV6_BLOCKS, METADATA, Block, Kind

__all__ = ["Address", "Prefix", "classify", "read_nat64_prefix"]

_NAT64_LENGTHS: Final = (32, 40, 48, 56, 64, 96)


class Prefix(NamedTuple):
    """The addresses that begin with the same bits.

    Attributes:
        first: the lowest, as a number.
        length: how many bits are the same.
        bits: how many there are: 32 or 128.
    """

    first: int
    length: int
    bits: int

    def has(self, value: int) -> bool:
        """Whether an address of the same family is one of them."""
        return (value ^ self.first) >> (self.bits - self.length) == 0


class Address(NamedTuple):
    """An address and what it is.

    Attributes:
        text: its usual spelling.
        packed: its 4 or 16 bytes.
        kind: what it is.
        name: of the block that says so.
    """

    text: str
    packed: bytes
    kind: Kind
    name: str

    @property
    def sealed(self) -> bool:
        """Whether it takes the operator, and not just the admitting person, to allow it."""
        return self.kind in ("link-local", "metadata")


def classify(text: str, nat64: Iterable[Prefix] = ()) -> Address | None:
    """Says what an address is.

    Args:
        text: as a resolver gives it: dotted decimal, or IPv6, also with a zone.
        nat64: prefixes behind which the network translates; what is in one is what the IPv4 address in it is.

    Returns:
        None where `text` is no address.
    """
    packed = _packed(text)
    if packed is None:
        return None
    value = int.from_bytes(packed, "big")
    kind, name = _ipv4(value) if len(packed) == 4 else _ipv6(value, tuple(nat64))
    family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    return Address(socket.inet_ntop(family, packed), packed, kind, name)


def read_nat64_prefix(text: str) -> Prefix | None:
    """The prefix that an operator lists, such as ``64:ff9b::/96``; None unless it is one of RFC 6052's lengths."""
    address, _, digits = text.partition("/")
    packed = _packed(address)
    if packed is None or len(packed) != 16 or digits not in map(str, _NAT64_LENGTHS):
        return None
    prefix = Prefix(int.from_bytes(packed, "big"), int(digits), 128)
    # No bits beyond the length, and octet 8 is zero in all of them.
    return None if prefix.first & ((1 << (128 - prefix.length)) - 1 | 0xFF << 56) else prefix


def _packed(text: str) -> bytes | None:
    """The bytes of an address, a mapped one as IPv4; None where `text` is none. Its zone is left out."""
    text = text.partition("%")[0]
    try:
        if ":" not in text:
            return socket.inet_pton(socket.AF_INET, text)
        packed = socket.inet_pton(socket.AF_INET6, text)
    except (OSError, ValueError):
        return None
    return packed[12:] if packed.startswith(_MAPPED) else packed


def _ipv4(value: int) -> tuple[Kind, str]:
    return _decided(value, _IPV4)


def _ipv6(value: int, nat64: tuple[Prefix, ...]) -> tuple[Kind, str]:
    kind, name = _decided(value, _IPV6)
    if kind == "metadata":
        return kind, name
    for prefix in nat64:
        if prefix.has(value):
            if prefix.length < 96 and value >> 56 & 0xFF:
                return "reserved", "octet 8 of a translated address is zero"
            return _ipv4(_translated(value, prefix.length))
    inside = list(_embedded(value))
    for inner in inside:
        sealed, what = _ipv4(inner)
        if sealed in ("link-local", "metadata"):
            return sealed, f"{what} in IPv6"
    if inside and kind == "public":
        return "embedded", "IPv4 address in IPv6 (ISATAP)"
    return kind, name


def _embedded(value: int) -> Iterator[int]:
    """The IPv4 addresses that an IPv6 address may stand for."""
    top = value >> 96
    if top == 0 or value >> 32 == 0xFFFF << 16:  # IPv4-compatible, IPv4-translated
        yield value & _LOW
    elif top == 0x20010000:  # Teredo: the server, and the client with its bits turned
        yield value >> 64 & _LOW
        yield ~value & _LOW
    elif top >> 16 == 0x2002:  # 6to4
        yield value >> 80 & _LOW
    elif top == 0x64FF9B:  # NAT64, the local prefix of which may be of any length
        yield from (_translated(value, length) for length in (48, 56, 64, 96))
    if value >> 32 & 0xFDFFFFFF == 0x5EFE:  # ISATAP, below any prefix
        yield value & _LOW


def _translated(value: int, length: int) -> int:
    """The IPv4 address behind a prefix of NAT64 (RFC 6052, section 2.2)."""
    if length == 96:
        return value & _LOW
    without_octet_8 = value >> 64 << 56 | value & (1 << 56) - 1
    return without_octet_8 >> (120 - length - 32) & _LOW


def _decided(value: int, blocks: list[tuple[Prefix, Kind, str]]) -> tuple[Kind, str]:
    """The kind and name of the longest prefix; the last, which has all addresses, is for the rest."""
    return next((kind, name) for prefix, kind, name in blocks if prefix.has(value))


def _table(blocks: Iterable[Block], bits: int) -> list[tuple[Prefix, Kind, str]]:
    family = socket.AF_INET if bits == 32 else socket.AF_INET6
    made = []
    for block in blocks:
        address, _, length = block.prefix.partition("/")
        first = int.from_bytes(socket.inet_pton(family, address), "big")
        made.append((Prefix(first, int(length), bits), block.kind, block.name))
    return sorted(made, key=lambda entry: -entry[0].length)


_LOW: Final = 0xFFFFFFFF
_MAPPED: Final = bytes(10) + b"\xff\xff"
# At equal length the metadata come first: the sort is stable.
_IPV4: Final = _table([*(block for block in METADATA if ":" not in block.prefix), *IPV4_BLOCKS], 32)
_IPV6: Final = _table([*(block for block in METADATA if ":" in block.prefix), *IPV6_BLOCKS], 128)
