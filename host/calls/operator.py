"""What the operator allows beyond the bounds of an extension: the part ``host`` of ``capgate.yaml``.

host:
  header_variables: [BUOY_KEY]             # environment variables that headers may be filled from
  metadata_addresses: ["169.254.169.254"]  # link-local and metadata addresses that bounds.hosts may name
  nat64_prefixes: ["64:ff9b::/96"]         # of an IPv6-only network
  most_bytes: 1048576                      # of one answer, decompressed
  ca_file: /etc/ssl/own.pem                # certificates to trust in place of the usual ones
  audit_bytes: 16777216                    # of one file of the audit
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from capgate.host.mediation.addresses import read_nat64_prefix
from capgate.host.mediation.audit_files import ROTATE_AT
from capgate.plugins.config import Config, ConfigError
from capgate.policy.errors import PolicyInvalid

__all__ = ["MOST_BYTES", "Operator", "read_operator"]

#: The most bytes of an answer, unless the operator says otherwise (contract 11.15).
MOST_BYTES: Final = 1024 * 1024
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LARGEST: Final = 1 << 30
_SMALLEST_AUDIT: Final = 4096


class Operator(NamedTuple):
    """What the operator allows; by default nothing.

    Attributes:
        header_variables: environment variables that a descriptor's headers may name (contract 11.9).
        metadata_addresses: link-local and cloud metadata addresses that bounds may name (contract 11.14).
        nat64_prefixes: IPv6 prefixes in which IPv4 addresses are wrapped (contract 11.33).
        most_bytes: the most bytes of one answer.
        ca_file: certificates to trust in place of the usual ones; None for those.
        audit_bytes: the size at which a file of the audit is full.
    """

    header_variables: frozenset[str] = frozenset()
    metadata_addresses: frozenset[str] = frozenset()
    nat64_prefixes: tuple[str, ...] = ()
    most_bytes: int = MOST_BYTES
    ca_file: str | None = None
    audit_bytes: int = ROTATE_AT


def read_operator(config: Config | None) -> Operator:
    """What the config says.

    Raises:
        PolicyInvalid: with every mistake in it, and its place.
    """
    if config is None or config.host is None:
        return Operator()
    section = config.host
    problems: list[ConfigError] = []

    def items(key: str, is_one: Callable[[str], bool], expected: str) -> tuple[str, ...]:
        found = section.data.get(key, [])
        if type(found) is not list:
            problems.append(section.wrong((key,), f"expected a list of {expected}"))
            return ()
        for index, item in enumerate(found):
            if type(item) is not str or not is_one(item):
                problems.append(section.wrong((key, index), f"expected {expected}"))
        return tuple(item for item in found if type(item) is str)

    def size(key: str, least: int, default: int) -> int:
        found: Any = section.data.get(key, default)
        if type(found) is int and least <= found <= _LARGEST:
            return found
        problems.append(section.wrong((key,), f"expected a whole number of bytes from {least} to {_LARGEST}"))
        return default

    def file(key: str) -> str | None:
        found: Any = section.data.get(key)
        if found is None and key not in section.data:
            return None
        if type(found) is str and os.path.isabs(found) and os.path.isfile(found):
            return found
        problems.append(section.wrong((key,), "expected the absolute path of a file that is there"))
        return None

    for key in section.data:
        if key not in Operator._fields:
            problems.append(section.unknown((key,), f"unknown key '{key}'; known are {', '.join(Operator._fields)}"))
    made = Operator(
        frozenset(items("header_variables", _is_variable, "names of environment variables")),
        frozenset(items("metadata_addresses", _is_address, "IP addresses")),
        items("nat64_prefixes", _is_prefix, "IPv6 prefixes such as '64:ff9b::/96'"),
        size("most_bytes", 1, MOST_BYTES),
        file("ca_file"),
        size("audit_bytes", _SMALLEST_AUDIT, ROTATE_AT),
    )
    if problems:
        raise PolicyInvalid(problems)
    return made


def _is_variable(text: str) -> bool:
    return _VARIABLE.fullmatch(text) is not None


def _is_address(text: str) -> bool:
    import ipaddress

    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_prefix(text: str) -> bool:
    return read_nat64_prefix(text) is not None
