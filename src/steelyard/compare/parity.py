"""Whether arms were alike in all but what they are meant to differ in, and whether the treatment arrived."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.domain.record import canonical_json
from steelyard.domain.run import Run
from steelyard.domain.suite import Arm

# What every run of an arm shares, and what it is called. What a task sets (limits, image) is looked at task by task.
_OF_AN_ARM = {
    "agent": "agent",
    "agent_version": "agent version",
    "model": "model",
    "sandbox": "sandbox",
    "env_names": "environment variables",
    "tools": "tools",
    "overlay_sha256": "overlay",
}
_OF_A_TASK = {"limits": "limits", "image": "image", "task_sha256": "frozen task"}
MOST_SHOWN = 3
_HASHED = {"overlay_sha256", "task_sha256"}


@dataclass
class ArmFacts:
    """What the counted runs of one arm say they ran with, and which of them met the arm's own files."""

    seen: dict[str, Counter[str]] = field(default_factory=dict)
    by_task: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    read: dict[str, frozenset[str]] = field(default_factory=dict)
    unknown: int = 0

    def add(self, run: Run) -> None:
        """One more run."""
        parity = run.parity
        for name in _OF_AN_ARM:
            value = getattr(parity, name)
            if value is not None:
                self.seen.setdefault(name, Counter())[value if isinstance(value, str) else canonical_json(value)] += 1
        facts = {"limits": canonical_json(parity.limits), "image": parity.image, "task_sha256": run.task_sha256}
        for name, value in facts.items():
            if value is not None:
                self.by_task.setdefault((name, run.task_id), set()).add(value)
        self.files.update(parity.treatment_files)
        if not parity.treatment_files:
            return
        if parity.treatment_read is None:
            self.unknown += 1
        else:
            self.read[run.run_id] = frozenset(parity.treatment_read)

    def received(self, files: Iterable[str]) -> set[str]:
        """The ids of runs that met at least one of these files."""
        wanted = set(files)
        return {run_id for run_id, read in self.read.items() if read & wanted}


def declared_differences(first: Arm, second: Arm) -> set[str]:
    """In which facts the suite itself says that two arms differ; another agent has another version and other tools."""
    found: set[str] = set()
    agents = (first.agent, second.agent)
    if agents[0].get("type") != agents[1].get("type"):
        found |= {"agent", "agent_version", "model", "tools"}
    if agents[0].get("model") != agents[1].get("model"):
        found.add("model")
    if agents[0].get("version") != agents[1].get("version"):
        found.add("agent_version")
    if agents[0].get("args") != agents[1].get("args"):  # arguments switch tools on and off
        found.add("tools")
    if first.overlay != second.overlay:
        found.add("overlay_sha256")
    if set(first.env) != set(second.env):
        found.add("env_names")
    return found


def same_declaration(first: Arm, second: Arm) -> bool:
    """Whether two arms differ in nothing but their names."""
    return first.model_copy(update={"name": second.name}) == second


def parity_notes(facts: Mapping[str, ArmFacts], arms: Mapping[str, Arm], names: tuple[str, str]) -> list[str]:
    """Every difference, within an arm or between two, that nobody declared."""
    notes = []
    for name in names:
        for what, words in _OF_AN_ARM.items():
            values = facts[name].seen.get(what, Counter())
            if len(values) > 1:
                notes.append(f"{name} ran with more than one {words}: {_counted(what, values)}")
    declared: set[str] = set()
    if all(name in arms for name in names):
        declared = declared_differences(arms[names[0]], arms[names[1]])
        if same_declaration(arms[names[0]], arms[names[1]]):
            notes.append(f"{names[0]} and {names[1]} are declared alike: a difference between them is chance")
    for what, words in _OF_AN_ARM.items():
        ours, theirs = (set(facts[name].seen.get(what, ())) for name in names)
        if what in declared or ours == theirs or _unknown(what, ours, theirs):
            continue
        notes.append(f"undeclared difference in {words}: {_both(what, names, ours, theirs)}")
    return notes + _task_notes(facts, names)


def _unknown(what: str, ours: set[str], theirs: set[str]) -> bool:
    """Nothing recorded on one side is unknown, not different; an overlay that is not there is a fact."""
    return what != "overlay_sha256" and not (ours and theirs)


def _task_notes(facts: Mapping[str, ArmFacts], names: tuple[str, str]) -> list[str]:
    """Limits, images and frozen tasks that are not the same in all runs of a task."""
    notes = []
    for what, words in _OF_A_TASK.items():
        tasks = sorted({task for name in names for kind, task in facts[name].by_task if kind == what})
        odd = []
        for task in tasks:
            ours, theirs = (facts[name].by_task.get((what, task), set()) for name in names)
            if len(ours | theirs) > 1 and ours and theirs:
                odd.append((task, ours, theirs))
        if odd:
            task, ours, theirs = odd[0]
            more = f" (and on {len(odd) - 1} more)" if len(odd) > 1 else ""
            notes.append(f"undeclared difference in {words} on {task}: {_both(what, names, ours, theirs)}{more}")
    return notes


def _both(what: str, names: tuple[str, str], ours: set[str], theirs: set[str]) -> str:
    if what in {"tools", "env_names"} and len(ours) == len(theirs) == 1:
        import json

        first, second = set(json.loads(next(iter(ours)))), set(json.loads(next(iter(theirs))))
        parts = [(names[0], first - second), (names[1], second - first)]
        return "; ".join(f"only {name} has {_some(sorted(only))}" for name, only in parts if only)
    pairs = zip(names, (ours, theirs), strict=True)
    return ", ".join(f"{name} {_some([_short(what, v) for v in sorted(values)]) or 'none'}" for name, values in pairs)


def _counted(what: str, values: Counter[str]) -> str:
    listed = [f"{_short(what, value)} ({count} {'run' if count == 1 else 'runs'})" for value, count in values.items()]
    return _some(sorted(listed))


def _short(what: str, value: str) -> str:
    return value[:12] if what in _HASHED else value[:200]


def _some(values: Sequence[str]) -> str:
    more = f" and {len(values) - MOST_SHOWN} more" if len(values) > MOST_SHOWN else ""
    return ", ".join(values[:MOST_SHOWN]) + more
