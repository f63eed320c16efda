"""What a change of rules means: descriptors on which two sets of rules say something else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from capgate.policy.authoring.given import Gates, Given, read_given
from capgate.policy.authoring.judging import Judge
from capgate.policy.authoring.settle import Subject
from capgate.policy.authoring.space import Ask, Bounds, Space, plain_subjects, refused_subjects, size_of
from capgate.policy.operators import same
from capgate.policy.rulefile import Rule
from capgate.policy.ruleset import RuleSet

__all__ = ["Change", "Difference", "Sides", "changed_triggers", "compare", "search", "shrink"]

#: So many descriptors are looked at.
LIMIT: Final = 50_000
#: So many are looked at for one that is admitted.
_HELP: Final = 2_000
#: To make something smaller, descriptors of so many bytes are looked at, all in all.
_EFFORT: Final = 10_000_000
#: Of a list or an object with more parts than this, many are left out at once.
_MANY: Final = 16
_USUAL: Final = Given()

#: (old, new, subject) to whether the two differ in the way that is looked for.
Differs = Callable[[Judge, Judge, Subject], bool]


class Sides(NamedTuple):
    """Two sets of rules over one catalog."""

    old: Gates
    new: Gates


class Change(NamedTuple):
    """A descriptor that one side refuses and the other one admits, and nothing can be taken out of it.

    Attributes:
        subject: the descriptor.
        refused: ids of all rules that refuse it on the side that does, in order.
    """

    subject: Subject
    refused: tuple[str, ...]


class Difference(NamedTuple):
    """What was found.

    Attributes:
        loosened: refused by the old rules and admitted by the new ones; None where there is no such descriptor
            within the bounds.
        tightened: the other way round.
        bounds: what was looked at; None where nothing that can decide differs.
    """

    loosened: Change | None
    tightened: Change | None
    bounds: Bounds | None


def compare(sides: Sides, seeds: Iterable[Subject] = (), given: Given = _USUAL, limit: int = LIMIT) -> Difference:
    """Looks for descriptors that one side refuses and the other one admits.

    Args:
        sides: both.
        seeds: descriptors that are looked at first, besides the examples of all rules.
        given: what descriptors are judged against to begin with.
        limit: how many descriptors are looked at, at most.
    """
    asks = [*changed_triggers(sides.old, sides.new), *changed_triggers(sides.new, sides.old)]
    if not asks and _stages(sides.old.rules) == _stages(sides.new.rules):
        return Difference(None, None, None)
    every = [*seeds, *_examples(sides.old.rules), *_examples(sides.new.rules)]
    old, new = Judge(sides.old.rules, sides.old), Judge(sides.new.rules, sides.new)
    bases = [*plain_subjects(sides.old, given), *refused_subjects(asks)]
    admitted = [subject for side in sides for subject in _admitted(side, bases)]
    space = Space(sides, asks, every, [*bases, *admitted], limit)
    found: dict[bool, list[Subject]] = {True: [], False: []}
    reached: dict[bool, int] = {}
    for subject in space.subjects():
        # What changes fewer places has been looked at in whole; a smaller one is not to be had by changing more.
        if len(reached) == 2 and space.bounds.at_once > max(reached.values()):
            break
        before = old.decide(subject.descriptor, subject.given) is None
        after = new.decide(subject.descriptor, subject.given) is None
        if before is not after:
            found[after].append(subject)
            reached.setdefault(after, space.bounds.at_once)
    loosened = _change(found[True], old, new)
    tightened = _change(found[False], new, old)
    for change, refuses, admits in ((loosened, sides.old, sides.new), (tightened, sides.new, sides.old)):
        assert change is None or _confirmed(change.subject, refuses, admits), "the gates say otherwise"
    return Difference(loosened, tightened, space.bounds)


def search(
    sides: Sides, asks: Sequence[Ask], differs: Differs, seeds: Iterable[Subject], limit: int
) -> tuple[Subject | None, Bounds]:
    """The first descriptor in the space of some triggers on which the sides differ; None without one."""
    bases = [*plain_subjects(sides.old, _USUAL), *refused_subjects(asks)]
    space = Space(sides, asks, list(seeds), bases, limit)
    old, new = Judge(sides.old.rules, sides.old), Judge(sides.new.rules, sides.new)
    found = next((subject for subject in space.subjects() if differs(old, new, subject)), None)
    return found, space.bounds


def changed_triggers(one: Gates, other: Gates) -> list[Ask]:
    """The triggers of one side that the other side does not have as they are."""
    theirs = {text for rule in other.rules.rules.values() for text in _texts(rule, other.rules)}
    return [
        (one, rule, number)
        for rule in one.rules.rules.values()
        for number, text in enumerate(_texts(rule, one.rules))
        if text not in theirs
    ]


def shrink(subject: Subject, keeps: Callable[[Subject], bool]) -> Subject:
    """A smaller subject for which `keeps` still holds.

    Taking anything more out of it would end that, unless it is so large that not all could be tried.
    """
    left, smaller = _EFFORT, True
    while smaller:
        smaller = False
        size = size_of(subject)[0]
        for candidate in sorted(islice(_smaller(subject), left // size), key=size_of):
            left -= size
            if keeps(candidate):
                subject, smaller = candidate, True
                break
    return subject


def _admitted(gates: Gates, bases: Sequence[Subject]) -> Iterator[Subject]:
    """For each of some descriptors one near to it that is admitted, where what refuses it asks for more."""
    judge = Judge(gates.rules, gates)
    for base in bases:
        ids = {refusal.rule for refusal in judge.refusals(*base) if refusal.severity == "refuse"}
        rules = [rule for rule in gates.rules.rules.values() if rule.id in ids]
        asks = [(gates, rule, number) for rule in rules for number in range(len(rule.triggers))]
        if asks:
            subjects = Space([gates], asks, [], [base], _HELP).subjects()
            yield from islice((subject for subject in subjects if judge.decide(*subject) is None), 1)


def _change(found: Sequence[Subject], refuses: Judge, admits: Judge) -> Change | None:
    """The smallest of what one side refuses and the other one admits."""
    if not found:
        return None

    def keeps(subject: Subject) -> bool:
        return admits.decide(*subject) is None and refuses.decide(*subject) is not None

    least = shrink(min(found, key=size_of), keeps)
    refusals = refuses.refusals(*least)
    return Change(least, tuple(refusal.rule for refusal in refusals if refusal.severity == "refuse"))


def _confirmed(subject: Subject, refuses: Gates, admits: Gates) -> bool:
    """Whether the gates themselves say so."""
    descriptor, given = subject
    one, other = (
        gates.on(given).decide(descriptor, given.placement, frozenset(given.taken)) for gates in (refuses, admits)
    )
    return one is not None and other is None


def _texts(rule: Rule, rules: RuleSet) -> Iterator[str]:
    """What decides of each trigger, as text: its stage with the loop, its own loop, its condition."""
    loops = {stage.name: stage.loop for stage in rules.stages}
    for trigger, data in zip(rule.triggers, rule.document.data["triggers"], strict=True):
        outer = loops[trigger.stage]
        asked = (outer and (outer.variable, outer.over.text), data.get("for_each"), data["when"])
        yield repr((rule.severity, trigger.stage == "shape", asked))


def _stages(rules: RuleSet) -> list[str]:
    """The names of the stages that can stop others from being asked."""
    names = [stage.name for stage in rules.stages]
    return names[: names.index("shape") + 1] if "shape" in names else []


def _examples(rules: RuleSet) -> Iterator[Subject]:
    for rule in rules.rules.values():
        for example in rule.examples:
            yield Subject(example.descriptor, read_given(example.given))


def _smaller(subject: Subject) -> Iterator[Subject]:
    given = subject.given
    for plain in (given._replace(taken=()), given._replace(mechanisms=None), given._replace(placement="machine")):
        if plain != given:
            yield subject._replace(given=plain)
    for descriptor in _without_a_part(subject.descriptor):
        yield subject._replace(descriptor=descriptor)


def _without_a_part(value: Any) -> Iterator[Any]:
    """The value without one key or one item somewhere in it, or where there are many of them without a run of them."""
    if type(value) is dict:
        pairs = list(value.items())
        for start, end in _runs(len(pairs)):
            yield dict(pairs[:start] + pairs[end:])
        for key, part in pairs:
            for inner in _without_a_part(part):
                yield {**value, key: inner}
    elif type(value) is list:
        for start, end in _runs(len(value)):
            # The same comes of it whichever of equal items is left out.
            if end - start > 1 or not start or not same(value[start], value[start - 1]):
                yield value[:start] + value[end:]
        for number, part in enumerate(value):
            for inner in _without_a_part(part):
                yield [*value[:number], inner, *value[number + 1 :]]


def _runs(length: int) -> Iterator[tuple[int, int]]:
    """Where to leave something out of so many parts: halves, quarters and so on of many, then each single one."""
    size = length // 2
    while size > 1 and length > _MANY:
        yield from ((start, start + size) for start in range(0, length, size))
        size //= 2
    yield from ((start, start + 1) for start in range(length))
