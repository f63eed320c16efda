"""Facts, operators and listeners of plugins while decisions are made."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from capgate.plugins.api import Fact, Operator, hookimpl
from capgate.plugins.calls import Fault
from capgate.plugins.config import Config
from capgate.plugins.guard import Caller
from capgate.plugins.manager import load
from capgate.policy.catalog import FactTerms, OperatorTerms
from capgate.policy.errors import FactUnavailable


def fact(read: Callable[[Any, str], Any], type: str = "number", deadline: float = 5) -> FactTerms:
    class Tides:
        name = "tides"
        version = "1.2"

        @hookimpl
        def capgate_facts(self) -> list[Fact]:
            return [Fact("level", type, "height of the water in metres", read)]

    return load([Tides()], config=Config(), deadline=deadline).catalog.facts["plugin.tides.level"]


def operator(
    accepts: Callable[[Any], Any] = lambda operand: None,
    holds: Callable[[Any, Any], Any] = lambda value, operand: True,
    deadline: float = 5,
) -> OperatorTerms:
    class Tides:
        name = "tides"
        version = "1.2"

        @hookimpl
        def capgate_operators(self) -> list[Operator]:
            return [Operator("near", accepts, holds, absent=True)]

    return load([Tides()], config=Config(), deadline=deadline).catalog.operators["near"]


def fail(error: BaseException) -> Any:
    raise error


def recurse(*args: Any) -> Any:
    return recurse(*args)


DESCRIPTOR = {"id": "harbour", "tools": [{"name": "a", "params": {"depth": 1.5, "deep": True, "none": None}}]}


def test_a_fact_is_read_from_the_descriptor_and_the_placement() -> None:
    terms = fact(lambda descriptor, placement: f"{descriptor['id']} on {placement}", "string")
    assert terms.read(DESCRIPTOR, "machine") == "harbour on machine"
    assert (terms.path, terms.type, terms.plugin) == ("plugin.tides.level", "string", "tides")


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("string", "a"),
        ("boolean", True),
        ("null", None),
        ("list", ["a", {"b": [1]}]),
        ("object", {"a": 1}),
        ("number", 1.5),
        ("number", 3),
        ("whole", 3),
        ("whole", 3.0),
        ("host", "a.test"),
    ],
)
def test_a_fact_of_its_type_is_handed_on(type: str, value: Any) -> None:
    assert fact(lambda descriptor, placement: value, type).read({}, "machine") == value


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("string", 5),
        ("string", None),
        ("boolean", 1),
        ("null", False),
        ("list", {}),
        ("object", []),
        ("number", True),
        ("number", "1"),
        ("whole", 1.5),
        ("whole", True),
        ("host", "https://a.test"),
        ("host", 7),
    ],
)
def test_a_fact_of_another_type_is_unavailable(type: str, value: Any) -> None:
    with pytest.raises(FactUnavailable) as caught:
        fact(lambda descriptor, placement: value, type).read({}, "machine")
    assert caught.value.message == f"plugin 'tides' (1.2): fact plugin.tides.level is no {type}"


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda d, p: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda d, p: fail(SystemExit(1)), "raised SystemExit: 1"),
        (lambda d, p: fail(KeyboardInterrupt()), "raised KeyboardInterrupt"),
        (recurse, "raised RecursionError"),
        (lambda d, p: float("nan"), "raised TypeError: float is no JSON data"),
        (lambda d, p: {1: 2}, "raised TypeError: dict is no JSON data"),
        (lambda d, p: [{1}], "raised TypeError: set is no JSON data"),
        (lambda d, p: sys.exit("bye"), "raised SystemExit: bye"),
        (lambda d: 1, "raised TypeError"),
    ],
)
def test_a_fact_that_fails_is_unavailable_by_name(read: Callable[..., Any], text: str) -> None:
    with pytest.raises(FactUnavailable) as caught:
        fact(read).read(DESCRIPTOR, "machine")
    assert caught.value.message.startswith(f"plugin 'tides' (1.2): fact plugin.tides.level {text}")


def test_a_fact_that_hangs_is_unavailable_and_asked_once(never: threading.Event) -> None:
    asked = []

    def read(descriptor: Any, placement: str) -> int:
        asked.append(placement)
        never.wait()
        return 1

    terms = fact(read, deadline=0.05)
    with pytest.raises(FactUnavailable, match=r"did not return within 0\.05 seconds"):
        terms.read({}, "machine")
    with pytest.raises(FactUnavailable, match="still busy"):
        terms.read({}, "machine")
    assert asked == ["machine"]


def test_a_fact_that_came_back_late_is_asked_again() -> None:
    go = threading.Event()
    caller = Caller(0.05)
    with pytest.raises(Fault, match="did not return"):
        caller.call(go.wait)
    go.set()
    answers: list[int] = []
    while not answers:  # The late call may need a moment to end.
        with contextlib.suppress(Fault):
            answers.append(caller.call(lambda: 2))
    assert answers == [2]


def test_a_fact_gets_a_copy_and_gives_one() -> None:
    kept: list[Any] = []

    def read(descriptor: Any, placement: str) -> Any:
        descriptor["tools"].clear()
        kept.append([1])
        return kept[-1]

    descriptor = {"tools": [1]}
    value = fact(read, "list").read(descriptor, "machine")
    kept[-1].append(2)
    assert descriptor == {"tools": [1]}
    assert value == [1]


def test_a_descriptor_too_deep_to_copy_is_unavailable() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(FactUnavailable, match="RecursionError"):
        fact(lambda descriptor, placement: 1).read({"tools": deep}, "machine")


def test_an_operator_answers_true_false_or_not_for_this() -> None:
    terms = operator(
        accepts=lambda operand: None if operand == 1 else "expected 1",
        holds=lambda value, operand: value == operand if type(value) is int else None,
    )
    assert terms.accepts(1) is None
    assert terms.accepts(2) == "expected 1"
    assert terms.holds(1, 1) is True
    assert terms.holds(2, 1) is False
    assert terms.holds("2", 1) is None
    assert (terms.name, terms.absent, terms.plugin) == ("near", True, "tides")


@pytest.mark.parametrize(
    ("holds", "text"),
    [
        (lambda v, o: 1, "answered with neither True, False nor None"),
        (lambda v, o: fail(ValueError("odd")), "raised ValueError: odd"),
        (recurse, "raised RecursionError"),
    ],
)
def test_an_operator_that_fails_is_unavailable_by_name(holds: Callable[..., Any], text: str) -> None:
    with pytest.raises(FactUnavailable) as caught:
        operator(holds=holds).holds([1], [2])
    assert caught.value.message.startswith(f"plugin 'tides' (1.2): operator near {text}")


@pytest.mark.parametrize("accepts", [lambda o: True, lambda o: fail(SystemExit())], ids=["type", "exits"])
def test_an_operator_that_cannot_judge_its_operand_is_unavailable(accepts: Callable[..., Any]) -> None:
    with pytest.raises(FactUnavailable, match="operator near"):
        operator(accepts=accepts).accepts(1)


def test_an_operator_that_hangs_is_unavailable(never: threading.Event) -> None:
    with pytest.raises(FactUnavailable, match="did not return"):
        operator(holds=lambda v, o: never.wait(), deadline=0.05).holds(1, 2)


def test_an_operator_gets_copies() -> None:
    value, operand = [1], [2]
    operator(holds=lambda v, o: v.append(3) is None and o.append(3) is None).holds(value, operand)
    assert (value, operand) == ([1], [2])


def test_a_module_is_a_plugin() -> None:
    module = ModuleType("harbour_log")
    module.version = "3"  # type: ignore[attr-defined]
    module.__file__ = "harbour_log.py"
    module.capgate_decided = hookimpl(lambda context, verdict: None)  # type: ignore[attr-defined]
    entry = load([module], config=Config()).listing[1].to_json()
    assert (entry["name"], entry["version"], entry["location"]) == ("harbour_log", "3", "harbour_log.py")
    assert entry["hooks"] == ["capgate_decided"]


def test_other_threads_still_reach_stdout_while_a_plugin_runs(capsys: pytest.CaptureFixture[str]) -> None:
    inside, go = threading.Event(), threading.Event()

    def read(descriptor: Any, placement: str) -> int:
        print("from the plugin")
        inside.set()
        go.wait()
        print("again", flush=True)
        return 1

    terms = fact(read)
    asking = threading.Thread(target=lambda: terms.read({}, "machine"))
    before = sys.stdout
    asking.start()
    inside.wait()
    print("from the host")
    go.set()
    asking.join()
    assert sys.stdout is before
    out, err = capsys.readouterr()
    assert out == "from the host\n"
    assert err == "from the plugin\nagain\n"


def test_a_plugin_left_behind_still_does_not_reach_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    go, gone = threading.Event(), threading.Event()

    def read(descriptor: Any, placement: str) -> int:
        go.wait()
        print("late")
        gone.set()
        return 1

    with pytest.raises(FactUnavailable):
        fact(read, deadline=0.05).read({}, "machine")
    print("answer")
    go.set()
    gone.wait()
    out, err = capsys.readouterr()
    assert out == "answer\n"
    assert err == "late\n"


def test_a_plugin_does_not_reach_stdout_when_another_one_ends(capsys: pytest.CaptureFixture[str]) -> None:
    inside, go = threading.Event(), threading.Event()

    def read(descriptor: Any, placement: str) -> int:
        inside.set()
        go.wait()
        print("longer")
        return 1

    longer = fact(read)
    shorter = fact(lambda descriptor, placement: 2)
    asking = threading.Thread(target=lambda: longer.read({}, "machine"))
    asking.start()
    inside.wait()
    shorter.read({}, "machine")
    go.set()
    asking.join()
    assert capsys.readouterr() == ("", "longer\n")


def test_calls_from_many_threads_do_not_mix() -> None:
    terms = fact(lambda descriptor, placement: descriptor["number"])
    wrong: list[int] = []

    def ask(start: int) -> None:
        wrong.extend(n for n in range(start, start + 100) if terms.read({"number": n}, "machine") != n)

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(0, 800, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_has_workers_of_its_own() -> None:
    terms = fact(lambda descriptor, placement: 1)
    terms.read({}, "machine")
    child = os.fork()
    if child == 0:
        try:
            os._exit(40 + terms.read({}, "machine"))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 41


def test_a_worker_of_another_process_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = fact(lambda descriptor, placement: threading.get_ident())
    first = terms.read({}, "machine")
    assert terms.read({}, "machine") == first
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert terms.read({}, "machine") != first
