"""What goes wrong is said in a problem document, whatever is sent; large, deep, slow and odd bodies are bounded."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.web.server import Served, run_body

Enter = Callable[..., httpx.Client]
JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}


def cause(answer: httpx.Response) -> str:
    """The cause, after checking that the document is whole and says the status and request id it came with."""
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["request_id"] == answer.headers["x-request-id"]
    assert document["title"]
    assert document["detail"]
    return str(document["type"]).removeprefix("urn:steelyard:problem:")


def test_routes_and_methods_that_are_not_there(enter: Enter) -> None:
    """404 and 405, which says what is allowed."""
    client = enter()
    assert cause(client.get("/v2/runs")) == "no-such-route"
    assert cause(client.get("/v1/runs/")) == "no-such-route"
    answer = client.delete("/v1/runs")
    assert cause(answer) == "method-not-allowed"
    assert answer.headers["allow"] == "GET, POST"
    assert cause(client.request("BREW", "/v1/scenarios/x")) == "method-not-allowed"


BAD = {
    "not JSON": (b"{", "not valid JSON"),
    "not UTF-8": (b'{"run_id": "\xff"}', "not valid JSON"),
    "NaN": (b'{"run_id": "x", "outcome": "COMPLETED", "wall_s": NaN}', "not valid JSON"),
    "infinity": (b'{"run_id": "x", "outcome": "COMPLETED", "wall_s": 1e999}', "wall_s"),
    "infinite cost": (b'{"run_id": "x", "outcome": "FAILED", "wall_s": 1, "usage": {"cost_usd": 1e999}}', "cost_usd"),
    "a huge number": (b'{"run_id": "x", "outcome": "FAILED", "wall_s": 1, "repeat": ' + b"9" * 30 + b"}", "repeat"),
    "a lone surrogate": (b'{"run_id": "x", "outcome": "FAILED", "wall_s": 1, "arm": "\\ud800"}', "not valid JSON"),
    "deep": (b'{"trajectory": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}", "not valid JSON"),
    "deep lists": (b"[" * 500_000, "not valid JSON"),
    "a list": (b"[]", "object"),
    "nothing": (b"", "not valid JSON"),
    "missing": (b'{"run_id": "x"}', "outcome"),
    "unknown": (b'{"run_id": "x", "outcome": "FAILED", "wall_s": 1, "outcom": 1}', "outcom: no such field"),
    "wrong word": (b'{"run_id": "x", "outcome": "GREAT", "wall_s": 1}', "outcome"),
    "text for a number": (b'{"run_id": "x", "outcome": "FAILED", "wall_s": "1"}', "wall_s"),
    "no time": (b'{"run_id": "x", "outcome": "FAILED"}', "wall_s"),
    "a slash": (b'{"run_id": "a/b", "outcome": "FAILED", "wall_s": 1}', "run_id"),
    "control characters": (b'{"run_id": "x", "outcome": "FAILED", "wall_s": 1, "arm": "a\\u0000b"}', "arm"),
    "no time at all": (b'{"run_id": "x", "outcome": "FAILED", "wall_s": 1, "started_at": "soon"}', "started_at"),
    "out of time": (b'{"run_id":"x","outcome":"FAILED","wall_s":1e9,"finished_at":"0001-01-01T00:00:00Z"}', "wall_s"),
    "not a trajectory": (b'{"run_id": "x", "outcome": "FAILED", "wall_s": 1, "trajectory": {}}', "agent"),
    "base64": (b'{"run_id": "x", "outcome": "FAILED", "wall_s": 1, "artifacts": {"a": "\xc3\xbc"}}', "artifacts"),
    "ours": (b'{"run_id": "x", "outcome": "FAILED", "wall_s": 1, "timings": {"received_at": 1}}', "received_at"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_body_is_refused_with_its_reason(enter: Enter, name: str) -> None:
    """422 that names what is wrong; nothing is stored; the same as a line of a bulk spoils only itself."""
    body, word = BAD[name]
    client = enter()
    answer = client.post("/v1/runs", content=body, headers=JSON)
    assert (answer.status_code, cause(answer)) == (422, "invalid-request")
    assert word in json.dumps(answer.json(), ensure_ascii=False)
    if body and b"\n" not in body:
        lines = client.post("/v1/runs/bulk", content=body + b"\n", headers=NDJSON)
        assert [json.loads(line)["status"] for line in lines.text.splitlines()] == [422]
    assert client.get("/v1/runs").json()["data"] == []


def test_a_body_that_is_too_large_is_refused_before_it_is_read(enter: Enter, workspace: str) -> None:
    """By its declared length, or, without one, as soon as it is past the limit; a bulk's line has the same limit."""
    client = enter()
    large = json.dumps(run_body(1, run_id=workspace, final_response="x" * 1_100_000)).encode()
    answer = client.post("/v1/runs", content=large, headers=JSON)
    assert (answer.status_code, cause(answer)) == (413, "body-too-large")

    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(100):
            sent += 1
            yield b"x" * 1_000_000

    for headers, address in ((JSON, "/v1/runs"), (NDJSON, "/v1/runs/bulk")):
        try:
            answer = client.post(address, content=endless(), headers=headers)
            assert (answer.status_code, cause(answer)) == (413, "body-too-large")
        except httpx.TransportError:
            pass  # the server closed the connection while we were still sending: refused just as well
    assert client.get("/v1/runs").json()["data"] == []


