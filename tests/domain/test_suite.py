"""Freezing: a task's snapshot names it, and nothing that is edited later changes it."""

import json
from pathlib import Path

from steelyard.domain.suite import FrozenTask, Task, snapshot
from steelyard.suites.load import load_suite

SUITE = """\
scenarios:
  s:
    seed: {{empty: true}}
    max_repair_loops: {loops}
    scorers: [{{name: small, type: max_files_changed, limit: 3}}]
tasks: [{{id: t, scenario: s, prompt: "Do it."}}]
arms: {{a: {{agent: command, command: "true"}}}}
"""

GOLDEN = "909348a493a9adeeafbe345fdb0163553b29d9f32c89dc1f3f21051092e1a142"


def load(directory: Path, text: str) -> Task:
    """The one task of a suite with this text."""
    file = directory / "suite.yaml"
    file.write_text(text)
    return load_suite(file).tasks[0]


def test_editing_the_scenario_later_does_not_change_a_frozen_task(tmp_path: Path) -> None:
    """The snapshot holds the whole scenario; a new reading of the edited file is another task."""
    frozen = FrozenTask.of(load(tmp_path, SUITE.format(loops=1)))
    before = frozen.model_dump_json()

    edited = FrozenTask.of(load(tmp_path, SUITE.format(loops=2)))

    assert frozen.model_dump_json() == before
    assert frozen.task.max_repair_loops == 1
    assert edited.sha256 != frozen.sha256


def test_the_snapshot_is_whole_and_survives_storing(tmp_path: Path) -> None:
    """From its stored JSON the same task comes back, with the same name, without the suite's file."""
    frozen = FrozenTask.of(load(tmp_path, SUITE.format(loops=1)))
    (tmp_path / "suite.yaml").unlink()

    restored = FrozenTask.model_validate_json(frozen.model_dump_json())

    assert restored == frozen
    assert FrozenTask.of(restored.task).sha256 == frozen.sha256
    assert json.loads(snapshot(restored.task))["scorers"][0]["limit"] == 3


def test_the_order_of_keys_does_not_matter(tmp_path: Path) -> None:
    """Two spellings of one task have one sha256, and the suite's directory plays no part in it."""
    other = """\
arms: {a: {command: "true", agent: command}}
tasks: [{prompt: "Do it.", scenario: s, id: t}]
scenarios:
  s:
    scorers: [{limit: 3, type: max_files_changed, name: small}]
    max_repair_loops: 1
    seed: {empty: true}
"""
    (tmp_path / "elsewhere").mkdir()

    one = FrozenTask.of(load(tmp_path, SUITE.format(loops=1)))
    two = FrozenTask.of(load(tmp_path / "elsewhere", other))

    assert one.sha256 == two.sha256


def test_the_name_of_a_task_stays_the_same_over_releases() -> None:
    """A stored run names its task by this sha256: a change here orphans every stored task."""
    task = Task(id="t", prompt="Do it — now.", tags=("a", "b"))

    assert FrozenTask.of(task).sha256 == GOLDEN
