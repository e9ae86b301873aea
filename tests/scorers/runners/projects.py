"""The same small shop in five languages, in Java with three libraries: `sub` is broken, so one test fails at first."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.domain.grade import Grade
from steelyard.scorers.baseline_tests_pass import BaselineTestsPass
from steelyard.scorers.harness_unmodified import HarnessUnmodified
from tests.scorers.truth import worked

RUNNERS = Path(".venv/runners").absolute()
MODULES = RUNNERS / "npm/node_modules"
SETTINGS = """<settings><mirrors><mirror>
<id>debian</id><mirrorOf>*</mirrorOf><url>file:///usr/share/maven-repo</url>
</mirror></mirrors></settings>
"""


@dataclass(frozen=True)
class Project:
    """A baseline, the one file of it that an agent has to change, and how its tests are run."""

    framework: str
    command: str | None
    source: str
    files: Mapping[str, str]

    @property
    def code(self) -> str:
        """The code as it is in the baseline."""
        return self.files[self.source]

    def fixed(self) -> str:
        """A good change: the last plus becomes a minus."""
        head, _, tail = self.code.rpartition("a + b")
        return f"{head}a - b{tail}"

    def wrong(self) -> str:
        """A bad change: what was right is wrong, and nothing is repaired."""
        return self.code.replace("a + b", "a * b + 7", 1)


@dataclass(frozen=True)
class Grades:
    """What the two scorers say of one change."""

    base: Grade
    harness: Grade

    @property
    def rules(self) -> set[str]:
        """The rules of harness_unmodified that saw something."""
        return {finding.rule for finding in self.harness.findings}


def graded(project: Project, change: Mapping[str, str | None], place: Path) -> Grades:
    """The change in a real tree under the project's real runner."""
    if project.framework in ("jest", "vitest"):
        (place / "tree").mkdir()
        (place / "tree/node_modules").symlink_to(MODULES)
    (place / "settings.xml").write_text(SETTINGS)
    fields = {"name": "base", "framework": project.framework, "command": project.command, "timeout_s": 200}
    with worked(place, change, project.files) as (evidence, sandbox, _tree):
        base = BaselineTestsPass.model_validate(fields, strict=False).score(evidence, sandbox)
        harness = HarnessUnmodified(name="harness").score(evidence, None)
    return Grades(base, harness)


