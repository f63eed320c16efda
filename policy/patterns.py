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
from itertools import accumulate
from typing import Any, NamedTuple

__all__ = ["Pattern", "PatternRefused", "compile_pattern"]

_ESCAPES = re.compile(r"\\(?:[dDwWsSbBnrtfv]|x[0-9A-Fa-f]{2}|[!-/:-@\[-`{-~])")
#: Compiled when it is first needed, as it takes a while.
_SURROGATES = "[\ud800-\udfff]"
_POSIX_CLASS = re.compile(r"\[:.*?:\]", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?[^\]]*\]")
#: What `re` reads and RE2 does not, or reads otherwise; looked for outside of classes and escapes.
_UNSHARED = (
    (re.compile(r"\(\?#"), "has a comment"),
    (re.compile(r"\(\?(?!:|P<|#)"), "sets a flag"),
    (re.compile(r"\(\?P<(?![A-Za-z0-9_]+>)"), "names a group other than by a to z, A to Z, 0 to 9 and _"),
    (re.compile(r"\{,[0-9]*\}"), "has a repeat without its least number, which RE2 takes for plain text"),
)
_LONGEST = 1000
_DEEPEST = 50
#: RE2 takes no repeat beyond this.
_MOST_REPEATS = 1000
#: What `re` tries again at every place where a repeat may end is no longer than this.
_LONGEST_REST = 64


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
    if not text.isascii() and re.search(_SURROGATES, text):
        raise PatternRefused("holds half a character")
    rest = _ESCAPES.sub("e", text)
    if "\\" in rest:
        raise PatternRefused("has an escape that RE2 and Python's re do not share")
    if _POSIX_CLASS.search(rest):
        raise PatternRefused("has a POSIX class, which Python's re does not know")
    bare = _CLASS.sub("c", rest)
    if max(accumulate((mark == "(") - (mark == ")") for mark in bare), default=0) > _DEEPEST:
        raise PatternRefused(f"nests groups deeper than {_DEEPEST} levels")
    parsed, compiled = _by_re(text)
    tree = list(_walk(parsed))
    if compiled.flags & ~re.ASCII or any(name == "SUBPATTERN" and (value[1] or value[2]) for name, value in tree):
        raise PatternRefused("sets a flag")
    odd = {name for name, _ in tree} - _SHARED
    if odd:
        raise PatternRefused(f"uses {', '.join(sorted(_WORDS.get(name, name.lower()) for name in odd))}")
    for unshared, what in _UNSHARED:
        if unshared.search(bare):
            raise PatternRefused(what)
    if ("LITERAL", _BACKSPACE) in tree and r"\b" in text:
        raise PatternRefused(r"has \b for a backspace, which RE2 does not know; write \x08")
    if any(_MOST_REPEATS < int(number) != _NO_END for low, high, _ in _repeats(tree) for number in (low, high)):
        raise PatternRefused(f"repeats something more than {_MOST_REPEATS} times")
    size = _size(parsed)
    if size > _MOST_STATES:
        raise PatternRefused(f"stands for more than {_MOST_STATES} characters when its repeats are written out")
    if _simple(parsed, tree):
        return Pattern(text, True, compiled.fullmatch)
    if size > _MOST_BY_RE2:
        what = f"stands for more than {_MOST_BY_RE2} characters when its repeats are written out"
        raise PatternRefused(f"leaves several choices, so RE2 has to run it, and {what}")
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
_BACKSPACE = 8
#: The most single characters that a pattern may stand for with its repeats written out.
_MOST_STATES = 4000
#: The same for one that RE2 runs: each may cost a step for each character of a text that was made for it. At this size
#: a text of 1 MiB takes some seconds.
_MOST_BY_RE2 = 1000
_NO_END = int(re._constants.MAXREPEAT)  # type: ignore[attr-defined]


def _by_re(text: str) -> tuple[Any, re.Pattern[str]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re._parser.parse(text, re.ASCII), re.compile(text, re.ASCII)  # type: ignore[attr-defined]
    except (re.error, OverflowError, RecursionError, ValueError, Warning) as error:
        raise PatternRefused(f"cannot be read: {error}") from None


def _walk(tree: Any) -> Iterator[tuple[str, Any]]:
    """Every node of a parsed pattern, by the name of its kind."""
    todo = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, re._parser.SubPattern):  # type: ignore[attr-defined]
            part = list(part)
        if isinstance(part, tuple) and part and isinstance(part[0], re._constants._NamedIntConstant):  # type: ignore[attr-defined]
            yield str(part[0]), part[1] if len(part) > 1 else None
        if isinstance(part, (list, tuple)):
            todo.extend(reversed(part))


def _repeats(tree: list[tuple[str, Any]]) -> list[tuple[int, int, Any]]:
    """Least number, most, and what is repeated, of every repeat."""
    return [value for name, value in tree if name in ("MAX_REPEAT", "MIN_REPEAT")]


def _size(parsed: Any) -> int:
    """How many single characters a pattern stands for with its repeats written out.

    RE2 takes time linear in the text, times this: a thousand optional letters seventy times over would
    be linear and never end.
    """
    size = 0
    for kind, value in parsed:
        name = str(kind)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, item = value
            size += _size(item) * max(1, low if int(high) == _NO_END else int(high))
        elif name == "BRANCH":
            size += sum(_size(branch) for branch in value[1])
        elif name == "SUBPATTERN":
            size += _size(value[3])
        else:
            size += 1
    return size


def _simple(parsed: Any, tree: list[tuple[str, Any]]) -> bool:
    r"""Whether `re` is certain to take time linear in the text, and to agree with RE2.

    At most one place leaves a choice, a repeat of one character or a list of alternatives: with two
    of them `re` may try every pair, with many every combination. The two disagree about the vertical
    tab in ``\s``, about ``\B`` in an empty text, and about ``$`` before a last newline.
    """
    repeats = _repeats(tree)
    if any(len(item) != 1 or str(item[0][0]) not in _SINGLE for _, _, item in repeats):
        return False
    if any("SPACE" in str(value) for name, value in tree if name == "CATEGORY"):
        return False
    anchors = [str(value) for name, value in tree if name == "AT"]
    if "AT_NON_BOUNDARY" in anchors:
        return False
    if "AT_END" in anchors[:-1] or ("AT_END" in anchors and str(parsed[-1][0]) != "AT"):
        return False
    varying = sum(1 for low, high, _ in repeats if low != high)
    choices = varying + sum(1 for name, _ in tree if name == "BRANCH")
    return choices == 0 or (choices == 1 and (not varying or parsed.getwidth()[0] <= _LONGEST_REST))


def _by_re2(text: str) -> Callable[[str], Any]:
    import re2  # type: ignore[import-untyped]  # only patterns that are not simple pay for it

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(text, options=options)
    except re2.error as error:
        said = error.args[0]
        said = said.decode(errors="replace") if isinstance(said, bytes) else said
        raise PatternRefused(f"cannot be read by RE2: {said}") from None

    def matches(value: str) -> Any:
        try:
            return compiled.fullmatch(value)
        except UnicodeEncodeError:  # half a surrogate pair is one odd character, to RE2 as to `re`
            return compiled.fullmatch(re.sub(_SURROGATES, "\ufffd", value))

    return matches
