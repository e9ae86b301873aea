"""`compare` of a million run records against Polars and DuckDB that only read them and compute the arm metrics.

Whole commands are timed, from the start of Python to the end, in turns; the best of each counts.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TASKS, REPEATS = 500, 1000
TIMES = 5

OURS = "from steelyard.cli.main import main\nmain(['compare', '--records', path, *words])"
POLARS = """
import polars as pl
c = pl.col
frame = pl.scan_parquet(path) if path.endswith("parquet") else pl.scan_ndjson(path)
both = c("input_tokens") + c("output_tokens")
print(frame.group_by("arm").agg(
    pl.len(), c("success").sum(), c("total_cost_usd").sum(), c("total_cost_usd").median().alias("m"),
    c("duration_seconds").median(), both.median().alias("n"),
    (both + c("cache_read_tokens") + c("cache_write_tokens")).median().alias("t"),
).collect(engine="streaming"))
"""
DUCKDB = """
import duckdb
source = "'" + path + "'" if path.endswith("parquet") else f"read_json('{path}', format='newline_delimited')"
print(duckdb.sql(
    "select arm, count(*), sum(success::int), sum(total_cost_usd), median(total_cost_usd), "
    "median(duration_seconds), median(input_tokens + output_tokens), "
    f"median(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens) from {source} group by arm"
).fetchall())
"""
WORDS = ("--baseline", "base", "--candidate", "cand", "--json")


def write_lines(path: Path, tasks: int, repeats: int) -> None:
    """Tasks × two arms × repeats, one record a line."""
    rng = np.random.default_rng(1)
    with path.open("w", encoding="utf-8") as stream:
        for task in range(tasks):
            for arm in ("base", "cand"):
                seconds, cost = rng.lognormal(3, 0.5, repeats).round(3), rng.lognormal(-1, 0.5, repeats).round(5)
                tokens, passed = rng.integers(100, 100_000, (repeats, 4)), rng.random(repeats) < 0.6
                composite = rng.random(repeats).round(6)
                stream.writelines(
                    f'{{"run_id": "{task}-{arm}-{k}", "task_id": "task-{task}", "arm": "{arm}", "repeat": {k + 1}, '
                    f'"success": {str(bool(passed[k])).lower()}, "duration_seconds": {seconds[k]}, '
                    f'"total_cost_usd": {cost[k]}, "input_tokens": {tokens[k, 0]}, "output_tokens": {tokens[k, 1]}, '
                    f'"cache_read_tokens": {tokens[k, 2]}, "cache_write_tokens": {tokens[k, 3]}, '
                    f'"composite": {composite[k]}}}\n'
                    for k in range(repeats)
                )


def measured(code: str, path: Path) -> tuple[float, float]:
    """Seconds and peak memory in MB of a whole process, from its start to its end; of one run."""
    command = [sys.executable, "-c", f"import sys\npath, *words = sys.argv[1:]\n{code}", str(path), *WORDS]
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1: regressed, which noise is as often as not
        raise SystemExit(f"{path.name}: exit code {process.returncode}")
    return time.perf_counter() - begun, used.ru_maxrss / 1024


def main(argv: list[str]) -> None:
    """Print a Markdown table."""
    import polars as pl

    tasks = int(argv[0]) if argv else TASKS
    print(
        "| file | records | compare, 10,000 resamples | Polars reads | DuckDB reads "
        "| ratio to the slower, to the quicker (limit 3) | peak memory (limit 1 GB) |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        lines, columns = Path(folder) / "r.jsonl", Path(folder) / "r.parquet"
        write_lines(lines, tasks, REPEATS)
        pl.read_ndjson(lines).write_parquet(columns)
        for path in (lines, columns):
            rounds = [[measured(code, path) for code in (OURS, POLARS, DUCKDB)] for _ in range(TIMES)]
            ours, polars, duckdb = (min(took for took, _ in column) for column in zip(*rounds, strict=True))
            memory = max(ours_of_round[1] for ours_of_round, *_ in rounds)
            print(
                f"| {path.suffix[1:]} | {tasks * 2 * REPEATS:,} | {ours:.2f} s | {polars:.2f} s | {duckdb:.2f} s "
                f"| {ours / max(polars, duckdb):.2f}, {ours / min(polars, duckdb):.2f} | {memory:.0f} MB |"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
