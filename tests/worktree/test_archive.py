"""Archives unpack inside the tree or not at all."""

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from steelyard.errors import InputError
from steelyard.worktree import archive
from steelyard.worktree.archive import unpack


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    """One entry of a tar."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    return info


def tar_bytes(*members: tarfile.TarInfo, data: bytes = b"") -> bytes:
    """A tar with these entries; regular files hold `data`."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for info in members:
            info.size = len(data) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return out.getvalue()


def test_an_encrypted_zip_is_refused_by_name(tmp_path: Path) -> None:
    """Its entry is named, and what to give instead."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        out.writestr("a.py", "x")
    data = bytearray((tmp_path / "x.zip").read_bytes())
    data[6] |= 1  # the flag of the local entry
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and of the directory's
    (tmp_path / "x.zip").write_bytes(data)
    (tmp_path / "tree").mkdir()

    with pytest.raises(InputError, match=r"'a\.py' is encrypted; give"):
        unpack(tmp_path / "x.zip", tmp_path / "tree")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An empty directory with a neighbour that must stay empty."""
    (tmp_path / "place/tree").mkdir(parents=True)
    return tmp_path / "place/tree"


def refuse(tmp_path: Path, tree: Path, data: bytes, match: str) -> None:
    """The archive is refused in one line, and nothing stands outside the tree."""
    file = tmp_path / "x.archive"
    file.write_bytes(data)
    with pytest.raises(InputError, match=match) as caught:
        unpack(file, tree)
    assert "\n" not in str(caught.value)
    assert list(tree.parent.iterdir()) == [tree]
    assert not Path("/steelyard-evil").exists()


@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress],
    ids=["tar", "gz", "bz2", "xz", "zst"],
)
def test_every_compression_is_told_by_its_content(tmp_path: Path, tree: Path, pack: Callable[[bytes], bytes]) -> None:
    """Files, programs, links and hard links come out; git directories stay behind."""
    data = tar_bytes(
        member("./", tarfile.DIRTYPE),
        member("./a/run", mode=0o4755),
        member("a/link", tarfile.SYMTYPE, "run"),
        member("a/hard", tarfile.LNKTYPE, "a/run"),
        member(".git/config"),
        member("sub/.git/HEAD"),
        data=b"hi\n",
    )
    (tmp_path / "misnamed.zip").write_bytes(pack(data))

    unpack(tmp_path / "misnamed.zip", tree)

    found = {str(place.relative_to(tree)) for place in tree.rglob("*")}
    assert found == {"a", "a/run", "a/link", "a/hard"}
    assert stat.S_IMODE((tree / "a/run").stat().st_mode) == 0o755
    assert (tree / "a/link").readlink() == Path("run")
    assert (tree / "a/hard").read_bytes() == b"hi\n"
    assert (tree / "a/hard").stat().st_nlink == 1


@pytest.mark.parametrize(
    "name", ["../steelyard-evil", "/steelyard-evil", "a/../../steelyard-evil", "a/.git/../../../x"]
)
def test_names_that_lead_out_are_refused(tmp_path: Path, tree: Path, name: str) -> None:
    """In tars and zips alike."""
    refuse(tmp_path, tree, tar_bytes(member(name)), "leads out of the tree")
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w") as out:
        out.writestr(name, "x")
    refuse(tmp_path, tree, bundle.getvalue(), "leads out of the tree")


@pytest.mark.parametrize("target", ["/etc", "../..", "../steelyard-evil"])
def test_links_that_lead_out_are_refused(tmp_path: Path, tree: Path, target: str) -> None:
    """Symbolic links in tars and zips, absolute or relative."""
    refuse(tmp_path, tree, tar_bytes(member("a", tarfile.SYMTYPE, target)), "leads out of the tree")
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w") as out:
        info = zipfile.ZipInfo("a")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        out.writestr(info, target)
    refuse(tmp_path, tree, bundle.getvalue(), "leads out of the tree")


