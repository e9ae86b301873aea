"""Experiments: the list, one that is finished, one that stopped, and one that goes on in another process."""

import json
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from steelyard.domain.run import Cell
from steelyard.store.leases import owner_name
from tests.web.pages.test_run import text_of
from tests.web.pages.weighed import create, save
from tests.web.server import DEADLINE_S, STEELYARD, Served, environment, run_body, serving

SUITE = """
workspace: live
tasks:
  - {id: wait, prompt: "Wait.", seed: {empty: true}, scorers: [{name: there, type: file_exists, path: done.txt}]}
arms:
  first: {agent: command, command: "while [ ! -e $GATE/$N ]; do sleep 0.05; done; touch done.txt", env: [GATE, N]}
"""


def test_the_list_tells_how_far_each_has_come(pages: Served) -> None:
    """Finished, stopped, planned; each with its link, newest first."""
    page = text_of(pages, "/experiments")
    assert page.index("exp_hostile") < page.index("exp_gain") < page.index("exp_mixed")
    assert "80 of 80" in page
    assert "68 of 72" in page
    assert 'href="/compare?experiment=exp_mixed"' in page
    assert 'href="/compare?experiment=exp_lonely"' not in page


def test_an_experiment_that_stopped_says_how_to_go_on(pages: Served) -> None:
    """What is missing, what it cost, its arms, its newest runs, and the command that resumes it."""
    page = text_of(pages, "/experiments/exp_mixed")
    assert "steelyard run /suites/skills.yaml --resume" in page
    assert '<span class="count">23 of 24</span>' in page
    with pages.client() as client:
        found = client.get("/v1/experiments/exp_mixed/progress").json()
    assert (found["state"], found["planned"], found["finished"], found["missing"]) == ("stopped", 72, 68, 4)
    assert found["infrastructure_failures"] == 1
    assert found["eta_s"] is None
    assert {arm["arm"]: arm["finished"] for arm in found["arms"]} == {"plain": 24, "with_skill": 23, "terse": 21}


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("exp_planned", 200, "No run has finished yet."),
        ("exp_many", 200, "nobody described this experiment"),
        ("nope", 404, "/experiments lists them"),
        ("exp%2Fwith%20a%20slash%3F", 200, "workspace weighed"),
    ],
)
def test_whatever_is_asked_for_is_answered(pages: Served, name: str, status: int, said: str) -> None:
    """Nothing run yet, nothing planned, nothing there."""
    assert said in text_of(pages, f"/experiments/{name}", status)


def test_an_experiment_that_has_ended_ends_its_stream(pages: Served) -> None:
    """Progress once, then the end; a stream of nothing is 404."""
    with pages.client() as client:
        answer = client.get("/v1/experiments/exp_gain/events")
        assert client.get("/v1/experiments/nope/events").status_code == 404
    assert answer.headers["content-type"].startswith("text/event-stream")
    kinds = [line.removeprefix("event: ") for line in answer.text.splitlines() if line.startswith("event: ")]
    assert kinds == ["progress", "end"]


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Served]:
    """A server whose store has an experiment that this process is working at, with one run of four."""
    with serving(tmp_path / "home", "--rate", "0") as served:
        with served.open_store() as store:
            create(store, "exp_live", ("a", "b"), ("first", "second"), 1, ("first", "second"))
            cells = [Cell(task_id=task, arm=arm, repeat=1) for task in ("a", "b") for arm in ("first", "second")]
            store.claim("exp_live", cells, owner_name("test"), time.time())
            save(store, "exp_live", "a", "first", 1, 1)
        yield served


def test_a_stream_tells_of_runs_as_they_finish(live: Served) -> None:
    """Each run as an event with its number, progress after it, and `end` when nobody is at it any more."""
    heard: list[tuple[str, Any]] = []
    with live.client() as client, client.stream("GET", "/v1/experiments/exp_live/events") as answer:
        lines = answer.iter_lines()
        heard.append(_next(lines))
        assert heard[0][0] == "progress"
        assert (heard[0][1]["state"], heard[0][1]["finished"], heard[0][1]["working"]) == ("running", 1, 3)
        with live.open_store() as store:
            run = save(store, "exp_live", "a", "second", 1, 0)
        kind, told = _next(lines)
        assert (kind, told["run_id"]) == ("run", run.run_id)
        kind, told = _next(lines)
        assert (kind, told["finished"]) == ("progress", 2)
        with live.open_store() as store:
            store.release(owner_name("test"))
        assert [_next(lines)[0] for _ in range(2)] == ["progress", "end"]


def _next(lines: Iterator[str]) -> tuple[str, Any]:
    """The next event of a stream."""
    kind = ""
    for line in lines:
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            return kind, json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream ended")


