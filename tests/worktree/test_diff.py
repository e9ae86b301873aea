"""Whatever an agent does in its tree, the captured change shows it."""

import os
import resource
import socket
import stat
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.domain.diff import FileChange
from steelyard.errors import AgentError, InfraError
from steelyard.worktree.diff import CapturedChange, capture
from steelyard.worktree.patch import parse_patch
from steelyard.worktree.remove import remove_tree
from steelyard.worktree.template import Template

Capture = Callable[[], CapturedChange]
Git = Callable[..., str]


def the(change: CapturedChange, path: str) -> FileChange:
    """The one change of a path."""
    (found,) = [file for file in change.diff.files if file.path == path]
    return found


def test_an_untouched_tree_has_no_change_and_needs_no_git(template: Template, tree: Path, tmp_path: Path) -> None:
    """Nothing changed: no patch, the baseline's id, and not even a git directory was made."""
    change = capture(tree, template.baseline, tmp_path / "keep")

    assert change.diff.patch == b""
    assert change.tree_id == template.baseline.tree_id
    assert not (tmp_path / "keep").exists()


def test_every_kind_of_change_is_named(tree: Path, captured: Capture) -> None:
    """New, deleted, edited, renamed, executable and binary files each have their kind."""
    (tree / "new.py").write_text("x = 1\n")
    (tree / "README.md").unlink()
    (tree / "src/calc.py").write_text("def add(a, b):\n    return a + b\n")
    (tree / "src/util/text.py").rename(tree / "src/words.py")
    (tree / "run.sh").chmod(0o644)
    (tree / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\xff" * 50)

    change = captured()

    kinds = {file.path: file.kind for file in change.diff.files}
    assert kinds == {
        "new.py": "added",
        "README.md": "deleted",
        "src/calc.py": "modified",
        "src/words.py": "renamed",
        "run.sh": "mode",
        "logo.png": "added",
    }
    assert "src/util/text.py" in change.diff.changed_files
    assert the(change, "src/calc.py").added == ((2, "    return a + b"),)
    assert the(change, "src/calc.py").removed == ((2, "    return a - b"),)
    assert (the(change, "run.sh").old_mode, the(change, "run.sh").new_mode) == ("100755", "100644")
    assert the(change, "logo.png").binary
    assert change.before("src/calc.py") == b"def add(a, b):\n    return a - b\n"
    assert change.after("src/calc.py") == b"def add(a, b):\n    return a + b\n"
    assert change.after("README.md") is None
    assert change.before("new.py") is None
    assert "README.md" in change.baseline_files


def test_a_nested_repository_hides_nothing(tree: Path, captured: Capture, git: Git) -> None:
    """Files in a directory that was made a git repository of its own are shown, and so are edits beside them."""
    (tree / "src/evil").mkdir()
    (tree / "src/evil/hidden.py").write_text("import os\n")
    git(tree / "src/evil", "init", "-q")
    git(tree / "src/evil", "add", "-A")
    git(tree / "src/evil", "commit", "-q", "-m", "hide")
    git(tree / "src", "init", "-q")
    (tree / "src/calc.py").write_text("changed\n")

    assert captured().diff.changed_files == ("src/calc.py", "src/evil/hidden.py")


@pytest.mark.parametrize(
    "line", ["*.py -diff", "*.py binary", "* filter=evil diff=evil text eol=crlf", "* export-ignore"]
)
def test_attributes_of_the_tree_are_not_read(
    tree: Path, captured: Capture, line: str, git: Git, tmp_path: Path
) -> None:
    """`.gitattributes` and `.git/info/attributes` change neither the lines nor start a filter or textconv."""
    spy = tmp_path / "started"
    for key in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.evil.command", "diff.external"):
        git(tree, "config", key, f"touch {spy};")
    (tree / ".gitattributes").write_text(line + "\n")
    (tree / "src/.gitattributes").write_text(line + "\n")
    (tree / ".git/info/attributes").write_text(line + "\n")
    (tree / "src/calc.py").write_text("def add(a, b):\n    return 3\n")

    change = captured()

    assert change.diff.changed_files == (".gitattributes", "src/.gitattributes", "src/calc.py")
    assert the(change, "src/calc.py").added == ((2, "    return 3"),)
    assert not the(change, "src/calc.py").binary
    assert not spy.exists()


def test_ignore_rules_written_later_hide_nothing(tree: Path, captured: Capture) -> None:
    """Neither new `.gitignore` lines nor `.git/info/exclude` leave a file out; the baseline's own rules still do."""
    (tree / ".gitignore").write_text("*\n")
    (tree / "src/.gitignore").write_text("*\n")
    (tree / ".git/info/exclude").write_text("*\n")
    (tree / "src/secret.py").write_text("x\n")
    (tree / "debug.log").write_text("noise\n")
    (tree / "build").mkdir()
    (tree / "build/out.o").write_text("noise\n")

    assert captured().diff.changed_files == (".gitignore", "src/.gitignore", "src/secret.py")


def test_rules_that_were_removed_still_count(tree: Path, captured: Capture) -> None:
    """Deleting `.gitignore` does not make the baseline's ignored files part of the change."""
    (tree / ".gitignore").unlink()
    (tree / "debug.log").write_text("noise\n")

    assert captured().diff.changed_files == (".gitignore",)


def test_bytecode_that_tests_leave_behind_is_no_change(tree: Path, captured: Capture) -> None:
    """`__pycache__` and `.pytest_cache` are ignored without a rule, but a source file in `__pycache__` is not."""
    (tree / "src/__pycache__").mkdir()
    (tree / "src/__pycache__/calc.cpython-311.pyc").write_bytes(b"\0")
    (tree / "src/__pycache__/evil.py").write_text("x\n")
    (tree / ".pytest_cache/v").mkdir(parents=True)
    (tree / ".pytest_cache/v/nodeids").write_text("[]")

    assert captured().diff.changed_files == ("src/__pycache__/evil.py",)


@pytest.mark.parametrize("bit", ["--assume-unchanged", "--skip-worktree"])
def test_index_bits_hide_nothing(tree: Path, captured: Capture, git: Git, bit: str) -> None:
    """Bits that make the agent's own git blind do not blind the grader."""
    git(tree, "update-index", bit, "src/calc.py")
    (tree / "src/calc.py").write_text("changed\n")
    assert git(tree, "status", "--porcelain") == ""

    assert captured().diff.changed_files == ("src/calc.py",)


def test_no_program_of_the_agents_choice_is_started(tree: Path, captured: Capture, git: Git, tmp_path: Path) -> None:
    """fsmonitor, hooks, pagers and external diffs in the tree's configuration are never run."""
    spy = tmp_path / "started"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {spy}\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "core.pager", "core.sshCommand", "core.editor"):
        git(tree, "config", key, str(program))
    (tree / ".git/hooks").mkdir()
    for hook in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        (tree / ".git/hooks" / hook).symlink_to(program)
    (tree / "src/calc.py").write_text("changed\n")

    assert captured().diff.changed_files == ("src/calc.py",)
    assert not spy.exists()


