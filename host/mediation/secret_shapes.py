"""What in a text looks like a secret: values under the names of secrets, and tokens that are known by their form.

Every search is linear in the length of the text: runs are taken whole and not given back (possessive
repeats), and begin only where no such run goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from capgate.host.mediation.secret_names import is_secret_name, words_of

__all__ = ["Range", "secret_forms", "secret_values"]

#: From where to where in a text.
Range = tuple[int, int]

_NAMED: Final = re.compile(
    r"""(?<![\w.\-])(?P<name>[\w.\-]++)
        (?:(?P<close>["'`\]]{0,2})[ \t]{0,8}(?P<sep>=>|:=|==|[:=])(?:\s{0,8}(?=["'`])|[ \t]{0,8})
        |(?<=[\w.\-])[ \t]{1,8}(?=[^\s\-:=]))""",
    re.VERBOSE,
)
#: The rest of a line, which may end in an escape.
_LINE: Final = re.compile(r"(?:[^\r\n\\]|\\(?![rn]))*+")
_TO_QUOTE: Final = {
    '"': re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]++|\\.)*+", re.DOTALL),
    "`": re.compile(r"(?:[^`\\]++|\\.)*+", re.DOTALL),
}
_NESTED: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
#: A value without quotes, with the scheme that stands before it in a header.
_BARE: Final = re.compile(
    r"""(?:(?i:bearer|basic|digest|negotiate|token|apikey)[ \t+]{1,8})?+
        (?:[^\s&;"'`}\],\\]|,(?!\s|[\w.\-]++=|\Z)|\\(?!["'`]))*+""",
    re.VERBOSE,
)
_SCHEME: Final = re.compile(
    r"(?<![A-Za-z0-9])(?i:bearer|basic)[ \t+]{1,8}(?!(?i:authenticat|authoriz))([A-Za-z0-9._~+/=\-]{8,}+)"
)
_AUTHORITY: Final = re.compile(r"(?<=//)[^\s/?#\"'<>\\`]++")
#: A password with a slash in it: no URL by the rules, but people write it.
_ODD_AUTHORITY: Final = re.compile(r"[^\s\"'<>`]{0,256}")
_PEM: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----")
_TOKEN: Final = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        sk-(?:ant-|proj-|live-|test-)?[A-Za-z0-9_\-]{6,}
        |[sr]k_(?:live|test)_[A-Za-z0-9]{16,}
        |AIza[A-Za-z0-9_\-]{6,}
        |ya29\.[A-Za-z0-9_\-]{20,}
        |glpat-[A-Za-z0-9_\-]{20,}
        |npm_[A-Za-z0-9]{36,}
        |(?:A3T[A-Z0-9]|ABIA|ACCA|AGPA|AIDA|AIPA|AKIA|ANPA|ANVA|APKA|AROA|ASCA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])
        |gh[opsur]_[A-Za-z0-9]{36,}
        |github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59,}
        |xox[abeoprs]-[0-9]+-[0-9]+[A-Za-z0-9\-]*
        )""",
    re.VERBOSE,
)
#: Three parts; the first may go on from something before it.
_THREE: Final = re.compile(r"(?<![A-Za-z0-9_\-])([A-Za-z0-9_\-]++)\.ey[A-Za-z0-9_\-]{8,}+\.[A-Za-z0-9_\-]{10,}+")
_HEAD: Final = re.compile(r"(?<![A-Za-z0-9])ey[A-Za-z0-9_\-]{8,}+")
_WHOLE_LINE: Final = (["authorization"], ["cookie"])


def secret_forms(text: str) -> Iterator[Range]:
    """Where in `text` something stands that is a secret by its own form: keys, tokens, userinfo with a password.

    Ranges may overlap, and have no order.
    """
    yield from _keys(text)
    yield from _userinfo(text)
    for match in _TOKEN.finditer(text):
        yield match.span()
    for match in _THREE.finditer(text):
        head = _HEAD.search(text, match.start(), match.end(1))
        if head:
            yield head.start(), match.end()


def secret_values(text: str) -> Iterator[Range]:
    """Where in `text` values stand that are secrets by what stands before them: a name, Bearer, Basic."""
    position = 0
    while match := _NAMED.search(text, position):
        position = match.end()
        name = match["name"]
        # Names and values may stand apart only as options do: --token abc.
        if (match["sep"] is None and not name.startswith("--")) or not is_secret_name(name):
            continue
        start, end = _value(text, match)
        if end > start:
            yield start, end
        position = max(position, end)
    for match in _SCHEME.finditer(text):
        yield match.span(1)


def _value(text: str, name: re.Match[str]) -> Range:
    start = name.end()
    if not name["close"] and name["sep"] == ":" and words_of(name["name"])[-1:] in _WHOLE_LINE:
        return start, _end(_LINE, text, start)
    first = text[start : start + 1]
    if first in "bBuUrR" and text[start + 1 : start + 2] in ('"', "'"):
        start, first = start + 1, text[start + 1]
    if first in _TO_QUOTE:
        return start + 1, _end(_TO_QUOTE[first], text, start + 1)
    if first in ("{", "["):
        return start, _nested_end(text, start)
    return start, _end(_BARE, text, start)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


def _nested_end(text: str, start: int) -> int:
    depth = 0
    for match in _NESTED.finditer(text, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)


def _keys(text: str) -> Iterator[Range]:
    position = 0
    while begin := _PEM.search(text, position):
        end = _PEM_END.search(text, begin.end())
        position = end.end() if end else len(text)
        yield begin.start(), position


def _userinfo(text: str) -> Iterator[Range]:
    for match in _AUTHORITY.finditer(text):
        authority = match[0]
        if "@" not in authority:
            port = authority.rpartition(":")[2]
            if ":" not in authority or port.isdigit() or authority[0] == "[":
                continue
            odd = _ODD_AUTHORITY.match(text, match.start())
            authority = odd[0] if odd else ""
        user, _, _ = authority.rpartition("@")
        if ":" in user:
            yield match.start(), match.start() + len(user)
