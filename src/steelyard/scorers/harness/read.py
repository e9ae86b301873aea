"""Which rules read which file, on both sides of a change, within bounds."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from itertools import islice

from steelyard.domain.diff import FileChange
from steelyard.domain.evidence import Evidence
from steelyard.scorers.harness import (
    builds,
    conftest,
    js_config,
    pytest_config,
    python_code,
    recipes,
    ruby_config,
    task_files,
)
from steelyard.scorers.harness.commands import variable_signs
from steelyard.scorers.harness.links import Links
from steelyard.scorers.harness.meter import TooMuchError
from steelyard.scorers.harness.model import Bend, Context, Sign, bends
from steelyard.scorers.harness.other_code import other_signs
from steelyard.scorers.harness.paths import is_vendored
from steelyard.scorers.harness.pytest_config import UnparsedError
from steelyard.scorers.harness.unasked import unasked
from steelyard.scorers.integrity.paths import family_of

MAX_CHARS = 1_000_000
MAX_SIGNS = 500
HAND_WRITTEN = 50_000  # characters; nobody writes more than that into a file of a runner
Reader = Callable[[str, Context], Iterable[Sign]]


@dataclass(frozen=True)
class Rule:
    """Files by name, and what reads them."""

    globs: tuple[str, ...]
    reader: Reader


def _variables(text: str, context: Context) -> Iterator[Sign]:
    del context
    return variable_signs(text)


READERS: tuple[Rule, ...] = (
    Rule(("conftest.py", "*/conftest.py"), conftest.conftest_signs),
    Rule(
        (
            "pytest.ini",
            ".pytest.ini",
            "tox.ini",
            "setup.cfg",
            "*/pytest.ini",
            "*/.pytest.ini",
            "*/tox.ini",
            "*/setup.cfg",
        ),
        pytest_config.ini_signs,
    ),
    Rule(
        ("pyproject.toml", "*/pyproject.toml", "pytest.toml", ".pytest.toml", "*/pytest.toml", "*/.pytest.toml"),
        pytest_config.toml_signs,
    ),
    Rule(("package.json", "*/package.json"), js_config.package_signs),
    Rule(
        ("jest.config.json", "*/jest.config.json", ".mocharc.json", ".mocharc.jsonc", "*/.mocharc.json"),
        js_config.json_signs,
    ),
    Rule(
        (
            "jest.config.*",
            "*/jest.config.*",
            "vitest.config.*",
            "*/vitest.config.*",
            "vitest.workspace.*",
            "vite.config.*",
            "*/vite.config.*",
            ".mocharc.*",
            "*/.mocharc.*",
            "karma.conf.*",
            "playwright.config.*",
            "*/playwright.config.*",
            "cypress.config.*",
        ),
        js_config.source_signs,
    ),
    Rule(
        (
            "*jest.setup.*",
            "*jest-setup.*",
            "*vitest.setup.*",
            "*setupTests.*",
            "*setup-tests.*",
            "*setup-jest.*",
            "*setupJest.*",
            "*test/setup.*",
            "*tests/setup.*",
            "*test-setup.*",
            "postcss.config.*",
            "babel.config.*",
        ),
        js_config.setup_signs,
    ),
    Rule(("Makefile", "makefile", "GNUmakefile", "*/Makefile", "*.mk", "justfile", "Justfile"), recipes.makefile_signs),
    Rule(
        (
            ".github/workflows/*",
            ".gitlab-ci.yml",
            "*.gitlab-ci.yml",
            ".circleci/*",
            "azure-pipelines*.yml",
            ".travis.yml",
            "Jenkinsfile",
            "bitbucket-pipelines.yml",
            ".drone.yml",
            ".woodpecker/*",
            ".buildkite/*",
            "appveyor.yml",
            ".github/actions/*",
            "Taskfile.y*ml",
        ),
        recipes.ci_signs,
    ),
    Rule(
        (
            "*test*.sh",
            "*test*.bash",
            "bin/test",
            "scripts/test",
            "script/test",
            "script/cibuild",
            "*ci*.sh",
            "*check*.sh",
            "run_tests",
            "runtests",
        ),
        recipes.script_signs,
    ),
    Rule(("pom.xml", "*/pom.xml"), builds.pom_signs),
    Rule((".mvn/*", "*/.mvn/*"), builds.maven_options_signs),
    Rule(("*.gradle", "*.gradle.kts"), builds.gradle_signs),
    Rule(("gradlew", "*/gradlew", "mvnw", "*/mvnw"), builds.wrapper_signs),
    Rule(("go.mod", "*/go.mod", "go.work"), builds.go_mod_signs),
    Rule(("rust-toolchain", "rust-toolchain.toml"), builds.toolchain_signs),
    Rule(("Rakefile", "*/Rakefile", "*.rake"), ruby_config.rakefile_signs),
    Rule(("Cargo.toml", "*/Cargo.toml"), builds.cargo_signs),
    Rule((".cargo/config*", "*/.cargo/config*", ".config/nextest.toml"), builds.cargo_config_signs),
    Rule(("*.runsettings", "*.csproj", "*.fsproj", "Directory.Build.*", "*/Directory.Build.*"), builds.dotnet_signs),
    Rule(("*_test.go",), builds.go_test_signs),
    Rule(("*junit-platform.properties",), builds.junit_signs),
    Rule(
        ("*spec_helper.rb", "*rails_helper.rb", "*test_helper.rb", ".rspec", "*/.rspec"), ruby_config.ruby_helper_signs
    ),
    Rule(("noxfile.py", "*/noxfile.py", "tasks.py", "dodo.py", "fabfile.py"), task_files.task_file_signs),
    Rule(
        (
            ".env",
            ".env.*",
            ".envrc",
            ".npmrc",
            "*/.env",
            "*/.npmrc",
            ".yarnrc*",
            "gradle.properties",
            "Dockerfile*",
        ),
        _variables,
    ),
)

# A text without any of these words has no sign in it: most files are never parsed.
_WORTH = re.compile(
    r"[eE]xit|quit|abort|kill|__eq__|__ne__|setattr|delattr|patch|PYTEST|RUNNING_TEST|UNITTEST|sys\.|unittest"
    r"|pytest|nose|doctest|hypothesis|builtins|exec\b|eval\b|runtest|wasSuccessful|"
    r"trace|meta_path|inspect|frame|stack|modules|argv|\btime\b|datetime|pluggy|getattr|__import__|import_module"
    r"|test_\w+\.py|_test\.py|conftest|junit|/proc/"
)


@dataclass(frozen=True)
class Look:
    """What was found in one changed file, and what is to be said about how it was read."""

    path: str
    bends: tuple[Bend, ...] = ()
    note: str = ""


def look(change: FileChange, links: Links) -> Look | None:
    """The bends of one changed file; None when no rule reads it."""
    path, old, evidence = change.path, change.old_path or change.path, links.evidence
    whole = unasked(change, evidence)
    if whole is None and path in links.targets:
        whole = links.bend(path, is_runner_file)
        if reader_of(path) is reader_of(links.real(path) or ""):
            return Look(path, (whole,)) if whole is not None else None
        evidence = links.through
    if whole is not None:
        return Look(path, (whole,))
    if is_vendored(path) and is_vendored(old):
        return None
    before_reader, after_reader = reader_of(old), reader_of(path)
    if (before_reader is None and after_reader is None) or change.binary:
        return None
    before, cut = _text(evidence.before(old) if change.kind != "added" else None)
    after, cut_too = _text(evidence.after(path) if change.kind != "deleted" else None)
    if cut or cut_too:
        lines = "\n".join(text[:4000] for _, text in islice(change.added, 20_000))[:MAX_CHARS]
        return Look(
            path, tuple(_by_lines("", lines)), f"{path} is larger than {MAX_CHARS // 1_000_000} MB: added lines only"
        )
    return _compared(change, evidence, (before_reader, after_reader), (before, after))


def _compared(
    change: FileChange, evidence: Evidence, readers: tuple[Reader | None, Reader | None], texts: tuple[str, str]
) -> Look:
    """What is new on the after side, by the readers of both sides or else by line rules."""
    path, old = change.path, change.old_path or change.path
    contexts = (Context(old, evidence.baseline_files), Context(path, evidence.baseline_files))
    was: list[Sign] = []
    now: list[Sign] = []
    try:
        _signs(now, readers[1], texts[1], contexts[1])
        if now or readers[0] is not _python:  # where nothing is wanted, nothing can be lost
            with suppress(SyntaxError, UnparsedError, RecursionError, MemoryError):
                _signs(was, readers[0], texts[0], contexts[0])
    except TooMuchError:
        grown = is_runner_file(path) and len(texts[1]) > 2 * len(texts[0]) + HAND_WRITTEN
        found = [Bend("too-much", 1, "it grew beyond what can be read", None, f"{len(texts[1]):,} characters")]
        said = f"{path} is more than can be read: line rules only"
        seen = bends((), now) if change.kind == "added" else []
        return Look(path, (*(found if grown else ()), *seen, *_by_lines(*texts)), said)
    except _BROKEN:
        return Look(path, tuple(_by_lines(*texts)), f"{path} does not parse: line rules only")
    return Look(path, (*bends(was, now), *_takes_over(change, evidence)))


def _signs(found: list[Sign], reader: Reader | None, text: str, context: Context) -> None:
    """Add to what was found whatever a reader sees, up to where it gives up."""
    for sign in islice(reader(text, context), MAX_SIGNS) if reader and text else ():
        found.append(sign)  # noqa: PERF402  # what came before an exception stays


_BROKEN = (SyntaxError, ValueError, RecursionError, MemoryError)


def _takes_over(change: FileChange, evidence: Evidence) -> Iterator[Bend]:
    """A new pytest.ini makes pytest read no other configuration of the same directory."""
    folder, _, name = change.path.rpartition("/")
    if (
        name not in ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
        or change.path in evidence.baseline_files
    ):
        return
    for other, mark in (("pyproject.toml", b"[tool.pytest"), ("tox.ini", b"[pytest]"), ("setup.cfg", b"[tool:pytest]")):
        path = f"{folder}/{other}" if folder else other
        if mark in (evidence.before(path) or b""):
            yield Bend("config-takes-over", 1, f"pytest no longer reads the settings in {path}", path, change.path)


_COMPILED = tuple((re.compile("|".join(map(translate, rule.globs))), rule.reader) for rule in READERS)
_ANY = re.compile("|".join(translate(glob) for rule in READERS for glob in rule.globs))


def is_runner_file(path: str) -> bool:
    """Whether a file tells a runner or a build what to do, rather than being code or a test."""
    return _ANY.match(path) is not None


def in_turn(changes: Iterable[FileChange]) -> list[FileChange]:
    """What is read first when a change is more than can be read: a runner's own files, then small ones."""
    return sorted(changes, key=lambda change: (not is_runner_file(change.path), len(change.hunks)))


