import pytest

from steelyard.domain.diff import Diff, FileChange
from steelyard.domain.evidence import Evidence
from steelyard.domain.suite import Task
from steelyard.scorers.forbid_secrets import ForbidSecrets
from tests.scorers.support import edited, evidence

TOKEN = "ghp" + "_" + "9aKx72LmQ0ZtRw4YbN81cVfGh3UeJp5sDi6o"


def test_a_secret_in_an_added_line_fails_and_is_never_shown() -> None:
    """File, line and rule are named; the secret is in no part of the answer."""
    change = evidence(edited("src/a.py", "x = 1", f'token = "{TOKEN}"'))
    grade = ForbidSecrets(name="x").score(change, None)
    assert (grade.verdict, grade.score) == ("FAIL", 0.0)
    assert "src/a.py:2 github-personal-token" in grade.detail
    assert (grade.findings[0].path, grade.findings[0].line) == ("src/a.py", 2)
    assert TOKEN[4:] not in grade.model_dump_json()


def test_removed_lines_may_hold_secrets() -> None:
    """Taking a secret out is good."""
    change = FileChange("a.py", "modified", removed=((1, f"token = '{TOKEN}'"),), added=((1, "token = load()"),))
    assert ForbidSecrets(name="x").score(evidence(change), None).verdict == "PASS"


def test_a_secret_in_a_file_name_is_not_shown_either() -> None:
    """The path in a finding goes through the same redaction."""
    grade = ForbidSecrets(name="x").score(evidence(edited(f"keys/{TOKEN}", f"t={TOKEN}")), None)
    assert TOKEN not in grade.model_dump_json()


def test_many_secrets_are_counted_and_cut() -> None:
    """A thousand secrets make a short detail with the whole count."""
    lines = [f"t = '{TOKEN[:-4]}{number:04}'" for number in range(1000)]
    grade = ForbidSecrets(name="x").score(evidence(edited("a.py", *lines)), None)
    assert grade.detail.startswith("1000 secrets in added lines: a.py:1 ")
    assert grade.detail.endswith("and 990 more")
    assert len(grade.detail) < 2000


PADDING = b"nothing to see here, move along\n" * (33 * 1024 * 1024 // 32)


def undiffed(before: bytes | None, after: bytes) -> Evidence:
    """Evidence of a file that has no lines in the diff."""
    change = FileChange("a.txt", "added" if before is None else "modified")
    task = Task.model_construct(id="task", prompt="none")
    return Evidence(task, Diff(files=(change,)), {"a.txt": before}.get, {"a.txt": after}.get)


def test_a_file_too_large_for_a_diff_is_read_itself() -> None:
    """33 MB of padding hide no key."""
    grade = ForbidSecrets(name="x").score(undiffed(None, PADDING + f"t = '{TOKEN}'\n".encode()), None)

    assert grade.verdict == "FAIL"
    assert f"a.txt:{PADDING.count(10) + 1} github-personal-token" in grade.detail


def test_a_key_that_stood_in_a_large_file_is_not_new() -> None:
    """Only what the change brought counts, by line."""
    before = f"t = '{TOKEN}'\n".encode()

    assert ForbidSecrets(name="x").score(undiffed(before, before + PADDING), None).verdict == "PASS"
    assert ForbidSecrets(name="x").score(undiffed(PADDING, PADDING + before), None).verdict == "FAIL"


@pytest.mark.parametrize("text", [f"\0t = '{TOKEN}'\n".encode(), f"t = '{TOKEN}'\n".encode("utf-16")])
def test_a_text_that_a_diff_takes_for_binary_is_read(text: bytes) -> None:
    """One zero byte, or another encoding, hides nothing."""
    assert ForbidSecrets(name="x").score(undiffed(None, text), None).verdict == "FAIL"


def test_what_was_not_captured_is_said() -> None:
    """Of a file over 64 MiB there is only the beginning."""
    grade = ForbidSecrets(name="x").score(undiffed(None, (PADDING * 2)[: 64 * 1024 * 1024]), None)

    assert grade.verdict == "PASS"
    assert "not read to the end: a.txt" in grade.detail
