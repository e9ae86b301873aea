"""The installed command in a directory of its own, and one real experiment to ask about."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STEELYARD = str(Path(sys.executable).parent / "steelyard")


@dataclass(frozen=True)
class Shop:
    """A directory, with the command run in it and everything kept in it."""

    root: Path

    def write(self, name: str, text: str) -> Path:
        """Put a file there."""
        path = self.root / name
        path.write_text(text, "utf-8")
        return path

    def records(self, name: str, *lines: dict[str, Any]) -> Path:
        """A file of run records."""
        return self.write(name, "".join(json.dumps(line) + "\n" for line in lines))

    def run(self, *words: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        env = {**os.environ, "STEELYARD_HOME": str(home or self.root / ".steelyard"), "NO_COLOR": "1"}
        env.pop("STEELYARD_STORE", None)
        return subprocess.run(
            [STEELYARD, *words], cwd=self.root, env=env, capture_output=True, text=True, timeout=240, check=False
        )

    def json(self, *words: str, code: int | None = 0, home: Path | None = None) -> Any:
        """Run the command with --json and read its one document.

        With code None the verdict may be any: very short runs differ in time by chance, which moves composites.
        """
        done = self.run(*words, "--json", home=home)
        assert done.returncode in ((0, 1) if code is None else (code,)), done.stderr + done.stdout
        return json.loads(done.stdout)

    def refused(self, *words: str, code: int = 2, home: Path | None = None) -> str:
        """Run a command that must fail, and give the words of its refusal: never a traceback, nothing on stdout."""
        done = self.run(*words, home=home)
        assert done.returncode == code, done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
        return done.stderr


def line(task: str, arm: str, repeat: int = 1, **more: Any) -> dict[str, Any]:
    """A run record as another tool would write it."""
    return {
        "run_id": f"{task}-{arm}-{repeat}",
        "task_id": task,
        "arm": arm,
        "repeat": repeat,
        "success": True,
        "duration_seconds": 2.0,
        "total_cost_usd": 0.1,
        "input_tokens": 100,
        "output_tokens": 10,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "composite": 0.9,
        **more,
    }
