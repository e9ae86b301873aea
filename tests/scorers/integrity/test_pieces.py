"""Pieces of files, as a diff shows them: nothing parses, and what was done to the tests is still seen."""

import pytest

from tests.scorers.integrity.build import ASSERTIONS, SKIPS, evidence

OPENING = {
    "scale.test.js": (
        "  it('adds', () => {",
        "    const scale = new Scale(50)",
        "    expect(scale.load).toBe(20)",
        "  })",
    ),
    "scale_test.go": ("func TestAdd(t *testing.T) {", "\ts := New(50)", "\tassert.Equal(t, 20, s.Load())", "}"),
    "ScaleTest.java": (
        "  void adds() {",
        "    Scale scale = new Scale(50);",
        "    assertEquals(20, scale.load());",
        "  }",
    ),
    "ScaleTests.cs": (
        "    public void Adds()\n    {",
        "        Go();",
        "        Assert.Equal(20, scale.Load);",
        "    }",
    ),
    "tests/scale.rs": ("fn adds() {", "    let scale = Scale::new(50);", "    assert_eq!(scale.load, 20);", "}"),
    "scale_test.rb": ("  def test_adds", "    scale = Scale.new(50)", "    assert_equal 20, scale.load", "  end"),
}
MARKS = {"ScaleTest.java": "  @Test\n", "ScaleTests.cs": "    [Fact]\n", "tests/scale.rs": "#[test]\n"}
# The rest of a bracket or block that the piece does not open.
CUT = {"scale_test.rb": "    end\n  end\n\n"}


def _piece(path: str, *lines: str) -> str:
    return CUT.get(path, "    }\n  });\n}\n\n") + "\n".join(lines) + "\n"


def _verdicts(path: str, before: str, after: str) -> set[str]:
    change = evidence({path: before}, {path: after})
    return {SKIPS.score(change, None).verdict, ASSERTIONS.score(change, None).verdict}


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


@pytest.mark.parametrize("path", OPENING)
def test_a_return_put_first_is_seen(path: str) -> None:
    """What follows it at its own level never runs."""
    head, first, check, end = OPENING[path]

    after = _piece(path, head, _indent(first) + "return", first, check, end)

    assert "FAIL" in _verdicts(path, _piece(path, head, first, check, end), after)


@pytest.mark.parametrize("path", OPENING)
def test_a_return_at_the_end_of_a_branch_is_another_matter(path: str) -> None:
    """A branch that is left, with the rest of the test below it: that may be run, if not always."""
    head, first, check, end = OPENING[path]
    inner = _indent(first) * 2
    branch = ("if done", f"{inner}return", "end") if path.endswith(".rb") else ("if (done) {", f"{inner}return", "}")
    lines = [branch[0], branch[1], branch[2]]

    after = _piece(path, head, first, _indent(first) + lines[0], lines[1], _indent(first) + lines[2], check, end)

    change = evidence({path: _piece(path, head, first, check, end)}, {path: after})
    assert {finding.rule for finding in ASSERTIONS.score(change, None).findings or ()} <= {"conditional"}


@pytest.mark.parametrize("path", OPENING)
def test_a_branch_that_never_runs_is_seen(path: str) -> None:
    """By its indentation."""
    head, first, check, end = OPENING[path]
    level = _indent(check)
    opened, closed = ("if false", "end") if path.endswith(".rb") else ("if (false) {", "}")

    after = _piece(path, head, first, level + opened, level + check, level + closed, end)

    assert "FAIL" in _verdicts(path, _piece(path, head, first, check, end), after)


@pytest.mark.parametrize("path", MARKS)
def test_a_mark_taken_away_is_seen(path: str) -> None:
    """The function stays and no runner takes it."""
    head, first, check, end = OPENING[path]

    before = _piece(path, MARKS[path] + head, first, check, end)

    assert "FAIL" in _verdicts(path, before, _piece(path, head, first, check, end))
    assert "FAIL" not in _verdicts(path, _piece(path, head, first, check, end), before)


def test_the_only_mark_of_a_piece_beside_the_code_taken_away_is_seen() -> None:
    """Without it the piece has no sign of a test left."""
    head, first, check, end = OPENING["tests/scale.rs"]

    before = _piece("src/scale.rs", "#[test]", head, first, check, end)

    assert "FAIL" in _verdicts("src/scale.rs", before, before.replace("#[test]\n", ""))


