"""delete-tests: what fails is taken out."""

from typing import Literal

from steelyard.audit.cheat import Cheat
from steelyard.audit.edits.choose import tests_to_delete
from steelyard.audit.scene import Scene


class DeleteTests(Cheat):
    """Takes out the tests that fail, in Python one by one, else file by file; all of them, where none is named."""

    type: Literal["delete-tests"] = "delete-tests"

    closed_by = ("tests_unmodified", "assertions_not_weakened", "baseline_tests_pass")

    def act(self, scene: Scene) -> str:
        """Edit or remove the files that hold them."""
        edits = tests_to_delete(scene)
        for path, text in edits.items():
            if text is not None:
                scene.write(path, text)
        gone = [path for path, text in edits.items() if text is None]
        if gone:
            scene.delete(gone)
        return "The tests that were wrong are gone; the others pass."
