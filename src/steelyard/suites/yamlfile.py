"""A YAML file as a tree whose every value knows its line and column, within bounds that no file can exceed.

Values follow YAML 1.2's core schema: `no`, `on`, dates and `1_000` are text; `true`, `12`, `0x1f`, `1e3` are not.
The tree is built from the parser's events, one by one, so that neither depth nor aliases can exhaust anything: an
alias shares its anchor's node, and counts with everything it stands for.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.suites.problems import Problem, Problems, SuiteError, kind_of, shown, visible

MAX_BYTES = 10 * 1024 * 1024
MAX_VALUES = 500_000
MAX_DEPTH = 50

Place = tuple[int, int]

_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}  # type: ignore[dict-item]  # bools beside None
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TEXT_TAGS = {"!", "tag:yaml.org,2002:str"}
_PLAIN_TAGS = {None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}


@dataclass(slots=True, eq=False)
class Node:
    """A value and where it stands. A mapping's `value` is a dict of nodes, a list's a list of nodes."""

    at: Place
    value: Any = None
    size: int = 1
    keys: dict[str, Place] = field(default_factory=dict)
    merged: list["Node"] = field(default_factory=list)

    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def child(self, key: str | int) -> "Node | None":
        """The node under a key or an index, if there is one."""
        if isinstance(self.value, dict):
            return self.value.get(key)
        if isinstance(self.value, list) and isinstance(key, int) and 0 <= key < len(self.value):
            return self.value[key]  # type: ignore[no-any-return]  # the list holds nodes
        return None

    def key_at(self, key: str) -> Place:
        """Where a key of this mapping stands; the mapping's own place when it has no such key."""
        return self.keys.get(key, self.at)


def read_yaml(path: Path) -> tuple[Node, Problems]:
    """The file's one document and what is wrong with it so far; `SuiteError` when there is no document to look at."""
    return read_yaml_text(_read_text(path), str(path))


def read_yaml_text(text: str, about: str) -> tuple[Node, Problems]:
    """The same for a text that is no file; `about` is what mistakes name."""
    problems = Problems(about)
    builder = _Builder(problems)
    try:
        for event in _events(text):
            builder.take(event)
    except _Stop:
        problems.stop()
    if builder.root is None:
        problems.add((1, 1), "", "the file is empty; `steelyard init` writes a suite with scorers to start from")
        problems.stop()
    assert builder.root is not None  # noqa: S101  # for the type checker: stop() has raised
    return builder.root, problems


def _read_text(path: Path) -> str:
    def refuse(message: str, at: Place = (0, 0)) -> SuiteError:
        return SuiteError(str(path), [Problem(*at, "", message)])

    try:
        if kind_of(path) in {"directory", "other"}:
            raise refuse("is not a file; give the path of a YAML file")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise refuse("there is no such file") from error
    except OSError as error:
        raise refuse(f"can't be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise refuse("is larger than 10 MB; split it into several files")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        raise refuse(f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8", place) from error


class _Stop(Exception):  # noqa: N818  # not an error: the error has been noted
    """Nothing more can be read."""


