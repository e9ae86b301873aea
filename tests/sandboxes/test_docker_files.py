"""Files in and out of containers: what an agent may have made of its tree, and what an archive may claim."""

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.errors import AgentError
from steelyard.sandboxes.base import SandboxSpec, shell
from steelyard.sandboxes.docker import DockerProvider, DockerSandbox
from steelyard.sandboxes.docker_files import unpack

LONG_S = 120.0


@pytest.fixture
def box(tmp_path: Path) -> Iterator[DockerSandbox]:
    """A sandbox around a small tree."""
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "a.txt").write_text("a\n")
    (tree / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (tree / "run.sh").chmod(0o755)
    (tree / "sub" / "link").symlink_to("../a.txt")
    provider = DockerProvider(os.environ.get("STEELYARD_TEST_IMAGE"))
    sandbox = provider.open(SandboxSpec("test", tree, tmp_path / "scratch"))
    assert isinstance(sandbox, DockerSandbox)
    yield sandbox
    sandbox.close()


@pytest.mark.docker
def test_the_tree_goes_in_and_comes_out(box: DockerSandbox) -> None:
    """Contents, links and the right to run survive both ways; all of it belongs to the user inside."""
    result = box.exec(shell("cat sub/link; ./run.sh; echo more >> a.txt; stat -c %u a.txt sub .", LONG_S))
    tree = box.collect_tree()

    assert result.stdout.text().split() == ["a", "ran", "1000", "1000", "1000"]
    assert (tree / "a.txt").read_text() == "a\nmore\n"
    assert (tree / "sub" / "link").readlink() == Path("../a.txt")
    assert os.access(tree / "run.sh", os.X_OK)
    assert (tree / "a.txt").stat().st_mode & 0o111 == 0


@pytest.mark.docker
def test_a_strange_tree_is_collected(box: DockerSandbox) -> None:
    """Unreadable files, setuid bits, fifos, hard links, absolute links and names that are no text come out safely."""
    script = """
echo locked > locked; chmod 000 locked
mkdir shut; echo x > shut/x; chmod 000 shut
echo s > suid; chmod 4755 suid
mkfifo pipe
ln a.txt hard
ln -s /etc/passwd abs
printf x > "$(printf 'na\\377me')"
printf x > "$(printf 'new\\nline')"
truncate -s 300M sparse 2>/dev/null || dd if=/dev/zero of=sparse bs=1M seek=300 count=0
"""
    assert box.exec(shell(script, LONG_S)).exit_code == 0
    tree = box.collect_tree()

    assert (tree / "locked").read_text() == "locked\n"
    assert (tree / "shut" / "x").read_text() == "x\n"
    assert stat.S_IMODE((tree / "suid").stat().st_mode) == 0o755
    assert stat.S_ISFIFO((tree / "pipe").lstat().st_mode)
    assert (tree / "hard").samefile(tree / "a.txt")
    assert (tree / "abs").readlink() == Path("/etc/passwd")
    assert {b"na\xffme", b"new\nline"} <= {os.fsencode(path.name) for path in tree.iterdir()}
    sparse = (tree / "sparse").stat()
    assert (sparse.st_size, sparse.st_blocks < 100) == (300 << 20, True)


@pytest.mark.docker
def test_pushing_brings_changes_into_the_container(box: DockerSandbox) -> None:
    """Changed, new and deleted files of the collected tree arrive, also where a command put links in their way."""
    box.exec(shell("rm -r sub; ln -s /etc sub; mkdir new; rm a.txt; mkdir -p a.txt/deep; echo gone > gone", LONG_S))
    tree = box.collect_tree()
    (tree / "sub").unlink()
    (tree / "sub").mkdir()
    (tree / "sub" / "passwd").write_text("mine\n")
    (tree / "a.txt" / "deep").rmdir()
    (tree / "a.txt").rmdir()
    (tree / "a.txt").write_text("a again\n")
    (tree / "new" / "to").symlink_to("../a.txt")
    (tree / "gone").unlink()
    box.push(["sub/passwd", "a.txt", "new/to", "gone"])

    result = box.exec(shell("cat a.txt sub/passwd new/to; test -e gone; echo $?; grep -c root: /etc/passwd", LONG_S))
    assert result.stdout.text() == "a again\nmine\na again\n1\n1\n"
    assert box.exec(shell("echo writable >> a.txt && echo writable >> sub/passwd", LONG_S)).exit_code == 0


def archive(*entries: tuple[str, bytes, str, bytes]) -> tarfile.TarFile:
    """An archive of entries (name, type, link, content), as a stream."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as out:
        for name, kind, link, content in entries:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, link, len(content)
            out.addfile(info, io.BytesIO(content))
    file.seek(0)
    return tarfile.open(fileobj=file, mode="r|")


REG, SYM, LNK, CHR, DIR = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE


@pytest.mark.parametrize(
    "entries",
    [
        [("repo/../../escape", REG, "", b"x")],
        [("/repo/escape", REG, "", b"x")],
        [("repo/hard", LNK, "repo/../../outside", b"")],
        [("repo/hard", LNK, "/outside", b"")],
        [("repo/ln", SYM, "..", b""), ("repo/hard", LNK, "repo/ln/outside", b"")],
    ],
)
def test_an_archive_that_leads_elsewhere_is_refused(
    tmp_path: Path, entries: list[tuple[str, bytes, str, bytes]]
) -> None:
    """Names and hard links that lead out of the directory are errors; nothing lands or is read outside."""
    (tmp_path / "outside").write_text("outside")
    tree = tmp_path / "tree"
    tree.mkdir()
    with pytest.raises((tarfile.TarError, OSError)):
        unpack(archive(*entries), tree, 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "tree"]
    assert not (tree / "hard").exists()


def test_a_link_on_the_way_is_replaced(tmp_path: Path) -> None:
    """A file below what was a link before lands in a directory of the tree, not where the link led."""
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    outside.mkdir()
    tree.mkdir()
    unpack(archive(("repo/ln", SYM, str(outside), b""), ("repo/ln/file", REG, "", b"x")), tree, 10)

    assert list(outside.iterdir()) == []
    assert (tree / "ln" / "file").read_bytes() == b"x"


def test_devices_are_left_out_and_giants_refused(tmp_path: Path) -> None:
    """A device makes nothing; more than the limit is the agent's own failure."""
    unpack(archive(("repo/dev", CHR, "", b""), ("repo/f", REG, "", b"f")), tmp_path, 10)

    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    with pytest.raises(AgentError, match="larger than 1 MB"):
        unpack(archive(("repo/big", REG, "", bytes(2 << 20))), tmp_path, 1)
