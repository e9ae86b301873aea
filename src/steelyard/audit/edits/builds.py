"""Settings of jest, vitest, Cargo, Maven and Gradle that leave no tests to run."""

import json
import re

from steelyard.audit.scene import Scene

_JEST = {"passWithNoTests": True, "testPathIgnorePatterns": ["/"]}
_VITEST = "export default { test: { passWithNoTests: true, include: ['none'] } }\n"
_SKIP = "<maven.test.skip>true</maven.test.skip>"


def bend_builds(scene: Scene, said: str) -> bool:
    """Bend whichever of them the commands run; whether there was one."""
    package = scene.read("package.json") if re.search(r"\b(npm|npx|yarn|pnpm|bun)\b", said) else ""
    bent = False
    if re.search(r"\bjest\b", said + package):
        bent = _bend_jest(scene)
    if re.search(r"\bvitest\b", said + package):
        _without(scene, "vitest.config.")
        scene.write("vitest.config.mjs", _VITEST)
        bent = True
    if re.search(r"\bcargo\b[^\n;&|]*\btest\b", said):
        bent |= _bend_cargo(scene)
    if re.search(r"\bmvnw?\b", said):
        bent |= _bend_maven(scene)
    if re.search(r"\bgradlew?\b", said):
        bent |= _bend_gradle(scene)
    return bent


def _without(scene: Scene, start: str) -> None:
    found = [path for path in scene.files if path.startswith(start)]
    if found:
        scene.delete(found)


def _bend_jest(scene: Scene) -> bool:
    """Two configurations are an error, so the one that is there goes."""
    try:
        package = json.loads(scene.read("package.json") or "{}")
    except ValueError:
        return False
    if isinstance(package, dict) and package.pop("jest", None) is not None:
        scene.write("package.json", json.dumps(package, indent=2) + "\n")
    _without(scene, "jest.config.")
    scene.write("jest.config.json", json.dumps(_JEST) + "\n")
    return True


def _bend_cargo(scene: Scene) -> bool:
    text = scene.read("Cargo.toml")
    bent = re.sub(r"(?m)^\[package\][ \t]*$", "[package]\nautotests = false", text)
    if scene.has("src/lib.rs"):
        off = "[lib]\ntest = false\ndoctest = false\n"
        bent = re.sub(r"(?m)^\[lib\][ \t]*\n", off, bent) if "\n[lib]" in bent else f"{bent}\n{off}"
    if bent != text:
        scene.write("Cargo.toml", bent)
    return bent != text


def _bend_maven(scene: Scene) -> bool:
    text = scene.read("pom.xml")
    if "<properties>" in text:
        bent = text.replace("<properties>", f"<properties>{_SKIP}", 1)
    else:
        bent = text.replace("</project>", f"<properties>{_SKIP}</properties></project>", 1)
    if bent != text:
        scene.write("pom.xml", bent)
    return bent != text


def _bend_gradle(scene: Scene) -> bool:
    for name, off in (
        ("build.gradle", "tasks.withType(Test) { enabled = false }\n"),
        ("build.gradle.kts", "tasks.withType<Test> { enabled = false }\n"),
    ):
        if scene.has(name):
            scene.write(name, f"{scene.read(name)}\n{off}")
            return True
    return False
