"""The rules in Rego, for both engines of gordon-to-regorus: the interpreter and the register machine (RVM).

Rego takes what is absent as undefined, and a rule with an undefined part in it does not fire; so every read is
guarded by `object.get`, or the policy would admit what it cannot read.
"""

from __future__ import annotations

import json
from typing import Any, Final

from bench.engines import Engine, EngineMissing, imported, more_capabilities, with_hosts

__all__ = ["RegoInterpreter", "RegoMachine"]

_POLICY: Final = r"""
package gate
import rego.v1

known := {"read", "write", "delete", "network", "exec", "eval", "import"}
mediated := {"read", "write", "network"}
needs := {
    "now": "", "read-file": "read", "write-file": "write", "list-files": "read", "http-get": "network", "wasm": "",
}
reserved := {"list_extensions", "call_extension", "propose_extension", "delegate_task", "task_status"}
layouts := {
    "buffer-abi/1": [["input", "addr"], ["input", "maxBytes"], ["output", "addr"], ["output", "bytes"]],
    "buffer-abi/diff": [["inputA", "addr"], ["inputA", "maxBytes"], ["inputB", "addr"], ["inputB", "maxBytes"],
        ["output", "addr"], ["output", "maxBytes"]],
}

whole(value) if { is_number(value); value == floor(value) }

default malformed := false
malformed if { not is_object(input) }
else if { not is_string(object.get(input, "id", "")) }
else if { count(object.get(input, "id", "")) > 100 }
else if { not is_string(object.get(input, "name", "")) }
else if { not is_string(object.get(input, "description", "")) }
else if { not is_string(object.get(input, "source", "")) }
else if { not object.get(input, "runsIn", "host") in {"host", "process", "remote"} }
else if { value := object.get(input, "capabilities", null); value != null; not is_array(value) }
else if { value := object.get(input, "bounds", null); value != null; not is_object(value) }
else if { not size(object.get(object_in("bounds"), "maxBytes", 0)) }
else if { not object.get(object_in("bounds"), "window", "process") in {"process", "hour", "day", "admission"} }
else if { count(tools) > 256 }
else if { some tool in tools; malformed_tool(tool) }

object_in(key) := value if { value := object.get(input, key, {}); is_object(value) } else := {}

tools := value if { value := object.get(input, "tools", []); is_array(value) } else := []

malformed_tool(tool) if { not is_object(tool) }
else if { not is_string(object.get(tool, "name", "")) }
else if { not is_string(object.get(tool, "description", "")) }
else if { not is_string(object.get(tool, "promptSnippet", "")) }
else if { not is_string(object.get(tool, "primitive", "")) }
else if { malformed_params(object.get(tool, "params", {})) }

malformed_params(params) if { not is_object(params) }
else if {
    some key, value in params
    key != "headers"
    not is_string(value)
    not is_number(value)
    not is_boolean(value)
}
else if { malformed_headers(object.get(params, "headers", {})) }

malformed_headers(headers) if { not is_object(headers) }
else if { some value in headers; not is_string(value) }

capabilities := value if { value := object.get(input, "capabilities", []); value != null }
else := []

unmediated := [capability | some capability in capabilities; not capability in mediated]

of_capability(capability) := "unknown-capability" if { not capability in known }
else := "eval-not-a-tool-path" if { capability == "eval" }
else := "exec-absent" if { capability == "exec" }
else := "capability-unmediated"

default bounded := false
bounded if {
    is_array(input.bounds.hosts)
    count(input.bounds.hosts) > 0
    every host in input.bounds.hosts { is_string(host) }
    whole(input.bounds.maxRequests)
    input.bounds.maxRequests >= 1
}

of_tools := [rule | some at, tool in tools; rule := of_tool(tool, at); rule != ""]

of_tool(tool, at) := "bad-tool-name" if { not regex.match(`^[a-z0-9_]+$`, object.get(tool, "name", "")) }
else := "unknown-primitive" if { object.get(needs, object.get(tool, "primitive", ""), null) == null }
else := "under-declared" if { need := needs[tool.primitive]; need != ""; not need in capabilities }
else := rule if { tool.primitive == "wasm"; rule := of_module(object.get(tool, "wasm", null)); rule != "" }
else := "duplicate-tool" if { tool.name in reserved }
else := "duplicate-tool" if { some before, other in input.tools; before < at; other.name == tool.name }
else := ""

of_module(module) := "under-declared" if { not is_object(module) }
else := "under-declared" if { not text(object.get(module, "path", null)) }
else := "under-declared" if { not digest(object.get(module, "digest", null)) }
else := "unsupported-abi" if { object.get(layouts, object.get(module, "abi", ""), null) == null }
else := "under-declared" if { some path in layouts[module.abi]; not size(object.get(module, path, null)) }
else := "under-declared" if { not text(object.get(module, ["call", "export"], null)) }
else := ""

text(value) if { is_string(value); value != "" }
digest(value) if { is_string(value); regex.match(`^[0-9a-f]{64}$`, value) }
size(value) if { whole(value); value >= 0 }

default extra := false

answer := "malformed-descriptor" if { malformed }
else := of_capability(unmediated[0]) if { count(unmediated) > 0 }
else := "exec-absent" if { object.get(input, "runsIn", "host") == "process" }
else := "network-unbounded" if { "network" in capabilities; not bounded }
else := "no-tools" if { count(tools) == 0 }
else := of_tools[0] if { count(of_tools) > 0 }
else := "extra" if { extra }
else := ""
"""


