"""Test results from what a runner wrote: JUnit XML, `go test -json` lines, libtest's text.

The text may come from code that an agent wrote, so every reader is bounded: no document type, no entities, limits on
size, depth and count. What can't be read is a `ReportError` in one line, never half a result.
"""

import json
import re
from collections.abc import Iterable
from typing import Literal
from xml.parsers import expat

Outcome = Literal["passed", "failed", "skipped"]
Cases = dict[str, list[Outcome]]
"""Every outcome by test id; an id that was reported twice has two."""
Places = dict[str, set[str]]
"""The files that a report names by test id, where it names any."""

MAX_BYTES = 32 * 1024 * 1024
MAX_CASES = 200_000
MAX_DEPTH = 100
MAX_ID = 2000
_FAILED = frozenset({"failed", "failure", "error", "errored", "broken"})
_SKIPPED = frozenset({"skipped", "notrun", "disabled", "suppressed", "ignored", "pending", "todo"})


class ReportError(Exception):
    """A report that can't be trusted or read; the message is one line for people."""


def read_junit(data: bytes, cases: Cases | None = None, places: Places | None = None) -> Cases:
    """The test cases of one JUnit XML document, added to those that are known already, and so their files."""
    if len(data) >= MAX_BYTES:
        raise ReportError(f"the report is larger than {MAX_BYTES // 1024 // 1024} MB")
    reader = _Reader({} if cases is None else cases, {} if places is None else places)
    try:
        reader.parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise ReportError(f"the report is no whole XML document: {error}") from error
    if not reader.is_junit:
        raise ReportError("the report is no JUnit XML: it opens with no <testsuite> or <testsuites>")
    return reader.cases


class _Reader:
    """Follows the elements of one document; only its test cases and what came of them are kept."""

    def __init__(self, cases: Cases, places: Places) -> None:
        self.cases = cases
        self.places = places
        self._file = ""
        self.is_junit = False
        self._depth = 0
        self._case: str | None = None
        self._case_depth = 0
        self._outcome: Outcome = "passed"
        self.parser = expat.ParserCreate()
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.StartElementHandler = self._open
        self.parser.EndElementHandler = self._close

    def _refuse(self, *_about: object) -> None:
        raise ReportError("the report declares a document type, which no test runner does")

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ReportError(f"the report is nested deeper than {MAX_DEPTH}")
        if self._depth == 1:
            self.is_junit = name in ("testsuite", "testsuites")
        if self._case is not None:
            self._mark(name)
        elif name == "testsuite":
            self._file = attributes.get("file", "")
        elif name == "testcase":
            self._case, self._case_depth = case_id(attributes), self._depth
            if file := attributes.get("file") or self._file:
                self.places.setdefault(self._case[:MAX_ID], set()).add(file[:MAX_ID])
            said = (attributes.get("status") or attributes.get("result") or "").lower()
            self._outcome = "failed" if said in _FAILED else "skipped" if said in _SKIPPED else "passed"

    def _mark(self, name: str) -> None:
        """A child of a test case says what became of it; a failure outweighs a skip."""
        if self._depth != self._case_depth + 1:
            return
        if name in ("failure", "error"):
            self._outcome = "failed"
        elif name == "skipped" and self._outcome == "passed":
            self._outcome = "skipped"

    def _close(self, _tag: str) -> None:
        if self._case is not None and self._depth == self._case_depth:
            add(self.cases, self._case, self._outcome)
            self._case = None
        self._depth -= 1


def case_id(attributes: dict[str, str]) -> str:
    """`classname::name`, as far as they are given."""
    place = attributes.get("classname") or attributes.get("file") or ""
    return f"{place}::{attributes.get('name', '')}" if place else attributes.get("name", "")


def add(cases: Cases, name: str, outcome: Outcome) -> None:
    """One more outcome of a test."""
    cases.setdefault(name[:MAX_ID], []).append(outcome)
    if len(cases) > MAX_CASES or len(cases[name[:MAX_ID]]) > MAX_CASES:
        raise ReportError(f"the report names more than {MAX_CASES} tests")


_GO: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def read_go(lines: Iterable[str]) -> Cases:
    """The tests of `go test -json`: package::test. Lines that are no events, such as build errors, are passed over.

    The test that runs when a process ends with 0 is said to pass. But then its package tells no end of its own, and
    nothing in it has passed.
    """
    cases: Cases = {}
    ended: set[str] = set()
    for line in lines:
        if not line.startswith("{") or len(line) > 1_000_000:
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        action, test, package = event.get("Action"), event.get("Test"), str(event.get("Package", ""))
        if not isinstance(action, str) or action not in _GO:
            continue
        if isinstance(test, str) and test:
            add(cases, f"{package}::{test}", _GO[action])
        else:
            ended.add(package)
    return {
        name: outcomes if name.partition("::")[0] in ended else [_unended(one) for one in outcomes]
        for name, outcomes in cases.items()
    }


def _unended(outcome: Outcome) -> Outcome:
    return "failed" if outcome == "passed" else outcome


_TARGET = re.compile(r"\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))")
_LIBTEST = re.compile(r"test (.{1,1900}?)(?: - should panic)? \.\.\. (ok|FAILED|failed|ignored)\b")
_LIBTEST_SAYS: dict[str, Outcome] = {"ok": "passed", "FAILED": "failed", "failed": "failed", "ignored": "skipped"}
_LIBTEST_SUM = re.compile(r"test result: \w+\. (\d{1,9}) passed")


def read_libtest(lines: Iterable[str]) -> Cases:
    """The tests of `cargo test`: target::test, where the target is the source file that cargo names before them.

    A target that names tests and ends without its sum ended before its tests did, and one that names more passing
    tests than its sum counts let somebody else name them.
    """
    cases: Cases = {}
    target, unsummed, good = "", False, 0
    for line in lines:
        if len(line) > 4000:
            continue
        opening = _TARGET.match(line)
        if opening is not None:
            _summed(target, unsummed)
            target, unsummed, good = opening[1] or f"doc:{opening[2]}", False, 0
            continue
        if line.startswith("test result: "):
            counted = _LIBTEST_SUM.match(line)
            if counted is not None and int(counted[1]) < good:
                raise ReportError(f"more tests of {target or 'a target'} are said to pass than their sum counts")
            unsummed, good = False, 0
        told = _LIBTEST.match(line)
        if told is not None:
            # A documentation test is named by its line too; code above it may grow, so that is no part of its name.
            name = re.sub(r" \(line \d+\)", "", told[1])
            add(cases, f"{target}::{name}" if target else name, _LIBTEST_SAYS[told[2]])
            unsummed, good = True, good + (told[2] == "ok")
    _summed(target, unsummed)
    return cases


def _summed(target: str, unsummed: bool) -> None:
    if unsummed:
        raise ReportError(f"the tests of {target or 'a target'} ended without their sum: the process was left early")
