"""The folders of rules that plugins ship, beside those that are given."""

from __future__ import annotations

from pathlib import Path

import pytest

import capgate
from plugin_samples.faulty import Plugin

RULE = """
id: {id}
title: A rule
applies_to: descriptor
triggers: [{{stage: launch, when: {{descriptor.id: {{equals: odd}}}}, reason: so}}]
"""
ODD = {"id": "odd", "tools": [{"name": "a", "primitive": "now"}]}


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    return folder_of(tmp_path / "shipped", "not-odd")


def folder_of(folder: Path, id: str, text: str = RULE) -> Path:
    folder.mkdir()
    (folder / f"{id}.yaml").write_text(text.format(id=id))
    return folder


def plugin(folder: Path) -> Plugin:
    return Plugin(capgate_rules=lambda context: [folder])


def mistakes(shipped: Path, *rules: Path | str) -> list[str]:
    with pytest.raises(capgate.PolicyInvalid) as caught:
        capgate.open_gate(rules=rules, plugins=[plugin(shipped)])
    return [problem.id for problem in caught.value.problems]


def test_a_rule_of_a_plugin_refuses_and_is_the_plugins(shipped: Path) -> None:
    gate = capgate.open_gate(plugins=[plugin(shipped)])
    rule = gate.rule("not-odd")
    assert gate.decide(ODD) == "not-odd"
    assert rule is not None
    assert rule.provider == "tides"


@pytest.mark.parametrize("spelling", ["shipped", "./shipped/", "link", "{}/shipped"])
def test_a_folder_that_is_given_too_is_loaded_once_by_the_path_given(
    spelling: str, shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("shipped")
    other = folder_of(tmp_path / "other", "other")
    spelling = spelling.format(tmp_path)
    gate = capgate.open_gate(rules=[spelling, other], plugins=[plugin(shipped)])
    rule = gate.rule("not-odd")
    assert rule is not None
    assert (rule.provider, Path(rule.document.name).parent) == ("tides", Path(spelling))
    assert gate.rule("other")
    assert gate.fingerprint == capgate.open_gate(rules=[other], plugins=[plugin(shipped)]).fingerprint


def test_another_folder_cannot_have_its_ids(shipped: Path, tmp_path: Path) -> None:
    other = folder_of(tmp_path / "other", "not-odd")
    assert mistakes(shipped, other) == ["rule-id-taken"]


def test_a_folder_that_is_given_twice_is_a_mistake(shipped: Path, tmp_path: Path) -> None:
    other = folder_of(tmp_path / "other", "other")
    assert mistakes(shipped, other, other) == ["rule-id-taken"]


@pytest.mark.parametrize("path", ["a\0b", "missing"])
def test_a_folder_that_is_no_folder_is_a_mistake(path: str, shipped: Path) -> None:
    assert mistakes(shipped, path) == ["rules-unreadable"]


def test_mistakes_in_its_rules_name_the_plugin(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "shipped", "not-odd", RULE.replace("descriptor.id", "descriptor.di"))
    with pytest.raises(capgate.PolicyInvalid) as caught:
        capgate.open_gate(plugins=[plugin(folder)])
    blamed, mistake = caught.value.problems
    assert blamed.id == "plugin-rule-folder"
    assert blamed.message == f"plugin 'tides' (1.2), capgate_rules: its rules in {folder} do not load"
    assert mistake.id == "path-unknown"


def test_mistakes_in_other_rules_blame_no_plugin(shipped: Path, tmp_path: Path) -> None:
    other = folder_of(tmp_path / "other", "other", RULE.replace("descriptor.id", "descriptor.di"))
    assert mistakes(shipped, other) == ["path-unknown"]
