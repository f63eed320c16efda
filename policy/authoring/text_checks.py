"""What rules ask of the texts at one place, and texts that bring out what they can answer."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from capgate.policy.authoring.apart import telling
from capgate.policy.authoring.automata import Language
from capgate.policy.authoring.lengths import LONGEST
from capgate.policy.authoring.samples import variants
from capgate.policy.conditions import Check, Each, Fact
from capgate.policy.operators import ABSENT
from capgate.policy.patterns import Pattern

__all__ = ["NOTHING", "TextChecks", "Told"]

#: Every text, so nothing that tells texts apart.
_ALL: Final = Language("length", 0)
#: Not all that is a host, and nothing that is none: a text of each kind is worth having.
_NAMES: Final = r"(?:[a-z][a-z0-9]*\.)+[a-z]+"
_ADDRESSES: Final = r"1?[0-9](?:\.1?[0-9]){3}|\[::[0-9a-f]?\]"
_HOSTS: Final = Language("pattern", rf"(?:{_NAMES}|{_ADDRESSES})(?::[1-9][0-9]{{0,3}})?")


class Told(NamedTuple):
    """Texts that were chosen for a place.

    Attributes:
        texts: the texts.
        patterns: how many patterns they are for.
        whole: whether there is a text for each way in which all that is asked of the place can be answered.
        cut: whether one was left out because it is longer than `LONGEST`.
    """

    texts: tuple[str, ...]
    patterns: int
    whole: bool
    cut: bool = False


#: Where no pattern is asked.
NOTHING: Final = Told((), 0, whole=True)


class TextChecks:
    """The operators that are asked of the texts at a place."""

    def __init__(self) -> None:
        self._patterns: dict[str, Pattern] = {}
        self._languages: dict[bool, dict[Language, None]] = {True: {}, False: {}}
        self._whole = True

    def ask(self, check: Check, operand: Any, *, changed: bool, host: bool = False) -> None:
        """Notes an operator.

        Args:
            check: the operator.
            operand: its operand, or the value of the fact that it is.
            changed: whether it belongs to what is to be told apart first.
            host: whether it is not asked of the text, but of the host that the text is.
        """
        language = _language(check, operand)
        host = host or (check.operator == "type" and operand == "host")
        self._whole = self._whole and language is not None and not host
        for one in (language, _HOSTS if host else None):
            if one is not None and one != _ALL:
                self._languages[changed][one] = None
        if isinstance(operand, Pattern):
            self._patterns[operand.text] = operand

    def told(self) -> Told:
        """The texts; none where no pattern is asked."""
        if not self._patterns:
            return NOTHING
        changed, every = self._languages[True], self._languages[False]
        found = telling(tuple(changed), tuple(language for language in every if language not in changed))
        whole = found.whole and self._whole
        # What cannot be decided is at least sampled.
        more = () if whole else (text for pattern in self._patterns.values() for text in variants(pattern))
        return Told(tuple(dict.fromkeys((*found.texts, *more))), len(self._patterns), whole, found.cut)


def _language(check: Check, operand: Any) -> Language | None:
    """The texts of which an operator says the one thing, and of all others the other; None where that is not regular.

    Of all texts alike speaks what is for values of other types.
    """
    name = check.operator
    if check.added or (isinstance(check.operand, Fact) and check.operand.reference.term.origin != "constant"):
        return None
    if isinstance(operand, Pattern):
        return Language("pattern", operand.text)
    if isinstance(operand, Fact):
        return None  # under `each`, where nobody has looked it up
    if isinstance(operand, Each) or operand is ABSENT:
        return _ALL
    if name in ("equals", "in", "not_in"):
        items = operand if type(operand) is list and name != "equals" else [operand]
        texts = tuple(item for item in items if type(item) is str)
        # Literals of more characters, all in all, are not told apart.
        if sum(map(len, texts)) > LONGEST:
            return None
        return Language("texts", texts) if texts else _ALL
    if name in ("minlength", "maxlength") and type(operand) in (int, float):
        least = int(operand) + (name == "maxlength")
        return Language("length", least) if least <= LONGEST else None
    if name == "empty":
        return Language("length", 1)
    return _ALL
