"""Trees are planted from every kind of seed, with one commit and nothing that leads to the answer."""

import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.domain.suite import Seed
from steelyard.errors import InfraError, InputError
from steelyard.worktree.seed import plant

Git = Callable[..., str]


def files_of(tree: Path) -> set[str]:
    """Every path in the tree outside its `.git`."""
    found = {str(place.relative_to(tree)) for place in tree.rglob("*") if place.is_symlink() or not place.is_dir()}
    return {path for path in found if not path.startswith(".git/")}


@pytest.fixture
def history(tmp_path: Path, git: Git) -> Path:
    """A repository with a task at `v1` and its solution in the commit after it."""
    repo = tmp_path / "history"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    (repo / ".gitattributes").write_text("secret.txt export-ignore\n")
    (repo / "secret.txt").write_text("part of the tree\n")
    (repo / "a.py").write_text("broken\n")
    (repo / "run").write_text("#!/bin/sh\n")
    (repo / "run").chmod(0o755)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "the task")
    git(repo, "tag", "v1")
    (repo / "a.py").write_text("the answer\n")
    git(repo, "commit", "-q", "-am", "the solution")
    return repo


def test_a_directory_becomes_an_ordinary_repository(tmp_path: Path, seed_directory: Path, git: Git) -> None:
    """One commit on main, a clean status, no remotes, no reflog, and an agent can commit right away."""
    tree = tmp_path / "tree"

    plant(Seed(directory="seed"), seed_directory.parent, None, tree)

    assert git(tree, "log", "--format=%an %s %ct").splitlines() == ["Steelyard Start 1577836800"]
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "remote") == git(tree, "reflog") == ""
    assert git(tree, "ls-files", "-s", "run.sh").startswith("100755")
    (tree / "x").write_text("x")
    git(tree, "add", "x")
    git(tree, "commit", "-q", "-m", "the agent's")


def test_the_same_seed_is_the_same_commit(tmp_path: Path, seed_directory: Path, git: Git) -> None:
    """Planting is deterministic."""
    for name in ("one", "two"):
        plant(Seed(directory="seed"), seed_directory.parent, None, tmp_path / name)

    assert git(tmp_path / "one", "rev-parse", "HEAD") == git(tmp_path / "two", "rev-parse", "HEAD")


def test_a_seed_that_is_a_checkout_leaves_its_history_behind(tmp_path: Path, history: Path, git: Git) -> None:
    """Neither its `.git` nor that of a repository inside it comes along; the files beside them do."""
    (history / "vendor").mkdir()
    (history / "vendor/lib.py").write_text("x\n")
    git(history / "vendor", "init", "-q")
    (history / "worktree").mkdir()
    (history / "worktree/.git").write_text("gitdir: /somewhere\n")
    (history / "worktree/w.py").write_text("w\n")
    (history / ".steelyard").mkdir()
    (history / ".steelyard/steelyard.db").write_text("earlier answers")

    plant(Seed(directory="history"), tmp_path, None, tmp_path / "tree")

    assert files_of(tmp_path / "tree") == {
        ".gitattributes",
        "a.py",
        "run",
        "secret.txt",
        "vendor/lib.py",
        "worktree/w.py",
    }
    assert git(tmp_path / "tree", "rev-list", "--all", "--count") == "1\n"
    assert "vendor/lib.py" in git(tmp_path / "tree", "ls-files")


@pytest.mark.parametrize("form", ["path", "url"])
@pytest.mark.parametrize("ref", ["v1", "main~1", "hash"])
def test_git_at_a_ref_holds_no_object_of_the_answer(
    tmp_path: Path, history: Path, git: Git, ref: str, form: str
) -> None:
    """By tag, expression or hash, from a path or a URL: the tree is that commit's, and the later one is nowhere."""
    answer = git(history, "rev-parse", "main:a.py").strip()
    wanted = git(history, "rev-parse", "v1").strip() if ref == "hash" else ref
    tree = tmp_path / "tree"

    plant(Seed(git="history" if form == "path" else history.as_uri(), ref=wanted), tmp_path, None, tree)

    assert (tree / "a.py").read_text() == "broken\n"
    assert (tree / "secret.txt").exists()
    assert (tree / "run").stat().st_mode & 0o100
    assert answer not in git(tree, "cat-file", "--batch-all-objects", "--batch-check")
    assert git(tree, "rev-list", "--all", "--count") == "1\n"
    assert not (tree / ".git/objects/info/alternates").exists()


