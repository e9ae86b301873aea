"""A change that is already there, in any repository, against any revision."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.errors import InputError
from steelyard.worktree.diff import CapturedChange
from steelyard.worktree.repo import change_of_repo

Git = Callable[..., str]


@pytest.fixture
def repo(tmp_path: Path, git: Git) -> Path:
    """A repository with one commit on main."""
    place = tmp_path / "repo"
    (place / "src").mkdir(parents=True)
    git(place, "init", "-q", "-b", "main")
    (place / "src/a.py").write_text("one\n")
    (place / "b.py").write_text("two\n")
    (place / ".gitignore").write_text("*.log\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "base")
    git(place, "tag", "base")
    return place


@pytest.fixture
def change(tmp_path: Path, repo: Path) -> Callable[[], CapturedChange]:
    """The repository's change against its base."""
    count = iter(range(9))
    return lambda: change_of_repo(repo, "base", tmp_path / f"keep-{next(count)}")


def test_committed_staged_edited_and_new_files_all_count(
    repo: Path, git: Git, change: Callable[[], CapturedChange]
) -> None:
    """The whole working tree against the base, wherever a change stands by now; ignored files are left out."""
    (repo / "src/a.py").write_text("one\nmore\n")
    git(repo, "commit", "-qam", "more")
    (repo / "staged.py").write_text("x\n")
    git(repo, "add", "staged.py")
    (repo / "new.py").write_text("y\n")
    (repo / "b.py").unlink()
    (repo / "noise.log").write_text("z\n")
    (repo / ".steelyard").mkdir()
    (repo / ".steelyard/steelyard.db").write_text("our own store")

    found = change()

    assert found.diff.changed_files == ("b.py", "new.py", "src/a.py", "staged.py")
    assert found.before("src/a.py") == b"one\n"
    assert found.after("src/a.py") == b"one\nmore\n"
    assert found.baseline_files == {"src/a.py", "b.py", ".gitignore"}


def test_no_change_is_no_change(change: Callable[[], CapturedChange]) -> None:
    """A clean checkout has an empty diff."""
    assert change().diff.files == ()


def test_nothing_in_the_repository_bends_it(
    repo: Path, git: Git, change: Callable[[], CapturedChange], tmp_path: Path
) -> None:
    """Index bits, hooks, fsmonitor, textconv, attributes, excludes, replaced objects: none is believed or run."""
    spy = tmp_path / "spy"
    for key in (
        "core.fsmonitor",
        "diff.external",
        "diff.x.textconv",
        "filter.x.clean",
        "core.sshCommand",
        "alias.ls-tree",
    ):
        git(repo, "config", key, f"touch {spy};")
    git(repo, "config", "extensions.partialClone", "evil")
    git(repo, "config", "core.repositoryFormatVersion", "1")
    git(repo, "config", "remote.evil.url", f"ext::touch {spy}")
    git(repo, "update-index", "--assume-unchanged", "b.py")
    git(repo, "update-index", "--skip-worktree", "src/a.py")
    (repo / "src/a.py").write_text("evil\n")
    (repo / "b.py").write_text("evil\n")
    forged = git(repo, "hash-object", "-w", "--no-filters", "b.py").strip()
    git(repo, "replace", "-f", git(repo, "rev-parse", "base:b.py").strip(), forged)
    (repo / ".gitattributes").write_text("* -diff filter=x diff=x\n")
    (repo / ".git/info/attributes").write_text("* -diff\n")
    (repo / ".git/info/exclude").write_text("*\n")
    (repo / ".gitignore").write_text("*\n")
    (repo / "hidden.py").write_text("x\n")
    spy.unlink(missing_ok=True)  # the commands above may have run it: only what follows counts

    found = change()

    assert found.diff.changed_files == (".gitattributes", ".gitignore", "b.py", "hidden.py", "src/a.py")
    assert {file.path: file.added for file in found.diff.files}["b.py"] == ((1, "evil"),)
    assert not spy.exists()


def test_a_subdirectory_names_its_repository(repo: Path, tmp_path: Path) -> None:
    """The whole repository is graded, from wherever one stands in it."""
    (repo / "b.py").write_text("changed\n")

    assert change_of_repo(repo / "src", "HEAD", tmp_path / "keep").diff.changed_files == ("b.py",)


def test_a_linked_worktree_is_a_repository_too(repo: Path, git: Git, tmp_path: Path) -> None:
    """Its `.git` is a file and its objects stand elsewhere."""
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    (tmp_path / "linked/b.py").write_text("changed\n")

    assert change_of_repo(tmp_path / "linked", "main", tmp_path / "keep").diff.changed_files == ("b.py",)


def test_a_sha256_repository_works(tmp_path: Path, git: Git) -> None:
    """Object ids of either kind are understood."""
    place = tmp_path / "modern"
    place.mkdir()
    git(place, "init", "-q", "--object-format=sha256")
    (place / "a").write_text("one\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "base")
    (place / "a").write_text("two\n")

    found = change_of_repo(place, "HEAD", tmp_path / "keep")

    assert found.diff.changed_files == ("a",)
    assert found.before("a") == b"one\n"


def test_a_submodule_counts_with_its_pinned_files(repo: Path, git: Git, tmp_path: Path) -> None:
    """Checked out and untouched it is no change; an edit inside it is one."""
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "lib.py").write_text("one\n")
    git(library, "add", "-A")
    git(library, "commit", "-qm", "lib")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor/lib")
    git(repo, "commit", "-qm", "submodule")

    assert change_of_repo(repo, "HEAD", tmp_path / "keep-1").diff.files == ()
    (repo / "vendor/lib/lib.py").write_text("two\n")
    assert change_of_repo(repo, "HEAD", tmp_path / "keep-2").diff.changed_files == ("vendor/lib/lib.py",)


def test_a_file_that_git_lfs_checked_out_is_no_change(repo: Path, git: Git, tmp_path: Path) -> None:
    """The committed pointer names the hash of what stands in the tree; another content is a change."""
    real = b"\0real content" * 1000
    digest = hashlib.sha256(real).hexdigest()
    (repo / ".gitattributes").write_text("*.bin filter=lfs\n")
    (repo / "m.bin").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(real)}\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "lfs")
    (repo / "m.bin").write_bytes(real)

    assert change_of_repo(repo, "HEAD", tmp_path / "keep-1").diff.files == ()
    (repo / "m.bin").write_bytes(real + b"!")
    assert change_of_repo(repo, "HEAD", tmp_path / "keep-2").diff.changed_files == ("m.bin",)


@pytest.mark.parametrize("base", ["nowhere", "--help", "base:b.py", ""])
def test_a_revision_that_does_not_exist_is_said(repo: Path, tmp_path: Path, base: str) -> None:
    """One clear line with a remedy."""
    with pytest.raises(InputError, match="has no revision"):
        change_of_repo(repo, base, tmp_path / "keep")


def test_no_repository_is_said(tmp_path: Path) -> None:
    """A missing directory gives one clear line."""
    with pytest.raises(InputError, match="does not exist"):
        change_of_repo(tmp_path / "missing", "HEAD", tmp_path / "keep")
