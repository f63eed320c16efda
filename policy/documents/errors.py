"""What can be wrong with a document."""

from __future__ import annotations

from capgate.policy.errors import CapgateError

__all__ = ["DocumentError", "shown"]

#: How much of a text a message repeats, in code points.
_SHOWN = 40


def shown(text: str) -> str:
    """`text` for a message: quoted, short, and with unprintable characters as escapes."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


class DocumentError(CapgateError, ValueError):
    """A text is no strict JSON or YAML document, or a value cannot be written as canonical JSON."""

    ids = {
        "byte-order-mark": "Save the file as UTF-8 without a byte order mark.",
        "document-too-deep": "Flatten the document: use fewer levels of lists and objects.",
        "document-too-large": "Split the document, or remove what it does not need.",
        "duplicate-key": "Keep one of the two, or rename one.",
        "empty-document": "Write a value; an empty object is {}.",
        "invalid-utf8": "Save the file as UTF-8.",
        "json-syntax": "Mend the JSON at this place.",
        "lone-surrogate": "Write the character itself, or both halves of its escape.",
        "not-a-number": "Use a finite number, or quote it if a string is meant.",
        "not-canonical": "Use only objects with string keys, lists, strings, finite numbers, booleans and null.",
        "number-inexact": "Use a number within what a double holds exactly, or quote it.",
        "trailing-garbage": "Keep one JSON value and remove what follows it; several, one a line, need --lines.",
        "yaml-alias-bomb": "Write the values out, or use fewer aliases.",
        "yaml-alias-recursive": "Remove the alias: a value cannot hold itself.",
        "yaml-alias-unknown": "Define the anchor before its alias, or quote the text if no alias is meant.",
        "yaml-character": "Write the character as an escape in a double-quoted string, or remove it.",
        "yaml-directive": "Remove the line that starts with '%'.",
        "yaml-key-not-string": "Put the key in quotes if a string is meant.",
        "yaml-merge-key": "Write the merged keys out, or quote the key if a plain '<<' is meant.",
        "yaml-several-documents": "Put each document into a file of its own.",
        "yaml-syntax": "Mend the YAML at this place; quote a text that begins with {, [, * or &, or has ': ' in it.",
        "yaml-tag": "Remove the tag, or quote the text if no tag is meant.",
    }
