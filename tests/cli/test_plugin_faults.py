"""Whatever an installed plugin does, `capgate` stays up, names it, and all else is as without it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from plugin_samples.distribution import lay_out

Run = Callable[..., Any]

START = """
import sys, threading
from capgate.plugins.api import Fact, Operator, Placement, Primitive, hookimpl
"""
SOUND = (
    START
    + """
@hookimpl
def capgate_primitives(context):
    return [Primitive("ebb", needs=("read",))]
"""
)


class Place(NamedTuple):
    """A folder with descriptors, and what stands in for an installation."""

    folder: Path
    packages: Path

    def config(self, *names: str, **more: Any) -> None:
        """Names the plugins in `capgate.yaml`, each with a short deadline."""
        pins = [{"name": f"capgate-{name}", "deadline": 0.5, **more} for name in names]
        (self.folder / "capgate.yaml").write_text(json.dumps({"plugins": pins}))

    def run(self, process: Run, *arguments: str) -> Any:
        path = os.pathsep.join([str(self.packages), os.environ.get("PYTHONPATH", "")])
        return process(*arguments, env={"PYTHONPATH": path})


@pytest.fixture
def place(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("CAPGATE_CONFIG", raising=False)
    for id in ("a-sound", "b-odd", "c-sound"):
        tools = [{"name": "tool", "primitive": "now"}]
        (folder / f"{id}.json").write_text(json.dumps({"id": id, "tools": tools}))
    lay_out(tmp_path / "packages", "sound", SOUND)
    return Place(folder, tmp_path / "packages")


# At the start

AT_IMPORT = [
    ("1 / 0", "plugin-raised", "its import raised ZeroDivisionError: division by zero"),
    ("sys.exit(0)", "plugin-raised", "its import raised SystemExit: 0"),
    ("raise KeyboardInterrupt", "plugin-raised", "its import raised KeyboardInterrupt"),
    ("threading.Event().wait()", "plugin-hung", "its import did not return within 0.5 seconds"),
    ("def recurse(): recurse()\nrecurse()", "plugin-raised", "its import raised RecursionError"),
    ("pass", "plugin-hook", "implements no hook"),
    ("sys.stdout = None", "plugin-hook", "implements no hook"),
]
IN_A_HOOK = [
    ("1 / 0", "plugin-raised", "raised ZeroDivisionError: division by zero"),
    ("sys.exit(0)", "plugin-raised", "raised SystemExit: 0"),
    ("threading.Event().wait()", "plugin-hung", "did not return within 0.5 seconds"),
    ("return capgate_primitives(context)", "plugin-raised", "raised RecursionError"),
    ("return 'ebb'", "plugin-type", "returned 'ebb', expected a list or tuple of Primitive"),
    ("return [Primitive('Ebb')]", "plugin-value", "Primitive 'Ebb': name is 'Ebb'"),
    ("return [Primitive('now')]", "plugin-clash", "primitive 'now' is already defined by capgate"),
    ("return [Primitive('flood', needs=('sea',))]", "plugin-unknown-capability", "the capability 'sea'"),
    ("context.config['mine'] = 1", "plugin-raised", "raised TypeError: 'mappingproxy' object does not support"),
    ("Primitive._fields = ()\n    context.capgate_version = 1", "plugin-raised", "raised AttributeError"),
]


@pytest.mark.parametrize(
    ("source", "hook", "id", "text"),
    [(source, "", id, text) for source, id, text in AT_IMPORT]
    + [
        (f"@hookimpl\ndef capgate_primitives(context):\n    {body}", "capgate_primitives", id, text)
        for body, id, text in IN_A_HOOK
    ],
)
def test_a_plugin_that_fails_at_the_start_is_a_problem_of_the_policy(
    source: str, hook: str, id: str, text: str, place: Place, process: Run
) -> None:
    lay_out(place.packages, "odd", START + source)
    place.config("odd", "sound")
    done = place.run(process, "check", "--format", "json")
    assert done.code == 3
    assert done.results == []
    (found,) = done.json["policy"]["problems"]
    assert found["id"] == id
    named = "plugin 'odd' (capgate-odd 1.2)" + (f", {hook}" if hook else "")
    assert found["message"].startswith(f"{named}: ")
    assert text in found["message"]
    assert found["hint"]
    assert f"{id}: {named}: " in done.err
    assert "Traceback" not in done.err


def test_each_of_several_faulty_plugins_is_named(place: Place, process: Run) -> None:
    for name in ("odd", "bad", "ill"):
        lay_out(place.packages, name, START + "1 / 0")
    place.config("odd", "sound", "bad", "ill")
    done = place.run(process, "check", "--format", "json")
    assert done.code == 3
    assert [problem["message"].split("'")[1] for problem in done.json["policy"]["problems"]] == ["bad", "ill", "odd"]


def test_without_it_the_others_go_on(place: Place, process: Run) -> None:
    lay_out(place.packages, "odd", START + "1 / 0")
    place.config("sound")
    assert place.run(process, "check").code == 0


# At a decision

FACTS = """
@hookimpl
def capgate_facts(context):
    return [Fact("depth", "number", "how deep it is", depth)]

