"""The JSON Schemas say the same as the readers."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from steelyard import plugins
from steelyard.suites.load import SuiteError, load_suite
from steelyard.suites.schema import SCHEMAS, installed, scorer_schema, suite_schema
from steelyard.suites.starter import starter_files

DOCS = Path(__file__).parents[2] / "docs"
GOOD: dict[str, Any] = {
    "scenarios": {
        "s": {
            "seed": {"empty": True},
            "scorers": [{"name": "small", "type": "max_files_changed", "limit": 3}],
            "quarantine": ["small"],
            "reference": {"directory": "."},
            "limits": {"timeout_s": 60},
        }
    },
    "tasks": [{"id": "t", "scenario": "s", "prompt": "Do it."}],
    "arms": {"a": {"agent": "command", "command": "true", "env": ["KEY"]}, "b": {"agent": "command", "command": "x"}},
    "compare": {"baseline": "a", "candidate": "b"},
    "repeats": 2,
}


@pytest.fixture(scope="module")
def suite_validator() -> jsonschema.Draft202012Validator:
    """A validator of suites, made once."""
    return jsonschema.Draft202012Validator(suite_schema())


@pytest.mark.parametrize("kind", SCHEMAS)
def test_each_schema_is_a_valid_one(kind: str) -> None:
    """Draft 2020-12 by its own meta-schema, with a title."""
    schema = SCHEMAS[kind]()

    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"].startswith("Steelyard ")


def test_every_installed_part_is_in_the_suite_schema() -> None:
    """With the words of its docstring."""
    definitions = suite_schema()["$defs"]

    for kind, prefix in (("scorers", "scorer"), ("agents", "agent")):
        loaded, broken = installed(kind)
        assert [*loaded, *broken] == sorted(plugins.names(kind), key=[*loaded, *broken].index)
        for name in loaded:
            assert definitions[f"{prefix}.{name}"]["description"]


def test_a_good_suite_fits(suite_validator: jsonschema.Draft202012Validator) -> None:
    """The schema accepts what the reader accepts."""
    suite_validator.validate(GOOD)


def broken(path: list[str | int], value: object) -> dict[str, Any]:
    """The good suite with one value set; None takes it out."""
    suite = yaml.safe_load(yaml.safe_dump(GOOD))
    place = suite
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return dict(suite)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["repeats"], "5"),
        (["repeats"], 0),
        (["repaets"], 5),
        (["tasks"], []),
        (["tasks"], None),
        (["arms"], {}),
        (["arms", "a", "agent"], "comand"),
        (["arms", "a", "agent"], None),
        (["arms", "a", "command"], 3),
        (["arms", "a", "modle"], "m"),
        (["arms", "a", "env"], {"KEY": "value"}),
        (["arms", "a", "env"], ["KEY=value"]),
        (["tasks", 0, "prompt"], None),
        (["tasks", 0, "turns"], ["Also this."]),
        (["tasks", 0, "id"], None),
        (["scenarios", "s", "grading"], "fersh"),
        (["scenarios", "s", "seed"], {"empty": True, "directory": "x"}),
        (["scenarios", "s", "seed"], {}),
        (["scenarios", "s", "limits", "timeout_s"], 0),
        (["scenarios", "s", "scorers", 0, "limit"], None),
        (["scenarios", "s", "scorers", 0, "limit"], -1),
        (["scenarios", "s", "scorers", 0, "type"], "max_file_changed"),
        (["scenarios", "s", "scorers", 0, "type"], None),
        (["scenarios", "s", "scorers", 0, "patterns"], ["x"]),
    ],
)
def test_the_schema_and_the_reader_refuse_the_same(
    suite_validator: jsonschema.Draft202012Validator, tmp_path: Path, path: list[str | int], value: object
) -> None:
    """What an editor marks is what `validate` refuses."""
    suite = broken(path, value)
    file = tmp_path / "suite.yaml"
    file.write_text(yaml.safe_dump(suite))

    with pytest.raises(SuiteError):
        load_suite(file)
    assert not suite_validator.is_valid(suite)


@pytest.mark.parametrize("agent", ["command", "scripted"])
def test_the_starter_fits(suite_validator: jsonschema.Draft202012Validator, agent: str) -> None:
    """What `init` writes is right in an editor, too."""
    suite_validator.validate(yaml.safe_load(starter_files(agent)["steelyard.yaml"]))


def test_a_scorer_is_exactly_one_type() -> None:
    """Each of two types fits its own branch alone."""
    validator = jsonschema.Draft202012Validator(scorer_schema())

    assert validator.is_valid({"name": "n", "type": "command", "command": "true"})
    assert not validator.is_valid({"name": "n", "type": "command", "limit": 3})


def test_the_suites_of_the_documentation_fit_and_load(
    suite_validator: jsonschema.Draft202012Validator, tmp_path: Path
) -> None:
    """Every complete suite that docs/suites.md shows works as pasted, beside the files it names."""
    for folder in ("fixtures/calc", "configs/with_skill"):
        (tmp_path / folder).mkdir(parents=True)
    blocks = (DOCS / "suites.md").read_text("utf-8").split("```yaml\n")[1:]
    suites = [text for text in (block.split("```")[0] for block in blocks) if "\narms:" in text and "tasks:" in text]
    assert suites

    for text in suites:
        file = tmp_path / "suite.yaml"
        file.write_text(text)
        load_suite(file)
        suite_validator.validate(yaml.safe_load(text))
