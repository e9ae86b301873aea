"""Git processes that stay write the same patches as one that is started for each."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from steelyard.worktree import patches as module
from steelyard.worktree.git import GitError
from steelyard.worktree.objects import Objects, Side
from steelyard.worktree.patches import Patches

REGULAR = 0o100644


@pytest.fixture
def patches(tmp_path: Path) -> Iterator[Patches]:
    """Processes that wait, ended after the test."""
    with closing(Patches(tmp_path / "patches")) as made:
        yield made


def sides(objects: Objects, before: dict[str, bytes], after: dict[str, bytes]) -> tuple[Side, Side]:
    """Two sets of files, their contents kept."""
    first, second = ({path: (REGULAR, objects.put(data)) for path, data in side.items()} for side in (before, after))
    return first, second


def children() -> set[int]:
    """The processes that this one has started and that still are."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {int(pid) for pid in (task / "children").read_text().split()}
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a.py": b"one\n"}, {"a.py": b"two\n"}),
        ({"a.py": b"one"}, {"a.py": b"end\n"}),
        ({}, {"end": b"end\nend\n", "b c": b"\nend\n" * 3}),
        ({"gone": b"x\n" * 99}, {}),
        ({"old": b"same\n" * 99}, {"deep/er/new": b"same\n" * 99}),
        ({"logo": b"\0\1"}, {"logo": bytes(range(256)) * 400}),
        ({"two\nlines": b"a\n"}, {"two\nlines": b"a\r\nend\r\n"}),
        ({"big": b""}, {"big": b"".join(b"%d end\n" % n for n in range(300_000))}),
    ],
)
def test_patches_are_those_of_a_git_of_its_own(
    patches: Patches, tmp_path: Path, before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    """Byte for byte, whatever is in the files, whose lines may look like the mark that ends a patch."""
    staying, own = Objects(tmp_path / "a", patches), Objects(tmp_path / "b")

    for _ in range(3):
        assert staying.patch(*sides(staying, before, after)) == own.patch(*sides(own, before, after)) != b""


def test_one_process_serves_many_git_directories(patches: Patches, tmp_path: Path) -> None:
    """The objects of each are read where they are, and none of another's."""
    known = children()
    for number in range(5):
        objects = Objects(tmp_path / str(number), patches)
        patch = objects.patch(*sides(objects, {"a": b"0\n"}, {"a": b"%d!\n" % number}))
        assert b"\n+%d!\n" % number in patch

    assert len(children() - known) == 1
    patches.close()
    assert children() == known


def test_a_process_that_was_killed_is_replaced(patches: Patches, tmp_path: Path) -> None:
    """An agent without a sandbox may kill it: the patch is written all the same."""
    known = children()
    objects = Objects(tmp_path / "a", patches)
    both = sides(objects, {"a": b"0\n"}, {"a": b"1\n"})
    first = objects.patch(*both)
    for pid in children() - known:
        os.kill(pid, signal.SIGKILL)

    assert [objects.patch(*both) for _ in range(3)] == [first] * 3
    assert len(children() - known) == 1


def test_a_missing_object_is_an_error_with_gits_words(patches: Patches, tmp_path: Path) -> None:
    """What git could not write down is never an empty patch."""
    objects = Objects(tmp_path / "a", patches)
    tree = objects.put_tree({"a": (REGULAR, objects.put(b"x\n"))})

    with pytest.raises(GitError, match="0" * 40):
        patches.write(objects.directory, (tree, "0" * 40))


def test_a_process_ends_after_its_share(patches: Patches, tmp_path: Path) -> None:
    """Git keeps something of each patch in memory, so another takes over."""
    known = children()
    objects = Objects(tmp_path / "a", patches)
    both = sides(objects, {"a": b"0\n"}, {"a": b"1\n"})
    seen = set()
    for _ in range(module.MOST + 1):
        objects.patch(*both)
        seen |= children() - known

    assert len(seen) == 2


def test_threads_do_not_wait_for_each_other(patches: Patches, tmp_path: Path) -> None:
    """Several at once, each with its own objects, get their own patches."""
    found: dict[int, bytes] = {}

    def write(number: int) -> None:
        objects = Objects(tmp_path / str(number), patches)
        for turn in range(20):
            found[number] = objects.patch(*sides(objects, {"a": b"0\n"}, {"a": b"%d.%d\n" % (number, turn)}))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {number: patch.rpartition(b"+")[2] for number, patch in found.items()} == {
        number: b"%d.19\n" % number for number in range(8)
    }
