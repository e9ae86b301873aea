"""Data from a file against a record's fields: pydantic's errors, said in plain words at their line and column."""

import json
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from steelyard.domain.suite import NOT_BLANK
from steelyard.suites.problems import Problems, listed, near, shown, visible
from steelyard.suites.yamlfile import Node, Place

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=BaseModel)
Loc = tuple[str | int, ...]

_TYPES = {
    "int_type": "an integer",
    "int_from_float": "an integer",
    "int_parsing": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "none_required": "left out",
}
_BOUNDS = {
    "greater_than": ("gt", "more than {}"),
    "greater_than_equal": ("ge", "at least {}"),
    "less_than": ("lt", "less than {}"),
    "less_than_equal": ("le", "at most {}"),
    "string_too_short": ("min_length", "at least {} characters long"),
    "string_too_long": ("max_length", "at most {} characters long"),
    "string_pattern_mismatch": ("pattern", "text that matches {}"),
}


def check(
    model: type[Model],
    data: Mapping[str, Any],
    node: Node,
    about: str,
    problems: Problems,
    allowed: list[str] | None = None,
) -> Model | None:
    """The record, or None with its mistakes noted at `node`'s places; `about` names the node in messages.

    `allowed` are the node's own keys as the file knows them, when they are not just the record's fields.
    """
    try:
        return model.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            names = allowed if allowed and len(details["loc"]) == 1 else None
            _note(model, details, node, problems, (about, names))
        return None


def unknown_keys(node: Node, allowed: Iterable[str], about: str, problems: Problems) -> None:
    """Note every key of a mapping that is not allowed there."""
    names = list(allowed)
    for key in node.value:
        if key not in names:
            problems.add(node.key_at(key), path(about, key), f"unknown field{listed(names)}{near(key, names)}")


def expect(node: Node | None, kind: type, about: str, problems: Problems) -> TypeGuard[Node]:
    """Whether a node is a mapping (dict) or a list; if not, that is noted. A missing node is fine and False."""
    if node is None:
        return False
    if isinstance(node.value, kind):
        return True
    what = "a mapping" if kind is dict else "a list"
    problems.add(node.at, about, f"must be {what}, not {shown(node.value)}")
    return False


def path(about: str, *steps: str | int) -> str:
    """A field's name as people write it: `tasks[0].scorers[1].limit`."""
    for step in steps:
        about += f"[{step}]" if isinstance(step, int) else (f".{step}" if about else step)
    return about


def place(node: Node, loc: Loc) -> tuple[Place, Loc]:
    """Where a pydantic location stands, and the steps of it that the file knows (union tags are left out)."""
    known: list[str | int] = []
    at = node.at
    for index, step in enumerate(loc):
        child = node.child(step)
        if child is None:
            if index == len(loc) - 1:
                known.append(step)
            continue
        at = node.key_at(step) if isinstance(step, str) and isinstance(child.value, dict | list) else child.at
        node = child
        known.append(step)
    return at, tuple(known)


def _note(
    model: type[BaseModel],
    details: "ErrorDetails",
    node: Node,
    problems: Problems,
    naming: tuple[str, list[str] | None],
) -> None:
    about, allowed = naming
    loc, kind = details["loc"], details["type"]
    at, known = place(node, loc)
    if kind == "missing":
        problems.add(at, path(about, *known), "this field is missing")
    elif kind == "extra_forbidden":
        names = allowed or _fields_at(model, loc[:-1])
        what = f"unknown field{listed(names)}{near(str(loc[-1]), names)}"
        problems.add(_key_place(node, loc), path(about, *known), what)
    else:
        problems.add(at, path(about, *known), _say(kind, details.get("ctx", {}), details))


def _say(kind: str, context: Mapping[str, Any], details: "ErrorDetails") -> str:
    value = details["input"]
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}, not {shown(value)}{_remedy(_TYPES[kind], value)}"
    if kind in {"literal_error", "enum"}:
        allowed = [word.strip("'") for word in str(context["expected"]).replace(" or ", ", ").split(", ")]
        return f"can't be {shown(value)}{listed(allowed)}{near(value, allowed) if isinstance(value, str) else ''}"
    if kind in {"too_short", "too_long"}:
        bound = f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        return f"must be a list of {bound}; this one has {context['actual_length']}"
    if kind == "string_pattern_mismatch" and context["pattern"] == NOT_BLANK:
        return "must not be blank"
    if kind in _BOUNDS:
        name, phrase = _BOUNDS[kind]
        return f"must be {phrase.format(context[name])}, not {shown(value)}"
    message = visible(details["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, "))
    return message[:1].lower() + message[1:]


def _remedy(wanted: str, value: object) -> str:
    if wanted == "text" and isinstance(value, bool | int | float):
        return "; put it in quotes"
    if not isinstance(value, str):
        return ""
    if wanted == "true or false" and value.lower() in {"yes", "on", "y", "no", "off", "n", "true", "false"}:
        return f"; write {'true' if value.lower() in {'yes', 'on', 'y', 'true'} else 'false'}"
    if wanted in {"an integer", "a number"} and value.replace("_", "").replace(".", "", 1).isdigit():
        return f"; write {value.replace('_', '')} without quotes"
    if wanted == "a list":
        return "; write [" + visible(value[:30]) + ("…" if len(value) > 30 else "") + "]"
    return ""


def _key_place(node: Node, loc: Loc) -> Place:
    for step in loc[:-1]:
        node = node.child(step) or node
    return node.key_at(str(loc[-1]))


def _fields_at(model: type[BaseModel], loc: Loc) -> list[str]:
    """The field names of the record at a location, as far as annotations tell."""
    annotation: Any = model
    for step in loc:
        found = _model_in(annotation)
        if isinstance(step, str) and found is not None and step in found.model_fields:
            annotation = found.model_fields[step].annotation
    found = _model_in(annotation)
    return list(found.model_fields) if found else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in {tuple, list, Union, UnionType, Literal}:
        return next((found for a in get_args(annotation) if (found := _model_in(a)) is not None), None)
    return None
