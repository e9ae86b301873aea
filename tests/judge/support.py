"""Runs to judge, replies to give, and a model on loopback that says whatever a test wants, byte for byte."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from steelyard.domain.diff import Diff
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import ScorerResult
from steelyard.domain.suite import JudgeSpec, Task
from steelyard.domain.trajectory import AgentInfo, Observation, ObservationResult, Step, ToolCall, Trajectory
from steelyard.judge.base import About, Judge, JudgeError, JudgeRequest, Line, Reply
from steelyard.judge.consult import Surroundings
from steelyard.judge.jury import Seats
from steelyard.judge.request import build_request

ABOUT = About("t", "a")


def task(**fields: Any) -> Task:
    """A coding task, unless `seed` is None."""
    fields = {"id": "t", "prompt": "Fix it.", "seed": {"empty": True}, **fields}
    return Task.model_validate({name: value for name, value in fields.items() if value is not None}, strict=False)


def said(*messages: str) -> Trajectory:
    """A session in which the agent said these things."""
    steps = tuple(Step(step_id=number, source="agent", message=text) for number, text in enumerate(messages, 1))
    return Trajectory(agent=AgentInfo(name="test", version="1"), steps=steps)


def called(name: str, arguments: dict[str, Any], result: Any) -> Trajectory:
    """A session with one call of a tool."""
    step = Step(
        step_id=1,
        source="agent",
        tool_calls=(ToolCall(tool_call_id="c", function_name=name, arguments=arguments),),
        observation=Observation(results=(ObservationResult(content=result),)),
    )
    return Trajectory(agent=AgentInfo(name="test", version="1"), steps=(step,))


def check(verdict: Any = "PASS", **more: Any) -> ScorerResult:
    """A command scorer's result."""
    fields = {"name": "check", "type": "command", "score": 1.0, "required": True, "detail": "exit 0", "duration_s": 0.1}
    return ScorerResult(verdict=verdict, **{**fields, **more})


def a_run(**fields: Any) -> Evidence:
    """Evidence with some defaults."""
    patch = fields.pop("patch", b"")
    return Evidence(task=fields.pop("task", task()), diff=fields.pop("diff", Diff(patch)), **fields)


def request_for(evidence: Evidence | None = None) -> JudgeRequest:
    """The question about a run."""
    return build_request(evidence or a_run(), ABOUT)


def answer(case: str, **fields: Any) -> dict[str, Any]:
    """A whole reply that passes the run."""
    return {
        "case": case,
        "fact_checks": [{"claim": "it works", "evidence": "the test", "status": "supported"}],
        "reasoning": "It works.",
        "task_completion": 5,
        "instruction_adherence": 4,
        "efficiency": 3,
        "verdict": "PASS",
        "failure_mode": None,
        **fields,
    }


def alone(judge: Judge) -> Seats:
    """A jury of one."""

    def seats(spec: JudgeSpec) -> tuple[Judge, ...]:
        del spec
        return (judge,)

    return seats


@dataclass
class Watch:
    """A clock that moves only when somebody waits, and knows how long."""

    waits: list[float] = field(default_factory=list)
    stopped: bool = False

    def wait(self, seconds: float) -> bool:
        """Wait without waiting."""
        self.waits.append(seconds)
        return self.stopped

    def around(self) -> Surroundings:
        """As judges are given it."""
        return Surroundings(lambda: "2026-01-01T00:00:00.000000Z", lambda: sum(self.waits), self.wait)


class Scripted(Judge):
    """A judge whose line plays replies and troubles in order, the last one for ever."""

    type: str = "scripted"
    model: str | None = "scripted-1"

    def open(self, env: Mapping[str, str]) -> Line:
        """Plays nothing."""
        del env
        return Played([])


class Played(Line):
    """Replies and troubles in order; keeps what was asked."""

    def __init__(self, script: list[Reply | JudgeError | Exception]) -> None:
        self.script, self.asked, self.closed = script, list[JudgeRequest](), 0

    def ask(self, request: JudgeRequest) -> Reply:
        """The next of the script."""
        self.asked.append(request)
        next_one = self.script[min(len(self.asked), len(self.script)) - 1]
        if isinstance(next_one, Exception):
            raise next_one
        return next_one

    def close(self) -> None:
        """Count it."""
        self.closed += 1


@dataclass(frozen=True)
class Asked:
    """A request as the raw model got it."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Raw:
    """What the raw model sends back; a `length` larger than the body is a connection that is cut.

    With `drip_s` the body comes over and over, so long apart, until the client has gone or the server stops.
    """

    body: bytes
    status: int = 200
    kind: str = "application/json"
    length: int | None = None
    drip_s: float | None = None


Answers = Callable[[Asked], Raw]


class RawModel(ThreadingHTTPServer):
    """Answers every POST with what `answers` makes of it."""

    daemon_threads = True

    def __init__(self, answers: Answers) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.answers = answers
        self.asked: list[Asked] = []
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def env(self) -> dict[str, str]:
        """The variables that send both SDKs here."""
        keys = {"ANTHROPIC_API_KEY": "key-one", "OPENAI_API_KEY": "key-two"}
        return {**keys, "ANTHROPIC_BASE_URL": self.url, "OPENAI_BASE_URL": f"{self.url}/v1"}


class _Exchange(BaseHTTPRequestHandler):
    server: RawModel

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it so
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer as told, and hang up."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked(self.path, dict(self.headers), body)
        self.server.asked.append(asked)
        raw = self.server.answers(asked)
        self.send_response(raw.status)
        self.send_header("Content-Type", raw.kind)
        self.send_header("Content-Length", str(raw.length or len(raw.body)))
        self.end_headers()
        self.wfile.write(raw.body)
        while raw.drip_s is not None and not self.server.stopping.wait(raw.drip_s):
            try:
                self.wfile.write(raw.body)
            except OSError:
                return


@contextmanager
def raw_model(answers: Answers) -> Iterator[RawModel]:
    """A model that answers so."""
    server = RawModel(answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()


def wire(protocol: str, text: str) -> Raw:
    """A text as a service of that protocol sends it."""
    if protocol == "anthropic":
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "m-1", "stop_reason": "end_turn"}
        return Raw(json.dumps({**message, "content": [{"type": "text", "text": text}], "usage": usage}).encode())
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m-1"}
    return Raw(json.dumps({**head, "choices": [choice], "usage": usage}).encode())
