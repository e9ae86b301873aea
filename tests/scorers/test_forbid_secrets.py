from steelyard.domain.diff import FileChange
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
