"""A suite file into a `Suite`, or every mistake in it at once."""

from pathlib import Path

from steelyard.domain.record import JsonObject
from steelyard.domain.suite import Arm, Suite, Task
from steelyard.suites import parts
from steelyard.suites.arms import read_arm
from steelyard.suites.check import check, expect, path, unknown_keys
from steelyard.suites.problems import Problem, Problems, SuiteError, kind_of, listed, near, quoted
from steelyard.suites.tasks import Scenarios, name_is_fine
from steelyard.suites.yamlfile import Node, read_yaml

__all__ = ["Problem", "SuiteError", "load_scorers", "load_suite"]

FILE = "steelyard.yaml"
_TOP = (
    "workspace",
    "scenarios",
    "tasks",
    "arms",
    "compare",
    "repeats",
    "max_cost_usd",
    "max_tokens",
    "max_seconds",
)


def suite_file(path: Path) -> Path:
    """The one name of a suite's file, however it is spelt; a directory stands for its steelyard.yaml."""
    file = path / FILE if kind_of(path) == "directory" else path
    return file.parent.resolve() / file.name  # a link to the file itself stays: what it names is relative to the link


def load_suite(file: Path) -> Suite:
    """The suite of a file (or of a directory's steelyard.yaml); `SuiteError` with every mistake that is in it."""
    file = file / FILE if kind_of(file) == "directory" else file
    node, problems = read_yaml(file)
    root = file.absolute().parent
    if not expect(node, dict, "", problems):
        problems.stop()
    unknown_keys(node, _TOP, "", problems)
    arms = _arms(node, root, problems)
    overlays = {f"the overlay of {arm.name}": root / arm.overlay for arm in arms if arm.overlay is not None}
    tasks = _tasks(node, Scenarios(node.child("scenarios"), root, overlays, problems), problems)
    workspace = node.child("workspace")
    if workspace is not None and isinstance(workspace.value, str):
        name_is_fine(workspace.value, workspace.at, "workspace", problems)
    top = {key: value.plain() for key, value in node.value.items() if key in _TOP[4:] or key == "workspace"}
    suite = check(Suite, {**top, "tasks": [], "arms": []}, node, "", problems)
    _compared(node, problems)
    problems.stop()
    assert suite is not None  # noqa: S101  # for the type checker: stop() has raised
    return suite.model_copy(update={"tasks": tuple(tasks), "arms": tuple(arms), "root": str(root)})


def load_scorers(file: Path) -> tuple[JsonObject, ...]:
    """The scorers of a file, a list or a mapping with `scorers:`; `SuiteError` with every mistake that is in it."""
    node, problems = read_yaml(file)
    listing: Node | None = node
    if isinstance(node.value, dict):
        unknown_keys(node, ["scorers"], "", problems)
        listing = node.child("scorers")
        if listing is None:
            problems.add(node.at, "scorers", "this field is missing")
    specs = parts.scorers(listing, file.absolute().parent, "scorers", problems)
    if listing is not None and listing.value == []:
        problems.add(listing.at, "scorers", "the list is empty; give at least one scorer")
    problems.stop()
    return tuple(specs)


def _tasks(node: Node, scenarios: Scenarios, problems: Problems) -> list[Task]:
    listing = node.child("tasks")
    if listing is None:
        problems.add(node.at, "tasks", "this field is missing; give a list of at least one task")
    if not expect(listing, list, "tasks", problems):
        return []
    if not listing.value:
        problems.add(listing.at, "tasks", "the list is empty; give at least one task")
    tasks: list[Task] = []
    lines: dict[str, int] = {}
    for index, item in enumerate(listing.value):
        about = path("tasks", index)
        if not expect(item, dict, about, problems):
            continue
        name = item.child("id")
        if name is not None and isinstance(name.value, str):
            name_is_fine(name.value, name.at, path(about, "id"), problems)
            if name.value in lines:
                first = lines[name.value]
                problems.add(name.at, path(about, "id"), f"another task has this id, at line {first}; rename one")
            lines.setdefault(name.value, name.at[0])
        task = scenarios.task(item, about)
        if task is not None:
            tasks.append(task)
    return tasks


def _arms(node: Node, root: Path, problems: Problems) -> list[Arm]:
    mapping = node.child("arms")
    if mapping is None:
        problems.add(node.at, "arms", "this field is missing; give a mapping of names to {agent: TYPE, …}")
    if not expect(mapping, dict, "arms", problems):
        return []
    if not mapping.value:
        problems.add(mapping.at, "arms", "the mapping is empty; give at least one arm")
    arms = []
    for name, item in mapping.value.items():
        about = path("arms", name)
        name_is_fine(name, mapping.key_at(name), about, problems)
        if expect(item, dict, about, problems):
            arm = read_arm(name, item, root, about, problems)
            if arm is not None:
                arms.append(arm)
    return arms


def _compared(node: Node, problems: Problems) -> None:
    """The arms that `compare` names exist and differ."""
    compare, arms = node.child("compare"), node.child("arms")
    if compare is None or not isinstance(compare.value, dict) or arms is None or not isinstance(arms.value, dict):
        return
    chosen = {side: compare.child(side) for side in ("baseline", "candidate")}
    for side, name in chosen.items():
        if name is not None and isinstance(name.value, str) and name.value not in arms.value:
            what = f"there is no arm {quoted(name.value)}{listed(arms.value)}{near(name.value, arms.value)}"
            problems.add(name.at, path("compare", side), what)
    baseline, candidate = chosen["baseline"], chosen["candidate"]
    if baseline and candidate and baseline.value is not None and baseline.value == candidate.value:
        problems.add(candidate.at, "compare.candidate", "is the baseline itself; name two different arms")
