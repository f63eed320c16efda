"""``capgate rules test --init`` of a rule that lacks examples: it shows some, which pass once they are pasted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Overlay = Callable[..., Path]


def pasted(out: str) -> str:
    """The part of a report that is to be pasted."""
    _, _, rest = out.partition("\n\n# ")
    return rest.partition("\n")[2]


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ([], "no 'examples.refused' and no 'examples.admitted'. If what it says now is right, paste this at its end:"),
        (["refused"], "no 'examples.admitted'. If what it says now is right, paste this under 'examples':"),
        (["admitted"], "no 'examples.refused'. If what it says now is right, paste this under 'examples':"),
    ],
)
def test_the_examples_that_a_rule_lacks_are_shown_and_pass_once_pasted(
    rules: Run, overlay: Overlay, there: list[str], said: str
) -> None:
    bounds = "{hosts: [a.test], maxRequests: 99}"
    descriptors = {
        "refused": f"{{capabilities: [network], bounds: {bounds}, tools: [{{name: a, primitive: now}}]}}",
        "admitted": "{capabilities: [], tools: [{name: a, primitive: now}]}",
    }
    rows = [f"  {kind}:\n    - {{descriptor: {descriptors[kind]}}}\n" for kind in there]
    overlay("".join((["examples:\n"] if rows else []) + rows))
    before = Path("mine/few-requests.yaml").read_text(encoding="utf-8")
    done = rules("test", "--init", "few-requests", "mine")
    assert (done.code, done.err) == (0, "")
    assert f"\n\n# mine/few-requests.yaml has {said}\n" in done.out
    assert Path("mine/few-requests.yaml").read_text(encoding="utf-8") == before
    assert "lacking" in rules("test", "mine").out
    Path("mine/few-requests.yaml").write_text(before + pasted(done.out), encoding="utf-8")
    done = rules("test", "mine")
    assert (done.code, "lacking" in done.out, " 0 failed" in done.out) == (0, False, True)
    assert rules("lint", "mine").out == "1 rule: 0 findings\n"


def test_examples_are_shown_where_the_cases_are_there_already(
    rules: Run, overlay: Overlay, write: Callable[..., Path]
) -> None:
    write("mine/tests/few-requests.yaml", "kept")
    done = rules("test", "--init", "few-requests", overlay(""))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("mine/tests/few-requests.yaml: is there already, and left as it is\n\n# mine/few")
    assert Path("mine/tests/few-requests.yaml").read_text(encoding="utf-8") == "kept"


def test_there_is_a_refused_example_for_each_trigger_with_what_it_is_judged_against(
    rules: Run, write: Callable[..., Path]
) -> None:
    write(
        "mine/two.yaml",
        "id: two\ntitle: Two\napplies_to: descriptor\nremedy: Do not.\ntriggers:\n"
        "  - {stage: bounds, reason: because, when: {placement.name: {equals: browser}}}\n"
        "  - {stage: tools, reason: why, when: {tool.name: {in: {fact: host.taken}}}}\n"
        "  - {stage: bounds, reason: other, when: {not: {placement.name: {equals: machine}}}}\n",
    )
    out = rules("test", "--init", "two", "mine").out
    refused, _, admitted = pasted(out).partition("  admitted:\n")
    assert refused.count("- {descriptor") == 2  # the third is the first
    assert "given: {placement: browser}}" in refused
    assert admitted.count("- {descriptor") == 1
    text = Path("mine/two.yaml").read_text(encoding="utf-8")
    write("mine/two.yaml", text + pasted(out))
    assert rules("test", "mine").code == 0


def test_an_example_is_one_that_the_rule_was_asked_of_where_there_is_one(
    rules: Run, write: Callable[..., Path]
) -> None:
    write(
        "mine/each.yaml",
        "id: each\ntitle: Each\napplies_to: descriptor\ntriggers:\n"
        "  - {stage: hosts, reason: because, when: {host: {equals: evil.test}}}\n",
    )
    admitted = pasted(rules("test", "--init", "each", "mine").out).partition("  admitted:\n")[2]
    assert "hosts: [a]" in admitted


def test_a_kind_of_which_nothing_was_found_is_said(rules: Run, write: Callable[..., Path]) -> None:
    write(
        "mine/all.yaml",
        "id: all\ntitle: All\napplies_to: descriptor\ntriggers:\n"
        "  - {stage: bounds, reason: because, when: {descriptor: {exists: true}}}\n",
    )
    done = rules("test", "--init", "all", "mine")
    assert done.code == 0
    assert done.err == "capgate: mine/all.yaml: nothing was found for 'examples.admitted'; write one by hand\n"
    assert "  refused:\n" in done.out
    assert "  admitted:\n" not in done.out


def test_where_only_the_kind_that_is_there_was_found_nothing_is_shown(rules: Run, write: Callable[..., Path]) -> None:
    write(
        "mine/all.yaml",
        "id: all\ntitle: All\napplies_to: descriptor\ntriggers:\n"
        "  - {stage: bounds, reason: because, when: {descriptor: {exists: true}}}\n"
        "examples:\n  refused:\n    - {descriptor: {tools: [{name: a, primitive: now}]}}\n",
    )
    done = rules("test", "--init", "all", "mine")
    assert (done.code, "#" in done.out) == (0, False)
    assert "'examples.admitted'; write one by hand" in done.err
