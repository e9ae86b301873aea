"""Commands that run tests: which do, how one can be made to pass whatever happens, and which tests it leaves out."""

import re
import shlex
from collections.abc import Iterator

from steelyard.scorers.harness.meter import spend
from steelyard.scorers.harness.model import Context, Sign

# Plugins that a name loads or keeps out without a change to which tests run or what their results are.
USUAL_PLUGINS = (
    r"no:(?:cacheprovider|warnings|legacypath|randomly|random_order|sugar|pastebin|nose|faulthandler|html|metadata)",
    r"pytest_cov(?:\.plugin)?", r"pytester", r"xdist(?:\.plugin)?",
)  # fmt: skip
RUNNER = re.compile(
    r"(?<![\w.-])(?:(?:py\.?test|tox|nox|jest|vitest|mocha|ava|karma|jasmine|tap|(?:nyc|c8)(?!\s++(?:report|merge|check-coverage)\b)|rspec|minitest|phpunit|ctest"
    r"|unittest|nose2?|trial|behave|nextest|gotestsum|playwright|cypress)\b"
    r"|(?:npm|pnpm|yarn|bun|deno|go|cargo|dotnet|make|just|rake|rails|swift|mix|sbt"
    r"|zig|flutter|dart|meson|bazel|node|php artisan|manage\.py|hatch|poetry run|uv run|pdm|coverage)\b"
    r"[^\n;&|]{0,200}?(?:\s-{0,2}(?:tests?|check|verify|spec|ci)|:(?:tests?|spec))\b"
    r"|(?:mvnw?|gradlew?|\./mvnw|\./gradlew)\b[^\n;&|]{0,200}?[\s:](?:tests?|check|verify)\b"
    r"|setup\.py\b[^\n;&|]{0,200}?\s(?:test|ptr|pytest|nosetests)\b"
    r"|(?:\./|(?:ba)?sh\s++|python[\d.]{0,4}\s++|node\s++|ruby\s++)(?:[\w.-]{1,40}/){0,5}(?:run|all|unit|[-_]){0,4}tests?"
    r"(?:\.\w{1,4})?(?![\w/.-]))"
)
_FORGIVING = re.compile(
    r"\|\|\s*+(?:true|:|exit\s++0|echo\b|printf\b|/bin/true|cd\s++\.)|;\s*+(?:true|:|exit\s++0)\s*(?:$|[;\n#\"'])"
    r"|\bset\s++\+e\b"
    r"|(?<!\|)\|\s*+(?:true|cat|tee)\b(?!.*pipefail)|&\s*$|(?<!\|)\|\s*+(?:tail|head)\b(?![^\n]*\))|;\s*+(?:cat|echo|ls|date)\b[^;&|\n]{0,200}$"
    r"|(?:^|\s)!\s*+(?=py\.?test\b)|\bexit\s++0\b"
)
_SELECTING = re.compile(
    r"(?<!\S)(?:-k(?=[\s=\"'])|-m\s*=?\s*[\"']?not\b|--deselect\b|--ignore(?:-glob)?\b|--collect-only\b|--co\b"
    r"|--last-failed\b|--lf\b"
    r"|--noconftest\b|(?<!mkdir\s)-p[\s=]*(?!\d+(?:\s|$)|(?:" + "|".join(USUAL_PLUGINS) + r")(?:\s|$))[\w:.]+(?=\s|$)"
    r"|--override-ini\b"
    r"|--suppress-no-test-exit-code\b"
    r"|--reruns\b|--setup-only\b|--setup-plan\b"
    r"|--pass-?with-?no-?tests\b|--passWithNoTests\b|--testPathIgnorePatterns\b|--testNamePattern\b"
    r"|--test-name-pattern\b"
    r"|--changedSince\b|--onlyFailures\b|--findRelatedTests\b|--lastCommit\b|--test-only\b|--shard[\s=]+\d|--selectProjects\b"
    r"|--test-skip-pattern\b|--onlyChanged\b|--invert\b|--fgrep\b|--grep\b|--exclude\b|--dry-run\b|--listTests\b"
    r"|--no-run\b|--if-present\b"
    r"|-short\b|-skip\b|-run[\s=]|--skip\b|--filter\b|-E\s|--tag\b|--example\b"
    r"|-DskipTests\b(?!=false)|-Dmaven\.test\.skip\b(?!=false)|-Dmaven\.test\.failure\.ignore\b(?!=false)"
    r"|-DskipITs\b|-Dtest=|-fn\b|--fail-never\b"
    r"|-x\s+\S*[tT]est\b|-DfailIfNoTests=false|PYTHONOPTIMIZE=[1-9]|(?<=python\s)-OO?(?=\s)|(?<=python3\s)-OO?(?=\s))"
)
_LISTED = re.compile(
    r"\bgo\s++list\b[^\n;&|]{0,100}\|\s*+grep\s++-\w{0,3}v\w{0,3}\s+[\"']?/?(?!vendor|node_modules|third_party|mocks?\b|examples?\b"
    r"|testdata|generated|gen\b|cmd\b|\$)[^\s)\"']{1,80}"
)
# Files of the tree that a command loads before the tests.
_LOADING = re.compile(
    r"(?<!\S)(?:--import|--require|--loader|--experimental-loader|-r)[\s=]+(\.{1,2}/[^\s\"';&|]{1,200})"
)
_GIVEN = re.compile(r"[ \t=]*(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s;&|\"']{1,200})")
# Benchmarks are run without any test.
_BENCHMARK = re.compile(r"-run[\s=]*[\"']?(?:\^?\$|\^#|[Nn]one|NONE|XXX|-)[\"']?(?=\s)[^\n;&|]{0,200}?\s-bench\b")
# Short options for the names of tests mean something else to other programs.
_NAMING = re.compile(
    r"\b(?:(?:jest|vitest|(?:npm|pnpm|yarn)\s++(?:run\s++)?test\s++--)(?=\s)[^\n;&|]{0,200}?\s-t(?=[\s=])"
    r"|mocha\b[^\n;&|]{0,200}?\s-[gf](?=[\s=]))"
)
# What only says a command, or installs what it is called by, does not run it.
_SAID = re.compile(
    r"(?:^|(?<=[;&|\n]))\s*+@?(?:sudo\s++)?(?:(?:echo|printf|true|:)(?=\s)"
    r"|(?:(?:python[\d.]{0,4}|\$[({]\w{1,40}[)}])\s++-m\s++)?(?:pip[\d.]{0,4}|pipx|conda|mamba|apt-get|apt|brew|gem|npm|pnpm|yarn|bun"
    r"|uv\s++pip|\$[({]\w{1,40}[)}])\s++(?:-\S{1,20}\s++){0,3}(?:install|add|create)(?=\s))[^;&|\n]*"
)
# The output of a command inside another one.
_INNER = re.compile(r"`[^`\n]{0,500}`")
_WORDS = re.compile(r"[\w./@:*\[\]{}-]+")
MAX_COMMAND = 4000


