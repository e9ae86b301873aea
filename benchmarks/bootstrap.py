"""The clustered BCa bootstrap of all five deltas against one SciPy BCa call on one delta, at its fastest batch."""

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

DESIGNS = ((100, 5), (500, 1), (1000, 50))
BATCHES: tuple[int | None, ...] = (None, 10, 50, 200, 1000)
LIMIT, MEMORY_MB = 1.5, 200


def sample(tasks: int, repeats: int) -> tuple[np.ndarray, np.ndarray]:
    """Five skewed deltas with a spread between tasks, and where the tasks begin."""
    rng = np.random.default_rng(0)
    values = rng.lognormal(0, 1, (tasks * repeats, 5)) + np.repeat(rng.normal(0, 1, (tasks, 5)), repeats, axis=0)
    return np.asfortranarray(values), np.arange(0, tasks * repeats, repeats)


def seconds(work: Callable[[], object], times: int) -> float:
    """The best of several."""
    best = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


def scipy_seconds(values: np.ndarray) -> tuple[float, int | None]:
    """One BCa call on one delta: the time of the quickest batch size, found on a tenth of the resamples."""
    from scipy import stats

    def call(batch: int | None, resamples: int) -> object:
        rng = np.random.default_rng(1)
        return stats.bootstrap(
            (values,), np.mean, n_resamples=resamples, batch=batch, vectorized=True, method="BCa", rng=rng
        )

    large = len(values) > 10_000
    sizes = [b for b in BATCHES if not large or (b is not None and b <= 50)]
    trial = {batch: seconds(lambda b=batch: call(b, 100 if large else 10_000), 1) for batch in sizes}  # type: ignore[misc]  # the batch of this turn
    best = min(trial, key=trial.__getitem__)
    return seconds(lambda: call(best, 10_000), 1 if large else 3), best


def peak_mb(tasks: int, repeats: int) -> float:
    """Peak memory of a process that does nothing but the bootstrap; the kernel's mark begins anew with the program."""
    code = (
        "from benchmarks.bootstrap import sample; from steelyard.compare.bootstrap import intervals;"
        f"intervals(*sample({tasks}, {repeats})); print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) / 1024


def main(argv: list[str]) -> None:
    """Print a Markdown table."""
    from steelyard.compare.bootstrap import intervals

    print(
        "| pairs | tasks | five deltas, clustered | SciPy, one delta (batch) "
        "| ratio (limit 1.5) | peak memory (limit 200 MB) |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for tasks, repeats in DESIGNS:
        values, starts = sample(tasks, repeats)
        ours = seconds(lambda v=values, s=starts: intervals(v, s), 5)  # type: ignore[misc]  # the data of this turn
        theirs, batch = scipy_seconds(np.ascontiguousarray(values[:, 1]))
        print(
            f"| {len(values):,} | {tasks:,} | {ours * 1000:.0f} ms | {theirs * 1000:.0f} ms ({batch or 'all'}) "
            f"| {ours / theirs:.2f} | {peak_mb(tasks, repeats):.0f} MB |"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
