"""Who gets in: tokens, workspaces, scopes, revocation, expiry, brute force, and the open door on loopback."""

import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from steelyard.store.database import Store
from steelyard.store.tokens import list_tokens, revoke_token, token_id
from tests.web.server import DEADLINE_S, STEELYARD, Served, environment, run_body, serving

Enter = Callable[..., httpx.Client]
AT = "2026-01-01T00:00:00.000000Z"
PROBLEM = "urn:steelyard:problem:"


def cause(answer: httpx.Response) -> str:
    """The cause that a problem document names."""
    assert answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["type"]).removeprefix(PROBLEM)


def test_without_a_token_nothing_but_health_is_told(served: Served) -> None:
    """Every other address is 401, also those that do not exist."""
    with served.client() as client:
        for path in ("/v1/runs", "/v1/runs/x/score", "/metrics", "/nope", "/v1/workspaces/default/weights"):
            answer = client.get(path)
            assert (answer.status_code, cause(answer)) == (401, "unauthenticated")
            assert answer.headers["www-authenticate"].startswith("Bearer")
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").status_code == 200


def test_another_workspaces_things_are_not_there(enter: Enter, workspace: str) -> None:
    """Runs, experiments, scenarios, tasks, baseline and weights of another workspace are 404, lists leave them out."""
    mine, theirs = enter(), enter("admin", f"{workspace}-other")
    run_id = f"{workspace}-1"
    assert mine.post("/v1/runs", json=run_body(1, run_id=run_id, experiment=f"{workspace}-e")).status_code == 201
    assert mine.post("/v1/experiments", json={"id": f"{workspace}-e"}).status_code == 201
    assert mine.post("/v1/scenarios", json={"name": "s"}).status_code == 201
    assert mine.post("/v1/tasks", json={"id": "t", "scenario": "s", "prompt": "Do."}).status_code == 201

    paths = [f"/v1/runs/{run_id}{part}" for part in ("", "/score", "/scorers", "/judge", "/diff", "/trace")]
    paths += [f"/v1/experiments/{workspace}-e{part}" for part in ("", "/comparison")]
    paths += [f"/v1/{what}?workspace={workspace}" for what in ("scenarios/s", "tasks/t")]
    paths += [f"/v1/workspaces/{workspace}/{what}" for what in ("baseline", "weights")]
    for path in paths:
        assert theirs.get(path).status_code == 404, path
    weights = {"completion": 1.0, "error_rate": 0.0, "latency": 0.0, "resource_efficiency": 0.0}
    assert theirs.put(f"/v1/workspaces/{workspace}/weights", json=weights).status_code == 404
    assert theirs.put(f"/v1/scenarios/s?workspace={workspace}", json={}).status_code == 404
    for kind in ("runs", "experiments", "scenarios", "tasks"):
        assert mine.get(f"/v1/{kind}").json()["data"] != []
        assert theirs.get(f"/v1/{kind}").json()["data"] == []
        assert theirs.get(f"/v1/{kind}", params={"workspace": workspace}).json()["data"] == []
    refused = theirs.post("/v1/runs", json=run_body(2, run_id=f"{workspace}-2", workspace=workspace))
    assert (refused.status_code, cause(refused)) == (403, "forbidden")


def test_a_scope_reaches_so_far(enter: Enter, workspace: str) -> None:
    """Reading reads, write also adds, admin also sets weights."""
    weights = {"completion": 0.7, "error_rate": 0.1, "latency": 0.1, "resource_efficiency": 0.1}
    for scope, added, weighed in (("read", 403, 403), ("write", 201, 403), ("admin", 201, 200)):
        client = enter(scope)
        assert client.get("/v1/runs").status_code == 200
        body = run_body(1, run_id=f"{workspace}-{scope}")
        assert client.post("/v1/runs", json=body).status_code == added
        put = client.put(f"/v1/workspaces/{workspace}/weights", json=weights)
        assert put.status_code == weighed
    assert enter("read").get(f"/v1/workspaces/{workspace}/weights").json()["weights"] == weights


def test_a_revoked_token_opens_nothing_at_once(served: Served, enter: Enter, store: Store) -> None:
    """The request after the revocation is 401, on a connection that worked before."""
    client = enter()
    assert client.get("/v1/runs").status_code == 200
    name = token_id(client.headers["Authorization"].removeprefix("Bearer "))
    assert name is not None
    revoke_token(store.database, name, at=AT)
    answer = client.get("/v1/runs")
    assert (answer.status_code, cause(answer)) == (401, "invalid-token")


