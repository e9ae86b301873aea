"""What stands the same on both sides is not read, and everything else is."""

import random
from collections.abc import Callable

import pytest

from steelyard.scorers.integrity.analyse import analyser_for
from steelyard.scorers.integrity.lines import RULES
from steelyard.scorers.integrity.unchanged import without_unchanged
from tests.scorers.integrity.build import ASSERTIONS, SKIPS, evidence
from tests.scorers.integrity.samples import samples

PYTHON = [
    f"@pytest.mark.parametrize('n', [1, {n}])\ndef test_{n}(n):\n    value = make({n})\n    assert value == {n}\n\n\n"
    for n in range(60)
]
CLASSES = "class TestA:\n" + "".join(
    f"    def test_{n}(self):\n        assert self.make({n}) == {n}\n\n" for n in range(60)
)
SCRIPT = "describe('scale', () => {\n" + "".join(
    f"  it('weighs {n}', async () => {{\n    expect(await weigh({n})).toBe({n})\n  }})\n\n" for n in range(60)
)
CSHARP = "public class T\n{\n" + "".join(
    f"    [Fact]\n    public void Weighs{n}()\n    {{\n        Assert.Equal({n}, Weigh({n}));\n    }}\n\n"
    for n in range(60)
)
WHOLE = {
    "python": "import pytest\n\n\n" + "".join(PYTHON),
    "javascript": SCRIPT + "})\n",
    "csharp": CSHARP + "}\n",
}


def emptied(family: str, before: str, after: str) -> tuple[str, str]:
    """Both sides; it is a mistake if nothing went."""
    found = without_unchanged(family, before, after)
    assert found is not None
    return found.before, found.after


@pytest.mark.parametrize("family", WHOLE)
def test_only_the_changed_unit_is_left_at_its_line(family: str) -> None:
    """One test of sixty changed: all others are gone from both sides, and lines keep their numbers."""
    before = WHOLE[family]
    after = before.replace("(7)", "(77)")

    old, new = emptied(family, before, after)

    assert "(7)" in old
    assert "(77)" in new
    assert "(8)" not in old + new
    assert new.count("\n") == after.count("\n")
    assert new[: new.index("(77)")].count("\n") == after[: after.index("(77)")].count("\n")


def test_methods_go_and_their_class_stays_whole() -> None:
    """A class of which one method was deleted still parses on both sides."""
    after = CLASSES.replace("    def test_9(self):\n        assert self.make(9) == 9\n\n", "")

    for text, count in zip(emptied("python", CLASSES, after), (1, 0), strict=True):
        assert text.startswith("class TestA:\n")
        assert len(analyser_for("test_a.py").syntax(text).checks) == count


@pytest.mark.parametrize(
    "change",
    [
        ("class TestA:", "class A:"),  # no runner takes it any more
        ("class TestA:", "@off\nclass TestA:"),
        ("class TestA:\n", "class TestA:\n    __test__ = False\n\n"),
        ("class TestA:\n", "test = slow = pytest.mark.skip\n\n\nclass TestA:\n"),
        ("class TestA:\n", "from pytest import skip as slow\n\n\nclass TestA:\n"),
    ],
)
def test_nothing_goes_where_what_stands_around_it_changed(change: tuple[str, str]) -> None:
    """A heading or a line between the tests may decide what becomes of all of them."""
    assert without_unchanged("python", CLASSES, CLASSES.replace(*change)) is None


def test_a_group_that_is_left_early_keeps_its_tests() -> None:
    """`return` before the tests of a group: they never run, so they have to be looked at."""
    after = SCRIPT.replace("() => {\n", "() => {\n  return\n", 1) + "})\n"

    assert without_unchanged("javascript", SCRIPT + "})\n", after) is None


def test_plain_imports_and_comments_may_change() -> None:
    """Most edits bring an import along: it makes no test pass."""
    before = WHOLE["python"]
    after = before.replace("import pytest\n", "import json\n# why\nimport pytest\n").replace("(7)", "(77)")

    assert "test_8" not in "".join(emptied("python", before, after))


@pytest.mark.parametrize(
    "unit",
    [
        'def helper():\n    return """\nopen',
        "def helper(\n    a\n",
        'def helper():\n    text = """ ends here"""; more = """\n',
    ],
)
def test_a_unit_that_leaves_something_open_stays(unit: str) -> None:
    """Without it, the text after it would be read as its opposite."""
    before = unit + "\n\n\n" + WHOLE["python"]

    found = without_unchanged("python", before, before.replace("(7)", "(77)"))

    assert found is None or found.before.startswith(unit[:20])


