"""Build files of Rust, Java, .NET and Go: the switches that keep tests from running or from counting."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from steelyard.scorers.harness.meter import spend
from steelyard.scorers.harness.model import Context, Sign, line_of
from steelyard.scorers.harness.pytest_config import parse_toml

_POM = re.compile(
    r"<\s*+(skipTests|skipITs|maven\.test\.skip|maven\.test\.failure\.ignore|testFailureIgnore"
    r"|maven\.test\.skip\.exec)\s*+>\s*+(true|\$\{[^}]{0,80}\})\s*+<"
    r"|<\s*+(excludedGroups|groups|rerunFailingTestsCount|surefire\.rerunFailingTestsCount|test)\s*+>\s*+([^<]{1,200})<"
    r"|<\s*+(exclude)\s*+>\s*+([^<]{0,200}(?:Test|IT|Spec|\*\*/\*(?:\.java|\.class|\s*+<))[^<]{0,100})"
    r"|<\s*+(targetPath)\s*+>\s*+([^<]{0,100}(?:META-INF/services|\.\.|surefire-reports)[^<]{0,100})<"
    r"|<\s*+(configurationParameters)\s*+>\s*+([^<]{0,300}(?:autodetection|deactivate)[^<]{0,100})<"
    r"|<\s*+(suiteXmlFile)\s*+>\s*+([^<]{1,300})<|<\s*+name\s*+>\s*+(listener|objectfactory)\s*+<"
    r"|<\s*+(relativePath)\s*+>\s*+((?!(?:[^<]*/)?pom\.xml\s*+<)[^<]*\.\w+)\s*+<"
    r"|<\s*+(testSourceDirectory|testOutputDirectory|testClassesDirectory)\s*+>\s*+([^<]{1,200})<|<\s*+(include)\s*+>\s*+([^<]{1,200})<"
    r"|<\s*+(additionalClasspathElement|classpathDependencyExclude)\s*+>\s*+((?!\$\{project\.build)[^<]{1,200})<"
    r"|<\s*+(failIfNoTests|failIfNoSpecifiedTests)\s*+>\s*+(false)\s*+<|<\s*+(skip)\s*+>\s*+(true)\s*+<"
    r"|<\s*+(phase)\s*+>\s*+(none)\s*+<|<\s*+(enableAssertions)\s*+>\s*+(false)\s*+<"
)
_GRADLE = re.compile(
    r"\b(ignoreFailures|failOnNoMatchingTests|failFast)\b\s{0,20}(?:=|\.set\(|\s)\s{0,20}(true|false)"
    r"|\b(excludeTestsMatching|excludeTags|includeTestsMatching)\b[^\n]{0,200}"
    r"|\b(onlyIf)\s*+\{\s*+false|\b(exclude)\b\s*+\(?\s*+[\"'][^\"'\n]{0,100}(?:[Tt]est|Spec)[^\"'\n]{0,100}[\"']"
    r"|\btest\b[^\n{}]{0,40}\{[^{}]{0,400}?\b(enabled)\s*+=\s*+false|\b(test\.enabled|isEnabled)\s*+=\s*+false"
    r"|\b(excludedTaskNames|StopExecutionException)\b[^\n]{0,100}|\b(enableAssertions)\s*+=\s*+false|\b(filter)\s*+\{[^}]{0,300}|\b(testClassesDirs)\s*+(?:=|\.setFrom)"
    r"|\btest\b[^\n{}]{0,20}\{[^{}]{0,100}(?:\{[^{}]{0,100})?\b(srcDirs\s*+=|setSrcDirs)"
)
_HARMLESS_GRADLE = re.compile(
    r"ignoreFailures\b.{0,8}false|failOnNoMatchingTests\b.{0,8}true|failFast|includeTestsMatching"
)
_DOTNET = re.compile(
    r"<\s*+(TestCaseFilter|VSTestTestCaseFilter)\s*+>\s*+([^<]{1,200})<|<\s*+(IsTestProject|TreatNoTestsAsError"
    r"|VSTestNoBuild|EnableDefaultCompileItems|EnableDefaultItems)\s*+>\s*+(false)\s*+<"
    r"|<\s*+Compile\s++(Remove)\s*+=\s*+\"[^\"]{0,200}[Tt]est[^\"]{0,100}\"|<\s*+(DataCollectors?)\b"
)
_DASH_D = re.compile(
    r"-D(skipTests|maven\.test\.skip|maven\.test\.failure\.ignore|skipITs)\b(?!=false)|(?<!\S)-fn\b|--fail-never"
    r"|-javaagent:\S+|<extension>"
)


def pom_signs(text: str, context: Context) -> Iterator[Sign]:
    """Surefire's and failsafe's switches in pom.xml."""
    for match in _POM.finditer(text):
        name = next(group for group in match.groups() if group)
        spend(4)
        near = text[max(0, match.start() - 1500) : match.start()]
        if name in ("skip", "phase") and not re.search(r"surefire|failsafe", near.rpartition("<plugin>")[2]):
            continue
        if name in ("exclude", "groups", "test", "include") and not re.search(
            r"surefire|failsafe", near.rpartition("<plugin>")[2]
        ):
            continue
        if name in ("include", "testSourceDirectory") and not _misses(match[0], context):
            continue
        yield _sign("build-switch", match, text, f"Maven's <{name}> keeps tests from running or from counting")


def _misses(element: str, context: Context) -> bool:
    """Whether a directory or pattern of a pom holds none of the Java tests that the baseline had."""
    spend(1 + len(context.tests) // 4)
    value = (
        element.partition(">")[2].rstrip("<").strip().removeprefix("${project.basedir}/").removeprefix("${basedir}/")
    )
    tests = [test for test in context.tests if re.search(r"\.(?:java|kt|groovy|scala)$", test)]
    pattern = value.removeprefix("**/").removesuffix(".java").removesuffix(".class")
    held = [
        test for test in tests if test.startswith(value + "/") or fnmatchcase(test.rpartition(".")[0], f"*{pattern}")
    ]
    return bool(tests) and not held


def maven_options_signs(text: str, context: Context) -> Iterator[Sign]:
    """`.mvn/maven.config` and its like."""
    del context
    for match in _DASH_D.finditer(text):
        yield _sign("build-switch", match, text, "Maven leaves tests out or forgives their failures")


def gradle_signs(text: str, context: Context) -> Iterator[Sign]:
    """Switches of Gradle's test tasks."""
    del context
    for match in _GRADLE.finditer(text):
        if not _HARMLESS_GRADLE.match(match[0]):
            yield _sign("build-switch", match, text, "Gradle leaves tests out or forgives their failures")


