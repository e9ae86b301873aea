"""What an agent added for the runner is left out when the baseline's tests run, under whatever name it comes."""

import pytest

from steelyard.scorers.harness.paths import RUNNER_FILES, TEST_FILES
from steelyard.scorers.kept import kept
from tests.scorers.harness.support import Link, evidence_of


@pytest.mark.parametrize("path", ["unittest.pyc", "pytest.so", "conftest.pyc", "pkg/pytest.cpython-312-x86_64.so"])
def test_compiled_modules_are_left_out(path: str) -> None:
    """Bytecode and native modules are as good as a source of that name."""
    assert kept(evidence_of({}, {path: b"\0"}), (*TEST_FILES, *RUNNER_FILES))(path)


@pytest.mark.parametrize(
    ("link", "target", "file"),
    [
        ("node_modules", "deps", "deps/.bin/jest"),
        ("unittest", "lib2", "lib2/__init__.py"),
        ("__mocks__", "fakes", "fakes/shop.js"),
        ("spec", "other", "other/a.txt"),
        ("pkg/conftest.py", "hooks.txt", "pkg/hooks.txt"),
    ],
)
def test_links_are_left_out(link: str, target: str, file: str) -> None:
    """The link goes, what it leads to stays: nothing loads it under its own name."""
    ours = kept(evidence_of({}, {link: Link(target), file: "x\n"}), (*TEST_FILES, *RUNNER_FILES))

    assert ours(link)
    assert not ours(file)


def test_a_link_in_the_place_of_tests_is_left_out() -> None:
    """The baseline's tests are laid into a directory, never through a link."""
    change = {
        "tests/test_calc.py": None,
        "tests/unit/test_cart.py": None,
        "tests": Link("checks"),
        "checks/test_a.py": "",
    }

    assert kept(evidence_of({}, change), (*TEST_FILES, *RUNNER_FILES))("tests")


def test_other_links_stay() -> None:
    """A link of the code's is the agent's work."""
    assert not kept(evidence_of({}, {"pkg": Link("src/shop")}), (*TEST_FILES, *RUNNER_FILES))("pkg")
