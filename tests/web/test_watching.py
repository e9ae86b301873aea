"""Trend, drift and trust over HTTP; events that go out, and logs, while the server runs."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from steelyard.domain.record import Record
from steelyard.web.api.watching import BaselineHistory, DriftOut, Trend, Trust
from tests.events.support import until
from tests.web.server import STEELYARD, environment, run_body, serving

Enter = Callable[..., httpx.Client]


def test_a_workspace_is_watched(enter: Enter, workspace: str) -> None:
    """Scores by day, the baseline's history, drift and trust, each as it is described."""
    client = enter()
    for number in range(7):
        body = run_body(number, run_id=f"{workspace}-{number}", wall_s=10.0, finished_at="2026-01-08T12:00:00Z")
        assert client.post("/v1/runs", json=body).status_code == 201
    base = f"/v1/workspaces/{workspace}"
    described: dict[str, type[Record]] = {
        "trend?until=2026-01-10&days=5": Trend,
        "baseline/history?until=2026-01-10&days=5": BaselineHistory,
        "drift?as_of=2026-01-10": DriftOut,
        "trust": Trust,
    }
    found = {}
    for path, record in described.items():
        answer = client.get(f"{base}/{path}")
        assert answer.status_code == 200, answer.text
        record.model_validate_json(answer.text)
        found[record] = answer.json()

    (day,) = found[Trend]["days"]
    assert (day["day"], day["runs"], day["baseline_p50_s"]) == ("2026-01-08", 7, 10.0)
    assert found[Trend]["arms"]["plain"] == [day]
    assert found[BaselineHistory]["days"] == [{"day": "2026-01-08", "p50_s": 10.0}]
    assert (found[DriftOut]["drifted"], found[DriftOut]["this_week"]["runs"]) == (None, 7)
    assert found[Trust]["arms"]["plain"]["streak"] <= 7
    assert client.get(f"{base}/trend").json()["days"] == [], "today nothing finished"


@pytest.mark.parametrize("path", ["trend", "baseline/history", "drift", "trust"])
def test_another_workspace_is_not_there(enter: Enter, path: str) -> None:
    """404, as if it did not exist."""
    assert enter().get(f"/v1/workspaces/somebody-else/{path}").status_code == 404


@pytest.mark.parametrize("path", ["trend?days=0", "trend?days=367", "trend?until=soon", "drift?as_of=2026-13-01"])
def test_wrong_days_are_told(enter: Enter, workspace: str, path: str) -> None:
    """A problem document, no failure of ours."""
    answer = enter().get(f"/v1/workspaces/{workspace}/{path}")

    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"].startswith("application/problem+json")


def test_the_ends_of_time_are_days_too(enter: Enter, workspace: str) -> None:
    """The first and the last day there is."""
    for day in ("0001-01-01", "9999-12-31"):
        for path in (f"trend?days=366&until={day}", f"drift?as_of={day}"):
            assert enter().get(f"/v1/workspaces/{workspace}/{path}").status_code == 200


def test_a_server_delivers_events_and_logs_requests(tmp_path: Path) -> None:
    """Two workers, one file: each event once, queue sizes in the metrics, a JSON line for each request."""
    path = tmp_path / "events.jsonl"
    settings = {"STEELYARD_EVENTS": f"jsonl:{path}"}
    words = ("--workers", "2", "--log-json")
    with serving(tmp_path / "home", *words, settings=settings) as served, served.client() as client:
        for number in range(10):
            asked = client.post("/v1/runs", json=run_body(number), headers={"X-Request-Id": f"ask-{number}"})
            assert asked.status_code == 201
        until(lambda: path.exists() and path.read_text().count('"agent.run.scored"') == 10, "delivery")
        until(lambda: f'steelyard_outbox_pending{{sink="jsonl:{path}"}} 0.0' in client.get("/metrics").text, "metrics")
        for _ in range(6):  # whichever worker answers, it tells of both
            with served.client() as another:
                scored = [
                    line for line in another.get("/metrics").text.splitlines() if "steelyard_scores_total{" in line
                ]
            assert sum(float(line.rpartition(" ")[2]) for line in scored) == 10
        assert served.stop(signal.SIGTERM) == 0
    ids = [json.loads(line)["id"] for line in path.read_text().splitlines()]
    assert len(ids) == len(set(ids))
    logged = [json.loads(line) for line in (tmp_path / "home" / "server.log").read_text().splitlines()]
    requests = [line for line in logged if line["message"] == "request" and line["route"] == "/v1/runs"]
    assert sorted(line["request_id"] for line in requests) == sorted(f"ask-{number}" for number in range(10))
    assert all(line["status"] == 201 for line in requests)


def test_a_wrong_sink_stops_the_server_before_it_listens(tmp_path: Path) -> None:
    """One line and exit code 2, not a traceback of a worker."""
    env = {**environment(tmp_path), "STEELYARD_EVENTS": "kafka:x"}
    ran = subprocess.run([*STEELYARD, "serve", "--port", "0"], env=env, capture_output=True, text=True, timeout=240)

    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "unknown sink 'kafka'" in ran.stderr
