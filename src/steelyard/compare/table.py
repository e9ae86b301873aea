"""Run records as columns: what a comparison works on, whether there are ten of them or ten million.

An unknown number is NaN; a composite that was stated but is not finite is kept as infinity, because it is evidence
of something broken and not the same as unknown. Task and arm names are kept once, sorted, and referred to by code.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from steelyard.domain.run_record import RunRecord
from steelyard.errors import INFRASTRUCTURE, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

NUMBERS = (
    "duration_seconds",
    "total_cost_usd",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "step_count",
    "tool_call_count",
    "acceptance_cmd_count",
    "objective_passed",
    "objective_total",
    "judge01",
    "composite",
)


@dataclass(frozen=True)
class RecordTable:
    """All runs, one array a field; row i of every array is the same run. `error` is -1 or an index into `errors`."""

    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    errors: tuple[str, ...]
    task: "Ints"
    arm: "Ints"
    error: "Ints"
    repeat: "Ints"
    success: "Bools"
    numbers: "dict[str, Floats]"
    run_ids: Sequence[str]

    def __len__(self) -> int:
        return len(self.repeat)

    def number(self, name: str) -> "Floats":
        """A column of numbers; a field that no record had is unknown throughout."""
        import numpy as np

        found = self.numbers.get(name)
        return np.broadcast_to(np.float64(np.nan), len(self)) if found is None else found

    def states(self, name: str) -> bool:
        """Whether any record may know this number."""
        return name in self.numbers

    @cached_property
    def counted(self) -> "Bools":
        """Which runs count: those that did not fail for an infrastructure reason."""
        import numpy as np

        ours = np.array([name in INFRASTRUCTURE for name in self.errors] + [False])
        result: Bools = ~ours[self.error]
        return result

    @cached_property
    def total_tokens(self) -> "Floats":
        """All four kinds of tokens together; unknown when one kind is."""
        return self.non_cache_tokens + self.number("cache_read_tokens") + self.number("cache_write_tokens")

    @cached_property
    def non_cache_tokens(self) -> "Floats":
        """Input and output tokens; unknown when one kind is."""
        return self.number("input_tokens") + self.number("output_tokens")

    @cached_property
    def _rows(self) -> "dict[str, Ints]":
        """The rows of the arms that were asked for."""
        return {}

    def rows_of(self, arm: str) -> "Ints":
        """The counted rows of an arm, by task name and repeat: the same runs in any order give the same rows."""
        import numpy as np

        if arm not in self.arms:
            return np.zeros(0, dtype=np.int64)
        if arm not in self._rows:
            rows = np.flatnonzero((self.arm == self.arms.index(arm)) & self.counted)
            keys = self.keys(rows)
            if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
                rows = rows[np.argsort(keys, kind="stable")]
            self._rows[arm] = rows
        return self._rows[arm]

    def ids(self, rows: "Ints") -> tuple[str, ...]:
        """The run ids of some rows."""
        gather = getattr(self.run_ids, "gather", None)  # a column of Polars gives many at once far sooner
        return tuple(gather(rows.tolist()).to_list()) if gather else tuple(self.run_ids[row] for row in rows.tolist())

    def without(self, rows: Sequence[int]) -> "RecordTable":
        """The table without some rows."""
        import numpy as np

        kept = np.delete(np.arange(len(self)), rows)
        return replace(
            self,
            task=self.task[kept],
            arm=self.arm[kept],
            error=self.error[kept],
            repeat=self.repeat[kept],
            success=self.success[kept],
            numbers={name: column[kept] for name, column in self.numbers.items()},
            run_ids=[self.run_ids[int(row)] for row in kept],
        )

    def keys(self, rows: "Ints") -> "Ints":
        """One whole number for the (task, repeat) of each row."""
        keys: Ints = (self.task[rows] << 31) + self.repeat[rows]
        return keys


def table_of(records: Iterable[RunRecord]) -> RecordTable:
    """A table from records; refused when two counted runs are the same (task, arm, repeat)."""
    columns = Columns()
    for record in records:
        columns.add(record)
    table = columns.table()
    refuse_duplicates(table)
    return table


class Columns:
    """Grows a table row by row, in flat arrays."""

    def __init__(self) -> None:
        self.names: dict[str, dict[str, int]] = {"task": {}, "arm": {}, "error": {}}
        self.codes = {name: array("q") for name in self.names}
        self.repeat = array("q")
        self.success = array("b")
        self.numbers = {name: array("d") for name in NUMBERS}
        self.run_ids: list[str] = []

    def add(self, record: RunRecord) -> None:
        """One more row."""
        self._code("task", record.task_id)
        self._code("arm", record.arm)
        self._code("error", record.error_class)
        self.repeat.append(record.repeat)
        self.success.append(record.success)
        self.run_ids.append(record.run_id)
        for name, column in self.numbers.items():
            value = getattr(record, name)
            if value is None:
                column.append(float("nan"))
            elif name == "composite" and not abs(value) < float("inf"):
                column.append(float("inf"))
            else:
                column.append(value)

    def _code(self, column: str, name: str | None) -> None:
        names = self.names[column]
        self.codes[column].append(-1 if name is None else names.setdefault(name, len(names)))

    def table(self) -> RecordTable:
        """The table as it stands."""
        import numpy as np

        coded = {
            column: sorted_codes(tuple(names), np.array(self.codes[column], dtype=np.int64))
            for column, names in self.names.items()
        }
        return RecordTable(
            tasks=coded["task"][0],
            arms=coded["arm"][0],
            errors=coded["error"][0],
            task=coded["task"][1],
            arm=coded["arm"][1],
            error=coded["error"][1],
            repeat=np.array(self.repeat, dtype=np.int64),
            success=np.array(self.success, dtype=np.bool_),
            numbers={name: np.array(column, dtype=np.float64) for name, column in self.numbers.items()},
            run_ids=self.run_ids,
        )


def sorted_codes(names: Sequence[str], codes: "NDArray[Any]") -> "tuple[tuple[str, ...], Ints]":
    """Names in sorted order and the codes that now point at them; -1 stays -1."""
    import numpy as np

    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names) + 1, dtype=np.int64)
    rank[order] = np.arange(len(names))
    rank[-1] = -1
    return tuple(names[i] for i in order), rank[codes]


def duplicate_rows(table: RecordTable) -> "list[tuple[int, int]]":
    """Counted rows that repeat the (task, arm, repeat) of an earlier row, each with that earlier row, in row order."""
    import numpy as np

    found: list[tuple[int, int]] = []
    for arm in table.arms:
        rows = table.rows_of(arm)
        keys = table.keys(rows)
        again = np.flatnonzero(keys[1:] == keys[:-1]) + 1
        for place in again.tolist():
            first = place - 1
            while first > 0 and keys[first - 1] == keys[place]:
                first -= 1
            found.append((int(rows[place]), int(rows[first])))
    return sorted(found)


def refuse_duplicates(table: RecordTable) -> None:
    """`InputError` that names the first runs which are the same (task, arm, repeat)."""
    found = duplicate_rows(table)
    if not found:
        return
    row, first = found[0]
    place = f"task '{table.tasks[table.task[row]]}', arm '{table.arms[table.arm[row]]}', repeat {table.repeat[row]}"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    raise InputError(
        f"{place} is there twice: runs '{table.run_ids[first]}' and '{table.run_ids[row]}'{more}; "
        "give every run of a task and arm its own repeat"
    )
