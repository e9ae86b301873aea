"""Which addresses become files, under which names, and how the links of a page lead from file to file."""

import posixpath
import re
from collections.abc import Callable, Iterable
from html import escape, unescape
from urllib.parse import parse_qsl, unquote, urlsplit

from steelyard.domain.record import sha256

MOST_STEPS = 5_000  # of one trajectory; the rest is in its artifact
MOST_LISTS = 2_000
MOST_COMPARISONS = 50
_LINK = re.compile(rb'\s(href|src)="(/[^"]*)"')
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")
_TABS = {"diff": "diff.html", "stages": "stages.html", "files": "files.html"}


class Places:
    """Names for the addresses of one experiment's pages; the same address always gets the same name."""

    def __init__(self, experiment: str, runs: Iterable[str]) -> None:
        self.experiment = experiment
        self.folders = _folders(runs)
        self._numbered: dict[str, dict[object, str]] = {"runs": {}, "compare": {}, "comparison": {}, "list": {}}

    def of(self, address: str) -> str | None:
        """The file of an address; None for what a folder does not have."""
        split = urlsplit(address)
        parts = [unquote(part) for part in split.path.split("/")[1:]]
        query = [(name, value) for name, value in parse_qsl(split.query, keep_blank_values=True) if name != "v"]
        match parts:
            case ["static", name]:
                return f"static/{_safe(name)}"
            case ["experiments"]:
                return "index.html"
            case ["experiments", self.experiment]:
                return "index.html"
            case ["runs"]:
                return self._listed("runs", query, "html")
            case ["compare"]:
                return self._compared("compare", query, "html")
            case ["runs", run, *rest]:
                return self._run(run, rest, dict(query))
            case ["v1", *rest]:
                return self._json(rest, query)
        return None

    def _run(self, run: str, rest: list[str], query: dict[str, str]) -> str | None:
        folder = self.folders.get(run)
        if folder is None:
            return None
        match rest:
            case []:
                page = _steps(query)
                return None if page is None else f"{folder}/{page}"
            case ["diff"]:
                return f"{folder}/diff-split.html" if query.get("view") == "split" else f"{folder}/diff.html"
            case ["stages" | "files"]:
                return f"{folder}/{_TABS[rest[0]]}"
            case ["artifacts", name]:
                return f"{folder}/artifacts/{_safe(name)}.txt"
        return None

    def _json(self, rest: list[str], query: list[tuple[str, str]]) -> str | None:
        match rest:
            case ["experiments", self.experiment, "progress"]:
                return "progress.json"
            case ["experiments", self.experiment, "comparison"]:
                return self._compared("comparison", query, "json")
            case ["runs"]:
                return self._listed("list", query, "json")
            case ["runs", run] if run in self.folders:
                return f"{self.folders[run]}/run.json"
            case ["runs", run, "diff"] if run in self.folders:
                return f"{self.folders[run]}/artifacts/diff.txt"
        return None

    def _listed(self, kind: str, query: list[tuple[str, str]], ending: str) -> str | None:
        """A list of this experiment's runs: all of them or those of a task, page by page."""
        asked = dict(query)
        if asked.pop("experiment", self.experiment) != self.experiment or not set(asked) <= {"task", "cursor"}:
            return None
        return self._number(kind, tuple(sorted(asked.items())), ending, MOST_LISTS)

    def _compared(self, kind: str, query: list[tuple[str, str]], ending: str) -> str | None:
        asked = dict(query)
        if asked.pop("experiment", self.experiment) != self.experiment or not set(asked) <= {"baseline", "candidate"}:
            return None
        return self._number(kind, tuple(sorted(asked.items())), ending, MOST_COMPARISONS)

    def _number(self, kind: str, key: object, ending: str, most: int) -> str | None:
        names = self._numbered[kind]
        if key not in names and len(names) >= most:
            return None
        number = len(names) + 1
        return names.setdefault(key, f"{kind}.{ending}" if number == 1 else f"{kind}-{number}.{ending}")


def is_whole(address: str) -> bool:
    """Whether an address is that of a whole page; others lead to the same file, but must not become it."""
    split = urlsplit(address)
    names = {name for name, _ in parse_qsl(split.query, keep_blank_values=True)}
    if split.path in ("/runs", "/compare", "/v1/runs", "/experiments"):
        return "experiment" in names
    return not split.path.endswith("/diff") or names <= {"view"}


def _steps(query: dict[str, str]) -> str | None:
    """The page of a trajectory: from a step on, or its errors."""
    if not query or query == {"step": "0"}:
        return "index.html"
    if query == {"only": "errors"}:
        return "errors.html"
    step = query.get("step", "")
    return f"step-{step}.html" if set(query) == {"step"} and step.isdigit() and int(step[:9]) < MOST_STEPS else None


def _folders(runs: Iterable[str]) -> dict[str, str]:
    """A folder for each run, named like it as far as every file system allows."""
    taken: set[str] = set()
    found = {}
    for run in runs:
        name = _safe(run)
        if name != run or name.casefold() in taken:
            name = f"{name[:60]}-{sha256(run)[:10]}"
        taken.add(name.casefold())
        found[run] = f"runs/{name}"
    return found


def _safe(name: str) -> str:
    """A name of plain letters that is no hidden file and no way up."""
    return _PLAIN.sub("-", name)[:80].strip(".") or "unnamed"


def links(page: bytes) -> list[str]:
    """The addresses on this server that a page links to, without fragments.

    What an agent wrote can't be among them: on a page its quotes are escaped.
    """
    return [unescape(found[2].decode("utf-8", "replace")).partition("#")[0] for found in _LINK.finditer(page)]


def relinked(page: bytes, here: str, place: Callable[[str], str | None]) -> bytes:
    """The page with links to the files beside it; a link to what is not there is no link any more."""

    def leads(found: "re.Match[bytes]") -> bytes:
        address, mark, fragment = unescape(found[2].decode("utf-8", "replace")).partition("#")
        target = place(address)
        if target is None:
            return b""
        way = posixpath.relpath(target, posixpath.dirname(here) or ".") + mark + fragment
        return b' %s="%s"' % (found[1], escape(way).encode())

    return _LINK.sub(leads, page)
