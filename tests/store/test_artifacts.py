"""Content-addressed files."""

from pathlib import Path

import pytest

from steelyard.store.artifacts import Artifacts
from steelyard.store.errors import NotFoundError, StoreError


@pytest.mark.parametrize("data", [b"", b"text", b"\x00\xff" * 1000, bytes(3_000_000)])
def test_bytes_come_back(tmp_path: Path, data: bytes) -> None:
    """Whatever the bytes are, they are read back the same, from a file named by their sha256."""
    artifacts = Artifacts(tmp_path)

    name, size = artifacts.put(data)

    assert artifacts.get(name) == data
    assert artifacts.path(name).stat().st_size == size
    assert artifacts.path(name) == tmp_path / name[:2] / f"{name[2:]}.zst"


def test_the_same_bytes_are_kept_once(tmp_path: Path) -> None:
    """Putting them again finds the file there."""
    artifacts = Artifacts(tmp_path)

    assert artifacts.put(b"once") == artifacts.put(b"once")
    assert list(artifacts.names()) == [artifacts.put(b"once")[0]]
    assert list(artifacts.leftovers()) == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "a" * 63, "A" * 64, "", "a" * 64 + "\n"])
def test_only_a_sha256_names_an_artifact(tmp_path: Path, name: str) -> None:
    """No name leads out of the directory."""
    with pytest.raises(NotFoundError, match="is not the sha256 of an artifact"):
        Artifacts(tmp_path).get(name)


def test_a_missing_or_damaged_file_is_told(tmp_path: Path) -> None:
    """Damage is never handed out as content."""
    artifacts = Artifacts(tmp_path)
    name, _ = artifacts.put(b"content")
    other, _ = artifacts.put(b"other content")

    artifacts.path(name).write_bytes(artifacts.path(other).read_bytes())
    with pytest.raises(StoreError, match="another sha256"):
        artifacts.get(name)
    artifacts.path(name).write_bytes(b"not zstd")
    with pytest.raises(StoreError, match="is damaged"):
        artifacts.get(name)
    artifacts.path(name).unlink()
    with pytest.raises(NotFoundError, match="is not at"):
        artifacts.get(name)
