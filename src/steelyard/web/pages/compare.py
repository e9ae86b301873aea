"""The comparison of arms: verdict, gates, what each task gained or lost, intervals, spread, and the promotion plan."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.comparison import Comparison
from steelyard.reports.view import view_of
from steelyard.web.api.comparing import promotion_of
from steelyard.web.api.runs import visible
from steelyard.web.auth import Caller, caller_of
from steelyard.web.pages import marks
from steelyard.web.pages.columns import run_address
from steelyard.web.pages.shell import render
from steelyard.web.problems import ProblemError
from steelyard.web.weighing import MOST_EXPERIMENTS, Choice, Weighed

if TYPE_CHECKING:
    from steelyard.web.service import Service

LONGEST = 200
RECENT = 30  # experiments to choose from


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/compare")
    def compare(request: Request) -> Response:
        """What the address chooses, weighed; without a choice, what there is to choose from."""
        caller = caller_of(request.scope)
        choice = read_choice(request)
        if not choice.experiments:
            shown = {"weighed": None, "view": None, "known": _recent(service, caller, choice)}
            return render(request, "compare.html", title="Compare", here="compare", choice=choice, **shown)
        weighed = service.scales.weigh(choice, caller)
        status = 422 if weighed.wrong else 200
        values = _chosen(choice, weighed) | _weighed(choice, weighed)
        return render(request, "compare.html", status, **values, known=_recent(service, caller, choice))

    return routes


def read_choice(request: Request) -> Choice:
    """What an address chooses; `ProblemError` for what nobody could mean."""
    params = request.query_params
    experiments = tuple(dict.fromkeys(name for name in params.getlist("experiment") if name))
    arms = tuple(dict.fromkeys(name for name in params.getlist("arm") if name))
    repeats = params.get("min_repeats", "5") or "5"
    if len(experiments) > MOST_EXPERIMENTS or len(arms) > 50:
        raise ProblemError("invalid-request", f"choose at most {MOST_EXPERIMENTS} experiments and 50 arms")
    if not (repeats.isascii() and repeats.isdigit() and 1 <= int(repeats[:9]) <= 10_000):
        raise ProblemError("invalid-request", f"min_repeats: {repeats[:40]!r} is not a number from 1 to 10000")
    return Choice(experiments, params.get("baseline") or None, params.get("candidate") or None, arms, int(repeats))


def address(choice: Choice, **changes: Any) -> str:
    """The page of a choice: the whole state is in it."""
    return f"/compare?{_query(choice, 'experiment', choice.experiments, changes)}"


def twin(choice: Choice, part: str = "comparison") -> str:
    """The same comparison as JSON."""
    first, *others = choice.experiments
    query = _query(choice, "with", others, {})
    return f"/v1/experiments/{quote(first, safe='')}/{part}" + (f"?{query}" if query else "")


def _query(choice: Choice, name: str, experiments: Any, changes: Mapping[str, Any]) -> str:
    pairs: list[tuple[str, str]] = [(name, each) for each in experiments]
    sides = {"baseline": choice.baseline, "candidate": choice.candidate, **changes}
    pairs += [(side, value) for side, value in sides.items() if value]
    pairs += [("arm", arm) for arm in choice.arms]
    pairs += [("min_repeats", str(choice.min_repeats))] if choice.min_repeats != 5 else []
    return urlencode(pairs)


def _recent(service: "Service", caller: Caller, choice: Choice) -> list[dict[str, Any]]:
    """The newest experiments, to choose from; the chosen ones are always among them."""
    rows = service.store.experiments(workspace=visible(caller, None), limit=RECENT)
    found = [{"id": row["id"], "created_at": row["created_at"], "on": row["id"] in choice.experiments} for row in rows]
    there = {row["id"] for row in found}
    return [*({"id": name, "created_at": None, "on": True} for name in choice.experiments if name not in there), *found]


def _chosen(choice: Choice, weighed: Weighed) -> dict[str, Any]:
    found = weighed.comparison
    title = "Compare" if found is None else f"{found.candidate} against {found.baseline}"
    sides = (choice.baseline, choice.candidate) if found is None else (found.baseline, found.candidate)
    return {
        "title": title,
        "here": "compare",
        "twin": twin(choice),
        "choice": choice,
        "weighed": weighed,
        "baseline": sides[0],
        "candidate": sides[1],
        "swap": address(choice, baseline=sides[1], candidate=sides[0]),
    }


def _weighed(choice: Choice, weighed: Weighed) -> dict[str, Any]:
    """Everything below the banner."""
    found = weighed.comparison
    if found is None:
        return {"view": None}
    view = view_of(found, run_address)
    return {
        "view": view,
        "bars": marks.task_bars(found, view.tasks),
        "rows": marks.forest(view.measures),
        "spreads": marks.spread_boxes(found),
        "against": {
            one.arm: address(choice, baseline=found.baseline, candidate=one.arm) for one in found.against_baseline
        },
        "others": found.against_baseline,
        "disagreements": _disagreements(found),
        "experiment": choice.experiments[0],
        "promotion": promotion_of(found, choice.experiments[0]) if len(choice.experiments) == 1 else None,
        "runs_of": _runs_of(choice),
    }


def _disagreements(found: Comparison) -> list[dict[str, Any]]:
    return [
        {"one": one, "runs": [(run_id, run_address(run_id)) for run_id in one.run_ids]} for one in found.disagreements
    ]


def _runs_of(choice: Choice) -> Any:
    """The list of a task's runs; of several experiments the list of the task in all."""

    def runs_of(task_id: str) -> str:
        query = {"experiment": choice.experiments[0]} if len(choice.experiments) == 1 else {}
        return f"/runs?{urlencode({**query, 'task': task_id[:LONGEST]})}"

    return runs_of
