"""Facts and operators of plugins, wrapped so that a decision can rely on them.

Whatever a plugin's function does, the one outcome other than a fit value is `FactUnavailable`, whose
message names the plugin; the gate then refuses. Functions get copies, so they cannot change what is
judged, and their values are copied too, so they cannot change them afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from capgate.plugins.api import Fact, Operator
from capgate.plugins.calls import Calls, Fault
from capgate.plugins.data import plain
from capgate.plugins.errors import Origin
from capgate.policy.catalog import FactTerms, OperatorTerms
from capgate.policy.errors import FactUnavailable

__all__ = ["fact_terms", "operator_terms"]

T = TypeVar("T")


def fact_terms(fact: Fact, origin: Origin, caller: Calls) -> FactTerms:
    """`fact` under its whole path, with a `read` that raises nothing but `FactUnavailable`."""
    path = f"plugin.{origin.name}.{fact.name}"
    read, kind = fact.read, fact.type

    def reading(descriptor: Any, placement: str) -> Any:
        def run() -> Any:
            return plain(read(plain(descriptor), placement))

        value = _asked(caller, origin, f"fact {path}", run)
        if not _is(kind, value):
            raise FactUnavailable(f"{origin}: fact {path} is no {kind}")
        return value

    return FactTerms(path=path, type=kind, meaning=fact.meaning, read=reading, plugin=origin.name)


def operator_terms(operator: Operator, origin: Origin, caller: Calls) -> OperatorTerms:
    """`operator` with functions that raise nothing but `FactUnavailable`."""
    title = f"operator {operator.name}"
    accepts, holds = operator.accepts, operator.holds

    def accepting(operand: Any) -> str | None:
        found: object = _asked(caller, origin, title, lambda: accepts(plain(operand)))
        if found is not None and type(found) is not str:
            raise FactUnavailable(f"{origin}: {title} answered an operand with neither None nor a text")
        return found

    def holding(value: Any, operand: Any) -> bool | None:
        found: object = _asked(caller, origin, title, lambda: holds(plain(value), plain(operand)))
        if found is not None and type(found) is not bool:
            raise FactUnavailable(f"{origin}: {title} answered with neither True, False nor None")
        return found

    return OperatorTerms(
        name=operator.name, accepts=accepting, holds=holding, absent=operator.absent, plugin=origin.name
    )


def _asked(caller: Calls, origin: Origin, title: str, function: Callable[[], T]) -> T:
    try:
        return caller.call(function)
    except Fault as fault:
        raise FactUnavailable(f"{origin}: {title} {fault.what}") from None


def _is(kind: str, value: Any) -> bool:
    if kind == "host":
        from capgate.policy.hosts import is_host

        return is_host(value)
    if kind == "whole":
        return type(value) is int or (type(value) is float and value.is_integer())
    return type(value) in _TYPES[kind]


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "list": (list,),
    "object": (dict,),
    "number": (int, float),
}
