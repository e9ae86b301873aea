"""Clients that are slow, many, revoked in the middle, or that write what is not theirs to write."""

import errno
import json
import resource
import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from steelyard.store.database import Store
from steelyard.store.tokens import revoke_token, token_id
from tests.events.support import until
from tests.web.server import DEADLINE_S, Served, run_body, serving

Enter = Callable[..., httpx.Client]
JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
AT = "2026-01-01T00:00:00.000000Z"
MOST_SLOW = 10_000
HALF = b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-"
DRIPPING = HALF + b"Type: application/json\r\nContent-Length: 100000\r\n\r\n{"


@contextmanager
def many_files() -> Iterator[int]:
    """As many open files as this process may have, for the block."""
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        yield most
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))


def test_ten_thousand_slow_clients_keep_nobody_out(tmp_path: Path) -> None:
    """Half a head, or a head and one byte of a body: others are served at once, and the slow ones are sent away."""
    with many_files() as most, serving(tmp_path / "home") as served, ExitStack() as stack:
        count = min(MOST_SLOW, most - 1000)  # fewer where no process may have so many files
        assert count >= 1000, f"only {most} open files are allowed"
        watch = stack.enter_context(selectors.DefaultSelector())
        address = urlsplit(served.url)
        for number in range(count):
            one = socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=DEADLINE_S)
            stack.callback(one.close)
            one.sendall(DRIPPING if number % 10 == 0 else HALF)
            if number % 10:
                watch.register(one, selectors.EVENT_READ)
        with served.client() as client:
            for number in range(20):
                assert client.post("/v1/runs", json=run_body(number)).status_code == 201
            assert len(client.get("/v1/runs").json()["data"]) == 20

        def all_gone() -> bool:
            for key, _ in watch.select(timeout=1):
                watch.unregister(key.fileobj)
            return not watch.get_map()

        until(all_gone, "the end of those that never finished their head")
        assert httpx.get(f"{served.url}/v1/runs", timeout=DEADLINE_S).status_code == 200


class Pauses:
    """A body that is sent in two parts, the second when somebody says so."""

    def __init__(self, first: bytes, second: bytes) -> None:
        self.parts = (first, second)
        self.sent_first, self.go_on = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield self.parts[0]
        self.sent_first.set()
        assert self.go_on.wait(DEADLINE_S)
        yield self.parts[1]


def send(client: httpx.Client, path: str, body: Pauses, headers: dict[str, str], got: list[httpx.Response]) -> None:
    """Send a body that pauses."""
    got.append(client.post(path, content=iter(body), headers=headers))


def name_of(client: httpx.Client) -> str:
    """The id of a client's token."""
    found = token_id(client.headers["Authorization"].removeprefix("Bearer "))
    assert found is not None
    return found


def await_use(store: Store, name: str) -> None:
    """Wait until the server has let a token in."""
    from steelyard.store.tokens import list_tokens

    until(lambda: any(t.id == name and t.last_used_at for t in list_tokens(store.database)), "the first use")


def test_a_token_that_is_revoked_in_the_middle_of_a_body_stores_nothing(
    enter: Enter, store: Store, workspace: str
) -> None:
    """The request was let in with a good token; by the time its body is whole it is not, and 401 is the answer."""
    client = enter("write")
    whole = json.dumps(run_body(1, run_id=workspace)).encode()
    body, got = Pauses(whole[:20], whole[20:]), list[httpx.Response]()
    thread = threading.Thread(target=send, args=(client, "/v1/runs", body, JSON, got))
    thread.start()
    assert body.sent_first.wait(DEADLINE_S)
    await_use(store, name_of(client))
    revoke_token(store.database, name_of(client), at=AT)
    body.go_on.set()
    thread.join(DEADLINE_S)
    assert [answer.status_code for answer in got] == [401]
    assert got[0].json()["type"] == "urn:steelyard:problem:invalid-token"
    assert enter("read").get(f"/v1/runs/{workspace}").status_code == 404


