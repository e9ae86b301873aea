"""Which sinks there are: `STEELYARD_EVENTS` names them, and OpenTelemetry's own variable switches spans on."""

from collections.abc import Callable, Mapping
from pathlib import Path

from steelyard.domain.run import Run
from steelyard.errors import InputError
from steelyard.events.base import Clock, Sink

ALLOWED = "jsonl:PATH, webhook:URL, posthog, separated by commas"


def make_sinks(spec: str, environ: Mapping[str, str], clock: Clock, look_up: Callable[[str], Run | None]) -> list[Sink]:
    """The sinks that are asked for; an `InputError` for one that can't be made, before anything is delivered."""
    sinks = [_sink(part.strip(), environ, clock) for part in spec.split(",") if part.strip()]
    endpoint = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if endpoint:
        from steelyard.events.spans import open_telemetry

        sinks.append(open_telemetry(endpoint, look_up))
    names = [sink.name for sink in sinks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"STEELYARD_EVENTS: {twice[0]} is named twice")
    return sinks


def _sink(part: str, environ: Mapping[str, str], clock: Clock) -> Sink:
    kind, _, rest = part.partition(":")
    if kind == "jsonl" and rest:
        from steelyard.events.jsonl import Jsonl

        return Jsonl(Path(rest))
    if kind == "webhook" and rest:
        from steelyard.events.webhook import Webhook

        secret = environ.get("STEELYARD_WEBHOOK_SECRET")
        if not secret:
            raise InputError("STEELYARD_EVENTS: a webhook is signed; set STEELYARD_WEBHOOK_SECRET")
        return Webhook(rest, secret, clock)
    if part == "posthog":
        from steelyard.events.posthog import PostHog

        key = environ.get("POSTHOG_API_KEY")
        if not key:
            raise InputError("STEELYARD_EVENTS: posthog needs the project's key in POSTHOG_API_KEY")
        return PostHog(key, environ.get("POSTHOG_HOST"))
    # Not the whole text: an address may hold a secret.
    raise InputError(f"STEELYARD_EVENTS: unknown sink {kind[:40]!r}; allowed: {ALLOWED}")
