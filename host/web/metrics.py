"""What is counted, for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from capgate.host.admission.registry import Registry

__all__ = ["CONTENT_TYPE", "Metrics", "Now"]

#: The text format, whose version scrapers ask for.
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
#: Upper ends of the buckets of times, in seconds.
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Now(NamedTuple):
    """What is read at the moment of a scrape.

    Attributes:
        registry: what runs.
        monotonic: the host's monotonic time, in seconds.
        fingerprint: of the policy.
    """

    registry: Registry
    monotonic: float
    fingerprint: str


class _Times:
    """How long the requests of one route took."""

    __slots__ = ("buckets", "sum")

    def __init__(self) -> None:
        self.buckets = [0] * (len(_SECONDS) + 1)
        self.sum = 0.0


class Metrics(Collector):
    """The counters of one server, for its event loop alone: so counting takes no lock.

    Args:
        now: reads the state of the host; None where it has no policy.
    """

    def __init__(self, now: Callable[[], Now | None]):
        self._now = now
        self._decisions: Counter[tuple[str, str | None]] = Counter()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._errors: Counter[str] = Counter()
        self._times: dict[str, _Times] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def decided(self, door: str, rule: str | None) -> None:
        """Counts a decision.

        Args:
            door: where it was asked for: ``decide``, ``batch`` or ``admit``.
            rule: the rule that refused; None where none did.
        """
        self._decisions[door, rule] += 1

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request; `route` is the template of its path, so that there are only so many."""
        self._requests[method, route, status] += 1
        times = self._times.get(route)
        if times is None:
            times = self._times[route] = _Times()
        times.buckets[bisect_left(_SECONDS, seconds)] += 1
        times.sum += seconds

    def failed(self, id: str) -> None:
        """Counts an error that was answered."""
        self._errors[id] += 1

    def text(self) -> bytes:
        """All of it, in the text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """All of it, as the library takes it."""
        what = "Decisions, by where they were asked for and by the rule that refused."
        decisions = CounterMetricFamily("capgate_decisions", what, labels=["door", "decision", "rule"])
        for (door, rule), count in self._decisions.items():
            decisions.add_metric([door, "admitted" if rule is None else "refused", rule or ""], count)
        yield decisions
        requests = CounterMetricFamily(
            "capgate_http_requests", "Requests answered.", labels=["method", "route", "status"]
        )
        for (method, route, status), count in self._requests.items():
            requests.add_metric([method, route, str(status)], count)
        yield requests
        what = "Time from the headers of a request to its whole answer."
        seconds = HistogramMetricFamily("capgate_http_request_seconds", what, labels=["route"])
        for route, times in self._times.items():
            ends = [*map(str, _SECONDS), "+Inf"]
            seconds.add_metric([route], list(zip(ends, accumulate(times.buckets), strict=True)), times.sum)
        yield seconds
        errors = CounterMetricFamily("capgate_errors", "Errors answered, by id.", labels=["id"])
        for id, count in self._errors.items():
            errors.add_metric([id], count)
        yield errors
        yield from _state(self._now())


def _state(now: Now | None) -> Iterator[Metric]:
    """What is not counted but read."""
    yield _gauge("capgate_ready", "Whether there is a policy to decide by.", now is not None)
    if now is None:
        return
    registry = now.registry
    policy = GaugeMetricFamily("capgate_policy_info", "The policy that decides.", labels=["fingerprint"])
    policy.add_metric([now.fingerprint], 1)
    yield policy
    gauges = {
        "registry_age_seconds": ("Time since the registry was last loaded.", now.monotonic - registry.loaded_at),
        "ledger_length": ("Lines of the ledger.", registry.ledger.length),
        "ledger_broken": ("Whether the ledger cannot be trusted.", registry.ledger.fault is not None),
        "extensions_running": ("Extensions that run.", len(registry.extensions)),
        "extensions_failed": ("Extensions that do not run although they should.", len(registry.failed)),
    }
    for name, (documentation, value) in gauges.items():
        yield _gauge(f"capgate_{name}", documentation, value)


def _gauge(name: str, documentation: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, documentation, value=value)
