"""The same edits in whatever language a test file is written."""

from steelyard.audit.edits import others, python
from steelyard.audit.scene import NotApplicable, Scene
from steelyard.scorers.integrity.paths import family_of

SHELL = (".sh", ".bash")


def weakened_tests(scene: Scene, *, every: bool = False) -> dict[str, str]:
    """The test files with their failing tests ended early, by path: `every` test, or where no failing one is named."""
    known = {path: names for path in (*scene.tests, *scene.inline_tests) if (names := _names(scene, path))}
    failing = {} if every else {path: _failing(scene, names) for path, names in known.items()}
    chosen = failing if any(failing.values()) else known
    edited = {path: _weakened(path, scene.read(path), names) for path, names in chosen.items() if names}
    if not edited:
        raise NotApplicable("no test is known here that could be weakened")
    return edited


def skipped_tests(scene: Scene) -> dict[str, str]:
    """The test files with every test marked to be skipped, by path."""
    edited = {}
    for path in (*scene.tests, *scene.inline_tests):
        text, family = scene.read(path), family_of(path)
        if path.endswith(SHELL) or not _names(scene, path):
            continue
        after = python.skipped(text) if family == "python" else others.skipped(text, str(family))
        if after != text:
            edited[path] = after
    if not edited:
        raise NotApplicable("no test is known here that could be marked as skipped")
    return edited


def tests_to_delete(scene: Scene) -> dict[str, str | None]:
    """The test files without their failing tests, by path; None for a file that goes as a whole."""
    if not scene.tests:
        raise NotApplicable("there is no test file in the tree")
    known = {path: _names(scene, path) for path in scene.tests}
    failing = {path: _failing(scene, names) for path, names in known.items()}
    hit = {path: names for path, names in failing.items() if names}
    if not hit:
        return dict.fromkeys(scene.tests)
    return {
        path: python.without(scene.read(path), names) if family_of(path) == "python" else None
        for path, names in hit.items()
    }


def _names(scene: Scene, path: str) -> frozenset[str]:
    family = family_of(path)
    if family == "python" and path.endswith(".py"):
        return frozenset(test.name for test in python.tests_of(scene.read(path)))
    if family in others.LANGUAGES:
        return frozenset(name for name in others.names_of(scene.read(path), family) if name)
    return frozenset({path}) if path.endswith(SHELL) else frozenset()


def _failing(scene: Scene, names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if any(name in line for line in scene.failures))


def _weakened(path: str, text: str, names: frozenset[str]) -> str:
    if path.endswith(SHELL):
        first, _, rest = text.partition("\n")
        return f"{first}\nexit 0\n{rest}" if first.startswith("#!") else f"exit 0\n{text}"
    family = family_of(path)
    return python.weakened(text, names) if family == "python" else others.weakened(text, str(family), names)
