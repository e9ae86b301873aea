"""A sandbox's own directories."""

import os
from pathlib import Path

from steelyard.sandboxes.environment import clean_environment, search_path, toolchain_homes
from steelyard.sandboxes.files import Places, ensure_directory, remove


def test_the_innermost_directory_wins(tmp_path: Path) -> None:
    """A path belongs to the longest of the sandbox's directories that it lies in."""
    places = Places({"/repo": tmp_path, "/repo/inner": tmp_path / "x"})

    assert places.locate("/repo/inner/a") == (tmp_path / "x", ("a",))
    assert places.locate("inner2/./a") == (tmp_path, ("inner2", "a"))
    assert [places.locate(path) for path in ("/repository/a", "a/../b", "a\0b")] == [None] * 3


def test_what_files_take_is_counted_once(tmp_path: Path) -> None:
    """Holes take nothing, a second name takes nothing, links are not followed."""
    (tmp_path / "data").write_bytes(os.urandom(1 << 20))
    os.link(tmp_path / "data", tmp_path / "again")
    (tmp_path / "loop").symlink_to(tmp_path)
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(1 << 30)

    assert 0.9 < Places({"/repo": tmp_path}).used_mb() < 2


def test_a_file_in_place_of_a_directory_is_replaced(tmp_path: Path) -> None:
    """A directory is made whatever stands there."""
    (tmp_path / "tree").write_text("not a directory")
    ensure_directory(tmp_path / "tree")

    assert (tmp_path / "tree").is_dir()


def test_everything_is_removed(tmp_path: Path) -> None:
    """Also what was locked; a link is removed, not what it points to."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x")
    (tmp_path / "gone" / "a" / "b").mkdir(parents=True)
    (tmp_path / "gone" / "a" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "gone" / "a").chmod(0)
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove([tmp_path / "gone", tmp_path / "link", tmp_path / "never"])

    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["kept"]
    assert (tmp_path / "kept" / "file").exists()


def test_relative_entries_leave_the_path() -> None:
    """A PATH never starts programs from the agent's own tree."""
    assert search_path("bin::/usr/bin:.:/bin:/usr/bin").startswith("/usr/bin:/bin:/")


def test_toolchains_are_found_where_they_are(tmp_path: Path) -> None:
    """Rust is looked for in the home; with a private one it has to be told."""
    assert toolchain_homes(tmp_path) == {}
    (tmp_path / ".rustup").mkdir()
    assert toolchain_homes(tmp_path) == {"RUSTUP_HOME": str(tmp_path / ".rustup")}


def test_the_last_addition_wins() -> None:
    """What a command sets goes before what the sandbox sets."""
    env = clean_environment("/bin", "/h", "/t", {"A": "1", "HOME": "/x"}, {"A": "2"})

    assert env == {"PATH": "/bin", "HOME": "/x", "TMPDIR": "/t", "LANG": "C.UTF-8", "A": "2"}