def test_runs_that_are_reported_from_elsewhere_are_followed_too(live: Served) -> None:
    """Nobody claims cells here: that it goes on is told by runs that come in, and by nothing missing that it ended."""
    task = {"id": "t", "prompt": "Do.", "seed": {"empty": True}}
    body = {"id": "exp_away", "tasks": [task], "arms": [{"name": "a", "agent": {"type": "x"}}], "repeats": 2}
    with live.client() as client:
        assert client.post("/v1/experiments", json=body).status_code == 201
        assert client.get("/v1/experiments/exp_away/progress").json()["state"] == "running"
        assert re.search(r"exp_away</a></td><td[^>]*><span class=\"badge even\">running", text_of(live, "/experiments"))
        with client.stream("GET", "/v1/experiments/exp_away/events") as answer:
            lines = answer.iter_lines()
            assert _next(lines)[1]["finished"] == 0
            heard = []
            for number in (1, 2):
                run = run_body(
                    number, run_id=f"away-{number}", experiment="exp_away", task_id="t", arm="a", repeat=number
                )
                with live.client() as other:
                    assert other.post("/v1/runs", json=run).status_code == 201
                heard += [_next(lines)[0] for _ in range(2)]
            assert heard == ["run", "progress"] * 2
            assert _next(lines) == ("end", {"state": "finished"})


def test_a_revoked_token_ends_its_stream(live: Served) -> None:
    """What was followed with it is followed no longer, and another workspace's experiment never was."""
    token, other = live.token("weighed", "read"), live.token("payments", "read")
    with live.client(other) as client:
        assert client.get("/v1/experiments/exp_live/events").status_code == 404
        assert client.get("/v1/experiments/exp_live/progress").status_code == 404
    with live.client(token) as client, client.stream("GET", "/v1/experiments/exp_live/events") as answer:
        lines = answer.iter_lines()
        assert _next(lines)[0] == "progress"
        live.command("token", "revoke", token.split("_")[1])
        assert [line for line in lines if line.startswith("event: ")] == []


def test_streams_are_bounded_and_end_with_the_server(live: Served) -> None:
    """The 65th is refused with a reason; SIGTERM ends all of them whole, none is cut off."""
    with live.client(limits=httpx.Limits(max_connections=100)) as client:
        opened = [_open(client) for _ in range(64)]
        assert {answer.status_code for answer in opened} == {200}
        refused = client.get("/v1/experiments/exp_live/events")
        assert refused.status_code == 503
        assert refused.json()["type"].endswith("too-many-streams")
        opened.pop().close()
        end = time.monotonic() + DEADLINE_S
        again = _open(client)
        while again.status_code == 503:
            assert time.monotonic() < end
            again.close()
            threading.Event().wait(0.05)
            again = _open(client)
        opened.append(again)
        assert live.stop(signal.SIGTERM) in (0, -signal.SIGTERM)
        for answer in opened:
            answer.read()
            answer.close()


def _open(client: httpx.Client) -> httpx.Response:
    return client.send(client.build_request("GET", "/v1/experiments/exp_live/events"), stream=True)


@pytest.mark.browser
def test_runs_of_another_process_appear_as_they_finish(tmp_path: Path, chromium: Any) -> None:
    """`steelyard run` writes, the open page shows each run, its cost and the end, without being reloaded."""
    gate = tmp_path / "gate"
    gate.mkdir()
    (tmp_path / "suite.yaml").write_text(SUITE)
    home = tmp_path / "home"
    with serving(home, "--rate", "0") as served:
        words = [
            "run",
            str(tmp_path / "suite.yaml"),
            "--repeats",
            "2",
            "--jobs",
            "1",
            "--sandbox",
            "local",
            "--judge",
            "none",
        ]
        env = {**environment(home), "GATE": str(gate), "N": "go"}
        running = subprocess.Popen(
            [*STEELYARD, *words, "--json"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            name = _await_experiment(served)
            context = chromium.new_context(base_url=served.url)
            context.set_default_timeout(DEADLINE_S * 1000)
            tab = context.new_page()
            wrongs: list[str] = []
            tab.on("pageerror", lambda error: wrongs.append(str(error)))
            tab.goto(f"/experiments/{name}")
            tab.wait_for_selector('[data-live][data-state="running"]')
            assert tab.locator("[data-row]").count() == 0
            tab.evaluate("window.same = true")
            (gate / "go").touch()
            tab.wait_for_selector("[data-row] >> nth=1")
            tab.wait_for_selector('[data-live][data-state="finished"]')
            assert tab.evaluate("window.same") is True
            assert "2 of 2" in tab.inner_text(".tiles")
            assert wrongs == []
            context.close()
            out, err = running.communicate(timeout=DEADLINE_S)
            assert running.returncode == 0, out + err
        finally:
            (gate / "go").touch()
            if running.poll() is None:
                running.kill()
                running.communicate()


def _await_experiment(served: Served) -> str:
    """The id of the experiment, as soon as somebody is at it."""
    end = time.monotonic() + DEADLINE_S
    with served.client() as client:
        while time.monotonic() < end:
            for one in client.get("/v1/experiments").json()["data"]:
                if client.get(f"/v1/experiments/{one['id']}/progress").json()["state"] == "running":
                    return str(one["id"])
            threading.Event().wait(0.05)
    raise AssertionError("no experiment began")


@pytest.mark.browser
def test_without_scripts_the_page_is_a_snapshot(look: Callable[..., Any]) -> None:
    """Everything can be read, and what is running is asked for again by the browser itself."""
    tab = look(java_script_enabled=False)
    tab.goto("/experiments/exp_mixed")
    assert "68 of 72" in tab.inner_text(".tiles")
    assert tab.locator("[data-row]").count() == 50
