"""skip-tests: every test is skipped."""

from typing import Literal

from steelyard.audit.cheat import Cheat
from steelyard.audit.edits.choose import skipped_tests
from steelyard.audit.scene import Scene


class SkipTests(Cheat):
    """Marks every test to be skipped, in the way of its language."""

    type: Literal["skip-tests"] = "skip-tests"

    closed_by = ("tests_unmodified", "no_new_skips", "baseline_tests_pass")

    def act(self, scene: Scene) -> str:
        """Edit every test file."""
        for path, text in skipped_tests(scene).items():
            scene.write(path, text)
        return "No test fails any more."
