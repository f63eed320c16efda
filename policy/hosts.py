"""What a host name is, and the one spelling each host is compared by.

The same function reads ``bounds.hosts`` at admission and the URL at call time, so that a name the admitting
person saw and a name a tool asks for are equal exactly when they are the same host (gate contract 11.12, 11.32).
It reads hosts the way the WHATWG URL standard does and then accepts less: labels are letters, digits, ``_`` and
inner hyphens, nothing is dropped in silence, and the limits of DNS hold.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Host", "format_host", "is_host", "normalise_host"]

_LONGEST_NAME = 253
_LONGEST_LABEL = 63
_HIGHEST_PORT = 65535
# No longer text gives a name of 253 octets: composition joins at most four code points into one, and Punycode
# spends at least one octet on each. The limit bounds the work that hostile text can ask for.
_LONGEST_TEXT = 1024

# A name that is written as it is compared: lower case, no port, no trailing dot, nothing encoded. Its last label
# begins with a letter, so it cannot be part of an IPv4 address.
_is_plain = re.compile(
    rf"(?!.{{{_LONGEST_NAME + 1}}})"
    r"(?:(?!-|xn--)[a-z0-9_-]{1,63}+(?<!-)\.)*"
    r"(?!xn--)[a-z][a-z0-9_-]{0,62}+(?<!-)"
).fullmatch
_PORT = r"0*([1-9][0-9]{0,4})"
_NAME_AND_PORT = re.compile(rf"([^:]*)(?::{_PORT})?")
_BRACKETED_AND_PORT = re.compile(rf"\[([^\]]*)\](?::{_PORT})?")
_IPV6 = re.compile(r"[0-9A-Fa-f:.]{2,45}")
# The ASCII of host names; what else a label holds is for UTS 46 to judge. Joiners (U+200C, U+200D) it would keep,
# so they are left out here, and so is the blank among the Braille patterns (U+2800).
# Compiled when it is first needed, as it takes a while.
_LABEL = r"(?!-|xn--)[a-z0-9_\x80-\u200b\u200e-\u27ff\u2801-\U0010ffff-]+(?<!-)"
_LOOKS_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_NUMBER = re.compile(r"0x([0-9a-f]*)|(0[0-7]*)|([1-9][0-9]*)")


class Host(NamedTuple):
    """A host in the spelling it is compared by.

    Attributes:
        name: lower-case ASCII without a trailing dot: a domain name with its labels in IDNA's ASCII form, an IPv4
            address in dotted decimal, or an IPv6 address as in RFC 5952, without brackets. An IPv4-mapped IPv6
            address is written as the IPv4 address.
        port: 1 to 65535, or None where none was written (any port).
    """

    name: str
    port: int | None


def normalise_host(text: str) -> Host | None:
    """Reads a host, with or without a port; None where `text` is not one (gate contract 11.12).

    ``A.test.`` is ``a.test``; ``0x7f.1`` and ``[::ffff:7f00:1]`` are ``127.0.0.1``. More than one colon outside
    brackets makes an IPv6 address, so ``::1:80`` has no port. Texts with equal results are the same host. A text
    of more than 1024 code points is no host. Raises nothing for any string.
    """
    return Host(text, None) if _is_plain(text) else _normalise_any(text)


def is_host(value: object) -> bool:
    """Whether `value` is a string that `normalise_host` accepts; False for anything that is not a string."""
    return isinstance(value, str) and (_is_plain(value) is not None or _normalise_any(value) is not None)


def format_host(host: Host) -> str:
    """Writes `host` so that `normalise_host` reads it back; an IPv6 address with a port gets brackets."""
    if host.port is None:
        return host.name
    return f"[{host.name}]:{host.port}" if ":" in host.name else f"{host.name}:{host.port}"


def _normalise_any(text: str) -> Host | None:
    """What `normalise_host` does with everything but the plain names."""
    if len(text) > _LONGEST_TEXT:
        return None
    if text.count(":") > 1 and not text.startswith("["):
        address = _ipv6(text)
        return None if address is None else Host(address, None)
    bracketed = text.startswith("[")
    parts = (_BRACKETED_AND_PORT if bracketed else _NAME_AND_PORT).fullmatch(text)
    if parts is None:
        return None
    name = _ipv6(parts[1]) if bracketed else _domain_or_ipv4(parts[1])
    return None if name is None else _with_port(name, parts[2])


def _with_port(name: str, digits: str | None) -> Host | None:
    """The host, or None where the port is too high."""
    port = None if digits is None else int(digits)
    return Host(name, port) if port is None or port <= _HIGHEST_PORT else None


def _ipv6(text: str) -> str | None:
    """The address that `text` spells, or None. There is no zone in what this accepts."""
    if _IPV6.fullmatch(text) is None:
        return None
    import ipaddress

    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped
    return str(address if mapped is None else mapped)


def _domain_or_ipv4(text: str) -> str | None:
    """The domain name or IPv4 address that `text` spells, or None."""
    try:
        labels = _to_ascii(text)
    except UnicodeError:
        return None
    # Whoever connects reads a name that ends in a number as an address, so it is an address or no host.
    return _ipv4(labels) if _LOOKS_NUMERIC.fullmatch(labels[-1]) else ".".join(labels)


def _ipv4(labels: list[str]) -> str | None:
    """The address of one to four numbers, the last of which fills the octets that are left; or None."""
    numbers = []
    for label in labels:
        found = _NUMBER.fullmatch(label)
        if found is None:
            return None
        hexadecimal, octal, decimal = found.groups()
        if hexadecimal is not None:
            numbers.append(int(hexadecimal or "0", 16))
        else:
            numbers.append(int(decimal) if octal is None else int(octal, 8))
    *octets, rest = numbers
    missing = 4 - len(octets)
    if missing < 1 or rest >= 256**missing or any(octet > 255 for octet in octets):
        return None
    return ".".join(map(str, [*octets, *rest.to_bytes(missing, "big")]))


def _to_ascii(text: str) -> list[str]:
    """The labels of a domain name in ASCII; raises UnicodeError where `text` is no domain name.

    This is ToASCII of UTS 46, non-transitional, with CheckBidi and VerifyDnsLength, and with three limits of our own:
    ASCII is that of host names, hyphens begin and end no label, and code points that the mapping drops refuse.
    """
    mapped = text.lower() if text.isascii() else _mapped(text)
    # Measured before Punycode, whose cost grows with the square of the length, and again after it.
    labels = _measured(mapped.removesuffix(".").split("."))
    labels = [_decoded(label) if label.startswith("xn--") else label for label in labels]
    if not all(re.fullmatch(_LABEL, label) for label in labels):
        raise UnicodeError("a label that host names do not have")
    if not "".join(labels).isascii():
        _check_validity(labels)
    return _measured([_encoded(label) for label in labels])


def _measured(labels: list[str]) -> list[str]:
    """`labels`; raises UnicodeError where one, or the name they make, is too long."""
    if len(".".join(labels)) > _LONGEST_NAME or any(len(label) > _LONGEST_LABEL for label in labels):
        raise UnicodeError("a label of more than 63 octets or a name of more than 253")
    return labels


def _mapped(text: str) -> str:
    """`text` as UTS 46 maps it; raises UnicodeError for a code point that is disallowed or would be dropped."""
    import unicodedata

    from idna import uts46_remap

    pieces = [uts46_remap(character, std3_rules=False) for character in text]
    if not all(pieces):
        raise UnicodeError("a code point that the mapping would drop")
    return unicodedata.normalize("NFC", "".join(pieces))


def _encoded(label: str) -> str:
    """`label` in ASCII: as it is or in Punycode."""
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


def _decoded(label: str) -> str:
    """The Unicode label that the ASCII label `label` stands for; raises UnicodeError where there is none.

    Python's decoder is lenient, so a label must be what its result encodes to. That leaves no second spelling of
    another label, and no Punycode for plain ASCII.
    """
    decoded = label.removeprefix("xn--").encode("ascii").decode("punycode")
    if _encoded(decoded) != label:
        raise UnicodeError("a label that is not canonical Punycode")
    return decoded


def _check_validity(labels: list[str]) -> None:
    """Raises UnicodeError unless `labels`, mapped and decoded, are valid by UTS 46 section 4.1."""
    import unicodedata

    from idna import check_bidi, check_initial_combiner, uts46_remap

    # The Bidi rule is one for the whole name: a right-to-left label binds its neighbours too.
    right_to_left = any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in "".join(labels))
    for label in labels:
        if uts46_remap(label, std3_rules=False) != label:
            raise UnicodeError("a label that was not mapped before it was encoded")
        check_initial_combiner(label)
        # This also raises for a code point newer than this Python's tables, whose normal form it cannot know.
        check_bidi(label, check_ltr=right_to_left)
