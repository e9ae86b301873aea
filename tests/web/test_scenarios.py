"""Scenarios and tasks over HTTP: a task is frozen, whatever becomes of its scenario."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from steelyard import plugins
from steelyard.domain.diff import Diff, FileChange
from steelyard.domain.evidence import Evidence
from steelyard.domain.suite import FrozenTask, Task

Enter = Callable[..., httpx.Client]
FIELDS: dict[str, Any] = {
    "seed": {"empty": True},
    "stages": [{"name": "test", "command": "pytest -q"}],
    "scorers": [{"name": "small", "type": "max_files_changed", "limit": 2}],
    "limits": {"timeout_s": 60},
}


def verdicts(task: dict[str, Any], files: int) -> list[str]:
    """What a frozen task's scorers say of a change of so many files."""
    changes = tuple(FileChange(path=f"{n}.py", kind="added") for n in range(files))
    frozen = FrozenTask(task=Task.model_validate(task["task"], strict=False), sha256=task["sha256"])
    evidence = Evidence(task=frozen.task, diff=Diff(b"", changes))
    scorers = [plugins.build("scorers", spec) for spec in frozen.task.scorers]
    return [scorer.score(evidence, None).verdict for scorer in scorers]


def test_editing_a_scenario_leaves_its_tasks_as_they_were(enter: Enter) -> None:
    """Snapshot, sha256 and what the scorers say of a change stay; a task made afterwards has the new fields."""
    client = enter()
    assert client.post("/v1/scenarios", json={"name": "calc", **FIELDS}).status_code == 201
    made = client.post("/v1/tasks", json={"id": "t1", "scenario": "calc", "prompt": "Fix it."})
    assert made.status_code == 201
    stricter = [{"name": "small", "type": "max_files_changed", "limit": 0}]
    edited = client.put("/v1/scenarios/calc", json={**FIELDS, "scorers": stricter, "grading": "fresh"})
    assert (edited.status_code, edited.json()["revision"]) == (200, 2)

    after = client.get("/v1/tasks/t1").json()
    assert after == made.json()
    assert FrozenTask.of(Task.model_validate(after["task"], strict=False)).sha256 == after["sha256"]
    assert verdicts(after, 2) == ["PASS"]
    newer = client.post("/v1/tasks", json={"id": "t2", "scenario": "calc", "prompt": "Fix it."}).json()
    assert newer["task"]["grading"] == "fresh"
    assert verdicts(newer, 2) == ["FAIL"]
    again = client.post("/v1/tasks", json={"id": "t1", "scenario": "calc", "prompt": "Fix it."})
    assert again.status_code == 409


def test_the_same_task_again_is_the_same_task(enter: Enter) -> None:
    """200 and the first answer while nothing differs."""
    client = enter()
    body = {"id": "t", "prompt": "Do.", "fields": {"seed": {"empty": True}, "limits": {"timeout_s": 5}}, "tags": ["x"]}
    first, again = (client.post("/v1/tasks", json=body) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() == client.get("/v1/tasks/t").json()
    assert [task["id"] for task in client.get("/v1/tasks").json()["data"]] == ["t"]


def test_a_tasks_own_fields_go_over_the_scenarios(enter: Enter) -> None:
    """`limits` field by field, other fields whole."""
    client = enter()
    client.post("/v1/scenarios", json={"name": "calc", **FIELDS})
    own = {"limits": {"network": False}, "stages": []}
    task = client.post("/v1/tasks", json={"id": "t", "scenario": "calc", "turns": ["A", "B"], "fields": own}).json()
    assert task["task"]["limits"]["timeout_s"] == 60
    assert task["task"]["limits"]["network"] is False
    assert task["task"]["stages"] == []
    assert task["task"]["turns"] == ["A", "B"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"scorers": [{"name": "x", "type": "nope"}]}, "unknown scorer type"),
        ({"scorers": [{"name": "x", "type": "max_files_changed", "limit": -1}]}, "limit"),
        ({"scorers": [{"name": "x", "type": "file_exists", "path": "../up"}]}, "'..' step"),
        ({"scorers": [{"name": "x", "type": "allowed_paths", "patterns": ["/etc/*"]}]}, "absolute"),
        ({"scorers": [{"name": "x"}]}, "type: is required"),
        ({"stages": [{"name": "a", "command": "x"}, {"name": "a", "command": "y"}]}, "two have the name"),
        ({"quarantine": ["nobody"]}, "no scorer or stage is called 'nobody'"),
        ({"reference": {"patch": "fix.patch"}}, "for suite files alone"),
        ({"seed": {}}, "exactly one"),
        ({"nope": 1}, "no such field"),
    ],
)
def test_a_wrong_scenario_is_refused_with_its_reason(enter: Enter, change: dict[str, Any], word: str) -> None:
    """When it is made, when it is edited, and when a task brings it in."""
    client = enter()
    answers = [client.post("/v1/scenarios", json={"name": "bad", **FIELDS, **change})]
    client.post("/v1/scenarios", json={"name": "good", **FIELDS})
    answers.append(client.put("/v1/scenarios/good", json={**FIELDS, **change}))
    answers.append(client.post("/v1/tasks", json={"id": "t", "prompt": "Do.", "fields": change}))
    for answer in answers:
        assert answer.status_code == 422
        assert word in answer.text
    assert client.get("/v1/scenarios/good").json()["revision"] == 1
    assert [one["name"] for one in client.get("/v1/scenarios").json()["data"]] == ["good"]


def test_two_editors_do_not_overwrite_each_other(enter: Enter) -> None:
    """With If-Match the second one learns that the scenario has changed: 412, and nothing is lost."""
    client = enter()
    assert client.post("/v1/scenarios", json={"name": "s", **FIELDS}).status_code == 201
    assert client.post("/v1/scenarios", json={"name": "s", **FIELDS}).status_code == 409
    first = client.put("/v1/scenarios/s", json={"max_repair_loops": 7}, headers={"If-Match": '"1"'})
    second = client.put("/v1/scenarios/s", json={"max_repair_loops": 9}, headers={"If-Match": '"1"'})
    assert (first.status_code, second.status_code) == (200, 412)
    assert second.json()["type"] == "urn:steelyard:problem:stale"
    assert client.get("/v1/scenarios/s").json()["scenario"]["max_repair_loops"] == 7
    assert client.put("/v1/scenarios/s", json={}, headers={"If-Match": "x"}).status_code == 422
    assert client.put("/v1/scenarios/nobody", json={}).status_code == 404


def test_a_run_of_a_known_task_names_its_snapshot(enter: Enter, workspace: str) -> None:
    """The run keeps the sha256 of the task it was given."""
    client = enter()
    task = client.post("/v1/tasks", json={"id": "t", "prompt": "Do.", "tags": ["bugfix"]}).json()
    run = {"run_id": workspace, "outcome": "COMPLETED", "wall_s": 1.0, "task_id": "t"}
    assert client.post("/v1/runs", json=run).status_code == 201
    assert client.get(f"/v1/runs/{workspace}").json()["task_sha256"] == task["sha256"]
    assert client.get("/v1/runs").json()["data"][0]["tags"] == ["bugfix"]
