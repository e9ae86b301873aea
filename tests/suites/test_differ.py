"""What differs between arms."""

from pathlib import Path

from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.suite import Arm, Suite
from steelyard.suites.differ import FieldDifference, arm_differences


def suite_of(root: Path, *arms: Arm, baseline: str | None = None) -> Suite:
    """A suite of these arms, with no tasks."""
    return Suite(tasks=(), arms=arms, compare=CompareSpec(baseline=baseline), root=str(root))


def arm(name: str, overlay: str | None = None, **agent: str) -> Arm:
    """An arm with these agent fields."""
    return Arm(name=name, agent={"type": "command", "command": "x", **agent}, overlay=overlay)


def test_fields_that_differ_are_named_with_both_values(tmp_path: Path) -> None:
    """Agent fields, environment names and the preamble; what is equal is left out."""
    other = arm("b", model="m").model_copy(update={"env": ("KEY",), "preamble": "Hello."})

    (difference,) = arm_differences(suite_of(tmp_path, arm("a"), other))

    assert (difference.baseline, difference.arm, difference.files) == ("a", "b", ())
    assert sorted(difference.fields, key=lambda item: item.field) == [
        FieldDifference(field="env", baseline=[], arm=["KEY"]),
        FieldDifference(field="model", baseline=None, arm="m"),
        FieldDifference(field="preamble", baseline=None, arm="Hello."),
    ]


def test_every_arm_is_held_against_the_baseline(tmp_path: Path) -> None:
    """The one that the suite names, not just the first."""
    found = arm_differences(suite_of(tmp_path, arm("a"), arm("b"), arm("c", model="m"), baseline="b"))

    assert [(one.baseline, one.arm, len(one.fields)) for one in found] == [("b", "a", 0), ("b", "c", 1)]


def test_overlay_files_are_added_removed_and_changed(tmp_path: Path) -> None:
    """Text files come with a unified diff; binary and big ones are named only."""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        (folder / "skills").mkdir(parents=True)
        (folder / "same.txt").write_text("same\n")
    (one / "CLAUDE.md").write_text("Be brief.\nBe kind.\n")
    (two / "CLAUDE.md").write_text("Be brief.\nBe exact.\n")
    (one / "old.txt").write_text("old\n")
    (two / "skills/new.md").write_text("new\n")
    (two / "image.png").write_bytes(b"\x89PNG\x00\x01")
    (two / "big.txt").write_bytes(b"x" * 300_000)

    (difference,) = arm_differences(suite_of(tmp_path, arm("a", "one"), arm("b", "two")))

    assert [(file.path, file.kind) for file in difference.files] == [
        ("CLAUDE.md", "changed"),
        ("big.txt", "added"),
        ("image.png", "added"),
        ("old.txt", "removed"),
        ("skills/new.md", "added"),
    ]
    diffs = {file.path: file.diff for file in difference.files}
    assert diffs["CLAUDE.md"].splitlines()[2:] == ["@@ -1,2 +1,2 @@", " Be brief.", "-Be kind.", "+Be exact."]
    assert (diffs["big.txt"], diffs["image.png"]) == ("", "")


def test_links_are_never_followed(tmp_path: Path) -> None:
    """A link counts as where it points to, also one to a directory or to itself."""
    overlay = tmp_path / "one"
    overlay.mkdir()
    (overlay / "etc").symlink_to("/etc")
    (overlay / "loop").symlink_to("loop")

    (difference,) = arm_differences(suite_of(tmp_path, arm("a"), arm("b", "one")))

    assert [file.path for file in difference.files] == ["etc", "loop"]
    assert "+link to /etc" in difference.files[0].diff


def test_a_mode_alone_is_a_difference(tmp_path: Path) -> None:
    """A hook that became executable is another hook."""
    for name, mode in (("one", 0o644), ("two", 0o755)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "hook.sh").write_text("true\n")
        (tmp_path / name / "hook.sh").chmod(mode)

    (difference,) = arm_differences(suite_of(tmp_path, arm("a", "one"), arm("b", "two")))

    assert [(file.path, file.diff) for file in difference.files] == [("hook.sh", "made executable")]
