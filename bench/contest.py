"""Timing on a machine that is shared: processor time, contestants taking turns, and the least of many rounds.

In each round one contestant after the other takes all its inputs, so that each runs with its own code and data in the
caches. The inputs are timed in chunks. A contestant's time is the sum of the least times of its chunks, which what else
the machine does disturbs least; a ratio is worked out in every round, and the median of these counts.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from time import process_time_ns
from typing import Any, NamedTuple

__all__ = ["Contest", "Contestant", "least", "run"]


class Contestant(NamedTuple):
    """What is asked, and the inputs it is asked one after the other."""

    ask: Callable[[Any], object]
    inputs: Sequence[Any]


class Contest(NamedTuple):
    """The result.

    Attributes:
        micros: processor microseconds an input, by contestant.
        rounds: nanoseconds an input in each round, by contestant.
    """

    micros: Mapping[str, float]
    rounds: Mapping[str, Sequence[float]]

    def ratio(self, name: str, other: str) -> float:
        """How many times as long `name` takes as `other`: the median of all rounds."""
        return median(a / b for a, b in zip(self.rounds[name], self.rounds[other], strict=True))


def run(contestants: Mapping[str, Contestant], rounds: int, chunk: int = 100) -> Contest:
    """Lets the contestants take turns; each has as many chunks as it has inputs for."""
    cut = {name: _chunks(each.inputs, chunk) for name, each in contestants.items()}
    best = {name: [float("inf")] * len(chunks) for name, chunks in cut.items()}
    totals: dict[str, list[float]] = {name: [] for name in contestants}
    with _quiet():
        for each in contestants.values():
            _asked(each.ask, each.inputs)  # so that what is compiled or imported when it is first needed is there
        for _ in range(rounds):
            for name, chunks in cut.items():
                nanos = [_asked(contestants[name].ask, chunk) for chunk in chunks]
                best[name] = list(map(min, best[name], nanos))
                totals[name].append(sum(nanos) / len(contestants[name].inputs))
    micros = {name: sum(best[name]) / len(contestants[name].inputs) / 1000 for name in contestants}
    return Contest(micros, totals)


def least(what: Callable[[], object], times: int) -> float:
    """The least processor time of some calls, in seconds."""
    found = []
    with _quiet():
        for _ in range(times):
            start = process_time_ns()
            what()
            found.append(process_time_ns() - start)
    return min(found) / 1e9


def _asked(ask: Callable[[Any], object], inputs: Sequence[Any]) -> int:
    start = process_time_ns()
    for each in inputs:
        ask(each)
    return process_time_ns() - start


def _chunks(inputs: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [inputs[start : start + size] for start in range(0, len(inputs), size)]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without garbage collections, as `timeit` does it."""
    was = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
