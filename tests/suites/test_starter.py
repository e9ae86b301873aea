"""The suite to start from."""

from pathlib import Path

import pytest

from steelyard import plugins
from steelyard.errors import InputError
from steelyard.suites.load import load_suite
from steelyard.suites.schema import installed
from steelyard.suites.starter import write_starter


@pytest.mark.parametrize("agent", plugins.BUILT_IN["agents"])
def test_the_starter_of_each_agent_is_a_good_suite(tmp_path: Path, agent: str) -> None:
    """It validates as written, with two arms of that agent and grading in a fresh sandbox."""
    written = write_starter(tmp_path / "new", agent)
    if agent not in installed("agents")[0]:
        pytest.fail(f"agent '{agent}' is listed but can't be loaded")

    suite = load_suite(written[0])

    assert {arm.agent["type"] for arm in suite.arms} == {agent}
    assert len(suite.arms) == 2
    assert suite.tasks[0].grading == "fresh"
    assert (suite.compare.baseline, suite.compare.candidate) == tuple(arm.name for arm in suite.arms)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """One file in the way stops it before anything is written."""
    kept = tmp_path / "fixtures/calc/calc.py"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine\n")

    with pytest.raises(InputError, match="is there already and is never overwritten"):
        write_starter(tmp_path, "command")

    assert kept.read_text() == "mine\n"
    assert not (tmp_path / "steelyard.yaml").exists()


def test_what_fails_half_way_is_taken_back(tmp_path: Path) -> None:
    """A file where a directory must be: the suite that was already written goes again."""
    (tmp_path / "fixtures").write_text("in the way\n")

    with pytest.raises(InputError, match="can't be written"):
        write_starter(tmp_path, "command")

    assert [path.name for path in tmp_path.iterdir()] == ["fixtures"]