_SHOP = "{0}add = (a, b) => a + b\n{0}pair = (a, b) => ({{ a, b }})\n{0}sub = (a, b) => a + b\n"
_TESTS = """
describe('calc', () => {
  test('adds', () => { expect(add(1, 2)).toBe(3) })
  test('pairs', () => { expect(pair(1, 2)).toEqual({ a: 1, b: 2 }) })
  test('subs', () => { expect(sub(3, 2)).toBe(1) })
})
"""
JEST = Project(
    "jest",
    "JEST_JUNIT_ADD_FILE_ATTRIBUTE=true JEST_JUNIT_OUTPUT_FILE={junit}"
    " node node_modules/jest/bin/jest.js --ci --reporters=jest-junit",
    "calc.js",
    {
        "package.json": '{"scripts": {"test": "jest"}, "jest": {"setupFiles": ["./config/first.js"]}}\n',
        "config/first.js": "process.env.TZ = 'UTC'\n",
        "calc.js": _SHOP.format("exports."),
        "tests/calc.test.js": "const { add, pair, sub } = require('../calc')\n" + _TESTS,
    },
)
VITEST = Project(
    "vitest",
    "node node_modules/vitest/vitest.mjs run --reporter=junit --outputFile={junit}",
    "calc.js",
    {
        "package.json": '{"name": "shop", "type": "module", "scripts": {"test": "vitest run"}}\n',
        "calc.js": _SHOP.format("export const "),
        "tests/calc.test.js": "import { describe, expect, test } from 'vitest'\n"
        "import { add, pair, sub } from '../calc.js'\n" + _TESTS,
    },
)
GO = Project(
    "go",
    f"GOCACHE='{RUNNERS}/gocache' go test -json -count=1 ./...",
    "calc.go",
    {
        "go.mod": "module example.test/shop\n\ngo 1.18\n",
        "calc.go": "package shop\n\nfunc Add(a, b int) int { return a + b }\n\n"
        "func Sub(a, b int) int { return a + b }\n",
        "calc_test.go": 'package shop\n\nimport "testing"\n\n'
        "func TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(Add(1, 2))\n\t}\n}\n\n"
        "func TestSub(t *testing.T) {\n\tif Sub(3, 2) != 1 {\n\t\tt.Fatal(Sub(3, 2))\n\t}\n}\n",
    },
)
CARGO = Project(
    "cargo",
    "cargo test --offline --no-fail-fast 2>&1",
    "src/lib.rs",
    {
        "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
        ".gitignore": "target\nCargo.lock\n",
        "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n"
        "pub fn sub(a: i32, b: i32) -> i32 {\n    a + b\n}\n",
        "tests/calc.rs": "use shop::{add, sub};\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n\n"
        "#[test]\nfn subs() {\n    assert_eq!(sub(3, 2), 1);\n}\n",
    },
)
# A repository for each worker: Maven's own is not safe for two at a time. In the process of Maven itself: surefire
# 2.22 waits ten seconds for a process of its own to end.
MAVEN = Project(
    "maven",
    f"mvn -q -B -s ../settings.xml -Dmaven.repo.local='{RUNNERS}/m2-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}'"
    " -DforkCount=0 test",
    "src/main/java/shop/Calc.java",
    {
        ".gitignore": "target\n",
        "pom.xml": "<project><modelVersion>4.0.0</modelVersion>\n"
        "<groupId>shop</groupId><artifactId>shop</artifactId><version>1</version>\n"
        "<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>\n"
        "<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>\n"
        "<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version>"
        "<scope>test</scope></dependency></dependencies>\n</project>\n",
        "src/main/java/shop/Calc.java": "package shop;\n\npublic class Calc {\n"
        "    public static int add(int a, int b) { return a + b; }\n"
        "    public static int sub(int a, int b) { return a + b; }\n}\n",
        "src/test/java/shop/CalcTest.java": "package shop;\n\nimport static org.junit.Assert.assertEquals;\n\n"
        "import org.junit.Test;\n\npublic class CalcTest {\n"
        "    @Test public void adds() { assertEquals(3, Calc.add(1, 2)); }\n"
        "    @Test public void subs() { assertEquals(1, Calc.sub(3, 2)); }\n}\n",
    },
)


def _with_library(group: str, artifact: str, version: str, lines: str, test: str) -> Project:
    """The same Maven project with another library of tests."""
    files = dict(MAVEN.files)
    old = "<groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version>"
    new = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
    files["pom.xml"] = files["pom.xml"].replace(old, new)
    files["src/test/java/shop/CalcTest.java"] = f"package shop;\n\n{lines}\npublic class CalcTest {{\n{test}}}\n"
    return replace(MAVEN, files=files)


JUNIT5 = _with_library(
    "org.junit.jupiter", "junit-jupiter-engine", "debian",
    "import static org.junit.jupiter.api.Assertions.assertEquals;\n\nimport org.junit.jupiter.api.Test;\n",
    "    @Test void adds() { assertEquals(3, Calc.add(1, 2)); }\n"
    "    @Test void subs() { assertEquals(1, Calc.sub(3, 2)); }\n",
)  # fmt: skip
TESTNG = _with_library(
    "org.testng", "testng", "debian",
    "import static org.testng.Assert.assertEquals;\n\nimport org.testng.annotations.Test;\n",
    "    @Test public void adds() { assertEquals(Calc.add(1, 2), 3); }\n"
    "    @Test public void subs() { assertEquals(Calc.sub(3, 2), 1); }\n",
)  # fmt: skip
