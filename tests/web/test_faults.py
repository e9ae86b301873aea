"""A killed server, a server told to end, many clients at once, another database: nothing lost, nothing doubled."""

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from steelyard.store.check import check
from steelyard.store.reads import RunFilter
from tests.events.support import until
from tests.store.support import assert_scores_are_exact
from tests.web.server import DEADLINE_S, Served, run_body, serving

KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> str | None:
    """The store of each kind; None is the home's own SQLite file."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


def send(served: Served, numbers: range, confirmed: set[int], lock: threading.Lock) -> None:
    """Send runs one after the other until the connection breaks; note those that were confirmed."""
    with served.client() as client:
        for number in numbers:
            try:
                answer = client.post("/v1/runs", json=run_body(number, workspace="payments", diff=f"x{number}\n"))
            except httpx.TransportError:
                return
            assert answer.status_code in (200, 201), answer.text
            with lock:
                confirmed.add(number)


def test_a_killed_server_has_stored_what_it_confirmed(tmp_path: Path, url: str | None) -> None:
    """`kill -9` while four clients send: every 2xx is in the store, and sending all of it again ends in one of each."""
    confirmed: set[int] = set()
    lock = threading.Lock()
    with serving(tmp_path / "home", store=url) as served:
        ranges = [range(start, start + 1000) for start in range(0, 4000, 1000)]
        threads = [threading.Thread(target=send, args=(served, numbers, confirmed, lock)) for numbers in ranges]
        for thread in threads:
            thread.start()
        end = time.monotonic() + DEADLINE_S
        while len(confirmed) < 12 and time.monotonic() < end:
            time.sleep(0.01)
        os.killpg(served.process.pid, signal.SIGKILL)
        for thread in threads:
            thread.join(DEADLINE_S)
        assert len(confirmed) >= 12
        with served.open_store() as store:
            stored = {int(row["run_id"][4:]) for row in store.runs(RunFilter(workspace="payments"), limit=5000)}
            assert confirmed <= stored
            assert len(stored - confirmed) <= 4  # those whose answers were on their way
            assert check(store.database, deep=True).problems == ()

    sent = sorted(stored | {max(stored) + 1})
    with serving(tmp_path / "home", store=url) as served, served.client() as client:
        answers = [client.post("/v1/runs", json=run_body(n, workspace="payments", diff=f"x{n}\n")) for n in sent]
        assert [answer.status_code for answer in answers] == [200] * len(stored) + [201]
        with served.open_store() as store:
            assert_scores_are_exact(store, "payments", len(sent))


def test_a_bulk_that_was_cut_off_can_be_sent_again(tmp_path: Path, url: str | None) -> None:
    """`kill -9` in the middle of a bulk: what was answered is stored, and the whole bulk again doubles nothing."""
    lines = [json.dumps(run_body(n, workspace="payments")).encode() + b"\n" for n in range(300)]
    headers = {"Content-Type": "application/x-ndjson"}
    told: list[dict[str, object]] = []
    with serving(tmp_path / "home", store=url) as served, served.client() as client:

        def paced() -> "list[bytes]":  # type: ignore[misc]
            for number, line in enumerate(lines):
                if number == 200:
                    until(lambda: stored(served) > 10, "the first lines")
                    os.killpg(served.process.pid, signal.SIGKILL)
                yield line

        with suppress(httpx.TransportError), client.stream("POST", BULK, content=paced(), headers=headers) as answer:
            for line in answer.iter_lines():
                told.append(json.loads(line))  # noqa: PERF401  # kept also when the next one does not come
    with serving(tmp_path / "home", store=url) as served, served.client() as client:
        before = stored(served)
        assert before >= len(told)
        again = client.post(BULK, content=b"".join(lines), headers=headers)
        statuses = [json.loads(line)["status"] for line in again.text.splitlines()]
        assert statuses.count(200) == before
        assert statuses.count(201) == len(lines) - before
        with served.open_store() as store:
            assert_scores_are_exact(store, "payments", len(lines))


BULK = "/v1/runs/bulk"


def stored(served: Served) -> int:
    """How many runs the store has."""
    with served.open_store() as store:
        return len(store.runs(limit=10_000))


@pytest.mark.parametrize("workers", [1, 2])
def test_eight_clients_at_once_lose_and_double_nothing(tmp_path: Path, url: str | None, workers: int) -> None:
    """Each run is sent twice, by two clients; each is stored once, and every baseline is exact when computed again."""
    with serving(tmp_path / "home", "--workers", str(workers), store=url) as served:

        def client_of(number: int) -> list[int]:
            mine = [n for n in range(80) if n % 4 == number % 4]
            with served.client() as client:
                return [client.post("/v1/runs", json=run_body(n, workspace="payments")).status_code for n in mine]

        with ThreadPoolExecutor(8) as pool:
            codes = [code for found in pool.map(client_of, range(8)) for code in found]
        assert sorted(codes) == [200] * 80 + [201] * 80
        with served.open_store() as store:
            assert_scores_are_exact(store, "payments", 80)


def test_told_to_end_it_finishes_what_it_took(tmp_path: Path) -> None:
    """SIGTERM in the middle of a body: the rest is read, the run stored and answered, and then the server is gone."""
    with serving(tmp_path / "home") as served:
        body = json.dumps(run_body(1)).encode()
        halfway, go_on = threading.Event(), threading.Event()

        def slowly() -> "list[bytes]":  # type: ignore[misc]
            yield body[:10]
            halfway.set()
            assert go_on.wait(DEADLINE_S)
            yield body[10:]

        with ThreadPoolExecutor(1) as pool, served.client() as client:
            headers = {"Content-Type": "application/json"}
            answer = pool.submit(lambda: client.post("/v1/runs", content=slowly(), headers=headers))
            assert halfway.wait(DEADLINE_S)
            await_request(served)
            served.process.send_signal(signal.SIGTERM)
            await_closed(served)
            go_on.set()
            assert answer.result(DEADLINE_S).status_code == 201
        assert served.process.wait(DEADLINE_S) in (0, -signal.SIGTERM)
        with served.open_store() as store:
            assert store.run("run_00001").scorecard is not None


def await_request(served: Served) -> None:
    """Wait until the server has taken the request that is on its way: it answers another one after it."""
    with served.client() as client:
        assert client.get("/v1/runs").status_code == 200


def await_closed(served: Served) -> None:
    """Wait until the server takes no new connection."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        try:
            with served.client() as client:
                client.get("/healthz")
        except httpx.TransportError:
            return
        time.sleep(0.02)
    raise AssertionError("the server goes on listening")


