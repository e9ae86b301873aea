"""The jury: who judges which task, over lines that are opened once and shared, never more at once than allowed."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import JudgeResult
from steelyard.domain.record import canonical_json
from steelyard.domain.suite import JudgeSpec
from steelyard.errors import SteelyardError, boundary
from steelyard.judge.base import About, Judge, JudgeRequest, Line
from steelyard.judge.consult import NO_VERDICT, Surroundings, consult
from steelyard.judge.panel import combine
from steelyard.judge.request import PROMPT_VERSION, build_request

T = TypeVar("T")
Seats = Callable[[JudgeSpec], tuple[Judge, ...]]
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY")


def keys_of(env: Mapping[str, str]) -> list[str]:
    """The judges' own keys, which never go out in a prompt."""
    return [env[name] for name in KEYS if env.get(name)]


class Jury:
    """Judges runs until it is closed. `seats` says who judges under a task's `judge`; nobody: the run is not judged.

    `opened` may put something of its own between a judge and its line, a cache for example.
    """

    def __init__(
        self,
        seats: Seats,
        env: Mapping[str, str],
        around: Surroundings,
        opened: Callable[[Judge, Line], Line] = lambda _judge, line: line,
    ) -> None:
        self._seats, self._env, self._around, self._opened = seats, env, around, opened
        self._lock = threading.Lock()
        self._lines: dict[str, Line] = {}
        self._places: dict[str, threading.BoundedSemaphore] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all lines. Safe to call twice."""
        with self._lock:
            lines, self._lines = list(self._lines.values()), {}
        for line in lines:
            line.close()

    def judge(self, evidence: Evidence, about: About, secrets: Sequence[str] = ()) -> JudgeResult | None:
        """What the jury says of a run; None when nobody judges it. Never raises: a judge does not break a run."""
        spec = evidence.task.judge
        if not spec.enabled:
            return None
        seats: tuple[Judge, ...] = ()
        try:
            with boundary("internal_error", "preparing the evidence for the judge"):
                seats = self._seats(spec)
                if not seats:
                    return None
                request = build_request(evidence, about, (*secrets, *keys_of(self._env)))
            return self.decide(seats, request)
        except SteelyardError as error:
            return self._nothing(seats, str(error))

    def decide(self, judges: Sequence[Judge], request: JudgeRequest) -> JudgeResult:
        """What these judges say to a question: one alone, or several as a panel."""
        if len(judges) == 1:
            return self._one(judges[0], request)
        started = self._around.monotonic()
        with ThreadPoolExecutor(len(judges), thread_name_prefix="judge") as pool:
            members = list(pool.map(lambda judge: self._one(judge, request), judges))
        return combine(members, max(0.0, self._around.monotonic() - started), self._around.now())

    def talk(self, judge: Judge, what: Callable[[Line, Surroundings], T]) -> T:
        """Do something over the judge's line, in one of its places; `SteelyardError` when no line can be opened."""
        with boundary("internal_error", f"opening a line to the judge {judge.type}"):
            line, place = self._line(judge)
        with place:
            return what(line, self._around)

    def _one(self, judge: Judge, request: JudgeRequest) -> JudgeResult:
        try:
            return self.talk(judge, lambda line, around: consult(judge, line, request, around))
        except SteelyardError as error:
            return self._nothing((judge,), str(error))

    def _line(self, judge: Judge) -> tuple[Line, threading.BoundedSemaphore]:
        """The judge's line, opened at first use; judges of one backend share its places."""
        key = canonical_json(judge.model_dump(mode="json"))
        with self._lock:
            if key not in self._lines:
                self._lines[key] = self._opened(judge, judge.open(self._env))
            if judge.type not in self._places:
                self._places[judge.type] = threading.BoundedSemaphore(judge.concurrency)
            return self._lines[key], self._places[judge.type]

    def _nothing(self, judges: Sequence[Judge], reason: str) -> JudgeResult:
        return JudgeResult(
            verdict="UNPARSEABLE",
            reasoning=f"{NO_VERDICT}{' '.join(reason.split())}",
            backend=", ".join(judge.type for judge in judges) or "none",
            model=", ".join(judge.model_name for judge in judges) or "none",
            prompt_version=PROMPT_VERSION,
            duration_s=0.0,
            scored_at=self._around.now(),
        )
