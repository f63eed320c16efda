"""Every broken rule file of the corpus is refused by the ids, at the places and with the words that its index gives."""

from __future__ import annotations

import builtins
import json
import os
import shutil
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import capgate
from capgate.plugins.api import Operator
from capgate.policy.catalog import Catalog
from capgate.policy.documents import DocumentError
from capgate.policy.errors import CapgateError, PolicyInvalid, Span
from capgate.policy.rule_errors import RuleError
from capgate.policy.ruleset import RuleFolder, load_ruleset
from plugin_samples.faulty import Plugin

CORPUS = Path(__file__).parents[1] / "corpus" / "rules"
CASES = [json.loads(line) for line in (CORPUS / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
FINE = """
id: {id}
title: A rule
applies_to: descriptor
triggers:
  - stage: tools
    when: {{tool.name: {{equals: a}}}}
    reason: because
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return capgate.open_gate().catalog


def problems(*folders: Path) -> tuple[CapgateError, ...]:
    """What is wrong with overlays; at least something has to be."""
    with pytest.raises(PolicyInvalid) as caught:
        capgate.open_gate(rules=folders)
    return caught.value.problems


def write(folder: Path, *ids: str) -> Path:
    """Makes a folder of sound rules."""
    folder.mkdir(parents=True, exist_ok=True)
    for id in ids:
        (folder / f"{id}.yaml").write_text(FINE.format(id=id), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[CapgateError, ...]]:
    """A folder with every single broken file, and its problems: no file hides what is wrong in another."""
    folder = tmp_path_factory.mktemp("rules")
    for case in CASES:
        if case["case"].endswith(".yaml"):
            shutil.copy(CORPUS / case["case"], folder)
    return folder, problems(folder)


def hold(case: dict[str, Any], answer: Sequence[CapgateError], folder: Path) -> None:
    """Compares problems with the index; files are named relative to `folder`."""
    places = []
    for problem in answer:
        assert problem.span is not None
        file = Path(problem.span.file).relative_to(folder).as_posix()
        places.append({"id": problem.id, "file": file, "line": problem.span.line, "column": problem.span.column})

    assert places == [{key: expected[key] for key in ("id", "file", "line", "column")} for expected in case["problems"]]
    for problem, expected in zip(answer, case["problems"], strict=True):
        assert expected.get("says", "") in problem.message
        assert expected.get("hint", "") in problem.hint
        assert problem.hint
        assert len(problem.message) < 300


def cases(*, single: bool) -> list[Any]:
    return [pytest.param(case, id=case["case"]) for case in CASES if case["case"].endswith(".yaml") is single]


@pytest.mark.parametrize("case", cases(single=True))
def test_a_broken_rule_file_is_refused_by_every_id_and_place(
    case: dict[str, Any], together: tuple[Path, tuple[CapgateError, ...]]
) -> None:
    folder, answer = together
    own = [problem for problem in answer if problem.span and problem.span.file == str(folder / case["case"])]
    hold(case, own, folder)


@pytest.mark.parametrize("case", cases(single=False))
def test_a_broken_folder_is_refused_by_every_id_and_place(
    case: dict[str, Any], tmp_path: Path, catalog: Catalog
) -> None:
    shutil.copytree(CORPUS / case["case"], tmp_path, dirs_exist_ok=True)
    if "shipped" in case:
        with pytest.raises(PolicyInvalid) as caught:
            load_ruleset(catalog, RuleFolder(tmp_path, "capgate"))
        answer = caught.value.problems
    else:
        answer = problems(*(tmp_path / name for name in case.get("overlays", ["."])))
    hold(case, answer, tmp_path)


def test_the_index_lists_every_file_of_the_corpus() -> None:
    entries = sorted(path.name for path in CORPUS.iterdir() if path.name != "expected.jsonl")
    assert sorted(case["case"] for case in CASES) == entries
    assert len(entries) >= 250


def test_the_corpus_and_the_tests_below_meet_every_id() -> None:
    met = {problem["id"] for case in CASES for problem in case["problems"]}
    # A folder that cannot be read cannot be kept in a repository.
    assert met - set(DocumentError.ids) == set(RuleError.ids) - {"rules-unreadable"}


def test_a_message_names_file_line_and_column(tmp_path: Path) -> None:
    shutil.copy(CORPUS / "operator-unknown.yaml", tmp_path)
    with pytest.raises(PolicyInvalid) as caught:
        capgate.open_gate(rules=[tmp_path])

    assert str(caught.value).splitlines()[1] == (
        f"  {tmp_path / 'operator-unknown.yaml'}:6:35: operator-unknown: "
        "no operator is called 'contain' (Did you mean 'contains'?)"
    )


def test_a_sound_overlay_is_taken(tmp_path: Path) -> None:
    gate = capgate.open_gate(rules=[write(tmp_path, "fine", "other")])
    assert gate.rule("fine") is not None


def test_what_is_left_alone_is_no_problem(tmp_path: Path) -> None:
    write(tmp_path, "fine")
    for name in ("README.md", ".hidden.yaml", ".yaml", "__init__.py", ".git"):
        (tmp_path / name).write_text("{", encoding="utf-8")
    write(tmp_path / "tests", "cases")
    (tmp_path / "__pycache__").mkdir()

    assert capgate.open_gate(rules=[tmp_path]).rule("fine") is not None


@pytest.mark.parametrize("text", ["", "/no/such/folder", "rules\0"])
def test_a_folder_that_is_not_there_is_named(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.txt").touch()
    monkeypatch.chdir(tmp_path)
    for problem in problems(Path(text)):
        assert problem.id in ("rules-unreadable", "rules-foreign", "rules-empty")
        assert problem.span is not None


def test_a_folder_that_is_a_file_cannot_be_read(tmp_path: Path) -> None:
    file = write(tmp_path, "fine") / "fine.yaml"
    (problem,) = problems(file)
    assert (problem.id, problem.span and problem.span.file) == ("rules-unreadable", str(file))


def test_every_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    names = [tmp_path / "one", tmp_path / "two"]
    assert [problem.span and problem.span.file for problem in problems(*names)] == [str(name) for name in names]


def _link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "nothing")


def _link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def _link_that_leaves(path: Path) -> None:
    write(path.parent.parent / "elsewhere", path.stem)
    path.symlink_to(path.parent.parent / "elsewhere" / path.name)


def _link_up(path: Path) -> None:
    path.symlink_to("..")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)  # the system takes short names of sockets only
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize(
    ("make", "id", "says"),
    [
        (_link_to_nothing, "rules-unreadable", "No such file"),
        (_link_to_itself, "rules-unreadable", "cannot be read"),
        (_link_that_leaves, "rules-foreign", "is a link that leaves the folder"),
        (_link_up, "rules-foreign", "is a link that leaves the folder"),
        (_pipe, "rules-foreign", "is not a regular file"),
        (_socket, "rules-foreign", "is not a regular file"),
    ],
)
def test_what_is_no_readable_file_is_named_and_not_passed_over(
    make: Callable[[Path], None], id: str, says: str, tmp_path: Path
) -> None:
    odd = write(tmp_path / "rules", "fine") / "odd.yaml"
    make(odd)
    (problem,) = problems(tmp_path / "rules")

    assert (problem.id, problem.span and problem.span.file) == (id, str(odd))
    assert says in problem.message


@pytest.mark.parametrize("make", [_link_to_nothing, _link_that_leaves, _pipe])
def test_a_folder_in_which_nothing_can_be_read_is_not_called_empty(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    odd = write(tmp_path / "rules") / "odd.yaml"
    make(odd)
    (problem,) = problems(tmp_path / "rules")
    assert problem.span == Span(str(odd))


@pytest.mark.parametrize("left_alone", [[], ["README.md", ".hidden.yaml"]])
def test_a_folder_without_rules_is_called_empty_whatever_is_wrong_with_others(
    left_alone: list[str], tmp_path: Path
) -> None:
    for name in left_alone:
        (tmp_path / name).touch()
    _link_to_nothing(write(tmp_path / "tests") / "odd.yaml")
    found = problems(tmp_path / "tests", tmp_path / "nothing", tmp_path)
    assert sorted((problem.id, str(problem.span)) for problem in found) == [
        ("rules-empty", str(tmp_path)),
        ("rules-unreadable", str(tmp_path / "nothing")),
        ("rules-unreadable", str(tmp_path / "tests" / "odd.yaml")),
    ]


def test_a_folder_that_is_a_link_to_itself_cannot_be_read(tmp_path: Path) -> None:
    _link_to_itself(tmp_path / "rules")
    assert [problem.id for problem in problems(tmp_path / "rules")] == ["rules-unreadable"]


def test_links_that_stay_inside_are_followed(tmp_path: Path) -> None:
    write(tmp_path / "rules" / "tests", "linked")
    (tmp_path / "rules" / "linked.yaml").symlink_to(Path("tests", "linked.yaml"))
    (tmp_path / "link").symlink_to("rules")
    assert capgate.open_gate(rules=[tmp_path / "link"]).rule("linked") is not None


def test_a_second_name_for_a_rule_is_another_rule_with_the_wrong_id(tmp_path: Path) -> None:
    (write(tmp_path, "first") / "second.yaml").symlink_to("first.yaml")
    (problem,) = problems(tmp_path)
    assert (problem.id, problem.span and problem.span.file) == ("rule-id", str(tmp_path / "second.yaml"))
    assert problem.message.endswith(f"'second.yaml', and {tmp_path / 'first.yaml'} has that id, too")
    assert problem.hint == "Give one of the two another id, and name its file after it."


def test_each_of_two_files_that_no_rule_is_named_after_names_the_other(tmp_path: Path) -> None:
    write(tmp_path, "a", "b")
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(FINE.format(id="c"), encoding="utf-8")
    assert [problem.message for problem in problems(tmp_path)] == [
        f"the rule 'c' is in a file called 'a.yaml', and {tmp_path / 'b.yaml'} has that id, too",
        f"the rule 'c' is in a file called 'b.yaml', and {tmp_path / 'a.yaml'} has that id, too",
    ]


def test_a_file_whose_rule_is_there_in_another_folder_gets_another_id(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(FINE.format(id="no-tools"), encoding="utf-8")
    (problem,) = problems(tmp_path)
    assert problem.id == "rule-id"
    assert problem.message.endswith("no-tools.yaml has that id, too")
    assert problem.hint == "Choose another id, and name the file after it; a rule cannot be replaced."


def test_a_file_that_is_only_called_otherwise_is_to_be_renamed(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(FINE.format(id="other"), encoding="utf-8")
    for problem in problems(tmp_path, tmp_path):
        assert (problem.id, problem.hint) in [("rule-id", RuleError.ids["rule-id"]), ("rule-id-taken", problem.hint)]
        assert "too" not in problem.message


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n", "null\n", "[]\n", "a text\n"])
def test_a_file_that_holds_no_rule_is_told_what_a_rule_needs(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    (problem,) = problems(tmp_path)
    assert problem.span is not None
    assert problem.span.file == str(tmp_path / "mine.yaml")
    assert problem.span.line is not None
    assert problem.hint == (
        "A rule file has at least id, title, applies_to and triggers; 'capgate new rule ID' writes one to begin with."
    )


@pytest.mark.parametrize(("size", "sound"), [(1 << 20, True), ((1 << 20) + 1, False)])
def test_a_file_may_have_one_mebibyte(size: int, sound: bool, tmp_path: Path) -> None:
    file = write(tmp_path, "large") / "large.yaml"
    text = file.read_bytes()
    file.write_bytes(text + b"#" * (size - len(text)))
    if sound:
        assert capgate.open_gate(rules=[tmp_path]).rule("large") is not None
    else:
        assert [problem.id for problem in problems(tmp_path)] == ["document-too-large"]


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.yaml")
    (tmp_path / name).write_text(FINE.format(id="cafe"), encoding="utf-8")
    (problem,) = problems(tmp_path)
    assert problem.id == "rule-id"
    assert json.dumps(problem.to_json())


def test_the_same_folder_twice_is_each_of_its_rules_twice(tmp_path: Path) -> None:
    write(tmp_path, "a", "b")
    assert [problem.id for problem in problems(tmp_path, tmp_path)] == ["rule-id-taken"] * 2


def test_problems_come_in_the_order_of_files_and_lines(together: tuple[Path, tuple[CapgateError, ...]]) -> None:
    _, answer = together
    places = [(problem.span.file, problem.span.line, problem.span.column) for problem in answer if problem.span]

    assert places == sorted(places)
    assert len(places) == sum(len(case["problems"]) for case in CASES if case["case"].endswith(".yaml"))


def test_an_operand_that_the_operator_of_a_plugin_does_not_take_is_told_in_its_words(tmp_path: Path) -> None:
    near = Operator("near", lambda operand: None if operand == 1 else "expected 1", lambda value, operand: True)
    path = write(tmp_path / "rules", "fine") / "fine.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("equals: a", "near: 2"), encoding="utf-8")
    with pytest.raises(PolicyInvalid) as caught:
        capgate.open_gate(rules=[path.parent], plugins=[Plugin(capgate_operators=[near])])
    (problem,) = caught.value.problems
    assert (problem.id, problem.message) == ("operand-unfit", "'near': expected 1")
    assert problem.span == Span(str(path), 7, 30)


def test_every_trigger_of_a_broken_file_is_read(tmp_path: Path) -> None:
    names = [problem["id"] for case in CASES if case["case"] == "many-mistakes.yaml" for problem in case["problems"]]
    shutil.copy(CORPUS / "many-mistakes.yaml", tmp_path)
    assert [problem.id for problem in problems(tmp_path)] == names
    assert len(names) == 8


def test_stages_added_after_the_same_one_keep_their_order(tmp_path: Path) -> None:
    stages = "{language: 1, stages: [{name: a, after: tools}, {name: b, after: tools}, {name: c, after: b}]}"
    (write(tmp_path, "fine") / "ruleset.yaml").write_text(stages, encoding="utf-8")
    gate = capgate.open_gate(rules=[tmp_path])

    names = [stage.name for stage in gate.rules.stages]
    assert names[names.index("tools") :] == ["tools", "a", "b", "c", "backstop"]


def test_a_file_that_this_user_may_not_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "rules", "fine")
    odd = folder / "odd.yaml"
    odd.touch(mode=0)
    opened = builtins.open

    def refused(path: Any, *arguments: Any, **options: Any) -> Any:  # as for anyone but root
        if str(path).endswith("odd.yaml"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **options)

    monkeypatch.setattr(builtins, "open", refused)
    (problem,) = problems(folder)
    assert (problem.id, problem.span and problem.span.file) == ("rules-unreadable", str(odd))
    assert "Permission denied" in problem.message
