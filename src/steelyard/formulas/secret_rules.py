"""The rules for secrets, read from secrets.toml: one a form of secret, the most telling first."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

_ASSIGNED = (
    r"(?i:{names})[A-Za-z0-9_. \t-]{{0,40}}[\"'\]]{{0,2}}[ \t]{{0,5}}(?:={{1,3}}|:{{1,3}}=?|=>|\?=|>|\|\||,)"
    r"[ \t]{{0,5}}\\?[\"'`]?({value})"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One form of secret; `grouped`: the shape proves nothing without its context, so no character of it is shown."""

    name: str
    keywords: tuple[str, ...]
    regex: str
    entropy: float = 3.0
    grouped: bool = False
    strict: bool = False
    contains: str | None = None
    coded: bool = False
    bare: bool = False
    prose: bool = False
    provider: bool = False
    ended: bool = False


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, the most telling first."""
    import tomllib
    from importlib.resources import files

    table = tomllib.loads(files("steelyard.formulas").joinpath("secrets.toml").read_text("utf-8"))
    parts = table["parts"]
    tokens = [_token_rule(name, spec, parts) for name, spec in table["tokens"].items()]
    assigned = [_assigned_rule(name, spec) for name, spec in table["assigned"].items()]
    return (*(r for r in tokens if not r.strict), *assigned, *(r for r in tokens if r.strict))


def _token_rule(name: str, spec: Mapping[str, Any], parts: Mapping[str, str]) -> Rule:
    grouped = bool(spec.get("group"))
    regex = spec["regex"]
    for part, meaning in parts.items():
        regex = regex.replace(f"<{part}>", meaning)
    return Rule(
        name=name,
        keywords=tuple(spec["keywords"]),
        regex=regex if grouped else f"({regex})",
        entropy=spec["entropy"],
        grouped=grouped,
        strict=bool(spec.get("strict")),
        contains=spec.get("contains"),
        coded=bool(spec.get("coded")),
        bare=bool(spec.get("bare")),
        prose=bool(spec.get("prose")),
        ended=spec["regex"].endswith("<ends>"),
    )


def _assigned_rule(name: str, spec: Mapping[str, Any]) -> Rule:
    names = tuple(spec.get("names", (name,)))
    regex = _ASSIGNED.format(names="|".join(names), value=spec["value"])
    return Rule(f"{name}-assigned", names, regex, grouped=True, contains="[0-9]", provider=True)