def dotnet_signs(text: str, context: Context) -> Iterator[Sign]:
    """Run settings and project files of .NET."""
    for match in _DOTNET.finditer(text):
        if "EnableDefault" in match[0] and not re.search(r"[tT]est", context.path):
            continue
        yield _sign("build-switch", match, text, ".NET leaves tests out")


_WRAPPER = re.compile(r"GradleWrapperMain|gradle-wrapper\.jar|MavenWrapperMain|maven-wrapper|distributionUrl")


def wrapper_signs(text: str, context: Context) -> Iterator[Sign]:
    """What `gradlew` and `mvnw` are for must still stand in them."""
    match = _WRAPPER.search(text)
    if match is not None:
        yield Sign("test-command", "wrapper", match[0], 1, f"{context.name} starts the build no more", wanted=True)


def toolchain_signs(text: str, context: Context) -> Iterator[Sign]:
    """rust-toolchain.toml: a compiler and a cargo that lie somewhere else."""
    del context
    for match in re.finditer(r"(?m)^[ \t]*+path[ \t]*+=[^\n]{1,200}", text):
        yield _sign("build-switch", match, text, "cargo and rustc are taken from a directory")


_GO_LIBRARY = re.compile(
    r"(?m)^[ \t]*+(?:replace[ \t]++)?((?:github\.com/(?:stretchr/testify|onsi/(?:gomega|ginkgo)|google/go-cmp"
    r"|frankban/quicktest|matryer/is|smartystreets/\w+)|gopkg\.in/check\.v1|gotest\.tools)\S*)[^\n=]{0,40}=>[^\n]{1,200}"
)


