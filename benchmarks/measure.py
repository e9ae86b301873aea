"""What benchmarks share: processor time of child processes, and tables."""

import os
import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ENV = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Spent:
    """What a child and its children used."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def spend(argv: Sequence[str], *, cwd: Path | None = None, env: dict[str, str] | None = None) -> Spent:
    """Run a program to its end and say what it used; a failing program is an error here."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, env=env or ENV, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    wall = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(argv)[:200]} exited with {done.returncode}: {done.stderr.decode()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(cpu, wall, after.ru_maxrss / 1024)


def cpu_of(pid: int) -> float:
    """The processor time that a process and its children, which live, have used, in seconds."""
    found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ticks = int(found[11]) + int(found[12])
    return ticks / os.sysconf("SC_CLK_TCK") + sum(cpu_of(int(child)) for child in children)


def median(values: Sequence[float]) -> float:
    """The middle value."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def span(values: Sequence[float], digits: int = 2) -> str:
    """Median with the lowest and highest value, for a table."""
    return f"{median(values):.{digits}f} [{min(values):.{digits}f} to {max(values):.{digits}f}]"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """This machine's size, in a line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    model = next((line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")), "unknown")
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, Python {'.'.join(map(str, _version()))}"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def _version() -> tuple[int, int, int]:
    import sys

    return sys.version_info[:3]
