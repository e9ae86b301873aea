"""What the judge said of an arm's runs, added up: verdicts, mean ratings, ways of failing, and what judging cost."""

from collections import Counter
from dataclasses import dataclass, field
from math import fsum

from steelyard.domain.comparison import ArmJudged
from steelyard.domain.grade import JudgeResult

RATINGS = ("task_completion", "instruction_adherence", "efficiency")


@dataclass
class Tally:
    """The judgements of one arm, without keeping them."""

    verdicts: Counter[str] = field(default_factory=Counter)
    ratings: dict[str, Counter[int]] = field(default_factory=lambda: {name: Counter() for name in RATINGS})
    modes: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    costs: list[float | None] = field(default_factory=list)

    def add(self, judged: JudgeResult | None) -> None:
        """One more run, judged or not."""
        self.verdicts[judged.verdict if judged is not None else "NOT_RUN"] += 1
        if judged is None:
            return
        for name, counts in self.ratings.items():
            if (rating := getattr(judged, name)) is not None:
                counts[rating] += 1
        if judged.failure_mode is not None:
            self.modes[judged.failure_mode] += 1
        self.models[f"{judged.backend} {judged.model}"] += 1
        self.costs.append(judged.cost_usd)

    def summary(self, arm: str) -> ArmJudged:
        """All of it as a record."""
        known = [cost for cost in self.costs if cost is not None]
        return ArmJudged(
            arm=arm,
            passed=self.verdicts["PASS"],
            failed=self.verdicts["FAIL"],
            unparseable=self.verdicts["UNPARSEABLE"],
            not_run=self.verdicts["NOT_RUN"],
            ratings={name: _mean(counts) for name, counts in self.ratings.items()},
            failure_modes=dict(self.modes.most_common()),
            models=tuple(sorted(self.models)),
            cost_usd=fsum(known) if len(known) == len(self.costs) else None,
        )


def _mean(counts: Counter[int]) -> float | None:
    return sum(rating * count for rating, count in counts.items()) / counts.total() if counts else None
