"""A scenario in a form: its scorers as rows, its fields as texts, read back with every mistake at its field."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import ValidationError

from steelyard import plugins
from steelyard.domain.record import JsonObject, canonical_json
from steelyard.domain.suite import Scenario
from steelyard.errors import InputError
from steelyard.web.pages.widgets import MISSING, Widget, fitted, from_text, widgets_of
from steelyard.web.scenarios import Mistake, check_scorer, located, together

_OWN = ("type", "required")
_KEY = re.compile(r"[0-9a-z]{1,32}")
Fields = Mapping[str, list[str]]


@dataclass(frozen=True)
class ScorerType:
    """A type of scorer as the form knows it: everything is read from its class."""

    name: str
    about: str
    widgets: list[Widget]
    required: bool
    mechanical: bool


@cache
def scorer_types() -> dict[str, ScorerType]:
    """Every type that is installed and can be loaded."""
    found = {}
    for name in plugins.names("scorers"):
        try:
            kind = plugins.load("scorers", name)
        except (ImportError, AttributeError):
            continue
        about = (kind.__doc__ or "").strip().partition("\n\n")[0].replace("\n", " ").replace("`", "")
        required, mechanical = getattr(kind, "required_by_default", True), getattr(kind, "mechanical", True)
        found[name] = ScorerType(name, about, widgets_of(kind, _OWN), required, mechanical)
    return found


@cache
def scenario_widgets() -> list[Widget]:
    """The fields of a scenario beside its scorers; a reference is a file beside a suite, which no server has."""
    return widgets_of(Scenario, ("scorers", "reference"))


@dataclass
class Filled:
    """A field with its text and what is wrong with it."""

    widget: Widget
    text: str = ""
    mistakes: list[str] = field(default_factory=list)


@dataclass
class Row:
    """One scorer; of a type that is not installed its `raw` configuration is kept as it is."""

    key: str
    type: str
    required: bool
    fields: list[Filled] = field(default_factory=list)
    raw: JsonObject | None = None
    mistakes: list[str] = field(default_factory=list)


@dataclass
class Draft:
    """A scenario that is being edited; `mistakes` are those of no field."""

    fields: list[Filled]
    rows: list[Row]
    mistakes: list[str] = field(default_factory=list)

    @property
    def is_fine(self) -> bool:
        """Whether nothing wrong was found."""
        every = [self.mistakes, *(one.mistakes for one in self.fields)]
        for row in self.rows:
            every += [row.mistakes, *(one.mistakes for one in row.fields)]
        return not any(every)


def draft_of(scenario: Scenario) -> Draft:
    """A scenario as the form shows it."""
    values = scenario.model_dump(mode="json")
    usual = Scenario().model_dump(mode="json")
    fields = []
    for widget in scenario_widgets():
        value = _at(values, widget.name)
        fields.append(Filled(*fitted(widget, None if value == _at(usual, widget.name) else value)))
    return Draft(fields, [row_of(spec, f"r{number}") for number, spec in enumerate(scenario.scorers, 1)])


def _at(values: Any, name: str) -> Any:
    for step in name.split("."):
        values = values.get(step) if isinstance(values, dict) else None
    return values


def row_of(spec: JsonObject, key: str) -> Row:
    """A scorer as a row."""
    name = str(spec.get("type"))
    kind = scorer_types().get(name)
    if kind is None:
        return Row(key, name, bool(spec.get("required", True)), raw=spec)
    required = spec.get("required")
    fields = []
    for widget in kind.widgets:
        shown, text = fitted(widget, spec.get(widget.name, MISSING))
        fields.append(Filled(shown, "" if text == widget.default and not widget.needed else text))
    return Row(key, name, kind.required if required is None else bool(required), fields)


def new_row(key: str, name: str = "command") -> Row:
    """An empty row; its switch stands where the type has it."""
    kind = scorer_types()[name]
    return Row(key, name, kind.required, [Filled(widget) for widget in kind.widgets])


def read_draft(given: Fields) -> Draft:
    """What a form holds: the order of its rows is the order in which they were sent."""
    fields = _filled(given, "s", scenario_widgets())
    keys = [key for key in dict.fromkeys(given.get("row", [])) if _KEY.fullmatch(key)]
    return Draft(fields, [_read_row(given, key) for key in keys])


def _read_row(given: Fields, key: str) -> Row:
    name = _first(given, f"{key}.type")
    raw = _first(given, f"{key}.raw")
    if raw:
        try:
            spec = json.loads(raw)
        except (ValueError, RecursionError):
            spec = None
        spec = spec if isinstance(spec, dict) else {"type": name}
        return Row(key, str(spec.get("type")), bool(spec.get("required", True)), raw=spec)
    kind = scorer_types().get(name)
    if kind is None:
        return Row(key, name, required=True, raw={"type": name})
    was_other = _first(given, f"{key}.was") != name  # the switch was another type's: it starts anew
    required = kind.required if was_other else f"{key}.required" in given
    return Row(key, name, required, _filled(given, key, kind.widgets))


def _filled(given: Fields, key: str, widgets: Iterable[Widget]) -> list[Filled]:
    """The fields with the texts that were sent; a field that was shown as YAML is sent under another name."""
    found = []
    for widget in widgets:
        as_yaml = given.get(f"{key}.y.{widget.name}")
        if as_yaml is not None:
            found.append(Filled(Widget(widget.name, widget.title, "yaml", widget.needed), as_yaml[0]))
        else:
            found.append(Filled(widget, _first(given, f"{key}.f.{widget.name}").replace("\r\n", "\n")))
    return found


def _first(given: Fields, name: str) -> str:
    return given.get(name, [""])[0]


def build(draft: Draft, kept: tuple[JsonObject, ...] = ()) -> Scenario | None:
    """The scenario, or None with every mistake noted; scorers of `kept` may be of types that are not installed."""
    values: JsonObject = {}
    _collect(draft.fields, values)
    scorers = [_spec(row, kept) for row in draft.rows]
    _names_differ(draft.rows, scorers)
    try:
        scenario = Scenario.model_validate_json(canonical_json(values))
        _note(draft.fields, draft.mistakes, together(scenario))
    except ValidationError as error:
        _note(draft.fields, draft.mistakes, located_deep(error))
        return None
    return scenario.model_copy(update={"scorers": tuple(scorers)}) if draft.is_fine else None


def _spec(row: Row, kept: tuple[JsonObject, ...]) -> JsonObject:
    if row.raw is not None:
        spec, wrong = check_scorer(row.raw, kept)
        row.mistakes += [message for _, message in wrong]
        return spec
    given: JsonObject = {"type": row.type}
    _collect(row.fields, given)
    if row.required != scorer_types()[row.type].required:
        given["required"] = row.required
    spec, wrong = check_scorer(given)
    _note(row.fields, row.mistakes, wrong)
    return spec


def _collect(fields: list[Filled], values: JsonObject) -> None:
    """Put the values of fields where they belong."""
    for one in fields:
        try:
            value = from_text(one.widget, one.text)
        except InputError as error:
            one.mistakes.append(str(error))
            continue
        if value is not MISSING:
            first, _, second = one.widget.name.partition(".")
            if second:
                values.setdefault(first, {})[second] = value
            else:
                values[first] = value


def located_deep(error: ValidationError) -> list[Mistake]:
    """The mistakes of a scenario, those of a record inside it at its own field."""
    found = []
    for item, (name, message) in zip(error.errors(include_url=False), located(error, Scenario), strict=True):
        inner = str(item["loc"][1]) if len(item["loc"]) > 1 else ""
        known = {widget.name for widget in scenario_widgets()}
        deep = f"{name}.{inner}"
        found.append((deep, message.removeprefix(inner).lstrip(".: ")) if deep in known else (name, message))
    return found


def _note(fields: list[Filled], others: list[str], wrong: list[Mistake]) -> None:
    """Put each mistake at its field: the one of that name, or the first of that record."""
    for name, message in wrong:
        same = [one for one in fields if one.widget.name == name] or [
            one for one in fields if one.widget.name.startswith(f"{name}.")
        ]
        if not same:
            others.append(f"{name}: {message}" if name else message)
        elif message not in same[0].mistakes and not same[0].mistakes:
            same[0].mistakes.append(message)


def _names_differ(rows: list[Row], specs: list[JsonObject]) -> None:
    seen: set[str] = set()
    for row, spec in zip(rows, specs, strict=True):
        name = spec.get("name")
        if isinstance(name, str) and name in seen:
            _note(row.fields, row.mistakes, [("name", "another scorer has this name; rename one")])
        elif isinstance(name, str):
            seen.add(name)


def added(draft: Draft) -> None:
    """One more row, under a key that none has."""
    taken = {row.key for row in draft.rows}
    free = next(number for number in range(1, len(taken) + 2) if f"r{number}" not in taken)
    draft.rows.append(new_row(f"r{free}"))


def moved(draft: Draft, key: str, by: int) -> None:
    """Move a row up or down."""
    index = next((n for n, row in enumerate(draft.rows) if row.key == key), None)
    if index is not None and 0 <= index + by < len(draft.rows):
        draft.rows[index], draft.rows[index + by] = draft.rows[index + by], draft.rows[index]
