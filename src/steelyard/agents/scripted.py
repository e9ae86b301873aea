"""scripted: replays edits and commands from a file; ships for demos, docs and tests."""

import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from steelyard.agents.base import Agent, Turn, TurnResult
from steelyard.agents.command import failure
from steelyard.agents.script_file import ACTIONS, mistakes_in
from steelyard.domain.record import JsonObject, sha256
from steelyard.domain.trajectory import Observation, ObservationResult, Step, ToolCall
from steelyard.domain.usage import Usage
from steelyard.errors import AgentError, InputError, RunError
from steelyard.sandboxes.base import Captured, Command, Sandbox


class ScriptedAgent(Agent):
    """Plays a script: for each task (or `"*"`) a list of actions, or `turns:` with one list a turn.

    Actions: `say: text`, `write|append: {path, text}`, `replace: {path, old, new}`, `delete: path`,
    `rename: {from, to}`, `chmod: {path, mode}`, `run: shell command`, `sleep: seconds`, `usage: {...}`, `exit: code`,
    `chance: {p, then, else}` (drawn from the seed, the task and the repeat) and `repeats: {1: [...], default: [...]}`.
    `jitter: 0.2` varies every number of `usage` and `sleep` by up to a fifth.
    """

    type: Literal["scripted"] = "scripted"
    plain_turns: ClassVar[bool] = True
    script: str = Field(description="the script file, relative to the suite")
    seed: int = Field(default=0, description="other seeds draw other chances")
    plan: JsonObject | None = Field(default=None, description="the script's content; taken from the file")

    def resolved(self, root: Path) -> "ScriptedAgent":
        """This agent with its script read, so that the frozen arm no longer needs the file."""
        if self.plan is not None:
            return self
        import yaml

        path = root / self.script
        try:
            plan = yaml.safe_load(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InputError(f"{path}: cannot be read as a script: {' '.join(str(error).split())}") from error
        if not isinstance(plan, dict) or not isinstance(plan.get("tasks"), dict):
            raise InputError(f"{path}: a script is a mapping with `tasks:` (task id → list of actions)")
        wrong = mistakes_in(plan["tasks"])
        if wrong:
            raise InputError(f"{path}: {'; '.join(wrong)}")
        return self.model_copy(update={"plan": _with_string_keys(plan)})

    def run(self, turn: Turn, sandbox: Sandbox) -> TurnResult:
        """Play the actions of this task, repeat and turn."""
        play = _Play(self, turn, sandbox)
        started = time.monotonic()
        try:
            play.all(play.actions())
        except _Ended:
            pass
        except (KeyError, TypeError, ValueError) as error:
            play.error = AgentError("agent_crashed", f"the script's action is wrong: {error!r}; actions: {ACTIONS}")
        usage = play.usage
        return TurnResult(
            exit_code=play.exit_code,
            duration_s=time.monotonic() - started,
            usage=usage.model_copy(update={"steps": len(play.steps), "tool_calls": play.calls}),
            final_response=play.said,
            session_id=turn.session_id or f"scripted-{turn.task_id}-{turn.repeat}",
            steps=tuple(play.steps),
            version="1",
            error=play.error,
            timed_out=play.timed_out,
            stdout=Captured(play.said.encode(), b"", len(play.said.encode())),
        )


class _Ended(Exception):  # noqa: N818  # not an error: the script says that it ends here
    """The script's `exit`, or a command that was stopped."""


@dataclass
class _Play:
    """One turn being played."""

    agent: ScriptedAgent
    turn: Turn
    sandbox: Sandbox
    steps: list[Step] = field(default_factory=list)
    said: str = ""
    usage: Usage = Usage()
    calls: int = 0
    exit_code: int = 0
    error: RunError | None = None
    timed_out: bool = False

    def __post_init__(self) -> None:
        """Draw from the seed, task, repeat and turn; never from the arm, so that all arms meet the same luck."""
        key = f"{self.agent.seed}/{self.turn.task_id}/{self.turn.repeat}/{self.turn.index}"
        self.luck = random.Random(int(sha256(key), 16))
        self.deadline = time.monotonic() + self.turn.timeout_s

    def actions(self) -> list[Any]:
        """What the script says for this task and turn; nothing when it says nothing."""
        tasks = (self.agent.plan or {})["tasks"]
        found = tasks.get(self.turn.task_id, tasks.get("*", []))
        if isinstance(found, dict):
            turns = found["turns"]
            return list(turns[self.turn.index]) if self.turn.index < len(turns) else []
        return list(found) if self.turn.index == 0 else []

    def all(self, actions: list[Any]) -> None:
        for action in actions:
            ((name, value),) = action.items()
            getattr(self, f"do_{name}")(value)

    def vary(self, number: float) -> float:
        jitter = float((self.agent.plan or {}).get("jitter", 0))
        return number * (1 + jitter * self.luck.uniform(-1, 1)) if jitter else number

    def step(self, name: str, arguments: JsonObject, result: str) -> None:
        self.calls += 1
        call = ToolCall(tool_call_id=f"call-{self.turn.index}-{self.calls}", function_name=name, arguments=arguments)
        seen = ObservationResult(source_call_id=call.tool_call_id, content=result)
        self.steps.append(
            Step(
                step_id=len(self.steps) + 1,
                source="agent",
                tool_calls=(call,),
                observation=Observation(results=(seen,)),
            )
        )

    def do_say(self, text: str) -> None:
        self.said = str(text)
        self.steps.append(Step(step_id=len(self.steps) + 1, source="agent", message=self.said))

    def do_write(self, value: JsonObject) -> None:
        self.sandbox.write(value["path"], value["text"].encode())
        self.step("write", {"path": value["path"]}, "written")

    def do_append(self, value: JsonObject) -> None:
        before = self.sandbox.read(value["path"]) or b""
        self.sandbox.write(value["path"], before + value["text"].encode())
        self.step("append", {"path": value["path"]}, "appended")

    def do_replace(self, value: JsonObject) -> None:
        before = (self.sandbox.read(value["path"]) or b"").decode("utf-8", "surrogateescape")
        found = value["old"] in before
        if found:
            after = before.replace(value["old"], value["new"])
            self.sandbox.write(value["path"], after.encode("utf-8", "surrogateescape"))
        self.step("replace", dict(value), "replaced" if found else "not found: nothing was replaced")

    def do_delete(self, path: str) -> None:
        self._exec("delete", {"path": path}, ("rm", "-rf", "--", path))

    def do_rename(self, value: JsonObject) -> None:
        self._exec("rename", dict(value), ("mv", "--", value["from"], value["to"]))

    def do_chmod(self, value: JsonObject) -> None:
        self._exec("chmod", dict(value), ("chmod", str(value["mode"]), "--", value["path"]))

    def do_run(self, text: str) -> None:
        self._exec("shell", {"command": text}, ("/bin/sh", "-c", text))

    def do_sleep(self, seconds: float) -> None:
        self._exec("sleep", {"seconds": seconds}, ("sleep", f"{max(0.0, self.vary(float(seconds))):.3f}"))

    def do_usage(self, value: JsonObject) -> None:
        numbers: JsonObject = {
            name: round(self.vary(n), 6) if name == "cost_usd" else round(self.vary(n)) for name, n in value.items()
        }
        source = "reported" if "cost_usd" in numbers else "unknown"
        self.usage = Usage.model_validate(numbers | {"cost_source": source}, strict=False)

    def do_exit(self, code: int) -> None:
        self.exit_code = int(code)
        if self.exit_code:
            self.error = AgentError("agent_crashed", f"the script exits with {self.exit_code}")
        raise _Ended

    def do_chance(self, value: JsonObject) -> None:
        self.all(list(value.get("then", []) if self.luck.random() < float(value["p"]) else value.get("else", [])))

    def do_repeats(self, value: JsonObject) -> None:
        self.all(list(value.get(str(self.turn.repeat)) or value.get("default") or []))

    def _exec(self, name: str, arguments: JsonObject, argv: tuple[str, ...]) -> None:
        left = max(0.01, self.deadline - time.monotonic())
        result = self.sandbox.exec(Command(argv, left, env=dict(self.turn.env)))
        self.step(name, arguments, f"exit {result.exit_code}\n{result.tail()}".strip())
        if result.timed_out or result.interrupted or result.out_of_memory or result.over_disk:
            self.timed_out = result.timed_out
            self.exit_code = result.exit_code
            self.error = failure(result, self.turn.timeout_s)
            raise _Ended


def _with_string_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _with_string_keys(inner) for key, inner in value.items()}
    return [_with_string_keys(inner) for inner in value] if isinstance(value, list) else value
