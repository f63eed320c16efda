r"""Patterns that rules match text against: one meaning, and never a slow match.

Rule authors' patterns run on text that an attacker writes, so a match must take time linear in the
text. Python's `re` does so for simple patterns; all others go to RE2. Only what both read alike is
taken: no lookaround, no back-references, no flags; ``\\d \\w \\s \\b`` are ASCII.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

__all__ = ["Pattern", "PatternRefused", "compile_pattern"]

_ESCAPES = re.compile(r"\\(?:[dDwWsSbBnrtfv]|x[0-9A-Fa-f]{2}|[!-/:-@\[-`{-~])")
_LONGEST = 1000


class PatternRefused(Exception):
    """Why a pattern is not taken; reads as the end of a sentence that begins with the pattern."""


class Pattern(NamedTuple):
    """A compiled pattern.

    Attributes:
        text: as it was written.
        linear_by_re: whether Python's `re` runs it; RE2 does otherwise.
        matches: tells whether a whole string matches.
    """

    text: str
    linear_by_re: bool
    matches: Callable[[str], Any]


@lru_cache(maxsize=4096)
def compile_pattern(text: str) -> Pattern:
    """Compiles a pattern of the common subset.

    Raises:
        PatternRefused: it is no such pattern.
    """
    if len(text) > _LONGEST:
        raise PatternRefused(f"is longer than {_LONGEST} characters")
    rest = _ESCAPES.sub("", text)
    if "\\" in rest:
        raise PatternRefused("has an escape that RE2 and Python's re do not share")
    if "[:" in rest:
        raise PatternRefused("has a POSIX class, which Python's re does not know")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compiled = re.compile(text, re.ASCII)
            tree = list(_walk(re._parser.parse(text, re.ASCII)))  # type: ignore[attr-defined]
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise PatternRefused(f"cannot be read: {error}") from None
    if compiled.flags & ~re.ASCII or any(name == "SUBPATTERN" and (value[1] or value[2]) for name, value in tree):
        raise PatternRefused("sets a flag")
    odd = {name for name, _ in tree} - _SHARED
    if odd:
        raise PatternRefused(f"uses {', '.join(sorted(_WORDS.get(name, name.lower()) for name in odd))}")
    if _simple(tree):
        return Pattern(text, True, compiled.fullmatch)
    return Pattern(text, False, _by_re2(text))


_SHARED = frozenset(
    "LITERAL NOT_LITERAL ANY IN RANGE NEGATE CATEGORY BRANCH SUBPATTERN MAX_REPEAT MIN_REPEAT AT".split()
)
_WORDS = {
    "ASSERT": "lookaround",
    "ASSERT_NOT": "lookaround",
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a conditional group",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive repeat",
}
_SINGLE = frozenset({"LITERAL", "NOT_LITERAL", "ANY", "IN"})


def _walk(tree: Any) -> Iterator[tuple[str, Any]]:
    """Every node of a parsed pattern, by the name of its kind."""
    if isinstance(tree, re._parser.SubPattern):  # type: ignore[attr-defined]
        tree = list(tree)
    if isinstance(tree, tuple) and tree and isinstance(tree[0], re._constants._NamedIntConstant):  # type: ignore[attr-defined]
        yield str(tree[0]), tree[1] if len(tree) > 1 else None
    if isinstance(tree, (list, tuple)):
        for part in tree:
            yield from _walk(part)


def _simple(tree: list[tuple[str, Any]]) -> bool:
    r"""Whether `re` is certain to be linear: at most one repeat of varying length, of one character.

    ``\s`` goes to RE2 as well, since the two disagree about the vertical tab.
    """
    repeats = [value for name, value in tree if name in ("MAX_REPEAT", "MIN_REPEAT")]
    if any(str(value[2][0][0]) not in _SINGLE or len(value[2]) != 1 for value in repeats):
        return False
    if any("SPACE" in str(value) for name, value in tree if name == "CATEGORY"):
        return False
    return sum(1 for low, high, _ in repeats if low != high) <= 1


def _by_re2(text: str) -> Callable[[str], Any]:
    import re2  # type: ignore[import-untyped]  # only patterns that are not simple pay for it

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(text, options=options)
    except re2.error as error:
        raise PatternRefused(f"cannot be read by RE2: {error.args[0]!r}") from None

    def matches(value: str) -> Any:
        try:
            return compiled.fullmatch(value)
        except UnicodeEncodeError:  # half a surrogate pair is one odd character, to RE2 as to `re`
            return compiled.fullmatch(value.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    return matches
