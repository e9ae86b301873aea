"""What the two SDKs share: their exceptions as troubles of ours, and the steps down from structured output."""

import queue
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from steelyard.judge.base import JudgeError, Reply, Trouble
from steelyard.sandboxes.process import INTERRUPTER

_TOO_LONG = re.compile(r"prompt is too long|context.?(length|window)|too many tokens|maximum context", re.IGNORECASE)
LONGEST_MESSAGE = 2_000
LOOK_S = 0.2  # how often a waiting thread looks whether the program is to stop


def within(seconds: float, ask: Callable[[], Reply]) -> Reply:
    """The reply, if it comes in time and nobody stops the program.

    The SDKs' own limit is between two bytes: a service that sends one now and then would hold a run for ever. What is
    given up goes on in a thread that nobody waits for, until its line is closed.
    """
    box: queue.SimpleQueue[Reply | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            box.put(ask())
        except BaseException as error:  # noqa: BLE001  # it is raised where somebody waits for it
            box.put(error)

    threading.Thread(target=work, name="judge-request", daemon=True).start()
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if INTERRUPTER.is_set():
            raise JudgeError("interrupted", "stopped while the judge was at work")
        try:
            got = box.get(timeout=min(left, LOOK_S))
        except queue.Empty:
            continue
        if isinstance(got, BaseException):
            raise got
        return got
    raise JudgeError("timeout", "the service did not answer in time")


class Ladder:
    """The ways to ask for a structured reply, best first; one that a service refuses is not tried again."""

    def __init__(self, ways: Sequence[str]) -> None:
        self._ways = tuple(ways)
        self._lock = threading.Lock()
        self._at = 0

    def climb_down(self, ask: Callable[[str], Reply]) -> Reply:
        """Ask in the best way that the service takes."""
        at = self._at
        while True:
            try:
                return ask(self._ways[at])
            except JudgeError as error:
                if error.trouble != "refused" or at + 1 == len(self._ways) or not is_about_form(error):
                    raise
                at += 1
                with self._lock:
                    self._at = max(self._at, at)


def is_about_form(error: JudgeError) -> bool:
    """Whether a refusal may be about the way the reply was asked for, rather than the key, the model or the length."""
    return error.status in (400, 415, 422) and not _TOO_LONG.search(str(error))


def trouble(sdk: Any, error: Exception) -> JudgeError:
    """An SDK's exception as ours; `sdk` is the module, whose exceptions have the same names in both."""
    if isinstance(error, sdk.APITimeoutError):
        return JudgeError("timeout", "the service did not answer in time")
    if isinstance(error, sdk.APIStatusError):
        return _status(error)
    if isinstance(error, sdk.APIConnectionError):
        cause = error.__cause__
        why = f": {cause}" if cause is not None and str(cause) else ""
        return JudgeError("network", f"the connection failed{why}")
    if isinstance(error, sdk.APIResponseValidationError):
        return JudgeError("broken", "the service answered something that is no reply", raw=_body(error))
    return JudgeError("broken", f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE])


def _status(error: Any) -> JudgeError:
    code = int(error.status_code)
    kind: Trouble = "busy" if code in (408, 409, 429) or code >= 500 else "refused"
    message = " ".join(str(error.message).split())[:LONGEST_MESSAGE]
    return JudgeError(
        kind,
        f"the service answered {code}: {message}",
        status=code,
        retry_after_s=_seconds(error.response.headers.get("retry-after")),
        raw=_body(error),
    )


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text) if text is not None else None
    except ValueError:
        return None
    return seconds if seconds is not None and 0 <= seconds < 1e6 else None


def _body(error: Any) -> str | None:
    try:
        return str(error.response.text)
    except Exception:  # noqa: BLE001  # a body that was never read is no news
        return None


def count(value: Any) -> int | None:
    """A number of tokens, or None when it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
