"""The database goes away, or its disk is full, while clients write: nothing confirmed is lost, the server goes on."""

import resource
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from steelyard.store.check import check
from tests.events.support import until
from tests.postgres_server import restartable
from tests.store.support import assert_scores_are_exact
from tests.web.server import DEADLINE_S, Served, run_body, serving

CLIENTS = 4
AFTERWARDS = 5  # runs of each client when the database is back


def send(served: Served, token: str, first: int, statuses: list[int], is_back: threading.Event) -> None:
    """Send runs one after the other, each until it is confirmed, and some more when the database is back."""
    left = AFTERWARDS
    with served.client(token) as client:
        for number in range(first, first + 100_000):
            end = time.monotonic() + DEADLINE_S
            while True:
                answer = client.post("/v1/runs", json=run_body(number))
                statuses.append(answer.status_code)
                if answer.status_code in (200, 201):
                    break
                assert answer.status_code == 503, answer.text
                assert answer.json()["type"] == "urn:steelyard:problem:store-unavailable"
                assert answer.headers["retry-after"] == "2"
                assert time.monotonic() < end
                time.sleep(0.05)
            left -= is_back.is_set()
            if left == 0:
                return


@pytest.mark.postgres
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_database_that_is_restarted_under_load_loses_nothing(tmp_path: Path, how: int) -> None:
    """In order or by a crash: meanwhile 503 with Retry-After, then everything goes on, in the same server process."""
    with restartable() as database, serving(tmp_path / "home", store=database.url % "postgres") as served:
        token = served.token()
        statuses: list[int] = []
        is_back = threading.Event()
        given = [(served, token, number * 100_000, statuses, is_back) for number in range(CLIENTS)]
        threads = [threading.Thread(target=send, args=words) for words in given]
        for thread in threads:
            thread.start()
        until(lambda: statuses.count(201) >= 10, "the first runs")
        database.stop(how)
        until(lambda: 503 in statuses, "a refusal")
        assert httpx.get(f"{served.url}/healthz", timeout=DEADLINE_S).status_code == 200
        assert httpx.get(f"{served.url}/readyz", timeout=DEADLINE_S).status_code == 503
        database.start()
        is_back.set()
        for thread in threads:
            thread.join(DEADLINE_S)
            assert not thread.is_alive()
        assert httpx.get(f"{served.url}/readyz", timeout=DEADLINE_S).status_code == 200
        with served.open_store() as store:
            assert_scores_are_exact(store, "payments", statuses.count(201) + statuses.count(200))
            assert check(store.database, deep=True).problems == ()


def test_a_full_disk_is_a_503_until_there_is_room(tmp_path: Path) -> None:
    """A run that can't be stored is refused whole, what is stored can be read, and with room again all goes on."""
    with serving(tmp_path / "home") as served, served.client() as client:
        assert client.post("/v1/runs", json=run_body(0, workspace="payments")).status_code == 201
        written = max(path.stat().st_size for path in (tmp_path / "home").glob("steelyard.db*"))
        pid = served.process.pid
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (written + 100_000, resource.RLIM_INFINITY))
        stored = 1
        while True:  # until no file may grow any more
            text = f"{stored:05d}" * 2_000
            refused = client.post("/v1/runs", json=run_body(stored, workspace="payments", final_response=text))
            if refused.status_code != 201:
                break
            stored += 1
            assert stored < 1000
        assert refused.status_code == 503
        assert refused.json()["type"] == "urn:steelyard:problem:store-unavailable"
        assert str(tmp_path) not in refused.text
        assert client.get("/v1/runs/run_00000/score").status_code == 200
        assert client.get("/healthz").status_code == 200

        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert client.post("/v1/runs", json=run_body(stored, workspace="payments")).status_code == 201
        with served.open_store() as store:
            assert_scores_are_exact(store, "payments", stored + 1)
            assert check(store.database, deep=True).problems == ()
