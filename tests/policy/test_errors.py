"""The root of all errors: an id of its family, and a place as far as it is known."""

from __future__ import annotations

import pytest

from capgate.policy.documents import DocumentError
from capgate.policy.errors import CapgateError, Span


def test_a_family_has_no_error_but_those_that_it_lists() -> None:
    with pytest.raises(KeyError, match="DocumentError has no error id 'policy-invalid'"):
        DocumentError("policy-invalid", "a mistake of another family")
    with pytest.raises(KeyError, match="CapgateError has no error id"):
        CapgateError("json-syntax", "the root itself has none")


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (Span("a.json", 3, 7), "a.json:3:7: empty-document: nothing (Write it.)"),
        (Span("a.json", 3), "a.json:3: empty-document: nothing (Write it.)"),
        (Span("a.json"), "a.json: empty-document: nothing (Write it.)"),
        (None, "empty-document: nothing (Write it.)"),
    ],
)
def test_an_error_says_its_place_as_far_as_it_is_known(span: Span | None, text: str) -> None:
    error = DocumentError("empty-document", "nothing", hint="Write it.", span=span)
    assert str(error) == text
    assert [error.to_json()[key] for key in ("file", "line", "column")] == (
        [span.file, span.line, span.column] if span else [None, None, None]
    )