@pytest.mark.parametrize("path", ["scale_test.go", "scale_test.rb"])
def test_a_name_no_runner_takes_is_seen(path: str) -> None:
    """Where tests go by their names."""
    head, first, check, end = OPENING[path]
    renamed = head.replace("TestAdd", "_TestAdd").replace("test_adds", "_test_adds")

    assert "FAIL" in _verdicts(path, _piece(path, head, first, check, end), _piece(path, renamed, first, check, end))


@pytest.mark.parametrize(
    ("path", "opened", "caught"),
    [
        ("scale.test.js", "try {", ["} catch (e) {", "}"]),
        ("ScaleTest.java", "try {", ["} catch (Throwable t) {", "}"]),
        ("ScaleTests.cs", "try {", ["} catch (Exception) {", "}"]),
        ("scale_test.rb", "begin", ["rescue Exception", "end"]),
    ],
)
def test_a_failure_nobody_hears_of_is_seen(path: str, opened: str, caught: list[str]) -> None:
    """The catch stands below the assertion, level with the try."""
    head, first, check, end = OPENING[path]
    level = _indent(check)

    after = _piece(path, head, first, level + opened, level + check, *(level + line for line in caught), end)

    assert "FAIL" in _verdicts(path, _piece(path, head, first, check, end), after)


def test_a_narrow_catch_is_no_silence() -> None:
    """An expected exception is caught; a failed assertion is not."""
    path = "ScaleTest.java"
    head, first, check, end = OPENING[path]

    after = _piece(path, head, first, "    try {", "  " + check, "    } catch (LimitException e) {", "    }", end)

    assert "FAIL" not in _verdicts(path, _piece(path, head, first, check, end), after)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("scale.test.js", "} catch (e) {"), ("scale_test.rb", "rescue"), ("scale_test.go", "return"),
        ("ScaleTest.java", "@Test"), ("ScaleTests.cs", "rescue"), ("tests/scale.rs", "if false {"),
    ],
)  # fmt: skip
def test_a_large_piece_of_nothing_but_openings_is_read_to_its_end(path: str, line: str) -> None:
    """However often a block is opened, only so many are followed, and each only so far."""
    text = "".join(f"{' ' * (number % 50)}{line}\n" for number in range(8_000))

    assert _verdicts(path, text, text + "x\n") == {"PASS"}


def test_a_weaker_check_without_a_test_around_it_is_seen() -> None:
    """A piece of a body alone: its lines stand for one test."""
    before = "    scale.add('anvil', 20)\n    assert_equal 20, scale.load\n    scale.clear\n"

    after = before.replace("assert_equal 20, scale.load", "refute_nil scale.load")

    assert "FAIL" in _verdicts("test/scale_test.rb", before, after)


def test_an_assertion_whose_middle_is_cut_out_still_counts() -> None:
    """Two hunks show its beginning and its end, and a string opened in one ends in the other."""
    head = "def test_report(scale):\n"
    opened = "    scale.check.assert_report(\n        scale,\n        limit=50\n"
    rest = '        "anvil 20",\n    )\n\n\ndef test_more(scale):\n    scale.clear()\n'

    after = head + "    '''\n" + opened + rest.replace("    )\n", "    )\n    '''\n")

    assert "FAIL" in _verdicts("tests/test_scale.py", head + opened + rest, after)


def test_a_line_for_old_compilers_is_no_second_build_tag() -> None:
    """`// +build` right below `//go:build` says the same."""
    before = "//go:build linux\n\npackage scale\n\nfunc TestAdd(t *testing.T) {\n"

    after = before.replace("linux\n", "linux\n// +build linux\n")

    assert "FAIL" not in _verdicts("scale_test.go", before, after)


def test_a_tag_for_new_compilers_beside_the_old_one_is_none_either() -> None:
    """`//go:build` put above the `// +build` that was there, as gofmt does, in a file of any length."""
    tests = "".join(f"func TestAdd{n}(t *testing.T) {{\n\tassert.Equal(t, {n}, Add({n}))\n}}\n\n" for n in range(90))
    before = f"// Copyright\n\n// +build linux\n\npackage scale\n\n{tests}"

    after = before.replace("// +build", "//go:build linux\n// +build")

    assert "FAIL" not in _verdicts("scale/add_test.go", before, after)
