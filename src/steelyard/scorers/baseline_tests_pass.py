"""baseline_tests_pass: the tests that were there before must be collected and pass, whatever the agent did to them."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Finding, Grade, failed, not_applicable, passed
from steelyard.domain.suite import ShellCommand
from steelyard.errors import InfraError
from steelyard.sandboxes.base import TIMED_OUT, Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.harness.paths import RUNNER_FILES, TEST_FILES
from steelyard.scorers.junit import Cases
from steelyard.scorers.kept import kept, stamps, watched
from steelyard.scorers.paths import Patterns, listed
from steelyard.scorers.replant import Replant, baseline_plants, changed_now, laid_over
from steelyard.scorers.reported import reported_files
from steelyard.scorers.runners import COMMANDS, PLACE, REPORTS, Framework, Ran, TestRun, run_tests

SHOWN = 5
KEPT = 200
_NODE_FILE = re.compile(r"\.[cm]?[jt]s$")
Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(max_length=1000)]


class BaselineTestsPass(Scorer):
    """FAIL unless every test that passes on the baseline is collected and passes with the agent's code.

    The baseline's tests and runner configuration are laid over the agent's tree in a fresh sandbox. Which tests there
    are, and which of them pass, is learnt by running the same command on the untouched baseline first.
    """

    type: Literal["baseline_tests_pass"] = "baseline_tests_pass"
    framework: Framework = "pytest"
    command: ShellCommand | None = None
    tests: Patterns | None = None
    config: Patterns | None = None
    reports: Patterns | None = None
    must_pass: Names = ()
    timeout_s: int = Field(default=900, ge=1, le=3600)

    uses_sandbox: ClassVar[bool] = True
    fresh_sandbox: ClassVar[bool] = True

    @model_validator(mode="after")
    def _can_tell(self) -> "BaselineTestsPass":
        if self.command is None and self.framework not in COMMANDS:
            raise ValueError(f"framework '{self.framework}' has no usual command: give `command`")
        if not self._run().tells:
            raise ValueError(
                f"the command tells no test results: write {PLACE} where its JUnit XML file goes, or name `reports`"
            )
        return self

    def _run(self) -> TestRun:
        command = self.command if self.command is not None else COMMANDS[self.framework]
        reports = self.reports or (() if PLACE in command else REPORTS.get(self.framework, ()))
        return TestRun(command, self.framework, reports, self.timeout_s)

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Run on the baseline, then on the agent's code under the baseline's tests, and compare test by test."""
        if sandbox is None:
            raise InfraError("sandbox_error", "baseline_tests_pass needs a sandbox")
        plants, now = baseline_plants(evidence), changed_now(evidence)
        tests = self.tests or TEST_FILES
        ours = kept(evidence, (*tests, *RUNNER_FILES, *(self.config or ())))
        sources = watched(evidence, ours, tests)
        place = Replant(sandbox)
        try:
            place.move_aside(now)
            place.lay(plants)
            run, written = self._watched_run(sandbox, sources)
            before = self._learnt(run)
            named = reported_files(before, evidence, sandbox.tree)
            aside, laid = laid_over(evidence, lambda path: path in named or ours(path), {})
            place.take_up([path for path in plants if path not in laid])
            place.bring_back([path for path in now if path not in aside])
            place.lay(laid)
            after, written_now = self._watched_run(sandbox, sources)
        finally:
            sandbox.kill_all()
            place.undo()
        rewritten = sorted(written_now - written)
        return _rewritten(rewritten, after) if rewritten else self._grade(before, after)

    def _watched_run(self, sandbox: Sandbox, sources: list[str]) -> tuple[Ran, set[str]]:
        """The run, and which of the tests' own files were written, replaced or removed in it."""
        before = stamps(sandbox, sources)
        ran = run_tests(self._run(), sandbox)
        after = stamps(sandbox, sources)
        return ran, {path for path, stamp in before.items() if after.get(path) != stamp}

    def _learnt(self, ran: Ran) -> Ran:
        """What the baseline itself says; when it says nothing, no arm pays for it."""
        if ran.result.timed_out:
            raise InfraError("setup_failed", f"the tests of the baseline itself took more than {self.timeout_s} s")
        if ran.problem is not None or not ran.cases:
            why = ran.problem or "the runner reported no test"
            tail = " ".join(ran.result.tail(400).split())
            raise InfraError("setup_failed", f"on the untouched baseline: {why} (exit {ran.result.exit_code}): {tail}")
        return ran

    def _grade(self, before: Ran, after: Ran) -> Grade:
        tail = after.result.tail()
        wanted = [name for name, outcomes in before.cases.items() if all(one == "passed" for one in outcomes)]
        if not wanted and not self.must_pass:
            return not_applicable("no test passes on the baseline, and must_pass names none")
        if after.result.timed_out:
            return failed(f"timed out after {self.timeout_s} s, exit code {TIMED_OUT}", output_tail=tail)
        if after.problem is not None:
            return failed(f"{after.problem} (exit code {after.result.exit_code})", output_tail=tail)
        owed = self._owed(set(wanted), before.cases, after.cases)
        findings = [*_broken(wanted, before, after), *(one for one in owed.values() if one is not None)]
        if not findings and _unexplained(before, after):
            said = f"exit code {after.result.exit_code}, and no test of the report explains it"
            return failed(said, output_tail=tail)
        if findings:
            named = "; ".join(f"{one.test}: {one.message}" for one in findings[:SHOWN])
            more = f"; and {len(findings) - SHOWN} more" if len(findings) > SHOWN else ""
            said = f"{_counted(len(wanted), owed, findings)}: {named}{more}"
            return failed(said, output_tail=tail, findings=tuple(findings[:KEPT]))
        also = f", and {len(owed)} more that must_pass names" if owed else ""
        said = f"tests that pass on the baseline: {len(wanted)}, all collected and passing{also}"
        return passed(said, output_tail=tail)

    def _owed(self, already: set[str], before: Cases, after: Cases) -> dict[str, Finding | None]:
        """What the task wants to pass now beyond what passed before, by name, with what is wrong of it.

        A pattern that names no test that ran is not fulfilled, and neither is a test of the baseline that is gone.
        """
        owed: dict[str, Finding | None] = {}
        gone = [name for name in before if name not in after and not _stands_for_a_file(name, after)]
        for pattern in self.must_pass:
            named = [name for name in (*after, *gone) if fnmatchcase(name, pattern)]
            if not named:
                owed[pattern] = _finding(pattern, "must-pass", "no test of this name was collected", None, None)
            for name in (name for name in named if name not in already):
                owed[name] = _unpaid(name, before, after)
        return owed


