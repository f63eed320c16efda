"""The strict JSON reader (RFC 8259): slow, exact about places, and the judge of what is sound.

It does not recurse, so no text can exhaust the stack.
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from capgate.policy.documents.document import Lines, Place
from capgate.policy.documents.errors import DocumentError, shown
from capgate.policy.documents.frames import Frame, ListFrame, ObjectFrame
from capgate.policy.documents.numbers import MAX_INTEGER, exact_float, safe_integer

__all__ = ["MAX_DEPTH", "locate", "parse"]

#: The deepest nesting of lists and objects; the root is level 1 (contract 11.10).
MAX_DEPTH: Final = 32

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_NUMBER_GOES_ON: Final = re.compile(r"[-+.0-9A-Za-z_]")
_WORD: Final = re.compile(r"-?[A-Za-z_][A-Za-z0-9_]*")
_HEX: Final = re.compile(r"[0-9A-Fa-f]{4}")
_WORDS: Final = {"true": True, "false": False, "null": None}
_NOT_A_NUMBER: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_COMMENT: Final = "JSON has no comments; remove it."


def parse(text: str, name: str, first_line: int) -> tuple[Any, Place]:
    """The value of `text` and its places.

    Raises:
        DocumentError: whatever is wrong first, reading from the start.
    """
    return _Reader(text, name, first_line).document()


def locate(text: str, name: str, first_line: int) -> Place:
    """The places of `text`, which is known to be sound."""
    return parse(text, name, first_line)[1]


class _Reader:
    __slots__ = ("at", "first_line", "name", "text")

    def __init__(self, text: str, name: str, first_line: int):
        self.text = text
        self.name = name
        self.first_line = first_line
        self.at = 0

    def document(self) -> tuple[Any, Place]:
        if not self.peek():
            self.fail("empty-document", self.at, "the document holds no value")
        stack: list[Frame] = []
        while True:
            # One turn reads one value, or opens one list or object that has something in it.
            value, place, opened = self.value(len(stack) + 1)
            if opened:
                stack.append(opened)
                continue
            while stack:
                frame = stack[-1]
                frame.add(value, place)
                if self.goes_on(frame):
                    break
                value, place = frame.data, frame.places
                stack.pop()
            else:
                if found := self.peek():
                    hint = _COMMENT if found in "/#" else None
                    self.fail("trailing-garbage", self.at, f"{self.seen()} follows the value", hint)
                return value, place

    def value(self, level: int) -> tuple[Any, Place, Frame | None]:
        """Reads a scalar, an empty list or object, or the start of one that is not empty."""
        found = self.peek()
        at = self.at
        if found not in ("{", "["):
            return self.scalar(found), at, None
        if level > MAX_DEPTH:
            self.fail("document-too-deep", at, f"lists and objects nest deeper than {MAX_DEPTH} levels")
        self.at += 1
        frame = ObjectFrame(at) if found == "{" else ListFrame(at)
        if self.peek() == frame.closing:
            self.at += 1
            return frame.data, frame.places, None
        if isinstance(frame, ObjectFrame):
            self.key(frame)
        return None, at, frame

    def goes_on(self, frame: Frame) -> bool:
        """Reads what follows a value in `frame`: a comma (and the next key), or the end."""
        closing = frame.closing
        found = self.peek()
        at = self.at
        self.at += 1
        if found == closing:
            return False
        if found != ",":
            self.at = at
            hint = _COMMENT if found and found in "/#" else None
            self.fail("json-syntax", at, f"expected ',' or '{closing}', found {self.seen()}", hint)
        if self.peek() == closing:
            self.fail("json-syntax", at, f"a comma stands before '{closing}'", "Remove the comma after the last item.")
        if isinstance(frame, ObjectFrame):
            self.key(frame)
        return True

    def key(self, frame: ObjectFrame) -> None:
        """Reads a key of an object and its colon."""
        found = self.peek()
        at = self.at
        if found != '"':
            self.fail("json-syntax", at, f"expected a key in double quotes, found {self.seen()}", self.advice(found))
        key = self.string()
        if key in frame.keys:
            lines = Lines(self.text, self.first_line)
            message = (
                f"the key {shown(key)} is given twice, on lines {lines.line(frame.keys[key])} and {lines.line(at)}"
            )
            self.fail("duplicate-key", at, message)
        if self.peek() != ":":
            self.fail("json-syntax", self.at, f"expected ':' after the key, found {self.seen()}")
        self.at += 1
        frame.begin(key, at)

    def scalar(self, found: str) -> Any:
        if found == '"':
            return self.string()
        if number := _NUMBER.match(self.text, self.at):
            return self.number(number)
        word = _WORD.match(self.text, self.at)
        if word is None:
            self.fail("json-syntax", self.at, f"expected a value, found {self.seen()}", self.advice(found))
        if word[0] in _NOT_A_NUMBER:
            self.fail("not-a-number", self.at, f"{word[0]} is no JSON number")
        if word[0] not in _WORDS:
            is_python = word[0] in ("True", "False", "None")
            hint = "JSON writes true, false and null." if is_python else "Put strings in double quotes."
            self.fail("json-syntax", self.at, f"expected a value, found {self.seen()}", hint)
        self.at = word.end()
        return _WORDS[word[0]]

    def number(self, found: re.Match[str]) -> int | float:
        if _NUMBER_GOES_ON.match(self.text, found.end()):
            hint = "Write numbers as 12, -0.5 or 1e3: no leading zero, and digits on both sides of the point."
            self.fail("json-syntax", self.at, "this is no JSON number", hint)
        whole = found[1] is None and found[2] is None
        number = safe_integer(found[0]) if whole else exact_float(found[0])
        if number is None:
            limit = f"{'an integer' if whole else 'a number'} beyond {MAX_INTEGER}"
            self.fail("number-inexact", self.at, f"{limit} cannot be written exactly")
        self.at = found.end()
        return number

    def string(self) -> str:
        start = self.at
        self.at += 1
        pieces = []
        while True:
            plain = self.match(_PLAIN)
            pieces.append(plain[0])
            self.at = plain.end()
            found = self.text[self.at : self.at + 1]
            if found == '"':
                self.at += 1
                return "".join(pieces)
            if found == "":
                self.fail("json-syntax", start, "this string has no end", "Close it with a double quote.")
            if found != "\\":
                hint = f"Write it as the escape \\u{ord(found):04x}, or close the string before it."
                self.fail("json-syntax", self.at, "a string holds a raw control character", hint)
            pieces.append(self.escape())

    def escape(self) -> str:
        at = self.at
        found = self.text[at + 1 : at + 2]
        if found in _ESCAPES:
            self.at = at + 2
            return _ESCAPES[found]
        code = self.unit(at)
        if code is None:
            hint = 'Escapes are \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits.'
            self.fail("json-syntax", at, "this is no escape of JSON", hint)
        self.at = at + 6
        if not 0xD800 <= code < 0xE000:
            return chr(code)
        low = self.unit(self.at)
        if code >= 0xDC00 or low is None or not 0xDC00 <= low < 0xE000:
            self.fail("lone-surrogate", at, f"{self.text[at : at + 6]} is half a character")
        self.at += 6
        return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))

    def unit(self, at: int) -> int | None:
        """The UTF-16 unit of the escape at `at`, or None where there is none."""
        digits = _HEX.match(self.text, at + 2)
        return int(digits[0], 16) if digits and self.text.startswith("\\u", at) else None

    def match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """What a pattern that matches the empty text too finds here."""
        found = pattern.match(self.text, self.at)
        assert found is not None
        return found

    def peek(self) -> str:
        """The next character that is no white space; empty at the end of the text."""
        self.at = self.match(_SPACE).end()
        return self.text[self.at : self.at + 1]

    def seen(self) -> str:
        """What stands here, for a message."""
        if self.at == len(self.text):
            return "the end of the document"
        word = _WORD.match(self.text, self.at)
        return shown(word[0] if word else self.text[self.at])

    def advice(self, found: str) -> str | None:
        """What to do where neither a key nor a value starts."""
        if found == "'":
            return "Strings stand in double quotes."
        return _COMMENT if found and found in "/#" else None

    def fail(self, id: str, offset: int, message: str, hint: str | None = None) -> NoReturn:
        span = Lines(self.text, self.first_line).span(self.name, offset)
        raise DocumentError(id, message, hint=hint, span=span)
