"""The client against a real server, and against one that fails: retries, refusals, pages, and `run --server`."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import steelyard
from steelyard.client import AsyncClient, Client, RefusedByServer, ServerError, run_body
from steelyard.domain.run import Run
from steelyard.errors import InputError
from steelyard.web.bodies import RunIn
from tests.store.support import judged, run_of, scorer
from tests.web import server
from tests.web.server import DEADLINE_S, STEELYARD, Served, environment, serving

SUITE = """
workspace: elsewhere
tasks:
  - {id: hello, seed: {empty: true}, prompt: "Write hello.txt.",
     scorers: [{name: there, type: file_exists, path: hello.txt}]}
arms:
  plain: {agent: command, command: "echo hi > hello.txt"}
repeats: 2
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that wants a token."""
    with serving(tmp_path_factory.mktemp("client") / "home") as started:
        yield started


def test_a_run_goes_there_and_back(served: Served) -> None:
    """Reported, scored, read back; again the same score; another body is refused with the server's own words."""
    with Client(served.url, served.token("w1")) as client:
        body = server.run_body(1, run_id="c1", diff="x", trajectory={"agent": {"name": "a", "version": "1"}})
        score = client.add_run(body)
        assert client.add_run(body) == client.score("c1") == score
        assert client.run("c1")["workspace"] == "w1"
        assert client.diff("c1") == "x"
        assert client.trace("c1")["agent"]["name"] == "a"
        with pytest.raises(RefusedByServer, match="409: another run c1 is stored already") as refused:
            client.add_run({**body, "wall_s": 99.0})
        assert refused.value.problem["type"] == "urn:steelyard:problem:conflict"
        with pytest.raises(RefusedByServer, match="404"):
            client.score("nobody/../x")


def test_many_runs_and_all_pages(served: Served) -> None:
    """A bulk in several requests numbers its lines through; the iterator goes over all pages."""
    with Client(served.url, served.token("w2")) as client:
        bodies = [server.run_body(n, run_id=f"d{n}") for n in range(450)]
        results = list(client.add_runs(bodies))
        assert [result["line"] for result in results] == list(range(1, 451))
        assert {result["status"] for result in results} == {201}
        assert [row["run_id"] for row in client.runs(limit=200)] == [f"d{n}" for n in range(449, -1, -1)]
        assert list(client.runs(arm="nobody")) == []


