"""What the environment says, read once into one frozen record."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """Where things are kept. Every field is one environment variable, documented in docs/settings.md."""

    home: Path
    store_url: str
    scratch: Path | None

    @property
    def artifacts(self) -> Path:
        """The directory of content-addressed artifacts."""
        return self.home / "artifacts"


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from `STEELYARD_HOME`, `STEELYARD_STORE` and `STEELYARD_SCRATCH`."""
    env = os.environ if environ is None else environ
    home = Path(env.get("STEELYARD_HOME") or ".steelyard").absolute()
    scratch = env.get("STEELYARD_SCRATCH")
    return Settings(
        home=home,
        store_url=env.get("STEELYARD_STORE") or f"sqlite:///{home / 'steelyard.db'}",
        scratch=Path(scratch).absolute() if scratch else None,
    )
