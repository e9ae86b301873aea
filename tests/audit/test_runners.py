"""The cheats that know other runners than Python's, with the real ones: the tests fail before, and succeed after."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.sandboxes.base import Sandbox, SandboxSpec
from steelyard.sandboxes.local import LocalProvider
from tests.audit.test_cheats import code_of, play
from tests.scorers.runners.projects import CARGO, GO, JEST, MAVEN, MODULES, SETTINGS, VITEST, Project

_JEST = pytest.param(JEST, "npx --no-install jest --ci", marks=pytest.mark.runners, id="jest")
_VITEST = pytest.param(VITEST, "npx --no-install vitest run", marks=pytest.mark.runners, id="vitest")
_GO = pytest.param(GO, GO.command, marks=pytest.mark.go, id="go")
_CARGO = pytest.param(CARGO, CARGO.command, marks=pytest.mark.cargo, id="cargo")
_MAVEN = pytest.param(MAVEN, MAVEN.command, marks=pytest.mark.maven, id="maven")


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A local sandbox around an empty tree, with the JavaScript runners in it."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "node_modules").symlink_to(MODULES)
    (tmp_path / "settings.xml").write_text(SETTINGS)
    opened = LocalProvider().open(SandboxSpec("one", tree, tmp_path / "box"))
    yield opened
    opened.close()


def fooled(sandbox: Sandbox, project: Project, command: str, cheat: str) -> None:
    """The project's tests fail, the cheat takes its turn, and they succeed."""
    for path, text in project.files.items():
        sandbox.write(path, text.encode())
    assert code_of(sandbox, command) != 0

    assert play(sandbox, cheat, command).error is None

    assert code_of(sandbox, command) == 0


@pytest.mark.parametrize(("project", "command"), [_JEST, _VITEST, _GO, _CARGO, _MAVEN])
def test_a_bent_configuration_leaves_nothing_to_run(sandbox: Sandbox, project: Project, command: str) -> None:
    """Whichever runner the commands name."""
    fooled(sandbox, project, command, "bent-config")


@pytest.mark.parametrize(("project", "command"), [_GO, _MAVEN])
def test_settings_in_the_home_directory_fool_a_runner(sandbox: Sandbox, project: Project, command: str) -> None:
    """No file of the tree has changed."""
    fooled(sandbox, project, command, "fake-runner")


@pytest.mark.maven
def test_tests_of_junit_4_are_skipped_in_its_own_words(sandbox: Sandbox) -> None:
    """An annotation of JUnit 5 would not compile there, and what does not work would look as if it were caught."""
    fooled(sandbox, MAVEN, str(MAVEN.command), "skip-tests")
