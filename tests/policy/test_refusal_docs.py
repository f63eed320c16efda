"""docs/refusals.md has a section for every id that a verdict can carry, and no other."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

import capgate
from capgate.policy.documents import DocumentError, load_json

PAGE = Path(__file__).parents[2] / "docs" / "refusals.md"
RULES = sorted(
    file.name.removesuffix(".yaml") for file in files("capgate.rules").iterdir() if file.name.endswith(".yaml")
)
RULES.remove("ruleset")
OWN = ["policy-invalid", "fact-unavailable"]


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def snippets(id: str) -> list[str]:
    return re.findall(r"^```json\n(.*?)^```$", sections()[id], flags=re.MULTILINE | re.DOTALL)


def test_every_id_has_a_section_and_every_section_an_id() -> None:
    assert sorted(sections()) == sorted([*RULES, *OWN])


@pytest.mark.parametrize("id", [*RULES, *OWN])
def test_a_section_says_what_why_and_how_to_mend_it(id: str) -> None:
    text = sections()[id]

    assert [label for label in ("**What.**", "**Why.**", "**Fix.**") if label not in text] == []


@pytest.mark.parametrize("id", [id for id in RULES if id not in ("absent-capability", "duplicate-tool")])
def test_the_first_snippet_is_refused_by_the_rule_and_the_second_is_admitted(id: str) -> None:
    gate = capgate.open_gate()
    before, after = (load_json(text.encode(), id).data for text in snippets(id))

    assert gate.decide(before) == id
    assert gate.decide(after) is None


def test_the_name_in_the_snippets_on_duplicates_is_taken_by_another_extension() -> None:
    gate = capgate.open_gate()
    before, after = (load_json(text.encode()).data for text in snippets("duplicate-tool"))
    taken = frozenset({"read_notes"})

    assert gate.decide(before, existing_tools=taken) == "duplicate-tool"
    assert gate.decide(after, existing_tools=taken) is None


@pytest.mark.parametrize("id", sorted([*RULES, *OWN]))
def test_every_snippet_is_json_that_can_be_pasted(id: str) -> None:
    for text in snippets(id):
        try:
            load_json(text.encode(), id)
        except DocumentError as error:
            pytest.fail(str(error))


@pytest.mark.parametrize("id", RULES)
def test_a_rule_refers_to_its_section(id: str) -> None:
    assert f"docs/refusals.md#{id}" in files("capgate.rules").joinpath(f"{id}.yaml").read_text(encoding="utf-8")
