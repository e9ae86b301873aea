"""steelyard doctor: what works on this machine, and how to get what doesn't."""

import argparse
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec

from steelyard import __version__, plugins
from steelyard.cli.output import emit_json, say
from steelyard.errors import SteelyardError
from steelyard.settings import Settings, read_settings

EXTRAS = {
    "report": ("altair", "charts in HTML reports"),
    "records": ("polars", "quick reading of big record files, Parquet"),
    "syntax": ("tree_sitter", "syntax-aware test-integrity checks beyond Python"),
    "anthropic": ("anthropic", "the anthropic judge"),
    "openai": ("openai", "the openai judge"),
    "server": ("fastapi", "steelyard serve"),
    "client": ("httpx", "steelyard.Client, and run --server"),
    "postgres": ("psycopg", "PostgreSQL as the store"),
    "posthog": ("posthog", "events to PostHog"),
    "otel": ("opentelemetry.sdk", "scores as OpenTelemetry spans"),
}
AGENT_PROGRAMS = {"claude-code": "claude", "codex": "codex", "opencode": "opencode", "mini-swe-agent": "mini"}


@dataclass(frozen=True)
class Finding:
    """One thing that works or doesn't; `needed` ones decide the exit code."""

    area: str
    name: str
    ok: bool
    detail: str
    needed: bool = False


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard doctor --clean"
    parser.add_argument("--clean", action="store_true", help="remove what killed runs left behind")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Exit code 0 when runs are possible here, else 3."""
    settings = read_settings()
    findings = [*_basics(settings), *_sandboxes(), *_agents(), *_judges(), *_extras()]
    cleaned = _clean(settings) if args.clean else None
    ready = all(finding.ok for finding in findings if finding.needed)
    if args.json:
        emit_json({"ready": ready, "cleaned": cleaned, "findings": [asdict(finding) for finding in findings]})
        return 0 if ready else 3
    area = ""
    for finding in findings:
        if finding.area != area:
            area = finding.area
            say(area)
        say(f"  {'ok  ' if finding.ok else 'no  '} {finding.name}: {finding.detail}")
    if cleaned is not None:
        say(f"cleaned: {cleaned} things that killed runs left behind")
    say("ready" if ready else "not ready: runs are not possible before the first 'no' above is mended")
    return 0 if ready else 3


def _basics(settings: Settings) -> list[Finding]:
    version = platform.python_version()
    findings = [
        Finding("base", "steelyard", True, __version__),
        Finding("base", "python", sys.version_info >= (3, 11), version, needed=True),
    ]
    git = shutil.which("git")
    shown = (
        subprocess.run([git, "--version"], capture_output=True, text=True, check=False).stdout.strip() if git else ""
    )
    findings.append(
        Finding("base", "git", bool(shown), shown or "not found: install git (apt install git)", needed=True)
    )
    findings.append(_store(settings))
    memory = settings.scratch or "/dev/shm where there is room, else the temp directory"  # noqa: S108  # a name shown
    findings.append(Finding("base", "scratch", True, f"{memory} (STEELYARD_SCRATCH chooses)"))
    return findings


def _store(settings: Settings) -> Finding:
    shown = settings.store_url if "@" not in settings.store_url else settings.store_url.split("@", 1)[1]
    if settings.store_url.startswith("sqlite:///") and not os.path.exists(settings.store_url[10:]):  # noqa: PTH110
        place = next(at for at in (settings.home, *settings.home.absolute().parents) if at.exists())
        if not (place.is_dir() and os.access(place, os.W_OK)):
            said = f"{place} can't be written to; STEELYARD_HOME names another place"
            return Finding("base", "store", False, said, needed=True)
        return Finding("base", "store", True, f"{shown} (made by the first run)", needed=True)
    try:
        from steelyard.wiring import open_store

        with open_store(settings):
            return Finding("base", "store", True, shown, needed=True)
    except SteelyardError as error:
        return Finding("base", "store", False, str(error), needed=True)


def _sandboxes() -> list[Finding]:
    findings = []
    for name in plugins.names("sandboxes"):
        provider = plugins.load("sandboxes", name)()
        why = provider.check()
        works = "isolates the agent" if provider.isolates else "works, and isolates nothing: only for agents you trust"
        findings.append(Finding("sandboxes", name, why is None, why or works))
    return findings


def _agents() -> list[Finding]:
    findings = []
    for name in plugins.names("agents"):
        program = AGENT_PROGRAMS.get(name)
        if program is None:
            findings.append(Finding("agents", name, True, "built in"))
            continue
        path = shutil.which(program)
        get = f"'{program}' is not on the PATH; install it with `{plugins.load('agents', name).install}`"
        findings.append(Finding("agents", name, path is not None, path or get))
    return findings


def _judges() -> list[Finding]:
    """Which judges could be asked; whether a key is still good is not tried."""
    findings = []
    for name in plugins.names("judges"):
        try:
            judge = plugins.build("judges", {"type": name})
        except ValueError:
            findings.append(Finding("judges", name, True, "installed; its settings stand in the suite"))
            continue
        why = judge.check(os.environ)
        findings.append(Finding("judges", name, why is None, why or f"model {judge.model_name}, unless a suite says"))
    return findings


def _extras() -> list[Finding]:
    findings = []
    for extra, (module, use) in EXTRAS.items():
        there = _there(module)
        remedy = use if there else f"{use}: pip install 'steelyard[{extra}]'"
        findings.append(Finding("extras", extra, there, remedy))
    return findings


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package above it is not there either
        return False


def _clean(settings: Settings) -> int:
    from steelyard.wiring import sweep_scratch

    cleaned: int = sum(plugins.load("sandboxes", name)().clean() for name in plugins.names("sandboxes"))
    return cleaned + sweep_scratch(settings)
