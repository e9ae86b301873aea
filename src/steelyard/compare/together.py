"""The runs of one experiment or of several side by side, each arm under a name of its own."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from steelyard.compare.runs import Material
from steelyard.domain.run import Run
from steelyard.domain.suite import Arm


@dataclass(frozen=True)
class Part:
    """An experiment's share: its id, its arms as far as they were described, and its runs."""

    experiment: str
    arms: tuple[Arm, ...]
    runs: Iterable[Run]


def together(parts: Sequence[Part], only: Collection[str] = ()) -> tuple[Material, list[dict[str, str]]]:
    """All runs in one material, and for each part the names that its arms have there; `only` keeps some names.

    An arm's name that several experiments have is followed by @ and the experiment.
    """
    material = Material()
    names: list[dict[str, str]] = []
    shared = Counter(arm.name for part in parts for arm in part.arms)
    for part in parts:
        described = {arm.name: arm for arm in part.arms}
        own: dict[str, str] = {}
        for run in part.runs:
            plain = len(parts) == 1 or (run.arm in described and shared[run.arm] == 1)
            name = own.setdefault(run.arm, run.arm if plain else f"{run.arm}@{part.experiment}")
            if not only or name in only:
                material.add(run, name)
        material.arms |= {own[arm]: spec for arm, spec in described.items() if arm in own}
        names.append(own)
    return material, names
