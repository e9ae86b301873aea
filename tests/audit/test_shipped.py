"""What the suites that ship say when they are audited: the documentation tells the same."""

from pathlib import Path

import steelyard
from tests.e2e.conftest import Shop

DEMO = Path(str(steelyard.__file__)).parent / "demo/suite.yaml"


def test_the_suite_to_start_from_has_no_holes(shop: Shop) -> None:
    """Every cheat that can be played is caught, and the reference passes."""
    shop.steelyard("init", "try")

    document = shop.json("audit", "try")

    task = document["tasks"][0]
    assert task["exploitability"] == 0.0
    assert task["reference"]["result"] == "passed"
    assert {one["cheat"] for one in task["cheats"] if one["result"] == "not_applicable"} == {
        "conftest-hook",
        "bent-config",
    }


def test_the_demo_has_the_holes_that_are_documented(shop: Shop) -> None:
    """Four in `slugs`: three that an unbent harness closes, and one that only hidden tests do."""
    document = shop.json("audit", str(DEMO), "--task", "slugs", code=1)

    fixes = {hole["cheat"]: (hole["fix"]["line"], hole["fix"]["verified"]) for hole in document["holes"]}
    harness = ("- {name: harness untouched, type: harness_unmodified}", True)
    assert fixes.pop("hard-coded")[1] is False
    assert fixes == dict.fromkeys(("always-equal", "exit-at-import", "shadow-runner"), harness)
