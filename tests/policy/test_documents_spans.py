"""Where each key and value stands."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.policy.documents import Document, load_json, load_yaml
from capgate.policy.errors import Span
from capgate.policy.paths import Path

JSON = '{\n  "id": "a",\r\n  "é😀": [1, {"x": "😀", "y": true}],\r  "z": {}}'
YAML = "id: a\r\né😀:\n  - 1\r  - {x: 😀, y: true}\nz: &z\n  q: 1\nw: *z\nlast:\n"


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ((), (1, 1), (1, 1)),
        (("id",), (2, 9), (2, 3)),
        (("é😀",), (3, 9), (3, 3)),
        (("é😀", 0), (3, 10), (3, 10)),
        (("é😀", 1), (3, 13), (3, 13)),
        (("é😀", 1, "x"), (3, 19), (3, 14)),
        (("é😀", 1, "y"), (3, 29), (3, 24)),
        (("z",), (4, 8), (4, 3)),
        (("z", "absent", 3), (4, 8), (4, 3)),
        (("id", "no object"), (2, 9), (2, 3)),
        (("é😀", 2), (3, 9), (3, 3)),
        (("é😀", -1), (3, 9), (3, 3)),
        (("é😀", "0"), (3, 9), (3, 3)),
        ((0,), (1, 1), (1, 1)),
    ],
)
def test_spans_of_json(path: Path, value: tuple[int, int], key: tuple[int, int]) -> None:
    document = load_json(JSON.encode(), "f.json")
    assert document.span(path) == Span("f.json", *value)
    assert document.span(path, key=True) == Span("f.json", *key)


@pytest.mark.parametrize("libyaml", [True, False])
@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ((), (1, 1), (1, 1)),
        (("id",), (1, 5), (1, 1)),
        (("é😀",), (3, 3), (2, 1)),
        (("é😀", 0), (3, 5), (3, 5)),
        (("é😀", 1, "x"), (4, 9), (4, 6)),
        (("é😀", 1, "y"), (4, 15), (4, 12)),
        (("z",), (5, 4), (5, 1)),
        (("z", "q"), (6, 6), (6, 3)),
        (("w",), (7, 4), (7, 1)),
        (("w", "q"), (6, 6), (6, 3)),
        (("w", "absent"), (7, 4), (7, 1)),
        (("last",), (8, 6), (8, 1)),
    ],
)
def test_spans_of_yaml(
    path: Path, value: tuple[int, int], key: tuple[int, int], libyaml: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml, "__with_libyaml__", libyaml and yaml.__with_libyaml__)
    document = load_yaml(YAML.encode(), "f.yaml")
    assert document.span(path) == Span("f.yaml", *value)
    assert document.span(path, key=True) == Span("f.yaml", *key)


def test_spans_of_json_count_from_the_first_line() -> None:
    assert load_json(b'{\n"a": 1}', "log.jsonl", first_line=41).span(("a",)) == Span("log.jsonl", 42, 6)


def test_a_document_cannot_be_changed() -> None:
    document = load_json(b"{}", "f.json")
    assert (document.name, document.data, repr(document)) == ("f.json", {}, "<Document 'f.json'>")
    for name in ("name", "data", "other"):
        with pytest.raises(AttributeError):
            setattr(document, name, 1)


def test_a_document_without_a_name_is_called_input() -> None:
    assert load_json(b"1").name == load_yaml(b"1").name == "<input>"


def test_threads_that_ask_at_once_get_the_same_span() -> None:
    document = load_json(json.dumps([{"a": i} for i in range(2000)], indent=1).encode())
    start = threading.Barrier(8)
    found: list[Span] = []

    def ask() -> None:
        start.wait()
        found.append(document.span((1999, "a")))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [Span("<input>", 2 + 3 * 1999 + 1, 8)] * 8


NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn"], exclude_characters="\u2028\u2029\ufeff"), max_size=8
)
TREES = st.recursive(
    NAMES | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)


def scalars(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """Every scalar in `value` with its path."""
    if isinstance(value, dict):
        return [found for key, item in value.items() for found in scalars(item, (*path, key))]
    if isinstance(value, list):
        return [found for index, item in enumerate(value) for found in scalars(item, (*path, index))]
    return [(path, value)]


def text_at(text: str, span: Span) -> str:
    assert span.line is not None
    assert span.column is not None
    return "\n".join(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[span.line - 1 :])[span.column - 1 :]


def check(document: Document, text: str, value: Any) -> None:
    for path, scalar in scalars(value):
        assert text_at(text, document.span(path)).startswith(json.dumps(scalar, ensure_ascii=False))
        if path and isinstance(path[-1], str):
            assert text_at(text, document.span(path, key=True)).startswith(json.dumps(path[-1], ensure_ascii=False))


@given(TREES, st.sampled_from([None, 0, 3]), st.sampled_from(["\n", "\r\n", "\r"]))
@settings(deadline=None, derandomize=True)
def test_the_text_at_a_span_starts_with_the_scalar(value: Any, indent: int | None, line_end: str) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", line_end)
    check(load_json(text.encode()), text, value)
    check(load_yaml(text.encode()), text, value)
