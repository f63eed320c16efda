"""What is claimed of every descriptor: never, always, implied, contradicting, shadowed."""

from __future__ import annotations

from pathlib import Path

import pytest

import capgate
from capgate.policy.authoring.given import Gates
from capgate.policy.authoring.lint.claims import claims
from capgate.policy.authoring.lint.context import Context
from capgate.policy.authoring.lint.finding import Finding
from capgate.policy.authoring.suite import gather
from lint_samples import completed, ids, linted

Claimed = dict[tuple[str, str], list[Finding]]

PROOFS = {
    "trigger-never-holds",
    "trigger-always-holds",
    "condition-implied",
    "condition-contradicts",
    "rule-shadowed",
    "duplicate-trigger",
}


def rule(when: str, stage: str = "bounds", more: str = "") -> str:
    """A rule with one trigger."""
    return f"triggers:\n  - stage: {stage}\n{more}    when: {when}\n    reason: so\n"


def proofs(folder: Path, text: str, **files: str) -> list[Finding]:
    return [finding for finding in linted(folder, text, **files).findings if finding.check in PROOFS]


NEVER = [
    ("bounds", "{descriptor.bounds.maxBytes: {min: 5, max: 4}}"),
    ("bounds", "{all: [{descriptor.bounds.maxBytes: {min: 4.2}}, {descriptor.bounds.maxBytes: {max: 4.8}}]}"),
    ("bounds", "{descriptor.runsIn: {in: [machine, browser]}}"),
    ("bounds", "{descriptor.id: {minlength: 101}}"),
    ("bounds", "{descriptor.bounds.maxRequests: {in: []}}"),
    ("bounds", "{all: [{descriptor.bounds: {exists: false}}, {descriptor.bounds.hosts: {exists: true}}]}"),
    ("bounds", "{all: [{descriptor.bounds: {type: 'null'}}, {descriptor.bounds.hosts: {exists: true}}]}"),
    ("bounds", "{all: [{descriptor.bounds: {equals: {hosts: []}}}, {descriptor.bounds.hosts: {contains: a.test}}]}"),
    ("bounds", "{all: [{subject.capabilities: {contains: read}}, {subject.capabilities: {maxlength: 0}}]}"),
    ("bounds", "{all: [{subject.capabilities: {contains: read}}, {subject.capabilities: {subset_of: [write]}}]}"),
    ("bounds", "{all: [{subject.capabilities: {contains: read}}, {descriptor.capabilities: {exists: false}}]}"),
    ("bounds", "{all: [{subject.hosts: {empty: false}}, {subject.capabilities: {lacks: network}}]}"),
    ("bounds", "{all: [{placement.name: {equals: browser}}, {placement.name: {equals: machine}}]}"),
    ("bounds", "{all: [{placement.mechanism.read: {exists: true}}, {placement.mechanisms: {lacks: read}}]}"),
    ("bounds", "{catalog.primitives: {contains: shell}}"),
    ("bounds", "{host.taken: {empty: true}}"),
    ("bounds", "{all: [{host.taken: {contains: zeta}}, {descriptor.id: {minlength: 101}}]}"),
    ("bounds", "{all: [{descriptor.id: {matches: '[a-f]{8}'}}, {descriptor.id: {maxlength: 7}}]}"),
    ("capabilities", "{all: [{capability: {equals: read}}, {subject.capabilities: {lacks: read}}]}"),
    ("hosts", "{subject.capabilities: {lacks: network}}"),
    ("tools", "{all: [{tool.known: {equals: true}}, {tool.primitive: {equals: shell}}]}"),
    ("tools", "{all: [{tool.undeclared: {contains: read}}, {tool.primitive: {equals: now}}]}"),
    ("tools", "{all: [{tool.undeclared: {contains: read}}, {subject.capabilities: {contains: read}}]}"),
    ("tools", "{all: [{tool.layout: {empty: false}}, {tool.wasm.abi: {equals: none}}]}"),
    ("tools", "{all: [{tool.layout: {empty: false}}, {tool.primitive: {equals: now}}]}"),
    ("tools", "{all: [{tool.first_use: {exists: true}}, {tool.name: {exists: false}}]}"),
    ("tools", "{all: [{tool.name: {in: {fact: host.taken}}}, {tool.name: {not_in: {fact: host.taken}}}]}"),
    ("tools", "{all: [{tool.name: {equals: task_status}}, {tool.name: {not_in: {fact: host.taken}}}]}"),
    ("tools", "{all: [{tool.wasm: {equals: x}}, {tool.wasm.path: {exists: true}}]}"),
    ("tools", "{subject.tools: {empty: true}}"),
    ("bounds", "{descriptor: {type: object, minlength: 174763}}"),  # six characters for each key are over 1 MiB
]
SOMETIMES = [
    ("bounds", "{descriptor.bounds.maxBytes: {min: 4, max: 4}}"),
    ("bounds", "{descriptor.bounds.maxRequests: {min: 5, max: 4}}"),  # unknown of a text
    ("bounds", "{descriptor.bounds.maxRequests: {in: [5]}}"),
    (
        "bounds",
        "{all: [{descriptor.bounds.maxRequests: {type: number, min: 4, max: 5, not_in: [4, 5]}}]}",
    ),
    (
        "bounds",
        "{all: [{descriptor.bounds.maxRequests: {type: whole, min: 4, max: 6, not_in: [4, 6]}}]}",
    ),
    ("bounds", "{descriptor.id: {minlength: 100}}"),
    ("bounds", "{all: [{subject.capabilities: {contains: read}}, {subject.capabilities: {maxlength: 1}}]}"),
    ("bounds", "{all: [{subject.capabilities: {contains: read}}, {descriptor.capabilities: {lacks: write}}]}"),
    ("bounds", "{all: [{descriptor.bounds: {equals: {hosts: []}}}, {descriptor.bounds.hosts: {empty: true}}]}"),
    ("bounds", "{placement.mechanisms: {contains: exec}}"),  # as a test can suppose
    ("bounds", "{placement.mechanisms: {equals: [write, read]}}"),
    ("bounds", "{descriptor.capabilities: {contains: {fact: placement.mechanism.eval}}}"),
    ("bounds", "{descriptor.name: {equals: {fact: descriptor.id}}}"),
    ("bounds", "{host.taken: {contains: zeta}}"),
    ("bounds", "{placement.name: {equals: {fact: descriptor.id}}}"),
    ("bounds", "{placement.name: {in: {fact: host.taken}}}"),
    ("bounds", "{all: [{descriptor.id: {matches: '[a-f]{8}'}}, {descriptor.id: {maxlength: 8}}]}"),
    ("capabilities", "{all: [{capability: {equals: read}}, {subject.capabilities: {lacks: write}}]}"),
    ("tools", "{all: [{tool.undeclared: {contains: read}}, {subject.capabilities: {contains: write}}]}"),
    ("tools", "{all: [{tool.layout: {empty: false}}, {tool.wasm.abi: {equals: buffer-abi/1}}]}"),
    ("tools", "{tool.name: {in: {fact: host.taken}, minlength: 40}}"),
    ("tools", "{tool.params.depth: {min: 5, max: 4}}"),
    ("bounds", "{descriptor: {type: object, minlength: 131400}}"),
]
ALWAYS = [
    ("bounds", "{any: [{descriptor.id: {exists: true}}, {descriptor.id: {exists: false}}]}"),
    ("bounds", "{not: {descriptor.bounds.maxBytes: {min: 5, max: 4}}}"),
    ("bounds", "{subject.capabilities: {type: list}}"),
    ("bounds", "{descriptor.id: {not_in: [5]}}"),
    ("bounds", "{descriptor.capabilities: {subset_of: {fact: placement.name}}}"),  # unknown of everything
    ("capabilities", "{subject.capabilities: {empty: false}}"),
    ("hosts", "{subject.capabilities: {contains: network}}"),
]


