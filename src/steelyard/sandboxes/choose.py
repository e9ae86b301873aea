"""Which sandbox to use: the one asked for, or the best one that works here."""

from steelyard import plugins
from steelyard.errors import InputError, MeasureError
from steelyard.sandboxes.base import SandboxProvider


def choose(name: str) -> SandboxProvider:
    """The provider of that name; `auto` takes bwrap where it works, else local with a note that says so."""
    if name == "auto":
        return _automatic()
    if name not in plugins.names("sandboxes"):
        allowed = ", ".join(["auto", *plugins.names("sandboxes")])
        raise InputError(f"unknown sandbox '{name}'; allowed: {allowed}")
    provider: SandboxProvider = plugins.load("sandboxes", name)()
    problem = provider.check()
    if problem is not None:
        raise MeasureError(f"sandbox '{name}' does not work here: {problem}")
    return provider


def _automatic() -> SandboxProvider:
    """Bwrap where it works, else local."""
    best: SandboxProvider = plugins.load("sandboxes", "bwrap")()
    problem = best.check()
    if problem is None:
        return best
    local = choose("local")
    local.note = f"{local.note}; {problem}"
    return local
