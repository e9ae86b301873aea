"""How long a detector takes at worst: diffs of 1 MB that were written to be slow to read.

Each shape is one text that hurts some reader: very many assertions on one line, tests without end, brackets that never
close, a table as large as the file, a runner's settings padded until nobody finds the one that matters.
"""

import itertools
import time
from collections.abc import Callable, Iterator

from benchmarks.measure import table
from steelyard import plugins
from steelyard.domain.diff import Diff, FileChange
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade
from steelyard.domain.suite import Task
from steelyard.scorers.base import Scorer

SIZE = 1_000_000
DETECTORS = ("no_new_skips", "assertions_not_weakened", "harness_unmodified", "forbid_secrets")
TASK = Task.model_construct(id="benchmark", prompt="none")
BASELINE = frozenset(
    [f"src/part{n % 50}/module_{n}.py" for n in range(3000)] + [f"tests/part{n % 50}/test_{n}.py" for n in range(1500)]
)
Sides = tuple[str | None, str]
TESTS = {
    "tests/test_a.py": "def test_{n}():\n    assert a == {n}\n",
    "a.test.ts": "it('{n}', () => {{ expect(a).toBe({n}) }})\n",
    "a_test.go": "func TestA{n}(t *testing.T) {{\n\tassert.Equal(t, a, {n})\n}}\n",
    "ATest.java": "@Test void a{n}() {{ assertEquals(a, {n}); }}\n",
    "ATest.kt": "@Test fun a{n}() {{ assertEquals(a, {n}) }}\n",
    "a_spec.rb": "it 'a{n}' do\n  expect(a).to eq {n}\nend\n",
    "tests/a.rs": "#[test]\nfn a{n}() {{ assert_eq!(a, {n}); }}\n",
    "ATests.cs": "[Fact] void A{n}() {{ Assert.Equal(a, {n}); }}\n",
}
# Written into a test file of every language; `{n}` is a number that goes up.
ANYWHERE = {
    "assertions on one line": "expect(a); assertTrue(a); Assert.True(a); assert!(a); t.Error(a); assert a; ",
    "calls that never close": "expect(",
    "words that begin a rule": "assert expect verify should then fail Assert Should [Ignore, it.a.a.skip @Disable ",
    "chains without end": "then(a) expect(b) ",
    "generics": "assertA<",
    "braces": "{{\n",
    "tags": "<a>",
    "quotes": '"a" " \'b\' \' ` """\n',
    "comments": "/* a \n * b */ /**\n",
    "short lines": "a\n",
    "classes": "class a(b,c,d,e[f\n",
    "headings without end": "class A extends TestCase ",
    "rights": "private ",
    "tries": "try {{ assertTrue(a); expect(1) }} catch (Throwable e) {{ }}\n",
    "skips": "@Disabled it.skip( t.Skip( [Ignore] #[ignore] xit( pytest.skip(\n",
}
# One statement around very many of the same.
AROUND = {
    "one call of very many": ("a.test.ts", "it('a', () => {{ f({}) }})\n", "a.then(f),"),
    "functions as arguments": ("a.test.ts", "it('a', () => {{ f({}) }})\n", "function a() {},"),
    "ends of a test": ("a.test.ts", "it('a', () => {{ " + "{{" * 120 + "{}" + "}}" * 120 + " }})\n", "return;\n"),
    "one item's marks": ("tests/a.rs", "{}fn a() {{}}\n", "#[cfg(any())]\n"),
}
RUNNERS = {
    "conftest.py": ("sys.exit(0)\n", "def pytest_a{n}(): pass\n", "atexit.register(f)\ndef f(): pass\n", "x=[1,1]\n"),
    "src/code.py": ("open('test_{n}.py', 'w')\n", "'pytest' in a.filename\n", "os.kill(os.kill(os.kill(1)))\n"),
    "src/code.js": ("process.exit({{", "/* a", "fs.writeFileSync('a.test.ts', 1);", "process.a '"),
    "pytest.ini": ("[a{n}]\n", "[pytest]\ntestpaths = a{n} b*c\n"),
    "pyproject.toml": ("a.b{n}.c.d.e = [1,1,1,1]\n",),
    "jest.config.js": ("testMatch: ['a*b*c*d'],\n", "exclude: [", "transform(a)"),
    "Makefile": ("t{n}:\n\tpytest tests/part1 || true\n", "t:\n\tnpm npm npm npm npm\n"),
    ".github/workflows/ci.yml": ("- run: pytest tests/part1\n",),
    "pom.xml": ("<testSourceDirectory>a*</testSourceDirectory>",),
    "build.gradle": ("ignoreFailures          ",),
}
# A beginning that some rule waits for, and then nothing but spaces or empty lines, until a whole diff is full.
PADDED = {
    "tests/test_a.py": ("x =", "import pytest,", "def test_a(): assert", "class A("),
    "a.test.ts": ("it.only", "expect(a)", "if (", "for ("),
    "a_test.go": ("for", "t.Skip(", "func TestA("),
    "ATest.java": ("for", "@Disabled(", "assertEquals("),
    "tests/a.rs": ("for", "#[ignore", "fn a("),
    "a_spec.rb": ("for", "xit", "expect(a)"),
    "src/code.rb": ("def ==(8", "defined?", "exit", ""),
    "src/code.rs": ("fn eq(x) -> bool { return true", "std::process::exit("),
    "src/code.js": ("process.exit(", "process.reallyExit(", "if (process.env"),
    "src/Code.cs": ("bool Equals(", "Environment.Exit("),
    "src/Code.java": ("System.exit(", "boolean equals(Object o) { return true"),
    "src/code.go": ("os.Exit(", "func (a A) Equal("),
    "src/code.py": ("os._exit(", "def __eq__("),
    ".env": ("PYTHONSTARTUP", "NODE_OPTIONS="),
    "pom.xml": ("<skipTests>", "<exclude>"),
    "package.json": ('{"scripts": {"test": "',),
    "Makefile": ("test:", "PYTEST_ADDOPTS"),
    ".github/workflows/ci.yml": ("- run: pytest", "PYTEST_ADDOPTS"),
    "jest.config.js": ("testMatch:", "moduleNameMapper: {"),
}
SECRETS = (
    "password = 'aB3x{n}kQ9z'\n", "password='aB3x{n}kQ9z' ", "Authorization: Basic dXNlcjpwYXNzd29yZDE=\n",
    "-----BEGIN RSA PRIVATE KEY-----\n", "AKIAQ7XZ23MNPL{n:06d} ", "api_key = secret token: 'bearer ",
)  # fmt: skip


