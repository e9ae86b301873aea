"""What is wrong with a JSON object, field by field, in words for people."""

from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from steelyard.domain.suite import NOT_BLANK

_WORDS = {
    "missing": "is required",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "tuple_type": "must be a list",
    "finite_number": "must be a finite number",
    "string_too_short": "must not be empty",
}
_SHOWN = 60


def mistakes(error: ValidationError, record: type[BaseModel]) -> list[str]:
    """One `field: what is wrong, what was given` for each mistake, in the order of the fields."""
    return [_mistake(dict(item), record) for item in error.errors(include_url=False)]


def _mistake(item: dict[str, Any], record: type[BaseModel]) -> str:
    where = ".".join(str(part + 1) if isinstance(part, int) else part for part in item["loc"]) or "the whole object"
    kind = item["type"]
    if kind == "json_invalid":
        return f"not valid JSON: {item['ctx']['error']}"
    if kind == "missing":
        return f"{where}: is required"
    if kind == "extra_forbidden":
        names = list(record.model_fields) if len(item["loc"]) == 1 else []
        near = get_close_matches(str(item["loc"][-1]), names, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return f"{where}: no such field{hint}"
    if kind == "value_error" and not isinstance(item["input"], float):
        return f"{where}: {_said(item)}"
    return f"{where}: {_said(item)}, not {_given(item['input'])}"


def _said(item: dict[str, Any]) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind in _WORDS:
        return _WORDS[kind]
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']:g}"
    if kind == "less_than_equal":
        return f"must be at most {context['le']:g}"
    if kind == "literal_error":
        return f"must be one of {context['expected'].replace(' or ', ', ')}"
    if kind == "string_pattern_mismatch" and context["pattern"] == NOT_BLANK:
        return "must not be blank"
    if kind == "string_too_long":
        return f"must have at most {context['max_length']} characters"
    message = str(item["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:]


def _given(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, BaseModel | dict):
        return "this object"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
