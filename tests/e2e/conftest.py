"""The installed command, used as a person would use it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

STEELYARD = str(Path(sys.executable).parent / "steelyard")


@dataclass(frozen=True)
class Shop:
    """A directory of its own, with the command run in it."""

    root: Path

    def write(self, name: str, text: str) -> Path:
        """Put a file there."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def env(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """An environment that keeps everything in this directory."""
        return {**os.environ, "STEELYARD_HOME": str(self.root / ".steelyard"), "NO_COLOR": "1", **(more or {})}

    def steelyard(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return subprocess.run(
            [STEELYARD, *words],
            cwd=self.root,
            env=self.env(more),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def json(self, *words: str, code: int | None = 0) -> Any:
        """Run the command with --json and read its one document; a `code` of None takes any verdict."""
        done = self.steelyard(*words, "--json")
        assert done.returncode == code or (code is None and done.returncode < 2), done.stderr + done.stdout
        return json.loads(done.stdout)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start the command in the background, in a group of its own."""
        return subprocess.Popen(
            [STEELYARD, *words],
            cwd=self.root,
            env=self.env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """An empty directory to work in."""
    root = tmp_path / "shop"
    root.mkdir()
    return Shop(root)
