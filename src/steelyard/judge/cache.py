"""Replies kept on disk by what was asked, so that the same question is paid for once.

A file is named by the sha256 of everything that makes the answer: backend and its settings, model, address of the
service, the whole prompt and the schema. It appears whole or not at all; one that can't be read is as good as none.
Only replies that could be read as an answer are kept: a bad one is asked for again.
"""

import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from steelyard.domain.record import canonical_json, sha256
from steelyard.domain.usage import Usage
from steelyard.judge.base import Judge, JudgeRequest, Line, Reply
from steelyard.judge.verdict import Unreadable, read_opinion

FORMAT = 1
MOST_FILES = 20_000
MOST_BYTES = 256 * 1024 * 1024
LARGEST = 2 * 1024 * 1024
LOOK_EVERY = 500  # replies written between two looks at how much there is
KEEP_SHARE = 0.75  # how much stays when there is too much: the oldest go
# How a judge is asked, which does not change what it answers.
_HOW = {"timeout_s", "max_retries", "concurrency", "prices", "program"}
_ADDRESSES = {"anthropic": "ANTHROPIC_BASE_URL", "claude-cli": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}
NOTHING_USED = Usage(input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0, cost_usd=0.0)
Reads = Callable[[Reply, JudgeRequest], object]


def key_of(judge: Judge, request: JudgeRequest, env: Mapping[str, str]) -> str:
    """The name of a question to a judge: the same only where the same answer would do."""
    asked = {
        "format": FORMAT,
        "backend": judge.type,
        "model": judge.model_name,
        "settings": {name: value for name, value in judge.model_dump(mode="json").items() if name not in _HOW},
        "address": env.get(_ADDRESSES.get(judge.type, ""), ""),
        "prompt": [request.system, request.context, request.evidence, request.refused],
        "schema": request.schema,
    }
    return sha256(canonical_json(asked))


class ReplyCache:
    """A directory of replies, which threads and processes may share. A disk that refuses is no reason to stop."""

    def __init__(self, root: Path, *, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> None:
        self.root, self._most_files, self._most_bytes = root, most_files, most_bytes
        self._lock = threading.Lock()
        self._written = 0

    def get(self, key: str) -> Reply | None:
        """The reply of that name, if there is one that can be read; it is marked as used."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                kept = json.loads(file.read(LARGEST))
            os.utime(path)
            text, value, model = kept["text"], kept["value"], kept["model"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        if kept.get("key") != key or not isinstance(text, str) or not isinstance(value, dict | None):
            return None
        return Reply(text, value, model if isinstance(model, str) else None, NOTHING_USED, cached=True)

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply; the oldest go when there are too many."""
        kept = {"key": key, "text": reply.text, "value": reply.value, "model": reply.model}
        with suppress(OSError, ValueError, TypeError, RecursionError):
            data = json.dumps(kept, ensure_ascii=True).encode()
            if len(data) >= LARGEST:
                return
            _write(self._path(key), data)
            with self._lock:
                look = self._written % LOOK_EVERY == 0
                self._written += 1
            if look:
                self.shrink()

    def shrink(self) -> int:
        """Remove the longest unused when there is more than allowed; how many went."""
        found = []
        for path in self.root.glob("??/*"):
            with suppress(OSError):
                about = path.stat()
                found.append((about.st_mtime_ns, about.st_size, path))
        size = sum(entry[1] for entry in found)
        if len(found) <= self._most_files and size <= self._most_bytes:
            return 0
        count, gone = len(found), 0
        for _, bytes_, path in sorted(found):
            if count <= KEEP_SHARE * self._most_files and size <= KEEP_SHARE * self._most_bytes:
                break
            with suppress(OSError):
                path.unlink()
                gone += 1
            count, size = count - 1, size - bytes_
        return gone

    def _path(self, key: str) -> Path:
        return self.root / key[:2] / f"{key[2:]}.json"


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, part = tempfile.mkstemp(prefix="new-", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(part).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(part).unlink()
        raise


class CachedLine(Line):
    """A judge's line that asks only what is not known yet; the same question at the same time is asked once."""

    def __init__(
        self, judge: Judge, line: Line, cache: ReplyCache, env: Mapping[str, str], reads: Reads = read_opinion
    ) -> None:
        self._judge, self._line, self._cache, self._env, self._reads = judge, line, cache, env, reads
        self._lock = threading.Lock()
        self._asking: dict[str, tuple[threading.Lock, int]] = {}

    def ask(self, request: JudgeRequest) -> Reply:
        """The reply from before, or a new one."""
        key = key_of(self._judge, request, self._env)
        kept = self._known(key, request)
        if kept is not None:
            return kept
        with self._lock:
            turn, waiting = self._asking.get(key, (threading.Lock(), 0))
            self._asking[key] = (turn, waiting + 1)
        try:
            with turn:
                return self._known(key, request) or self._new(key, request)
        finally:
            with self._lock:
                turn, waiting = self._asking.pop(key)
                if waiting > 1:
                    self._asking[key] = (turn, waiting - 1)

    def close(self) -> None:
        """Close the line itself."""
        self._line.close()

    def _known(self, key: str, request: JudgeRequest) -> Reply | None:
        kept = self._cache.get(key)
        return kept if kept is not None and self._readable(kept, request) else None

    def _new(self, key: str, request: JudgeRequest) -> Reply:
        reply = self._line.ask(request)
        if self._readable(reply, request):
            self._cache.put(key, reply)
        return reply

    def _readable(self, reply: Reply, request: JudgeRequest) -> bool:
        try:
            self._reads(reply, request)
        except Unreadable:
            return False
        return True


def caching(root: Path | None, env: Mapping[str, str], reads: Reads = read_opinion) -> Callable[[Judge, Line], Line]:
    """What puts a cache in `root` between judges and their lines; None, or a judge that asks no model: nothing."""
    cache = None if root is None else ReplyCache(root)

    def opened(judge: Judge, line: Line) -> Line:
        return line if cache is None or not judge.asks_a_model else CachedLine(judge, line, cache, env, reads)

    return opened