def test_git_without_a_ref_is_its_head(tmp_path: Path, history: Path) -> None:
    """The current commit, not the working tree."""
    (history / "a.py").write_text("not committed\n")

    plant(Seed(git=str(history)), tmp_path, None, tmp_path / "tree")

    assert (tmp_path / "tree/a.py").read_text() == "the answer\n"


def test_a_bare_repository_is_a_seed(tmp_path: Path, history: Path, git: Git) -> None:
    """A path may name a bare repository."""
    git(tmp_path, "clone", "-q", "--bare", str(history), "bare.git")

    plant(Seed(git="bare.git", ref="v1"), tmp_path, None, tmp_path / "tree")

    assert (tmp_path / "tree/a.py").read_text() == "broken\n"


def test_nothing_is_a_seed_too(tmp_path: Path, git: Git) -> None:
    """An empty tree is a repository with one empty commit."""
    plant(Seed(empty=True), tmp_path, None, tmp_path / "tree")

    assert files_of(tmp_path / "tree") == set()
    assert git(tmp_path / "tree", "rev-list", "--all", "--count") == "1\n"


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        (Seed(directory="missing"), "the seed directory missing does not exist"),
        (Seed(git="missing"), "the seed missing is no git repository"),
        (Seed(git="history", ref="v9"), "has no commit 'v9'; give a branch, a tag or a commit's hash"),
        (Seed(git="history", ref="--upload-pack=x"), "has no commit"),
        (Seed(git="history/inside", ref="v1"), "is no git repository"),
        (Seed(archive="missing.tar"), "no such archive"),
    ],
)
def test_a_users_mistake_is_one_clear_line(tmp_path: Path, history: Path, seed: Seed, said: str) -> None:
    """What is wrong, where, and what to do; a repository further up is never taken for the one that was named."""
    (history / "inside").mkdir()

    with pytest.raises(InputError, match=said) as caught:
        plant(seed, tmp_path, None, tmp_path / "tree")
    assert "\n" not in str(caught.value)


def test_a_url_with_a_missing_ref_or_no_repository(tmp_path: Path, history: Path) -> None:
    """A missing ref is the user's mistake; a repository that can't be reached is not counted against an arm."""
    with pytest.raises(InputError, match="has no commit 'v9'"):
        plant(Seed(git=history.as_uri(), ref="v9"), tmp_path, None, tmp_path / "one")
    with pytest.raises(InfraError, match=r"cannot be fetched: fatal: .*nowhere"):
        plant(Seed(git=(tmp_path / "nowhere").as_uri()), tmp_path, None, tmp_path / "two")


def test_a_url_never_runs_a_command(tmp_path: Path) -> None:
    """Git's `ext::` transport is not allowed."""
    with pytest.raises(InfraError, match="cannot be fetched"):
        plant(Seed(git=f"ext::touch {tmp_path}/spy"), tmp_path, None, tmp_path / "tree")
    assert not (tmp_path / "spy").exists()