def _policy(more: int) -> str:
    extra = (f'extra if {{ "{capability}" in capabilities }}' for capability in more_capabilities(more))
    return "\n".join((_POLICY, *extra))


class RegoInterpreter(Engine):
    """gordon-to-regorus, its interpreter."""

    name = "gordon-to-regorus, interpreter"
    names_rules = True
    helped = "hosts"

    def __init__(self, more: int = 0):
        super().__init__(more)
        regorus = imported("regorus")
        self._engine = regorus.Engine()
        self._engine.set_policy_length_config(max_col=4096, max_file_bytes=1 << 26, max_lines=1 << 20)
        self._engine.add_policy("gate.rego", _policy(more))

    def decide(self, descriptor: Any) -> str | None:
        """Asks for the rule ``answer``, and Python for the hosts."""
        self._engine.set_input(descriptor)
        return with_hosts(self._engine.eval_rule("data.gate.answer") or None, descriptor)

    def decide_bytes(self, source: bytes) -> str | None:
        """Gives the engine the text; only where there may be hosts, Python reads it too."""
        self._engine.set_input_json(source.decode())
        answer = self._engine.eval_rule("data.gate.answer") or None
        return with_hosts(answer, self.json.loads(source)) if b'"network"' in source else answer


class RegoMachine(Engine):
    """gordon-to-regorus, its register machine, which takes its input as JSON text only."""

    name = "gordon-to-regorus, RVM"
    names_rules = True
    helped = "hosts"

    def __init__(self, more: int = 0):
        super().__init__(more)
        regorus = imported("regorus")
        modules = [("gate.rego", _policy(more))]
        try:
            program = regorus.Program.compile_from_modules("{}", modules, ["data.gate.answer"])
        except Exception as error:  # noqa: BLE001  # the binding raises RuntimeError, and others
            first_line = str(error).splitlines()[0]
            raise EngineMissing(f"does not compile: {first_line.removeprefix('Compilation error: ')}") from None
        self._machine = regorus.Rvm()
        self._machine.load_program(program)

    def _answer(self, text: str) -> str | None:
        self._machine.set_input_json(text)
        return json.loads(self._machine.execute()) or None

    def decide(self, descriptor: Any) -> str | None:
        """Asks for the rule ``answer``, and Python for the hosts."""
        return with_hosts(self._answer(self.json.dumps(descriptor).decode()), descriptor)

    def decide_bytes(self, source: bytes) -> str | None:
        """Gives the engine the text; only where there may be hosts, Python reads it too."""
        answer = self._answer(source.decode())
        return with_hosts(answer, self.json.loads(source)) if b'"network"' in source else answer