#: By stage, the keys of the smallest descriptor that has an element there: lengths of lists, keys of objects.
SMALLEST: dict[str, dict[str, int | list[str]]] = {
    "bounds": {},
    "capabilities": {"capabilities": 1},
    "hosts": {"capabilities": 1, "bounds": ["hosts"]},
}
ROWS = [*NEVER, *SOMETIMES, *ALWAYS]


@pytest.fixture(scope="module")
def claimed(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[Finding]]:
    """What is claimed of the trigger of each row, all of them being rules of one folder."""
    folder = tmp_path_factory.mktemp("rows")
    for number, (stage, when) in enumerate(ROWS):
        text = completed(f"id: row-{number}\n{rule(when, stage)}")
        (folder / f"row-{number}.yaml").write_text(text, encoding="utf-8")
    gates = Gates(capgate.open_gate(rules=[folder]))
    context = Context(gates, gather(gates, [folder]), [folder])
    found: dict[tuple[str, str], list[Finding]] = {row: [] for row in ROWS}
    for asker in context.askers:
        row = ROWS[int(asker.rule.id.removeprefix("row-"))]
        found[row] += [one for one in claims(asker, context) if isinstance(one, Finding)]
    return found


@pytest.mark.parametrize("row", NEVER)
def test_a_trigger_that_can_never_hold_is_found(row: tuple[str, str], claimed: Claimed) -> None:
    (found,) = claimed[row]
    assert found.check == "trigger-never-holds"
    assert found.witness is None


