"""otel: spans over OTLP/HTTP to a receiver on loopback, and in memory."""

from contextlib import closing
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from steelyard.domain.run import Parity
from steelyard.domain.usage import Usage
from steelyard.events.base import SinkError
from steelyard.events.spans import OpenTelemetry, open_telemetry
from steelyard.store.database import Store
from tests.events.support import Receiver
from tests.store.support import AT, finished, judged

USED = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=50, cost_usd=0.25)
WHO = Parity(agent="claude-code", agent_version="2.1", model="some-model", sandbox="local")


def in_memory(store: Store) -> tuple[OpenTelemetry, InMemorySpanExporter]:
    """A sink whose spans can be looked at."""
    exporter = InMemorySpanExporter()
    return OpenTelemetry(exporter, lambda name: store.run(name).run, "memory"), exporter


def test_a_scored_run_is_an_evaluation(store: Store) -> None:
    """Name, number, label and explanation, and who did it with how many tokens; unknown things are left out."""
    card = store.save(finished(1, usage=USED, parity=WHO, judge=judged("FAIL")), scored_at=AT)
    assert card is not None
    sink, exporter = in_memory(store)

    sink.send(store.pending_events("x"))
    sink.send(store.pending_events("x"))

    span, again = exporter.get_finished_spans()
    found: dict[str, Any] = dict(span.attributes or {})
    assert span.name == "evaluate off-by-one"
    assert found["gen_ai.evaluation.name"] == "steelyard.scorecard"
    assert found["gen_ai.evaluation.score.value"] == card.score
    assert found["gen_ai.evaluation.score.label"] == card.tier
    assert "completion 100 × 0.4" in found["gen_ai.evaluation.explanation"]
    assert "latency 50 × 0.2 (unknown, counted 50)" in found["gen_ai.evaluation.explanation"]
    assert (found["gen_ai.agent.name"], found["gen_ai.request.model"]) == ("claude-code", "some-model")
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (150, 20)
    assert "gen_ai.usage.cache_creation.input_tokens" not in found
    assert (span.end_time or 0) - (span.start_time or 0) == 10 * 10**9
    results = {(e.attributes or {})["gen_ai.evaluation.name"]: dict(e.attributes or {}) for e in span.events}
    assert results["steelyard.judge"]["gen_ai.evaluation.score.label"] == "FAIL"
    assert results["steelyard.completion"]["gen_ai.evaluation.score.value"] == 100.0
    assert again.context == span.context, "sent twice it is the same span"


def test_a_run_that_was_pruned_still_has_its_score(store: Store) -> None:
    """The event alone makes a span; other events make none."""
    for number in range(5):  # the fifth earns trust, which is no evaluation
        store.save(finished(number, wall_s=10.0), scored_at=AT)
    exporter = InMemorySpanExporter()
    sink = OpenTelemetry(exporter, lambda _: None, "memory")

    sink.send(store.pending_events("x"))

    spans = exporter.get_finished_spans()
    assert len(store.pending_events("x")) == 6
    assert [span.name for span in spans] == [f"evaluate run_{number:05d}" for number in range(5)]
    assert all("gen_ai.agent.name" not in (span.attributes or {}) for span in spans)


def test_spans_reach_a_collector(store: Store, receiver: Receiver) -> None:
    """Over OTLP/HTTP; what the collector does not take stays in line."""
    store.save(finished(1), scored_at=AT)
    endpoint = receiver.url.partition("/hook")[0]
    with closing(open_telemetry(endpoint, lambda name: store.run(name).run)) as sink:
        receiver.mood = "refuse"
        with pytest.raises(SinkError, match="the collector did not take"):
            sink.send(store.pending_events("x"))
        receiver.mood = "fine"
        sink.send(store.pending_events("x"))

    (request,) = receiver.taken
    assert request.path == "/v1/traces"
    (resource,) = ExportTraceServiceRequest.FromString(request.body).resource_spans
    assert [span.name for span in resource.scope_spans[0].spans] == ["evaluate off-by-one"]
    assert {a.key: a.value.string_value for a in resource.resource.attributes}["service.name"] == "steelyard"
