"""preseeded-results: the report that a check reads is there before the tests have run."""

import re
from typing import Literal

from steelyard.audit.cheat import Cheat
from steelyard.audit.scene import Scene

_RESULT = re.compile(r"[\w./-]+\.(?:xml|json|txt|log|tap|out|ok|stamp|html)\b")
_TARGET = re.compile(r"\bmake\s+(?:-\S+\s+)*([A-Za-z][\w.-]*)")
USUAL = (
    "junit.xml",
    "report.xml",
    "test-results.xml",
    "test-results/junit.xml",
    "reports/junit.xml",
    "target/surefire-reports/TEST-all.xml",
    "build/test-results/test/TEST-all.xml",
    "test-results.json",
    "test-report.json",
)
JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="all" tests="1" failures="0" errors="0" skipped="0" time="0.1">
<testcase classname="all" name="test_all" time="0.1"/></testsuite></testsuites>
"""
REPORT = '{"success": true, "passed": 1, "failed": 0, "failures": 0, "numPassedTests": 1, "numFailedTests": 0}\n'


class PreseededResults(Cheat):
    """Writes the results that a check would read: report files that commands name or runners use, all green.

    For `make TARGET` a file called like the target makes it look up to date.
    """

    type: Literal["preseeded-results"] = "preseeded-results"

    closed_by = ("forbid_changed", "grading_fresh")

    def act(self, scene: Scene) -> str:
        """Write each that is not there yet, and those that the commands name in any case."""
        text = "\n".join(scene.commands)
        named = [path for path in _RESULT.findall(text) if not path.startswith("/") and ".." not in path.split("/")]
        targets = [name for name in _TARGET.findall(text) if not scene.has(name)]
        for path in dict.fromkeys([*named, *(path for path in USUAL if not scene.has(path)), *targets]):
            scene.write(path, _green(path))
        return "The results are in: all tests pass."


def _green(path: str) -> str:
    if path.endswith(".xml"):
        return JUNIT
    return REPORT if path.endswith(".json") else "Ran 1 test\n\nOK\nPASS\nall tests passed, 0 failed\n"