@pytest.mark.parametrize("row", SOMETIMES)
def test_a_trigger_that_sometimes_holds_is_not(row: tuple[str, str], claimed: Claimed) -> None:
    assert {found.check for found in claimed[row]} & {"trigger-never-holds", "trigger-always-holds"} == set()


@pytest.mark.parametrize("row", ALWAYS)
def test_a_trigger_that_always_holds_is_found_with_the_smallest_descriptor(
    row: tuple[str, str], claimed: Claimed
) -> None:
    (found,) = claimed[row]
    assert found.check == "trigger-always-holds"
    assert found.witness is not None
    descriptor = found.witness.descriptor
    shape = {key: len(part) if isinstance(part, list) else list(part) for key, part in descriptor.items()}
    assert shape == SMALLEST[row[0]]


@pytest.mark.parametrize(
    ("loop", "when", "check"),
    [
        ("{entry: tool.wasm}", "{entry: {equals: 5}}", set()),
        ("{entry: tool.wasm}", "{entry: {in: []}}", set()),  # it refuses where there is no list
        ("{entry: tool.needs}", "{entry: {equals: exec}}", {"trigger-never-holds"}),
        ("{entry: tool.undeclared}", "{entry: {equals: read}}", set()),
        ("{entry: tool.layout}", "{tool.primitive: {equals: now}}", {"trigger-never-holds"}),
        ("{entry: tool.layout}", "{entry: {equals: {name: input.addr, value: 5}}}", set()),
        ("{entry: subject.faults}", "{entry: {exists: true}}", {"trigger-never-holds"}),
        ("{entry: placement.mechanism.exec}", "{entry: {in: []}}", set()),
        ("{entry: placement.mechanisms}", "{entry: {equals: exec}}", set()),
        ("{entry: host.taken}", "{entry: {equals: task_status}}", set()),
        (
            "{entry: descriptor.bounds.hosts}",
            "{all: [{entry: {equals: a}}, {descriptor.bounds.hosts: {contains: b}}, {subject.tools: {empty: true}}]}",
            set(),  # it refuses where there is no list
        ),
        ("{entry: catalog.primitives}", "{entry: {equals: shell}}", {"trigger-never-holds"}),
    ],
)
def test_loops_count_in_what_can_hold(loop: str, when: str, check: set[str], tmp_path: Path) -> None:
    found = proofs(tmp_path / "mine", rule(when, "tools", f"    for_each: {loop}\n"))
    assert {one.check for one in found} & {"trigger-never-holds", "trigger-always-holds"} == check


