"""Writes `quarantine` into a suite file, and leaves every other byte of it alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import InputError
from steelyard.suites.problems import SuiteError
from steelyard.suites.yamlfile import read_yaml_text


def with_quarantine(text: str, wanted: Mapping[str, Sequence[str]]) -> str:
    """The suite's text with these names in the `quarantine` of these tasks: comments and layout stay.

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
            edits.append(_edit(text, item, wanted[name.value]))
    after = text
    for at, end, piece in sorted(edits, reverse=True):
        after = after[:at] + piece + after[end:]
    try:
        became = _read(after)
    except SuiteError:
        became = None
    if became != _expected(_read(text), wanted):
        raise InputError("the quarantine can't be written without changing something else: add it by hand")
    return after


def _read(text: str) -> Any:
    return read_yaml_text(text, "the suite")[0].plain()


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


def _edit(text: str, item: Any, wanted: Sequence[str]) -> tuple[int, int, str]:
    """Where to cut, up to where, and what to put there."""
    there = _value(item, "quarantine")
    if there is not None and there.id == "sequence" and not there.flow_style:
        known = [one.value for one in there.value]
        more = [f"- {_flow([name])[1:-1]}" for name in wanted if name not in known]
        return _lines_after(text, there.value[-1].end_mark.index, there.start_mark.column, more)
    names = _flow(wanted)
    if there is not None:
        return there.start_mark.index, there.end_mark.index, names
    if item.flow_style:
        end = item.value[-1][1].end_mark.index
        return end, end, f", quarantine: {names}"
    key, value = next(pair for pair in item.value if pair[0].value == "id")
    return _lines_after(text, value.end_mark.index, key.start_mark.column, [f"quarantine: {names}"])


def _lines_after(text: str, place: int, column: int, lines: Sequence[str]) -> tuple[int, int, str]:
    """Lines below the one in which a place is, each begun at a column."""
    line_end = text.find("\n", place)
    at = len(text) if line_end < 0 else line_end
    newline = "\r\n" if text[:at].endswith("\r") or "\r\n" in text[:at] else "\n"
    at -= text[:at].endswith("\r")
    return at, at, "".join(f"{newline}{' ' * column}{line}" for line in lines)
