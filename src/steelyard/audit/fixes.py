"""Lines that could close a hole, for the auditor to try."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.audit.findings import Fix
from steelyard.audit.scene import is_test_file
from steelyard.domain.record import JsonObject
from steelyard.domain.suite import Task
from steelyard.scorers.integrity.paths import family_of
from steelyard.scorers.runners import COMMANDS, PLACE

MOST_PATHS = 100
_PYTEST = re.compile(r"(?<![^\s/])(?:pytest|py\.test)(?=\s|$)")
_REPORT = re.compile(r"\s--junit-?xml[= ]\S+")


@dataclass(frozen=True)
class Proposal:
    """A scorer to add (or to put in the place of one of the same name), or a scenario's field to set."""

    scorer: JsonObject | None = None
    field: JsonObject | None = None
    note: str = ""

    @property
    def line(self) -> str:
        """The proposal as YAML, in one line."""
        import yaml

        def flow(value: JsonObject) -> str:
            return str(yaml.safe_dump(value, default_flow_style=True, width=1_000_000, sort_keys=False)).strip()

        return f"- {flow(self.scorer)}" if self.scorer else flow(self.field or {}).strip("{}")

    def put_into(self, task: Task) -> Task:
        """The task with it."""
        if self.scorer is None:
            return task.model_copy(update=self.field)
        kept = tuple(spec for spec in task.scorers if spec.get("name") != self.scorer["name"])
        return task.model_copy(update={"scorers": (*kept, self.scorer)})

    def fix(self, *, verified: bool, note: str = "") -> Fix:
        """The proposal as it is printed."""
        under: Literal["scorers", "scenario"] = "scorers" if self.scorer else "scenario"
        return Fix(line=self.line, under=under, verified=verified, note=note or self.note)


@dataclass(frozen=True)
class Hole:
    """A cheat that passed: the task, what it changed, the files of the task's tree at first, and its commands."""

    task: Task
    changed: tuple[str, ...]
    files: frozenset[str]
    commands: tuple[str, ...]

    @property
    def tests(self) -> list[str]:
        """The test files of the tree at first."""
        return sorted(path for path in self.files if is_test_file(path))

    @property
    def added(self) -> list[str]:
        """The files that the cheat brought in."""
        return [path for path in self.changed if path not in self.files]


def proposals(hole: Hole, closed_by: Sequence[str], warned: Sequence[str]) -> list[Proposal]:
    """What may close the hole: what warned of it and only needs to be required, then what is known, the best first."""
    found = []
    for spec in hole.task.scorers:
        if spec.get("name") in warned:
            fields = {name: value for name, value in spec.items() if value is not None}
            instead = "in place of the scorer of that name"
            found.append(Proposal(scorer={**fields, "required": True}, note=instead))
    known = [_KNOWN[name](hole) for name in closed_by if name in _KNOWN]
    return found + [proposal for proposal in known if proposal is not None]


def _scorer(hole: Hole, name: str, kind: str, **fields: object) -> Proposal:
    taken = {str(spec.get("name")) for spec in hole.task.scorers}
    return Proposal(scorer={"name": f"{name} 2" if name in taken else name, "type": kind, **fields})


def _tests_unmodified(hole: Hole) -> Proposal | None:
    beside_the_code = any(not is_test_file(path) for path in hole.changed)  # Rust's tests: such a file can't be frozen
    if beside_the_code or not 0 < len(hole.tests) <= MOST_PATHS:
        return None
    return _scorer(hole, "tests untouched", "tests_unmodified", paths=hole.tests)


def _scripts_unmodified(hole: Hole) -> Proposal | None:
    text = "\n".join(hole.commands)
    named = sorted(path for path in hole.files if re.search(rf"(?<![\w/.-])(?:\./)?{re.escape(path)}(?![\w/])", text))
    return _scorer(hole, "scripts untouched", "baseline_unmodified", paths=named) if named else None


def _harness(hole: Hole) -> Proposal:
    return _scorer(hole, "harness untouched", "harness_unmodified")


def _forbid_changed(hole: Hole) -> Proposal | None:
    if not 0 < len(hole.added) <= MOST_PATHS:
        return None
    return _scorer(hole, "nothing planted", "forbid_paths", patterns=[_literal(path) for path in hole.added])


def _literal(path: str) -> str:
    """A path as a pattern that matches itself alone."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def _grading_fresh(hole: Hole) -> Proposal | None:
    return None if hole.task.grading == "fresh" else Proposal(field={"grading": "fresh"})


def _baseline_tests_pass(hole: Hole) -> Proposal | None:
    framework = _framework(hole)
    if framework is None:
        return None
    return _scorer(hole, "baseline tests", "baseline_tests_pass", framework=framework, must_pass=["*"])


def _framework(hole: Hole) -> str | None:
    families = {family_of(path) for path in hole.tests}
    text = "\n".join(hole.commands)
    named = next((name for name in ("vitest", "jest") if name in text), "node")
    for family, framework in (("python", "pytest"), ("go", "go"), ("rust", "cargo"), ("javascript", named)):
        if family in families:
            return framework
    if "java" in families or "kotlin" in families:
        return "gradle" if "gradlew" in hole.files else "maven"
    return named if families & {"typescript", "tsx"} else None


def _required(name: str, kind: str) -> Callable[[Hole], Proposal | None]:
    return lambda hole: _scorer(hole, name, kind, required=True)


_KNOWN: dict[str, Callable[[Hole], Proposal | None]] = {
    "tests_unmodified": _tests_unmodified,
    "scripts_unmodified": _scripts_unmodified,
    "harness_unmodified": _harness,
    "forbid_changed": _forbid_changed,
    "grading_fresh": _grading_fresh,
    "baseline_tests_pass": _baseline_tests_pass,
    "no_new_skips": _required("no new skips", "no_new_skips"),
    "assertions_not_weakened": _required("assertions kept", "assertions_not_weakened"),
}


def unverifiable(hole: Hole, closed_by: Sequence[str], advice: str) -> Fix:
    """What is said when nothing that could be tried closes the hole."""
    if "hidden_tests" in closed_by and all(spec.get("type") != "hidden_tests" for spec in hole.task.scorers):
        scorer = {"name": "hidden tests", "type": "hidden_tests", "files": "hidden", **_telling(hole.commands)}
        return Proposal(scorer=scorer).fix(verified=False, note=advice)
    return Fix(note=advice or "no line that is known here closes it")


def _telling(commands: Sequence[str]) -> JsonObject:
    """The last command that tells its results or can be made to; else the last, of which the exit code is all."""
    for command in reversed(commands):
        if PLACE in command:
            return {"command": command}
        framework = next((name for name, usual in COMMANDS.items() if usual == command), None)
        if framework is not None:
            return {"command": command, "framework": framework}
        if len(_PYTEST.findall(command)) == 1 and "install" not in command:
            bare = _REPORT.sub("", command)
            return {"command": _PYTEST.sub(lambda word: f"{word[0]} --junitxml={PLACE}", bare)}
    return {"command": commands[-1] if commands else "…"}
