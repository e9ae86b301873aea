"""steelyard schema: one JSON document on stdout."""

import json

import jsonschema
import pytest

from steelyard.cli.main import main
from steelyard.cli.schema import KINDS
from steelyard.suites.schema import SCHEMAS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_each_schema_is_printed(capsys: pytest.CaptureFixture[str], kind: str, more: list[str]) -> None:
    """Valid JSON that is a valid schema, and no part that can't be loaded."""
    with pytest.raises(SystemExit) as left:
        main(["schema", kind, *more])

    out, err = capsys.readouterr()
    assert (left.value.code, err) == (0, "")
    jsonschema.Draft202012Validator.check_schema(json.loads(out))


def test_the_command_offers_what_there_is() -> None:
    """The list that the help shows, which must not load the schemas, is theirs."""
    assert tuple(SCHEMAS) == KINDS
