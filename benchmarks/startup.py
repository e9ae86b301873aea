"""What starting the command costs, next to starting Python."""

import sys
from pathlib import Path

from benchmarks.measure import median, span, spend, table

STEELYARD = str(Path(sys.executable).parent / "steelyard")
ROUNDS = 15


def main(argv: list[str]) -> None:
    """Interleave the three commands and take ratios per round."""
    del argv
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "steelyard --version": [STEELYARD, "--version"],
        "steelyard --help": [STEELYARD, "--help"],
    }
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            spent[name].append(spend(command).cpu_s * 1000)
    floor = spent["python -c pass"]
    rows = [
        (name, span(values, 0), f"{median([a / b for a, b in zip(values, floor, strict=True)]):.1f} ×")
        for name, values in spent.items()
    ]
    print(table(["command", "CPU ms", "next to `python -c pass`"], rows))
    print("\nGoals: `--version` at most 5 ×, `--help` at most 10 ×.")
