"""Run records from JSON lines, one at a time: the reading that names every mistake at its line."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from steelyard.compare.table import Columns, RecordTable, duplicate_rows
from steelyard.domain.mistakes import mistakes
from steelyard.domain.run_record import RunRecord
from steelyard.errors import InputError, PlacedError

NAMED = 20  # mistakes that are spelled out
MOST_BAD = 1000  # bad lines after which a strict reading gives up
LONGEST_LINE = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass
class Bad:
    """Lines that could not be read: the first of them in words, up to a thousand by place, all of them counted."""

    lines: int = 0
    named: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)

    def add(self, place: str, problems: list[str]) -> None:
        """One more bad line with its problems."""
        self.lines += 1
        if len(self.named) >= NAMED and len(self.later) < MOST_BAD:
            self.later.append(place)
        self.named += [f"{place}: {problem}" for problem in problems[: max(0, NAMED - len(self.named))]]

    def words(self) -> list[str]:
        """What is wrong, a line a mistake, and at the end the places of the bad lines that are not spelled out."""
        lines: dict[str, list[str]] = {}
        for place in self.later:
            file, _, number = place.rpartition(":")
            lines.setdefault(file, []).append(number)
        more = ", ..." if len(self.later) == MOST_BAD else ""
        return [*self.named, *(f"{file}: also bad: {', '.join(numbers)}{more}" for file, numbers in lines.items())]

    def refuse(self) -> None:
        """`InputError` that names what is wrong, when anything is."""
        if not self.lines:
            return
        more = "" if self.lines < MOST_BAD else "; reading stopped there"
        count = f"{self.lines} bad line{'s' if self.lines > 1 else ''}{more}"
        them = "them" if self.lines > 1 else "it"
        raise PlacedError("\n".join([*self.words(), f"{count}; mend {them}, or read the others with --skip-bad"]))


class Places:
    """The file and line of every row, in eight bytes a row."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self.files: list[Path] = []
        self.firsts: list[int] = []

    def add(self, path: Path, number: int) -> None:
        """Where the next row is from; the rows of a file follow each other."""
        if not self.files or self.files[-1] is not path:
            self.files.append(path)
            self.firsts.append(len(self.numbers))
        self.numbers.append(number)

    def __getitem__(self, row: int) -> tuple[Path, int]:
        return self.files[bisect_right(self.firsts, row) - 1], self.numbers[row]


def iterate_lines(path: Path, bad: Bad, *, strict: bool) -> Iterator[tuple[int, RunRecord]]:
    """The records of a file with their line numbers; bad lines are collected, never loaded whole, never guessed at."""
    for number, record, _ in iterate_texts(path, bad, strict=strict):
        yield number, record


def iterate_texts(path: Path, bad: Bad, *, strict: bool) -> Iterator[tuple[int, RunRecord, bytes]]:
    """The records of a file with their line numbers and the lines themselves, without the space around them."""
    try:
        with path.open("rb") as stream:
            for number, line in _lines(stream):
                problems, record = _parse(line)
                if record is not None:
                    yield number, record, line.strip()
                elif problems:
                    bad.add(f"{path}:{number}", problems)
                    if strict and bad.lines >= MOST_BAD:
                        return
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror}") from None


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        yield number, line
        while len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_LINE + 1)


def _parse(line: bytes) -> tuple[list[str], RunRecord | None]:
    """A record, or what is wrong with its line; neither for a blank one."""
    if len(line) > LONGEST_LINE:
        return [f"longer than {LONGEST_LINE // 1024 // 1024} MB; one run record a line is expected"], None
    text = line.strip()
    if not text:
        return [], None
    try:
        return [], RunRecord.model_validate_json(text)
    except ValidationError as error:
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as broken:
            return [f"not UTF-8 (byte {broken.start + 1})"], None
        return mistakes(error, RunRecord), None


def table_from_lines(paths: list[Path], *, strict: bool) -> tuple[RecordTable, Bad]:
    """All records of some files as one table; a run that is already there is a bad line too."""
    columns, bad, places = Columns(), Bad(), Places()
    for path in paths:
        for number, record in iterate_lines(path, bad, strict=strict):
            columns.add(record)
            places.add(path, number)
    table = columns.table()
    again = duplicate_rows(table)
    for row, first in again:
        path, number = places[row]
        key = f"task '{table.tasks[table.task[row]]}', arm '{table.arms[table.arm[row]]}', repeat {table.repeat[row]}"
        earlier = places[first]
        where = f"line {earlier[1]}" if earlier[0] == path else f"{earlier[0]}:{earlier[1]}"
        bad.add(f"{path}:{number}", [f"repeat: {key} was already on {where}"])
    if strict:
        bad.refuse()
    return (table.without([row for row, _ in again]) if again else table), bad