def test_an_expired_token_opens_nothing(enter: Enter) -> None:
    """A time that has passed is the end; one to come is not."""
    assert enter("read", None, "2026-01-02T00:00:00.000000Z").get("/v1/runs").status_code == 401
    assert enter("read", None, "9999-01-02T00:00:00.000000Z").get("/v1/runs").status_code == 200


def test_when_a_token_was_used_is_noted(enter: Enter, store: Store) -> None:
    """Soon after its first use, and not at every request."""
    client = enter("read")
    name = token_id(client.headers["Authorization"].removeprefix("Bearer "))

    def used() -> str | None:
        return next(token.last_used_at for token in list_tokens(store.database) if token.id == name)

    assert used() is None
    client.get("/v1/runs")
    end = time.monotonic() + DEADLINE_S
    while used() is None and time.monotonic() < end:
        time.sleep(0.02)
    first = used()
    assert first is not None
    client.get("/v1/runs")
    assert used() == first


def test_the_database_holds_no_token(served: Served, enter: Enter, store: Store) -> None:
    """Neither the token nor a plain hash of it is stored; the key lies beside the database, for its owner only."""
    text = enter().headers["Authorization"].removeprefix("Bearer ")
    secret = text.rpartition("_")[2]
    dump = "\n".join(sqlite3.connect(served.home / "steelyard.db").iterdump())
    assert secret not in dump
    key = served.home / "token.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32


def test_guessing_tokens_is_slowed_and_spares_who_is_known(tmp_path: Path) -> None:
    """After twenty wrong tokens an address waits, says Retry-After, and a token that worked before goes on working."""
    with serving(tmp_path / "home") as served, served.client(served.token()) as known, served.client() as guesser:
        assert known.get("/v1/runs").status_code == 200
        answers: list[httpx.Response] = []
        while not answers or answers[-1].status_code == 401:
            wrong = {"Authorization": f"Bearer sy_{len(answers):012d}_{'a' * 43}"}
            answers.append(guesser.get("/v1/runs", headers=wrong))
            assert len(answers) < 1000
        assert len(answers) > 20
        assert (answers[-1].status_code, cause(answers[-1])) == (429, "rate-limited")
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert known.get("/v1/runs").status_code == 200


def test_a_token_that_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    """The bucket of a token empties, 429 says Retry-After; another token has its own."""
    with serving(tmp_path / "home", "--rate", "0.01") as served, served.client() as client:
        eager, other = ({"Authorization": f"Bearer {served.token()}"} for _ in range(2))
        assert client.get("/v1/runs", headers=eager).status_code == 200
        answer = client.get("/v1/runs", headers=eager)  # the next one is due in a hundred seconds
        assert (answer.status_code, cause(answer)) == (429, "rate-limited")
        assert 1 <= int(answer.headers["retry-after"]) <= 100
        assert client.get("/v1/runs", headers=other).status_code == 200


def test_without_tokens_the_server_is_open_on_this_machine_only(tmp_path: Path) -> None:
    """It answers localhost in every workspace, no other host name, and asks for a token once there is one."""
    with serving(tmp_path / "home") as served, served.client() as client:
        assert client.post("/v1/runs", json=run_body(1, workspace="w")).status_code == 201
        assert client.get("/v1/runs/run_00001").json()["workspace"] == "w"
        rebound = client.get("/v1/runs", headers={"Host": "evil.example"})
        assert (rebound.status_code, cause(rebound)) == (421, "misdirected")
        form = client.post("/v1/runs", content=b"{}", headers={"Content-Type": "text/plain"})
        assert (form.status_code, cause(form)) == (415, "unsupported-media-type")
        token = served.token("w", "read")
        assert client.get("/v1/runs").status_code == 401
        assert client.get("/v1/runs", headers={"Authorization": f"Bearer {token}"}).status_code == 200


@pytest.mark.parametrize("value", ["Basic abc", "Bearer", "bearer sy_x", "Bearer " + "ü" * 50, "Bearer a b"])
def test_strange_authorization_headers_are_refused(served: Served, value: str) -> None:
    """None of them is an error of the server."""
    with served.client() as client:
        answer = client.get("/v1/runs", headers={b"Authorization": value.encode("latin-1")})
    assert answer.status_code in (401, 429)


def test_the_server_listens_elsewhere_only_with_a_token(tmp_path: Path) -> None:
    """Exit code 2 and the command that makes one."""
    words = [*STEELYARD, "serve", "--host", "0.0.0.0", "--port", "0"]
    ran = subprocess.run(words, env=environment(tmp_path / "home"), capture_output=True, text=True, timeout=DEADLINE_S)
    assert ran.returncode == 2
    assert "steelyard token create" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
