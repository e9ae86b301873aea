"""Counters for Prometheus: each server process has its own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from steelyard.errors import SteelyardError
from steelyard.store.outbox import queue_size

if TYPE_CHECKING:
    from steelyard.store.connection import Database

_TIMES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """What a server counts. Route patterns, not addresses, are labels: nobody can make their number grow."""

    def __init__(self, database: "Database", sinks: tuple[str, ...] = ()) -> None:
        self.registry = CollectorRegistry()
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
        self.registry.register(_Queues(database, sinks))
        self._children: dict[tuple[str, str, int], Histogram] = {}

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        key = (route, method, status)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self.requests.labels(route, method, str(status))
        child.observe(seconds)


class _Queues(Collector):
    """How many events wait, read when somebody looks."""

    def __init__(self, database: "Database", sinks: tuple[str, ...]) -> None:
        self.database = database
        self.sinks = sinks

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The sizes of the queues; none while the store does not answer."""
        kept = GaugeMetricFamily("steelyard_outbox_events", "Events that are kept in the outbox")
        waiting = GaugeMetricFamily(
            "steelyard_outbox_pending", "Events that a sink has still to deliver", labels=["sink"]
        )
        try:
            kept.add_metric([], queue_size(self.database))
            for sink in self.sinks:
                waiting.add_metric([sink], queue_size(self.database, sink))
        except SteelyardError:
            return
        yield kept
        yield waiting
