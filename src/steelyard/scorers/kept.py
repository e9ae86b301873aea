"""Which files stay the baseline's while its tests run, and whether somebody wrote them meanwhile."""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from steelyard.domain.evidence import Evidence
from steelyard.errors import InfraError
from steelyard.sandboxes.base import Command, Sandbox
from steelyard.scorers.harness.js_config import CONFIG_FILES, loaded_files
from steelyard.scorers.harness.links import Links
from steelyard.scorers.harness.meter import metered
from steelyard.scorers.harness.unasked import GO_VENDORED, unasked
from steelyard.scorers.integrity.paths import VENDORED, family_of
from steelyard.scorers.paths import compiled

MAX_CONFIG = 1_000_000
ROOM = 60_000
"""How many characters of paths one `stat` is given."""


def kept(evidence: Evidence, patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a path is the baseline's.

    By pattern, as a file that the baseline's runner loads first, or because it changes every test by being there.
    """
    match = compiled(patterns).match
    changed = {path for change in evidence.diff.files for path in change.paths}
    # Vendored Go modules and their list must agree, else nothing is built: they change together or not at all.
    together = "vendor/modules.txt" in changed
    alone = {
        change.path
        for change in evidence.diff.files
        if unasked(change, evidence) is not None and not (together and GO_VENDORED.search(change.path))
    }
    alone |= _loaded_first(evidence, changed) | _plugins(evidence, changed)
    links = Links(evidence)
    with metered():
        alone |= {path for path in links.targets if links.bend(path, lambda name: match(name) is not None)}
    return lambda path: path in alone or match(path) is not None


def _loaded_first(evidence: Evidence, changed: Iterable[str]) -> set[str]:
    """The changed files that a JavaScript runner's configuration in the baseline names to be loaded before tests."""
    is_config = compiled(CONFIG_FILES).match
    named: set[str] = set()
    for config in evidence.baseline_files:
        if not is_config(config) or not VENDORED.isdisjoint(config.split("/")):
            continue
        text = (evidence.before(config) or b"")[:MAX_CONFIG].decode("utf-8", "replace")
        folder = posixpath.dirname(config)
        named.update(posixpath.normpath(posixpath.join(folder, word)) for word in loaded_files(text))
    return {path for path in changed if named & {path, posixpath.splitext(path)[0], _index(path)}}


_PYTEST_FILES = compiled(tuple(
    glob
    for name in ("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg",
                 "pyproject.toml")
    for glob in (name, f"*/{name}")
))  # fmt: skip
_PLUGINS = re.compile(
    r"(?m)^pytest_plugins\s*(?::[^=\n]{1,60})?=\s*(\[[^\]]{0,4000}\]|\([^)]{0,4000}\)|[\"'][^\"'\n]+[\"'])"
)
_OPTION = re.compile(r"(?<![\w-])-p[ \t]*[\"', \t]{0,4}([A-Za-z_][\w.]*)(?![\w.:])")
# A project that ships a plugin is tested through it: there it is the code under test.
_SHIPPED = re.compile(r"pytest|plugin")


def _plugins(evidence: Evidence, changed: Iterable[str]) -> set[str]:
    """The changed modules that the baseline's conftest.py files and settings tell pytest to load as plugins."""
    named: set[str] = set()
    for config in evidence.baseline_files:
        if _PYTEST_FILES.match(config) is None or not VENDORED.isdisjoint(config.split("/")):
            continue
        text = (evidence.before(config) or b"")[:MAX_CONFIG].decode("utf-8", "replace")
        modules = _OPTION.findall(text) if not config.endswith(".py") else []
        for value in _PLUGINS.findall(text) if config.endswith(".py") else ():
            modules += re.findall(r"[\"']([\w.]+)[\"']", value)
        for place in (module.replace(".", "/") for module in modules if not _SHIPPED.search(module)):
            tops = {"", "src", "lib", posixpath.dirname(config)}
            named |= {posixpath.join(top, f"{place}{end}") for top in tops for end in (".py", "/__init__.py")}
    return named & {*changed}


def _index(path: str) -> str:
    """The directory that a file is loaded for, such as a preset's; else the path itself."""
    folder, name = posixpath.split(path)
    return folder if re.match(r"(?:index|jest-preset)\.", name) else path


def watched(evidence: Evidence, ours: Callable[[str], bool], tests: tuple[str, ...]) -> list[str]:
    """The baseline's tests with their data, and the sources that are loaded with them: no run should write one."""
    match = compiled(tests).match
    return sorted(
        path
        for path in evidence.baseline_files
        if (match(path) is not None or (family_of(path) is not None and ours(path)))
        and "\n" not in path
        and VENDORED.isdisjoint(path.split("/"))
    )


def stamps(sandbox: Sandbox, paths: Sequence[str]) -> dict[str, str]:
    """Inode, size and time of change of each file that is there. A program can set other times back, not this one."""
    found: dict[str, str] = {}
    for some in _portions(paths):
        printed: list[bytes] = []
        argv = ("stat", "-c", "%i %s %z|%n", "--", *(f"./{path}" for path in some))
        result = sandbox.exec(Command(argv, 120.0, on_stdout=printed.append))
        if result.interrupted or result.timed_out:
            raise InfraError("sandbox_error", "the tests' files could not be looked at")
        for line in b"".join(printed).decode("utf-8", "surrogateescape").split("\n"):
            stamp, bar, name = line.partition("|")
            if bar:
                found[name.removeprefix("./")] = stamp
    return found


def _portions(paths: Sequence[str]) -> Iterable[list[str]]:
    some: list[str] = []
    size = 0
    for path in paths:
        size += len(path) + 3
        if some and size > ROOM:
            yield some
            some, size = [], len(path) + 3
        some.append(path)
    if some:
        yield some