def test_a_bulk_is_answered_while_it_comes_and_ends_when_its_token_does(
    served: Served, enter: Enter, store: Store, workspace: str
) -> None:
    """A line's result is there before the next line is sent; after the revocation nothing more is stored."""
    client = enter("write")
    address = urlsplit(served.url)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=DEADLINE_S) as raw:
        token = client.headers["Authorization"]
        raw.sendall(
            f"POST /v1/runs/bulk HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n"
            "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )

        def line(number: int) -> None:
            data = json.dumps(run_body(number, run_id=f"{workspace}-{number}")).encode() + b"\n"
            raw.sendall(b"%x\r\n%s\r\n" % (len(data), data))

        answer = raw.makefile("rb")

        def result() -> dict[str, object]:
            """The next result: each comes as a chunk of its own, because each line was sent alone."""
            size = int(answer.readline(), 16)
            found: dict[str, object] = json.loads(answer.read(size))
            assert answer.readline() == b"\r\n"
            return found

        line(1)
        assert answer.readline() == b"HTTP/1.1 200 OK\r\n"
        while answer.readline() != b"\r\n":
            pass
        assert result()["status"] == 201
        line(2)
        assert result()["status"] == 201
        revoke_token(store.database, name_of(client), at=AT)
        line(3)
        last = result()
        assert (last["status"], last["line"]) == (401, 3)
        assert answer.readline() == b"0\r\n"
    rows = enter("read").get("/v1/runs").json()["data"]
    assert [row["run_id"] for row in rows] == [f"{workspace}-2", f"{workspace}-1"]


def test_who_sends_a_whole_bulk_before_reading_holds_up_nothing(served: Served, enter: Enter, workspace: str) -> None:
    """More results than any socket buffers wait in a file, and all of them are there in the end."""
    client = enter("write")
    count = 20_000
    wrong = b'{"run_id": "x", "outcome": "' + b"?" * 40 + b'"}\n'
    answer = client.post("/v1/runs/bulk", content=iter([wrong * 1000] * (count // 1000)), headers=NDJSON)
    results = answer.text.splitlines()
    assert len(results) == count
    assert json.loads(results[-1])["line"] == count


RAW = {
    "a line end in a header": b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\rSet-Cookie: b=c\r\n\r\n",
    "a header in the path": b"GET /v1/runs?arm=a%0d%0aSet-Cookie:%20b=c HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "two lengths": b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
    "length and chunks": b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
    "a huge header": b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 200_000 + b"\r\n\r\n",
    "a NUL": b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\x00b\r\n\r\n",
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "an old protocol": b"GET /v1/runs HTTP/0.9\r\n\r\n",
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_no_proper_request_puts_nothing_into_an_answer(served: Served, name: str) -> None:
    """It is refused, or its oddities stay out of the headers; no second answer, no failure of ours, and it goes on."""
    address = urlsplit(served.url)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=DEADLINE_S) as raw:
        said = b""
        try:
            raw.sendall(RAW[name])
            raw.shutdown(socket.SHUT_WR)
            while piece := raw.recv(65_536):
                said += piece
        except OSError as error:
            if error.errno not in (errno.ECONNRESET, errno.ENOTCONN, errno.EPIPE):
                raise  # those mean: refused while we were still sending
    heads = [part for part in said.split(b"\r\n\r\n") if part.startswith(b"HTTP/1.1 ")]
    assert len(heads) <= 1
    assert all(head.startswith((b"HTTP/1.1 400", b"HTTP/1.1 401", b"HTTP/1.1 431")) for head in heads), heads
    if said.startswith(b"HTTP/1.1 400"):
        assert json.loads(said.partition(b"\r\n\r\n")[2])["type"] == "urn:steelyard:problem:malformed"
    assert b"set-cookie" not in b"".join(heads).lower()
    assert httpx.get(f"{served.url}/healthz", timeout=DEADLINE_S).status_code == 200


SQL = ["'; DROP TABLE runs; --", "' OR '1'='1", "\\'; SELECT pg_sleep(60); --", "%' --", "${jndi:x}", "{{7*7}}"]


@pytest.mark.parametrize("text", SQL)
def test_sql_in_a_value_is_a_value(enter: Enter, workspace: str, text: str) -> None:
    """It is stored and filtered by as the text it is, in every field that takes one."""
    client = enter()
    fields = {"arm": text, "task_id": text, "experiment": text, "final_response": text}
    assert client.post("/v1/runs", json=run_body(1, run_id=f"{workspace}-1", **fields)).status_code == 201
    assert client.post("/v1/runs", json=run_body(2, run_id=f"{workspace}-2")).status_code == 201
    for name in ("arm", "task", "experiment"):
        rows = client.get("/v1/runs", params={name: text}).json()["data"]
        assert [row["run_id"] for row in rows] == [f"{workspace}-1"]
        assert client.get("/v1/runs", params={name: text + "'"}).json()["data"] == []
    run = client.get(f"/v1/runs/{workspace}-1").json()
    assert {name: run[name] for name in fields} == fields
    assert client.get(f"/v1/workspaces/{workspace}/trend", params={"arm": text}).status_code == 200
