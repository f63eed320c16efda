"""The rules in CEL, for cel-expr-python: one expression that gives the id of the first refusing rule, or an empty text.

CEL has no index of an element in its macros, so that a name was used before is for Python to find.
"""

from __future__ import annotations

from typing import Any, Final

from bench.engines import Engine, has_duplicate_tool, imported, more_capabilities, with_hosts
from bench.handwritten import ABIS

__all__ = ["Cel"]


def _is_text(holder: str, *keys: str) -> str:
    return " && ".join(f"(!has({holder}.{key}) || type({holder}.{key}) == string)" for key in keys)


def _is_size(value: str) -> str:
    whole = f"type({value}) == int || type({value}) == double && {value} == double(int({value}))"
    return f"({whole}) && {value} >= 0"


def _has_sizes(abi: str) -> str:
    """Whether the module has every number that an ABI reads."""
    return " && ".join(_has_size(group, field) for group, field in ABIS[abi])


def _has_size(group: str, field: str) -> str:
    holder, value = f"t.wasm.{group}", f"t.wasm.{group}.{field}"
    return f"has({holder}) && type({holder}) == map && has({value}) && {_is_size(value)}"


def _has_text(holder: str, key: str) -> str:
    return f'has({holder}.{key}) && type({holder}.{key}) == string && {holder}.{key} != ""'


_PARAMS: Final = """
type(t.params) == map && t.params.all(k, k == "headers"
    ? type(t.params[k]) == map && t.params[k].all(h, type(t.params[k][h]) == string)
    : type(t.params[k]) in [string, int, double, bool])
"""
_WELL_FORMED: Final = f"""
type(d) == map
&& {_is_text("d", "id", "name", "description", "source")} && (!has(d.id) || size(d.id) <= 100)
&& (!has(d.runsIn) || d.runsIn in ["host", "process", "remote"])
&& (!has(d.capabilities) || d.capabilities == null || type(d.capabilities) == list)
&& (!has(d.bounds) || d.bounds == null || type(d.bounds) == map
    && (!has(d.bounds.maxBytes) || {_is_size("d.bounds.maxBytes")})
    && (!has(d.bounds.window) || d.bounds.window in ["process", "hour", "day", "admission"]))
&& (!has(d.tools) || type(d.tools) != list || size(d.tools) <= 256 && d.tools.all(t, type(t) == map
    && {_is_text("t", "name", "description", "promptSnippet", "primitive")} && (!has(t.params) || {_PARAMS})))
"""
_CAPABILITIES: Final = "(has(d.capabilities) && d.capabilities != null ? d.capabilities : [])"
_UNMEDIATED: Final = f'{_CAPABILITIES}.filter(c, !(c in ["read", "write", "network"]))'
_OF_CAPABILITY: Final = f"""
{_UNMEDIATED}.map(c, !(c in ["delete", "exec", "eval", "import"]) ? "unknown-capability"
    : c == "eval" ? "eval-not-a-tool-path" : c == "exec" ? "exec-absent" : "capability-unmediated")[0]
"""
_BOUNDED: Final = """
has(d.bounds) && d.bounds != null && has(d.bounds.hosts) && type(d.bounds.hosts) == list && size(d.bounds.hosts) > 0
&& d.bounds.hosts.all(h, type(h) == string) && has(d.bounds.maxRequests)
&& (type(d.bounds.maxRequests) == int
    || type(d.bounds.maxRequests) == double && d.bounds.maxRequests == double(int(d.bounds.maxRequests)))
&& d.bounds.maxRequests >= 1
"""
_OF_MODULE: Final = f"""
!has(t.wasm) || type(t.wasm) != map || !({_has_text("t.wasm", "path")})
|| !(has(t.wasm.digest) && type(t.wasm.digest) == string && t.wasm.digest.matches("^[0-9a-f]{{64}}$"))
    ? "under-declared"
: !has(t.wasm.abi) || !(t.wasm.abi in {sorted(ABIS)}) ? "unsupported-abi"
: t.wasm.abi == "buffer-abi/1"
    && !({_has_sizes("buffer-abi/1")}) ? "under-declared"
: t.wasm.abi == "buffer-abi/diff"
    && !({_has_sizes("buffer-abi/diff")}) ? "under-declared"
: !(has(t.wasm.call) && type(t.wasm.call) == map && {_has_text("t.wasm.call", "export")}) ? "under-declared" : ""
"""
_NEEDS: Final = '{"read-file": "read", "write-file": "write", "list-files": "read", "http-get": "network"}'
_OF_TOOL: Final = f"""
!has(t.name) || !t.name.matches("^[a-z0-9_]+$") ? "bad-tool-name"
: !has(t.primitive) || !(t.primitive in ["now", "read-file", "write-file", "list-files", "http-get", "wasm"])
    ? "unknown-primitive"
: t.primitive in {_NEEDS} && !({_NEEDS}[t.primitive] in {_CAPABILITIES}) ? "under-declared"
: t.primitive == "wasm" ? ({_OF_MODULE}) : ""
"""
_EXPRESSION: Final = f"""
!({_WELL_FORMED}) ? "malformed-descriptor"
: size({_UNMEDIATED}) > 0 ? {_OF_CAPABILITY}
: has(d.runsIn) && d.runsIn == "process" ? "exec-absent"
: "network" in {_CAPABILITIES} && !({_BOUNDED}) ? "network-unbounded"
: !has(d.tools) || type(d.tools) != list || size(d.tools) == 0 ? "no-tools"
: (d.tools.map(t, {_OF_TOOL}).filter(r, r != "") + [""])[0]
"""
#: So many further rules make one expression; a longer one nests too deeply for the parser.
_TOGETHER: Final = 100


class Cel(Engine):
    """cel-expr-python, Google's C++ implementation."""

    name = "cel-expr-python"
    names_rules = True
    helped = "hosts, duplicate names"

    def __init__(self, more: int = 0):
        super().__init__(more)
        cel = imported("cel_expr_python.cel")
        environment = cel.NewEnv(variables={"d": cel.Type.DYN})
        self._activation = environment.Activation
        self._rules = environment.compile(_EXPRESSION)
        tests = [f'"{capability}" in d.capabilities' for capability in more_capabilities(more)]
        self._more = [
            environment.compile("has(d.capabilities) && d.capabilities != null && ("
                + " || ".join(tests[start : start + _TOGETHER]) + ")")
            for start in range(0, more, _TOGETHER)
        ]  # fmt: skip

    def decide(self, descriptor: Any) -> str | None:
        """Asks for the expression's value, and Python for the rest."""
        activation = self._activation({"d": descriptor})
        answer = self._rules.eval(activation).value() or None
        answer = with_hosts(answer, descriptor)
        if answer is None and has_duplicate_tool(descriptor):
            answer = "duplicate-tool"
        if answer is None and any(rule.eval(activation).value() for rule in self._more):
            answer = "extra"
        return answer
