"""Fields of a form, made from the fields of a record: what it takes is what its JSON Schema says, and nothing else.

A value that a plain field could not give back as it was (line breaks in a list's item, hidden characters) is shown as
YAML, and so is whatever has a shape of its own.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel

from steelyard.domain.record import JsonObject
from steelyard.errors import InputError
from steelyard.web.pages.text import visible

Kind = Literal["line", "text", "lines", "number", "choice", "switch", "yaml"]
SHORT = 1_000  # characters: a text that may be longer gets room
MISSING: Any = object()
_UNITS = {"s": "seconds", "mb": "MB", "usd": "USD"}
_SWITCH = {"yes": True, "no": False}


@dataclass(frozen=True)
class Widget:
    """One field: `name` is its path in the record, `default` what an empty field stands for."""

    name: str
    title: str
    kind: Kind
    needed: bool = False
    default: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    note: str = ""

    @property
    def hint(self) -> str:
        """What to write."""
        if self.kind == "lines":
            return "one a line"
        if self.kind == "yaml":
            return "YAML"
        if self.kind == "number" and self.least is not None and self.most is not None:
            return f"{self.least:g} to {self.most:g}"
        return f"from {self.least:g}" if self.kind == "number" and self.least is not None else ""


def widgets_of(record: type[BaseModel], leave_out: tuple[str, ...] = ()) -> list[Widget]:
    """The fields of a record; those of records inside it stand beside them."""
    schema = record.model_json_schema()
    found = _fields(schema, schema.get("$defs", {}), "")
    return [widget for widget in found if widget.name.partition(".")[0] not in leave_out]


def _fields(schema: JsonObject, defs: JsonObject, above: str) -> list[Widget]:
    found: list[Widget] = []
    for name, given in schema.get("properties", {}).items():
        shape = _resolved(given, defs)
        if shape.get("type") == "object" and "properties" in shape and not above:
            found += _fields(shape, defs, f"{name}.")
            continue
        widget = _widget(f"{above}{name}", shape, defs)
        default = given.get("default")
        shown = "" if default in (None, [], "") else to_text(widget, default)
        found.append(replace(widget, needed=name in schema.get("required", []), default=shown))
    return found


def _resolved(given: JsonObject, defs: JsonObject) -> JsonObject:
    """A schema behind its references, without the null that may stand for nothing."""
    options = [one for one in given.get("anyOf", []) if one.get("type") != "null"]
    if len(options) == 1:
        given = {**given, **options[0]}
    reference = given.get("$ref", "")
    return {**given, **defs[reference.rpartition("/")[2]]} if reference else given


def _widget(name: str, shape: JsonObject, defs: JsonObject) -> Widget:
    kind: Kind = "yaml"
    if "enum" in shape:
        kind = "choice"
    elif shape.get("type") == "boolean":
        kind = "switch"
    elif shape.get("type") in ("integer", "number"):
        kind = "number"
    elif shape.get("type") == "string":
        kind = "line" if shape.get("maxLength", SHORT + 1) <= SHORT else "text"
    elif shape.get("type") == "array" and _resolved(shape.get("items", {}), defs).get("type") == "string":
        kind = "lines"
    words, _, unit = name.rpartition(".")[2].rpartition("_")
    named = f"{words} ({_UNITS[unit]})" if words and unit in _UNITS else name.rpartition(".")[2]
    return Widget(
        name,
        (named[:1].upper() + named[1:]).replace("_", " "),
        kind,
        choices=tuple(map(str, shape.get("enum", ()))),
        least=shape.get("minimum", shape.get("exclusiveMinimum")),
        most=shape.get("maximum"),
        note=shape.get("description", "") if kind != "yaml" else "",
    )


def fitted(widget: Widget, value: Any) -> tuple[Widget, str]:
    """The field and its text for a value: as YAML where the field could not give the value back."""
    if value is MISSING or value is None:
        return widget, ""
    if not _is_plain(widget, value) or _is_hidden(value):
        widget = replace(widget, kind="yaml")
    return widget, to_text(widget, value)


def _is_plain(widget: Widget, value: Any) -> bool:
    """Whether a field of that kind gives the value back as it was."""
    if widget.kind == "line":
        return _is_line(value)
    if widget.kind == "text":
        return isinstance(value, str) and bool(value.strip()) and "\r" not in value
    if widget.kind == "lines":
        return isinstance(value, list | tuple) and all(_is_line(item) for item in value)
    if widget.kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if widget.kind == "choice":
        return str(value) in widget.choices
    return widget.kind == "yaml" or isinstance(value, bool)


def _is_line(item: Any) -> bool:
    return isinstance(item, str) and bool(item.strip()) and "\n" not in item


def _is_hidden(value: Any) -> bool:
    texts = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(text, str) and visible(text) != text for text in texts)


def to_text(widget: Widget, value: Any) -> str:
    """A value as its field holds it."""
    if value is None:
        return ""
    if widget.kind == "switch":
        return "yes" if value else "no"
    if widget.kind == "lines":
        return "\n".join(value)
    if widget.kind == "number":
        return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)
    return to_yaml(value) if widget.kind == "yaml" else str(value)


def from_text(widget: Widget, text: str) -> Any:
    """The value of a field; `MISSING` when it is empty. What can't be a value stays text, and the record says why."""
    text = text.replace("\r\n", "\n")
    if not text.strip():
        return MISSING
    if widget.kind == "lines":
        return [line for line in text.split("\n") if line.strip()]
    if widget.kind == "switch":
        return _SWITCH.get(text, text)
    if widget.kind == "number":
        return _number(text.strip())
    if widget.kind == "yaml":
        return from_yaml(text)
    return text


def _number(text: str) -> int | float | str:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def to_yaml(value: Any) -> str:
    """A value as YAML; what could not be seen is written as an escape."""
    import yaml

    is_plain = visible(text := yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=110)) == text
    made: str = text if is_plain else yaml.safe_dump(value, allow_unicode=False, sort_keys=False, width=110)
    return made.removesuffix("\n...\n").rstrip("\n") if not isinstance(value, dict | list | tuple) else made


def from_yaml(text: str) -> Any:
    """The value of a YAML text, read within bounds; an `InputError` names the line."""
    from steelyard.suites.problems import SuiteError
    from steelyard.suites.yamlfile import read_yaml_text

    try:
        node, problems = read_yaml_text(text, "line")
        problems.stop()
    except SuiteError as error:
        raise InputError("; ".join(str(error).splitlines()[:3])) from None
    return node.plain()
