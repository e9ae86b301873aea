"""Lists: every page of 50 of two filters out of a million runs, against the first page."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from tests.web.server import Served

from benchmarks.measure import median
from benchmarks.service_store import WORKSPACE

FIRST = 200  # how often the first page is asked for
# Both dense; one narrow; one whose matches all lie at the far end, one at the near end, and one without any.
FILTERS: tuple[Mapping[str, str], ...] = (
    {"arm": "plain", "verdict": "PASS"},
    {"task": "task-7", "tier": "Gold"},
    {"tier": "Gold", "status": "completed"},
    {"arm": "rare", "verdict": "FAIL"},
    {"tier": "Elite", "since": "2026-01-20T00:00:00Z"},
    {"arm": "plain", "status": "failed"},
)


@dataclass(frozen=True)
class Walked:
    """A walk through all pages of two filters."""

    filters: Mapping[str, str]
    pages: int
    rows: int
    first_ms: float
    first_p99_ms: float  # what the machine's own unrest makes of one and the same page
    p99_ms: float

    @property
    def ratio(self) -> float:
        """The p99 of all pages next to the first page's p50."""
        return self.p99_ms / self.first_ms


def walk(served: Served, token: str, filters: Mapping[str, str], most_pages: int) -> Walked:
    """Read the first page often and every page once, up to so many."""
    with served.client(token) as client:
        wanted = {"workspace": WORKSPACE, "limit": "50", **filters}
        first = [_page(client, wanted)[0] for _ in range(FIRST)][5:]
        times: list[float] = []
        rows, cursor = 0, None
        while len(times) < most_pages:
            spent, page = _page(client, wanted if cursor is None else {**wanted, "cursor": cursor})
            times.append(spent)
            rows += len(page["data"])
            cursor = page["next_cursor"]
            if cursor is None:
                break
    return Walked(filters, len(times), rows, median(first), _p99(first), _p99(times))


def _p99(times: list[float]) -> float:
    return sorted(times)[min(len(times) - 1, int(0.99 * len(times)))]


def _page(client: httpx.Client, params: Mapping[str, str]) -> tuple[float, dict[str, Any]]:
    begun = time.perf_counter()
    answer = client.get("/v1/runs", params=dict(params))
    spent = 1000 * (time.perf_counter() - begun)
    assert answer.status_code == 200, answer.text
    return spent, answer.json()
