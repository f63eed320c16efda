"""What patterns, literals and lengths say of a text, as finite automata over one alphabet.

An alphabet has one letter for all characters that none of the languages tells apart, so that it is small.
An automaton works out its states as they are first reached, and counts the work that this takes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase, digits, punctuation
from typing import Any, Final, Literal, NamedTuple, TypeAlias

__all__ = ["Alphabet", "Automaton", "Language", "sets_of"]

#: A set of characters: ranges of code points, both ends in it, in order and apart.
Ranges: TypeAlias = "tuple[tuple[int, int], ...]"
#: A part of a parsed pattern: the name of its kind, and what belongs to it.
Node: TypeAlias = "tuple[str, Any]"

_LAST: Final = 0x10FFFF
#: Half characters: no text of a document has one.
_HALVES: Final = (0xD800, 0xDFFF)
_EVERY: Final[Ranges] = ((0, _LAST),)
_WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_CATEGORIES: Final[dict[str, Ranges]] = {
    "DIGIT": ((0x30, 0x39),),
    "WORD": _WORD,
    # Patterns with this one are always RE2's, which does not count the vertical tab.
    "SPACE": ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)),
}
#: What is nicest to read stands for all that is not told from it.
_NICE: Final = ascii_lowercase + digits + ascii_uppercase + "_-./:@ " + punctuation
#: So many code points of a range are looked at for one that can be seen.
_LOOK: Final = 256


class Language(NamedTuple):
    """A set of texts.

    Attributes:
        kind: ``pattern``: what a pattern of the rule language matches; ``texts``: some texts; ``length``: all of at
            least so many characters.
        operand: the pattern, the texts, the number.
    """

    kind: Literal["pattern", "texts", "length"]
    operand: str | tuple[str, ...] | int

    def tree(self) -> list[Node]:
        """The language as a parsed pattern."""
        if isinstance(self.operand, int):
            return [("MAX_REPEAT", (self.operand, None, [("EVERY", None)]))]
        if isinstance(self.operand, str):
            return _plain(re._parser.parse(self.operand, re.ASCII))  # type: ignore[attr-defined]
        return [("BRANCH", (None, [[("LITERAL", ord(mark)) for mark in text] for text in self.operand]))]


def _plain(tree: Any) -> list[Node]:
    """A tree of the parser with the names of its kinds, and None for a repeat without end."""
    made: list[Node] = []
    for kind, value in tree:
        name = str(kind)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, inner = value
            endless = high == re._constants.MAXREPEAT  # type: ignore[attr-defined]
            made.append(("MAX_REPEAT", (int(low), None if endless else int(high), _plain(inner))))
        elif name == "SUBPATTERN":
            made.append((name, _plain(value[-1])))
        elif name == "BRANCH":
            made.append((name, (None, [_plain(branch) for branch in value[1]])))
        elif name == "IN":
            made.append((name, [(str(part), inner) for part, inner in value]))
        else:
            made.append((name, value))
    return made


def sets_of(tree: Sequence[Node]) -> Iterator[Ranges]:
    """Every set of characters that a parsed pattern names."""
    for name, value in tree:
        if name == "MAX_REPEAT":
            yield from sets_of(value[2])
        elif name == "SUBPATTERN":
            yield from sets_of(value)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from sets_of(branch)
        elif name != "AT":
            yield ranges(name, value)


def ranges(name: str, value: Any) -> Ranges:
    """The characters that one part of a pattern stands for."""
    if name == "EVERY":
        return _EVERY
    if name == "ANY":
        return _others([(0x0A, 0x0A)])
    if name == "NOT_LITERAL":
        return _others([(value, value)])
    if name == "LITERAL":
        return ((value, value),)
    if name == "RANGE":
        return ((value[0], value[1]),)
    if name == "CATEGORY":
        word = str(value).removeprefix("CATEGORY_")
        return _others(_CATEGORIES[word[4:]]) if word.startswith("NOT_") else _CATEGORIES[word]
    negated = value[0][0] == "NEGATE"
    within = [one for part, inner in value[negated:] for one in ranges(part, inner)]
    outside = _others(within)
    return outside if negated else _others(outside)


def _others(within: Iterable[tuple[int, int]]) -> Ranges:
    """The characters that are in none of some ranges."""
    made: list[tuple[int, int]] = []
    reached = 0
    for low, high in sorted(within):
        if low > reached:
            made.append((reached, low - 1))
        reached = max(reached, high + 1)
    return (*made, (reached, _LAST)) if reached <= _LAST else tuple(made)


class Alphabet:
    """One letter for all characters that are in the same of some sets.

    Args:
        sets: the sets.

    Attributes:
        letters: for each letter a character that stands for it, the nicest first.
        words: the letters that are characters of words, which word boundaries depend on.
    """

    def __init__(self, sets: Iterable[Ranges]):
        named = list(dict.fromkeys((_WORD, *sets)))
        ends = {edge for within in named for low, high in within for edge in (low, high + 1)}
        cuts = sorted(ends | {0, _HALVES[0], _HALVES[1] + 1, _LAST + 1})
        starts = {cut: number for number, cut in enumerate(cuts)}
        inside: list[list[int]] = [[] for _ in cuts[:-1]]
        for place, within in enumerate(named):
            for low, high in within:
                for number in range(starts[low], starts[high + 1]):
                    inside[number].append(place)
        found: dict[tuple[int, ...], str] = {}
        for mark in _NICE:
            found.setdefault(tuple(inside[bisect_right(cuts, ord(mark)) - 1]), mark)
        for number, (low, end) in enumerate(pairwise(cuts)):
            if low != _HALVES[0]:
                seen = (chr(point) for point in range(low, min(end, low + _LOOK)) if chr(point).isprintable())
                found.setdefault(tuple(inside[number]), next(seen, chr(low)))
        self.letters = list(found.values())
        self._of: dict[Ranges, set[int]] = {within: set() for within in named}
        for letter, places in enumerate(found):
            for place in places:
                self._of[named[place]].add(letter)
        self.words = self._of[_WORD]

    def of(self, within: Ranges) -> set[int]:
        """The letters of a set."""
        return self._of[within]


#: What stands beside a place in a text: nothing that counts, an end of the text, a character of a word, another one.
_ANYTHING, _END, _IN_WORD, _OTHER = range(4)
#: A node: the letters it takes and what follows; or a mark such as ``^`` and what follows; or what follows, at once.
_Step: TypeAlias = "tuple[set[int] | str | None, list[int]]"


class Automaton:
    """Reads texts letter by letter.

    Args:
        tree: the language, as a parsed pattern.
        alphabet: made of the sets of this language and maybe others.

    Attributes:
        work: how many steps were taken so far to find out states.
    """

    #: The state before anything was read.
    START: Final = 0

    def __init__(self, tree: Sequence[Node], alphabet: Alphabet):
        self.work = 0
        self._alphabet = alphabet
        self._steps: list[_Step] = [(None, [])]  # the first one is the end of the language
        self._marked = False
        first = self._sequence(tree, 0)
        before = _END if self._marked else _ANYTHING
        self._states: list[tuple[frozenset[int], int]] = [(frozenset([first]), before)]
        self._numbers = {self._states[0]: self.START}
        self._next: dict[tuple[int, int], int] = {}
        self._near: dict[tuple[int, int], set[int]] = {}

    def step(self, state: int, letter: int) -> int:
        """The state after one more letter."""
        found = self._next.get((state, letter))
        if found is None:
            found = self._next[state, letter] = self._reached(state, letter)
        return found

    def accepts(self, state: int) -> bool:
        """Whether what was read so far is in the language."""
        return 0 in self._around(state, _END if self._marked else _ANYTHING)

    def _reached(self, state: int, letter: int) -> int:
        beside = _ANYTHING
        if self._marked:
            beside = _IN_WORD if letter in self._alphabet.words else _OTHER
        around = self._around(state, beside)
        self.work += len(around)
        reached: set[int] = set()
        for number in around:
            taken, after = self._steps[number]
            if isinstance(taken, set) and letter in taken:
                reached.update(after)
        key = (frozenset(reached), beside)
        if key not in self._numbers:
            self._numbers[key] = len(self._states)
            self._states.append(key)
        return self._numbers[key]

    def _around(self, state: int, beside: int) -> set[int]:
        """The nodes that can be reached without a letter, where `beside` is what comes next."""
        if (state, beside) in self._near:
            return self._near[state, beside]
        nodes, before = self._states[state]
        found = set(nodes)
        todo = list(nodes)
        while todo:
            taken, after = self._steps[todo.pop()]
            if taken is None or (isinstance(taken, str) and _stands(taken, before, beside)):
                todo += [number for number in after if number not in found]
                found.update(after)
        self.work += len(found)
        self._near[state, beside] = found
        return found

    def _sequence(self, tree: Sequence[Node], after: int) -> int:
        for name, value in reversed(tree):
            after = self._node(name, value, after)
        return after

    def _node(self, name: str, value: Any, after: int) -> int:
        if name == "SUBPATTERN":
            return self._sequence(value, after)
        if name == "BRANCH":
            return self._add(None, [self._sequence(branch, after) for branch in value[1]])
        if name == "AT":
            self._marked = True
            return self._add(str(value), [after])
        if name != "MAX_REPEAT":
            return self._add(self._alphabet.of(ranges(name, value)), [after])
        low, high, inner = value
        first = after
        if high is None:
            first = self._add(None, [])
            self._steps[first][1].extend([self._sequence(inner, first), after])
        else:
            for _ in range(high - low):
                first = self._add(None, [self._sequence(inner, first), after])
        for _ in range(low):
            first = self._sequence(inner, first)
        return first

    def _add(self, taken: set[int] | str | None, after: list[int]) -> int:
        self._steps.append((taken, after))
        return len(self._steps) - 1


def _stands(mark: str, before: int, beside: int) -> bool:
    """Whether a mark holds between what was read last and what comes next."""
    if mark == "AT_BEGINNING":
        return before == _END
    if mark == "AT_END":
        return beside == _END
    return ((before == _IN_WORD) is not (beside == _IN_WORD)) is (mark == "AT_BOUNDARY")
