"""Rules as the pages in docs/lint show them, with all that a page leaves out, and what lint says of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import capgate
from capgate.plugins.api import Fact, hookimpl
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.lint.linting import Report, lint
from capgate.policy.authoring.lint.shape import difference
from capgate.policy.documents import load_yaml

#: What a page leaves out.
REST = {
    "id": "example",
    "title": "An example for a page",
    "applies_to": "descriptor",
    "remedy": "Mend what the reason names.",
}
#: A rule for a page that shows only the stages of a folder.
STAGED = """
triggers:
  - stage: parameters
    when: {item.description: {exists: false}}
    reason: "{item.name} has no description"
"""


class Sample:
    """A plugin with the facts of these names."""

    name = "sample"

    def __init__(self, facts: Iterable[str] = ()):
        self._facts = list(facts)

    @hookimpl
    def capgate_facts(self) -> list[Fact]:
        return [Fact(name, "whole", f"number of {name}", lambda descriptor, placement: 3) for name in self._facts]


def completed(text: str, without: Sequence[str] = ()) -> str:
    """A rule file with what `text` leaves out, at its end so that its lines stay where they are."""
    there = load_yaml(text.encode()).data
    return text + "".join(f'{key}: "{part}"\n' for key, part in REST.items() if key not in there and key not in without)


def linted(folder: Path, text: str, without: Sequence[str] = (), **files: str) -> Report:
    """What lint says of one rule, called ``example``, in a new `folder`; `files` are others there, by stem."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "example.yaml").write_text(completed(text, without), encoding="utf-8")
    for stem, other in files.items():
        name = stem.replace("_", "-")
        whole = other if stem == "ruleset" else completed(f"id: {name}\n{other}")
        (folder / f"{name}.yaml").write_text(whole, encoding="utf-8")
    return lint(Gates(capgate.open_gate(rules=[folder])), [folder])


def said_of_page(id: str, text: str, folder: Path) -> list[Finding]:
    """What lint finds in an example of the page of a check."""
    data: dict[str, Any] = load_yaml(text.encode()).data
    if "schema" in data:
        found = difference(data["schema"], lambda document: data["code"], [data["document"]])
        return [found] if found else []
    if "stages" in data:
        return list(linted(folder, STAGED, ruleset=text).findings)
    if "facts" in data:
        folder.mkdir()
        rule = re.sub(r"^facts:.*\n", "", text)
        (folder / "example.yaml").write_text(completed(rule), encoding="utf-8")
        gate = capgate.open_gate(rules=[folder], plugins=[Sample(data["facts"])])
        return list(lint(Gates(gate), [folder]).findings)
    (folder / "README.md").parent.mkdir()
    (folder / "README.md").write_text("# Rules\n\n## Few bytes\n", encoding="utf-8")
    return list(linted(folder, text, ["remedy"] if id == "remedy-missing" else []).findings)


def ids(findings: Iterable[Finding]) -> set[str]:
    """The checks that found something; that a rule on a page has no examples does not count."""
    return {finding.check for finding in findings} - {"example-missing-kind"}
