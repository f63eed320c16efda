"""docs/running.md says what is so: its ids, windows, keys and defaults."""

from __future__ import annotations

from typing import Any

import pytest

from capgate.host.calls.arguments import CALL_ARGUMENTS
from capgate.host.calls.errors import ToolError
from capgate.host.calls.operator import Operator
from capgate.host.calls.proposing import PROPOSE_ARGUMENTS
from capgate.host.cli.call import command
from capgate.host.mediation.audit_files import ROTATE_AT
from capgate.host.web.shim import MOST_CALLS
from capgate.plugins.builtin import MODULES
from capgate.policy.schema import WINDOWS
from host_samples import clock_descriptor
from pages import DOCS, code, prose, table

World = Any  # of conftest.py
PAGE = DOCS / "running.md"
TEXT = " ".join(prose(PAGE).split())


def test_every_refusal_of_a_call_is_listed() -> None:
    before = [name for row in table(PAGE, "Refused before anything is run:") for name in code(row[0])]
    (line,) = [line for line in prose(PAGE).splitlines() if line.startswith("Refused while it runs:")]
    listed = {*before, *(name for row in table(PAGE, line) for name in code(row[0]))}

    of_proposing = {"invalid-id", "unknown-primitive", "network-unbounded", "not-understood"}
    assert set(ToolError.ids) - of_proposing <= listed
    assert len(before) == len(set(before)) == 6


def test_every_primitive_has_its_result() -> None:
    real = {module.__name__.rpartition(".")[2] for module in MODULES if "primitives" in module.__name__}
    listed = [code(row[0])[0] for row in table(PAGE, "Results", "primitive")]
    assert {name.replace("-", "_") for name in listed} == real


def test_every_window_is_listed() -> None:
    assert {code(row[0])[0] for row in table(PAGE, "Budgets", "window")} == set(WINDOWS)


def test_every_key_of_the_configuration_is_listed_with_its_default() -> None:
    rows = {code(row[0])[0]: row[1] for row in table(PAGE, "Configuration", "key")}
    defaults = Operator()._asdict()

    assert list(rows) == list(Operator._fields)
    for key, shown in rows.items():
        value = defaults[key]
        assert shown == ("the usual ones" if value is None else f"`{value if isinstance(value, int) else '[]'}`")


def test_every_key_of_a_line_is_listed(world: World) -> None:
    world.admit(clock_descriptor())
    world.call("tide_now")
    world.call("missing")
    found = {key for line in world.audited() for key in line}
    listed = [code(row[0])[0] for row in table(PAGE, "The audit", "key")]

    assert found <= set(listed)
    assert set(listed) - found == {"approval", "binding"}
    assert len(listed) == len(set(listed))


def test_every_tool_of_a_model_is_listed_with_its_arguments() -> None:
    rows = {code(row[0])[0]: code(row[1]) for row in table(PAGE, "The tools of a model", "tool")}
    assert rows == {"list_extensions": [], "call_extension": ["name"], "propose_extension": list(PROPOSE_ARGUMENTS)}


def test_every_argument_is_an_option_of_the_command() -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    assert {f"--{name}" for name in CALL_ARGUMENTS} <= options
    assert all(f"`--{name}`" in TEXT for name in CALL_ARGUMENTS)


@pytest.mark.parametrize(
    "sentence",
    [
        f"at most {MOST_CALLS} tools at a time",
        f"grown to {ROTATE_AT >> 20} MiB",
        "An argument of more than 1,000 characters is not shown",
    ],
)
def test_the_limits_are_the_real_ones(sentence: str) -> None:
    from capgate.host.calls import arguments

    assert arguments._LONGEST_SHOWN == 1000
    assert sentence in TEXT
