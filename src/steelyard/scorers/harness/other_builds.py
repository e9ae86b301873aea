"""Build and runner files of sbt, CTest, Meson, Bazel, PHPUnit, Deno and Bun: the switches that leave tests out."""

import re
from collections.abc import Iterator

from steelyard.scorers.harness.builds import junit_signs
from steelyard.scorers.harness.commands import command_signs, variable_signs
from steelyard.scorers.harness.js_config import parse_json
from steelyard.scorers.harness.meter import spend
from steelyard.scorers.harness.model import Context, Sign, line_of
from steelyard.scorers.harness.pytest_config import parse_toml

_SBT = re.compile(
    r"\bTest\s*+/\s*+(?:test|testOnly|executeTests)\s*+:=|\b(?:test|executeTests)\s++in\s++Test\s*+:="
    r"|\bTest\s*+/\s*+(?:skip\s*+:=\s*+true|(?:unmanaged)?[sS]ources\s*+:=|definedTests\s*+:=)|\bTests\.(?:Filter|Exclude)\b[^\n]{0,200}"
    r"|\bTests\.Argument\([^)\n]{0,200}\"-(?:l|z)\""
)
_CTEST = re.compile(
    r"\b(?:WILL_FAIL|DISABLED)\s++(?:TRUE|ON|1|YES)\b|\bSKIP_RETURN_CODE\s++\d+|\bSKIP_REGULAR_EXPRESSION\b[^\n]{0,100}"
    r"|\bCTEST_CUSTOM_TESTS_IGNORE\b"
)
_PHPUNIT = re.compile(
    r"(<exclude>)[^<]{0,200}"
    r"|\b(?:failOnEmptyTestSuite|failOnRisky|failOnWarning)\s*+=\s*+\"false\""
    r"|\bbootstrap\s*+=\s*+\"(?!vendor/autoload\.php|tests?/)[^\"\n]{1,200}\""
)
_BAZEL = re.compile(
    r"(?m)\btags\s*+=\s*+\[[^\]]{0,150}?[\"']manual[\"']|\bflaky\s*+=\s*+True\b"
    r"|^(?:test|build|common)\S{0,40}[ \t][^\n#]{0,200}?--(?:test_(?:tag_|size_|timeout_|lang_)?filters?"
    r"|flaky_test_attempts|deleted_packages|test_arg|run_under)\b[^\n]{0,100}"
)
_MESON = re.compile(r"\bshould_fail\s*+:\s*+true\b|\bexclude_suites\s*+:[^\n]{0,100}")
_ASSERTIONS = re.compile(
    r"(?m)^[^#\n=]{0,100}=[^\n]{0,300}?(?<!\S)(?:-da|-disableassertions)\b[^\n]{0,100}|(?<==)-da\b"
)


def _found(expression: re.Pattern[str], text: str, message: str) -> Iterator[Sign]:
    spend(len(text) // 10)
    for match in expression.finditer(text):
        shown = " ".join(match[0].split())
        yield Sign("build-switch", shown, shown, text.count("\n", 0, match.start()) + 1, message)


def sbt_signs(text: str, context: Context) -> Iterator[Sign]:
    """Filters and empty test tasks of sbt."""
    del context
    return _found(_SBT, text, "sbt leaves tests out")


def ctest_signs(text: str, context: Context) -> Iterator[Sign]:
    """Tests of CMake that are expected to fail, or never run."""
    del context
    return _found(_CTEST, text, "CTest takes a failure for a success, or runs a test no more")


def phpunit_signs(text: str, context: Context) -> Iterator[Sign]:
    """Suites and groups that PHPUnit leaves out, and what it loads first; what coverage leaves out is no test."""
    del context
    for match in _PHPUNIT.finditer(text):
        near = text[max(0, match.start() - 600) : match.start()]
        spend(4)
        inside = any(near.rfind(f"<{one}") > near.rfind(f"</{one}") for one in ("testsuite", "groups"))
        if inside or match[1] is None:
            shown = " ".join(match[0].split())
            said = "PHPUnit leaves tests out, forgives, or loads another file first"
            yield Sign("build-switch", shown, shown, text.count("\n", 0, match.start()) + 1, said)


def gradle_properties_signs(text: str, context: Context) -> Iterator[Sign]:
    """gradle.properties: JUnit's own properties, and a JVM without assertions."""
    yield from variable_signs(text)
    yield from junit_signs(text.replace("systemProp.", ""), context)
    yield from _found(_ASSERTIONS, text, "the JVM runs without assertions")


def bazel_signs(text: str, context: Context) -> Iterator[Sign]:
    """Targets that `bazel test` passes over, and filters for every run."""
    del context
    return _found(_BAZEL, text, "Bazel leaves tests out, or tries them until they pass")


def meson_signs(text: str, context: Context) -> Iterator[Sign]:
    """Tests of Meson that must fail to pass."""
    del context
    return _found(_MESON, text, "Meson takes a failure for a success, or leaves tests out")


def deno_signs(text: str, context: Context) -> Iterator[Sign]:
    """Deno's tasks, and the tests that its configuration leaves out."""
    data = parse_json(re.sub(r"(?m)^[^\S\n]*+//[^\n]*", "", text))
    tasks = data.get("tasks")
    for name, task in tasks.items() if isinstance(tasks, dict) else ():
        command = task.get("command") if isinstance(task, dict) else task
        if isinstance(command, str):
            yield from command_signs(f"task '{name}'", command, line_of(text, f'"{name}"'), context)
    test = data.get("test")
    if isinstance(test, dict) and test.get("exclude"):
        shown = f"exclude: {test['exclude']}"
        yield Sign("collection-setting", "exclude", shown, line_of(text, "exclude"), "Deno leaves tests out")


def bun_signs(text: str, context: Context) -> Iterator[Sign]:
    """What Bun loads before the tests, and where it looks for them."""
    del context
    held = parse_toml(text).get("test")
    test = held if isinstance(held, dict) else {}
    for key in ("preload", "root", "rerunEach", "retry", "pathIgnorePatterns"):
        if test.get(key):
            yield Sign(
                "loaded-first", key, f"{key} = {test[key]}", line_of(text, key), f"Bun's {key} reaches every test"
            )
