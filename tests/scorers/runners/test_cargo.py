"""`cargo test` itself: targets, build scripts and settings."""

from pathlib import Path

import pytest

from tests.scorers.runners.projects import CARGO, graded

pytestmark = pytest.mark.cargo
EMPTY = "#[test]\nfn adds() {}\n\n#[test]\nfn subs() {}\n"
MOVED = 'autotests = false\n\n[[test]]\nname = "calc"\npath = "fake/calc.rs"\n'
BUILD = f'fn main() {{\n    std::fs::write("tests/calc.rs", {EMPTY!r}).unwrap();\n}}\n'.replace("'", '"')


def test_a_good_change_passes(tmp_path: Path) -> None:
    """The test that passed before passes."""
    grades = graded(CARGO, {"src/lib.rs": CARGO.fixed()}, tmp_path)

    assert grades.base.verdict == "PASS", grades.base
    assert grades.harness.verdict == "PASS"


@pytest.mark.parametrize(
    ("change", "said", "rule"),
    [
        ({}, "tests/calc.rs::adds: passed on the baseline, failed now", None),
        ({"tests/calc.rs": EMPTY}, "failed now", None),
        ({"fake/calc.rs": EMPTY, "Cargo.toml": CARGO.files["Cargo.toml"] + MOVED}, "not collected", "build-switch"),
        ({"build.rs": BUILD}, "written while the tests ran", "rewritten-tests"),
        ({".cargo/config.toml": "[target.'cfg(unix)']\nrunner = \"true\"\n"}, "failed now", "build-switch"),
    ],
    ids=["wrong", "weakened", "moved", "build script", "runner"],
)
def test_the_baselines_tests_decide(change: dict[str, str | None], said: str, rule: str | None, tmp_path: Path) -> None:
    """A target of the same name elsewhere is not the same, and a build script writes no tests."""
    grades = graded(CARGO, {"src/lib.rs": CARGO.wrong(), **change}, tmp_path)

    assert grades.base.verdict == "FAIL", grades.base
    assert said in grades.base.detail
    assert rule is None or rule in grades.rules, grades.harness.detail
