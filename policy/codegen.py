"""Python code from templates: the only place where the gate builds code.

A template is a constant of this package. Its upper-case names are holes that are filled with AST
nodes; text that comes from a rule or a descriptor only ever enters as an `ast.Constant`, so no input
can become code.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

__all__ = ["Fill", "constant", "expression", "function", "load", "name", "statements"]

Fill: TypeAlias = "ast.expr | str | Sequence[ast.stmt]"


def name(identifier: str) -> ast.Name:
    """The variable `identifier`, read."""
    return ast.Name(identifier, ast.Load())


def constant(value: str | float | bool | tuple[Any, ...] | None) -> ast.Constant:
    """A literal; never interpreted."""
    return ast.Constant(value)  # type: ignore[arg-type]  # typeshed has no tuples here


def expression(template: str, **fills: Fill) -> ast.expr:
    """The expression that `template` gives with its holes filled; a text names a variable."""
    found = _parsed(template)[0]
    assert isinstance(found, ast.Expr)
    return _filled(found.value, fills)  # type: ignore[no-any-return]


def statements(template: str, **fills: Fill) -> list[ast.stmt]:
    """The statements that `template` gives; a hole on a line of its own takes a list of statements."""
    return _block(_parsed(template), fills)


def function(identifier: str, parameters: Sequence[str], body: Sequence[ast.stmt]) -> ast.stmt:
    """``def identifier(parameters): body``."""
    made = _parsed("def hole(): pass")[0]
    assert isinstance(made, ast.FunctionDef)
    filled: ast.FunctionDef = _filled(made, {})
    filled.name = identifier
    filled.args.args = [ast.arg(parameter) for parameter in parameters]
    filled.body = list(body) or [ast.Pass()]
    return filled


def load(body: Sequence[ast.stmt], namespace: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Runs the statements, functions mostly, with `namespace` as their globals; gives the globals back."""
    module = ast.Module(list(body), [])
    _locate(module)
    space = dict(namespace)
    exec(compile(module, f"<capgate {label}>", "exec"), space)
    return space


@cache
def _parsed(template: str) -> list[ast.stmt]:
    return ast.parse(template).body


def _block(body: Sequence[ast.stmt], fills: Mapping[str, Fill]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name):
            fill = fills.get(statement.value.id)
            if isinstance(fill, list):
                made.extend(fill)
                continue
        made.append(_filled(statement, fills))
    return made


def _filled(node: Any, fills: Mapping[str, Fill]) -> Any:
    if isinstance(node, ast.Name):
        fill = fills.get(node.id)
        if fill is None:
            return ast.Name(node.id, node.ctx)
        return ast.Name(fill, node.ctx) if isinstance(fill, str) else fill
    made = type(node)()
    for field in node._fields:
        value = getattr(node, field)
        if isinstance(value, list):
            if value and isinstance(value[0], ast.stmt):
                value = _block(value, fills)
            else:
                value = [_filled(item, fills) if isinstance(item, ast.AST) else item for item in value]
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            value = _filled(value, fills)
        setattr(made, field, value)
    return made


def _locate(node: ast.AST) -> None:
    """Gives every node the place that the compiler insists on; `ast` has the same, several times slower."""
    for field in node._fields:
        value = getattr(node, field)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST):
                    _locate(item)
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            _locate(value)
    if "lineno" in node._attributes:
        node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]
        node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