def depth(descriptor, placement):
    if descriptor["id"] == "b-odd":
        {body}
    return 5
"""
OPERATOR = """
@hookimpl
def capgate_operators(context):
    return [Operator("deeper", lambda operand: None, deeper)]

def deeper(value, operand):
    if value == "b-odd":
        {body}
    return False
"""
BY_FACT = "{plugin.odd.depth: {max: 1}}"
BY_OPERATOR = "{descriptor.id: {deeper: 1}}"

AT_A_DECISION = [
    (FACTS, "1 / 0", "fact plugin.odd.depth raised ZeroDivisionError: division by zero"),
    (FACTS, "sys.exit(0)", "fact plugin.odd.depth raised SystemExit: 0"),
    (FACTS, "raise KeyboardInterrupt", "fact plugin.odd.depth raised KeyboardInterrupt"),
    (FACTS, "return depth(descriptor, placement)", "fact plugin.odd.depth raised RecursionError"),
    (FACTS, "return '5'", "fact plugin.odd.depth is no number"),
    (FACTS, "return object()", "fact plugin.odd.depth raised TypeError: object is no JSON data"),
    (OPERATOR, "1 / 0", "operator deeper raised ZeroDivisionError: division by zero"),
    (OPERATOR, "sys.exit(0)", "operator deeper raised SystemExit: 0"),
    (OPERATOR, "return deeper(value, operand)", "operator deeper raised RecursionError"),
    (OPERATOR, "return 'yes'", "operator deeper answered with neither True, False nor None"),
]


def judge(place: Place, process: Run, source: str, body: str, **more: Any) -> Any:
    """Judges the three descriptors with a rule that asks the plugin."""
    lay_out(place.packages, "odd", START + source.format(body=body))
    place.config("odd", "sound", **more)
    rule = {
        "id": "shallow",
        "title": "Deep enough",
        "applies_to": "descriptor",
        "triggers": [{"stage": "bounds", "when": "WHEN", "reason": "too shallow"}],
    }
    (place.folder / "rules").mkdir()
    text = json.dumps(rule).replace('"WHEN"', BY_FACT if source is FACTS else BY_OPERATOR)
    (place.folder / "rules" / "shallow.yaml").write_text(text)
    return place.run(process, "check", "--format", "json", "--rules", "rules")


@pytest.mark.parametrize(("source", "body", "text"), AT_A_DECISION)
def test_a_plugin_that_fails_at_a_decision_refuses_that_descriptor(
    source: str, body: str, text: str, place: Place, process: Run
) -> None:
    done = judge(place, process, source, body)
    assert (done.code, done.err) == (1, "")
    first, odd, last = done.results
    assert (first["decision"], last["decision"]) == ("admitted", "admitted")
    assert (odd["decision"], odd["rule"]) == ("refused", "fact-unavailable")
    assert odd["why"].startswith(f"plugin 'odd' (capgate-odd 1.2): {text}")
    assert odd["remedy"]


@pytest.mark.parametrize("body", ["del sys.stdout", "sys.stdout.close()", "sys.stdout = None"])
def test_a_plugin_that_takes_the_output_away_harms_no_report(body: str, place: Place, process: Run) -> None:
    done = judge(place, process, FACTS, body)
    assert (done.code, done.err) == (0, "")
    assert [found["decision"] for found in done.results] == ["admitted"] * 3


@pytest.mark.parametrize("source", [FACTS, OPERATOR])
def test_a_plugin_that_hangs_costs_one_deadline_and_admits_nothing(source: str, place: Place, process: Run) -> None:
    done = judge(place, process, source, "threading.Event().wait()")
    assert done.code == 1
    first, odd, last = done.results
    assert first["decision"] == "admitted"
    assert (odd["rule"], last["rule"]) == ("fact-unavailable", "fact-unavailable")
    assert "did not return within 0.5 seconds" in odd["why"]
    assert "is still busy with an earlier call that overran its deadline" in last["why"]


@pytest.mark.parametrize(
    "body",
    [
        "descriptor.clear()",
        "descriptor['tools'][0]['name'] = 'No name'",
        "descriptor['tools'].append(descriptor)",
        "descriptor['capabilities'] = ['exec']",
    ],
)
def test_a_plugin_that_changes_what_it_is_given_changes_nothing(body: str, place: Place, process: Run) -> None:
    done = judge(place, process, FACTS, body)
    assert (done.code, done.err) == (0, "")
    assert [result["decision"] for result in done.results] == ["admitted"] * 3


# What a plugin prints

NOISY = (
    "print('noise')\nsys.stdout.write('more noise')\n"
    + FACTS.format(body="print('noise')")
    + "\n@hookimpl\ndef capgate_decided(context, verdict):\n    print('noise', file=sys.stdout, flush=True)\n"
)


def test_what_a_plugin_prints_does_not_get_into_a_report(place: Place, process: Run) -> None:
    quiet = judge(place, process, FACTS, "pass")
    lay_out(place.packages, "odd", START + NOISY)
    noisy = place.run(process, "check", "--format", "json", "--rules", "rules")
    assert (quiet.code, noisy.code) == (0, 0)
    assert noisy.json == quiet.json
    assert noisy.err.count("noise") == 2 + 1 + 3
    assert "noise" not in place.run(process, "check", "--rules", "rules").out
    assert json.loads(place.run(process, "plugins", "--format", "json").out)["plugins"]


def test_the_config_of_a_plugin_is_part_of_the_fingerprint(place: Place, process: Run) -> None:
    lay_out(place.packages, "odd", START + FACTS.format(body="return 5"))
    prints = []
    for config in ({"depth": 5}, {"depth": 6}, {"depth": 5}):
        place.config("odd", "sound", config=config)
        prints.append(json.loads(place.run(process, "check", "--format", "json").out)["policy"]["fingerprint"])
    assert prints[0] == prints[2] != prints[1]


@pytest.mark.parametrize(
    "body", ["1 / 0", "sys.exit(3)", "threading.Event().wait()", "verdict.clear()", "descriptor.clear()"]
)
def test_a_listener_that_fails_changes_no_verdict(body: str, place: Place, process: Run) -> None:
    listener = f"@hookimpl\ndef capgate_decided(context, descriptor, verdict):\n    {body}\n"
    lay_out(place.packages, "odd", START + listener)
    place.config("odd", "sound")
    done = place.run(process, "check", "--format", "json")
    assert done.code == 0
    assert [result["decision"] for result in done.results] == ["admitted"] * 3
    named = "plugin 'odd' (capgate-odd 1.2), capgate_decided: "
    assert done.err.count(named) == (0 if "clear" in body else 3)


# Listing plugins


def test_a_faulty_plugin_is_named_where_plugins_are_listed(place: Place, process: Run) -> None:
    lay_out(place.packages, "odd", START + "1 / 0")
    lay_out(place.packages, "other", START + "sys.exit('was imported')")
    place.config("odd")
    done = place.run(process, "plugins", "--format", "json")
    assert done.code == 3
    assert "plugin 'odd' (capgate-odd 1.2): its import raised ZeroDivisionError" in done.err
    shown = done.json
    assert shown["policy"]["fingerprint"] is None
    assert [problem["id"] for problem in shown["policy"]["problems"]] == ["plugin-raised"]
    assert (shown["plugins"], shown["primitives"]) == ([], [])
    ours = [one["name"] for one in shown["notAllowed"] if one["version"] == "1.2"]
    assert ours == ["other", "sound"]
