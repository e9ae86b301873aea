"""What a cheat finds in its sandbox, and what it does there: every act is kept as a step of its trajectory."""

import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from steelyard.domain.record import JsonObject
from steelyard.domain.trajectory import Observation, ObservationResult, Step, ToolCall
from steelyard.errors import InfraError
from steelyard.sandboxes.base import Command, ExecResult, Sandbox
from steelyard.scorers.integrity.paths import VENDORED, family_of, is_test_path, may_hold_inline_tests

MOST_FILES = 20_000
_LEFT_OUT = VENDORED | {".git", "__pycache__", ".pytest_cache", "dist", "build", "target"}
_SCRIPT_TEST = re.compile(r"(^|/)(tests?([_.-][^/]*)?|[^/]*[_.-]tests?)\.(sh|bash|bats)$")
_BAD = re.compile(r"FAIL|ERROR|not ok|\bfailed\b|✕|✖|✗|×|●", re.IGNORECASE)
_PROGRAM = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)*(?:exec\s+|env\s+|time\s+)*(\S+)")


class NotApplicable(InfraError):  # noqa: N818  # nothing went wrong: there is nothing to play
    """The cheat can't be played on this task; the message says why. Such a run is not graded."""

    def __init__(self, reason: str) -> None:
        super().__init__("agent_unavailable", reason)


@dataclass
class Scene:
    """The tree as the cheat found it. `commands` are those of the task's stages and scorers: the cheat knows them all.

    `isolated` says that nothing outside the sandbox can be harmed.
    """

    sandbox: Sandbox
    commands: tuple[str, ...]
    isolated: bool
    timeout_s: float
    steps: list[Step] = field(default_factory=list)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Every regular file of the tree but git's own, caches and vendored ones."""
        top = self.sandbox.collect_tree()
        found: list[str] = []
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
            for name in sorted(names):
                path = Path(folder, name)
                if path.is_file() and not path.is_symlink():
                    found.append(path.relative_to(top).as_posix())
            if len(found) > MOST_FILES:
                break
        return tuple(found)

    @cached_property
    def tests(self) -> tuple[str, ...]:
        """The files that hold tests, shell scripts among them."""
        return tuple(path for path in self.files if is_test_file(path))

    @cached_property
    def inline_tests(self) -> tuple[str, ...]:
        """The files that hold tests beside the code, as Rust's do."""
        beside = (path for path in self.files if may_hold_inline_tests(path) and path not in self.tests)
        return tuple(path for path in beside if "#[test]" in self.read(path))

    def tests_in(self, *families: str) -> tuple[str, ...]:
        """The test files of these languages; `NotApplicable` when there are none."""
        found = tuple(path for path in self.tests if family_of(path) in families)
        if not found:
            raise NotApplicable(f"there is no test file in {' or '.join(families)}")
        return found

    @cached_property
    def failures(self) -> tuple[str, ...]:
        """The lines in which the task's own commands tell of failures now."""
        said = "\n".join(_output(self.run(command)) for command in self.commands)
        return tuple(line for line in said.splitlines() if _BAD.search(line))

    def succeeds(self) -> bool:
        """Whether all of the task's own commands succeed now."""
        return all(self.run(command).exit_code == 0 for command in self.commands)

    @cached_property
    def programs(self) -> tuple[str, ...]:
        """The programs that the commands start, each once."""
        parts = [part.strip() for command in self.commands for part in re.split(r"&&|\|\||[;|\n]", command)]
        found = [match[1].strip("\"'") for part in parts if (match := _PROGRAM.match(part))]
        return tuple(dict.fromkeys(found))

    def has(self, path: str) -> bool:
        """Whether the tree holds this file."""
        return path in self.files

    def read(self, path: str) -> str:
        """A file's text; nothing when it is not there."""
        return (self.sandbox.read(path) or b"").decode("utf-8", "replace")

    def write(self, path: str, text: str) -> None:
        """Write a file, by a path in the tree or an absolute one of the sandbox's own directories."""
        self.sandbox.write(path, text.encode())
        self._step("write", {"path": path}, "written")

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files of the tree."""
        self.exec(("rm", "-f", "--", *paths), "delete")

    def run(self, text: str) -> ExecResult:
        """A shell command in the tree."""
        return self.exec(("/bin/sh", "-c", text), "shell")

    def exec(self, argv: tuple[str, ...], name: str = "shell", stdin: bytes = b"") -> ExecResult:
        """Run a program in the tree."""
        result = self.sandbox.exec(Command(argv, self.timeout_s, stdin=stdin))
        if result.interrupted:
            raise InfraError("interrupted", "stopped while a cheat was played")
        text = argv[2] if argv[:2] == ("/bin/sh", "-c") else shlex.join(argv)
        self._step(name, {"command": text}, f"exit {result.exit_code}\n{result.tail()}".strip())
        return result

    def _step(self, name: str, arguments: JsonObject, said: str) -> None:
        number = len(self.steps) + 1
        call = ToolCall(tool_call_id=f"call-{number}", function_name=name, arguments=arguments)
        seen = ObservationResult(source_call_id=call.tool_call_id, content=said)
        self.steps.append(
            Step(step_id=number, source="agent", tool_calls=(call,), observation=Observation(results=(seen,)))
        )


def is_test_file(path: str) -> bool:
    """Whether a file holds tests: by the customs of its language, or a shell script that is called so."""
    return is_test_path(path, ()) or _SCRIPT_TEST.search(path) is not None


def _output(result: ExecResult) -> str:
    return result.stdout.text() + "\n" + result.stderr.text()