def test_nothing_is_written_through_a_link(tmp_path: Path, tree: Path) -> None:
    """Two links that together lead out, and a file below: the file is refused, because a link is no directory."""
    data = tar_bytes(
        member("d", tarfile.DIRTYPE),
        member("d/up", tarfile.SYMTYPE, ".."),
        member("d/up/steelyard-evil"),
    )
    refuse(tmp_path, tree, data, "is no directory in the tree")


@pytest.mark.parametrize("link", ["/etc/passwd", "../x", "missing", "d"])
def test_hard_links_name_a_file_of_the_archive(tmp_path: Path, tree: Path, link: str) -> None:
    """Anything else is refused."""
    data = tar_bytes(member("d", tarfile.DIRTYPE), member("hard", tarfile.LNKTYPE, link))
    refuse(tmp_path, tree, data, "refused")


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_and_pipes_are_refused(tmp_path: Path, tree: Path, kind: bytes) -> None:
    """They have no place in a code tree."""
    refuse(tmp_path, tree, tar_bytes(member("dev", kind)), "is a device or pipe")


def test_bombs_stop_early(tmp_path: Path, tree: Path) -> None:
    """What unpacks to hundreds of times its size is refused long before the disk is full."""
    zeros = bytes(archive.FREE_BYTES + 8 * 1024 * 1024)
    refuse(tmp_path, tree, gzip.compress(tar_bytes(member("zeros"), data=zeros), 1), "as bombs do")
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("zeros", zeros)
    refuse(tmp_path, tree, bundle.getvalue(), "as bombs do")


def test_holes_count_as_what_they_fill(tmp_path: Path, tree: Path) -> None:
    """A sparse file of a terabyte takes no room in an archive, and a disk in a tree."""
    hole = member("a.bin")
    hole.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 40)}

    refuse(tmp_path, tree, tar_bytes(hole), "as bombs do")
    assert sum(file.stat().st_size for file in tree.rglob("*")) <= archive.FREE_BYTES + (1 << 20)


def test_hard_links_count_as_copies(tmp_path: Path, tree: Path) -> None:
    """Each link to one file becomes a file of its own."""
    links = [member(f"b{n}", tarfile.LNKTYPE, "a") for n in range(200)]

    refuse(tmp_path, tree, gzip.compress(tar_bytes(member("a"), *links, data=bytes(1 << 20))), "as bombs do")


def test_odd_slashes_in_names_mean_nothing(tmp_path: Path, tree: Path) -> None:
    """`.//a/./b` is a file in a directory, as for tar itself."""
    (tmp_path / "x.tar").write_bytes(tar_bytes(member(".//a/./b"), data=b"x"))

    unpack(tmp_path / "x.tar", tree)

    assert (tree / "a/b").read_bytes() == b"x"


def test_nesting_without_end_is_refused(tmp_path: Path, tree: Path) -> None:
    """Deeper than any program's own tree, and than what the tools around it can walk."""
    refuse(tmp_path, tree, tar_bytes(member("d/" * 1200 + "f")), "nested deeper than 400")


def test_too_many_entries_are_refused(tmp_path: Path, tree: Path) -> None:
    """The number of entries is bounded, whatever their size."""
    block = member("./", tarfile.DIRTYPE).tobuf()
    refuse(tmp_path, tree, bz2.compress(block * (archive.MAX_ENTRIES + 1)), "more than 200000 entries|as bombs do")


@pytest.mark.parametrize(
    "data",
    [b"", b"junk" * 300, b"PK\x03\x04junk", gzip.compress(b"junk" * 300, mtime=0), b"\x1f\x8bjunk"],
    ids=["empty", "junk", "zip", "gz-of-junk", "gz"],
)
def test_what_is_no_archive_is_said(tmp_path: Path, tree: Path, data: bytes) -> None:
    """Broken and foreign files give one clear line."""
    refuse(tmp_path, tree, data, "cannot be unpacked")


def test_a_truncated_archive_is_refused(tmp_path: Path, tree: Path) -> None:
    """A download that stopped half-way is not taken for a smaller seed."""
    whole = gzip.compress(tar_bytes(member("a"), member("b"), data=bytes(range(256)) * 400))
    refuse(tmp_path, tree, whole[: len(whole) // 2], "cannot be unpacked")