@pytest.mark.parametrize(
    ("when", "implied"),
    [
        ("{descriptor.bounds.maxBytes: {min: 1, exists: true}}", "exists"),
        ("{descriptor.bounds.maxBytes: {min: 1, max: 9}}", None),
        ("{descriptor.id: {matches: '[a-f]{8}', minlength: 8}}", "minlength"),
        ("{any: [{descriptor.source: {in: [a, b]}}, {descriptor.source: {equals: a}}]}", "equals"),
        ("{none: [{descriptor.source: {in: [a, b]}}, {descriptor.source: {equals: a}}]}", "equals"),
        ("{not: {descriptor.bounds.hosts: {type: list, minlength: 1}}}", None),  # it says what a value has to be
        ("{any: [{descriptor.name: {exists: true}}, {descriptor.name: {equals: {fact: descriptor.id}}}]}", None),
        ("{any: [{descriptor.runsIn: {equals: host}}, {descriptor.bounds.maxBytes: {min: 5, max: 4}}]}", None),
    ],
)
def test_a_condition_that_changes_nothing_is_found(when: str, implied: str | None, tmp_path: Path) -> None:
    found = [one for one in proofs(tmp_path / "mine", rule(when)) if one.check == "condition-implied"]
    assert [implied in one.message.partition(" changes")[0] for one in found if implied] == [True] * bool(implied)
    assert bool(found) is (implied is not None)


def test_a_part_that_can_never_hold_is_named_and_its_own_parts_are_not(tmp_path: Path) -> None:
    when = "{any: [{descriptor.runsIn: {equals: host}}, {descriptor.bounds.maxBytes: {min: 5, max: 4, exists: true}}]}"
    (found,) = proofs(tmp_path / "mine", rule(when))
    assert found.check == "condition-contradicts"
    assert "{min: 5}" in found.message


def test_the_fewest_conditions_that_cannot_be_met_are_named(tmp_path: Path) -> None:
    when = (
        "{all: [{descriptor.id: {exists: true}}, {descriptor.bounds.maxBytes: {min: 5}}, "
        "{descriptor.name: {exists: true}}, {descriptor.bounds.maxBytes: {max: 4}}]}"
    )
    (found,) = proofs(tmp_path / "mine", rule(when))
    assert found.message == (
        "the trigger never holds, whatever the descriptor is: 'descriptor.bounds.maxBytes: {min: 5}' and "
        "'descriptor.bounds.maxBytes: {max: 4}' cannot be met together"
    )


# Shadows