def _unpaid(name: str, before: Cases, after: Cases) -> Finding | None:
    then = _worst(before[name]) if name in before else None
    if name not in after:
        return _finding(name, "must-pass", f"{then} on the baseline, and was not collected now", then, None)
    now = _worst(after[name])
    return None if now == "passed" else _finding(name, "must-pass", f"{now}, and must pass now", then, now)


def _stands_for_a_file(name: str, after: Cases) -> bool:
    """Whether a name of the baseline's report is no test but a file or class of them that could not be loaded then.

    pytest reports `tests.test_a`, vitest `a.test.js::a.test.js`, Node `test::/path/a.test.js`, surefire a class without
    a test's name. Once it can be loaded, its tests are reported in its place.
    """
    place, _, test = name.partition("::")
    if place == "test" and _NODE_FILE.search(test):
        return True
    return test in ("", place, "initializationError") and any(
        one.startswith((f"{place}::", f"{place}.")) for one in after
    )


def _counted(total: int, owed: dict[str, Finding | None], findings: list[Finding]) -> str:
    """How many of which tests do not pass."""
    unpaid = sum(one is not None for one in owed.values())
    broken = len(findings) - unpaid
    told = [f"of {total} tests that pass on the baseline, {broken} no longer pass"] if broken else []
    told += [f"of {len(owed)} that must_pass names besides, {unpaid} not passing"] if unpaid else []
    return "; ".join(told)


def _rewritten(paths: list[str], after: Ran) -> Grade:
    message = "written while the tests ran"
    findings = tuple(_finding(path, "rewritten-test", message, None, None) for path in paths[:KEPT])
    said = f"{message}, so the results are not those of the baseline's tests: {listed(paths)}"
    return failed(said, output_tail=after.result.tail(), findings=findings)


def _broken(wanted: list[str], before: Ran, after: Ran) -> Iterator[Finding]:
    for name in wanted:
        outcomes, times = after.cases.get(name, []), len(before.cases[name])
        elsewhere = after.places.get(name, set()) - before.places.get(name, set())
        if not outcomes:
            yield _finding(name, "not-collected", "passed on the baseline, and was not collected now", "passed", None)
        elif _worst(outcomes) != "passed":
            now = _worst(outcomes)
            yield _finding(name, f"now-{now}", f"passed on the baseline, {now} now", "passed", now)
        elif len(outcomes) != times:
            said = f"reported {len(outcomes)} times, {times} on the baseline"
            yield _finding(name, "other-count", said, str(times), str(len(outcomes)))
        elif elsewhere and name in before.places:
            file = min(elsewhere)[:200]
            yield _finding(name, "other-file", f"reported from another file than on the baseline: {file}", None, file)


def _worst(outcomes: list[Literal["passed", "failed", "skipped"]]) -> Literal["passed", "failed", "skipped"]:
    return "failed" if "failed" in outcomes else "skipped" if "skipped" in outcomes else "passed"


def _unexplained(before: Ran, after: Ran) -> bool:
    """Whether the runner says that something is wrong where every test is said to pass, and did not so on the baseline.

    An exit code that failing tests explain is no habit of the runner's: without them it should be 0.
    """
    usual = before.result.exit_code != 0 and not _any_failed(before.cases)
    return after.result.exit_code != 0 and not usual and not _any_failed(after.cases)


def _any_failed(cases: Cases) -> bool:
    return any(_worst(outcomes) == "failed" for outcomes in cases.values())


def _finding(test: str, rule: str, message: str, before: str | None, after: str | None) -> Finding:
    shown = test.encode("utf-8", "backslashreplace").decode()[:300]
    path = shown.partition("::")[0] or shown
    return Finding(path=path, rule=rule, message=message, test=shown, before=before, after=after)
