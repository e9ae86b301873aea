"""Patches are read exactly, also those whose content looks like a patch."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.domain.diff import FileChange
from steelyard.errors import InputError
from steelyard.worktree.patch import parse_patch, quoted_name, sections


def test_content_that_looks_like_a_patch_is_content() -> None:
    """Lines that read as headers inside a file's content neither open a file nor a hunk."""
    patch = (
        b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ def f():\n"
        b"-diff --git a/y b/y\n+diff --git a/z b/z\n --- a/q\n-@@ -1 +1 @@\n+++ b/evil\n"
        b"\\ No newline at end of file\n"
        b"@@ -10 +10,2 @@\n old\n+new\n"
    )

    (change,) = parse_patch(patch)

    assert change.path == "x"
    assert change.added == ((1, "diff --git a/z b/z"), (3, "++ b/evil"), (11, "new"))
    assert change.removed == ((1, "diff --git a/y b/y"), (3, "@@ -1 +1 @@"))


def test_a_rename_keeps_both_names() -> None:
    """A pure rename has no `---` line; names with spaces and quotes come through."""
    patch = b'diff --git "a/o\\"ld" b/new name\nsimilarity index 100%\nrename from "o\\"ld"\nrename to new name\n'

    (change,) = parse_patch(patch)

    assert (change.kind, change.old_path, change.path) == ("renamed", 'o"ld', "new name")
    assert change.paths == ('o"ld', "new name")


def test_an_empty_file_has_its_name_from_the_first_line() -> None:
    """Neither `---` nor `+++` are there for an empty file, and its name may hold ` b/`."""
    patch = b"diff --git a/x b/y b/x b/y\nnew file mode 100755\nindex 0000000..e69de29\n"

    (change,) = parse_patch(patch)

    assert (change.path, change.kind, change.new_mode) == ("x b/y", "added", "100755")


@pytest.mark.parametrize("patch", [b"not a patch", b"diff --git \n", b"diff --git a/x b/x\nnew file mode 9\n"])
def test_what_is_no_patch_is_refused(patch: bytes) -> None:
    """One clear line, no traceback."""
    with pytest.raises(InputError, match="patch"):
        parse_patch(patch)


@given(st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name and not name.endswith(b"/")))
def test_any_name_survives_quoting(name: bytes) -> None:
    """A note's header is read back to the same bytes."""
    path = os.fsdecode(name)
    a, b = quoted_name(path, b"a/"), quoted_name(path, b"b/")
    patch = b"diff --git %s %s\nnew file mode 100644\nBinary files /dev/null and %s differ\n" % (a, b, b)

    (section,) = sections(patch)

    assert os.fsencode(section.new_path) == name
    assert section.noted


def test_lines_are_read_when_they_are_asked_for_and_compare_equal() -> None:
    """A parsed change equals one that was made by hand, and can be copied."""
    patch = b"diff --git a/x b/x\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+\xffhi\n"

    (change,) = parse_patch(patch)

    assert change == FileChange(path="x", kind="added", new_mode="100644", added=((1, "\ufffdhi"),))


def test_a_thousand_files_keep_their_order_and_lines() -> None:
    """A large patch is read in full."""
    one = b"diff --git a/f%d b/f%d\nindex 1..2 100644\n--- a/f%d\n+++ b/f%d\n@@ -1,100 +1,100 @@\n"
    body = b"".join(b"-old %d\n+new %d\n" % (line, line) for line in range(100))
    patch = b"".join(one % (n, n, n, n) + body for n in range(1000))

    changes = parse_patch(patch)

    assert [change.path for change in changes] == [f"f{n}" for n in range(1000)]
    assert all(len(change.added) == 100 and change.removed[99] == (100, "old 99") for change in changes)
