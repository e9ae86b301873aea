"""What a script of the scripted agent may say, checked before anything runs."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

MOST = 10
_LARGEST = 2**53
_TEXT: tuple[type, ...] = (str,)
_NUMBER: tuple[type, ...] = (int, float)
_WHOLE: tuple[type, ...] = (int,)
_MAPPING: tuple[type, ...] = (dict,)
_WORDS = {_TEXT: "text", _NUMBER: "a number", _WHOLE: "a whole number", _MAPPING: "a mapping"}
_SCALARS: dict[str, tuple[type, ...]] = {
    "say": (str, int, float),
    "delete": _TEXT,
    "run": _TEXT,
    "sleep": _NUMBER,
    "usage": _MAPPING,
    "exit": _WHOLE,
    "repeats": _MAPPING,
}
_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "write": {"path": _TEXT, "text": _TEXT},
    "append": {"path": _TEXT, "text": _TEXT},
    "replace": {"path": _TEXT, "old": _TEXT, "new": _TEXT},
    "rename": {"from": _TEXT, "to": _TEXT},
    "chmod": {"path": _TEXT, "mode": (str, int)},
    "chance": {"p": _NUMBER},
}
_OPTIONAL = {"chance": ("then", "else")}
_NAMES = ("say", "write", "append", "replace", "delete", "rename", "chmod", "run", "sleep", "usage", "exit")
ACTIONS = ", ".join((*_NAMES, "chance", "repeats"))


def mistakes_in(tasks: dict[Any, Any]) -> list[str]:
    """What is wrong with the actions of a script, the first ten of it, each with its task."""
    found = []
    for task, value in tasks.items():
        turns = value.get("turns", []) if isinstance(value, dict) else [value]
        for actions in turns:
            found += [f"task '{task}': {wrong}" for action in _every(actions or []) if (wrong := _mistake(action))]
    return found[:MOST]


def _every(actions: Any) -> Iterator[Any]:
    """All actions of a list, those inside `chance` and `repeats` too."""
    if not isinstance(actions, list):
        yield actions
        return
    for action in actions:
        yield action
        inner = next(iter(action.values()), None) if isinstance(action, dict) else None
        if not isinstance(inner, dict):
            continue
        branches = [inner.get("then"), inner.get("else")] if "chance" in action else []
        for branch in (*branches, *(inner.values() if "repeats" in action else ())):
            yield from _every(branch or [])


def _mistake(action: Any) -> str | None:
    if not isinstance(action, dict) or len(action) != 1:
        return f"{action!r} is not an action; an action is one of: {ACTIONS}"
    name, value = next(iter(action.items()))
    if name not in _SCALARS and name not in _FIELDS:
        near = get_close_matches(str(name), (*_SCALARS, *_FIELDS), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return f"{name!r} is not an action; an action is one of: {ACTIONS}{hint}"
    if name == "usage" and isinstance(value, dict):
        wrong = [field for field, number in value.items() if not _is(number, _NUMBER) or not 0 <= number < _LARGEST]
        return f"usage.{wrong[0]}: must be a number of at least 0, not {value[wrong[0]]!r}" if wrong else None
    if name in _SCALARS:
        return None if _is(value, _SCALARS[name]) else f"{name}: must be {_words(_SCALARS[name])}, not {value!r}"
    return _field_mistake(name, value)


def _field_mistake(name: str, value: Any) -> str | None:
    fields = _FIELDS[name]
    allowed = (*fields, *_OPTIONAL.get(name, ()))
    if not isinstance(value, dict):
        return f"{name}: must be a mapping with {', '.join(allowed)}, not {value!r}"
    for field, kinds in fields.items():
        if field not in value:
            return f"{name}: '{field}' is missing; it takes {', '.join(allowed)}"
        if not _is(value[field], kinds):
            return f"{name}.{field}: must be {_words(kinds)}, not {value[field]!r}"
    strange = [field for field in value if field not in allowed]
    return f"{name}: '{strange[0]}' is no field of it; it takes {', '.join(allowed)}" if strange else None


def _is(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _words(kinds: tuple[type, ...]) -> str:
    return _WORDS.get(kinds, "text or a number")
