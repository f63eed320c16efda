"""What rules ask of one place of a descriptor, and the values there between which that changes its answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.destinations import ALL, host_text, hosts_like, named_hosts, pairs, ports_near, seen
from capgate.policy.authoring.domains import Domain
from capgate.policy.authoring.lengths import LONGEST, fits_long, is_overlong, is_short
from capgate.policy.authoring.possible import judged, tried_values
from capgate.policy.authoring.seeds import texts_of
from capgate.policy.authoring.text_checks import TextChecks, Told
from capgate.policy.authoring.truth import Truth
from capgate.policy.conditions import Check, Each
from capgate.policy.documents import canonical
from capgate.policy.operators import ABSENT
from capgate.policy.patterns import Pattern

__all__ = ["Asked", "Place", "unique", "values_near"]

#: So many hosts with ports are tried.
_PAIRS: Final = 1024
#: A port that nothing is known of.
_PORT: Final = 443
_NAMES: Final = ("a.test", "::1")


class Asked(NamedTuple):
    """An operator, its operand or the value of the fact that it is, and what of the value it is asked of.

    Attributes:
        check: the operator.
        operand: what it compares with.
        part: None for the value as it stands; else what of hosts, see `seen`.
    """

    check: Check
    operand: Any
    part: str | None = None

    def answer(self, value: Any) -> Truth:
        """What the operator says of a value."""
        return judged(self.check, self.operand, value if self.part is None else seen(value, self.part))

    def values(self) -> list[Any]:
        """The values that bring out every answer, written as they stand in a descriptor."""
        values = values_near(self.check, self.operand)
        return values if self.part is None else [hosts_like(value) for value in values]


@dataclass(slots=True)
class Place:
    """What any rule asks of one place, and of the items of the list there.

    Attributes:
        domain: what can stand there.
        checks: what is asked of the place, and `item_checks` of an item.
        items: values that are worth trying as items, where something tells them apart.
        kept: the same, whether or not anything does; `apart` for the place itself.
        names: of hosts the names that rules compare with, and `ports` the ports with those beside each.
        texts: what is asked of a text there, and `item_texts` of one in the list.
        item_domain: what can be an item, where that is known.
    """

    domain: Domain
    checks: list[Asked] = field(default_factory=list)
    item_checks: list[Asked] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    apart: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    texts: TextChecks = field(default_factory=TextChecks)
    item_texts: TextChecks = field(default_factory=TextChecks)
    item_domain: Domain | None = None

    def ask(self, asked: Asked, *, changed: bool) -> None:
        """Notes what is asked of the place; `changed` where that is what differs."""
        self.checks.append(asked)
        if asked.part == ALL:
            self._note_hosts(asked)
            return
        self.texts.ask(asked.check, asked.operand, changed=changed)
        for part in asked.operand.checks if isinstance(asked.operand, Each) else ():
            self.item_texts.ask(part, part.operand, changed=changed)

    def ask_item(self, asked: Asked, domain: Domain, *, changed: bool) -> None:
        """Notes what is asked of an item, or of a part of the host that it is."""
        self.item_checks.append(asked)
        if asked.part is None:
            self.item_domain = domain
        if asked.part in (None, "name"):
            self.item_texts.ask(asked.check, asked.operand, changed=changed, host=asked.part is not None)
            self.items += [value for value in asked.values() if domain.fits(value)]
        elif asked.part == "":
            self.items += [value for value in asked.values() if type(value) is str and seen(value, "")]
        if asked.part is not None:
            self._note_hosts(asked)

    def keep(self, value: Any, part: str | None) -> None:
        """Notes a value that is worth trying, though no operator with a literal tells it from others.

        Args:
            value: the value.
            part: None for the place itself, ``item``, or ``name`` and ``port`` of a host.
        """
        if part is None:
            self.apart += [value] if self.domain.fits(value) else []
        elif part == "item":
            self.kept += [value] if self.fits_item(value) else []
        else:
            text = host_text(value) if part == "name" else host_text(_NAMES[0], value)
            self.kept += [] if text is None else [text]

    def fits_item(self, value: Any) -> bool:
        """Whether a value can be an item."""
        return self.item_domain is None or self.item_domain.fits(value)

    def told(self) -> tuple[tuple[str, ...], tuple[str, ...], Told]:
        """Texts that bring out what is asked: of the place itself, of an item of the list there, and both."""
        own, item = self.texts.told(), self.item_texts.told()
        texts = tuple(text for text in own.texts if self.domain.fits(text))
        items = tuple(text for text in item.texts if self.fits_item(text))
        whole = own.whole and item.whole and len(texts) == len(own.texts) and len(items) == len(item.texts)
        return texts, items, Told((*texts, *items), own.patterns + item.patterns, whole, own.cut or item.cut)

    def plain(self) -> list[Any]:
        """The values that all that is asked tells apart: of those alike the smallest, of each type one."""
        texts, _, _ = self.told()
        tried = [*texts, *(value for asked in self.checks for value in asked.values())]
        return unique([*_classes([*self.domain.values(tried)], self.checks), *self.apart])

    def worthwhile(self) -> list[Any]:
        """What is worth having in a list: of what all checks answer alike one, and all that they name."""
        _, texts, _ = self.told()
        named, tried = list(self.kept), [*texts, *self.items]
        checks = list(self.item_checks)
        for asked in self.checks:
            check, operand, part = asked
            if isinstance(operand, Each):
                inner = [Asked(one, one.operand, None if part is None else "") for one in operand.checks]
                tried += [value for one in inner for value in one.values()]
                checks += inner
            elif check.operator in ("contains", "lacks") and operand is not ABSENT:
                named.append(operand if part is None else hosts_like(operand))
            elif check.operator in ("subset_of", "equals") and type(operand) is list:
                named += operand if part is None else hosts_like(operand)
        tried += islice(self._hosts(tried, checks), _PAIRS)
        return unique([*named, *_classes([value for value in tried if value is not ABSENT], checks)])

    def left_out(self) -> list[str]:
        """What is too much to be tried, in words."""
        *_, told = self.told()
        own = any(is_overlong(check, operand) for check, operand, _ in self.checks) and fits_long(self.domain.fits)
        item = any(is_overlong(check, operand) for check, operand, _ in self.item_checks) and fits_long(self.fits_item)
        made = [f"lengths over {LONGEST:,}"] if own or item or told.cut else []
        if len([*islice(self._hosts([*told.texts, *self.items], self.item_checks), _PAIRS + 1)]) > _PAIRS:
            made.append(f"hosts with ports over {_PAIRS:,} in number")
        return made

    def _note_hosts(self, asked: Asked) -> None:
        """Notes the names and the ports that an operator compares with."""
        if asked.part == "name":
            self.names += [value for value in values_near(asked.check, asked.operand) if type(value) is str]
        elif asked.part == "port":
            self.ports += [_PORT, *ports_near(values_near(asked.check, asked.operand))]
        for host in named_hosts(asked.operand):
            self.names += [name for name in [host.get("name")] if type(name) is str]
            self.ports += ports_near([host["port"]] if "port" in host else [])

    def _hosts(self, tried: Iterable[Any], checks: Sequence[Asked]) -> Iterable[str]:
        """Hosts with ports: each name that is asked for with each port; of those that are alike one."""
        if not self.ports:
            return ()
        named = [text for text in (*_NAMES, *self.names) if host_text(text)]
        more = [text for text in tried if type(text) is str and seen(text, "") and "port" not in seen(text, "")]
        names = _classes([*named, *more], checks)
        if any(one.part in ("", ALL) for one in (*checks, *self.checks)):
            # An operator that asks for both says nothing of one of them alone.
            return pairs(list(dict.fromkeys([*names, *named])), list(dict.fromkeys(self.ports)))
        asked = [one for one in checks if one.part == "port"]
        ports = {tuple(one.answer(f"a.test:{port}") for one in asked): port for port in reversed(self.ports)}
        return pairs(names, list(ports.values()))


def values_near(check: Check, operand: Any) -> list[Any]:
    """The values that bring out every answer of an operator, as far as they can be written and are not too long."""
    made: list[Any] = []
    if isinstance(operand, Pattern):
        for text in texts_of(operand):
            made += [text, text.upper(), f"x{text}", f"{text}x", f"{text}0", text[:-1]]
    return [value for value in (*made, *tried_values(check, operand, LONGEST)) if is_short(value)]


def unique(values: Sequence[Any]) -> list[Any]:
    """The values without those that are there already."""
    made: dict[bytes | None, Any] = {}
    for value in values:
        made.setdefault(None if value is ABSENT else canonical(value), value)
    return list(made.values())


def _classes(values: Sequence[Any], checks: Sequence[Asked]) -> list[Any]:
    """Of values that all checks answer alike the smallest; one of each type is kept."""
    found: dict[Any, Any] = {}
    for value in values:
        key = (type(value), value == {} if type(value) is dict else None, *(asked.answer(value) for asked in checks))
        if key not in found or _weight(value) < _weight(found[key]):
            found[key] = value
    return list(found.values())


def _weight(value: Any) -> int:
    return 0 if value is ABSENT else len(canonical(value))
