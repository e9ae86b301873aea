"""Which sinks STEELYARD_EVENTS makes."""

import pytest

from steelyard.errors import InputError
from steelyard.events.base import Sink
from steelyard.events.configure import make_sinks
from tests.events.support import SECRET, Clock

KEYS = {"STEELYARD_WEBHOOK_SECRET": SECRET, "POSTHOG_API_KEY": "phc_test", "POSTHOG_HOST": "http://127.0.0.1:9"}


def made(spec: str, **environ: str) -> list[Sink]:
    """The sinks of a setting."""
    return make_sinks(spec, environ, Clock(), lambda _: None)


def test_every_kind_can_be_named() -> None:
    """Files, webhooks, PostHog and, by its own variable, OpenTelemetry; names hold no secret."""
    spec = "jsonl:/tmp/a.jsonl, webhook:https://host.example/T0/secret?key=secret,posthog"
    sinks = made(spec, **KEYS, OTEL_EXPORTER_OTLP_ENDPOINT="http://user:secret@127.0.0.1:4318")

    names = [sink.name for sink in sinks]
    assert [name.partition("#")[0] for name in names] == [
        "jsonl:/tmp/a.jsonl",
        "webhook:host.example",
        "posthog:127.0.0.1",
        "otel:127.0.0.1:4318",
    ]
    assert "secret" not in " ".join(names)
    for sink in sinks:
        sink.close()
    assert made("", **KEYS) == made(" , ") == []


@pytest.mark.parametrize(
    ("spec", "environ", "said"),
    [
        ("kafka:x", KEYS, "unknown sink 'kafka'; allowed: jsonl:PATH"),
        ("jsonl:", KEYS, "unknown sink 'jsonl'"),
        ("webhook:https://h/x", {}, "set STEELYARD_WEBHOOK_SECRET"),
        ("posthog", {}, "POSTHOG_API_KEY"),
        ("jsonl:/a,jsonl:/a", KEYS, "jsonl:/a is named twice"),
        ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"}, "http://HOST:4318"),
    ],
)
def test_a_mistake_is_told_in_one_line(spec: str, environ: dict[str, str], said: str) -> None:
    """What is wrong and what is allowed."""
    with pytest.raises(InputError, match=said):
        made(spec, **environ)
