"""Takes secrets out of what is logged, audited and shown (contract 8, 11.30 and 11.31).

Masked are the values that are known to be secret, however they are spelt, and whatever looks like a secret
by its name or its form. What a text once shows to be a secret is masked all over that text.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import Any, Final, NamedTuple

from capgate.host.mediation.secret_names import is_secret_name, is_secret_variable
from capgate.host.mediation.secret_shapes import Range, secret_forms, secret_values
from capgate.host.mediation.spellings import readings
from capgate.policy.text import escape

__all__ = ["MASK", "SHORTEST", "Redactor"]

#: What stands in place of a secret.
MASK: Final = "[redacted]"
#: A known secret that is shorter is not looked for: it would be found in ordinary words.
SHORTEST: Final = 6
#: What only looked like a secret is looked for elsewhere if it is as long as this, and no ordinary word.
_SHORTEST_SEEN: Final = 8
_LONGEST_WORD: Final = 15
#: Of one text no more than so many are looked for elsewhere in it, so that the time stays linear.
_MOST_SEEN: Final = 32
#: What nests deeper is masked as a whole.
_DEEPEST: Final = 128


class _Form(NamedTuple):
    """A way in which a secret may be written.

    Attributes:
        text: what to look for.
        before: how many characters before it are part of it.
        after: how many after it.
    """

    text: str
    before: int = 0
    after: int = 0


class Redactor:
    """Knows secrets, and masks them and all that looks like one.

    It may be used from several threads, also while it learns. Texts that are masked already stay as they are.

    Args:
        environ: variables; those with names of secrets hold secrets.
        extra: further secrets.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, extra: Iterable[str] = ()):
        found = os.environ if environ is None else environ
        self._lock = Lock()
        self._known: dict[str, tuple[_Form, ...]] = {}
        for secret in (*(value for name, value in found.items() if is_secret_variable(name)), *extra):
            self.learn(secret)

    def learn(self, secret: str) -> None:
        """Masks `secret` from now on, as it is and as it may be encoded; nothing under 6 characters."""
        made = {spelt: _forms(spelt) for spelt in (secret, secret.strip()) if len(spelt) >= SHORTEST}
        # A new table each time: who masks meanwhile has the old or the new one.
        with self._lock:
            self._known = self._known | made

    def forget(self, secret: str) -> None:
        """Masks `secret` no longer, once it is worth nothing."""
        gone = (secret, secret.strip())
        with self._lock:
            self._known = {known: forms for known, forms in self._known.items() if known not in gone}

    def text(self, text: str) -> str:
        """`text` with every secret in it replaced by ``[redacted]``. Takes time linear in its length."""
        return self._masked(text, ())

    def value(self, value: Any) -> Any:
        """JSON data with every secret in it replaced: what stands under a secret's name wholly, texts as by `text`."""
        return self._value(value, _forms_of(_seen_in(value, 0)), 0)

    def _value(self, value: Any, seen: Sequence[_Form], depth: int) -> Any:
        if isinstance(value, str):
            return self._masked(value, seen)
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int):
            return MASK if str(value) in self._known else value
        if depth >= _DEEPEST:
            return MASK
        if isinstance(value, Mapping):
            secret = _secret_keys(value)
            return {
                self._masked(str(key), seen): MASK if key in secret else self._value(item, seen, depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._value(item, seen, depth + 1) for item in value]
        return self._masked(str(value), seen)

    def _masked(self, text: str, seen: Sequence[_Form]) -> str:
        views = readings(text)
        values = [list(secret_values(view.text)) for view in views]
        shown = (view.text[start:end] for view, ranges in zip(views, values, strict=True) for start, end in ranges)
        known = [form for forms in self._known.values() for form in forms]
        known += (*seen, *_forms_of(filter(_is_telling, shown)))
        found: list[Range] = []
        for view, ranges in zip(views, values, strict=True):
            ranges += secret_forms(view.text)
            ranges += (place for form in known for place in _places(view.text, form))
            found += ((view.place(start), view.place(end)) for start, end in ranges)
        return _mask(text, found) if found else text


def _mask(text: str, found: list[Range]) -> str:
    """`text` with a mask for each stretch of what was found."""
    found.sort()
    parts: list[str] = []
    position, masked = 0, -1
    for start, end in found:
        if start > masked:
            parts += (text[position:start], MASK)
        position = masked = max(masked, end)
    return "".join([*parts, text[position:]])


def _secret_keys(value: Mapping[Any, Any]) -> set[Any]:
    """The keys of `value` under which secrets stand; in pairs of a name and a value, the latter."""
    secret = {key for key in value if isinstance(key, str) and is_secret_name(key)}
    names = (value.get(key) for key in ("name", "header", "variable"))
    if any(isinstance(name, str) and is_secret_name(name) for name in names):
        secret.add("value")
    return secret


def _seen_in(value: Any, depth: int) -> Iterator[str]:
    """What JSON data shows to be secret by the names before it."""
    if isinstance(value, str):
        yield from filter(_is_telling, (value[start:end] for start, end in secret_values(value)))
    elif isinstance(value, Mapping) and depth < _DEEPEST:
        secret = _secret_keys(value)
        for key, item in value.items():
            if key in secret and isinstance(item, str) and _is_telling(item):
                yield item
            yield from _seen_in(item, depth + 1)
    elif isinstance(value, list | tuple) and depth < _DEEPEST:
        for item in value:
            yield from _seen_in(item, depth + 1)


def _is_telling(secret: str) -> bool:
    """Says whether what looks like a secret is to be looked for elsewhere: no ordinary word is."""
    is_word = secret.isalpha() and secret.islower() and len(secret) <= _LONGEST_WORD
    return len(secret) >= _SHORTEST_SEEN and not is_word and secret != MASK


def _forms_of(secrets: Iterable[str]) -> list[_Form]:
    some = dict.fromkeys(islice(secrets, _MOST_SEEN))
    return [form for secret in some for form in _forms(secret)]


def _forms(secret: str) -> tuple[_Form, ...]:
    """How a secret may be written, escapes apart, which are read before anything is looked for."""
    forms = {_Form(secret), _Form(secret.replace(" ", "+")), _Form(escape(secret))}
    data = secret.encode("utf-8", "surrogatepass")
    for lead in range(3):
        # In the middle of other data the first and the last character hold bits of their neighbours.
        encoded = b64encode(bytes(lead) + data).decode().rstrip("=")
        before, after = lead, int(bool((lead + len(data)) % 3))
        core = encoded[(0, 2, 3)[lead] : len(encoded) - after]
        forms |= {_Form(core, before and 1, after), _Form(core.translate(_URL_SAFE), before and 1, after)}
    return tuple(sorted(forms))


#: From the one base64 alphabet to the other.
_URL_SAFE: Final = str.maketrans("+/", "-_")


def _places(text: str, form: _Form) -> Iterator[Range]:
    position = text.find(form.text)
    while position >= 0:
        yield max(0, position - form.before), min(len(text), position + len(form.text) + form.after)
        position = text.find(form.text, position + 1)
