"""What a suite says of trust: which of its own checks are in quarantine, and a solution that no agent may see."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from steelyard.domain.suite import Task
from steelyard.suites.check import path
from steelyard.suites.problems import Problems, listed, near, quoted
from steelyard.suites.yamlfile import Node


def names_exist(task: Task, node: Node, about: str, problems: Problems) -> None:
    """Note a name in quarantine that no scorer and no stage of the task has."""
    known = [*(str(spec.get("name")) for spec in task.scorers), *(stage.name for stage in task.stages)]
    listing = node.child("quarantine")
    for index, name in enumerate(task.quarantine):
        if name in known:
            continue
        item = listing.child(index) if listing is not None else None
        what = f"there is no scorer or stage {quoted(name)}{listed(known)}{near(name, known)}"
        problems.add(node.key_at("quarantine") if item is None else item.at, path(about, "quarantine", index), what)


@dataclass(frozen=True)
class Shown:
    """A folder that an agent finds in its tree, and where the reference is."""

    called: str
    folder: Path
    reference: Path


def reference_is_hidden(node: Node, shown: Iterable[Shown], about: str, problems: Problems) -> None:
    """Note a reference that lies in a seed or an overlay: it would stand in every agent's tree."""
    for one in shown:
        if _within(one.reference, one.folder):
            what = f"lies in {one.called}, so an agent would see it; move it out"
            problems.add(node.key_at("reference"), path(about, "reference"), what)


def _within(place: Path, folder: Path) -> bool:
    return Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder))
