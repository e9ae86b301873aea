"""What has no documentation is not finished: every command, part and setting has its place in docs/."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from steelyard import plugins, settings
from steelyard.cli.main import COMMANDS, parser_for

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src/steelyard"
PAGES = {
    "scorers": ["scorers.md"],
    "agents": ["agents.md", "agents/*.md"],
    "sandboxes": ["sandboxes.md"],
    "judges": ["judging.md"],
    "cheats": ["auditing.md"],
}
FOLDERS = {
    "scorers": "scorers",
    "agents": "agents",
    "sandboxes": "sandboxes",
    "judges": "judge",
    "cheats": "audit/cheats",
}
PARTS = [(kind, name) for kind in PAGES for name in plugins.BUILT_IN[kind]]


def headings(*patterns: str) -> set[str]:
    """The headings of documentation pages, without marks."""
    pages = [page for pattern in patterns for page in sorted(DOCS.glob(pattern))]
    assert pages, f"docs/{' or docs/'.join(patterns)} is missing"
    text = "\n".join(page.read_text("utf-8") for page in pages)
    return {line.lstrip("#").strip().replace("`", "") for line in re.findall(r"^#+ .*$", text, re.MULTILINE)}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_section_an_example_and_json(name: str) -> None:
    """In docs/commands.md, at the end of --help, and among its options."""
    parser = parser_for(name)

    assert name in headings("commands.md"), f"docs/commands.md has no section '## {name}'"
    last = parser.format_help().rstrip().rpartition("\n\n")[2]
    assert re.match(r"examples?:", last), f"steelyard {name} --help does not end with an example"
    assert f"steelyard {name}" in last
    options = [option for action in parser._actions for option in action.option_strings]
    assert "--json" in options, f"steelyard {name} has no --json"


def test_every_command_file_is_a_command() -> None:
    """A module with `register` is listed in COMMANDS, and the other way round."""
    files = {
        path.stem.rstrip("_").replace("_", "-")
        for path in (SOURCE / "cli").glob("*.py")
        if re.search(r"^def register\(", path.read_text("utf-8"), re.MULTILINE)
    }

    assert files == set(COMMANDS)


@pytest.mark.parametrize(("kind", "name"), PARTS)
def test_a_part_has_a_section_and_says_what_it_is(kind: str, name: str) -> None:
    """Its type is a heading of its kind's page, and its class has a docstring of its own."""
    found = headings(*PAGES[kind])

    assert any(re.fullmatch(rf"{re.escape(name)}( .*|:.*)?", heading) for heading in found), (
        f"no heading '{name}' in docs/{' or docs/'.join(PAGES[kind])}"
    )
    part = plugins.load(kind, name)
    assert part.__doc__
    assert all(part.__doc__ != parent.__doc__ for parent in part.__mro__[1:])


@pytest.mark.parametrize("kind", PAGES)
def test_every_part_that_is_there_is_listed(kind: str) -> None:
    """A file with a literal `type` belongs to a part of BUILT_IN, and each of those has its file."""
    folder = SOURCE / FOLDERS[kind]
    typed = re.compile(r"^    type(: Literal\[[^]]*\]|: str)? = \"([^\"]+)\"", re.MULTILINE)
    there = {match[2] for path in folder.glob("*.py") for match in typed.finditer(path.read_text("utf-8")) if match[2]}

    assert there == set(plugins.BUILT_IN[kind])


def test_every_setting_is_documented() -> None:
    """Each STEELYARD_ variable that is read as a setting stands in docs/settings.md."""
    source = Path(str(settings.__file__)).read_text("utf-8")
    names = set(re.findall(r"STEELYARD_[A-Z_]+", source))
    text = (DOCS / "settings.md").read_text("utf-8")

    assert len(names) >= len(fields(settings.Settings)) - 1
    assert {name for name in names if f"`{name}`" not in text} == set()


def test_no_variable_is_read_in_secret() -> None:
    """A STEELYARD_ variable that any module names is documented somewhere in docs/."""
    text = "\n".join(page.read_text("utf-8") for page in sorted(DOCS.rglob("*.md")))
    named = {
        name
        for path in SOURCE.rglob("*.py")
        if "fixtures" not in path.parts
        for name in re.findall(r"[\"'$]\{?(STEELYARD_[A-Z_]+[A-Z])\b", path.read_text("utf-8"))
    }

    assert {name for name in named if name not in text} == set()


def test_the_picture_of_the_layers_is_the_one_that_is_checked() -> None:
    """docs/architecture.md draws exactly the contract of pyproject.toml."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    picture = "\n".join(["```", *contract["layers"], "```"])

    assert picture in (DOCS / "architecture.md").read_text("utf-8")


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*.lock")), ids=lambda path: path.stem)
def test_a_lock_file_has_hashes_and_names_no_host(path: Path) -> None:
    """Every pin has its hashes, and where packages come from is the installing machine's affair."""
    text = path.read_text("utf-8")
    pins = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]

    assert pins
    assert all("==" in pin and "--hash=sha256:" in pin for pin in pins)
    assert "://" not in text
    assert not re.search(r"--(extra-)?index-url|--find-links", text)
