"""A finished run described as JSON, and its scorecard as the seed's document."""

from typing import Any

from steelyard.domain.score import RunDescription, Scorecard
from steelyard.domain.usage import Resources
from steelyard.formulas.scorecard import DEFAULT_WEIGHTS, RunFacts, Stage


def facts_from(description: RunDescription) -> RunFacts:
    """What the formula looks at in a description."""
    given = description.resources
    return RunFacts(
        run_id=description.run_id,
        outcome=description.outcome,
        stages=tuple(Stage(stage.name, stage.attempts, stage.passed) for stage in description.stages or ()),
        wall_s=description.wall_s,
        history_wall_s=description.history_wall_s or (),
        baseline_p50_s=description.baseline_p50_s,
        resources=Resources(**given.model_dump()) if given is not None else None,
        weights=description.weights or DEFAULT_WEIGHTS,
    )


def score_document(scorecard: Scorecard) -> dict[str, Any]:
    """The seed's fields in the seed's order, then the weights and the axes that are defaults."""
    return scorecard.model_dump(mode="json", exclude={"inputs"})
