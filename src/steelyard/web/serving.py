"""Serving: uvicorn with our limits, in this process or in several."""

import functools
import json
import os
import resource
import socket
import tempfile
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from steelyard.errors import InputError
from steelyard.events.logs import configure
from steelyard.store.tokens import list_tokens
from steelyard.web.app import make_app
from steelyard.web.auth import is_loopback
from steelyard.web.metrics import SHARED
from steelyard.web.problems import MEDIA, ProblemError
from steelyard.web.service import Options, Service, now

HEAD_S = 20.0  # how long a client may take to send the head of a request
GRACE_S = 30  # how long requests that were taken may take to finish when the server is told to end
CONNECTIONS = 12_000


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that waits for a request's head, but not for ever: slow clients can't hold all connections."""

    def connection_made(self, transport: Any) -> None:
        """Start the clock."""
        super().connection_made(transport)
        self._head_due = self.loop.call_later(HEAD_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._head_due.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """The next request's head has its own time, within uvicorn's keep-alive."""
        super().on_response_complete()
        self._head_due.cancel()
        if not self.transport.is_closing():
            self._head_due = self.loop.call_later(HEAD_S + self.timeout_keep_alive, self._give_up)

    def shutdown(self) -> None:
        """The server ends: an answer that would go on for ever is told so."""
        ending = self.cycle.scope.get("state", {}).get("ending") if self.cycle else None
        if ending is not None:
            ending.set()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is refused as everything else is: with a problem document."""
        body = json.dumps(ProblemError("malformed", msg).document()).encode()
        headers = [("content-type", MEDIA), ("content-length", str(len(body))), ("connection", "close")]
        for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _give_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def prepare(options: Options) -> None:
    """Open the store once, so that what is wrong with it is said before anything listens.

    Beyond this machine the server listens only when there is a token that could open it.
    """
    service = Service(options)
    try:
        if is_loopback(options.host):
            return
        if not any(token.is_usable(now()) for token in list_tokens(service.database)):
            raise InputError(
                f"--host {options.host}: without a token the server listens on this machine only; "
                "make one first: steelyard token create --workspace default --scope write"
            )
    finally:
        service.close()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.socket(
            family, socket.SOCK_STREAM, socket.IPPROTO_TCP
        )  # asyncio turns Nagle off only if it says TCP
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as error:
        raise InputError(f"can't listen on {host} port {port}: {error.strerror}; choose others") from None
    made.set_inheritable(True)
    return made


def serve(options: Options, bound: socket.socket, workers: int) -> None:
    """Serve until SIGINT or SIGTERM; what was taken by then is finished."""
    _many_connections()
    configure(as_json=options.log_json)
    config = uvicorn.Config(
        functools.partial(make_app, options),
        factory=True,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,  # uvicorn's lines go the way of ours
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GRACE_S,
        timeout_worker_healthcheck=60,  # a busy machine is not a dead worker
        workers=workers,
    )
    if workers == 1:
        uvicorn.Server(config).run(sockets=[bound])
        return
    from uvicorn.supervisors import Multiprocess

    with tempfile.TemporaryDirectory(prefix="steelyard-metrics-") as folder:
        os.environ[SHARED] = folder
        Multiprocess(config, sockets=[bound]).run()


def _many_connections() -> None:
    """As many open files as we may have: each client is one."""
    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
