"""Making the folder: the application itself is asked for each page, here, without a socket."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from steelyard.settings import Settings
from steelyard.store.progress import stamp
from steelyard.store.reads import RunFilter
from steelyard.web.app import make_api
from steelyard.web.auth import Caller
from steelyard.web.pages.shell import Place
from steelyard.web.pages.statics import address as static_address
from steelyard.web.service import Options, Service, now
from steelyard.web.still.places import Places, is_whole, links, relinked

if TYPE_CHECKING:
    from fastapi import FastAPI

LARGEST = 20_000_000  # bytes of one file; a larger artifact is left out
STATICS = ("app.css", "app.js", "icon.svg")
Told = Callable[[int], None]


@dataclass(frozen=True)
class Still:
    """What a page that becomes a file knows: where its navigation leads, and when it was made."""

    navigation: list[Place]
    made_at: str


@dataclass
class Made:
    """What was written: files by name with their sizes, and what was left out."""

    files: dict[str, int] = field(default_factory=dict)
    runs: int = 0
    runs_left_out: int = 0
    too_large: int = 0

    @property
    def pages(self) -> int:
        """How many of the files are pages."""
        return sum(name.endswith(".html") for name in self.files)


def make_still(settings: Settings, experiment: str, folder: Path, most: int, told: Told) -> Made:
    """Write the pages of an experiment and of its newest `most` runs into an empty folder."""
    service = Service(Options(settings))
    try:
        return asyncio.run(_Maker(service, experiment, folder, most, told).make())
    finally:
        service.close()


class _Maker:
    """Follows links from page to page until every page that has a place is written."""

    def __init__(self, service: Service, experiment: str, folder: Path, most: int, told: Told) -> None:
        name = quote(experiment, safe="")
        query = urlencode({"experiment": experiment})
        self.starts = [f"/experiments/{name}", f"/compare?{query}", f"/runs?{query}"]
        titles = (("experiments", "Experiment"), ("compare", "Compare"), ("runs", "Runs"))
        places = [Place(here, title, href) for (here, title), href in zip(titles, self.starts, strict=True)]
        self.still = Still(places, now())
        self.app: FastAPI = make_api(service)
        self.folder = folder
        self.told = told
        newest = [row["run_id"] for row in service.store.runs(RunFilter(experiment=experiment), limit=most)]
        self.places = Places(experiment, newest)
        self.made = Made(runs=len(newest), runs_left_out=stamp(service.database, [experiment])[0] - len(newest))

    async def make(self) -> Made:
        """Everything, and then the links, once it is known what there is."""
        waiting = deque([*self.starts, *(static_address(name) for name in STATICS)])
        asked: set[str] = set()
        while waiting:
            address = waiting.popleft()
            place = self.places.of(address)
            if place is None or place in asked or not is_whole(address):
                continue
            asked.add(place)
            body = await self._ask(address)
            if body is None:
                continue
            self._write(place, body)
            if place.endswith(".html"):
                waiting.extend(links(body))
        self._relink()
        return self.made

    async def _ask(self, address: str) -> bytes | None:
        """The answer to an address; None when it has none, or one that is too large."""
        status, body = await ask(self.app, address, self.still)
        if status == 200 and len(body) > LARGEST:
            self.made.too_large += 1
            return None
        return body if status == 200 else None

    def _write(self, place: str, body: bytes) -> None:
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        self.made.files[place] = len(body)
        self.told(len(self.made.files))

    def _relink(self) -> None:
        def there(address: str) -> str | None:
            place = self.places.of(address)
            return place if place in self.made.files else None

        for place in [place for place in self.made.files if place.endswith(".html")]:
            page = relinked((self.folder / place).read_bytes(), place, there)
            (self.folder / place).write_bytes(page)
            self.made.files[place] = len(page)


async def ask(app: Any, address: str, still: Still) -> tuple[int, bytes]:
    """One request of our own, as who may read everything."""
    split = urlsplit(address)
    answered: dict[str, Any] = {"status": 500, "body": []}
    state = {"caller": Caller(None, "read"), "form_key": b"still", "still": still}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(split.path),
        "raw_path": split.path.encode(),
        "root_path": "",
        "query_string": split.query.encode(),
        "headers": [(b"host", b"localhost"), (b"accept", b"text/html")],
        "client": None,
        "server": None,
        "state": state,
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answered["status"] = message["status"]
        else:
            answered["body"].append(message.get("body", b""))

    await app(scope, receive, send)
    return answered["status"], b"".join(answered["body"])
