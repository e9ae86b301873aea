"""nop: nothing is done, and success is claimed."""

from typing import Literal

from steelyard.audit.cheat import Cheat
from steelyard.audit.scene import Scene


class Nop(Cheat):
    """Changes nothing. A task that passes all the same measures nothing, and every other result of it is idle."""

    type: Literal["nop"] = "nop"

    advice = "add a check that fails before the task is done and passes after it"

    def act(self, scene: Scene) -> str:
        """Claim success."""
        return "I have fixed it; all tests pass."
