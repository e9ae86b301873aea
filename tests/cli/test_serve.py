"""`steelyard serve`: what it says when it listens, and when it can't."""

import signal
import socket
from pathlib import Path

import httpx
import pytest

from tests.store.home import steelyard
from tests.web.server import serving


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--port", "99999"), "--port 99999: allowed: 0 to 65535"),
        (("--workers", "0"), "--workers 0: allowed: 1 to 64"),
        (("--rate", "-1"), "--rate -1: allowed"),
        (("--host", "0.0.0.0"), "steelyard token create"),
        (("--host", "no.such.host.invalid"), "steelyard token create"),
    ],
)
def test_wrong_words_are_refused_in_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """Exit code 2 and what to do."""
    code, out, err = steelyard(tmp_path, "serve", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    """One line with the address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, err = steelyard(tmp_path, "serve", "--port", port)
    assert code == 2
    assert f"port {port}" in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_it_is_told_to(tmp_path: Path, number: int) -> None:
    """Both signals end it, and nothing is left behind."""
    with serving(tmp_path / "home") as served:
        assert httpx.get(f"{served.url}/healthz", timeout=60).status_code == 200
        assert served.stop(number) in (0, 130, -number)
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{served.url}/healthz", timeout=60)
        assert "Traceback" not in (served.home / "server.log").read_text()
