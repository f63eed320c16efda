"""Python code from templates: the only place where the gate builds code.

A template is a constant of this package. Its upper-case names are holes that are filled with AST
nodes; text that comes from a rule or a descriptor only ever enters as an `ast.Constant`, so no input
can become code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

__all__ = [
    "Fill",
    "bound",
    "constant",
    "expression",
    "function",
    "in_passing",
    "is_bound_in_passing",
    "joined",
    "load",
    "name",
    "statements",
    "text_of",
]

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


def text_of(pieces: Iterable[str | ast.expr]) -> ast.expr:
    """The text that pieces make together; what expressions give is a text or a whole number."""
    parts: list[ast.expr] = []
    plain = ""
    for piece in pieces:
        if isinstance(piece, str):
            plain += piece
        else:
            parts += [constant(plain), ast.FormattedValue(piece, -1)]
            plain = ""
    return ast.JoinedStr([*parts, constant(plain)]) if parts else constant(plain)


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


def in_passing(word: str) -> str:
    """The name of a local that an expression binds and reads again, and nothing else does."""
    return f"_{word}"


def is_bound_in_passing(local: str) -> bool:
    """Whether `in_passing` made the name."""
    return local.startswith("_")


def joined(parts: Sequence[ast.expr], *, every: bool) -> ast.expr:
    """The parts joined by ``and`` or ``or``, less what decides nothing."""
    kept = []
    for part in parts:
        if isinstance(part, ast.Constant) and type(part.value) is bool:
            if part.value is not every:
                return part
            continue
        kept.append(part)
    if not kept:
        return constant(every)
    return kept[0] if len(kept) == 1 else ast.BoolOp(ast.And() if every else ast.Or(), kept)


def bound(asked: ast.expr, local: str, value: ast.expr) -> ast.expr:
    """`asked` with the first read of `local` replaced by its binding to `value`."""
    reads = [node for node in _in_order(asked) if isinstance(node, ast.Name) and node.id == local]
    if not reads:
        return asked
    if len(reads) > 1 and reads[0] in _walked(asked):
        # What a comprehension walks over cannot bind a name, so the name is bound before it.
        pair = ast.Tuple([ast.NamedExpr(ast.Name(local, ast.Store()), value), asked], ast.Load())
        return ast.Subscript(pair, constant(1), ast.Load())
    binder = _Binder(reads[0], value if len(reads) == 1 else ast.NamedExpr(ast.Name(local, ast.Store()), value))
    found: ast.expr = binder.visit(asked)
    return found


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
            fill = fills[statement.value.id]
            assert isinstance(fill, list)
            made.extend(fill)
        else:
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
                value = [_filled(item, fills) for item in value]
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
                _locate(item)
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            _locate(value)
    if "lineno" in node._attributes:
        node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]
        node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]


def _walked(asked: ast.expr) -> list[ast.expr]:
    """What the comprehensions in an expression walk over."""
    return [node.generators[0].iter for node in ast.walk(asked) if isinstance(node, ast.GeneratorExp)]


class _Binder(ast.NodeTransformer):
    def __init__(self, read: ast.Name, value: ast.expr):
        self._read, self._value = read, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._value if node is self._read else node


def _in_order(node: ast.AST) -> list[ast.AST]:
    """Every node in the order of evaluation; the test of ``a if b else c`` comes first."""
    if isinstance(node, ast.IfExp):
        children: list[ast.AST] = [node.test, node.body, node.orelse]
    elif isinstance(node, (ast.GeneratorExp,)):
        children = [*node.generators, node.elt]
    else:
        children = list(ast.iter_child_nodes(node))
    return [node, *(found for child in children for found in _in_order(child))]
