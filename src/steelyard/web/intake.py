"""Runs that come in at the same time are stored together: one thread takes all that wait into one transaction.

Nobody waits for others to come: a run that is alone is stored alone, at once. What comes meanwhile is the next turn.
"""

import asyncio
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.web.ingest import Answered, Sent, ingest_many

if TYPE_CHECKING:
    from steelyard.web.service import Service

MOST = 32  # runs that share a transaction
LARGEST = 256 * 1024  # bytes: a larger body would hold up the others of its turn


@dataclass(frozen=True)
class _Job:
    sent: Sent
    loop: asyncio.AbstractEventLoop
    answered: "asyncio.Future[Answered]"


class Intake:
    """The queue of one server process, and the thread that works it off."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def take(self, sent: Sent) -> Answered:
        """Store and score a run with the others that wait."""
        loop = asyncio.get_running_loop()
        job = _Job(sent, loop, loop.create_future())
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="intake", daemon=True)
            self._thread.start()
        self._jobs.put(job)
        return await job.answered

    def close(self) -> None:
        """Finish what was taken."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()

    def _work(self) -> None:
        while (first := self._jobs.get()) is not None:
            turn, is_last = self._turn(first)
            try:
                told: Sequence[Answered | Exception] = ingest_many(self._service, [job.sent for job in turn])
            except Exception as error:  # noqa: BLE001  # a bug is answered and logged as one; the thread goes on
                told = [error] * len(turn)
            first.loop.call_soon_threadsafe(_tell, turn, told)
            if is_last:
                return

    def _turn(self, first: _Job) -> tuple[list[_Job], bool]:
        """What waits now, and whether the end was among it."""
        turn = [first]
        while len(turn) < MOST:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return turn, True
            turn.append(job)
        return turn, False


def _tell(turn: list[_Job], told: Sequence[Answered | Exception]) -> None:
    for job, found in zip(turn, told, strict=True):
        if job.answered.done():
            continue  # who asked is gone
        if isinstance(found, Exception):
            job.answered.set_exception(found)
        else:
            job.answered.set_result(found)
