"""The Dockerfile, the compose file and the systemd unit say only what Steelyard knows.

Images can't be pulled where these tests run, so what they would run is checked instead: commands, options, variables,
files, and the lock that they install.
"""

import configparser
import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from steelyard.cli.main import COMMANDS, parser_for

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text("utf-8"))
OURS = ("server", "upgrade")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with their arguments, continued lines joined."""
    joined = re.sub(r"\\\n", " ", "\n".join(line for line in DOCKERFILE.splitlines() if not line.startswith("#")))
    words = [line.strip().partition(" ") for line in joined.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in words]


def of(name: str) -> list[str]:
    """The arguments of every instruction of a name."""
    return [rest for found, rest in instructions() if found == name]


def documented() -> set[str]:
    """Every variable that the settings page names."""
    return set(re.findall(r"`([A-Z][A-Z_]+)`", (ROOT / "docs/settings.md").read_text("utf-8")))


def test_every_command_that_containers_run_exists_with_its_options() -> None:
    """The image's own command and those of the compose file are understood by our parsers."""
    commands = [yaml.safe_load(of("CMD")[-1]), *(COMPOSE["services"][name]["command"] for name in OURS)]

    for command in commands:
        assert command[0] in COMMANDS
        parser_for(command[0]).parse_args(command[1:])
    assert yaml.safe_load(of("ENTRYPOINT")[-1]) == ["steelyard"]


def test_every_variable_is_a_documented_setting() -> None:
    """What the compose file and the image set, and what they ask the user for, stands in docs/settings.md."""
    text = (ROOT / "deploy/compose.yaml").read_text("utf-8")
    asked = set(re.findall(r"\$\{([A-Z_]+)", text)) - {"POSTGRES_PASSWORD"}  # the database's own
    passed = {name for service in OURS for name in COMPOSE["services"][service]["environment"]}
    in_image = set(re.findall(r"\b(STEELYARD_[A-Z_]+)=", DOCKERFILE))

    assert asked | passed | in_image <= documented()
    assert asked <= passed
    assert {"STEELYARD_STORE", "STEELYARD_EVENTS"} <= passed


def test_the_image_is_small_and_has_no_rights() -> None:
    """Two stages, a user of its own before anything runs, no build tools or sources in the second."""
    stages = of("FROM")
    final = instructions()[[name for name, _ in instructions()].index("FROM", 1) :]

    assert stages == ["python:3.11-slim AS build", "python:3.11-slim"]
    assert of("USER") == ["10001"]
    assert [name for name, _ in final].index("USER") < [name for name, _ in final].index("ENTRYPOINT")
    copied = [rest for name, rest in final if name == "COPY"]
    assert copied == ["--from=build /opt/steelyard /opt/steelyard"]
    for name in OURS:
        service = COMPOSE["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    """Every source of a COPY is in the checkout and let through by the ignore file."""
    allowed = {
        line[1:] for line in (ROOT / "deploy/Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    for rest in of("COPY"):
        words = shlex.split(rest)
        if words[0].startswith("--from"):
            continue
        for source in words[:-1]:
            assert (ROOT / source).exists(), source
            assert source.split("/")[0] in allowed, source


def test_the_lock_holds_what_the_server_needs() -> None:
    """All pins have hashes, no index is named, and the versions are those that are tested."""
    server, tested = ((ROOT / f"requirements/{name}.lock").read_text() for name in ("server", "dev"))
    pin = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^]]*\])?==([^ ;\\]+)", re.MULTILINE)
    pins = set(pin.findall(server))

    needed = {"fastapi", "uvicorn", "psycopg", "posthog", "opentelemetry-sdk", "sqlalchemy", "prometheus-client"}
    assert needed <= {name for name, _ in pins}
    assert pins <= set(pin.findall(tested))
    assert "--index-url" not in server
    assert len(re.findall(r"^[^ #].*==.*\\\n    --hash=sha256:", server, re.MULTILINE)) == len(pins)


def test_the_systemd_unit_runs_our_commands() -> None:
    """Its commands parse, and it waits as long for the end as the server takes."""
    page = (ROOT / "docs/operations.md").read_text("utf-8")
    (unit,) = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names have capitals
    parsed.read_string(unit)
    service = parsed["Service"]

    for key in ("ExecStartPre", "ExecStart"):
        program, *words = shlex.split(service[key])
        assert program.endswith("/bin/steelyard")
        parser_for(words[0]).parse_args(words[1:])
    assert int(service["TimeoutStopSec"]) >= 45
    assert service["Environment"].partition("=")[0] in documented()
