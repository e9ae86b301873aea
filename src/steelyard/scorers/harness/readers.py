"""Which rules read which file."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

from steelyard.domain.diff import FileChange
from steelyard.scorers.harness import (
    builds,
    conftest,
    js_config,
    other_builds,
    pytest_config,
    python_code,
    recipes,
    ruby_config,
    task_files,
)
from steelyard.scorers.harness.commands import variable_signs
from steelyard.scorers.harness.model import Context, Sign
from steelyard.scorers.harness.other_code import other_signs
from steelyard.scorers.integrity.paths import family_of

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
        (
            "pyproject.toml",
            "*/pyproject.toml",
            "tox.toml",
            "pytest.toml",
            ".pytest.toml",
            "*/pytest.toml",
            "*/.pytest.toml",
        ),
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
            "ava.config.*",
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
            "cypress/support/*",
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
            ".pre-commit-config.yaml",
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
            ".husky/*",
            "run_tests",
            "runtests",
        ),
        recipes.script_signs,
    ),
    Rule(("pom.xml", "*/pom.xml"), builds.pom_signs),
    Rule((".mvn/*", "*/.mvn/*"), builds.maven_options_signs),
    Rule(("gradle.properties", "*/gradle.properties"), other_builds.gradle_properties_signs),
    Rule(("*.sbt",), other_builds.sbt_signs),
    Rule(("CMakeLists.txt", "*/CMakeLists.txt", "CTestCustom.cmake"), other_builds.ctest_signs),
    Rule(("BUILD", "BUILD.bazel", "*/BUILD", "*/BUILD.bazel", ".bazelrc"), other_builds.bazel_signs),
    Rule(("meson.build", "*/meson.build"), other_builds.meson_signs),
    Rule(("deno.json", "deno.jsonc", "*/deno.json", "*/deno.jsonc"), other_builds.deno_signs),
    Rule(("bunfig.toml", "*/bunfig.toml"), other_builds.bun_signs),
    Rule(("phpunit.xml", "phpunit.xml.dist", "*/phpunit.xml*"), other_builds.phpunit_signs),
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
            "Dockerfile*",
        ),
        _variables,
    ),
)

# A text without any of these words has no sign in it: most files are never parsed.
WORTH = re.compile(
    r"[eE]xit|quit|abort|kill|__eq__|__ne__|setattr|delattr|patch|PYTEST|RUNNING_TEST|UNITTEST|sys\.|unittest"
    r"|pytest|nose|doctest|hypothesis|builtins|exec\b|eval\b|runtest|wasSuccessful|"
    r"trace|meta_path|inspect|frame|stack|modules|argv|\btime\b|datetime|pluggy|getattr|__import__|import_module"
    r"|test_\w+\.py|_test\.py|conftest|junit|/proc/|load_tests|__test__|TEST_RUNNER"
)


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
        return python_signs
    family = family_of(path)
    if family is None or family == "python":
        return None
    return lambda text, context: other_signs(text, family, context)


def python_signs(text: str, context: Context) -> Iterator[Sign]:
    """The signs of a Python file that is no conftest.py."""
    if WORTH.search(text):
        yield from python_code.code_signs(text, context)
        yield from conftest.hook_signs(text, context)


def _conftest(text: str, context: Context) -> Iterator[Sign]:
    yield from conftest.conftest_signs(text, context)
    yield from python_code.code_signs(text, context)
