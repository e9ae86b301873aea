"""What a Docker sandbox costs next to `docker run` of the same command."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import median, span, table
from steelyard.domain.suite import Limits
from steelyard.errors import InfraError
from steelyard.sandboxes.base import SandboxSpec, shell
from steelyard.sandboxes.docker import DockerProvider
from steelyard.sandboxes.docker_images import DEFAULT_IMAGE

ROUNDS = 9
SCRIPT = "echo hello > file; cat file"


def main(argv: list[str]) -> None:
    """Interleave both, on the same image with the same restrictions, and take the ratio per round."""
    del argv
    image = os.environ.get("STEELYARD_TEST_IMAGE", DEFAULT_IMAGE)
    provider = DockerProvider(image)
    try:
        provider.images.find(None, None)
    except InfraError as error:
        print(f"Not measured: {error}.")
        return
    ways: dict[str, Callable[[], None]] = {
        "docker run --rm": lambda: _docker_run(image),
        "a Docker sandbox, opened, used, closed": lambda: _sandbox(provider),
    }
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS + 1):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            if number:  # the first round warms both up
                spent[name].append((time.perf_counter() - started) * 1000)
    floor = spent["docker run --rm"]
    rows = [
        (name, span(values, 0), f"{median([a / b for a, b in zip(values, floor, strict=True)]):.2f} ×")
        for name, values in spent.items()
    ]
    print(table(["way", "wall ms", "next to `docker run`"], rows))
    print(f"\n{ROUNDS} rounds of `{SCRIPT}` in {image}, no network. Goal: at most 1.3 ×.")


def _docker_run(image: str) -> None:
    words = ["docker", "run", "--rm", "--init", "--network", "none", "--cap-drop", "ALL", "--user", "1000:1000"]
    words += ["--security-opt", "no-new-privileges", "--workdir", "/tmp", image, "/bin/sh", "-c", SCRIPT]  # inside
    done = subprocess.run(words, capture_output=True, check=True)
    assert done.stdout == b"hello\n"


def _sandbox(provider: DockerProvider) -> None:
    with tempfile.TemporaryDirectory() as place:
        spec = SandboxSpec("benchmark", Path(place, "tree"), Path(place, "scratch"), Limits(network=False))
        box = provider.open(spec)
        try:
            assert box.exec(shell(SCRIPT, 60)).stdout.text() == "hello\n"
        finally:
            box.close()
