"""Writes `quarantine` into a suite file, and leaves every other byte of it alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import InputError


def with_quarantine(text: str, wanted: Mapping[str, Sequence[str]]) -> str:
    """The suite's text with the `quarantine` of these tasks set to these names: comments and layout stay.

    `InputError` where a task does not stand in the file in a way that can be edited safely (an alias, a merge key).
    """
    import yaml

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    listing = _value(root, "tasks")
    edits = []
    for item in listing.value if listing is not None else []:
        name = _value(item, "id")
        if name is not None and name.value in wanted:
            if sum(other is item for other in listing.value) > 1:
                raise InputError(f"task '{name.value}' shares its lines with another: add its quarantine by hand")
            edits.append(_edit(text, item, _flow(wanted[name.value])))
    after = text
    for at, end, piece in sorted(edits, reverse=True):
        after = after[:at] + piece + after[end:]
    if yaml.safe_load(after) != _expected(yaml.safe_load(text), wanted):
        raise InputError("the quarantine can't be written without changing something else: add it by hand")
    return after


def _expected(data: Any, wanted: Mapping[str, Sequence[str]]) -> Any:
    for task in data["tasks"]:
        if task.get("id") in wanted:
            task["quarantine"] = list(wanted[task["id"]])
    return data


def _value(node: Any, key: str) -> Any:
    """The node under a key of a mapping; None when there is none."""
    pairs = node.value if node is not None and node.id == "mapping" else []
    return next((value for name, value in pairs if name.value == key), None)


def _flow(names: Sequence[str]) -> str:
    import yaml

    return str(yaml.safe_dump(list(names), default_flow_style=True, width=1_000_000, allow_unicode=True)).strip()


def _edit(text: str, item: Any, names: str) -> tuple[int, int, str]:
    """Where to cut, up to where, and what to put there."""
    there = _value(item, "quarantine")
    if there is not None:
        end = there.value[-1].end_mark.index if not there.flow_style and there.value else there.end_mark.index
        return there.start_mark.index, end, names
    if item.flow_style:
        end = item.value[-1][1].end_mark.index
        return end, end, f", quarantine: {names}"
    key, value = next(pair for pair in item.value if pair[0].value == "id")
    line_end = text.find("\n", value.end_mark.index)
    at = len(text) if line_end < 0 else line_end
    newline = "\r\n" if text[:at].endswith("\r") or "\r\n" in text[:at] else "\n"
    at -= text[:at].endswith("\r")
    return at, at, f"{newline}{' ' * key.start_mark.column}quarantine: {names}"