def test_the_async_client_says_the_same(served: Served) -> None:
    """Eight coroutines at once, each with its own run."""

    async def work() -> list[Any]:
        async with AsyncClient(served.url, served.token("w3")) as client:
            bodies = [
                server.run_body(n, run_id=f"a{n}", experiment="e", arm="xy"[n % 2], repeat=1 + n // 2) for n in range(8)
            ]
            scores = await asyncio.gather(*(client.add_run(body) for body in bodies))
            assert [await client.score(f"a{n}") for n in range(8)] == scores
            assert len([row async for row in client.runs()]) == 8
            assert [result["status"] async for result in client.add_runs(bodies)] == [200] * 8
            assert (await client.comparison("e", baseline="x"))["candidate"] == "y"
            return scores

    assert len(asyncio.run(work())) == 8


def test_every_fact_of_a_run_can_be_reported(served: Served) -> None:
    """A stored run's record, sent as the client sends it, is read back as it was, but for its workspace."""
    run = run_of(7, run_id="full", scorers=(scorer("FAIL"), scorer()), judge=judged(), error_class="agent_timeout")
    run = run.model_copy(update={"notes": ("n",), "changed_files": ("x.py",), "timings": {"agent": 1.5}})
    body = run_body(run, {"diff": b"\xff\x00", "stdout": b"out"})
    assert set(Run.model_fields) - set(RunIn.model_fields) == {"imported"}
    with Client(served.url, served.token("w4")) as client:
        client.add_run(body)
        read = client.run("full")
    back = {name: read[name] for name in Run.model_fields}
    artifacts = back.pop("artifacts")
    expected = run.model_dump(mode="json") | {"workspace": "w4"}
    expected.pop("artifacts")
    assert back == expected
    assert set(artifacts) == {"diff", "stdout"}


class Flaky(BaseHTTPRequestHandler):
    """Fails in the ways that the test lists, then answers."""

    protocol_version = "HTTP/1.1"
    plan: list[str] = []
    seen: list[bytes] = []

    def do_POST(self) -> None:  # the name that http.server looks for
        """Take the body, then do the next thing of the plan."""
        self.seen.append(self.rfile.read(int(self.headers["Content-Length"])))
        what = self.plan.pop(0) if self.plan else "200"
        if what == "cut":
            self.close_connection = True
            return
        body = b'{"run_id": "x"}' if what == "200" else b"oops"
        if "," in what:  # a status for each line of a bulk
            results = enumerate(what.strip(",").split(","), 1)
            body = b"".join(
                b'{"line": %d, "status": %d, "problem": null}\n' % (n, int(status)) for n, status in results
            )
            what = "200"
        self.send_response(int(what))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        """Nothing."""


@pytest.fixture
def flaky() -> Iterator[str]:
    """The address of a server that fails as planned."""
    Flaky.plan, Flaky.seen = [], []
    made = ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    thread.join(DEADLINE_S)
    made.server_close()


def test_what_fails_is_tried_again_with_the_same_body(flaky: str) -> None:
    """A cut connection, 429, 500 and 503 are no answers; the run's id makes it safe to send again."""
    Flaky.plan = ["cut", "429", "500", "503"]
    with Client(flaky, timeout_s=DEADLINE_S) as client:
        assert client.add_run({"run_id": "x"}) == {"run_id": "x"}
    assert len(Flaky.seen) == 5
    assert set(Flaky.seen) == {b'{"run_id": "x"}'}


def test_lines_that_could_not_be_stored_just_then_are_sent_again(flaky: str) -> None:
    """Only those, until they are dealt with; a bulk that ended early is an error after the results that came."""
    Flaky.plan = ["201,503,409,503,", "503,201,", "201,"]
    sent = [{"run_id": name} for name in "abcd"]
    with Client(flaky, timeout_s=DEADLINE_S) as client:
        results = list(client.add_runs(sent))
    assert [(result["line"], result["status"]) for result in results] == [(1, 201), (2, 201), (3, 409), (4, 201)]
    assert [body.count(b"\n") for body in Flaky.seen] == [4, 2, 1]
    assert Flaky.seen[2] == b'{"run_id": "b"}\n'

    Flaky.plan = ["201,401,"]
    with Client(flaky, timeout_s=DEADLINE_S) as client:
        coming = client.add_runs(sent)
        assert [next(coming)["status"] for _ in range(2)] == [201, 401]
        with pytest.raises(RefusedByServer, match="answered 401"):
            next(coming)


def test_giving_up_and_refusals_are_one_line(flaky: str) -> None:
    """After the last try, or at once when the server says no."""
    Flaky.plan = ["503"] * 3
    with (
        Client(flaky, retries=2, timeout_s=DEADLINE_S) as client,
        pytest.raises(ServerError, match=r"503 \(tried 3 times\)"),
    ):
        client.add_run({})
    Flaky.plan, Flaky.seen = ["400"], []
    with Client(flaky, timeout_s=DEADLINE_S) as client, pytest.raises(RefusedByServer, match="answered 400"):
        client.add_run({})
    assert len(Flaky.seen) == 1
    with pytest.raises(InputError, match="not the address of a server"):
        Client("localhost:8321")


def test_importing_steelyard_loads_no_client() -> None:
    """The public name is there and costs nothing until it is asked for."""
    code = "import sys, steelyard; assert 'httpx' not in sys.modules; steelyard.Client; assert 'httpx' in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], timeout=DEADLINE_S).returncode == 0
    assert steelyard.Client is Client
    with pytest.raises(AttributeError, match="no attribute 'Nope'"):
        steelyard.Nope  # noqa: B018  # asking is the test


def run_suite(tmp_path: Path, *words: str, token: str | None) -> "subprocess.CompletedProcess[str]":
    """`steelyard run` of the small suite, with a home of its own."""
    (tmp_path / "suite.yaml").write_text(SUITE)
    env = environment(tmp_path / "local")
    if token:
        env["STEELYARD_TOKEN"] = token
    command = [*STEELYARD, "run", "suite.yaml", "--sandbox", "local", "--judge", "none", "--json", *words]
    return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=DEADLINE_S * 2)


def test_runs_are_reported_to_the_server_besides_the_local_store(served: Served, tmp_path: Path) -> None:
    """Both have them, in the token's workspace there, with the diff and the experiment they belong to."""
    token = served.token("w5")
    ran = run_suite(tmp_path, "--server", served.url, token=token)
    assert ran.returncode == 0, ran.stderr
    local = json.loads(ran.stdout)
    with Client(served.url, token) as client:
        rows = list(client.runs())
        assert {row["run_id"] for row in rows} == {run["run_id"] for run in local["runs"]}
        assert {row["workspace"] for row in rows} == {"w5"}
        assert {row["experiment"] for row in rows} == {local["experiment"]}
        assert "hello.txt" in client.diff(rows[0]["run_id"])


def test_a_server_that_is_away_costs_no_run_and_gets_them_later(served: Served, tmp_path: Path) -> None:
    """What could not be reported is stored here, said so, and reported by --resume."""
    token = served.token("w6")
    away = run_suite(tmp_path, "--server", "http://127.0.0.1:9", token=token)
    assert away.returncode == 0, away.stderr
    assert "2 runs are stored here but not reported" in away.stderr
    again = run_suite(tmp_path, "--server", served.url, "--resume", token=token)
    assert again.returncode == 0, again.stderr
    with Client(served.url, token) as client:
        assert len(list(client.runs())) == 2


def test_a_wrong_token_is_said_before_anything_runs(served: Served, tmp_path: Path) -> None:
    """Exit code 2, one line, no run."""
    ran = run_suite(tmp_path, "--server", served.url, token="sy_000000000000_" + "a" * 43)
    assert ran.returncode == 2
    assert "401" in ran.stderr
    assert not ran.stdout
