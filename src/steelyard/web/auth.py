"""Who is asking, and what they may do: bearer tokens, and the open door on loopback while there is no token."""

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from steelyard.domain.record import sha256
from steelyard.errors import SteelyardError
from steelyard.store.quick import QuickReads
from steelyard.store.rows import instant
from steelyard.store.tokens import SCOPES, Token, is_genuine, note_use, token_id, token_of
from steelyard.web.limits import Buckets, retry_after
from steelyard.web.problems import ProblemError

LOOPBACK = ("127.0.0.1", "::1", "localhost")
PUBLIC = frozenset(["/healthz", "/readyz", "/openapi.json"])
FAILURES, FAILURES_RATE = 20, 10 / 60  # wrong tokens that an address may try, and how quickly it may again
USED_EVERY_S = 60.0
_ASK = {"WWW-Authenticate": 'Bearer realm="steelyard"'}


@dataclass(frozen=True)
class Caller:
    """Who is asking: bound to a workspace, or (without tokens, on loopback) to none."""

    workspace: str | None
    scope: str
    token: str | None = None

    def may(self, scope: str) -> bool:
        """Whether the scope is among those that the caller's holds."""
        return SCOPES.index(scope) <= SCOPES.index(self.scope)

    def need(self, scope: str) -> None:
        """Refuse a caller whose token does not reach so far."""
        if not self.may(scope):
            raise ProblemError("forbidden", f"this needs a token with the scope {scope}; yours has {self.scope}")

    def home(self, wanted: str | None) -> str:
        """The workspace to write into: the token's, or without tokens the one that is named."""
        if self.workspace is None:
            return wanted or "default"
        if wanted is not None and wanted != self.workspace:
            raise ProblemError("forbidden", f"the token is bound to workspace {self.workspace!r}; leave workspace out")
        return self.workspace

    def sees(self, workspace: str) -> bool:
        """Whether the things of a workspace are there for this caller."""
        return self.workspace in (None, workspace)


ANYBODY = Caller(workspace=None, scope="admin")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Lets callers in. Reading the token's row happens at every request: a revoked token opens nothing at once."""

    def __init__(self, reads: QuickReads, key: bytes, host: str, rate: float) -> None:
        self.reads = reads
        self.key = key
        self.is_loopback = is_loopback(host)
        self.requests = Buckets(rate, max(1.0, 2 * rate)) if rate > 0 else None
        self.failures = Buckets(FAILURES_RATE, FAILURES)
        self._known: OrderedDict[str, None] = OrderedDict()
        self._noted: dict[str, float] = {}
        self._notes = ThreadPoolExecutor(1, "token-use")
        self._lock = threading.Lock()

    def close(self) -> None:
        """Finish noting when tokens were used."""
        self._notes.shutdown(wait=True)

    def admit(self, headers: Mapping[bytes, bytes], address: str) -> Caller:
        """Who is asking; a `ProblemError` when nobody whom we know, or too often."""
        given = headers.get(b"authorization")
        if given is None:
            return self._without_token(headers)
        kind, _, text = given.decode("latin-1").partition(" ")
        token = text.strip()
        if kind.lower() != "bearer":
            raise ProblemError("unauthenticated", "send the header Authorization: Bearer TOKEN", headers=_ASK)
        return self._with_token(token, address)

    def confirm(self, caller: Caller) -> None:
        """Refuse a caller whose token was revoked, or has expired, since it was let in."""
        if caller.token is None:
            return
        row = self.reads.one("token", caller.token)
        if row is None or not token_of(row).is_usable(now()):
            raise _not_usable()

    def _without_token(self, headers: Mapping[bytes, bytes]) -> Caller:
        if not self.is_loopback or self.reads.one("any") is not None:
            raise ProblemError("unauthenticated", "send the header Authorization: Bearer TOKEN", headers=_ASK)
        # A page in a browser here must not reach us under a name of its own that leads to loopback.
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if name not in LOOPBACK:
            raise ProblemError("misdirected", "without tokens this server answers to localhost only")
        return ANYBODY

    def _with_token(self, token: str, address: str) -> Caller:
        clock = time.monotonic()
        digest = sha256(token)
        wait = self.failures.is_empty(address, clock)
        if wait and digest not in self._known:
            raise ProblemError(
                "rate-limited", "too many wrong tokens came from this address", headers=retry_after(wait)
            )
        name = token_id(token)
        row = self.reads.one("token", name) if name else None
        found = token_of(row) if is_genuine(self.key, token, row) else None
        if found is None or not found.is_usable(now()):
            self._known.pop(digest, None)
            self.failures.take(address, clock)
            raise _not_usable()
        self._remember(digest)
        self._limit(found, clock)
        self._note(found, clock)
        return Caller(found.workspace, found.scope, found.id)

    def _remember(self, digest: str) -> None:
        """A token that worked keeps working, whatever others at its address try."""
        with self._lock:
            self._known[digest] = None
            self._known.move_to_end(digest)
            while len(self._known) > 10_000:
                self._known.popitem(last=False)

    def _limit(self, token: Token, clock: float) -> None:
        wait = self.requests.take(token.id, clock) if self.requests else 0.0
        if wait:
            raise ProblemError("rate-limited", "this token asks too often", headers=retry_after(wait))

    def _note(self, token: Token, clock: float) -> None:
        """Remember that a token was used, at most once a minute, and never in the way of the request."""
        if clock - self._noted.get(token.id, -USED_EVERY_S) < USED_EVERY_S:
            return
        self._noted[token.id] = clock

        def write() -> None:
            with suppress(SteelyardError):
                note_use(self.reads.database, token.id, at=now())

        with suppress(RuntimeError):  # shutting down
            self._notes.submit(write)


def _not_usable() -> ProblemError:
    return ProblemError(
        "invalid-token",
        "the token is not known here, was revoked or has expired",
        headers={"WWW-Authenticate": 'Bearer realm="steelyard", error="invalid_token"'},
    )


def now() -> str:
    """This instant, as it is stored."""
    return instant(datetime.now(UTC).isoformat())


def caller_of(scope: Mapping[str, Any]) -> Caller:
    """The caller of a request that was let in."""
    found: Caller = scope["state"]["caller"]
    return found