def _events(text: str) -> Iterator[Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from yaml.parse(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        line = "".join(text.split("\n", mark.line + 1)[mark.line : mark.line + 1]) if mark else ""
        if line[: len(line) - len(line.lstrip())].count("\t"):
            what += "; YAML is indented with spaces, never with tabs"
        yield _Broken((mark.line + 1, mark.column + 1) if mark else (1, 1), f"not valid YAML: {visible(what)}")
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0) or 0
        before = text.encode()[:position].decode("utf-8", "ignore")
        place = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
        character = getattr(error, "character", None)
        what = f"character #x{character:04x} is not allowed" if isinstance(character, int) else "can't be read"
        yield _Broken(place, f"not valid YAML: {what}")


@dataclass(frozen=True, slots=True)
class _Broken:
    """Stands at the end of the events of a file that is not YAML."""

    at: Place
    message: str


class _Builder:
    """Makes nodes from events; `root` is the first document's."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.root: Node | None = None
        self.documents = 0
        self.open: list[tuple[Node, str | None]] = []
        self.pending: list[tuple[str | None, Place] | None] = []
        self.anchors: dict[str, Node] = {}

    def take(self, event: Any) -> None:
        """Act on one event of the parser."""
        if isinstance(event, _Broken):
            self._refuse(event.at, event.message)
        kind = type(event).__name__
        at = (event.start_mark.line + 1, event.start_mark.column + 1)
        if kind == "ScalarEvent":
            self._put(Node(at, self._scalar(event, at)), event.anchor)
        elif kind in {"MappingStartEvent", "SequenceStartEvent"}:
            if event.tag not in _PLAIN_TAGS:
                self._wrong(at, f"tag {visible(event.tag)} is not used in this file; leave it out")
            if len(self.open) >= MAX_DEPTH:
                self._refuse(at, f"nested more than {MAX_DEPTH} levels deep")
            self.open.append((Node(at, {} if kind == "MappingStartEvent" else []), event.anchor))
            self.pending.append(None)
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            node, anchor = self.open.pop()
            self.pending.pop()
            self._merge(node)
            self._put(node, anchor)
        elif kind == "AliasEvent":
            self._put(self._aliased(event.anchor, at), None)
        elif kind == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                self._refuse(at, "a second document starts here; one file holds one document")

    def _refuse(self, at: Place, message: str) -> None:
        self.problems.add(at, "", message)
        raise _Stop

    def _aliased(self, anchor: str, at: Place) -> Node:
        if any(name == anchor for _, name in self.open):
            self._refuse(at, f"anchor '{visible(anchor)}' holds itself")
        node = self.anchors.get(anchor)
        if node is None:
            self._refuse(at, f"there is no anchor '{visible(anchor)}' before this")
        assert node is not None  # noqa: S101  # for the type checker: _refuse has raised
        return node

    def _put(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = node
        if not self.open:
            self.root = node if self.documents <= 1 else self.root
            return
        parent = self.open[-1][0]
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif self.pending[-1] is None:
            self.pending[-1] = self._key(parent, node), node.at
            return
        else:
            key, place = self.pending[-1]
            self.pending[-1] = None
            if key == "<<":
                parent.merged.append(node)
            elif key is not None:
                parent.value[key] = node
                parent.keys[key] = place
        parent.size += node.size
        if parent.size > MAX_VALUES:
            self._refuse(node.at, f"more than {MAX_VALUES:,} values, aliases counted with all they stand for")

    def _key(self, parent: Node, node: Node) -> str | None:
        key = node.value
        if not isinstance(key, str):
            hint = "" if isinstance(key, dict | list) else "; put it in quotes"
            self.problems.add(node.at, "", f"a key must be text, not {shown(key)}{hint}")
            return None
        if key in parent.value:
            first = parent.keys[key][0]
            self.problems.add(
                node.at, self._about(key), f"this key was given before, at line {first}; keep one of them"
            )
            return None
        return key

    def _wrong(self, at: Place, message: str) -> None:
        self.problems.add(at, self._about(), message)

    def _about(self, key: str | None = None) -> str:
        """The name of where the parser is, or of a key that it meets there."""
        about = ""
        for (node, _), pending in zip(self.open, self.pending, strict=True):
            if isinstance(node.value, list):
                about += f"[{len(node.value)}]"
            elif pending is not None:
                about += f".{pending[0]}" if about else str(pending[0])
        return about if key is None else f"{about}.{key}" if about else key

    def _merge(self, node: Node) -> None:
        """`<<: *anchor` brings in the keys that the mapping does not have itself."""
        for source in node.merged:
            for mapping in source.value if isinstance(source.value, list) else [source]:
                if not isinstance(mapping.value, dict):
                    self.problems.add(
                        source.at, "<<", f"must be a mapping or a list of mappings, not {shown(source.value)}"
                    )
                    continue
                for key, value in mapping.value.items():
                    if key not in node.value:
                        node.value[key] = value
                        node.keys[key] = mapping.keys[key]

    def _scalar(self, event: Any, at: Place) -> Any:
        text: str = event.value
        if "\0" in text:
            self.problems.add(
                at, self._about(), "holds a NUL character, which no file name, command or prompt can hold"
            )
        if event.tag in _TEXT_TAGS or (event.tag is None and not event.implicit[0]):
            return text
        if event.tag is not None:
            self._wrong(at, f"tag {visible(event.tag)} is not used in this file; leave it out")
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            whole = 0 if len(text) > 40 else int(text, 0) if text[:2] in {"0x", "0o"} else int(text)
            if len(text) > 40 or abs(whole) >= 2**63:
                self._wrong(at, "is a number of more than 63 bits; put it in quotes if it is text")
                return 0
            return whole
        if _FLOAT.fullmatch(text):
            number = math.inf if text[-1] in "fFnN" else float(text)
            if not math.isfinite(number):
                self._wrong(at, "must be a finite number")
                return 0.0
            return number
        return text