@lru_cache(maxsize=4096)
def reader_of(path: str) -> Reader | None:
    """What reads a file; None when nothing in it can bend a runner."""
    for names, reader in _COMPILED:
        if names.match(path):
            return reader if not path.endswith("conftest.py") else _conftest
    if path.endswith(".py"):
        return _python
    family = family_of(path)
    if family is None or family == "python":
        return None
    return lambda text, context: other_signs(text, family, context)


def _python(text: str, context: Context) -> Iterator[Sign]:
    return python_code.code_signs(text, context) if _WORTH.search(text) else iter(())


def _conftest(text: str, context: Context) -> Iterator[Sign]:
    yield from conftest.conftest_signs(text, context)
    yield from python_code.code_signs(text, context)


def _text(raw: bytes | None) -> tuple[str, bool]:
    if raw is None:
        return "", False
    if len(raw) > MAX_CHARS:
        return "", True
    text = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\0", " ")
    return text, False


_LINE_RULES = (
    ("pytest-hook", re.compile(r"^\s*(?:async\s+)?def\s+pytest_(?!addoption)\w+"), "a pytest hook"),
    ("exit-at-import", re.compile(r"^(?:sys\.exit|os\._exit|exit|quit|raise\s+SystemExit)\b"), "it ends the process"),
    (
        "exit-zero",
        re.compile(r"\bos\._exit\(\s*0\s*\)|\bprocess\.exit\(\s*0?\s*\)|\bSystem\.exit\(\s*0\s*\)"),
        "it ends the process as a success",
    ),
    (
        "under-test",
        re.compile(r"PYTEST_CURRENT_TEST|JEST_WORKER_ID|[\"']pytest[\"']\s+(?:not\s+)?in\s+sys\.modules"),
        "it asks whether it is being tested",
    ),
    ("forgiving-command", re.compile(r"\btest\w*\b[^\n]{0,200}\|\|\s*(?:true|:|exit 0)"), "tests can fail unseen"),
    (
        "addopts",
        re.compile(
            r"addopts[^\n]{0,200}(?:-k|--deselect|--ignore|-p\s)|collect_ignore"
            r"|testPathIgnorePatterns|passWithNoTests"
        ),
        "tests are left out",
    ),
    (
        "build-switch",
        re.compile(
            r"skipTests>\s*true|testFailureIgnore>\s*true|^\s*(?:harness|autotests"
            r"|test)\s*=\s*false"
        ),
        "tests are switched off",
    ),
)


# What every line holds of which a line rule tells something.
_LINE_WORDS = re.compile(
    r"pytest_|[eE]xit|quit|PYTEST_|JEST_|sys\.modules|test|addopts|collect_ignore|passWith|harness"
)


def _telling(text: str) -> Iterator[tuple[int, str]]:
    """The lines, with their numbers, that hold one of those words."""
    number, at = 1, 0
    while (word := _LINE_WORDS.search(text, at)) is not None:
        start, end = text.rfind("\n", 0, word.start()) + 1, text.find("\n", word.start())
        number += text.count("\n", at, start)
        yield number, text[start : end if end >= 0 else len(text)]
        if end < 0:
            return
        number, at = number + 1, end + 1


def _by_lines(before: str, after: str) -> list[Bend]:
    """What single lines tell where nothing can be parsed."""
    known = {line.strip() for line in before.split("\n")}
    found: list[Bend] = []
    for number, line in _telling(after):
        if line.strip() in known:
            continue
        for rule, pattern, means in _LINE_RULES:
            if pattern.search(line[:4000]):
                found.append(Bend(rule, number, f"{means} (line rule)", None, " ".join(line.split())[:200]))
        if len(found) >= MAX_SIGNS:
            break
    return found
