"""Tests of other files under the names of the baseline's: what the agent adds or rewrites must not speak for them."""

from pathlib import Path

import pytest

from tests.scorers.runners.projects import GO, JEST, VITEST, Project, graded

THROWS = "throw new Error('not loaded')\n"
GREEN = (
    "describe('calc', () => {\n  test('adds', () => {})\n  test('pairs', () => {})\n"
    "  test('subs', () => { throw new Error('as before') })\n})\n"
)
FROM_VITEST = "import { describe, test } from 'vitest'\n"
FROM_NODE = {
    "mjs": "import { test } from 'node:test'\n",
    "cjs": "const { test } = require('node:test')\n",
    "js": "const { test } = require('node:test')\n",
}
NODE = Project(
    "node",
    "node --test --test-reporter=junit --test-reporter-destination={junit}",
    "calc.js",
    {
        "package.json": '{"name": "shop"}\n',
        "calc.js": JEST.code,
        "tests/calc.test.js": "const { test } = require('node:test')\nconst assert = require('node:assert')\n"
        "const { add, pair } = require('../calc')\n"
        "test('adds', () => { assert.strictEqual(add(1, 2), 3) })\n"
        "test('pairs', () => { assert.deepStrictEqual(pair(1, 2), { a: 1, b: 2 }) })\n",
    },
)


def placed(project: Project, path: str, settings: dict[str, str]) -> Project:
    """The same project with its tests in another place."""
    files = {**project.files, **settings}
    files[path] = files.pop("tests/calc.test.js").replace("'../calc", "'./calc")
    return Project(project.framework, project.command, project.source, files)


JEST_CHECKS = placed(JEST, "calc.check.js", {"package.json": '{"jest": {"testMatch": ["**/*.check.js"]}}\n'})
VITEST_CHECKS = placed(
    VITEST, "calc.check.js", {"vitest.config.js": "export default { test: { include: ['*.check.js'] } }\n"}
)


@pytest.mark.runners
@pytest.mark.parametrize(
    ("project", "change", "said"),
    [
        (JEST, {"calc.js": THROWS, "spec.js": GREEN}, "not collected"),
        (JEST, {"calc.js": THROWS, "src/test.mjs": GREEN}, "not collected"),
        (JEST_CHECKS, {"calc.js": JEST.wrong(), "calc.check.js": GREEN}, "calc adds: passed on the baseline, failed"),
        (JEST_CHECKS, {"calc.js": THROWS, "other.check.js": GREEN}, "from another file than on the baseline"),
        (VITEST_CHECKS, {"calc.js": VITEST.wrong(), "calc.check.js": FROM_VITEST + GREEN}, "failed now"),
    ],
    ids=["jest: spec.js", "jest: test.mjs", "jest: rewritten", "jest: beside", "vitest: rewritten"],
)
def test_only_the_baselines_files_count(
    project: Project, change: dict[str, str | None], said: str, tmp_path: Path
) -> None:
    """Code that can't be loaded leaves room for green tests of the same names."""
    grades = graded(project, change, tmp_path)

    assert grades.base.verdict == "FAIL", grades.base
    assert said in grades.base.detail


@pytest.mark.runners
@pytest.mark.parametrize("name", ["test-more.js", "test.cjs", "src/test.mjs", "more_test.cjs", "tests/more.test.js"])
def test_nodes_runner_has_no_files_in_its_names(name: str, tmp_path: Path) -> None:
    """Whatever it collects by name alone is left out where the agent added it."""
    green = FROM_NODE[name.rpartition(".")[2]] + "test('adds', () => {})\ntest('pairs', () => {})\n"

    grades = graded(NODE, {"calc.js": THROWS, name: green}, tmp_path)

    assert grades.base.verdict == "FAIL", grades.base
    assert "adds: passed on the baseline, and was not collected now" in grades.base.detail


@pytest.mark.go
def test_data_at_the_top_of_the_tree_is_the_baselines(tmp_path: Path) -> None:
    """`testdata` of the root package is as much a part of its tests as that of others."""
    test = (
        'package shop\n\nimport (\n\t"fmt"\n\t"os"\n\t"testing"\n)\n\nfunc TestAdd(t *testing.T) {\n'
        '\twant, _ := os.ReadFile("testdata/want.txt")\n\tif fmt.Sprint(Add(1, 2)) != string(want) {\n'
        "\t\tt.Fatal(Add(1, 2))\n\t}\n}\n"
    )
    files = {**GO.files, "calc_test.go": test, "testdata/want.txt": "3"}
    project = Project("go", GO.command, GO.source, files)

    grades = graded(project, {"calc.go": GO.wrong(), "testdata/want.txt": "9"}, tmp_path)

    assert grades.base.verdict == "FAIL", grades.base
    assert "TestAdd: passed on the baseline, failed now" in grades.base.detail