def test_the_users_own_git_configuration_plays_no_part(tree: Path, captured: Capture, tmp_path: Path) -> None:
    """Environment variables that bend git do not reach the grader's."""
    bent = {"GIT_EXTERNAL_DIFF": "false", "GIT_DIR": str(tmp_path), "GIT_CONFIG_COUNT": "x", "GIT_DIFF_OPTS": "-u0"}
    (tree / "src/calc.py").write_text("changed\n")
    plain = captured().diff.patch
    old = {name: os.environ.get(name) for name in bent}
    os.environ.update(bent)
    try:
        assert captured().diff.patch == plain
    finally:
        for name, value in old.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def test_a_symlink_in_place_of_a_file_is_a_change_of_type(tree: Path, captured: Capture) -> None:
    """The link is recorded with its target, and the target is never read."""
    (tree / "src/calc.py").unlink()
    (tree / "src/calc.py").symlink_to("/etc/passwd")

    change = captured()

    file = the(change, "src/calc.py")
    assert (file.kind, file.old_mode, file.new_mode) == ("type", "100644", "120000")
    assert file.added == ((1, "/etc/passwd"),)
    assert change.after("src/calc.py") is None
    assert b"root:" not in change.diff.patch


def test_a_symlink_in_place_of_a_directory_is_not_followed(tree: Path, captured: Capture, tmp_path: Path) -> None:
    """A directory that became a link elsewhere: its files are deleted, the link is new, nothing behind it is read."""
    (tree / "src").rename(tmp_path / "outside")
    (tree / "src").symlink_to(tmp_path / "outside")
    (tree / "tests/test_calc.py").unlink()
    (tree / "tests").rmdir()
    (tree / "tests").symlink_to("/etc")

    change = captured()

    kinds = {file.path: file.kind for file in change.diff.files}
    assert kinds == {
        "src": "added",
        "src/calc.py": "deleted",
        "src/util/text.py": "deleted",
        "tests": "added",
        "tests/test_calc.py": "deleted",
    }


def test_a_directory_in_place_of_a_file(tree: Path, captured: Capture) -> None:
    """The file is deleted and what is below the directory is new."""
    (tree / "README.md").unlink()
    (tree / "README.md").mkdir()
    (tree / "README.md/x").write_text("other\n")

    assert {file.path: file.kind for file in captured().diff.files} == {"README.md": "deleted", "README.md/x": "added"}


