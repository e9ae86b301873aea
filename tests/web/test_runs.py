"""Runs over HTTP: ingest, idempotency, lists, and what is answered of one run."""

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import zstandard

from steelyard.store.database import Store
from tests.store.support import assert_scores_are_exact
from tests.web.server import run_body

Enter = Callable[..., httpx.Client]
SEED = ["run_id", "score", "tier", "formula_version", "axes"]
AXES = ["completion", "error_rate", "latency", "resource_efficiency"]
DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new\n"
TRACE = {
    "schema_version": "ATIF-v1.7",
    "agent": {"name": "a", "version": "1"},
    "steps": [{"step_id": 1, "source": "agent", "message": "I look.", "extra_field": [1]}],
}


def unique(workspace: str, number: int, **changes: Any) -> dict[str, Any]:
    """A run whose id is this test's own."""
    return run_body(number, run_id=f"{workspace}-{number}", **changes)


def test_a_run_is_scored_and_its_score_has_the_seeds_shape(enter: Enter, workspace: str) -> None:
    """201 with the score; the same document is read back: the seed's fields first, in the seed's order."""
    client = enter()
    made = client.post("/v1/runs", json=unique(workspace, 1))
    read = client.get(f"/v1/runs/{workspace}-1/score")

    assert made.status_code == 201
    assert read.status_code == 200
    assert read.json() == made.json()
    assert list(read.json())[:5] == SEED
    assert list(read.json()["axes"]) == AXES
    assert read.json()["axes"] == {"completion": 100, "error_rate": 50, "latency": 50, "resource_efficiency": 90}
    assert read.json()["score"] == 74
    assert read.json()["tier"] == "Gold"
    assert read.json()["formula_version"] == "2"


def test_the_same_body_again_is_answered_the_same_and_another_refused(enter: Enter, workspace: str) -> None:
    """200 and the first answer, also when the server chose the times; 409 for any other body, and nothing changes."""
    client = enter()
    body = unique(workspace, 1, diff=DIFF, trajectory=TRACE)
    first = client.post("/v1/runs", json=body)
    again = client.post("/v1/runs", content=json.dumps(dict(reversed(body.items())), indent=3), headers=JSON)

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    others: list[dict[str, Any]] = [
        {"wall_s": 99.0},
        {"outcome": "FAILED"},
        {"diff": DIFF + "\n"},
        {"finished_at": "2026-01-01T00:00:00Z"},
    ]
    for change in others:
        refused = client.post("/v1/runs", json={**body, **change})
        assert refused.status_code == 409, change
        assert refused.json()["type"] == "urn:steelyard:problem:conflict"
    assert len(client.get("/v1/runs").json()["data"]) == 1


JSON = {"Content-Type": "application/json"}


