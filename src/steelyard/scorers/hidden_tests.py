"""hidden_tests: tests that the agent never saw are added at grading only."""

import base64
import binascii
import os
import posixpath
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Finding, Grade, failed, passed
from steelyard.domain.record import Record
from steelyard.domain.suite import ShellCommand
from steelyard.errors import InfraError, InputError
from steelyard.sandboxes.base import TIMED_OUT, Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.harness.paths import RUNNER_FILES, is_test
from steelyard.scorers.integrity.paths import family_of
from steelyard.scorers.kept import kept, stamps
from steelyard.scorers.paths import Patterns, RelativePath, files, listed
from steelyard.scorers.replant import Plant, Replant, changed_now, laid_over
from steelyard.scorers.runners import REPORTS, Framework, Ran, TestRun, run_tests

MAX_FILES = 500
MAX_TOTAL = 4 * 1024 * 1024
SHOWN = 5


def _base64(value: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("must be base64") from error
    return value


class HiddenFile(Record):
    """One file that only the grader knows: its text, or base64 where it is no UTF-8 text."""

    path: RelativePath
    text: str | None = None
    base64: Annotated[str, AfterValidator(_base64)] | None = None
    executable: bool = False

    @model_validator(mode="after")
    def _has_content(self) -> "HiddenFile":
        if (self.text is None) == (self.base64 is None):
            raise ValueError("give either `text` or `base64`")
        return self

    def plant(self) -> Plant:
        """The file as it is laid into the tree."""
        data = self.text.encode("utf-8") if self.text is not None else base64.b64decode(self.base64 or "")
        return Plant(data, executable=self.executable)


class HiddenTests(Scorer):
    """FAIL when the command fails with the hidden files in the tree; they are gone again before the next scorer.

    Files that configure a runner are the baseline's meanwhile, unless `runner_files` says that they are the task.
    With `{junit}` in the command, `reports`, or a framework that tells its results, at least `min_tests` tests must
    have passed, none failed and at most `max_skipped` been skipped, whatever the exit code says.
    """

    type: Literal["hidden_tests"] = "hidden_tests"
    files: str | None = Field(default=None, min_length=1)
    contents: tuple[HiddenFile, ...] = Field(default=(), max_length=MAX_FILES)
    command: ShellCommand
    framework: Framework = "junit"
    reports: Patterns | None = None
    runner_files: Literal["baseline", "agent"] = "baseline"
    config: Patterns | None = None
    min_tests: int = Field(default=1, ge=1)
    max_skipped: int = Field(default=0, ge=0)
    timeout_s: int = Field(default=900, ge=1, le=3600)

    uses_sandbox: ClassVar[bool] = True

    @model_validator(mode="after")
    def _has_files(self) -> "HiddenTests":
        if self.files is None and not self.contents:
            raise ValueError("give `files`, a directory relative to the suite, or `contents`")
        return self

    def resolved(self, root: Path) -> "HiddenTests":
        """The same with the directory's files read in, so that a run needs the suite's folder no more."""
        if self.files is None or self.contents:
            return self
        return self.model_copy(update={"contents": _read(root, self.files)})

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Lay the files over the tree, and the baseline's runner files with them; run, and take all away again."""
        if sandbox is None:
            raise InfraError("sandbox_error", "hidden_tests needs a sandbox")
        if not self.contents:
            raise InfraError("internal_error", f"the files of {self.files!r} were not read when the suite was")
        plants = {file.path: file.plant() for file in self.contents}
        aside, laid_with = self._laid(evidence, plants)
        reports = self.reports or REPORTS.get(self.framework, ())
        run = TestRun(self.command, self.framework, reports, self.timeout_s)
        place = Replant(sandbox)
        try:
            place.move_aside(sorted({*plants, *aside}))
            place.lay(laid_with)
            laid = stamps(sandbox, sorted(plants))
            ran = run_tests(run, sandbox)
            left = stamps(sandbox, sorted(plants))
        finally:
            sandbox.kill_all()
            place.undo()
        written = [path for path, stamp in laid.items() if family_of(path) is not None and left.get(path) != stamp]
        if written:
            return failed(f"hidden files were written while they ran: {listed(written)}", output_tail=ran.result.tail())
        return self._grade(ran, run.tells)

    def _laid(self, evidence: Evidence, hidden: dict[str, Plant]) -> tuple[set[str], dict[str, Plant]]:
        """What leaves the tree, and the hidden files with the baseline's runner files below them."""
        if self.runner_files == "agent":
            return laid_over(evidence, lambda _path: False, hidden)
        ours = kept(evidence, (*RUNNER_FILES, *(self.config or ())))
        opened = _opened(evidence, hidden)
        # A new one is laid empty: the agent's own tests may need their directory to be a package.
        empty = {path: Plant(b"") for path in opened - evidence.baseline_files}
        return laid_over(evidence, lambda path: path in opened or ours(path), empty | hidden)

    def _grade(self, ran: Ran, tells: bool) -> Grade:
        tail = ran.result.tail()
        if ran.result.timed_out:
            return failed(f"timed out after {self.timeout_s} s, exit code {TIMED_OUT}", output_tail=tail)
        code = f"exit code {ran.result.exit_code}"
        if not tells:
            said = f"{code} with {files(len(self.contents))} hidden until then"
            return passed(said, output_tail=tail) if ran.result.exit_code == 0 else failed(said, output_tail=tail)
        if ran.problem is not None:
            return failed(f"{ran.problem} ({code})", output_tail=tail)
        bad = sorted(name for name, outcomes in ran.cases.items() if "failed" in outcomes)
        if bad:
            said = f"{len(bad)} of {len(ran.cases)} tests failed: {listed(bad[:SHOWN])}"
            return failed(said, output_tail=tail, findings=_findings(bad, "failed"))
        left_out = sorted(name for name, outcomes in ran.cases.items() if "skipped" in outcomes)
        if len(left_out) > self.max_skipped:
            allowed = f"max_skipped allows {self.max_skipped}"
            said = f"{len(left_out)} of {len(ran.cases)} tests were skipped, {allowed}: {listed(left_out[:SHOWN])}"
            return failed(said, output_tail=tail, findings=_findings(left_out, "skipped"))
        good = sum("passed" in outcomes for outcomes in ran.cases.values())
        if good < self.min_tests:
            return failed(f"{good} tests passed, at least {self.min_tests} must ({code})", output_tail=tail)
        if ran.result.exit_code != 0:
            return failed(f"{code}, and no test of the report explains it", output_tail=tail)
        return passed(f"{good} tests passed with {files(len(self.contents))} hidden until then", output_tail=tail)


def _opened(evidence: Evidence, hidden: Iterable[str]) -> set[str]:
    """The changed packages of tests that Python opens on its way to a hidden file."""
    changed = {path for path in changed_now(evidence) if path.endswith("__init__.py") and is_test(path)}
    return {path for path in changed if any(one.startswith(f"{posixpath.dirname(path)}/") for one in hidden)}


def _findings(names: list[str], message: str) -> tuple[Finding, ...]:
    return tuple(Finding(path=name[:300], rule="hidden-test", message=message) for name in names[:200])


def _read(root: Path, name: str) -> tuple[HiddenFile, ...]:
    """Every regular file of the directory, sorted, within bounds; links and special files are refused."""
    top = root / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise InputError(f"'{name}' must be a directory below the suite's own")
    if not top.is_dir() or top.is_symlink():
        raise InputError(f"there is no directory '{name}' beside the suite; put the hidden files there")
    found: list[HiddenFile] = []
    left = MAX_TOTAL
    for folder, folders, names in os.walk(top, onerror=_unreadable):
        folders.sort()
        for file in sorted(names + [one for one in folders if Path(folder, one).is_symlink()]):
            path = Path(folder, file)
            relative = path.relative_to(top).as_posix()
            if "__pycache__" in path.parts or file.endswith(".pyc"):
                continue
            data, executable = _content(path, relative, left)
            left -= len(data)
            found.append(_hidden(relative, data, executable))
            if len(found) > MAX_FILES:
                raise InputError(f"'{name}' holds more than {MAX_FILES} files")
    if not found:
        raise InputError(f"'{name}' holds no files: hidden tests are what is in it")
    return tuple(found)


def _unreadable(error: OSError) -> None:
    raise InputError(f"{error.filename}: can't be read: {error.strerror}") from error


def _content(path: Path, name: str, left: int) -> tuple[bytes, bool]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"the hidden file '{name}' can't be read: {error.strerror}; links are not followed") from error
    with os.fdopen(fd, "rb") as stream:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise InputError(f"the hidden file '{name}' is no regular file")
        data = stream.read(left + 1)
    if len(data) > left:
        raise InputError(f"the hidden files are larger than {MAX_TOTAL // 1024 // 1024} MiB together, at '{name}'")
    return data, bool(mode & stat.S_IXUSR)


def _hidden(path: str, data: bytes, executable: bool) -> HiddenFile:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"the hidden file {path!r} has a name that is not UTF-8; rename it") from None
    try:
        return HiddenFile(path=path, text=data.decode("utf-8"), executable=executable)
    except UnicodeDecodeError:
        return HiddenFile(path=path, base64=base64.b64encode(data).decode("ascii"), executable=executable)
