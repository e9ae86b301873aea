"""A server whose clock jumps, and one whose sinks are dead: runs are scored as ever, and nothing is lost."""

import json
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.events.support import SECRET, Mood, receiving, until
from tests.store.support import assert_scores_are_exact
from tests.web.server import DEADLINE_S, run_body, serving

JUMPS = ("+0", "+400d", "-900d", "+3650d", "-1d", "+0")


def faked(clock: Path) -> dict[str, str]:
    """The environment of a process that reads its clock's error from a file, again and again."""
    said = subprocess.run(
        ["faketime", "-m", "-f", "+0", "env"], capture_output=True, text=True, check=True, timeout=DEADLINE_S
    ).stdout
    library = next(line.partition("=")[2] for line in said.splitlines() if line.startswith("LD_PRELOAD="))
    return {
        "LD_PRELOAD": library,
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # that one never jumps on a real machine either
    }


@pytest.mark.faketime
def test_a_clock_that_jumps_changes_no_score_and_loses_no_event(tmp_path: Path) -> None:
    """Years ahead and back: runs stay scored once, in the order in which they came; events arrive, once each."""
    clock, events = tmp_path / "clock", tmp_path / "events.jsonl"
    clock.write_text("+0\n")
    settings = {**faked(clock), "STEELYARD_EVENTS": f"jsonl:{events}"}
    with serving(tmp_path / "home", settings=settings) as served:
        in_five_years = (datetime.now(UTC) + timedelta(days=5 * 365)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        token, passing = served.token(), served.token(expires_at=in_five_years)
        years: set[str] = set()
        with served.client(token) as client, served.client(passing) as other:
            for jump, error in enumerate(JUMPS):
                clock.write_text(f"{error}\n")
                for number in range(5 * jump, 5 * jump + 5):
                    first, again = (client.post("/v1/runs", json=run_body(number)) for _ in range(2))
                    assert (first.status_code, again.status_code) == (201, 200)
                    assert first.json() == again.json()
                    years.add(first.json()["scored_at"][:4])
                assert other.get("/v1/runs").status_code == (401 if error == "+3650d" else 200)
            assert len(years) >= 4, "the clock did not jump"
            seen: list[str] = []
            cursor: dict[str, str] = {}
            while True:
                page = client.get("/v1/runs", params={"limit": 7, **cursor}).json()
                seen += [row["run_id"] for row in page["data"]]
                if page["next_cursor"] is None:
                    break
                cursor = {"cursor": page["next_cursor"]}
            assert seen == [f"run_{number:05d}" for number in reversed(range(5 * len(JUMPS)))]
            until(lambda: scored(events) == seen[::-1], "delivery")
            assert client.get("/v1/workspaces/payments/drift").status_code == 200
            assert client.get("/v1/workspaces/payments/trend").status_code == 200
        with served.open_store() as store:
            assert_scores_are_exact(store, "payments", len(seen))


def scored(events: Path) -> list[str]:
    """The runs that a file of events tells of, in its order."""
    lines = events.read_text().splitlines() if events.exists() else []
    told = [json.loads(line) for line in lines]
    return [event["run_id"] for event in told if event["type"] == "agent.run.scored"]


@pytest.mark.parametrize("mood", ["hang", "error", "reset"])
def test_a_dead_sink_is_seen_in_the_metrics_and_nowhere_else(tmp_path: Path, mood: Mood) -> None:
    """Runs are scored while a webhook hangs, fails or resets; its queue is counted, bounded, and delivered later."""
    keep = 40
    with receiving() as receiver:
        receiver.mood = mood
        settings = {
            "STEELYARD_EVENTS": f"webhook:{receiver.url}",
            "STEELYARD_WEBHOOK_SECRET": SECRET,
            "STEELYARD_EVENTS_KEEP": str(keep),
        }
        with serving(tmp_path / "home", settings=settings) as served, served.client() as client:
            until(lambda: "steelyard_outbox_pending{" in client.get("/metrics").text, "the sink")
            for number in range(keep // 2):
                assert client.post("/v1/runs", json=run_body(number)).status_code == 201
            until(lambda: receiver.asked > 0, "a first try")
            waiting = metric(client.get("/metrics").text, "steelyard_outbox_pending")
            assert keep // 2 <= waiting <= keep
            assert served.stop() in (0, -signal.SIGTERM)  # also while the sink hangs
        receiver.mood = "fine"
        receiver.ended.set()
        with serving(tmp_path / "home", settings=settings) as served, served.client() as client:
            until(lambda: metric(client.get("/metrics").text, "steelyard_outbox_pending") == 0, "delivery")
    told = [request.document["run_id"] for request in receiver.taken if "agent.run.scored" in request.body.decode()]
    assert list(dict.fromkeys(told)) == [f"run_{number:05d}" for number in range(keep // 2)]


def metric(text: str, name: str) -> float:
    """A metric's value, whatever its labels."""
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name + "{"))