def test_chmod_alone_is_a_change(tree: Path, captured: Capture) -> None:
    """The x bit counts; other bits do not, as in git."""
    (tree / "src/calc.py").chmod(0o755)
    (tree / "README.md").chmod(0o600)

    change = captured()

    assert change.diff.changed_files == ("src/calc.py",)
    assert the(change, "src/calc.py").kind == "mode"
    assert change.after("src/calc.py") == change.before("src/calc.py")


def test_an_edit_of_the_same_size_with_its_old_time_is_seen(tree: Path, captured: Capture) -> None:
    """Size and time are as they were; the content is not."""
    file = tree / "src/calc.py"
    before = file.stat()
    file.write_text(file.read_text().replace("a - b", "a * b"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)

    assert the(captured(), "src/calc.py").added == ((2, "    return a * b"),)


def test_a_large_file_is_noted_within_little_memory(tree: Path, captured: Capture) -> None:
    """200 MB are hashed and kept in pieces; the patch says binary, with the hash and without the content."""
    block = bytes(range(256)) * 4096
    with (tree / "model.bin").open("wb") as out:
        for _ in range(200):
            out.write(block)

    tracemalloc.start()
    try:
        change = captured()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 20_000_000
    assert len(change.diff.patch) < 1000
    assert the(change, "model.bin").binary
    assert change.entries["model.bin"].size == 200 * 1024 * 1024
    head = change.after("model.bin")
    assert head is not None
    assert head.startswith(block)


def test_a_sparse_terabyte_costs_nothing(tree: Path, captured: Capture) -> None:
    """A file that claims a terabyte is a change, recorded by its size and its head."""
    with (tree / "huge").open("wb") as out:
        out.write(b"start")
        out.truncate(2**40)

    change = captured()

    assert the(change, "huge").kind == "added"
    assert the(change, "huge").binary
    assert change.entries["huge"].size == 2**40


def test_odd_names_come_through(tree: Path, captured: Capture) -> None:
    """A newline, quotes, a tab, spaces and bytes that are not UTF-8 in names are all shown and read."""
    names = [
        "new\nline.py",
        'quo"te.py',
        "tab\t.py",
        " sp ace.py ",
        "back\\slash",
        os.fsdecode(b"caf\xe9.py"),
        "ünï.py",
    ]
    for name in names:
        (tree / name).write_text(f"{len(name)}\n")

    change = captured()

    assert change.diff.changed_files == tuple(sorted(names))
    assert all(change.after(name) == f"{len(name)}\n".encode() for name in names)


def test_files_that_come_and_go_while_the_tree_is_read(tree: Path, captured: Capture) -> None:
    """What vanishes while it is read is deleted or never was; everything else is captured all the same."""
    (tree / "src/calc.py").write_text("changed\n")
    stop = threading.Event()
    (tree / "busy").mkdir()

    def come_and_go() -> None:
        while not stop.is_set():
            for number in range(20):
                (tree / "busy" / f"{number}.py").write_text("x\n")
            for number in range(20):
                (tree / "busy" / f"{number}.py").unlink()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for _ in range(30):
            change = captured()
            assert "src/calc.py" in change.diff.changed_files
            assert all(file.path.startswith(("busy/", "src/calc.py")) for file in change.diff.files)
    finally:
        stop.set()
        thread.join()


def test_what_was_captured_stays_although_the_tree_is_gone(tree: Path, captured: Capture) -> None:
    """`after` answers from the grader's own copy."""
    (tree / "src/calc.py").write_text("changed\n")
    change = captured()
    (tree / "src/calc.py").write_text("changed again\n")

    assert change.after("src/calc.py") == b"changed\n"


def test_tampering_with_what_was_captured_is_noticed(tree: Path, captured: Capture) -> None:
    """A kept content that no longer has its hash is an error, never an answer."""
    (tree / "src/calc.py").write_text("changed\n")
    change = captured()
    for kept in tree.parent.parent.glob("keep-0/git/objects/*/*"):
        kept.chmod(0o600)
        kept.write_bytes(b"x\x9cjunk")

    with pytest.raises(InfraError, match="captured"):
        change.after("src/calc.py")


def test_a_path_longer_than_the_system_allows_is_read(tree: Path, captured: Capture) -> None:
    """Directories nested beyond PATH_MAX are walked by descriptors, and the file at the bottom is shown."""
    name, depth = "d" * 100, 60
    held = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=held)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=held)
        os.close(held)
        held = below
    bottom = os.open("deep.py", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=held)
    os.write(bottom, b"deep\n")
    os.close(bottom)
    os.close(held)

    change = captured()

    path = "/".join([name] * depth + ["deep.py"])
    remove_tree(tree)
    assert change.diff.changed_files == (path,)
    assert change.after(path) == b"deep\n"


