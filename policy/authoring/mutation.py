"""Mutation testing of rules: which changes of a rule does no test notice?

A test notices a mutant when it would fail with it. Most mutants change one rule, and a test that speaks of
that rule finds them; so they are first tried with that rule alone, and only what is left with all rules.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path as FilePath
from typing import Final, NamedTuple

from capgate.policy.authoring.edits import edited
from capgate.policy.authoring.exclusive import exclusive
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.judging import Judge
from capgate.policy.authoring.mutants import Mutant, Sources, mutants_of_rule, mutants_of_ruleset
from capgate.policy.authoring.suite import Suite, gather
from capgate.policy.authoring.trials import Trial
from capgate.policy.documents import load_yaml
from capgate.policy.errors import PolicyInvalid, Span
from capgate.policy.folders import RULESET, rule_files
from capgate.policy.rule_errors import Problems
from capgate.policy.rulefile import Rule, load_rule_file, read_rule_file
from capgate.policy.ruleset import RuleFolder, RuleSet, Stage, load_ruleset
from capgate.policy.verdict import Refusal
from capgate.policy.vocabulary import UnknownPath, Vocabulary

__all__ = ["Mutation", "Result", "only", "passes"]

_SHAPE: Final = "shape"
#: The first folder is that of the shipped rules; it lists its rules, all others only add.
_BASE: Final = 0


class Result(NamedTuple):
    """What came of a mutant.

    Attributes:
        number: of the mutant, in the order of `Mutation.mutants`.
        killer: the test that noticed it, or None.
    """

    number: int
    killer: str | None


@dataclass(frozen=True, slots=True)
class _Folder:
    path: FilePath
    home: RuleFolder
    files: Mapping[str, bytes]


class Mutation:
    """The mutants of some rules, and the tests that are to notice them.

    Args:
        gates: the rules.
        folders: whose rules are changed; all folders where none is named.
        only: ids of the rules that are changed; all, and the order of rules and stages too, where none is named.

    Attributes:
        suite: the tests: those of the folders.
        mutants: every mutant that the loader takes, in the order of files and places; without those that are
            certain to decide alike.
        equivalent: how many that are.
        whole: judges by the rules as they are.
        shape: ids of the rules that can stop all others from being asked.
    """

    def __init__(self, gates: Gates, folders: Sequence[FilePath] = (), only: Sequence[str] = ()):
        self.gates = gates
        self.suite: Suite = gather(gates, folders)
        homes: dict[FilePath, str] = {}
        for rule in gates.rules.rules.values():
            homes.setdefault(FilePath(rule.document.name).parent, rule.provider)
        self._folders = [
            _Folder(path, RuleFolder(path, provider), rule_files(path, Problems()) or {})
            for path, provider in homes.items()
        ]
        self.whole = Judge(gates.rules, gates)
        self._loops = {stage.name: stage.loop for stage in gates.rules.stages}
        self._vocabulary = Vocabulary(gates.catalog)
        self._trials = _by_rule(self.suite.trials)
        self.shape = {rule.id for stage in gates.rules.stages if stage.name == _SHAPE for rule, _ in stage.triggers}
        self.equivalent = 0
        chosen = [folder for folder in self._folders if not folders or folder.path in folders]
        found = [made for folder in chosen for made in self._mutants(folder, only)]
        self.mutants = [mutant for _, mutant, _ in found]
        self._homes = [folder for folder, _, _ in found]
        self._loaded = [rules for _, _, rules in found]

    def judge(self, number: int) -> Result:
        """Tries one mutant on the tests."""
        mutant = self.mutants[number]
        return Result(number, self._killer(mutant, self.rules(number)))

    def rules(self, number: int) -> RuleSet:
        """The rule set with one mutant in it."""
        return self._loaded[number]

    def span(self, number: int) -> Span:
        """Where a mutant was changed first."""
        folder, mutant = self._homes[number], self.mutants[number]
        return load_yaml(folder.files[mutant.file], str(folder.path / mutant.file)).span(mutant.at, key=True)

    def sources(self, number: int) -> Iterator[tuple[FilePath, str, str]]:
        """The files that a mutant changes: path, text before and after."""
        folder, mutant = self._homes[number], self.mutants[number]
        for name, edits in mutant.edits.items():
            text = folder.files[name].decode()
            yield folder.path / name, text, edited(text, edits)

    def _mutants(self, folder: _Folder, only: Sequence[str]) -> Iterator[tuple[_Folder, Mutant, RuleSet]]:
        texts = {name: source.decode() for name, source in folder.files.items()}
        data = {name: load_yaml(source, name).data for name, source in folder.files.items()}
        stages = [stage.name for stage in self.gates.rules.stages]
        sources = Sources(texts, data, listed=folder is self._folders[_BASE], stages=stages, near=self._near)
        ids = [name.removesuffix(".yaml") for name in folder.files if name != RULESET]
        made = [mutants_of_rule(id, sources) for id in ids if not only or id in only]
        made += [] if only else [mutants_of_ruleset(sources)]
        for mutant in chain.from_iterable(made):
            rules = self._load(folder, mutant) if self._shows(mutant) else None
            if rules is not None and mutant.equivalent:
                self.equivalent += 1
            elif rules is not None:
                yield folder, mutant, rules

    def _shows(self, mutant: Mutant) -> bool:
        """Whether a change of the order can be seen: not where what changed places never refuses together."""
        if mutant.kind != "order":
            return True
        moved = [(id, self.gates.rules.rules[id].triggers[number]) for id, number in mutant.triggers]
        if len({trigger.stage for _, trigger in moved}) > 1:
            return True
        (first, _), *_ = moved
        one, other = [moved[0][1]], [moved[-1][1]]
        if len(mutant.rules) > 1:
            one, other = ([trigger for id, trigger in moved if (id == first) is mine] for mine in (True, False))
        return not all(exclusive(left, right) for left in one for right in other)

    def _near(self, path: str, stage: str) -> list[str]:
        """The neighbours of a path, and the one above it, so far as they have values."""
        loop = self._loops[stage]
        loops = {loop.variable: loop.element} if loop else {}
        above, _, word = path.rpartition(".")
        if not above:
            return []
        found = [above]
        try:
            names = list(self._vocabulary.resolve(above, loops).term.members)
        except UnknownPath as unknown:
            found, names = [], list(unknown.known)
        if word in names:
            place = names.index(word)
            found += [f"{above}.{name}" for name in (*names[max(place - 1, 0) : place], *names[place + 1 : place + 2])]
        return found

    def _load(self, folder: _Folder, mutant: Mutant) -> RuleSet | None:
        """The rules with a mutant in them; None where the loader refuses it."""
        changed = {name: edited(folder.files[name].decode(), edits) for name, edits in mutant.edits.items()}
        if RULESET in changed or mutant.kind == "stage":
            return self._load_all(folder, changed)
        (id,) = mutant.rules
        rule = self._load_rule(folder, id, changed[f"{id}.yaml"])
        return _with(self.gates.rules, rule) if rule else None

    def _load_all(self, folder: _Folder, changed: Mapping[str, str]) -> RuleSet | None:
        def files(path: str | os.PathLike[str], problems: Problems) -> dict[str, bytes]:
            (found,) = [one for one in self._folders if one.path == path]
            new = changed if found is folder else {}
            return {name: new[name].encode() if name in new else source for name, source in found.files.items()}

        base, *overlays = [one.home for one in self._folders]
        try:
            return load_ruleset(self.gates.catalog, base, overlays, files=files)
        except PolicyInvalid:
            return None

    def _load_rule(self, folder: _Folder, id: str, text: str) -> Rule | None:
        problems = Problems()
        name = str(folder.path / f"{id}.yaml")
        file = load_rule_file(text.encode(), name, id, folder.home.provider, problems)
        if file is None:
            return None
        rule = read_rule_file(
            file,
            stages=self._loops,
            unread=lambda stage: False,
            vocabulary=self._vocabulary,
            operators=self.gates.catalog.operators,
            placements=tuple(self.gates.catalog.placements),
            capabilities=tuple(self.gates.catalog.capabilities),
            problems=problems,
        )
        same = rule is not None and rule.decides() == self.gates.rules.rules[id].decides()
        return None if problems or same else rule

    def _killer(self, mutant: Mutant, rules: RuleSet) -> str | None:
        alone = Judge(only(rules, {*mutant.rules, *self.shape}), self.gates)
        for id in mutant.rules:
            for trial in self._trials.get(id, ()):
                if not _suits(trial, id, alone.refusals(trial.descriptor, trial.given)):
                    return _title(trial)
        whole = Judge(rules, self.gates)
        stops = any(id in self.shape for id in mutant.rules)
        for trial in self.suite.trials:
            tells = stops or trial.exactly is not None or trial.places is not None or trial.decision is not None
            if tells and not passes(trial, whole.refusals(trial.descriptor, trial.given)):
                return _title(trial)
        return None


def passes(trial: Trial, refusals: Sequence[Refusal]) -> bool:
    """Whether a test would pass with these refusals; what `suite.run` says, without its explanations."""
    found = [refusal.rule for refusal in refusals]
    decision = "refused" if any(refusal.severity == "refuse" for refusal in refusals) else "admitted"
    return (
        all(id in found for id in trial.refused)
        and not any(id in found for id in trial.absent)
        and trial.exactly in (None, tuple(found))
        and trial.places in (None, tuple(refusal.path for refusal in refusals))
        and trial.decision in (None, decision)
    )


def _suits(trial: Trial, id: str, refusals: Sequence[Refusal]) -> bool:
    """Whether what one rule says, asked alone, lets a test pass; of the order and of others nothing is known."""
    times = sum(refusal.rule == id for refusal in refusals)
    if trial.exactly is not None:
        return times == trial.exactly.count(id)
    return bool(times) if id in trial.refused else not times


def _by_rule(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """The tests that speak of a rule, by its id: examples of its own first."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        for id in {*trial.refused, *trial.absent, *(trial.exactly or ())}:
            found.setdefault(id, []).append(trial)
    return found


def _title(trial: Trial) -> str:
    return f"{trial.rule} {trial.name}" if trial.rule else f"{trial.span.file}: {trial.name}"


def _with(rules: RuleSet, rule: Rule) -> RuleSet:
    """The rule set with another rule of the same id, whose triggers name the same stages."""
    every = {id: rule if id == rule.id else old for id, old in rules.rules.items()}
    stages = []
    for stage in rules.stages:
        ids = dict.fromkeys(old.id for old, _ in stage.triggers)
        rows = ((every[id], trigger) for id in ids for trigger in every[id].triggers if trigger.stage == stage.name)
        stages.append(Stage(stage.name, stage.loop, tuple(rows)))
    return RuleSet(tuple(stages), every, rules.fingerprint)


def only(rules: RuleSet, ids: set[str]) -> RuleSet:
    """The rule set without all rules but some."""
    stages = tuple(
        stage._replace(triggers=tuple(row for row in stage.triggers if row[0].id in ids)) for stage in rules.stages
    )
    return RuleSet(stages, {id: rule for id, rule in rules.rules.items() if id in ids}, rules.fingerprint)
