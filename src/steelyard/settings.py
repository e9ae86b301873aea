"""What the environment says, read once into one frozen record."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import InputError

EVENTS_KEEP = 100_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Where things are kept. Every field is one environment variable, documented in docs/settings.md."""

    home: Path
    store_url: str
    scratch: Path | None
    events: str = ""
    events_keep: int = EVENTS_KEEP

    @property
    def artifacts(self) -> Path:
        """The directory of content-addressed artifacts."""
        return self.home / "artifacts"

    @property
    def judge_cache(self) -> Path:
        """The directory of judges' replies, by what was asked."""
        return self.home / "judge-cache"


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from `STEELYARD_HOME`, `STEELYARD_STORE`, `STEELYARD_SCRATCH` and `STEELYARD_EVENTS`, `…_KEEP`."""
    env = os.environ if environ is None else environ
    home = Path(env.get("STEELYARD_HOME") or ".steelyard").absolute()
    scratch = env.get("STEELYARD_SCRATCH")
    return Settings(
        home=home,
        store_url=env.get("STEELYARD_STORE") or f"sqlite:///{home / 'steelyard.db'}",
        scratch=Path(scratch).absolute() if scratch else None,
        events=env.get("STEELYARD_EVENTS") or "",
        events_keep=_whole(env, "STEELYARD_EVENTS_KEEP", EVENTS_KEEP),
    )


def _whole(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name) or str(default)
    if not text.isdecimal() or not 1 <= len(text) <= 12 or int(text) == 0:
        raise InputError(f"{name} is {text[:40]!r}; a whole number above 0 is allowed")
    return int(text)