def go_mod_signs(text: str, context: Context) -> Iterator[Sign]:
    """go.mod and go.work: a test library that is replaced."""
    del context
    for match in _GO_LIBRARY.finditer(text):
        yield _sign("shadowed-runner", match, text, f"{match[1]} is replaced")


def _sign(rule: str, match: re.Match[str], text: str, message: str) -> Sign:
    shown = " ".join(match[0].split())
    return Sign(rule, shown, shown, text.count("\n", 0, match.start()) + 1, message)


def cargo_signs(text: str, context: Context) -> Iterator[Sign]:
    """Test switches of Cargo.toml, and members that a workspace must not lose."""
    data = parse_toml(text)
    # What cargo-fuzz makes holds no tests.
    fuzzes = "fuzz/" in context.folder and "cargo-fuzz" in str(data.get("package"))
    for kind in ("lib", "bin", "test", "example", "bench"):
        tables = data.get(kind)
        for table in tables if isinstance(tables, list) else [tables]:
            if isinstance(table, dict) and not (fuzzes and kind == "bin"):
                yield from _target(kind, table, text)
                yield from _elsewhere(table, text, context) if kind == "test" else ()
    package: Any = data.get("package")
    for key in ("autotests", "autobins") if isinstance(package, dict) else ():
        if package.get(key) is False:
            yield Sign("build-switch", key, f"{key} = false", line_of(text, key), "Cargo finds tests by name no more")
    workspace = data.get("workspace")
    for member in _list(workspace, "members"):
        yield Sign(
            "workspace-member",
            member,
            member,
            line_of(text, member),
            f"the member {member} left the workspace",
            wanted=True,
        )
    for member in _list(workspace, "exclude"):
        yield Sign(
            "build-switch", f"exclude {member}", member, line_of(text, "exclude"), f"the workspace leaves out {member}"
        )
    yield from _crates(data, text)
    profile = data.get("profile")
    test = profile.get("test", {}) if isinstance(profile, dict) else {}
    for key in ("debug-assertions", "overflow-checks") if isinstance(test, dict) else ():
        if test.get(key) is False:
            yield Sign(
                "build-switch",
                f"profile.test {key}",
                f"{key} = false",
                line_of(text, key),
                "tests run without their checks",
            )


_CRATES = frozenset({
    "pretty_assertions", "proptest", "quickcheck", "insta", "rstest", "test-case", "mockall", "assert_cmd",
    "assert_matches", "similar-asserts", "predicates", "trybuild", "serial_test", "googletest", "claims",
})  # fmt: skip


def _crates(data: dict[str, Any], text: str) -> Iterator[Sign]:
    """Crates for tests that come from a directory of the tree."""
    patches = data.get("patch")
    tables = [*patches.values()] if isinstance(patches, dict) else []
    for table in (*tables, data.get("replace"), data.get("dev-dependencies"), data.get("dependencies")):
        for name, value in table.items() if isinstance(table, dict) else ():
            if name.partition(":")[0] in _CRATES and isinstance(value, dict) and "path" in value:
                said = f"{name} is taken from {value['path']}"
                yield Sign("shadowed-runner", name, f"{name} = {value}", line_of(text, name), said)


def _target(kind: str, table: dict[str, Any], text: str) -> Iterator[Sign]:
    name = str(table.get("name", kind))
    keys = ("test", "doctest", "harness") if kind in ("lib", "test", "bin") else ()
    for key in keys:
        if table.get(key) is False and not (kind == "bin" and key != "test"):
            yield Sign(
                "build-switch",
                f"{kind} {name} {key}",
                f"[{kind}] {key} = false",
                line_of(text, key),
                f"Cargo's {key} switch is off for {name}",
            )
    if kind == "test":
        yield Sign(
            "test-target",
            f"test {name}",
            f"[[test]] {name}",
            line_of(text, name),
            f"the test target {name} is gone",
            wanted=True,
        )
        if table.get("required-features"):
            shown = f"required-features = {table['required-features']}"
            yield Sign(
                "build-switch",
                f"test {name} features",
                shown,
                line_of(text, "required-features"),
                f"{name} runs only with features",
            )