EDITS: tuple[Callable[[str], str], ...] = (
    lambda unit: unit.replace("    assert", "    # assert"),
    lambda unit: unit.replace("def test", "@pytest.mark.skip\ndef test"),
    lambda unit: unit.replace("==", ">="),
    lambda unit: "",
    lambda unit: unit + unit.replace("def test", "def test_more"),
)


def test_verdicts_do_not_depend_on_what_is_left_out() -> None:
    """Random edits of many tests: assertions and skips differ by as much as in the whole files."""
    analyser = analyser_for("test_a.py")
    for seed in range(40):
        luck = random.Random(seed)
        now = [luck.choice(EDITS)(unit) if luck.random() < 0.15 else unit for unit in PYTHON]
        luck.shuffle(now)
        before, after = WHOLE["python"], "import pytest\n\n\n" + "".join(now)
        whole = [analyser.syntax(text) for text in (before, after)]
        parts = [analyser.syntax(text, analyser.context(before)) for text in emptied("python", before, after)]
        for what in ("checks", "skips", "tests"):
            old, new = (len(getattr(view, what)) for view in whole)
            was, now_there = (len(getattr(view, what)) for view in parts)
            assert now_there - was == new - old, (seed, what)


def test_the_words_of_a_rule_miss_none_of_its_matches() -> None:
    """Looking only at lines with a rule's words finds what its patterns find in the whole text."""
    for sample in samples():
        family = analyser_for(sample.path).family
        for text in (sample.before, sample.after):
            for rule in (RULES[family].check, RULES[family].skip):
                found = [match.span() for match in rule.matches(text)]
                assert found == [match.span() for match in rule.pattern.finditer(text)], sample.kind


HIDING = {
    "python, a string that ends in a new function": (
        "tests/test_a.py",
        "assert value == 20\n",
        '    hidden = """\n',
        "@pytest.mark.parametrize('n', [1, 58])",
        'def more(): pass """\n\n\n',
    ),
    "javascript, a comment that ends in a new test": (
        "a.test.js",
        "toBe(20)\n  })",
        " /*",
        "  it('weighs 58'",
        "  it(1) // */\n",
    ),
    "python, a string": (
        "tests/test_a.py",
        "assert value == 20\n",
        '    hidden = """\n',
        "@pytest.mark.parametrize('n', [1, 58])",
        'import re """\n',
    ),
    "javascript, a comment": ("a.test.js", "toBe(20)\n  })", " /*", "  it('weighs 58'", "import x */\n"),
    "javascript, a template": ("a.test.js", "toBe(20)\n  })", "; say(/`/, `", "  it('weighs 58'", "import x `)\n"),
    "csharp, a comment": (
        "ATests.cs",
        "Weigh(20));\n    }",
        " /*",
        "    [Fact]\n    public void Weighs58",
        "using x */\n",
    ),
}


@pytest.mark.parametrize("how", HIDING)
def test_unchanged_tests_that_are_lost_between_changed_lines_are_missed(how: str) -> None:
    """A changed test opens a string or comment, and a harmless-looking line closes it after many others."""
    path, place, opening, until, closing = HIDING[how]
    before = WHOLE[analyser_for(path).family]
    after = before.replace(place, place + opening).replace(until, closing + until)
    seen = evidence({path: before}, {path: after})

    assert "FAIL" in {SKIPS.score(seen, None).verdict, ASSERTIONS.score(seen, None).verdict}


@pytest.mark.parametrize(
    ("path", "one", "other"),
    [
        ("tests/test_a.py", 'x = """\n\n"""\n', "x = 1\n\ny = 2\n"),
        ("tests/test_a.py", "x = 'a\\\n\\\nb'\n", "x = 1\n\ny = 2\n"),
        ("a.test.js", "f(1) /*\n\n*/\nf(2)\n", "f(1)\n\nf(2)\n"),
        ("a.test.js", "f(/`/, `\n\n`)\n", "f(1)\n\nf(2)\n"),
        ("a.test.js", "if (false) { f('}')\n\nf('{') }\n", "f(1)\n\nf(2)\n"),
        ("a.test.js", "never(() => {\n\n})\n", "describe(() => {\n\n})\n"),
        ("a_spec.rb", "x = <<X\n\nX\n", "x = 1\n\ny = 2\n"),
        ("a.rs", 'fn a() { f("\n\n") }\n', "fn a() {}\n\nfn b() {}\n"),
    ],
)
def test_what_stands_around_a_line_is_told(path: str, one: str, other: str) -> None:
    """A line inside a string, a comment, a block or another call is not where it was."""
    analyser = analyser_for(path)
    views = [analyser.syntax(text, "", (1,)) for text in (one, other)]

    assert [view.note for view in views] == ["", ""]
    assert views[0].around != views[1].around
