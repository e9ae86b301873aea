"""Several turns of a real agent program in one run."""

from pathlib import Path

import pytest
from tests.engine.conftest import RunIt

from steelyard.domain.trajectory import Trajectory
from steelyard.testing.scripted_model import ScriptedModel

PROGRAMS = Path(".venv/agents/bin").absolute()
SCRIPT = [
    {"text": "I will.", "calls": [{"shell": "echo right > code.txt"}]},
    "Done.",
    "As you say.",
]


@pytest.mark.node
@pytest.mark.agents
def test_each_prompt_stands_once_in_the_trajectory_and_the_version_stays(run_it: RunIt) -> None:
    """A program with a transcript of its own, which tells its version at the first turn only."""
    agent = {"type": "codex", "model": "gpt-5.5", "program": str(PROGRAMS / "codex")}
    with ScriptedModel(SCRIPT) as model:
        environ = {"OPENAI_API_KEY": "rehearsal", "OPENAI_BASE_URL": f"{model.url}/v1"}
        turns = ["Make it right.", "Thank you."]
        done = run_it(agent, prompt=None, turns=turns, env=tuple(environ), environ=environ)

    assert done.run.error_class is None, done.run.error_detail
    trajectory = Trajectory.model_validate_json(done.blobs["trajectory"])
    said = [(step.source, step.message) for step in trajectory.steps if step.source == "user"]
    assert said == [("user", "Make it right."), ("user", "Thank you.")]
    assert [step.step_id for step in trajectory.steps] == list(range(1, len(trajectory.steps) + 1))
    assert done.run.parity.agent_version == trajectory.agent.version
    assert done.run.parity.agent_version is not None


@pytest.mark.agents
def test_an_agent_that_cannot_continue_is_told_what_was_said(run_it: RunIt) -> None:
    """Its second turn is a new session, whose prompt carries the first turn and its answer."""
    agent = {"type": "mini-swe-agent", "model": "openai/gpt-4o", "program": str(PROGRAMS / "mini")}
    with ScriptedModel(["Done: it is right."]) as model:
        environ = {"OPENAI_API_KEY": "rehearsal", "OPENAI_BASE_URL": f"{model.url}/v1"}
        turns = ["Make it right.", "Thank you."]
        done = run_it(agent, prompt=None, turns=turns, env=tuple(environ), environ=environ)
        asked = [request.prompt for request in model.requests]

    assert [turn.error_class for turn in done.run.turns] == [None, None], done.run.error_detail
    assert Trajectory.model_validate_json(done.blobs["trajectory"]).session_id  # ATIF wants one, and it has none
    assert "You were told:" not in asked[0]
    told = [
        asked[1].index(words) for words in ("Make it right.", "Done: it is right.", "Now you are told:", "Thank you.")
    ]
    assert told == sorted(told)