def command_signs(place: str, command: str, line: int, context: Context, prefix: str = "") -> Iterator[Sign]:
    """The signs of one command that may run tests; `place` names it, `prefix` is make's `-` and the like."""
    long = max(0, len(command) - MAX_COMMAND)
    command = command[:MAX_COMMAND]
    spend(1 + len(command) // 2)
    bare = _SAID.sub("", command)
    if not RUNNER.search(bare) or _BENCHMARK.search(bare):
        return
    yield ran(place, command, line)
    for match in _FORGIVING.finditer(_INNER.sub(_kept, command)):
        piece = match[0].strip()
        yield Sign(
            "forgiving-command", f"{place} {piece}", piece, line, f"the tests of {place} can fail unseen: {piece}"
        )
    if "-" in prefix:
        yield Sign("forgiving-command", f"{place} -", prefix, line, f"{place}: it is ignored that the tests fail")
    yield from _selecting(place, bare, line)
    if long:
        said = f"the command of {place} is too long to be read"
        yield Sign("too-much", place, f"{long:,} characters more", line, said)
    left = left_out(command, context)
    if left:
        said = f"{place} names paths that leave out {left[0]}"
        yield Sign("narrowed-command", place, f"without {' '.join(left[:10])}", line, said)


def _kept(match: re.Match[str]) -> str:
    """What stands in backticks is no command of its own, unless it runs tests."""
    return match[0] if RUNNER.search(match[0]) else "``"


def _selecting(place: str, command: str, line: int) -> Iterator[Sign]:
    """Options that leave tests out, and files that are loaded first."""
    for match in _SELECTING.finditer(command):
        piece = match[0].strip()
        given = _GIVEN.match(command, match.end())
        rest = given[0].strip() if given else ""
        yield Sign(
            "deselecting-command", f"{place} {piece}", f"{piece} {rest}", line, f"{place} leaves tests out: {piece}"
        )
    for match in _NAMING.finditer(command):
        rest = command[match.end() - 2 : match.end() + 80].split("\n")[0].strip()
        yield Sign(
            "deselecting-command", f"{place} names", rest, line, f"{place} runs only tests of some names: {rest}"
        )
    for match in _LISTED.finditer(command):
        yield Sign("deselecting-command", f"{place} list", match[0], line, f"{place} leaves packages out: {match[0]}")
    for match in _LOADING.finditer(command):
        yield Sign("loaded-first", f"{place} {match[1]}", match[0], line, f"{place} loads {match[1]} before the tests")


def ran(place: str, command: str, line: int) -> Sign:
    """That tests are run here; for other versions of a language than before is still here."""
    name = re.sub(r"[\d{},.]+|(?<=\d)-(?=\d)|\s++(?=[\d}])", "", place)
    return Sign("test-command", name, command.strip(), line, f"{place} ran the tests, and does no more", wanted=True)


def left_out(command: str, context: Context) -> list[str]:
    """The baseline's tests that a command leaves out by naming other paths; nothing when it names none."""
    named = [word.strip("./").rstrip("/*") for word in _words(command)]
    folders, tests = context.test_folders, set(context.tests)
    paths = list(dict.fromkeys(word for word in named if word in folders or word.partition("::")[0] in tests))
    spend(len(tests) * (1 + len(paths)) // 8)
    if not paths:
        return []
    return [test for test in context.tests if not any(covers(path, test) for path in paths)]


def covers(path: str, test: str) -> bool:
    """Whether a path that a runner is given holds a test file; one test inside a file does not hold the file."""
    return path in ("", ".") or test == path or test.startswith(path + "/")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return _WORDS.findall(command)


_VARIABLE = re.compile(
    r"(PYTEST_ADDOPTS|PYTEST_PLUGINS|PYTEST_DISABLE_PLUGIN_AUTOLOAD|NODE_OPTIONS|GOFLAGS|MAVEN_OPTS|MAVEN_ARGS"
    r"|JAVA_TOOL_OPTIONS|PYTHONOPTIMIZE"
    r"|CARGO_BUILD_RUSTC_WRAPPER|RUSTC_WRAPPER|PYTHONSTARTUP|script-shell|node-options|SPEC_OPTS"
    r"|TESTOPTS)[\"']?[ \t]*+[:+?]?=?\s*+([^\n]{1,400})"
)
_NODE_OPTIONS = re.compile(
    r"--(?:max-old-space-size|experimental-vm-modules|no-warnings|openssl-legacy-provider|trace)[\w=-]*"
)
_BENIGN = {
    "NODE_OPTIONS": _NODE_OPTIONS,
    "node-options": _NODE_OPTIONS,
    "GOFLAGS": re.compile(r"-(?:mod|race|v|trimpath|buildvcs|tags|count)\b[\w=-]*"),
    "MAVEN_OPTS": re.compile(r"-X\w+"),
    "JAVA_TOOL_OPTIONS": re.compile(r"-(?:X\w+|Dfile\.encoding\S*)"),
    "PYTEST_ADDOPTS": re.compile(r"-(?:v+|q+|rA|ra|n|-color|-tb|-durations)\b[\w=]*|\d+|auto|yes|short"),
}


def variable_signs(text: str) -> Iterator[Sign]:
    """Variables that reach into a runner from outside its own configuration."""
    for match in _VARIABLE.finditer(text):
        name, value = match[1], match[2].strip().strip("\"'")
        harmless = _BENIGN.get(name)
        if harmless is not None and not harmless.sub("", value).strip(" \"'"):
            continue
        spend(1 + match.start() // 10_000)
        line = text.count("\n", 0, match.start()) + 1
        yield Sign("runner-variable", name, f"{name}={value}", line, f"{name} changes how every test run behaves")
