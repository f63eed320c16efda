"""Results as JUnit XML, in the form that its common schemas share.

Suites carry the attributes that the strictest of them asks for, in its order of elements, and nothing
that another does not know.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from capgate.policy.errors import PolicyInvalid
from capgate.policy.text import escape

__all__ = ["Case", "Trouble", "document", "invalid_document"]

#: What XML 1.0 cannot hold, even as an escape.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: What build servers that read standard output take for a command to them. An element never begins so, only text.
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)


class Trouble(NamedTuple):
    """Why a case did not pass.

    Attributes:
        kind: ``failure`` for what is otherwise than expected, ``error`` for what could not be run.
        type: one word on what it is.
        message: one line.
        text: all of it.
    """

    kind: Literal["failure", "error"]
    type: str
    message: str
    text: str


class Case(NamedTuple):
    """One result.

    Attributes:
        suite: what it belongs to: a file.
        group: what it is about: a rule.
        name: its name.
        trouble: why it did not pass, or None.
        seconds: how long it took.
        note: what is to be said of it though it decides nothing; it stands in the output of its suite.
    """

    suite: str
    group: str
    name: str
    trouble: Trouble | None = None
    seconds: float = 0.0
    note: str = ""


def document(cases: Sequence[Case]) -> str:
    """The XML document with a suite for each file, in the order in which they come up."""
    suites: dict[str, list[Case]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    root = ElementTree.Element("testsuites")
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    for number, (name, own) in enumerate(suites.items()):
        troubles = [case.trouble.kind for case in own if case.trouble]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            id=str(number),
            package="capgate",
            name=_line(name),
            timestamp=stamp,
            hostname="localhost",
            tests=str(len(own)),
            failures=str(troubles.count("failure")),
            errors=str(troubles.count("error")),
            time=f"{sum(case.seconds for case in own):.3f}",
        )
        ElementTree.SubElement(suite, "properties")
        for case in own:
            _add(suite, case)
        output = ElementTree.SubElement(suite, "system-out")
        output.text = _lines("\n".join(case.note for case in own if case.note)) or None
        ElementTree.SubElement(suite, "system-err")
    ElementTree.indent(root)
    text = _COMMAND.sub(r"\1&#58;", ElementTree.tostring(root, encoding="unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def invalid_document(error: PolicyInvalid) -> str:
    """The XML document where nothing could be tested: an error for each mistake of the policy."""
    return document(
        [
            Case(
                problem.span.file if problem.span else "policy",
                "policy",
                str(problem.span or problem.id),
                Trouble("error", problem.id, problem.message, str(problem)),
            )
            for problem in error.problems
        ]
    )


def _add(suite: ElementTree.Element, case: Case) -> None:
    made = ElementTree.SubElement(
        suite, "testcase", name=_line(case.name), classname=_line(case.group), time=f"{case.seconds:.3f}"
    )
    if case.trouble:
        trouble = case.trouble
        found = ElementTree.SubElement(made, trouble.kind, message=_line(trouble.message), type=_line(trouble.type))
        found.text = _lines(trouble.text)


def _lines(text: str) -> str:
    return "\n".join(map(_line, text.split("\n")))


def _line(text: str) -> str:
    """`text` on one line, with escapes for what cannot be seen or cannot stand in XML."""
    return _NO_XML.sub(lambda found: f"\\u{ord(found[0]):04X}", escape(text))
