"""What single checks find, and what they leave alone, beyond the examples of their pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.lint import forms, matching, operands, sets, spelling, typed
from capgate.policy.authoring.lint.context import Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.lint.linting import lint
from capgate.policy.authoring.lint.shape import difference, documents
from capgate.policy.authoring.suite import gather
from capgate.policy.schema import DESCRIPTOR
from capgate.policy.shapes import Shape
from lint_samples import completed, linted


def rule(when: str, stage: str = "bounds", more: str = "", reason: str = "so") -> str:
    """A rule with one trigger."""
    return f"triggers:\n  - stage: {stage}\n{more}    when: {when}\n    reason: '{reason}'\n"


def found(check: str, folder: Path, text: str, **files: str) -> list[Finding]:
    return [finding for finding in linted(folder, text, **files).findings if finding.check == check]


CASES = [
    # words
    ("value-outside-domain", "bounds", "{subject.capabilities: {contains: Read}}", "no capability is called 'Read'"),
    (
        "value-outside-domain",
        "bounds",
        "{descriptor.capabilities: {each: {in: [read, x]}}}",
        "no capability is called 'x'",
    ),
    ("value-outside-domain", "bounds", "{placement.mechanisms: {lacks: exce}}", "no capability is called 'exce'"),
    ("value-outside-domain", "capabilities", "{capability: {not_in: [read, wrte]}}", "no capability is called 'wrte'"),
    ("value-outside-domain", "bounds", "{placement.name: {equals: machin}}", "no placement is called 'machin'"),
    ("value-outside-domain", "bounds", "{descriptor.runsIn: {equals: hots}}", "'descriptor.runsIn' is never 'hots'"),
    (
        "value-outside-domain",
        "bounds",
        "{descriptor.bounds.window: {in: [week]}}",
        "'descriptor.bounds.window' is never 'week'",
    ),
    ("value-outside-domain", "tools", "{tool.primitive: {equals: read_file}}", "no primitive is called 'read_file'"),
    ("value-outside-domain", "tools", "{tool.wasm.abi: {equals: abi/9}}", "no ABI is called 'abi/9'"),
    ("value-outside-domain", "tools", "{tool.needs: {contains: reed}}", "no capability is called 'reed'"),
    ("value-outside-domain", "bounds", "{catalog.primitives: {contains: sh}}", "no primitive is called 'sh'"),
    ("value-outside-domain", "bounds", "{placement.mechanism.read: {equals: x}}", "no mechanism for it is called 'x'"),
    ("value-outside-domain", "bounds", "{placement.mechanism.eval: {equals: x}}", None),
    ("value-outside-domain", "bounds", "{descriptor.source: {equals: anything}}", None),
    ("value-outside-domain", "tools", "{tool.name: {equals: anything}}", None),
    ("value-outside-domain", "tools", "{tool.first_use: {equals: '$.tools[3].name'}}", None),
    ("value-outside-domain", "bounds", "{subject.capabilities: {contains: read}}", None),
    ("value-outside-domain", "bounds", "{subject.capabilities: {contains: 5}}", None),
    ("value-outside-domain", "bounds", "{subject.capabilities: {equals: read}}", None),
    ("value-outside-domain", "bounds", "{descriptor.runsIn: {matches: hots}}", None),
    # types
    ("operand-never-matches-type", "bounds", "{descriptor.id: {contains: a}}", "which is string"),
    ("operand-never-matches-type", "bounds", "{subject.capabilities: {min: 1}}", "which is list"),
    ("operand-never-matches-type", "bounds", "{placement.name: {min: 1}}", "which is of another type"),
    ("operand-never-matches-type", "bounds", "{descriptor.bounds.maxBytes: {each: {equals: 1}}}", "which is number"),
    ("operand-never-matches-type", "bounds", "{descriptor.bounds.maxRequests: {min: 1}}", None),
    ("operand-never-matches-type", "bounds", "{descriptor.bounds.maxBytes: {min: {fact: descriptor.id}}}", None),
    ("unreachable-after-shape", "bounds", "{descriptor.id: {type: number}}", "never of the type 'number'"),
    ("unreachable-after-shape", "tools", "{tool: {type: object}}", "always of the type 'object'"),
    ("unreachable-after-shape", "tools", "{tool.params.depth: {type: list}}", "never of the type 'list'"),
    ("unreachable-after-shape", "tools", "{tool.params.depth: {type: string}}", None),
    ("unreachable-after-shape", "bounds", "{descriptor.capabilities: {type: list}}", None),
    ("unreachable-after-shape", "bounds", "{descriptor.bounds.maxRequests: {type: whole}}", None),
    ("unreachable-after-shape", "shape", "{descriptor.id: {type: string}}", None),
    # forms
    (
        "condition-duplicate",
        "bounds",
        "{none: [{descriptor.id: {equals: 1}}, {descriptor.id: {equals: 1.0}}]}",
        "twice",
    ),
    ("condition-duplicate", "bounds", "{any: [{descriptor.id: {equals: 1}}, {descriptor.id: {equals: true}}]}", None),
    ("negative-double", "bounds", "{not: {none: [{descriptor.id: {equals: a}}]}}", "'not' of 'none' says no to a no"),
    (
        "negative-double",
        "bounds",
        "{none: [{not: {descriptor.id: {equals: a}}}, {not: {descriptor.name: {equals: a}}}]}",
        "no",
    ),
    (
        "negative-double",
        "bounds",
        "{none: [{not: {descriptor.id: {equals: a}}}, {descriptor.name: {equals: a}}]}",
        None,
    ),
    (
        "negative-double",
        "bounds",
        "{not: {any: [{not: {descriptor.id: {equals: a}}}, {descriptor.name: {equals: a}}]}}",
        None,
    ),
    ("single-part-combinator", "bounds", "{none: [{descriptor.id: {equals: a}}]}", "'none' has one condition"),
    ("single-part-combinator", "bounds", "{not: {all: [{descriptor.id: {equals: a}}]}}", "'all' has one condition"),
    ("single-part-combinator", "bounds", "{not: {descriptor.id: {equals: a}}}", None),
    # operands
    ("in-with-one-value", "bounds", "{descriptor.bounds.hosts: {each: {not_in: [a]}}}", "'not_in' has one value"),
    ("in-with-one-value", "bounds", "{subject.capabilities: {subset_of: [read]}}", None),
    ("in-with-one-value", "tools", "{tool.name: {in: {fact: host.taken}}}", None),
    (
        "in-with-duplicates",
        "bounds",
        "{subject.capabilities: {subset_of: [read, write, read]}}",
        "'read' is in the list",
    ),
    ("in-with-duplicates", "bounds", "{descriptor.bounds.maxRequests: {in: [1, 1.0]}}", "'1.0' is in the list"),
    ("in-with-duplicates", "bounds", "{descriptor.bounds.maxRequests: {in: [1, true]}}", None),
    ("in-with-fact-map", "bounds", "{descriptor.bounds: {equals: {hosts: {fact: subject.hosts}}}}", "plain object"),
    ("in-with-fact-map", "bounds", "{descriptor.bounds: {equals: {fact: subject.hosts}}}", None),
    ("in-with-fact-map", "bounds", "{descriptor.bounds: {equals: {hosts: [{facts: x}]}}}", None),
    # spellings
    ("host-spelling", "bounds", "{descriptor.bounds.hosts: {contains: a.test}}", "one host"),
    ("host-spelling", "bounds", "{subject.hosts: {each: {matches: 'a[a-z]*'}}}", "one host"),
    ("host-spelling", "bounds", "{subject.hosts: {empty: true}}", None),
    ("host-spelling", "hosts", "{host: {type: host}}", None),
    ("host-spelling", "tools", "{tool.name: {equals: a.test}}", None),
    ("url-spelling", "tools", "{tool.params.url: {in: ['https://a.test/']}}", "'https:' in one spelling"),
    ("url-spelling", "tools", "{tool.params.url: {matches: '^ftp:[a-z]*'}}", "'ftp:' in one spelling"),
    ("url-spelling", "tools", "{tool.params.url: {matches: 'https?://a[a-z]*'}}", "'https:' in one spelling"),
    ("url-spelling", "tools", "{tool.params.url: {matches: '(?:ftp|http)s?:[a-z/]*'}}", "'ftp:' in one spelling"),
    ("url-spelling", "tools", "{tool.params.url: {matches: '[\\d\\D]*http:[a-z/]*'}}", "'http:' in one spelling"),
    ("url-spelling", "tools", "{tool.description: {matches: '[^\\n]*https?://.*'}}", "'https:' in one spelling"),
    ("url-spelling", "bounds", "{descriptor.description: {matches: 'see http:\\/\\/.*'}}", "'http:' in one spelling"),
    ("url-spelling", "tools", "{tool.description: {matches: 'over http: [a-z]*'}}", None),
    ("url-spelling", "tools", "{tool.params.url: {matches: '[Hh][Tt][Tt][Pp][Ss]?:[\\d\\D]*'}}", None),
    ("url-spelling", "tools", "{tool.params.url: {matches: '/xhttp:[a-z]*'}}", None),
    ("url-spelling", "tools", "{tool.params.url: {matches: '/[a-z]*'}}", None),
    ("url-spelling", "tools", "{tool.params.url: {exists: true}}", None),
    ("url-spelling", "tools", "{tool.params.path: {equals: 'http://a.test/'}}", None),
    ("header-spelling", "tools", "{tool.params.headers.Accept: {equals: x}}", "only 'Accept'"),
    ("header-spelling", "tools", "{tool.params.headers: {exists: true}}", None),
    # patterns
    ("pattern-is-literal", "bounds", "{descriptor.id: {matches: 'tide'}}", "this text"),
    ("pattern-is-literal", "bounds", "{descriptor.id: {matches: '(?:a|b)[cd]'}}", "these texts"),
    ("pattern-is-literal", "bounds", "{descriptor.id: {matches: '^$'}}", "this text"),
    ("pattern-is-literal", "bounds", "{descriptor.id: {matches: 'a(?:b^|c)'}}", None),
    ("pattern-is-literal", "bounds", "{descriptor.id: {matches: '[0-9][0-9]'}}", None),
    ("pattern-is-literal", "bounds", "{descriptor.id: {matches: '[abcdefghi][abcdefghi]'}}", None),
    ("pattern-is-literal", "bounds", "{descriptor.id: {matches: 'a|b[^c]'}}", None),
    ("pattern-is-literal", "bounds", "{descriptor.bounds.maxRequests: {matches: 'tide'}}", None),
    ("pattern-anchored", "bounds", "{descriptor.id: {matches: '^tide'}}", "so '^' says nothing"),
    ("pattern-anchored", "bounds", "{descriptor.id: {matches: 'tide$'}}", "so '$' says nothing"),
    ("pattern-anchored", "bounds", "{descriptor.id: {matches: ''}}", None),
    ("pattern-slow", "bounds", "{descriptor.bounds.hosts: {each: {matches: '(?:ab)*'}}}", "RE2"),
    ("pattern-dot", "bounds", "{not: {descriptor.id: {matches: 'a.*'}}}", None),
    ("pattern-dot", "bounds", "{none: [{not: {descriptor.id: {matches: '(?:a.+|b)'}}}]}", "line feed"),
    ("pattern-dot", "bounds", "{descriptor.id: {matches: '(a.*)'}}", "line feed"),
    ("pattern-dot", "bounds", "{descriptor.id: {matches: 'a.{1,9}'}}", None),
    ("pattern-is-literal", "bounds", "{descriptor.id: {matches: '(a)(b|c)'}}", "these texts"),
    # loops
    ("loop-unused", "tools", "{tool: {exists: true}}", None),
    ("loop-unused", "hosts", "{subject.hosts: {maxlength: 3}}", "'host'"),
]


#: What runs the checks of the table, none of which depends on other rules.
RUNS_ALONE = (
    typed.operand_type,
    typed.type_certain,
    typed.outside_domain,
    forms.duplicate_conditions,
    forms.double_negatives,
    forms.single_parts,
    operands.one_value,
    operands.duplicates,
    operands.fact_maps,
    spelling.hosts,
    spelling.urls,
    spelling.headers,
    matching.literal,
    matching.anchored,
    matching.slow,
    matching.one_line,
    sets.overlooked_elements,
)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """What is found in each row of the table, all rows being rules of one folder."""
    folder = tmp_path_factory.mktemp("cases")
    for number, (_, stage, when, _) in enumerate(CASES):
        (folder / f"row-{number}.yaml").write_text(
            completed(f"id: row-{number}\n" + rule(when, stage)), encoding="utf-8"
        )
    gates = Gates(capgate.open_gate(rules=[folder]))
    context = Context(gates, gather(gates, [folder]), [folder])
    found: dict[str, list[Finding]] = {}
    for finding in (finding for run in RUNS_ALONE for finding in run(context)):
        found.setdefault(finding.rule or "", []).append(finding)
    return found


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{CASES[number][0]} {CASES[number][2]}")
def test_a_check_finds_what_it_should_and_nothing_else(number: int, said: dict[str, list[Finding]]) -> None:
    check, _, _, says = CASES[number]
    findings = [finding for finding in said.get(f"row-{number}", ()) if finding.check == check]
    assert [says in finding.message for finding in findings if says] == [True] * bool(says)
    assert bool(findings) is (says is not None)
    assert all(finding.remedy and finding.span.line for finding in findings)


@pytest.mark.parametrize(
    ("loop", "when", "check", "expected"),
    [
        ("{need: tool.needs}", "{tool.name: {exists: true}}", "loop-unused", True),
        ("{need: tool.needs}", "{need: {equals: read}}", "loop-unused", False),
        ("{entry: subject.destinations}", "{entry.name: {equals: API.test}}", "host-spelling", True),
        ("{entry: subject.destinations}", "{entry.name: {in: ['a.test:80']}}", "host-spelling", True),
        ("{entry: subject.destinations}", "{entry.name: {in: ['a test', 5]}}", "host-spelling", True),
        ("{entry: subject.destinations}", "{entry.name: {equals: api.test}}", "host-spelling", False),
        ("{entry: subject.destinations}", "{entry.name: {matches: 'API[a-z]*'}}", "host-spelling", False),
        ("{entry: descriptor.bounds.hosts}", "{entry: {equals: api.test}}", "host-spelling", True),
        ("{entry: descriptor.bounds.window}", "{entry: {exists: true}}", "loop-over-no-list", True),
        ("{entry: descriptor.capabilities}", "{entry: {exists: true}}", "loop-over-no-list", False),
        ("{entry: tool.undeclared}", "{entry: {equals: wirte}}", "value-outside-domain", True),
        ("{entry: catalog.abis}", "{entry: {equals: abi}}", "value-outside-domain", True),
        ("{entry: tool.layout}", "{entry.name: {equals: input.adr}}", "value-outside-domain", True),
        ("{entry: tool.layout}", "{entry.name: {equals: input.addr}}", "value-outside-domain", False),
    ],
)
def test_a_check_sees_what_a_loop_walks_over(loop: str, when: str, check: str, expected: bool, tmp_path: Path) -> None:
    text = rule(when, "tools", f"    for_each: {loop}\n")
    assert bool(found(check, tmp_path / "mine", text)) is expected


@pytest.mark.parametrize(
    ("stage", "when", "reason", "expected"),
    [
        ("bounds", "{descriptor.bounds.hosts: {exists: true}}", "{descriptor.bounds}", False),
        ("bounds", "{descriptor.bounds: {exists: true}}", "{descriptor.bounds.hosts}", False),
        ("bounds", "{descriptor.bounds.hosts: {exists: true}}", "{descriptor.bounds.window}", True),
        ("bounds", "{subject.hosts: {minlength: 2}}", "{descriptor.bounds.hosts}", False),
        ("bounds", "{subject.hosts: {minlength: 2}}", "{descriptor.capabilities}", True),
        ("bounds", "{subject.hosts: {minlength: 2}}", "{placement.name} {descriptor.id}", False),
        ("tools", "{tool.params.url: {exists: true}}", "{tool.name} {tool.primitive}", False),
        ("tools", "{tool.params.url: {exists: true}}", "{tool.params.path}", True),
        ("tools", "{tool.undeclared: {empty: false}}", "{tool.needs} {tool.primitive}", True),
        ("tools", "{tool.layout: {empty: false}}", "{tool.wasm.abi}", False),
        ("bounds", "{descriptor.name: {equals: {fact: descriptor.source}}}", "{descriptor.source}", False),
    ],
)
def test_a_reason_may_show_what_the_trigger_reads(
    stage: str, when: str, reason: str, expected: bool, tmp_path: Path
) -> None:
    text = rule(when, stage, reason=reason)
    assert bool(found("reason-names-unread-path", tmp_path / "mine", text)) is expected


@pytest.mark.parametrize(
    ("when", "text", "expected"),
    [
        ("{descriptor.name: {exists: false}}", "{descriptor.name}", True),
        ("{descriptor.name: {equals: a}}", "{descriptor.name}", False),
        ("{not: {descriptor.name: {equals: a}}}", "{descriptor.name}", False),
        ("{descriptor.bounds.maxBytes: {min: 5, max: 4}}", "{descriptor.bounds.maxBytes}", False),  # never holds
        ("{placement.mechanism.eval: {exists: false}}", "{placement.mechanism.eval}", True),
    ],
)
def test_a_placeholder_without_a_value_is_found_in_reason_and_remedy(
    when: str, text: str, expected: bool, tmp_path: Path
) -> None:
    reasons = found("placeholder-always-absent", tmp_path / "a", rule(when, reason=text))
    own = found("placeholder-always-absent", tmp_path / "b", rule(when) + f"    remedy: '{text}'\n")
    whole = found("placeholder-always-absent", tmp_path / "c", f"remedy: '{text}'\n" + rule(when))
    assert [bool(some) for some in (reasons, own, whole)] == [expected] * 3
    if expected:
        assert [some[0].span.line for some in (reasons, own, whole)] == [4, 5, 1]


@pytest.mark.parametrize(
    ("when", "more", "expected"),
    [
        ("{not: {descriptor.source: {not_in: [a, b, c, d, e, f, g, h]}}}", "", 1),
        ("{descriptor.source: {in: [a, b, c, d, e, f, g, h]}}", "", 0),
        ("{all: [{descriptor.source: {matches: '[abcdefgh]'}}, {descriptor.id: {exists: true}}]}", "", 1),
        ("{descriptor.source: {matches: '[abc]'}}", "", 0),
        ("{any: [{descriptor.source: {in: [a, b, c, d]}}, {descriptor.id: {in: [e, f, g]}}]}", "", 0),
        ("{any: [{descriptor.source: {in: [a, b, c, d]}}, {descriptor.id: {in: [e, f, g, h]}}]}", "", 1),
        ("{any: [{descriptor.source: {in: [a, b, c, d, e, f, g, h]}}, {descriptor.id: {exists: false}}]}", "", 0),
        ("{entry: {in: [a, b, c, d, e, f, g, h]}}", "    for_each: {entry: tool.params.x}\n", 1),
        ("{entry: {equals: a}}", "    for_each: {entry: tool.params.x}\n", 0),
        ("{not: {all: [{descriptor.source: {equals: a}}, {descriptor.id: {equals: b}}]}}", "", 0),
        ("{not: {descriptor.source: {equals: a}}}", "", 0),
    ],
)
def test_texts_that_could_be_looked_up_are_counted(when: str, more: str, expected: int, tmp_path: Path) -> None:
    stage = "tools" if more else "bounds"
    assert len(found("index-unusable", tmp_path / "mine", rule(when, stage, more))) == expected


def test_texts_of_several_rules_count_together(tmp_path: Path) -> None:
    names = "abcdefgh"
    rules = {f"r{name}": rule(f"{{descriptor.capabilities: {{contains: {name}}}}}") for name in names[1:]}
    first = rule("{descriptor.capabilities: {contains: a}}")
    assert len(found("index-unusable", tmp_path / "mine", first, **rules)) == len(names)


def test_a_title_and_a_trigger_of_a_shipped_rule_are_known(tmp_path: Path) -> None:
    text = "title: no Tools evaluates  CODE\n" + rule("{capability: {equals: eval}}", "capabilities")
    assert found("title-same-as-other", tmp_path / "a", text) == []
    (same,) = found("title-same-as-other", tmp_path / "b", text.replace("Tools", "tool"))
    assert "'eval-not-a-tool-path'" in same.message
    (twice,) = found("duplicate-trigger", tmp_path / "c", text)
    assert "trigger 1 of 'eval-not-a-tool-path'" in twice.message


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("https://a.test/x.md", None),
        ("the gate contract, section 3", None),
        ("nowhere/at/all.md", None),
        ("README.md", None),
        ("README.md#few-bytes", None),
        ("./README.md#none", "'./README.md' has no heading '#none'"),
        ("other.md", "there is no file 'other.md'"),
    ],
)
def test_references_are_followed_where_they_lead_to_files(reference: str, problem: str | None, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "README.md").write_text("# Mine\n\n## Few bytes\n", encoding="utf-8")
    text = f"references: ['{reference}']\n" + rule("{descriptor.id: {equals: a}}")
    assert [finding.message for finding in found("reference-broken", folder, text)] == [problem] * bool(problem)


def test_cases_count_as_tests_of_a_trigger(tmp_path: Path) -> None:
    tool = "tools: [{name: a, primitive: now}]"
    examples = f"examples:\n  refused:\n    - {{descriptor: {{id: a, {tool}}}}}\n"
    text = rule("{descriptor.id: {equals: a}}")
    text += "  - stage: bounds\n    when: {descriptor.id: {equals: b}}\n    reason: so\n" + examples
    assert len(found("trigger-without-example", tmp_path / "mine", text)) == 1
    (tmp_path / "mine" / "tests").mkdir()
    case = f"cases:\n  - {{name: b, descriptor: {{id: b, {tool}}}, refused: [example]}}\n"
    (tmp_path / "mine" / "tests" / "cases.yaml").write_text(case, encoding="utf-8")
    assert found("trigger-without-example", tmp_path / "mine", text) == []


def test_admitted_examples_need_an_element_unless_every_element_is_refused(tmp_path: Path) -> None:
    tool = "tools: [{name: a, primitive: now}]"
    network = "capabilities: [network], bounds: {hosts: [a b], maxRequests: 1}"
    examples = f"examples:\n  refused:\n    - {{descriptor: {{{network}, {tool}}}}}\n"
    examples += f"  admitted:\n    - {{descriptor: {{{tool}}}}}\n"
    asking = found("example-tests-nothing", tmp_path / "a", rule("{host: {equals: a b}}", "hosts") + examples)
    assert [finding.span.line for finding in asking] == [9]
    assert found("example-tests-nothing", tmp_path / "b", rule("{host: {exists: true}}", "hosts") + examples) == []


def test_an_example_that_is_refused_and_admitted_cannot_be_both(tmp_path: Path) -> None:
    example = "[{descriptor: {id: a, tools: [{name: a, primitive: now}]}}]"
    text = rule("{descriptor.id: {equals: a}}") + f"examples:\n  refused: {example}\n  admitted: {example}\n"
    (both,) = found("example-duplicate", tmp_path / "mine", text)
    assert both.message.endswith("under 'refused': it cannot be both")


# The schema


def test_the_compiled_shape_check_and_cerberus_say_the_same_of_generated_documents() -> None:
    tried = list(documents(DESCRIPTOR))
    holds = Shape(DESCRIPTOR, "descriptor").holds
    assert difference(DESCRIPTOR, holds, tried) is None
    assert 30 < sum(holds(document) for document in tried) < len(tried) - 30
    assert difference(DESCRIPTOR, lambda document: True, tried) is not None


def test_no_document_is_compared_where_a_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Shape(DESCRIPTOR, "descriptor").holds

    def passes_over_ids(document: Any) -> bool:
        return real({**document, "id": "a"} if type(document) is dict else document)

    monkeypatch.setattr(Shape, "holds", property(lambda self: passes_over_ids, lambda self, value: None), False)
    assert difference(DESCRIPTOR, Shape(DESCRIPTOR, "descriptor").holds, documents(DESCRIPTOR)) is not None
    assert found("cerberus-differs", tmp_path / "mine", rule("{descriptor.id: {equals: a}}")) == []


def test_the_shipped_rules_are_clean() -> None:
    report = lint(Gates(capgate.open_gate()))
    assert (report.findings, report.undecided, report.rules) == ((), (), 14)
    assert all(one.reason for _, one in report.ignored)
