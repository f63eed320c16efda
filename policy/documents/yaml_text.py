"""Loading YAML: what is asked of the text before it is parsed, and the errors with their places."""

from __future__ import annotations

import re
from typing import Any, Final

from capgate.policy.documents.document import Document, Lines, Place
from capgate.policy.documents.errors import DocumentError
from capgate.policy.documents.source import read_text
from capgate.policy.documents.yaml_scalars import Fault

__all__ = ["load_yaml"]

#: Everything but the characters that a YAML text may hold unescaped and that every reader of YAML
#: takes alike: U+0085, U+2028 and U+2029 end a line in YAML 1.1 and not in 1.2.
_REFUSED_CHARACTER: Final = "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
_DIRECTIVE: Final = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*%")


def load_yaml(source: bytes, name: str = "<input>") -> Document:
    """Reads one strict YAML 1.2 document (core schema) as plain JSON data.

    An alias stands for the same object as its anchor. Where a value has an anchor, its place is
    that of the anchor.

    Args:
        source: the bytes, UTF-8 without a byte order mark, at most 1 MiB.
        name: the name of the file, for messages.

    Raises:
        DocumentError: the first thing wrong with it. Among them are duplicate keys, keys that are no
            strings, tags, merge keys, directives, a second document, aliases that stand for over
            10,000 values, lists and objects nested over 64 levels (the root is level 1), and all
            numbers and strings that `load_json` refuses.
    """
    text = read_text(source, name)
    try:
        data, place = _parse(text)
    except Fault as fault:
        span = Lines(text).span(name, min(fault.offset, len(text)))
        raise DocumentError(fault.id, fault.message, hint=fault.hint, span=span) from None
    return Document(name, data, text, lambda *_: place)


def _parse(text: str) -> tuple[Any, Place]:
    found = None if _is_plain(text) else re.search(_REFUSED_CHARACTER, text)
    if found:
        raise Fault("yaml-character", found.start(), f"the character U+{ord(found[0]):04X} is not taken unescaped")
    if found := _DIRECTIVE.match(text):
        raise Fault("yaml-directive", found.end() - 1, "directives are not taken")

    # Imported late: reading JSON does without it.
    from capgate.policy.documents.yaml_parse import parse

    return parse(text)


def _is_plain(text: str) -> bool:
    """Whether a text is certain to hold no refused character: the pattern takes milliseconds to compile."""
    return text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable()
