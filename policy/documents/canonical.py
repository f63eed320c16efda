"""Canonical JSON (RFC 8785) and the digests taken over it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from capgate.policy.documents.errors import DocumentError
from capgate.policy.documents.numbers import MAX_INTEGER
from capgate.policy.paths import ROOT, Path, format_path

__all__ = ["MAX_DEPTH", "canonical", "digest"]

#: The deepest nesting of lists and objects that is written; the root is level 1.
MAX_DEPTH: Final = 128
#: The most values that are written; a document of 1 MiB has fewer. A value that holds another many times
#: over, or itself, could otherwise be walked for ever.
_MAX_VALUES: Final = 1_000_000
#: The most values that are looked at for whether the standard library can write them.
_MAX_SIMPLE: Final = 100_000


def canonical(value: Any) -> bytes:
    """Writes `value` as canonical JSON: sorted keys, no white space, one spelling a number.

    Taken are dict with string keys, list, str, int and float within 2^53, bool and None: what
    `load_json` makes, and nothing else. A tuple or a subclass is refused, since it would
    come back as something else.

    Raises:
        DocumentError: not-canonical, naming the path of what cannot be written; a value that holds
            itself, or lists and objects nested over 128 levels, included.
    """
    try:
        if _is_simple(value):
            return _write(value).encode()
        # Imported late: few values need it.
        import rfc8785

        return rfc8785.dumps(_plain(value, ROOT, count(1)))
    except RecursionError:
        raise DocumentError("not-canonical", "the value nests too deep to be written from here") from None


def digest(value: Any) -> str:
    """The SHA-256 of `value` written as canonical JSON, as ``sha256:`` and 64 hex digits.

    Raises:
        DocumentError: not-canonical, as for `canonical`.
    """
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


#: Writes what `_is_simple` passes as the library would, thirty times as fast.
_write: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False).encode


def _is_simple(value: Any) -> bool:
    """Whether the standard library writes `value` canonically: ASCII keys, no fractions, not deep and not large.

    Beyond ASCII keys may sort in another order; fractions are spelled in another way.
    """
    waiting = [value]
    depth, level_ends = 1, 1
    for done, part in enumerate(waiting):
        if done == level_ends:
            depth, level_ends = depth + 1, len(waiting)
            if depth > MAX_DEPTH:
                return False
        kind = type(part)
        if kind is dict:
            for key in part:
                if type(key) is not str or not key.isascii():
                    return False
            waiting.extend(part.values())
        elif kind is list:
            waiting.extend(part)
        elif kind is str:
            if not _is_unicode(part):
                return False
        elif kind is int:
            if not -MAX_INTEGER <= part <= MAX_INTEGER:
                return False
        elif kind is not bool and part is not None:
            return False
        if len(waiting) > _MAX_SIMPLE:
            return False
    return True


def _plain(value: Any, path: Path, written: Iterator[int]) -> Any:
    """A copy of `value` that the library writes without an error of its own."""
    kind = type(value)
    if next(written) > _MAX_VALUES:
        raise DocumentError("not-canonical", f"the value holds more than {_MAX_VALUES} values, or holds itself")
    if kind is dict or kind is list:
        if len(path) >= MAX_DEPTH:
            message = f"the value nests deeper than {MAX_DEPTH} levels, or holds itself"
            raise DocumentError("not-canonical", message)
        if kind is list:
            return [_plain(item, (*path, index), written) for index, item in enumerate(value)]
        return {_key(key, path): _plain(item, (*path, key), written) for key, item in value.items()}
    if kind is str:
        if not _is_unicode(value):
            raise _refusal(path, "a string with half a surrogate pair")
    elif kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise _refusal(path, f"an integer beyond {MAX_INTEGER}")
        # The library stops one short of 2^53, which a double holds exactly.
        return float(value) if abs(value) == MAX_INTEGER else value
    elif kind is float:
        if value - value != 0.0:
            raise _refusal(path, "a number that is not finite")
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise _refusal(path, f"a number beyond {MAX_INTEGER}")
    elif kind is not bool and value is not None:
        raise _refusal(path, f"a value of type {kind.__name__}")
    return value


def _key(key: Any, path: Path) -> str:
    if type(key) is not str:
        raise _refusal(path, f"an object with a key of type {type(key).__name__}")
    if not _is_unicode(key):
        raise _refusal(path, "an object with half a surrogate pair in a key")
    return key


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refusal(path: Path, what: str) -> DocumentError:
    shown = format_path(path).encode("utf-8", "backslashreplace").decode()
    return DocumentError("not-canonical", f"{shown} is {what}")