def test_tokens_and_pages_work_on_every_database(tmp_path: Path, url: str | None) -> None:
    """The contract of ingest: scores, conflicts, bulk, lists, workspaces, on the database that the server has."""
    with serving(tmp_path / "home", store=url) as served:
        with served.client(served.token("a")) as mine, served.client(served.token("b")) as theirs:
            assert mine.post("/v1/runs", json=run_body(1)).status_code == 201
            assert mine.post("/v1/runs", json=run_body(1)).status_code == 200
            assert mine.post("/v1/runs", json=run_body(1, wall_s=99.0)).status_code == 409
            assert theirs.get("/v1/runs/run_00001/score").status_code == 404
            assert mine.get("/v1/runs/run_00001/score").json()["score"] == 74
            lines = "\n".join(json.dumps(run_body(n, final_response="a\x00b")) for n in range(2, 9))
            bulk = mine.post("/v1/runs", content=lines, headers={"Content-Type": "application/x-ndjson"})
            assert [json.loads(line)["status"] for line in bulk.text.splitlines()] == [201] * 7
            page = mine.get("/v1/runs", params={"limit": 5, "arm": "plain"}).json()
            rest = mine.get("/v1/runs", params={"arm": "plain", "cursor": page["next_cursor"]}).json()
            assert len(page["data"]) + len(rest["data"]) == 8
            for odd in ("%00", "a%00b", "%ff"):
                assert mine.get(f"/v1/runs/{odd}").status_code == 404
                assert mine.get(f"/v1/runs?arm={odd}&workspace={odd}").status_code == 200
                assert mine.get(f"/v1/scenarios/{odd}").status_code == 404
                assert mine.get(f"/v1/experiments/{odd}/comparison").status_code == 404
            assert mine.post("/v1/scenarios", json={"name": "s"}).status_code == 201
            assert mine.post("/v1/scenarios", json={"name": "s"}).status_code == 409
            task = {"id": "t", "scenario": "s", "prompt": "a\x00b"}
            assert [mine.post("/v1/tasks", json=task).status_code for _ in range(2)] == [201, 200]
            assert mine.get("/metrics").status_code == 200
        with served.open_store() as store:
            assert_scores_are_exact(store, "a", 8)
