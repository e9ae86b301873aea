"""Which files are tests, which configure a test runner, and which belong to neither."""

import re
from fnmatch import translate
from pathlib import PurePosixPath

from steelyard.scorers.integrity.paths import DEFAULT_GLOBS, VENDORED


def _anywhere(*names: str) -> tuple[str, ...]:
    return tuple(glob for name in names for glob in (name, f"*/{name}"))


def _scripts(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}.{suffix}" for name in names for suffix in ("[jt]s", "[cm][jt]s", "[jt]sx"))


# A `testing` directory is product code as often as not: laying the baseline over it would take the agent's work away.
# What Node's runner and jest collect by name alone is all here: one that the agent adds would speak for the baseline's.
TEST_FILES: tuple[str, ...] = (
    *(glob for glob in DEFAULT_GLOBS if glob != "*/testing/*"), "*.snap", *_anywhere("testdata/*", "__fixtures__/*"),
    *_anywhere(*_scripts("test", "test-*", "spec")), *_scripts("*_test"),
)  # fmt: skip


def _compiled(*names: str) -> tuple[str, ...]:
    """Bytecode and native modules that Python imports by these names."""
    return tuple(f"{name}{suffix}" for name in names for suffix in (".py[co]", ".so", ".pyd", ".*.so", ".*.pyd"))


# Manifests without which the agent's code may not build (Cargo.toml, pom.xml, go.mod, *.gradle) are not among them.
RUNNER_FILES: tuple[str, ...] = _anywhere(
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg",
    "pyproject.toml", "noxfile.py",
    "sitecustomize.py", "usercustomize.py", "*.pth", "pytest.py", "_pytest/*", "pytest/*", "unittest.py", "unittest/*",
    *_compiled("conftest", "sitecustomize", "usercustomize", "pytest", "unittest"),
    ".coveragerc",
    "package.json", "jest.*", "jest-setup.*", "jest-preset.*", "vitest.*", "vite.config.*", ".mocharc*", "karma.conf.*",
    "playwright.config.*", "cypress.config.*", "ava.config.*", ".taprc", ".nycrc*", ".c8rc*",
    "setupTests.*", "setup-tests.*", "test-setup.*", "setup-jest.*", "setupJest.*",
    "__mocks__/*", "babel.config.*", ".babelrc*", ".swcrc", "postcss.config.*", ".postcssrc*",
    ".npmrc", ".yarnrc*", ".pnpmfile.*",
    "Makefile", "makefile", "GNUmakefile", "justfile", "Justfile",
    ".cargo/config", ".cargo/config.toml", ".config/nextest.toml", "rust-toolchain", "rust-toolchain.toml",
    ".mvn/*", "mvnw", "gradlew", "gradle/wrapper/*", "junit-platform.properties",
    "*.runsettings", "xunit.runner.json", ".rspec", "phpunit.xml", "phpunit.xml.dist",
)  # fmt: skip

_TESTS = re.compile("|".join(map(translate, TEST_FILES)))


def is_vendored(path: str) -> bool:
    """Whether a file came with somebody else's code."""
    return not VENDORED.isdisjoint(PurePosixPath(path).parts)


def is_test(path: str) -> bool:
    """Whether a file holds tests or their data."""
    return _TESTS.match(path) is not None
