"""The diff of a run: a list of files, the first of them open, the others loaded when they are opened."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.diff import FileChange, printable
from steelyard.errors import InputError, SteelyardError
from steelyard.store.rows import StoredRun
from steelyard.web.api.runs import read_run
from steelyard.web.auth import caller_of
from steelyard.web.pages.cards import newest_scorers
from steelyard.web.pages.changes import PIECE, FileView, Note, counts, listed, shown
from steelyard.web.pages.kept import Kept
from steelyard.web.pages.run import head
from steelyard.web.pages.shell import POLICY, part, render
from steelyard.worktree.patch import parse_patch

if TYPE_CHECKING:
    from steelyard.web.service import Service

FILES = 300  # names on one page
OPEN_ROWS, OPEN_FILES = 600, 20  # what is open at once
MOST_NOTES = 500


@dataclass(frozen=True)
class Changes:
    """A parsed patch, with its files in the order of their names."""

    files: tuple[FileChange, ...]
    added: int
    removed: int


def _parse(patch: bytes) -> Changes:
    files = tuple(sorted(parse_patch(patch), key=lambda change: change.path))
    sums = [counts(change) for change in files]
    return Changes(files, sum(a for a, _ in sums), sum(r for _, r in sums))


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter()
    patches = Kept(service.store.artifact, _parse)

    @routes.get("/runs/{run_id}/diff")
    def diff(request: Request, run_id: str) -> Response:
        """The list of files and the first of them."""
        stored = read_run(service, run_id, caller_of(request.scope))
        found = _view(patches, stored, dict(request.query_params))
        return render(request, "run_diff.html", **head(stored, "diff"), **found)

    @routes.get("/runs/{run_id}/diff/{index}")
    def one(request: Request, run_id: str, index: str) -> Response:
        """One file's rows: a piece of the page, for when it is opened."""
        stored = read_run(service, run_id, caller_of(request.scope))
        sha = stored.run.artifacts.get("diff")
        if sha is None:
            raise InputError(f"run {run_id[:80]} has no diff")
        changes = patches.get(sha)
        number = _whole(index, "file", len(changes.files) - 1)
        start = _whole(request.query_params.get("row", "0"), "row", 10**9)
        change = changes.files[number]
        view = shown(listed(number, change, _notes(stored).get(printable(change.path), [])), change, start)
        split = request.query_params.get("view") == "split"
        body = part("diff_file.html", file=view, split=split, base=head(stored, "diff")["base"], piece=PIECE)
        return Response(body, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": POLICY})

    return routes


def _whole(text: str, what: str, most: int) -> int:
    if not text.isdigit() or len(text) > 9 or int(text) > most:
        raise InputError(f"{what}: {text[:40]!r} is not a number from 0 to {most}")
    return int(text)


def _notes(stored: StoredRun) -> dict[str, list[Note]]:
    """The findings of all scorers by file."""
    found: dict[str, list[Note]] = {}
    every = [Note(result.name, finding) for result in newest_scorers(stored) for finding in result.findings]
    for note in every[:MOST_NOTES]:
        found.setdefault(note.finding.path, []).append(note)
    return found


def _view(patches: "Kept[Changes]", stored: StoredRun, params: dict[str, str]) -> dict[str, Any]:
    split = params.get("view") == "split"
    empty: dict[str, Any] = {"files": [], "changes": None, "split": split, "piece": PIECE, "name": "", "first": 0}
    empty |= {"total": 0, "page": FILES, "loose": [], "missing": None, "tree": []}
    sha = stored.run.artifacts.get("diff")
    if sha is None:
        reason = "A ledger run has no code tree." if stored.run.is_ledger else "No diff was captured for this run."
        return {**empty, "missing": reason}
    try:
        changes = patches.get(sha)
    except SteelyardError as error:
        return {**empty, "missing": f"The diff can't be shown: {error}"}
    if not changes.files:
        return {**empty, "missing": "The agent changed nothing."}
    name = params.get("name", "").strip()[:300]
    first = params.get("first", "0")
    start = int(first) if first.isdigit() and len(first) < 9 else 0
    notes = _notes(stored)
    wanted = [n for n, change in enumerate(changes.files) if name.casefold() in printable(change.path).casefold()]
    chosen = wanted[start : start + FILES]
    files = _opened(changes, chosen, notes, params.get("file", ""), int(_row(params)))
    known = {printable(path) for change in changes.files for path in change.paths}
    loose = [note for path, some in notes.items() if path not in known for note in some]
    filled = {"files": files, "changes": changes, "name": name, "first": start, "total": len(wanted), "loose": loose}
    return {**empty, **filled, "tree": _tree(files)}


def _tree(files: list[FileView]) -> list[tuple[str, list[FileView]]]:
    """The files by the folder that they are in."""
    folders: dict[str, list[FileView]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file)
    return sorted(folders.items())


def _row(params: dict[str, str]) -> str:
    row = params.get("row", "0")
    return row if row.isdigit() and len(row) < 9 else "0"


def _opened(changes: Changes, chosen: list[int], notes: dict[str, list[Note]], wanted: str, row: int) -> list[FileView]:
    """The files of a page; the one that is asked for, or the first few, with their rows."""
    left, opened, views = OPEN_ROWS, 0, []
    for number in chosen:
        change = changes.files[number]
        view = listed(number, change, notes.get(printable(change.path), []))
        lines = change.hunks.count(b"\n") + 1
        if wanted:
            views.append(shown(view, change, row) if wanted == str(number) else view)
        elif opened < OPEN_FILES and left > 0:
            views.append(shown(view, change, 0, min(left, PIECE)))
            left -= lines
            opened += 1
        else:
            views.append(view)
    return views
