"""steelyard db."""

from pathlib import Path

from steelyard.store import schema
from tests.store.home import document, fill, steelyard


def test_a_store_is_backed_up_and_restored(tmp_path: Path) -> None:
    """What was there is there again elsewhere; a second restore into it is refused."""
    fill(tmp_path / "home")
    file = tmp_path / "backup.tar"

    made = document(tmp_path / "home", "db", "backup", str(file))
    restored = document(tmp_path / "copy", "db", "restore", str(file))
    code, _, err = steelyard(tmp_path / "copy", "db", "restore", str(file))

    assert made["rows"]["runs"] == restored["rows"]["runs"] == 3
    assert document(tmp_path / "copy", "runs") == document(tmp_path / "home", "runs")
    assert code == 2
    assert "holds runs already" in err


def test_a_check_finds_what_is_missing(tmp_path: Path) -> None:
    """All is well, until an artifact is damaged: then it is named, and the exit code is 1."""
    fill(tmp_path)
    assert document(tmp_path, "db", "check", "--deep")["problems"] == []
    victim = next((tmp_path / "artifacts").glob("??/*.zst"))
    victim.write_bytes(b"damaged")

    code, out, _ = steelyard(tmp_path, "db", "check", "--deep")

    assert code == 1
    assert f"{victim} is damaged" in out


def test_an_upgrade_makes_the_schema(tmp_path: Path) -> None:
    """On a new store it makes the schema; again it says that there is nothing to do."""
    assert document(tmp_path, "db", "upgrade") == {"from": None, "to": schema.VERSION}
    code, out, _ = steelyard(tmp_path, "db", "upgrade")
    assert (code, out) == (0, f"the schema is {schema.VERSION}, as before\n")


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    """Not a tar, cut short, or not there: one line, and the store stays empty."""
    fill(tmp_path / "home")
    whole = tmp_path / "whole.tar"
    document(tmp_path / "home", "db", "backup", str(whole))
    (tmp_path / "cut.tar").write_bytes(whole.read_bytes()[:-15_000])
    (tmp_path / "notes.tar").write_text("notes")

    for name in ("cut.tar", "notes.tar", "absent.tar"):
        code, _, err = steelyard(tmp_path / "copy", "db", "restore", str(tmp_path / name))
        assert code == 2, err
        assert name in err
        assert err.count("\n") == 1
    assert steelyard(tmp_path / "home", "db", "backup")[0] == 2
    assert steelyard(tmp_path / "home", "db", "check", "file")[0] == 2
