"""What the pages and the API compare: arms of one stored experiment or of several, weighed once and remembered."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.experiment import Experiment
from steelyard.errors import InputError
from steelyard.store.clean import storable
from steelyard.store.errors import NotFoundError
from steelyard.store.progress import stamp
from steelyard.web.auth import Caller

if TYPE_CHECKING:
    from steelyard.compare.runs import Material
    from steelyard.domain.comparison import Comparison
    from steelyard.web.service import Service

MOST_EXPERIMENTS = 8
MOST_RUNS = 100_000
REMEMBERED = 32


@dataclass(frozen=True)
class Choice:
    """What to weigh: experiments, the two arms (None: as the suite says), and which arms at all (none: every one)."""

    experiments: tuple[str, ...]
    baseline: str | None = None
    candidate: str | None = None
    arms: tuple[str, ...] = ()
    min_repeats: int = 5


@dataclass(frozen=True)
class Weighed:
    """The arms that have runs, and the comparison or why there is none; `wrong` is a choice that can't be."""

    names: tuple[str, ...]
    comparison: "Comparison | None" = None
    problem: str | None = None
    wrong: bool = False

    @property
    def answer(self) -> "Comparison":
        """The comparison; `InputError` when there is none."""
        if self.comparison is None:
            raise InputError(self.problem or "there is nothing to compare")
        return self.comparison


class Scales:
    """Weighs stored runs; what was weighed is remembered for as long as no run or verdict is added."""

    def __init__(self, service: "Service") -> None:
        self.service = service
        self._kept: OrderedDict[object, Weighed] = OrderedDict()
        self._lock = threading.Lock()

    def weigh(self, choice: Choice, caller: Caller) -> Weighed:
        """The choice weighed; `NotFoundError` for an experiment without runs that the caller may see."""
        ids = tuple(dict.fromkeys(storable(name) for name in choice.experiments))
        if not 1 <= len(ids) <= MOST_EXPERIMENTS:
            raise InputError(f"experiment: choose 1 to {MOST_EXPERIMENTS}, not {len(ids)}")
        marks = stamp(self.service.database, ids)
        if marks[0] > MOST_RUNS:
            most = f"more than {MOST_RUNS:,} runs are too many here"
            raise InputError(f"{most}: `steelyard compare {' '.join(ids)}` weighs them in a terminal")
        key = (marks, ids, choice, caller.workspace)
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            found = self._weigh(ids, choice, caller)
            with self._lock:
                self._kept[key] = found
                while len(self._kept) > REMEMBERED:
                    self._kept.popitem(last=False)
        return found

    def _weigh(self, ids: tuple[str, ...], choice: Choice, caller: Caller) -> Weighed:
        from steelyard.compare.runs import weigh_runs
        from steelyard.compare.together import Part, together

        store = self.service.store
        experiments = [find_experiment(self.service, name, caller) for name in ids]
        parts = [
            Part(
                name, found.arms if found else (), (run for run in store.iter_runs(name) if caller.sees(run.workspace))
            )
            for name, found in zip(ids, experiments, strict=True)
        ]
        material, names = together(parts, choice.arms)
        for name, own in zip(ids, names, strict=True):
            if not own:
                raise NotFoundError(f"experiment {name[:80]!r} has no finished runs")
        every = tuple(sorted(arm for own in names for arm in own.values()))
        spec = _spec(experiments, material)
        wrong = _wrong(choice, every)
        if wrong:
            return Weighed(every, problem=wrong, wrong=True)
        unclear = _unclear(choice, spec, tuple(material.facts))
        if unclear:
            return Weighed(every, problem=unclear)
        answer = weigh_runs(material, choice.baseline, choice.candidate, spec, choice.min_repeats)
        if len(ids) > 1:
            note = f"the arms come from {len(ids)} experiments: they did not run side by side"
            answer = answer.model_copy(update={"notes": (*answer.notes, note)})
        return Weighed(every, answer)


def find_experiment(service: "Service", name: str, caller: Caller) -> Experiment | None:
    """An experiment by its whole id, if the caller may see it."""
    try:
        found = service.store.experiment(name)
    except InputError:
        return None
    return found if found.id == storable(name) and caller.sees(found.workspace) else None


def _spec(experiments: Sequence[Experiment | None], material: "Material") -> CompareSpec:
    """How the last experiment that says so wants to be compared; arms only where it stands alone and they have runs."""
    spec = next((found.compare for found in reversed(experiments) if found is not None), CompareSpec())
    arms = {side: getattr(spec, side) if len(experiments) == 1 else None for side in ("baseline", "candidate")}
    return spec.model_copy(update={side: arm if arm in material.facts else None for side, arm in arms.items()})


def _wrong(choice: Choice, every: tuple[str, ...]) -> str | None:
    """What the choice asks for that there is not."""
    chosen = (("baseline", choice.baseline), ("candidate", choice.candidate), *(("arm", arm) for arm in choice.arms))
    for side, arm in chosen:
        if arm is not None and arm not in every:
            return f"{side}: no arm is called {arm[:80]!r}; there are: {', '.join(every[:20])}"
        if arm is not None and choice.arms and arm not in choice.arms:
            return f"{side}: {arm[:80]!r} is not among the arms that were chosen"
    if choice.baseline is not None and choice.baseline == choice.candidate:
        return f"baseline and candidate are both {choice.baseline[:80]!r}; choose two different arms"
    return None


def _unclear(choice: Choice, spec: CompareSpec, names: tuple[str, ...]) -> str | None:
    """Why it can't be told what to weigh, never guessed."""
    if len(names) < 2:
        return f"a comparison needs two arms with runs; there is only {', '.join(names) or 'none'}"
    given = (choice.baseline or spec.baseline, choice.candidate or spec.candidate)
    if given[0] is not None and given[0] == given[1]:
        return f"{given[0][:80]!r} would be weighed against itself: choose the other side too"
    if all(given) or (len(names) == 2 and any(given)):
        return None
    return f"choose which arm is the baseline and which the candidate: {', '.join(sorted(names)[:20])}"
