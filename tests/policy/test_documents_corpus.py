"""Every broken document of the corpus is refused by the id and at the place that its index gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from capgate.policy.documents import DocumentError, load_json, load_yaml

CORPUS = Path(__file__).parent.parent / "corpus" / "documents"
BROKEN = [json.loads(line) for line in (CORPUS / "expected.jsonl").read_text().splitlines()]


def refusal(file: str) -> DocumentError:
    load = load_json if file.endswith(".json") else load_yaml
    with pytest.raises(DocumentError) as caught:
        load((CORPUS / file).read_bytes(), file)
    return caught.value


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken["file"])
def test_a_broken_document_is_refused_by_id_and_place(broken: dict[str, Any]) -> None:
    error = refusal(broken["file"])
    assert error.span is not None
    assert broken == {"file": error.span.file, "id": error.id, "line": error.span.line, "column": error.span.column}
    assert error.message
    assert error.hint


@pytest.mark.parametrize(
    "broken", [broken for broken in BROKEN if broken["file"].endswith(".yaml")], ids=lambda broken: broken["file"]
)
def test_the_parser_in_python_refuses_the_same(broken: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    error = refusal(broken["file"])
    assert error.id == broken["id"]
    if error.id != "yaml-syntax":  # where a syntax error is noticed is the parser's choice
        assert error.span is not None
        assert (error.span.line, error.span.column) == (broken["line"], broken["column"])


def test_the_index_lists_every_file_of_the_corpus() -> None:
    files = {path.relative_to(CORPUS).as_posix() for kind in ("json", "yaml") for path in (CORPUS / kind).iterdir()}
    assert files == {broken["file"] for broken in BROKEN}
    assert sum(file.startswith("json/") for file in files) >= 45
    assert sum(file.startswith("yaml/") for file in files) >= 45


def test_the_corpus_and_the_tables_cover_every_id() -> None:
    elsewhere = {"document-too-large", "not-canonical"}
    assert {broken["id"] for broken in BROKEN} | elsewhere == set(DocumentError.ids)