def test_a_hundred_megabytes_of_bulk_are_streamed(served: Served, enter: Enter, workspace: str) -> None:
    """Many large lines pass through a server that never holds them all: its memory stays within bounds."""
    client = enter()
    text = "y" * 900_000

    def lines() -> Iterator[bytes]:
        for number in range(115):
            body = run_body(number, run_id=f"{workspace}-{number}", outcome="WRONG", final_response=text)
            yield json.dumps(body).encode() + b"\n"

    answer = client.post("/v1/runs/bulk", content=lines(), headers=NDJSON)
    assert [json.loads(line)["status"] for line in answer.text.splitlines()] == [422] * 115
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    assert peak < 600_000  # kB


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=x",
        "tier=Best",
        "status=fine",
        "since=soon",
        "until=9999-99-99",
        "since=0001-01-01T00:00:00%2B23:00",
        "arm=" + "x" * 300,
    ],
)
def test_wrong_filters_are_refused(enter: Enter, query: str) -> None:
    """422 with the name of the filter."""
    answer = enter("read").get(f"/v1/runs?{query}")
    assert (answer.status_code, cause(answer)) == (422, "invalid-request")
    assert query.partition("=")[0] in answer.json()["detail"]


@pytest.mark.parametrize("text", ["' OR 1=1 --", '"; DROP TABLE runs; --', "%00", "%ff%fe", "..%2f..%2fetc", "x" * 250])
def test_odd_names_find_nothing_and_break_nothing(enter: Enter, text: str) -> None:
    """SQL, NUL, bytes that are not UTF-8, steps upward: not found, or refused as too long."""
    client = enter("read")
    for kind in ("runs", "experiments", "scenarios", "tasks"):
        assert client.get(f"/v1/{kind}/{text}").status_code in (404, 422)
    assert client.get(f"/v1/runs?arm={text}").status_code in (200, 422)


def test_request_ids_come_back_and_can_not_carry_anything_else(enter: Enter) -> None:
    """A plain id is kept, anything else replaced by a new one; line ends never get into a header."""
    client = enter("read")
    assert client.get("/v1/runs", headers={"X-Request-Id": "ci-42.a_b"}).headers["x-request-id"] == "ci-42.a_b"
    for odd in ("a b", "x" * 200, "<script>", "ü"):
        given = client.get("/v1/runs", headers={b"X-Request-Id": odd.encode()}).headers["x-request-id"]
        assert given != odd
        assert given.isalnum()


def test_every_answer_has_its_security_headers(enter: Enter) -> None:
    """Good answers and refusals alike."""
    client = enter("read")
    for answer in (client.get("/v1/runs"), client.get("/nope"), client.get("/healthz"), client.post("/v1/runs")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers


def test_metrics_count_scores_failures_requests_and_waiting_events(enter: Enter, workspace: str) -> None:
    """By tier, by cause, by route pattern; the queue's size comes from the store."""
    client = enter()
    client.post("/v1/runs", json=run_body(1, run_id=f"{workspace}-1"))
    client.post("/v1/runs", json=run_body(2, run_id=f"{workspace}-1"))
    text = client.get("/metrics").text
    numbers = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}
    assert numbers['steelyard_scores_total{tier="Gold"}'] >= 1
    assert numbers['steelyard_scoring_failures_total{cause="ConflictError"}'] >= 1
    assert numbers["steelyard_outbox_events"] >= 1
    assert numbers['steelyard_request_seconds_count{method="POST",route="/v1/runs",status="201"}'] >= 1
    assert workspace not in text
