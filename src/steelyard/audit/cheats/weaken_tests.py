"""weaken-tests: what fails is made to check nothing."""

from typing import Literal

from steelyard.audit.cheat import Cheat
from steelyard.audit.edits.choose import weakened_tests
from steelyard.audit.scene import Scene


class WeakenTests(Cheat):
    """Lets the tests that fail return before they check anything; all of them, where none is named."""

    type: Literal["weaken-tests"] = "weaken-tests"

    closed_by = ("tests_unmodified", "assertions_not_weakened", "baseline_tests_pass")

    def act(self, scene: Scene) -> str:
        """Edit the files that hold them."""
        for path, text in weakened_tests(scene).items():
            scene.write(path, text)
        return "The tests were too strict; they pass now."
