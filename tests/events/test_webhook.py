"""webhook: signed posts."""

import base64
import hashlib
import hmac
import re
from contextlib import closing
from pathlib import Path

import pytest

from steelyard.errors import InputError
from steelyard.events.base import SinkError
from steelyard.events.webhook import Webhook
from steelyard.store.outbox import StoredEvent
from tests.events.support import SECRET, Clock, Receiver

EVENT = StoredEvent(7, "ab" * 16, "agent.run.scored", "pay\u2028ments", "run_1", "2026-01-01T00:00:00Z", {"score": 84})
DOCS = Path(__file__).parents[2] / "docs" / "events.md"


@pytest.mark.parametrize("secret", [SECRET, "any text ü"])
def test_a_receiver_can_check_who_sent_it(receiver: Receiver, secret: str) -> None:
    """The signature is HMAC-SHA256 over id, time and body; the code in the documentation accepts it, and no forgery."""
    with closing(Webhook(receiver.url, secret, Clock())) as web:
        web.send([EVENT])

    (request,) = receiver.taken
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    signed = f"{'ab' * 16}.{request.headers['webhook-timestamp']}.".encode() + request.body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{expected}"
    assert request.path == "/hook?token=hidden"
    assert request.document["workspace"] == "pay\u2028ments"
    assert request.document["data"] == {"score": 84}
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    documented: dict[str, object] = {}
    exec(code, documented)
    is_genuine = documented["is_genuine"]
    assert callable(is_genuine)
    assert is_genuine(request.headers, request.body, secret)
    assert not is_genuine(request.headers, request.body + b" ", secret)
    assert not is_genuine({**request.headers, "webhook-timestamp": "1"}, request.body, secret)


def test_one_connection_serves_many_events(receiver: Receiver) -> None:
    """It stays open, and a new one is made when the receiver has closed it."""
    with closing(Webhook(receiver.url, SECRET, Clock())) as web:
        web.send([EVENT, EVENT])
        first = web._connection
        web.send([EVENT])
        assert web._connection is first is not None
        receiver.mood = "reset"
        with pytest.raises(SinkError):
            web.send([EVENT])
        receiver.mood = "fine"
        web.send([EVENT])

    assert len(receiver.taken) == 4


@pytest.mark.parametrize(
    ("url", "secret", "said"),
    [
        ("ftp://host/x", SECRET, "webhook:https://HOST/PATH"),
        ("https:///x", SECRET, "webhook:https://HOST/PATH"),
        ("http://host:99999999/", SECRET, "port"),
        ("http://host/", "whsec_not base64!", "not base64"),
    ],
)
def test_a_wrong_address_or_secret_is_told(url: str, secret: str, said: str) -> None:
    """One line, before anything is delivered."""
    with pytest.raises(InputError, match=re.escape(said)):
        Webhook(url, secret, Clock())


def test_nobody_home_is_a_failure_that_names_no_secret() -> None:
    """A port where nothing listens."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    web = Webhook(f"http://user:password@127.0.0.1:{port}/secret-path", SECRET, Clock())

    with closing(web), pytest.raises(SinkError, match="Connection refused") as failed:
        web.send([EVENT])

    assert "secret-path" not in str(failed.value) + web.name
    assert "password" not in str(failed.value) + web.name