def test_symlinks_are_copied_and_never_followed(tmp_path: Path, seed_directory: Path) -> None:
    """A link out of the seed stays a link: what it points to does not come along."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/answer.txt").write_text("42")
    (seed_directory / "file").symlink_to(tmp_path / "outside/answer.txt")
    (seed_directory / "folder").symlink_to("../../outside")

    plant(Seed(directory="seed"), seed_directory.parent, None, tmp_path / "tree")

    assert (tmp_path / "tree/folder").readlink() == Path("../../outside")
    assert (tmp_path / "tree/file").is_symlink()


def test_a_pipe_in_a_seed_is_refused(tmp_path: Path, seed_directory: Path) -> None:
    """It is named and never opened."""
    os.mkfifo(seed_directory / "pipe")

    with pytest.raises(InputError, match="'pipe' is no regular file"):
        plant(Seed(directory="seed"), seed_directory.parent, None, tmp_path / "tree")


def test_an_overlay_goes_over_the_seed(tmp_path: Path, seed_directory: Path, git: Git) -> None:
    """New files are added, old ones replaced, whatever their kind, in the same one commit."""
    overlay = seed_directory.parent / "overlay"
    (overlay / "run.sh").mkdir(parents=True)
    (overlay / "run.sh/inner").write_text("now a directory\n")
    (overlay / "CLAUDE.md").write_text("be brief\n")
    (overlay / "README.md").write_text("other\n")

    plant(Seed(directory="seed"), seed_directory.parent, Path("overlay"), tmp_path / "tree")

    assert (tmp_path / "tree/README.md").read_text() == "other\n"
    assert (tmp_path / "tree/run.sh/inner").exists()
    assert "CLAUDE.md" in git(tmp_path / "tree", "show", "--name-only", "--format=")
    assert git(tmp_path / "tree", "rev-list", "--all", "--count") == "1\n"


def test_an_overlay_never_writes_outside_the_tree(tmp_path: Path, seed_directory: Path) -> None:
    """A link in the seed does not lead the overlay's files out: they take the link's place."""
    (tmp_path / "outside").mkdir()
    (seed_directory / "linked").symlink_to(tmp_path / "outside")
    overlay = seed_directory.parent / "overlay"
    (overlay / "linked").mkdir(parents=True)
    (overlay / "linked/file").write_text("x")

    plant(Seed(directory="seed"), seed_directory.parent, Path("overlay"), tmp_path / "tree")

    assert list((tmp_path / "outside").iterdir()) == []
    assert (tmp_path / "tree/linked/file").read_text() == "x"


def test_an_overlay_with_a_git_directory_is_refused(tmp_path: Path, seed_directory: Path) -> None:
    """At any depth."""
    (seed_directory.parent / "overlay/deep/.git/hooks").mkdir(parents=True)

    with pytest.raises(InputError, match=r"may not write into \.git"):
        plant(Seed(directory="seed"), seed_directory.parent, Path("overlay"), tmp_path / "tree")


def test_a_seed_above_its_own_tree_does_not_copy_itself(tmp_path: Path, seed_directory: Path) -> None:
    """A tree that is made inside the seed directory is not part of it."""
    plant(Seed(directory="seed"), seed_directory.parent, None, seed_directory / "scratch" / "tree")

    assert not (seed_directory / "scratch/tree/scratch/tree").exists()


def test_ignored_files_of_a_directory_come_along_untracked(tmp_path: Path, seed_directory: Path, git: Git) -> None:
    """They are in the tree but not in the commit, as in any checkout."""
    (seed_directory / "local.log").write_text("x\n")

    plant(Seed(directory="seed"), seed_directory.parent, None, tmp_path / "tree")

    assert (tmp_path / "tree/local.log").exists()
    assert "local.log" not in git(tmp_path / "tree", "ls-files")
    assert git(tmp_path / "tree", "status", "--porcelain") == ""


def test_archives_are_seeds(tmp_path: Path, git: Git) -> None:
    """A tar and a zip make the same tree."""
    with tarfile.open(tmp_path / "s.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("src/a.py")
        member.size = 2
        tar.addfile(member, io.BytesIO(b"x\n"))
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as bundle:
        bundle.writestr("src/a.py", "x\n")

    for name in ("s.tar.gz", "s.zip"):
        plant(Seed(archive=name), tmp_path, None, tmp_path / f"tree-{name}")

    one, two = (git(tmp_path / f"tree-{name}", "rev-parse", "HEAD^{tree}") for name in ("s.tar.gz", "s.zip"))
    assert one == two
