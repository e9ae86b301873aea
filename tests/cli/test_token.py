"""`steelyard token`: made, shown once, listed without the secret, revoked."""

import re
from pathlib import Path

import pytest

from tests.store.home import document, steelyard


def test_a_token_is_shown_once(tmp_path: Path) -> None:
    """On stdout alone, so that a script can keep it; the list knows everything but the secret."""
    code, out, err = steelyard(
        tmp_path, "token", "create", "--workspace", "payments", "--scope", "write", "--name", "ci"
    )
    assert code == 0, err
    assert re.fullmatch(r"sy_[0-9a-z]{12}_[0-9A-Za-z]{43}\n", out)
    assert "shown this once" in err
    listed = document(tmp_path, "token", "list")["tokens"]
    assert [(t["name"], t["workspace"], t["scope"], t["usable"]) for t in listed] == [("ci", "payments", "write", True)]
    code, table, _ = steelyard(tmp_path, "token", "list")
    assert code == 0
    assert out.strip().rpartition("_")[2] not in table + str(listed)


def test_a_token_ends_when_it_is_revoked_or_expires(tmp_path: Path) -> None:
    """Revoking twice keeps the first time."""
    made = document(tmp_path, "token", "create", "--expires", "30d")
    assert made["expires_at"] > made["created_at"]
    assert (made["workspace"], made["scope"]) == ("default", "read")
    first = document(tmp_path, "token", "revoke", made["id"])["revoked_at"]
    assert first is not None
    assert document(tmp_path, "token", "revoke", made["id"])["revoked_at"] == first
    assert [token["usable"] for token in document(tmp_path, "token", "list")["tokens"]] == [False]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("create", "--expires", "soon"), "allowed: 90m, 12h, 30d, 8w"),
        (("create", "--scope", "all"), "--scope"),
        (("create", "--workspace", " x"), "--workspace"),
        (("create", "abc"), "takes no ID"),
        (("revoke",), "needs the ID"),
        (("revoke", "nobody"), "no"),
        (("list", "--scope", "read"), "goes with token create"),
    ],
)
def test_wrong_words_are_refused_in_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """Exit code 2 and what is allowed."""
    code, out, err = steelyard(tmp_path, "token", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1