SHADOWED = [
    ("backstop", "{capability: {equals: eval}}", "", "eval-not-a-tool-path"),
    ("backstop", "{capability: {equals: bogus}}", "", "unknown-capability"),
    ("tools", "{tool.primitive: {in: [shell, bash]}}", "", "unknown-primitive"),
    ("tools", "{all: [{tool.primitive: {equals: read-file}}, {subject.capabilities: {empty: true}}]}", "",
     "under-declared"),
    ("backstop", "{subject.tools: {empty: true}}", "", "no-tools"),
    ("tools", "{tool.undeclared: {contains: write}}", "", "under-declared"),
    ("tools", "{not: {field.value: {type: whole, min: 5, max: 4}}}", "    for_each: {field: tool.layout}\n", None),
    ("tools", "{field.value: {equals: -1}}", "    for_each: {field: tool.layout}\n", "under-declared"),
    ("backstop", "{descriptor.bounds.maxBytes: {min: 5}}", "", None),
    ("capabilities", "{capability: {equals: read}}", "", None),
    ("bounds", "{all: [{subject.capabilities: {contains: network}}, {descriptor.bounds.hosts: {empty: true}}]}", "",
     "network-unbounded"),
    ("bounds", "{entry: {equals: 5}}", "    for_each: {entry: descriptor.bounds.hosts}\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("stage", "when", "more", "by"), SHADOWED)
def test_a_trigger_that_never_speaks_first_is_found_with_the_rule_that_does(
    stage: str, when: str, more: str, by: str | None, tmp_path: Path
) -> None:
    found = [one for one in proofs(tmp_path / "mine", rule(when, stage, more)) if one.check == "rule-shadowed"]
    assert [f"the rule '{by}'" in one.message for one in found] == [True] * bool(by)
    assert all(one.witness for one in found)


def test_a_rule_that_only_warns_shadows_nothing(tmp_path: Path) -> None:
    first = "severity: warn\n" + rule("{descriptor.id: {exists: true}}")
    second = rule("{descriptor.id: {equals: a}}")
    assert proofs(tmp_path / "mine", second, earlier=first) == []
    found = proofs(tmp_path / "other", second, earlier=first.replace("warn", "refuse"))
    assert {one.check for one in found} == {"rule-shadowed"}
    assert "'earlier'" in found[0].message


@pytest.mark.long
def test_a_trigger_that_refuses_where_there_is_no_list_is_not_shadowed_by_one_that_does_not(tmp_path: Path) -> None:
    first = rule("{tool.description: {equals: q}}", "tools")
    loop = "    for_each: {entry: tool.wasm.inputB.bytes}\n"
    second = rule("{all: [{tool.description: {equals: q}}, {entry: {exists: true}}]}", "tools", loop)
    tool = "{name: a, primitive: now, description: q, wasm: {inputB: {bytes: [1]}}}"
    second += f"examples:\n  refused: [{{descriptor: {{tools: [{tool}]}}}}]\n"
    assert "rule-shadowed" not in {one.check for one in proofs(tmp_path / "mine", second, earlier=first)}
    listed = second.replace("tool.wasm.inputB.bytes", "tool.needs").replace("now", "read-file")
    assert "rule-shadowed" in {one.check for one in proofs(tmp_path / "other", listed, earlier=first)}


def test_an_earlier_trigger_of_the_same_rule_shadows(tmp_path: Path) -> None:
    text = (
        rule("{descriptor.id: {exists: true}}")
        + "  - stage: bounds\n    when: {descriptor.id: {equals: a}}\n    reason: so\n"
    )
    (found,) = proofs(tmp_path / "mine", text)
    assert found.check == "rule-shadowed"
    assert "an earlier trigger of the rule" in found.message


def test_two_triggers_of_a_rule_shadow_together(tmp_path: Path) -> None:
    first = rule("{descriptor.runsIn: {equals: host}}")
    first += "  - stage: bounds\n    when: {descriptor.runsIn: {in: [process, remote]}}\n    reason: so\n"
    (found,) = proofs(tmp_path / "mine", rule("{descriptor.runsIn: {exists: true}}"), earlier=first)
    assert found.check == "rule-shadowed"


# What is too much


def many(count: int) -> str:
    parts = ", ".join(f"{{tool.params.p{number}: {{min: {number}, max: 90}}}}" for number in range(count))
    return f"{{all: [{parts}]}}"


def test_what_is_too_large_is_said_not_to_be_decided_and_claimed_of_nothing(tmp_path: Path) -> None:
    report = linted(tmp_path / "mine", rule(many(9), "tools"))
    assert ids(report.findings) & PROOFS == set()
    (undecided,) = report.undecided
    assert undecided.checks[0] == "trigger-never-holds" or "condition-implied" in undecided.checks
    assert undecided.why == "the trigger has more than 200000 ways to be answered"


def test_a_few_values_are_not_too_large(tmp_path: Path) -> None:
    assert linted(tmp_path / "mine", rule(many(3), "tools")).undecided == ()
