"""A whole set of rules: the shipped folder, then overlays, in stages, with a fingerprint."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from capgate.policy import schema
from capgate.policy.catalog import Catalog
from capgate.policy.conditions import Reader
from capgate.policy.documents import Document, DocumentError, digest, load_yaml
from capgate.policy.errors import PolicyInvalid, Span
from capgate.policy.folders import RULESET, rule_files
from capgate.policy.rule_errors import Problems, RuleError, did_you_mean
from capgate.policy.rulefile import (
    Loop,
    Rule,
    RuleFile,
    Trigger,
    check_shape,
    load_rule_file,
    read_loop,
    read_rule_file,
)
from capgate.policy.vocabulary import Vocabulary

__all__ = ["LANGUAGE", "RuleFolder", "RuleSet", "Stage", "load_ruleset"]

#: The version of the rule language.
LANGUAGE = 1
#: (folder, where mistakes go) to the files of the folder by name, or None where it cannot be read.
Files: TypeAlias = "Callable[[str | os.PathLike[str], Problems], dict[str, bytes] | None]"
#: Ids that the gate itself refuses with; no rule may have one.
RESERVED_IDS = ("policy-invalid", "fact-unavailable")


class RuleFolder(NamedTuple):
    """A folder of rules to load.

    Attributes:
        path: the folder.
        provider: ``capgate`` for the shipped one, a plugin's name, or the overlay as the caller named it.
    """

    path: str | os.PathLike[str]
    provider: str


class Stage(NamedTuple):
    """One stage.

    Attributes:
        name: its name.
        loop: what it walks over, or None.
        triggers: the triggers asked in it, with their rules, in order.
    """

    name: str
    loop: Loop | None
    triggers: tuple[tuple[Rule, Trigger], ...]


class RuleSet(NamedTuple):
    """Every rule, checked.

    Attributes:
        stages: in the order in which they are asked.
        rules: by id, in the order in which they were loaded.
        fingerprint: ``sha256:<hex>`` over all that can decide: language, stages, rules, schema, catalog.
    """

    stages: tuple[Stage, ...]
    rules: Mapping[str, Rule]
    fingerprint: str


class _Loader:
    """Gathers stages and rule files folder by folder."""

    def __init__(self, catalog: Catalog, files: Files):
        self.catalog = catalog
        self.read = files
        self.vocabulary = Vocabulary(catalog)
        self.problems = Problems()
        self.loops: dict[str, Loop | None] = {}
        self.order: list[str] = []
        self.listed: dict[str, list[str]] = {}
        self.files: dict[str, RuleFile] = {}
        self.misnamed: list[RuleFile] = []
        self.shipped: set[str] = set()
        self.after: dict[str, str] = {}
        #: Stages whose loop is wrong, and whether there may be stages of which nothing is known.
        self.broken: set[str] = set()
        self.stages_lost = False

    def folder(self, folder: RuleFolder, *, base: bool) -> None:
        failed = Problems()
        files = self.read(folder.path, failed)
        try:
            failed.raise_any()
        except PolicyInvalid as error:
            self.problems.extend(error.problems)
        if files is None:
            return
        ruleset = files.pop(RULESET, None)
        name = os.path.join(folder.path, RULESET)
        if ruleset is not None:
            self._stages(ruleset, name, base=base)
        elif base:
            self.stages_lost = True
            self.problems.add(RuleError("ruleset-missing", f"there is no {RULESET}", span=Span(os.fspath(folder.path))))
        if not files and not failed:
            self.problems.add(
                RuleError("rules-empty", "there are no rules in the folder", span=Span(os.fspath(folder.path)))
            )
        for file_name, source in files.items():
            stem = file_name.removesuffix(".yaml")
            read = load_rule_file(source, os.path.join(folder.path, file_name), stem, folder.provider, self.problems)
            if read is None:
                continue
            if read.id not in (None, stem):
                self.misnamed.append(read)
            other = self.files.get(stem)
            if other or stem in RESERVED_IDS:
                owner = f"{other.document.span(('id',))} has it" if other else "the gate itself refuses with it"
                message = f"the id {stem!r} is taken: {owner}"
                self.problems.add(RuleError("rule-id-taken", message, span=read.document.span(("id",))))
                continue
            self.files[stem] = read
            if base:
                self.shipped.add(stem)

    def _misnamed(self) -> Iterator[RuleError]:
        """The files that are not called as their rule, with who has its name already."""
        for file in self.misnamed:
            message, hint = f"the rule {file.id!r} is in a file called {file.stem + '.yaml'!r}", None
            own = file.document.name
            others = [other for other in (*self.files.values(), *self.misnamed) if other.document.name != own]
            other = next((other for other in others if other.id == file.id), None)
            if other:
                message += f", and {other.document.name} has that id, too"
                hint = "Give one of the two another id, and name its file after it."
                if other.provider != file.provider:
                    hint = "Choose another id, and name the file after it; a rule cannot be replaced."
            yield RuleError("rule-id", message, hint=hint, span=file.document.span(("id",)))

    def _stages(self, source: bytes, name: str, *, base: bool) -> None:
        try:
            document = load_yaml(source, name)
        except DocumentError as error:
            self.problems.add(error)
            self.stages_lost = True
            return
        if check_shape(document, "RULESET" if base else "OVERLAY", self.problems):
            self.stages_lost = True
            return
        reader = Reader(document, self.vocabulary, {}, self.problems)
        for number, data in enumerate(document.data["stages"]):
            self._stage(data, number, document, reader, base=base)

    def _stage(self, data: Any, number: int, document: Document, reader: Reader, *, base: bool) -> None:
        at = ("stages", number)
        stage = data["name"]
        if stage in self.loops:
            message = f"the stage {stage!r} is there already"
            self.problems.add(RuleError("stage-taken", message, span=document.span((*at, "name"))))
            return
        loop = read_loop(
            data.get("for_each"), (*at, "for_each"), {}, reader=reader, document=document, problems=self.problems
        )
        if base:
            self.order.append(stage)
            self._listing(data["rules"], stage, at, document)
        elif data["after"] in self.order:
            place = self.order.index(data["after"]) + 1
            while place < len(self.order) and self.after.get(self.order[place]) == data["after"]:
                place += 1  # stages added after the same one keep the order in which they were added
            self.order.insert(place, stage)
            self.after[stage] = data["after"]
        else:
            message = f"no stage is called {data['after']!r}"
            hint = did_you_mean(data["after"], self.order)
            if data["after"] in [other["name"] for other in document.data["stages"][number + 1 :]]:
                message = f"the stage {data['after']!r} comes later"
                hint = "Stages are read from the top: put that stage first."
            self.problems.add(RuleError("stage-unknown", message, hint=hint, span=document.span((*at, "after"))))
        self.loops[stage] = loop
        if loop is None and "for_each" in data:
            self.broken.add(stage)

    def _listing(self, ids: Sequence[str], stage: str, at: tuple[str | int, ...], document: Document) -> None:
        listed = self.listed[stage] = []
        for number, id in enumerate(ids):
            if id in listed:
                message = f"the rule {id!r} is listed twice"
                span = document.span((*at, "rules", number))
                self.problems.add(RuleError("value-unfit", message, hint="Remove one of the two.", span=span))
            listed.append(id)
        self._ruleset = document

    def rules(self) -> dict[str, Rule]:
        """Reads what the files say, now that every file and every stage is known."""
        self.problems.extend(self._misnamed())
        placements, capabilities = tuple(self.catalog.placements), tuple(self.catalog.capabilities)
        read = {
            id: read_rule_file(
                file,
                stages=self.loops,
                unread=lambda stage: stage in self.broken or (self.stages_lost and stage not in self.loops),
                vocabulary=self.vocabulary,
                operators=self.catalog.operators,
                placements=placements,
                capabilities=capabilities,
                problems=self.problems,
            )
            for id, file in self.files.items()
        }
        return {id: rule for id, rule in read.items() if rule}

    def stages(self, rules: Mapping[str, Rule]) -> Iterable[Stage]:
        """The stages with their triggers: the listed rules first, then those of overlays by file name."""
        asked: dict[str, dict[str, list[Trigger]]] = {stage: {} for stage in self.order}
        for rule in rules.values():
            for trigger in rule.triggers:
                asked[trigger.stage].setdefault(rule.id, []).append(trigger)
        for stage in self.order:
            listed = self.listed.get(stage, [])
            self._hold_against_listing(stage, listed, asked[stage], rules)
            ids = [*listed, *(id for id in asked[stage] if id not in listed)]
            triggers = tuple((rules[id], trigger) for id in ids for trigger in asked[stage].get(id, ()))
            yield Stage(stage, self.loops[stage], triggers)

    def _hold_against_listing(
        self, stage: str, listed: Sequence[str], asked: Mapping[str, Any], rules: Mapping[str, Rule]
    ) -> None:
        for number, id in enumerate(listed):
            if id not in asked:
                what = f"no trigger of {id!r} names this stage" if id in rules else f"there is no rule {id!r}"
                names = [data["name"] for data in self._ruleset.data["stages"]]
                span = self._ruleset.span(("stages", names.index(stage), "rules", number))
                self.problems.add(RuleError("rule-absent", f"{what} ({stage!r})", span=span))
        for id in asked:
            if id not in listed and id in self.shipped:
                rule = rules[id]
                span = rule.document.span((*next(t.source for t in rule.triggers if t.stage == stage), "stage"))
                message = f"the rule {id!r} is not listed under the stage {stage!r}"
                self.problems.add(RuleError("rule-unlisted", message, span=span))


def load_ruleset(
    catalog: Catalog, base: RuleFolder, overlays: Sequence[RuleFolder] = (), *, files: Files = rule_files
) -> RuleSet:
    """Loads the shipped rules and the overlays on top of them, in order.

    Args:
        catalog: what exists.
        base: the folder of the shipped rules.
        overlays: the folders on top of it.
        files: gives the files of a folder by name; by default reads them.

    Raises:
        PolicyInvalid: with every mistake in every file.
    """
    loader = _Loader(catalog, files)
    loader.folder(base, base=True)
    for overlay in overlays:
        loader.folder(overlay, base=False)
    rules = loader.rules()
    loader.problems.raise_any()
    stages = tuple(loader.stages(rules))
    loader.problems.raise_any()
    return RuleSet(stages, rules, _fingerprint(catalog, stages, rules))


def _fingerprint(catalog: Catalog, stages: Sequence[Stage], rules: Mapping[str, Rule]) -> str:
    return digest(
        {
            "language": LANGUAGE,
            "subject": schema.DESCRIPTOR,
            "catalog": catalog.to_json(),
            "stages": [
                {
                    "name": stage.name,
                    "for_each": [stage.loop.variable, stage.loop.over.text] if stage.loop else None,
                    "triggers": [[rule.id, list(trigger.source)] for rule, trigger in stage.triggers],
                }
                for stage in stages
            ],
            "rules": {id: rule.decides() for id, rule in rules.items()},
        }
    )