def main(argv: list[str]) -> None:
    """Print the slowest shape of each detector, in processor time."""
    del argv
    scorers = {name: plugins.build("scorers", {"name": "x", "type": name}) for name in DETECTORS}
    for scorer in scorers.values():
        graded(scorer, {path: (None, filled(unit, 2000)) for path, unit in TESTS.items()})  # grammars are loaded once
    worst: dict[str, list[tuple[float, str]]] = {name: [] for name in DETECTORS}
    count = 0
    for name, files in shapes(SIZE):
        count += 1
        for number, (detector, scorer) in enumerate(scorers.items()):
            fresh = {f"{number}/{path}": sides for path, sides in files.items()}  # read files are remembered by path
            evidence = given(fresh if detector != "harness_unmodified" else files)
            started = time.process_time()
            scorer.score(evidence, None)
            worst[detector].append((time.process_time() - started, name))
    rows = [(f"`{name}`", f"{max(taken)[0]:.2f}", max(taken)[1], "1") for name, taken in worst.items()]
    print(f"{count} diffs of 1 MB that were written to be slow to read; the slowest of each detector.\n")
    print(table(["detector", "seconds of CPU, at worst", "its diff", "limit"], rows))


def filled(unit: str, size: int) -> str:
    """A text of about this size that says one thing over and over."""
    parts = (unit.format(n=number) for number in itertools.count())
    total, found = 0, []
    while total < size:
        found.append(next(parts))
        total += len(found[-1])
    return "".join(found)


def shapes(size: int) -> Iterator[tuple[str, dict[str, Sides]]]:
    """Every hostile diff: each text as one new file, and as edits of ten."""
    for path, unit in TESTS.items():
        yield from _laid_out(path, "ever more tests", lambda want, unit=unit: filled(unit, want), size)  # type: ignore[misc]  # bound at once
        for name, line in ANYWHERE.items():
            yield from _laid_out(path, name, lambda want, line=line: filled(line, want), size)  # type: ignore[misc]  # as above
    for name, (path, around, unit) in AROUND.items():
        for most in (size // 2, 90_000):  # all of it, and as much as is still read by syntax
            text = around.format(unit * (most // len(unit)))
            yield f"{name!r} in {path}, edited, {most // 1000} kB a side", {path: (text.replace("a", "b", 1), text)}
    for path, units in RUNNERS.items():
        for unit in units:
            yield from _laid_out(path, unit.strip()[:30], lambda want, unit=unit: filled(unit, want), size)  # type: ignore[misc]  # as above
    for path, heads in PADDED.items():
        for head, blank in itertools.product(heads, " \n"):
            for most in (40_000, 150_000, size - 2000):
                name = f"{head!r} and {most // 1000} kB of {blank!r} in {path}"
                yield name, {path: ("a\n", f"a\n{head}{blank * most}")}
    for unit in SECRETS:
        yield from _laid_out("src/notes.txt", unit.strip()[:30], lambda want, unit=unit: filled(unit, want), size)  # type: ignore[misc]  # as above
    yield "12,000 new files", {f"tests/test_{number}.py": (None, "") for number in range(size // 83)}


def _laid_out(path: str, name: str, text: Callable[[int], str], size: int) -> Iterator[tuple[str, dict[str, Sides]]]:
    name = f"{name!r} in {path}"
    yield f"{name}, new", {path: (None, text(size - 2000))}
    part = text(size // 20)
    before = part.replace("a", "e").replace("1", "7")
    yield f"{name}, ten edited", {f"d{number}/{path}": (before, part + "\n" * number) for number in range(10)}


def graded(scorer: Scorer, files: dict[str, Sides]) -> Grade:
    """A scorer's answer on files given as (before, after)."""
    return scorer.score(given(files), None)


def given(files: dict[str, Sides]) -> Evidence:
    """Files as (before, after) in the form that scorers read them; no before: a new file."""
    before = {path: sides[0].encode() for path, sides in files.items() if sides[0] is not None}
    after = {path: sides[1].encode() for path, sides in files.items()}
    changes = tuple(
        FileChange(path, "added" if path not in before else "modified", added=tuple(enumerate(sides[1].split("\n"), 1)))
        for path, sides in files.items()
    )
    known = BASELINE | frozenset(before)
    return Evidence(TASK, Diff(files=changes), before.get, after.get, baseline_files=known)
