"""Comparing arms over HTTP: the comparison, and what a promotion would say."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.comparison import Comparison
from steelyard.domain.record import Record
from steelyard.web.answers import answer
from steelyard.web.api.experiments import ExperimentId
from steelyard.web.api.runs import Word
from steelyard.web.auth import caller_of
from steelyard.web.problems import documented
from steelyard.web.weighing import MOST_EXPERIMENTS, Choice

if TYPE_CHECKING:
    from steelyard.web.service import Service

MinRepeats = Annotated[int, Query(ge=1, le=10_000, description="repeats that a promotion needs")]
Others = Annotated[
    list[str], Query(alias="with", max_length=MOST_EXPERIMENTS - 1, description="experiments to weigh together with it")
]
Arms = Annotated[list[str], Query(max_length=50, description="these arms only")]


class Promotion(Record):
    """What `steelyard promote` would propose for the candidate; with reasons against it, it proposes nothing."""

    promote: bool
    reasons: tuple[str, ...]
    branch: str
    title: str
    commit_message: str
    body: str
    command: str


ANSWERS: tuple[type[Record], ...] = (Promotion,)


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["experiments"])
    missing = documented("not-found", "invalid-request")

    @routes.get(
        "/v1/experiments/{experiment_id}/comparison",
        response_model=Comparison,
        operation_id="comparison",
        responses=missing,
    )
    def comparison(
        request: Request,
        experiment_id: ExperimentId,
        baseline: Word = None,
        candidate: Word = None,
        arm: Arms = [],  # noqa: B006  # FastAPI copies it
        others: Others = [],  # noqa: B006
        min_repeats: MinRepeats = 5,
    ) -> Response:
        """Two arms weighed against each other: verdict, decision, and every number behind them.

        An arm's name that several experiments have is followed by `@` and the experiment.
        """
        choice = Choice((experiment_id, *others), baseline, candidate, tuple(arm), min_repeats)
        found = service.scales.weigh(choice, caller_of(request.scope)).answer
        return answer(request, found.model_dump(mode="json"))

    @routes.get(
        "/v1/experiments/{experiment_id}/promotion",
        response_model=Promotion,
        operation_id="promotion",
        responses=missing,
    )
    def promotion(
        request: Request,
        experiment_id: ExperimentId,
        baseline: Word = None,
        candidate: Word = None,
        min_repeats: MinRepeats = 5,
    ) -> Response:
        """The plan of a promotion: branch, commit, title and body of the pull request, and what is against it."""
        choice = Choice((experiment_id,), baseline, candidate, (), min_repeats)
        found = service.scales.weigh(choice, caller_of(request.scope)).answer
        return answer(request, promotion_of(found, experiment_id).model_dump(mode="json"))

    return routes


def promotion_of(comparison: Comparison, experiment: str) -> Promotion:
    """What a promotion of the candidate would say; the overlay itself is looked at by `steelyard promote`."""
    import shlex

    from steelyard.promote import texts

    chosen = ["--baseline", comparison.baseline, "--candidate", comparison.candidate]
    return Promotion(
        promote=comparison.promote,
        reasons=comparison.promote_reasons,
        branch=texts.branch_name("promote", comparison.candidate, experiment[-8:].lower()),
        title=texts.candidate_title(comparison),
        commit_message=texts.candidate_message(comparison, experiment),
        body=texts.candidate_body(comparison, experiment),
        command=shlex.join(["steelyard", "promote", experiment, *chosen]),
    )