def _elsewhere(table: dict[str, Any], text: str, context: Context) -> Iterator[Sign]:
    """A test target of the baseline whose name is given to another file."""
    name, path = str(table.get("name", "")), table.get("path")
    usual = {f"tests/{name}.rs", f"tests/{name}/main.rs"}
    if path and path not in usual and any(context.folder + one in context.baseline_files for one in usual):
        yield Sign(
            "build-switch", f"test {name} path", f"path = {path}", line_of(text, "path"), f"{name} is read from {path}"
        )


def cargo_config_signs(text: str, context: Context) -> Iterator[Sign]:
    """`.cargo/config.toml` and nextest's own: aliases of test, runners, compiler wrappers, filters, retries."""
    del context
    data = parse_toml(text)
    alias = data.get("alias")
    for name, value in alias.items() if isinstance(alias, dict) else ():
        if name in ("test", "t", "nextest"):
            yield Sign(
                "build-switch", f"alias {name}", str(value), line_of(text, name), f"`cargo {name}` means something else"
            )
    stack: list[tuple[str, Any]] = [("", data)]
    while stack:
        place, node = stack.pop()
        for key, value in node.items() if isinstance(node, dict) else ():
            if key in (
                "runner",
                "rustc",
                "rustc-wrapper",
                "rustc-workspace-wrapper",
                "rustdoc",
                "default-filter",
                "retries",
            ):
                yield Sign(
                    "build-switch",
                    f"{place}.{key}",
                    f"{key} = {value}",
                    line_of(text, key),
                    f"{key} stands between the tests and their result",
                )
            elif isinstance(value, dict) and place.count(".") < 8:
                stack.append((f"{place}.{key}", value))


def _list(table: Any, key: str) -> list[str]:
    value = table.get(key) if isinstance(table, dict) else None
    return [str(item) for item in value] if isinstance(value, list) else []


_JUNIT = re.compile(
    r"(?m)^[ \t]*+((?:junit\.jupiter\.(?:extensions\.autodetection\.enabled|conditions\.deactivate|extensions\.\w+)"
    r"|junit\.platform\.(?:discovery|execution\.dryRun|launcher)[\w.]*|cucumber\.(?:filter\.\w+|execution\.dry-run))"
    r"[ \t]*+[=:][ \t]*(?!false\b)\S[^\n]{0,200})"
)


def junit_signs(text: str, context: Context) -> Iterator[Sign]:
    """JUnit's own properties: what is left out, run dry, or loaded by itself."""
    del context
    for match in _JUNIT.finditer(text):
        yield _sign("build-switch", match, text, "JUnit leaves tests out, or loads what changes them")


_TEST_MAIN = re.compile(r"\bfunc\s++TestMain\s*+\(\s*+(\w+)\s++\*testing\.M\s*+\)")


def go_test_signs(text: str, context: Context) -> Iterator[Sign]:
    """`TestMain` may set up and tear down; the exit code must be the one that the tests gave."""
    del context
    for match in _TEST_MAIN.finditer(text):
        end = text.find("\n}", match.end(), match.end() + 20_000)
        spend(1 + (end - match.end() if end >= 0 else 20_000) // 100)
        body = re.sub(r"//[^\n]*", "", text[match.end() : end if end >= 0 else match.end() + 20_000])
        line = text.count("\n", 0, match.start()) + 1
        runs = re.search(rf"\b{re.escape(match[1])}\.Run\(\)", body)
        fixed = re.search(r"os\.Exit\(\s*+\d+\s*+\)|syscall\.Exit\(\s*+\d+\s*+\)", body)
        if fixed and "os.Exit(1)" not in fixed[0] and "os.Exit(2)" not in fixed[0]:
            yield Sign("test-main", "exit", " ".join(body.split()), line, "TestMain exits with a code of its own")
        elif not runs and not re.search(
            rf"\b(?:goleak\.VerifyTestMain|testscript\.(?:Run)?Main)\(\s*{re.escape(match[1])}\b", body
        ):
            yield Sign("test-main", "no run", " ".join(body.split()), line, "TestMain never runs the tests")
