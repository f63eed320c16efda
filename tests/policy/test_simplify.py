"""What is left of code that asks what is known already."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from capgate.policy.simplify import simplified

CASES: dict[str, tuple[str, str]] = {
    "a type that was refused before": (
        "if type(a) is not str:\n    return 'r'\nif type(a) is str and a == 'x':\n    return 's'",
        "if type(a) is not str:\n    return 'r'\nif a == 'x':\n    return 's'",
    ),
    "a type among others": (
        "if type(a) is list:\n    if type(a) is dict or a is ABSENT or a is None:\n        f()\n    g()",
        "if type(a) is list:\n    g()",
    ),
    "a comparison inside of itself": (
        "if a == 'x':\n    if a == 'x' and b in 'c':\n        f()\nelse:\n    if a != 'x':\n        g()",
        "if a == 'x':\n    if b in 'c':\n        f()\nelse:\n    g()",
    ),
    "what is absent, where another type is refused too": (
        "if a is ABSENT:\n    return 'r'\nif type(a) is not str or not k(a):\n    return 'r'",
        "if type(a) is not str or not k(a):\n    return 'r'",
    ),
    "the least question goes first": (
        "if type(a) is str and a not in K:\n    return 'r'\nif type(a) is not str:\n    return 'r'",
        "if type(a) is not str or a not in K:\n    return 'r'",
    ),
    "other results stay apart": (
        "if a == 'x':\n    return 'r'\nif a == 'y':\n    return 's'\nif a == 'z':\n    return\nif b:\n    return a",
        "if a == 'x':\n    return 'r'\nif a == 'y':\n    return 's'\nif a == 'z':\n    return\nif b:\n    return a",
    ),
    "what is assigned anew is unknown": (
        "if a == 'x':\n    a = b\n    if a == 'x':\n        f()\nif c is None:\n    c = b\n    if c is None: g()",
        "if a == 'x':\n    a = b\n    if a == 'x':\n        f()\nif c is None:\n    c = b\n    if c is None: g()",
    ),
    "a copy is what its source is": (
        "if type(a) is list:\n    b = a\n    if type(b) is not list:\n        b = EMPTY_LIST\n    f(b)",
        "if type(a) is list:\n    b = a\n    f(b)",
    ),
    "either way a list": (
        "a = b\nif type(a) is not list:\n    a = EMPTY_LIST\nif type(a) is not list:\n    f()\ng()",
        "a = b\nif type(a) is not list:\n    a = EMPTY_LIST\ng()",
    ),
    "a choice between two objects": (
        "a = b if type(b) is dict else EMPTY_OBJECT\nc = a.get('x') if type(a) is dict else ABSENT",
        "a = b if type(b) is dict else EMPTY_OBJECT\nc = a.get('x')",
    ),
    "a choice inside of what is bound": (
        "if type(a) is dict and (len((_x := (a.get('x') if type(a) is dict else ABSENT))) < 1 or _x == ''):\n    f()",
        "if type(a) is dict and (len((_x := a.get('x'))) < 1 or _x == ''):\n    f()",
    ),
    "what is bound in passing is not remembered": (
        "if type(_x) is str:\n    if type(_x) is str:\n        f()\nif _x == 'y' or _x != 'y':\n    g()",
        "if type(_x) is str:\n    if type(_x) is str:\n        f()\nif _x == 'y' or _x != 'y':\n    g()",
    ),
    "a loop begins with what it has not assigned": (
        "if a is None and b == 'x':\n    for c in a:\n        if a is not None or b != 'x': f()\n        b = c",
        "if a is None and b == 'x':\n    for c in a:\n        if b != 'x': f()\n        b = c",
    ),
    "what a loop learned ends with it": (
        "for i, c in f(a):\n    if c != 'x':\n        return 'r'\n    if c != 'x':\n        f()\nif c != 'x':\n    g()",
        "for i, c in f(a):\n    if c != 'x':\n        return 'r'\nif c != 'x':\n    g()",
    ),
    "nothing is left of a loop": (
        "if type(a) is list:\n    for c in a:\n        if type(a) is dict:\n            f()",
        "if type(a) is list:\n    for c in a:\n        pass",
    ),
    "nothing follows a result": (
        "if type(a) is list:\n    return 'r'\nelse:\n    for b in a:\n        break\n        f()\n    return 's'\ng()",
        "if type(a) is list:\n    return 'r'\nelse:\n    for b in a:\n        break\n    return 's'",
    ),
    "a negation": (
        "if not (a == 'x'):\n    return 'r'\nif not a != 'x':\n    f()\nif not f(a):\n    g()",
        "if not a == 'x':\n    return 'r'\nf()\nif not f(a):\n    g()",
    ),
    "what only one of two ways says": (
        "if a == 'x':\n    b = 'y'\nelse:\n    b = 'z'\nif a == 'x' or c == 'w':\n    f()",
        "if a == 'x':\n    b = 'y'\nelse:\n    b = 'z'\nif a == 'x' or c == 'w':\n    f()",
    ),
    "a kind that is given": ("a = f()\nif a is not ABSENT and type(a) is str:\n    g()", ""),
}
GIVEN: Mapping[str, Mapping[str, frozenset[str]]] = {
    "a kind that is given": {"a": frozenset(["ABSENT", "dict"])},
}


def written(body: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


@pytest.mark.parametrize("case", CASES)
def test_what_is_known_is_left_out(case: str) -> None:
    before, after = CASES[case]
    found = written(simplified(ast.parse(before).body, GIVEN.get(case, {})))
    assert found == written(ast.parse(after or "a = f()").body)


def test_what_is_remembered_is_bounded() -> None:
    before = "".join(f"if a{number} == 'x':\n    return {number}\n" for number in range(200))
    again = "".join(f"if a{number} == 'x':\n    f({number})\n" for number in range(200))
    found = written(simplified(ast.parse(before + again).body, {}))
    assert "f(0)" not in found
    assert "f(199)" in found
