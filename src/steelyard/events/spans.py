"""otel: an OpenTelemetry span for every scored run, with the GenAI evaluation attributes.

Spans go the way of every event: out of the outbox, in the background, again until the collector has them. Their ids
follow from the run and the event, so a span that is sent twice is the same span.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from steelyard import __version__
from steelyard.domain.record import JsonObject, sha256
from steelyard.domain.run import Run
from steelyard.errors import InputError
from steelyard.events.base import Event, SinkError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

TIMEOUT_S = 10.0
SCORED = "agent.run.scored"
_RESULT = "gen_ai.evaluation.result"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Attributes = dict[str, str | int | float | bool]


class OpenTelemetry:
    """Exports a span an `agent.run.scored`; other events pass by. `look_up` finds the run, None when it is gone."""

    batch = 50

    def __init__(self, exporter: "SpanExporter", look_up: Callable[[str], Run | None], place: str) -> None:
        from opentelemetry.sdk.resources import Resource

        self.name = f"otel:{place}"
        self._exporter = exporter
        self._look_up = look_up
        self._resource = Resource.create({"service.name": "steelyard", "service.version": __version__})

    def send(self, events: Sequence[Event]) -> None:
        """Export the spans of these events together."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        spans = [self._span(event) for event in events if event.kind == SCORED]
        if spans and self._exporter.export(spans) is not SpanExportResult.SUCCESS:
            raise SinkError(f"{self.name.removeprefix('otel:')}: the collector did not take the spans")

    def close(self) -> None:
        """End the exporter, also while it waits."""
        self._exporter.shutdown()

    def _span(self, event: Event) -> "ReadableSpan":
        from opentelemetry.sdk.trace import Event as Note
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanContext, TraceFlags

        run = self._look_up(event.run_id) if event.run_id else None
        start, end = _times(event, run)
        return ReadableSpan(
            name=f"evaluate {run.task_id if run else event.run_id}",
            context=SpanContext(
                trace_id=int(sha256(event.run_id or event.event_id)[:32], 16) or 1,
                span_id=int(event.event_id[:16], 16) or 1,
                is_remote=False,
                trace_flags=TraceFlags(TraceFlags.SAMPLED),
            ),
            resource=self._resource,
            attributes={**_evaluation(event), **(_facts(run) if run else {})},
            events=[Note(_RESULT, attributes=result, timestamp=end) for result in _results(event, run)],
            start_time=start,
            end_time=end,
            instrumentation_scope=InstrumentationScope("steelyard", __version__),
        )


def open_telemetry(endpoint: str, look_up: Callable[[str], Run | None]) -> OpenTelemetry:
    """A sink that sends to a collector over OTLP/HTTP; headers and certificates come from OpenTelemetry's variables."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        raise InputError("OTEL_EXPORTER_OTLP_ENDPOINT needs the extra: pip install 'steelyard[otel]'") from None
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("OTEL_EXPORTER_OTLP_ENDPOINT: an address such as http://HOST:4318 is needed")
    exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + "/v1/traces", timeout=TIMEOUT_S)
    return OpenTelemetry(exporter, look_up, parts.netloc.rpartition("@")[2])


def _evaluation(event: Event) -> Attributes:
    told = event.payload
    return {
        "gen_ai.evaluation.name": "steelyard.scorecard",
        "gen_ai.evaluation.score.value": float(told["score"]),
        "gen_ai.evaluation.score.label": told["tier"],
        "gen_ai.evaluation.explanation": _explained(told),
        "steelyard.run.id": event.run_id or "",
        "steelyard.workspace": event.workspace,
        "steelyard.formula_version": told["formula_version"],
        "steelyard.score.version": told["version"],
        "steelyard.event.id": event.event_id,
    }


def _explained(told: JsonObject) -> str:
    """The axes with their weights, so that the number can be followed."""
    defaulted = set(told.get("defaulted_axes", ()))
    parts = [
        f"{axis} {value} × {told['weights'][axis]:g}" + (" (unknown, counted 50)" if axis in defaulted else "")
        for axis, value in told["axes"].items()
    ]
    return "; ".join(parts)


def _facts(run: Run) -> Attributes:
    """Who did it with what; what is unknown is left out."""
    usage = run.usage
    cached = (usage.cache_read_tokens, usage.cache_write_tokens)
    # The conventions count cached tokens as input; ours are kept apart.
    whole = None if usage.input_tokens is None else usage.input_tokens + sum(part or 0 for part in cached)
    facts: dict[str, Any] = {
        "gen_ai.agent.name": run.parity.agent,
        "gen_ai.agent.version": run.parity.agent_version,
        "gen_ai.request.model": run.parity.model,
        "gen_ai.usage.input_tokens": whole,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "steelyard.cost_usd": usage.cost_usd,
        "steelyard.experiment": run.experiment,
        "steelyard.task.id": run.task_id,
        "steelyard.arm": run.arm,
        "steelyard.repeat": run.repeat,
        "steelyard.outcome": run.outcome,
        "error.type": run.error_class,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _results(event: Event, run: Run | None) -> list[Attributes]:
    """An evaluation result each for the axes, and for the judge where there was one."""
    found: list[Attributes] = [
        {"gen_ai.evaluation.name": f"steelyard.{axis}", "gen_ai.evaluation.score.value": float(value)}
        for axis, value in event.payload["axes"].items()
    ]
    if run is not None and run.judge is not None:
        judged: Attributes = {"gen_ai.evaluation.name": "steelyard.judge"}
        judged["gen_ai.evaluation.score.label"] = run.judge.verdict
        if run.judge.reasoning:
            judged["gen_ai.evaluation.explanation"] = run.judge.reasoning[:4000]
        found.append(judged)
    return found


def _times(event: Event, run: Run | None) -> tuple[int, int]:
    """When the run began and ended, in nanoseconds; the event's own time where there is no run."""
    start = _nanoseconds(run.started_at if run else event.created_at)
    return start, max(start, _nanoseconds(run.finished_at if run else event.created_at))


def _nanoseconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return max(0, since // timedelta(microseconds=1) * 1000)