def test_explicit_times_are_kept_and_compared(enter: Enter, workspace: str) -> None:
    """A run that says when it ran is stored with those times, and leaving them out later is another body."""
    client = enter()
    times = {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:12Z"}
    body = unique(workspace, 1, **times)
    del body["wall_s"]
    assert client.post("/v1/runs", json=body).status_code == 201
    assert client.get(f"/v1/runs/{workspace}-1").json()["wall_s"] == 12.0
    assert client.post("/v1/runs", json=body).status_code == 200
    without = {name: value for name, value in body.items() if name not in times}
    assert client.post("/v1/runs", json={**without, "wall_s": 12.0}).status_code == 409


def test_an_infrastructure_failure_is_stored_and_unranked(enter: Enter, workspace: str) -> None:
    """No score row, tier Unranked, and the same answer when it comes again."""
    client = enter()
    body = unique(workspace, 1, outcome="FAILED", error_class="network")
    first, again = (client.post("/v1/runs", json=body) for _ in range(2))

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["tier"] == "Unranked"
    assert first.json()["score"] is None
    assert client.get(f"/v1/runs/{workspace}-1/score").json() == first.json() == again.json()


def test_everything_that_was_sent_is_read_back(enter: Enter, workspace: str) -> None:
    """Diff, trajectory, scorers and judge have their own addresses; changed files come from the diff."""
    client = enter()
    scorers = [{"name": "tests", "verdict": "FAIL", "detail": "1 failed"}, {"name": "taste", "verdict": "PASS"}]
    judge = {
        "verdict": "PASS",
        "task_completion": 5,
        "instruction_adherence": 5,
        "efficiency": 4,
        "backend": "canned",
        "model": "none",
        "prompt_version": "1",
        "duration_s": 1.0,
        "scored_at": "2026-01-01T00:00:00Z",
    }
    artifacts = {"stdout": base64.b64encode(b"\xff\x00out").decode()}
    body = unique(workspace, 1, diff=DIFF, trajectory=TRACE, scorers=scorers, judge=judge, artifacts=artifacts)
    assert client.post("/v1/runs", json=body).status_code == 201
    at = f"/v1/runs/{workspace}-1"

    assert client.get(f"{at}/diff").text == DIFF
    assert client.get(f"{at}/trace").json() == TRACE
    assert client.get(f"{at}/scorers").json()["overall"] == "FAIL"
    assert [s["score"] for s in client.get(f"{at}/scorers").json()["scorers"]] == [0.0, 1.0]
    assert client.get(f"{at}/judge").json()["judgement"]["task_completion"] == 5
    run = client.get(at).json()
    assert run["changed_files"] == ["x.py"]
    assert run["gates"]["disagreement"] == "plausible but violates a hard constraint"
    assert set(run["artifacts"]) == {"diff", "trajectory", "stdout"}


def test_what_was_not_sent_is_not_found(enter: Enter, workspace: str) -> None:
    """A run without a diff or trajectory has none; an unknown run has nothing."""
    client = enter()
    client.post("/v1/runs", json=unique(workspace, 1))
    for path in (f"{workspace}-1/diff", f"{workspace}-1/trace", "nobody", "nobody/score", workspace, "latest"):
        answer = client.get(f"/v1/runs/{path}")
        assert answer.status_code == 404, path
        assert answer.json()["type"] == "urn:steelyard:problem:not-found"


def test_bulk_lines_get_a_result_each(enter: Enter, workspace: str, store: Store) -> None:
    """Good lines are stored, wrong ones say why, blank ones are passed over; sending it all again changes nothing."""
    client = enter()
    lines = [json.dumps(unique(workspace, number)) for number in range(120)]
    lines[3:3] = ["", "{", json.dumps({"run_id": "x"}), json.dumps(unique(workspace, 0, wall_s=1))]
    body = "\n".join(lines).encode()

    def pieces() -> Any:
        for start in range(0, len(body), 777):
            yield body[start : start + 777]

    for address, status in (("/v1/runs", 201), ("/v1/runs/bulk", 200)):
        answer = client.post(address, content=pieces(), headers={"Content-Type": "application/x-ndjson"})
        assert answer.status_code == 200
        results = [json.loads(line) for line in answer.text.splitlines()]
        assert [r["line"] for r in results] == [n for n in range(1, len(lines) + 1) if n != 4]
        by_line = {r["line"]: r for r in results}
        assert [by_line[n]["status"] for n in (5, 6, 7)] == [422, 422, 409]
        assert {r["status"] for n, r in by_line.items() if n not in (5, 6, 7)} == {status}
        assert by_line[8]["score"]["run_id"] == f"{workspace}-3"
    assert_scores_are_exact(store, workspace, 120)


def test_pages_go_through_everything_once(enter: Enter, workspace: str) -> None:
    """Newest first, without gaps or repeats, also when runs are added meanwhile; filters narrow it down."""
    client = enter()
    for number in range(7):
        body = unique(workspace, number, arm="ab"[number % 2], finished_at=f"2026-01-0{number + 1}T00:00:00Z")
        assert client.post("/v1/runs", json=body).status_code == 201
    seen: list[str] = []
    cursor = None
    while True:
        page = client.get("/v1/runs", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        seen += [row["run_id"] for row in page["data"]]
        if len(seen) == 4:
            client.post("/v1/runs", json=unique(workspace, 100))
        cursor = page["next_cursor"]
        assert page["has_more"] == (cursor is not None)
        if cursor is None:
            break
    assert seen == [f"{workspace}-{number}" for number in range(6, -1, -1)]

    def ids(**wanted: str) -> list[str]:
        rows = client.get("/v1/runs", params=wanted).json()["data"]
        return [row["run_id"].removeprefix(f"{workspace}-") for row in rows]

    assert ids(arm="b") == ["5", "3", "1"]
    assert ids(since="2026-01-03T00:00:00Z", until="2026-01-05T00:00:00Z") == ["3", "2"]
    assert ids(tier="Gold", arm="a", task="off-by-one", status="completed", verdict="NOT_RUN") != []
    assert ids(tier="Elite", outcome="FAILED") == []


@pytest.mark.parametrize("cursor", ["x", "", "MQ", "MS5hYmM", "/////", "ü" * 10])
def test_a_made_up_cursor_is_refused(enter: Enter, cursor: str) -> None:
    """Nothing but a `next_cursor` of the same list is taken."""
    answer = enter("read").get("/v1/runs", params={"cursor": cursor})
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:steelyard:problem:invalid-request"


def test_a_cursor_is_good_for_its_own_filters_only(enter: Enter, workspace: str) -> None:
    """With other filters it would skip runs, so it is refused."""
    client = enter()
    for number in range(3):
        client.post("/v1/runs", json=unique(workspace, number))
    cursor = client.get("/v1/runs", params={"limit": 1}).json()["next_cursor"]
    assert client.get("/v1/runs", params={"limit": 2, "cursor": cursor}).status_code == 200
    assert client.get("/v1/runs", params={"arm": "plain", "cursor": cursor}).status_code == 422
    assert client.get("/v1/experiments", params={"cursor": cursor}).status_code == 422


def test_what_has_not_changed_is_not_sent_again(enter: Enter, workspace: str) -> None:
    """The ETag of an answer makes the next one 304, for every address of a run."""
    client = enter()
    client.post("/v1/runs", json=unique(workspace, 1, diff=DIFF, trajectory=TRACE))
    for part in ("", "/score", "/diff", "/trace", "/scorers", "/judge"):
        first = client.get(f"/v1/runs/{workspace}-1{part}")
        again = client.get(f"/v1/runs/{workspace}-1{part}", headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        other = client.get(f"/v1/runs/{workspace}-1{part}", headers={"If-None-Match": '"other"'})
        assert (other.status_code, other.content) == (200, first.content)


def test_large_answers_are_compressed_as_the_client_likes(enter: Enter, workspace: str) -> None:
    """zstd, gzip or neither; the content is the same."""
    client = enter()
    client.post("/v1/runs", json=unique(workspace, 1, diff=DIFF * 200))

    def fetch(encoding: str) -> tuple[str | None, bytes]:
        request = client.build_request("GET", f"/v1/runs/{workspace}-1/diff", headers={"Accept-Encoding": encoding})
        answer = client.send(request, stream=True)
        raw = b"".join(answer.iter_raw())
        return answer.headers.get("content-encoding"), raw

    plain = (DIFF * 200).encode()
    assert fetch("identity") == (None, plain)
    assert fetch("zstd;q=0, gzip;q=0") == (None, plain)
    name, packed = fetch("gzip, deflate")
    assert (name, gzip.decompress(packed)) == ("gzip", plain)
    name, packed = fetch("gzip, zstd")
    assert (name, zstandard.ZstdDecompressor().decompress(packed)) == ("zstd", plain)
    assert len(packed) < len(plain) / 5


def test_another_workspace_cannot_make_a_run_count_no_more(enter: Enter, workspace: str) -> None:
    """The same experiment, task, arm and repeat in another workspace is another thing."""
    mine, theirs = enter(), enter("admin", f"{workspace}-other")
    mine.post("/v1/runs", json=unique(workspace, 1, experiment="e", repeat=1))
    theirs.post("/v1/runs", json=unique(workspace, 2, experiment="e", repeat=1))
    assert mine.get(f"/v1/runs/{workspace}-1").json()["replaced"] is False
    mine.post("/v1/runs", json=unique(workspace, 3, experiment="e", repeat=1))
    assert mine.get(f"/v1/runs/{workspace}-1").json()["replaced"] is True
