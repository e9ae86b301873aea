"""Scenarios as YAML, in and out: a piece of a suite file, and back, with mistakes at their lines."""

from typing import Any

from pydantic import ValidationError

from steelyard import plugins
from steelyard.domain.record import JsonObject, canonical_json
from steelyard.domain.suite import Scenario
from steelyard.errors import InputError
from steelyard.suites.problems import SuiteError
from steelyard.suites.yamlfile import Node, read_yaml_text
from steelyard.web.pages.widgets import to_yaml
from steelyard.web.scenarios import check_scorer, located, together


class YamlError(Exception):
    """A text that is no scenario: one line a mistake."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(lines[0])
        self.lines = lines


def to_document(name: str, scenario: Scenario) -> str:
    """The scenario as it stands in a suite file, without what is the default anyway."""
    values: JsonObject = scenario.model_dump(mode="json", exclude_defaults=True)
    if scenario.scorers:
        values["scorers"] = [_short(spec) for spec in scenario.scorers]
    return to_yaml({"scenarios": {name: values}})


def _short(spec: JsonObject) -> JsonObject:
    """A scorer without its defaults; one of a type that is not installed as it is."""
    try:
        part = plugins.build("scorers", spec)
    except (InputError, ImportError, AttributeError, ValidationError):
        return spec
    own = part.model_dump(mode="json", exclude_defaults=True)
    return {"name": spec.get("name"), "type": spec.get("type"), **own}


def from_document(text: str, name: str, kept: tuple[JsonObject, ...] = ()) -> Scenario:
    """The scenario of a text: `scenarios:` with one of them (or the one of that name), its fields, or its scorers."""
    try:
        root, problems = read_yaml_text(text, "line")
        problems.stop()
    except SuiteError as error:
        raise YamlError(str(error).splitlines()[:20]) from None
    node = _scenario_node(root, name)
    try:
        scenario = Scenario.model_validate_json(canonical_json(node.plain()))
    except ValidationError as error:
        pairs = zip(error.errors(include_url=False), located(error, Scenario), strict=True)
        raise YamlError([_placed(node, item["loc"], field, said) for item, (field, said) in pairs]) from None
    results = [check_scorer(spec, kept) for spec in scenario.scorers]
    wrong = [_placed(node, (field,), field, said) for field, said in together(scenario)]
    for index, (_, mistakes) in enumerate(results):
        about = f"scorers.{index + 1}"
        wrong += [_placed(node, ("scorers", index, field), f"{about}.{field}", said) for field, said in mistakes]
    if wrong:
        raise YamlError(wrong)
    return scenario.model_copy(update={"scorers": tuple(spec for spec, _ in results)})


def _scenario_node(root: Node, name: str) -> Node:
    if isinstance(root.value, list):
        return Node(root.at, {"scorers": root}, root.size)
    if not isinstance(root.value, dict):
        raise YamlError(["line:1:1: must be a mapping of a scenario's fields, or a list of scorers"])
    among = root.child("scenarios")
    if among is None or not isinstance(among.value, dict):
        return root
    found = among.child(name) or (next(iter(among.value.values())) if len(among.value) == 1 else None)
    if found is None or not isinstance(found.value, dict):
        named = ", ".join(map(str, list(among.value)[:20]))
        raise YamlError([f"line:{among.at[0]}:{among.at[1]}: scenarios: none is named {name!r}; there are: {named}"])
    return found


def _placed(node: Node, steps: tuple[Any, ...], about: str, said: str) -> str:
    """A mistake at the line of the deepest value that is there."""
    at = node.at
    for step in steps:
        at = node.key_at(step) if isinstance(node.value, dict) and isinstance(step, str) else at
        child = node.child(step)
        if child is None:
            break
        node, at = child, child.at
    return f"line:{at[0]}:{at[1]}: {about}: {said}" if about else f"line:{at[0]}:{at[1]}: {said}"
