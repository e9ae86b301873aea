"""Scenarios from outside: checked as a suite's are, and frozen into tasks. No file of the server is ever looked at."""

from typing import Any

from pydantic import BaseModel, ValidationError

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


Mistake = tuple[str, str]  # a field, and what is wrong with it


def checked(scenario: Scenario, before: Scenario | None = None) -> Scenario:
    """A scenario whose scorers are whole and installed here; every mistake is named.

    A scorer of a type that is not installed may stay as it was `before` the edit.
    """
    kept = () if before is None else before.scorers
    results = [check_scorer(spec, kept) for spec in scenario.scorers]
    wrong = [
        f"scorers.{number}.{field}: {message}"
        for number, (_, mistakes_found) in enumerate(results, 1)
        for field, message in mistakes_found
    ]
    wrong += [f"{field}: {message}" for field, message in together(scenario)]
    if wrong:
        raise ProblemError("invalid-request", wrong[0], errors=wrong)
    fields = {name: getattr(scenario, name) for name in Scenario.model_fields}
    return Scenario(**{**fields, "scorers": tuple(spec for spec, _ in results)})


def together(scenario: Scenario) -> list[Mistake]:
    """What is wrong with fields that are fine one by one."""
    names = [stage.name for stage in scenario.stages]
    found = [("stages", f"two have the name {name!r}") for name in sorted({n for n in names if names.count(n) > 1})]
    known = {*names, *(str(spec.get("name")) for spec in scenario.scorers)}
    found += [
        ("quarantine", f"no scorer or stage is called {name!r}") for name in scenario.quarantine if name not in known
    ]
    if scenario.reference is not None:
        found.append(("reference", "names a file beside a suite, so it is for suite files alone; leave it out"))
    if scenario.image is not None and scenario.dockerfile is not None:
        found.append(("image", "give either image or dockerfile, not both"))
    return found


def check_scorer(spec: JsonObject, kept: tuple[JsonObject, ...] = ()) -> tuple[JsonObject, list[Mistake]]:
    """A scorer with every default filled in, and its mistakes by field; one of `kept` passes as it is."""
    name = spec.get("type")
    if not isinstance(name, str):
        return {}, [("type", f"is required; installed: {', '.join(plugins.names('scorers'))}")]
    wrong = _outside(spec)
    try:
        kind = plugins.load("scorers", name)
    except (InputError, ImportError, AttributeError) as error:
        return (spec, []) if spec in kept else ({}, [*wrong, ("type", str(error))])
    try:
        whole: JsonObject = kind.model_validate_json(canonical_json(spec)).model_dump(mode="json")
    except ValidationError as error:
        return {}, [*wrong, *located(error, kind)]
    return whole, wrong


def located(error: ValidationError, record: type[BaseModel]) -> list[Mistake]:
    """The mistakes of a record, each at its field."""
    found = []
    for item, line in zip(error.errors(include_url=False), mistakes(error, record), strict=True):
        field = str(item["loc"][0]) if item["loc"] else ""
        found.append(
            (field, line.removeprefix(field).lstrip(".: ") if field else line.removeprefix("the whole object: "))
        )
    return found


def _outside(spec: JsonObject) -> list[Mistake]:
    """The paths of a scorer that could leave the tree."""
    found = []
    for field in _PATHS:
        value: Any = spec.get(field)
        for item in value if isinstance(value, list) else [value]:
            why = outside(item) if isinstance(item, str) else None
            if why:
                found.append((field, f"{why}; allowed: a path relative to the tree"))
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
