"""API tokens: shown once, kept as a keyed hash, bound to a workspace.

A token is `sy_<id>_<secret>`: the id finds its row, the secret (256 random bits) proves it. The row holds the
HMAC-SHA256 of the whole token under a key that lives in the store's home, not in the database: who reads the database
can neither use a token nor try guesses against it.
"""

import hashlib
import hmac
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, update

from steelyard.errors import InputError
from steelyard.store import schema
from steelyard.store.connection import Database
from steelyard.store.errors import NotFoundError, StoreError, storing
from steelyard.store.rows import instant

if TYPE_CHECKING:
    from sqlalchemy import Connection

KEY_FILE = "token.key"
KEY_BYTES = 32
SCOPES = ("read", "write", "admin")  # each holds those before it
_SHAPE = re.compile(r"sy_([0-9a-z]{12})_[0-9A-Za-z]{43}")
_TOKENS = schema.api_tokens.c
FIND_TOKEN = select(schema.api_tokens).where(_TOKENS.id == bindparam("id"))
ANY_TOKEN = select(_TOKENS.id)  # the first will do
_NOBODY = "0" * 64
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class Token:
    """A token as it is stored: never its secret."""

    id: str
    workspace: str
    name: str
    scope: str
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None

    def is_usable(self, now: str) -> bool:
        """Whether it still opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True)
class Wanted:
    """A token that somebody asks for; `expires` is an age such as `30d`, None is never."""

    workspace: str = "default"
    name: str = "unnamed"
    scope: str = "read"
    expires: str | None = None


def make_token(wanted: Wanted, now: datetime) -> tuple[str, Token]:
    """A new token's text, which is shown once, and the token as it is stored; an `InputError` names the wrong field."""
    for field, text in (("workspace", wanted.workspace), ("name", wanted.name)):
        if not text.isprintable() or text != text.strip() or not 0 < len(text) <= 200:
            raise InputError(f"{field}: printable text of 1 to 200 characters is allowed, without spaces at its ends")
    if wanted.scope not in SCOPES:
        raise InputError(f"scope: {wanted.scope[:60]!r} is unknown; allowed: {', '.join(SCOPES)}")
    ends = None if wanted.expires is None else instant((now + _age(wanted.expires)).isoformat())
    name = "".join(secrets.choice(_LETTERS[:36]) for _ in range(12))
    row = Token(name, wanted.workspace, wanted.name, wanted.scope, instant(now.isoformat()), ends, None, None)
    return f"sy_{name}_" + "".join(secrets.choice(_LETTERS) for _ in range(43)), row


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"([1-9]\d{0,4})([mhdw])", text, re.ASCII)
    if found is None:
        raise InputError(f"expires: {text[:60]!r} is no age; allowed: 90m, 12h, 30d, 8w")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def token_key(home: Path) -> bytes:
    """The key of all token hashes, made when it is first needed; only its owner can read it."""
    path = home / KEY_FILE
    with storing(f"reading the token key {path}"):
        with suppress(FileNotFoundError):
            return _whole_key(path)
        home.mkdir(parents=True, exist_ok=True)
        part = home / f".{KEY_FILE}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(os.urandom(KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # another process was quicker: its key is the key
                os.link(part, path)
        finally:
            part.unlink(missing_ok=True)
        return _whole_key(path)


def _whole_key(path: Path) -> bytes:
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise StoreError(
            f"{path} is not a token key of {KEY_BYTES} bytes; restore it, or remove it and make new tokens"
        )
    return key


def token_id(token: str) -> str | None:
    """The id inside a token; None when it is no token at all."""
    found = _SHAPE.fullmatch(token)
    return found[1] if found else None


def token_hash(key: bytes, token: str) -> str:
    """What is stored of a token."""
    return hmac.new(key, token.encode(), hashlib.sha256).hexdigest()


def is_genuine(key: bytes, token: str, row: Any) -> bool:
    """Whether a token is the one of that row, in the same time whatever differs; no row is never genuine."""
    expected = _NOBODY if row is None else row.hash
    return hmac.compare_digest(token_hash(key, token), expected) and row is not None


def add_token(database: Database, key: bytes, token: str, row: Token) -> None:
    """Store a new token's hash."""
    stored = {**row.__dict__, "hash": token_hash(key, token)}
    stored["scopes"] = stored.pop("scope")
    with database.write("storing a token") as connection:
        connection.execute(insert(schema.api_tokens).values(stored))


def token_of(row: Any) -> Token:
    """A row of `api_tokens` as a token."""
    names = [name for name in Token.__dataclass_fields__ if name != "scope"]
    return Token(**{name: getattr(row, name) for name in names}, scope=row.scopes)


def find_token(connection: "Connection", key: bytes, token: str) -> Token | None:
    """The stored token that a caller's text proves; None when there is none."""
    name = token_id(token)
    row = connection.execute(FIND_TOKEN, {"id": name}).first() if name else None
    return token_of(row) if is_genuine(key, token, row) and row is not None else None


def has_tokens(connection: "Connection") -> bool:
    """Whether any token was ever made here; a revoked one counts, so that revoking never opens a server."""
    return connection.execute(ANY_TOKEN).first() is not None


def list_tokens(database: Database, workspace: str | None = None) -> list[Token]:
    """Every token, newest first."""
    query = select(schema.api_tokens).order_by(_TOKENS.created_at.desc(), _TOKENS.id)
    if workspace is not None:
        query = query.where(_TOKENS.workspace == workspace)
    with database.read() as connection:
        return [token_of(row) for row in connection.execute(query)]


def revoke_token(database: Database, name: str, *, at: str) -> Token:
    """Let a token open nothing any more; revoking twice keeps the first time."""
    with database.write("revoking a token") as connection:
        connection.execute(
            update(schema.api_tokens).where(_TOKENS.id == name, _TOKENS.revoked_at.is_(None)).values(revoked_at=at)
        )
        row = connection.execute(FIND_TOKEN, {"id": name}).first()
    if row is None:
        raise NotFoundError(f"no token {name[:60]!r} is stored; `steelyard token list` shows their ids")
    return token_of(row)


def note_use(database: Database, name: str, *, at: str) -> None:
    """Remember when a token was last used."""
    with database.write("noting a token's use") as connection:
        connection.execute(update(schema.api_tokens).where(_TOKENS.id == name).values(last_used_at=at))
