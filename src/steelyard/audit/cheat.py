"""What every cheat is: an agent of ours that acts once, in the sandbox, and says what it did."""

import time
from abc import abstractmethod
from typing import ClassVar

from steelyard.agents.base import Agent, Turn, TurnResult
from steelyard.audit.scene import NotApplicable, Scene
from steelyard.domain.trajectory import Step
from steelyard.domain.usage import Usage
from steelyard.sandboxes.base import Sandbox


class Cheat(Agent):
    """A cheat is its own configuration, like any agent. `commands` are the task's own: a cheat may know them all.

    `closed_by` names what could close the hole it finds, the best first (`audit/fixes.py`); `advice` is what is said
    where no scorer can.
    """

    commands: tuple[str, ...] = ()
    isolated: bool = False

    closed_by: ClassVar[tuple[str, ...]] = ()
    advice: ClassVar[str] = ""

    @abstractmethod
    def act(self, scene: Scene) -> str:
        """Cheat, and say what was done in a few words; raises `NotApplicable` where there is nothing to do."""

    def run(self, turn: Turn, sandbox: Sandbox) -> TurnResult:
        """Act in the first turn; say the same again in every other."""
        started = time.monotonic()
        if turn.index:
            return TurnResult(exit_code=0, duration_s=0.0, usage=_FREE, final_response="It is done.", version="1")
        scene = Scene(sandbox, self.commands, self.isolated, turn.timeout_s)
        try:
            said = self.act(scene)
        except NotApplicable as error:
            return TurnResult(exit_code=None, duration_s=time.monotonic() - started, usage=_FREE, error=error)
        steps = (*scene.steps, Step(step_id=len(scene.steps) + 1, source="agent", message=said))
        return TurnResult(
            exit_code=0,
            duration_s=time.monotonic() - started,
            usage=_FREE.model_copy(update={"steps": len(steps), "tool_calls": len(scene.steps)}),
            final_response=said,
            steps=steps,
            version="1",
        )


_FREE = Usage(
    input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0, cost_usd=0.0, steps=0, tool_calls=0
)
