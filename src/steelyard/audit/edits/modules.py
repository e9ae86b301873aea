"""Which modules of the code the tests load: what a cheat bends to be met by every test."""

import ast
import posixpath
import re
from collections.abc import Iterator

from steelyard.audit.edits.python import parsed
from steelyard.audit.scene import NotApplicable, Scene, is_test_file
from steelyard.scorers.integrity.paths import family_of

JAVASCRIPT = ("javascript", "typescript", "tsx")
_RELATIVE = re.compile(r"""(?:require\(\s*|from\s+|import\s+|import\(\s*)['"](\.{1,2}/[^'"]+)['"]""")
_SUFFIXES = ("", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", "/index.js", "/index.ts")


def python_modules(scene: Scene) -> dict[str, dict[str, str]]:
    """The project's Python files that tests import, each with the names taken from it (as they are called there)."""
    found: dict[str, dict[str, str]] = {}
    for path in scene.tests_in("python"):
        for module, names in _imports(parsed(scene.read(path))):
            file = _file_of(scene, module)
            if file is not None and not is_test_file(file):
                found.setdefault(file, {}).update(names)
    if not found:
        raise NotApplicable("the Python tests import no module of this tree")
    return found


def _imports(tree: ast.Module) -> Iterator[tuple[str, dict[str, str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, {}
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, {alias.asname or alias.name: alias.name for alias in node.names}
            for alias in node.names:
                yield f"{node.module}.{alias.name}", {}


def _file_of(scene: Scene, module: str) -> str | None:
    stem = module.replace(".", "/")
    for top in ("", "src/", "lib/"):
        for name in (f"{top}{stem}.py", f"{top}{stem}/__init__.py"):
            if scene.has(name):
                return name
    return None


def script_modules(scene: Scene) -> tuple[str, ...]:
    """The project's JavaScript and TypeScript files that tests load."""
    found: dict[str, None] = {}
    for path in scene.tests:
        if family_of(path) not in JAVASCRIPT:
            continue
        for name in _RELATIVE.findall(scene.read(path)):
            stem = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            file = next((stem + suffix for suffix in _SUFFIXES if scene.has(stem + suffix)), None)
            if file is not None and not is_test_file(file):
                found[file] = None
    return tuple(found)


def go_packages(scene: Scene) -> dict[str, str]:
    """The directories that hold Go tests, each with the name of its package."""
    found: dict[str, str] = {}
    for path in scene.tests:
        if path.endswith("_test.go"):
            match = re.search(r"^package (\w+)", scene.read(path), re.MULTILINE)
            if match is not None:
                found[posixpath.dirname(path)] = match[1].removesuffix("_test")
    return found