def test_nesting_without_end_is_the_agents_fault(tree: Path, captured: Capture) -> None:
    """A tree nested too deep to be of use is refused as bad output, not as a failure of the machine."""
    held = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=held)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=held)
        os.close(held)
        held = below
    os.close(held)

    try:
        with pytest.raises(AgentError, match="nested deeper"):
            captured()
    finally:
        remove_tree(tree)
    assert not tree.exists()


def test_a_deleted_tree_is_a_change_of_every_file(tree: Path, captured: Capture, template: Template) -> None:
    """The agent that deletes everything, its `.git` and the tree itself included, deleted every file."""
    tree.rename(tree.parent / "gone")

    change = captured()

    assert {file.kind for file in change.diff.files} == {"deleted"}
    assert change.diff.changed_files == tuple(sorted(template.baseline.entries))


def test_a_tree_replaced_by_a_symlink_is_not_followed(tree: Path, captured: Capture) -> None:
    """A link in place of the whole tree counts as nothing."""
    tree.rename(tree.parent / "gone")
    tree.symlink_to("/etc")

    assert {file.kind for file in captured().diff.files} == {"deleted"}


def test_a_missing_git_directory_changes_nothing(tree: Path, captured: Capture) -> None:
    """The agent's own `.git` is not part of the tree: without it, or with a broken one, the diff is the same."""
    (tree / "src/calc.py").write_text("changed\n")
    before = captured().diff.patch
    (tree / ".git/HEAD").write_text("broken")
    (tree / ".git/index").unlink()
    assert captured().diff.patch == before
    (tree / ".git").rename(tree.parent / "git")
    assert captured().diff.patch == before


def test_pipes_sockets_and_their_like_are_named_and_never_opened(tree: Path, captured: Capture) -> None:
    """Opening the pipe would wait for ever; it is recorded by its type."""
    os.mkfifo(tree / "pipe")
    (tree / "README.md").unlink()
    os.mkfifo(tree / "README.md")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(tree)
        try:
            listener.bind("sock")
        finally:
            os.chdir(here)
        change = captured()

    assert {file.path: (file.kind, file.new_mode) for file in change.diff.files} == {
        "pipe": ("added", f"{stat.S_IFIFO:06o}"),
        "README.md": ("type", f"{stat.S_IFIFO:06o}"),
        "sock": ("added", f"{stat.S_IFSOCK:06o}"),
    }


def test_rights_that_were_taken_away_hide_nothing(tree: Path, captured: Capture) -> None:
    """The owner's own files are read although the agent made them, and a directory, unreadable."""
    (tree / "src/calc.py").write_text("changed\n")
    (tree / "src/calc.py").chmod(0)
    (tree / "src/util/text.py").write_text("changed\n")
    (tree / "src/util").chmod(0)

    assert captured().diff.changed_files == ("src/calc.py", "src/util/text.py")


@pytest.mark.parametrize("mode", [0, 0o300, 0o400])
def test_rights_of_the_tree_itself_hide_nothing(tree: Path, captured: Capture, mode: int) -> None:
    """Nor do they keep the tree from being read: that would make the run uncounted."""
    (tree / "src/util/text.py").write_text("changed\n")
    for folder in (tree / "src/util", tree / "src", tree):
        folder.chmod(mode)

    assert captured().diff.changed_files == ("src/util/text.py",)
    assert tree.stat().st_mode & stat.S_IXUSR or os.geteuid() == 0


def test_a_nul_byte_does_not_make_source_binary(tree: Path, captured: Capture) -> None:
    """Git would call the file binary and hide its lines; they are shown, and a real binary stays one."""
    (tree / "tests/test_a.js").write_bytes(b"// \0 a comment\nit.skip('x', () => {});\n")
    (tree / "src/calc.py").write_bytes(b"# \0\xff\ndef add(a, b):\n    return 3\n")
    (tree / "blob").write_bytes(bytes(range(256)) * 64)

    change = captured()

    assert (2, "it.skip('x', () => {});") in the(change, "tests/test_a.js").added
    assert (3, "    return 3") in the(change, "src/calc.py").added
    assert the(change, "blob").binary


def test_the_patch_alone_gives_the_same_files(tree: Path, captured: Capture) -> None:
    """What is stored is the patch: parsing it again loses nothing."""
    (tree / "src/calc.py").write_text("changed\n")
    (tree / "README.md").unlink()
    os.mkfifo(tree / "pipe")
    change = captured()

    assert parse_patch(change.diff.patch) == change.diff.files


def test_a_full_disk_never_hides_a_change(tree: Path, captured: Capture) -> None:
    """When a changed content cannot be kept, the run fails on our side; it is not graded as if nothing had changed."""
    (tree / "src/calc.py").write_bytes(os.urandom(100_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(InfraError, match="keeping what was captured") as caught:
            captured()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.error_class == "sandbox_error"
