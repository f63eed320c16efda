"""Texts that tell languages apart: for every way in which patterns, literals and lengths can answer, the shortest.

The automata of all languages read the same text at once. Their states together are walked from the start,
the shorter texts first, so that the first text that brings out an answer is a shortest one. When no state is
left, every way to answer was met. Where there are too many, some texts are known, and that they are not all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from capgate.policy.authoring.automata import Alphabet, Automaton, Language, sets_of
from capgate.policy.authoring.lengths import LONGEST

__all__ = ["Telling", "equivalent", "telling"]

#: What each language answers of one text.
Answers: TypeAlias = "tuple[bool, ...]"

#: So many steps are taken to walk all languages together, and so many for a few of them.
_WORK: Final = 300_000
_LESS: Final = 60_000
#: More ways to answer than this are not told apart.
_MOST: Final = 64
#: Beside those that changed, so many languages are looked at one by one.
_BESIDE: Final = 8


class Telling(NamedTuple):
    """Texts that tell languages apart.

    Attributes:
        texts: the texts, the shorter first.
        whole: whether there is one for each way in which the languages can answer.
        cut: whether one was left out because it is longer than `LONGEST`.
    """

    texts: tuple[str, ...]
    whole: bool
    cut: bool = False


class _Walk:
    """Walks languages together.

    Args:
        languages: the languages.
        work: about so many steps are taken.

    Attributes:
        whole: whether there is nothing more to be met.
    """

    def __init__(self, languages: Sequence[Language], work: int):
        trees = [language.tree() for language in languages]
        self._alphabet = Alphabet(one for tree in trees for one in sets_of(tree))
        self._automata = [Automaton(tree, self._alphabet) for tree in trees]
        self._work = work
        self.whole = False

    def met(self) -> Iterator[tuple[Answers, str]]:
        """Each way to answer, with a shortest text that brings it out."""
        automata, letters = self._automata, range(len(self._alphabet.letters))
        start = (Automaton.START,) * len(automata)
        came: dict[tuple[int, ...], tuple[tuple[int, ...], int] | None] = {start: None}
        todo = deque([start])
        found: set[Answers] = set()
        left = self._work
        while todo:
            states = todo.popleft()
            answers = tuple(one.accepts(state) for one, state in zip(automata, states, strict=True))
            if answers not in found:
                found.add(answers)
                yield answers, self._text(came, states)
                if len(found) == 2 ** len(automata):
                    break
            left -= len(automata) * len(letters)
            if left < sum(one.work for one in automata):
                return
            for letter in letters:
                reached = tuple(one.step(state, letter) for one, state in zip(automata, states, strict=True))
                if reached not in came:
                    came[reached] = (states, letter)
                    todo.append(reached)
        self.whole = True

    def _text(self, came: dict[tuple[int, ...], tuple[tuple[int, ...], int] | None], states: tuple[int, ...]) -> str:
        marks: list[str] = []
        step = came[states]
        while step:
            states, letter = step
            marks.append(self._alphabet.letters[letter])
            step = came[states]
        return "".join(reversed(marks))


@lru_cache(maxsize=1024)
def telling(changed: tuple[Language, ...], others: tuple[Language, ...]) -> Telling:
    """Texts that tell some languages apart: all of them where that is not too much, else the changed ones.

    Args:
        changed: the languages that have to be told apart.
        others: more languages; each is told at least from the changed ones, as far as they are few.
    """
    told = _texts([*changed, *others], _WORK)
    if told.whole:
        return told
    parts = [_texts(changed, _WORK) if changed and others else told]
    parts += [_texts([*changed, other], _LESS) for other in others[:_BESIDE]]
    # What only one of them takes may be long, and met by none of these walks.
    parts += [_texts([one], _LESS) for one in changed]
    found = {text for part in parts for text in part.texts}
    whole = tuple(sorted(found, key=lambda text: (len(text), text)))
    return Telling(whole, whole=False, cut=any(part.cut for part in parts))


@lru_cache(maxsize=1024)
def equivalent(one: Language, other: Language) -> bool:
    """Whether two languages are certain to have the same texts."""
    walk = _Walk([one, other], _WORK)
    return all(first is second for (first, second), _ in walk.met()) and walk.whole


def _texts(languages: Sequence[Language], work: int) -> Telling:
    walk = _Walk(languages, work)
    texts: list[str] = []
    for _, text in walk.met():
        if len(text) > LONGEST or len(texts) == _MOST:
            return Telling(tuple(texts), whole=False, cut=len(text) > LONGEST)
        texts.append(text)
    return Telling(tuple(texts), walk.whole)
