"""Counters for Prometheus: of this process, or, with several workers, of all of them together."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from steelyard.errors import SteelyardError

if TYPE_CHECKING:
    from steelyard.store.database import Store

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the library's own variable: where the workers of one server keep their counts
_TIMES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_FATES = {"delivered": "has", "dropped": "never got: too many waited", "refused": "turned down"}


class Metrics:
    """What a server counts. Route patterns, not addresses, are labels: nobody can make their number grow."""

    def __init__(self, store: "Store") -> None:
        self.registry = CollectorRegistry()
        self.shown = self.registry
        if SHARED in os.environ:
            self.shown = CollectorRegistry()
            MultiProcessCollector(self.shown)  # type: ignore[no-untyped-call]
        self.scores = Counter("steelyard_scores", "Runs scored here, by tier", ["tier"], registry=self.registry)
        self.failures = Counter(
            "steelyard_scoring_failures", "Runs that could not be stored or scored", ["cause"], registry=self.registry
        )
        self.requests = Histogram(
            "steelyard_request_seconds",
            "Requests by route, method and status",
            ["route", "method", "status"],
            registry=self.registry,
            buckets=_TIMES,
        )
        self.shown.register(_Queues(store))
        self._children: dict[tuple[str, str, int], Histogram] = {}

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        key = (route, method, status)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self.requests.labels(route, method, str(status))
        child.observe(seconds)


class _Queues(Collector):
    """How many events wait for each sink, and what became of others; read when somebody looks."""

    def __init__(self, store: "Store") -> None:
        self.store = store

    def collect(self) -> Iterator[Metric]:
        """The sizes of the queues; none while the store does not answer."""
        kept = GaugeMetricFamily("steelyard_outbox_events", "Events that are kept in the outbox")
        of_sink: dict[str, GaugeMetricFamily | CounterMetricFamily] = {
            "queue": GaugeMetricFamily(
                "steelyard_outbox_pending", "Events that a sink has still to deliver", labels=["sink"]
            ),
            "failures": GaugeMetricFamily(
                "steelyard_sink_failures", "How often in a row a sink did not take an event", labels=["sink"]
            ),
            **{
                name: CounterMetricFamily(f"steelyard_events_{name}", f"Events that a sink {meaning}", labels=["sink"])
                for name, meaning in _FATES.items()
            },
        }
        try:
            kept.add_metric([], self.store.queue_size())
            for state in self.store.sink_states(0.0):
                for name, family in of_sink.items():
                    family.add_metric([state.name], getattr(state, name))
        except SteelyardError:
            return
        yield kept
        yield from of_sink.values()
