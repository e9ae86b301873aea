"""Experiments over HTTP: what was planned, and the same comparison that the command prints."""

from collections.abc import Callable
from typing import Any

import httpx

from steelyard.compare.runs import material_of, weigh_runs
from steelyard.store.database import Store
from tests.web.server import run_body

Enter = Callable[..., httpx.Client]


def fill(client: httpx.Client, name: str) -> None:
    """Two arms on two tasks, twice; the candidate passes where the baseline fails."""
    number = 0
    for task in ("a", "b"):
        for arm in ("plain", "fancy"):
            for repeat in (1, 2):
                number += 1
                verdict = "PASS" if arm == "fancy" or task == "a" else "FAIL"
                body: dict[str, Any] = {"experiment": name, "task_id": task, "arm": arm, "repeat": repeat}
                body |= {"run_id": f"{name}-{number}", "scorers": [{"name": "tests", "verdict": verdict}]}
                assert client.post("/v1/runs", json=run_body(number, **body)).status_code == 201


def test_a_comparison_is_what_the_library_says_of_the_same_runs(enter: Enter, workspace: str, store: Store) -> None:
    """With the arms that the experiment names, or those that the query names."""
    client = enter()
    body = {"id": workspace, "compare": {"baseline": "plain", "candidate": "fancy"}, "repeats": 2}
    assert client.post("/v1/experiments", json=body).status_code == 201
    fill(client, workspace)

    answer = client.get(f"/v1/experiments/{workspace}/comparison")
    assert answer.status_code == 200
    expected = weigh_runs(material_of(store.iter_runs(workspace), ()), "plain", "fancy")
    assert answer.json() == expected.model_dump(mode="json")
    assert answer.json()["verdict"] == "improved"
    assert answer.json()["promote"] is False
    turned = client.get(f"/v1/experiments/{workspace}/comparison?baseline=fancy&candidate=plain").json()
    assert turned["verdict"] == "regressed"
    again = client.get(f"/v1/experiments/{workspace}/comparison", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


def test_runs_of_an_experiment_that_nobody_described_can_be_compared(enter: Enter, workspace: str) -> None:
    """The arms are those that ran; an arm that did not is refused; no run at all is 404."""
    client = enter()
    fill(client, workspace)
    at = f"/v1/experiments/{workspace}/comparison"
    assert client.get(f"{at}?baseline=plain").json()["candidate"] == "fancy"
    assert client.get(f"{at}?baseline=nobody").status_code == 422
    assert client.get("/v1/experiments/nobody/comparison").status_code == 404
    assert client.get(f"/v1/experiments/{workspace}").status_code == 404


def test_arms_of_several_experiments_are_compared(enter: Enter, workspace: str) -> None:
    """An arm that several have is followed by its experiment; `arm` leaves others out; too many are refused."""
    client = enter()
    other = f"{workspace}-2"
    for name in (workspace, other):
        fill(client, name)
    query = {"with": other, "baseline": f"plain@{workspace}", "candidate": f"fancy@{other}"}
    at = f"/v1/experiments/{workspace}/comparison"
    found = client.get(at, params=query).json()
    assert (found["verdict"], len(found["arms"]), len(found["against_baseline"])) == ("improved", 4, 3)
    assert any("did not run side by side" in note for note in found["notes"])
    only = client.get(at, params={**query, "arm": [query["baseline"], query["candidate"]]}).json()
    assert (only["verdict"], len(only["arms"]), only["against_baseline"]) == ("improved", 2, [])
    assert client.get(at, params={"with": [f"e{n}" for n in range(8)]}).status_code == 422
    assert client.get(at, params={"with": "nobody"}).status_code == 404
    with_plan = client.get(f"/v1/experiments/{workspace}/promotion", params={"baseline": "plain", "candidate": "fancy"})
    assert with_plan.json()["branch"].startswith("steelyard/promote-fancy-")
    assert with_plan.json()["promote"] is False


def test_an_experiment_is_stored_once(enter: Enter, workspace: str) -> None:
    """The same again changes nothing, another under its id is 409, and its frozen tasks are named."""
    client = enter()
    task = {"id": "t", "prompt": "Do.", "seed": {"empty": True}}
    body: dict[str, Any] = {"id": workspace, "tasks": [task], "arms": [{"name": "plain", "agent": {"type": "x"}}]}
    first, again = (client.post("/v1/experiments", json=body) for _ in range(2))
    assert first.json() == again.json() == client.get(f"/v1/experiments/{workspace}").json()
    assert len(first.json()["tasks"][0]["sha256"]) == 64
    assert client.post("/v1/experiments", json={**body, "repeats": 3}).status_code == 409
    assert [one["id"] for one in client.get("/v1/experiments").json()["data"]] == [workspace]


def test_the_baseline_and_the_weights_are_what_runs_are_scored_with(enter: Enter, workspace: str) -> None:
    """The p50 of the last 20 COMPLETED runs; new weights count from then on, wrong ones not at all."""
    client = enter()
    for number in range(6):
        client.post("/v1/runs", json=run_body(number, run_id=f"{workspace}-{number}", wall_s=float(number + 1)))
    baseline = client.get(f"/v1/workspaces/{workspace}/baseline").json()
    assert baseline == {"workspace": workspace, "p50_s": 3.5, "runs": 6, "wall_s": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}

    only = {"completion": 1.0, "error_rate": 0.0, "latency": 0.0, "resource_efficiency": 0.0}
    assert client.put(f"/v1/workspaces/{workspace}/weights", json=only).json()["weights"] == only
    scored = client.post("/v1/runs", json=run_body(9, run_id=f"{workspace}-9", outcome="BLOCKED")).json()
    assert (scored["score"], scored["weights"]) == (30, only)
    wrong = {**only, "latency": 0.5}
    assert client.put(f"/v1/workspaces/{workspace}/weights", json=wrong).status_code == 422
    assert client.get(f"/v1/workspaces/{workspace}/weights").json()["weights"] == only
