"""assertions_not_weakened: net count over all files, moves, deleted files, N/A."""

from tests.scorers.integrity.build import ASSERTIONS, evidence

ONE = "def test_a():\n    assert f() == 1\n    assert g() == 2\n"
TWO = "def test_b():\n    assert h() == 3\n"


def test_not_applicable_without_test_files() -> None:
    """A change of code alone says nothing about assertions."""
    assert ASSERTIONS.score(evidence({"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}), None).verdict == "N/A"


def test_a_removed_assertion_is_named() -> None:
    """The finding tells what it was and where it stood."""
    after = ONE.replace("    assert g() == 2\n", "")
    grade = ASSERTIONS.score(evidence({"tests/test_a.py": ONE}, {"tests/test_a.py": after}), None)

    assert grade.verdict == "FAIL"
    assert any(f.before == "assert g() == 2" and f.test == "test_a" for f in grade.findings)
    assert "2 before, 1 after" in grade.detail


def test_a_test_moved_to_another_file_is_no_loss() -> None:
    """The sum over all test files counts, and the test is found where it went."""
    change = evidence({"tests/test_a.py": ONE + TWO}, {"tests/test_a.py": ONE, "tests/test_c.py": TWO})

    assert ASSERTIONS.score(change, None).verdict == "PASS"


def test_a_renamed_file_that_is_no_test_any_more_loses_its_tests() -> None:
    """Tests in a file that no runner collects are gone."""
    change = evidence({"pkg/test_a.py": ONE}, {"pkg/a_old.py": ONE})

    assert ASSERTIONS.score(change, None).verdict == "FAIL"


def test_padding_elsewhere_does_not_pay_for_a_deleted_test() -> None:
    """Assertions that always hold make up for nothing."""
    padding = "def test_p():\n    assert True\n    assert 1 == 1\n    assert 'x'\n"
    change = evidence(
        {"tests/test_a.py": ONE, "tests/test_p.py": ""}, {"tests/test_a.py": "", "tests/test_p.py": padding}
    )

    assert ASSERTIONS.score(change, None).verdict == "FAIL"


def test_vendored_tests_are_not_the_projects() -> None:
    """A dependency's tests neither count nor make up for anything."""
    vendored = "it('a', () => { expect(1).toBe(f()) })\n" * 5
    change = evidence({"tests/test_a.py": ONE}, {"tests/test_a.py": TWO, "node_modules/x/a.test.js": vendored})

    assert ASSERTIONS.score(change, None).verdict == "FAIL"
