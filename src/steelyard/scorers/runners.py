"""Runs a test command in a sandbox and learns from the runner which tests passed."""

import secrets
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from steelyard.errors import InfraError
from steelyard.sandboxes.base import Command, ExecResult, Sandbox
from steelyard.scorers.junit import MAX_BYTES, Cases, Places, ReportError, read_go, read_junit, read_libtest

Framework = Literal["pytest", "jest", "vitest", "node", "go", "cargo", "maven", "gradle", "junit"]
PLACE = "{junit}"
MAX_REPORTS = 5000

COMMANDS: dict[str, str] = {
    "pytest": "pytest -q --junitxml={junit}",
    "jest": "JEST_JUNIT_ADD_FILE_ATTRIBUTE=true JEST_JUNIT_OUTPUT_FILE={junit}"
    " npx --no-install jest --reporters=jest-junit --ci",
    "vitest": "npx --no-install vitest run --reporter=junit --outputFile={junit}",
    "node": "node --test --test-reporter=junit --test-reporter-destination={junit}",
    "go": "go test -json -count=1 ./...",
    "cargo": "cargo test --no-fail-fast 2>&1",
    "maven": "mvn -q -B test",
    "gradle": "./gradlew --no-daemon --rerun-tasks --continue test",
}
REPORTS: dict[str, tuple[str, ...]] = {
    "maven": ("target/surefire-reports/TEST-*.xml", "*/target/surefire-reports/TEST-*.xml"),
    "gradle": ("build/test-results/*.xml", "*/build/test-results/*.xml"),
}
_COMPILED = (
    "-type", "d", "-name", "__pycache__", "-not", "-path", "*/site-packages/*", "-prune", "-exec", "rm", "-rf",
    "{}", "+",
)  # fmt: skip
_STDOUT: dict[str, Callable[[list[str]], Cases]] = {"go": read_go, "cargo": read_libtest}


@dataclass(frozen=True)
class TestRun:
    """What to run and where its results come from: a path that is put in for `{junit}`, report files, or its output."""

    __test__ = False

    command: str
    framework: Framework
    reports: tuple[str, ...] = ()
    timeout_s: int = 900

    @property
    def tells(self) -> bool:
        """Whether the results can be read at all."""
        return PLACE in self.command or bool(self.reports) or self.framework in _STDOUT


@dataclass(frozen=True)
class Ran:
    """How a test run ended. `problem` says why its results can't be read; then there are no cases."""

    result: ExecResult
    cases: Cases
    problem: str | None = None
    places: Places = field(default_factory=dict)


def run_tests(run: TestRun, sandbox: Sandbox) -> Ran:
    """Run it and read the results, from files that were not there before it."""
    token = secrets.token_hex(12)
    report = f"{sandbox.tmp}/report-{token}/junit.xml"
    if PLACE in run.command:
        # The harness makes the directory, and its name is new each time: nothing can have been written there before.
        sandbox.write(f"{sandbox.tmp}/report-{token}/.made", b"")
    _remove(sandbox, _found(sandbox, run.reports))
    output = _Output()
    # Compiled Python of another tree, of the same second and size, would be taken for this one's: none is left or made.
    sandbox.exec(Command(("find", ".", *_COMPILED), 120.0))
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    text = run.command.replace(PLACE, shlex.quote(report))
    result = sandbox.exec(Command(("/bin/sh", "-c", text), run.timeout_s, env=env, on_stdout=output.add))
    if result.interrupted:
        raise InfraError("interrupted", "the test command was stopped from outside")
    sandbox.kill_all()
    places: Places = {}
    try:
        return Ran(result, _cases(run, sandbox, report, output, places), places=places)
    except ReportError as error:
        return Ran(result, {}, str(error))


class _Output:
    """What a command printed, up to a bound: more than the head and tail that are kept for people."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size <= MAX_BYTES:
            self.parts.append(chunk)

    def lines(self) -> list[str]:
        if self.size > MAX_BYTES:
            raise ReportError(f"the runner printed more than {MAX_BYTES // 1024 // 1024} MB")
        return b"".join(self.parts).decode("utf-8", "replace").split("\n")


def _cases(run: TestRun, sandbox: Sandbox, report: str, output: _Output, places: Places) -> Cases:
    cases: Cases = {}
    if PLACE in run.command:
        data = sandbox.read(report, MAX_BYTES)
        if data is None:
            raise ReportError("the runner wrote no report")
        return read_junit(data, cases, places)
    if run.reports:
        paths = _found(sandbox, run.reports)
        if not paths:
            raise ReportError(f"the runner wrote no report that matches {', '.join(run.reports)}")
        left = MAX_BYTES
        for path in paths:
            data = sandbox.read(path, left)
            left -= len(data or b"")
            if left <= 0:
                raise ReportError(f"the reports are larger than {MAX_BYTES // 1024 // 1024} MB")
            read_junit(data or b"", cases, places)
        return cases
    reader = _STDOUT.get(run.framework)
    return reader(output.lines()) if reader is not None else {}


def _found(sandbox: Sandbox, globs: tuple[str, ...]) -> list[str]:
    """The regular files of the tree that match; `find` and `fnmatch` agree that `*` crosses `/`."""
    if not globs:
        return []
    output = _Output()
    words = [word for glob in globs for word in ("-o", "-path", f"./{glob}")][1:]
    argv = ("find", ".", "-type", "f", "(", *words, ")", "-print0")
    result = sandbox.exec(Command(argv, 120.0, on_stdout=output.add))
    if result.exit_code not in (0, 1):
        raise InfraError("sandbox_error", f"looking for reports: {result.tail(300)}")
    names = [name.removeprefix("./") for name in "\n".join(output.lines()).split("\0") if name]
    if len(names) > MAX_REPORTS:
        raise ReportError(f"there are more than {MAX_REPORTS} reports")
    return sorted(names)


def _remove(sandbox: Sandbox, paths: list[str]) -> None:
    for start in range(0, len(paths), 500):
        some = [f"{sandbox.tree}/{path}" for path in paths[start : start + 500]]
        sandbox.exec(Command(("rm", "-f", "--", *some), 120.0))
