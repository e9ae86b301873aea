"""Maven with surefire and JUnit 4, from Debian's own repository: no network."""

from pathlib import Path

import pytest

from tests.scorers.runners.projects import MAVEN, graded

pytestmark = pytest.mark.maven
CODE = MAVEN.source
ASSERT = "package org.junit;\n\npublic class Assert {\n    public static void assertEquals(long a, long b) {}\n}\n"
INCLUDES = (
    "<build><plugins><plugin><groupId>org.apache.maven.plugins</groupId>"
    "<artifactId>maven-surefire-plugin</artifactId><configuration>"
    "<includes><include>**/None*.java</include></includes></configuration></plugin></plugins></build>\n</project>"
)


def test_a_good_change_passes(tmp_path: Path) -> None:
    """The reports that surefire writes below target/ are read."""
    grades = graded(MAVEN, {CODE: MAVEN.fixed()}, tmp_path)

    assert grades.base.verdict == "PASS", grades.base
    assert grades.harness.verdict == "PASS"


@pytest.mark.parametrize(
    ("change", "said", "rule"),
    [
        ({"src/test/java/shop/CalcTest.java": None}, "shop.CalcTest::adds: passed on the baseline, failed now", None),
        ({"pom.xml": MAVEN.files["pom.xml"].replace("</project>", INCLUDES)}, "no report that matches", "build-switch"),
        ({"src/main/java/shop/Assert.java": ASSERT}, "failed now", "shadowed-runner"),
    ],
    ids=["deleted", "includes", "JUnit's class"],
)
def test_the_baselines_tests_decide(change: dict[str, str | None], said: str, rule: str | None, tmp_path: Path) -> None:
    """The project's own classes come before JUnit's: one in its package is left out."""
    grades = graded(MAVEN, {CODE: MAVEN.wrong(), **change}, tmp_path)

    assert grades.base.verdict == "FAIL", grades.base
    assert said in grades.base.detail
    assert rule is None or rule in grades.rules, grades.harness.detail
