"""Scenarios from outside: checked as a suite's are, and frozen into tasks. No file of the server is ever looked at."""

from typing import Any

from pydantic import ValidationError

from steelyard import plugins
from steelyard.domain.mistakes import mistakes
from steelyard.domain.record import JsonObject, canonical_json
from steelyard.domain.suite import FrozenTask, Scenario, Task
from steelyard.errors import InputError
from steelyard.suites.parts import outside
from steelyard.web.bodies import TaskIn
from steelyard.web.problems import ProblemError, invalid

_MERGED = ("limits", "judge")
_PATHS = ("path", "paths", "patterns")


def checked(scenario: Scenario) -> Scenario:
    """A scenario whose scorers are whole and installed here; every mistake is named."""
    wrong: list[str] = []
    scorers = [_scorer(spec, f"scorers.{number}", wrong) for number, spec in enumerate(scenario.scorers, 1)]
    names = [stage.name for stage in scenario.stages]
    wrong += [f"stages: two have the name {name!r}" for name in sorted({n for n in names if names.count(n) > 1})]
    if scenario.image is not None and scenario.dockerfile is not None:
        wrong.append("image: give either image or dockerfile, not both")
    if wrong:
        raise ProblemError("invalid-request", wrong[0], errors=wrong)
    fields = {name: getattr(scenario, name) for name in Scenario.model_fields}
    return Scenario(**{**fields, "scorers": tuple(scorers)})


def _scorer(spec: JsonObject, about: str, wrong: list[str]) -> JsonObject:
    name = spec.get("type")
    if not isinstance(name, str):
        wrong.append(f"{about}.type: is required; installed: {', '.join(plugins.names('scorers'))}")
        return {}
    wrong += [f"{about}.{line}" for line in _outside(spec)]
    try:
        kind = plugins.load("scorers", name)
    except InputError as error:
        wrong.append(f"{about}.type: {error}")
        return {}
    try:
        found: JsonObject = kind.model_validate_json(canonical_json(spec)).model_dump(mode="json")
    except ValidationError as error:
        wrong += [f"{about}.{line}" for line in mistakes(error, kind)]
        return {}
    return found


def _outside(spec: JsonObject) -> list[str]:
    """The paths of a scorer that could leave the tree."""
    found = []
    for field in _PATHS:
        value: Any = spec.get(field)
        for item in value if isinstance(value, list) else [value]:
            why = outside(item) if isinstance(item, str) else None
            if why:
                found.append(f"{field}: {why}; allowed: a path relative to the tree")
    return found


def freeze(body: TaskIn, scenario: Scenario | None) -> FrozenTask:
    """A task with what it does not say itself taken from the scenario as it is now."""
    unknown = sorted(set(body.fields) - set(Scenario.model_fields))
    if unknown:
        allowed = ", ".join(Scenario.model_fields)
        raise ProblemError("invalid-request", f"fields.{unknown[0]}: no such field; allowed: {allowed}")
    merged: JsonObject = (scenario or Scenario()).model_dump(mode="json")
    for name, value in body.fields.items():
        both = name in _MERGED and isinstance(value, dict)
        merged[name] = {**merged[name], **value} if both else value
    if {"image", "dockerfile"} & set(body.fields):
        merged |= {name: body.fields.get(name) for name in ("image", "dockerfile")}
    try:
        own = checked(Scenario.model_validate_json(canonical_json(merged)))
        task = Task(
            **{name: getattr(own, name) for name in Scenario.model_fields},
            id=body.id,
            scenario=body.scenario,
            prompt=body.prompt,
            turns=body.turns,
            tags=body.tags,
        )
    except ValidationError as error:
        raise invalid(error, Task) from None
    return FrozenTask.of(task)
