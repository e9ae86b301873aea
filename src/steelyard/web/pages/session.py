"""Sessions of browsers: a cookie that names a token and proves that it was shown here once, and what forms carry.

The cookie is `<token id>.<until>.<signature>`: the token itself is in no cookie and on no page. The token's row is
read at every request, so that revoking a token ends its sessions at once.
"""

import hashlib
import hmac
import time
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from steelyard.store.tokens import token_of
from steelyard.web.auth import Caller, Guard
from steelyard.web.problems import ProblemError

if TYPE_CHECKING:
    from starlette.responses import Response

COOKIE = "steelyard_session"
FORM_COOKIE = "steelyard_form"
LASTS_S = 14 * 24 * 3600
OPEN = ("/static/", "/sign-in")
_SAFE = frozenset(["GET", "HEAD"])


def admitted(guard: Guard, scope: MutableMapping[str, Any], headers: Mapping[bytes, bytes], address: str) -> Caller:
    """Who is asking: by a token in the header, by a session's cookie, or as `Guard` has it without either."""
    scope["state"]["form_key"] = guard.key
    if scope["path"].startswith(OPEN):
        return Caller(workspace="", scope="read")  # these show nothing of any workspace
    if b"authorization" not in headers:
        found = _by_cookie(guard, cookies(headers).get(COOKIE, ""))
        if found is not None:
            if scope["method"] not in _SAFE and scope["path"].startswith("/v1/"):
                raise ProblemError("forbidden", "the API takes a session for reading only; send a token to write")
            scope["state"]["session"] = True
            return found
    return guard.admit(headers, address)


def make_session(guard: Guard, token_id: str, stored_hash: str) -> str:
    """The cookie of a new session."""
    until = int(time.time()) + LASTS_S
    return f"{token_id}.{until}.{sign(guard.key, 'session', token_id, str(until), stored_hash)}"


def _by_cookie(guard: Guard, cookie: str) -> Caller | None:
    token_id, _, rest = cookie.partition(".")
    until, _, signature = rest.partition(".")
    if not signature or not until.isdigit() or int(until[:15]) < time.time():
        return None
    row = guard.reads.one("token", token_id)
    if row is None or not hmac.compare_digest(
        signature.encode(), sign(guard.key, "session", token_id, until, row.hash).encode()
    ):
        return None
    token = token_of(row)
    from steelyard.web.service import now

    return Caller(token.workspace, token.scope, token.id) if token.is_usable(now()) else None


def sign(key: bytes, *parts: str) -> str:
    """What only this store can write for these words."""
    return hmac.new(key, "\0".join(("pages", *parts)).encode(), hashlib.sha256).hexdigest()


def cookies(headers: Mapping[bytes, bytes]) -> dict[str, str]:
    """The cookies of a request; of several with one name the first."""
    found: dict[str, str] = {}
    for item in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, value = item.strip().partition("=")
        found.setdefault(name, value)
    return found


def set_cookie(answer: "Response", name: str, value: str, scope: Mapping[str, Any], seconds: int = LASTS_S) -> None:
    """A cookie that no script reads and no other site sends."""
    answer.set_cookie(
        name, value, max_age=seconds, path="/", httponly=True, samesite="strict", secure=scope.get("scheme") == "https"
    )
