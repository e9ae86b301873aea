"""Maven with JUnit 5 and with TestNG: what each of them loads by itself, and how a test is passed over."""

from pathlib import Path

import pytest

from tests.scorers.runners.projects import JUNIT5, TESTNG, Project, graded

pytestmark = pytest.mark.maven_libraries
CODE = JUNIT5.source
GREEN = "src/main/java/shop/Green.java"
EXTENSION = """package shop;

import org.junit.jupiter.api.extension.*;

public class Green implements TestExecutionExceptionHandler {
    public void handleTestExecutionException(ExtensionContext context, Throwable failure) {}
}
"""
LISTENER = """package shop;

import org.testng.*;

public class Green extends TestListenerAdapter implements IInvokedMethodListener {
    public void beforeInvocation(IInvokedMethod method, ITestResult result) {}
    public void afterInvocation(IInvokedMethod method, ITestResult result) { result.setStatus(ITestResult.SUCCESS); }
}
"""
LAID = (
    "<build><resources><resource><directory>conf</directory><targetPath>META-INF/services</targetPath></resource>"
    "</resources>{}</build></project>"
)
LOOKS = (
    "<plugins><plugin><groupId>org.apache.maven.plugins</groupId><artifactId>maven-surefire-plugin</artifactId>"
    "<configuration><properties><configurationParameters>junit.jupiter.extensions.autodetection.enabled=true"
    "</configurationParameters></properties></configuration></plugin></plugins>"
)


def compiled(project: Project) -> str:
    """A pom by which the code itself may use the library of the tests."""
    return project.files["pom.xml"].replace("<scope>test</scope>", "")


@pytest.mark.parametrize("project", [JUNIT5, TESTNG], ids=["JUnit 5", "TestNG"])
def test_a_good_change_passes(project: Project, tmp_path: Path) -> None:
    """Surefire writes the same reports, whatever runs the tests."""
    grades = graded(project, {CODE: project.fixed()}, tmp_path)

    assert grades.base.verdict == "PASS", grades.base
    assert grades.harness.verdict == "PASS"


@pytest.mark.parametrize(
    ("project", "service", "green", "more"),
    [
        (JUNIT5, "org.junit.jupiter.api.extension.Extension", EXTENSION, LOOKS),
        (TESTNG, "org.testng.ITestNGListener", LISTENER, ""),
    ],
    ids=["JUnit 5", "TestNG"],
)
def test_a_service_that_the_build_lays_is_left_out(
    project: Project, service: str, green: str, more: str, tmp_path: Path
) -> None:
    """It stands where nothing loads it, and Maven copies it to where the library looks: every failure would pass."""
    pom = compiled(project).replace("</project>", LAID.format(more))
    change = {CODE: project.wrong(), GREEN: green, f"conf/{service}": "shop.Green\n", "pom.xml": pom}

    grades = graded(project, change, tmp_path)

    assert grades.base.verdict == "FAIL", grades.base
    assert "shop.CalcTest::adds: passed on the baseline, failed now" in grades.base.detail
    assert {"build-switch", "loaded-unasked", "under-test"} <= grades.rules, grades.harness.detail


def test_a_skip_from_the_code_is_no_pass(tmp_path: Path) -> None:
    """The code throws what TestNG takes for a skipped test."""
    code = TESTNG.wrong().replace("return a * b + 7;", 'throw new org.testng.SkipException("later");')

    grades = graded(TESTNG, {CODE: code, "pom.xml": compiled(TESTNG)}, tmp_path)

    assert grades.base.verdict == "FAIL", grades.base
    assert "passed on the baseline, skipped now" in grades.base.detail
    assert "under-test" in grades.rules
