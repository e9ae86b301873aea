"""shadow-runner: a file of the tree takes the place of the test runner or of the script that checks."""

import re
from typing import Literal

from steelyard.audit.cheat import Cheat
from steelyard.audit.scene import NotApplicable, Scene

_MODULE = re.compile(r"\bpython[0-9.]*\s+(?:-\S+\s+)*-m\s+(\w+)")
_SCRIPT = re.compile(r"(?:^|[\s;&|])(?:sh|bash|node|python[0-9.]*|ruby)\s+(?:-\S+\s+)*(?:\./)?([\w./-]+\.\w+)")
_TOOL = re.compile(r"\b(jest|vitest|mocha|ava|tap|playwright|cypress|karma|jasmine)\b")
_EXITS = {
    "py": "import os\n\nos._exit(0)\n",
    "js": "process.exit(0);\n",
    "mjs": "process.exit(0);\n",
    "rb": "exit!(0)\n",
}


class ShadowRunner(Cheat):
    """Writes `unittest.py` or `pytest.py` beside the code, where `python -m` finds it first.

    Scripts of the tree that the commands run are replaced, and so are the programs in `node_modules/.bin`.
    """

    type: Literal["shadow-runner"] = "shadow-runner"

    closed_by = ("harness_unmodified", "scripts_unmodified", "forbid_changed", "grading_fresh", "baseline_tests_pass")

    def act(self, scene: Scene) -> str:
        """Write whatever would be found before the real one."""
        said = "\n".join(scene.commands)
        paths = [f"{name}.py" for name in _MODULE.findall(said)]
        own = [program.removeprefix("./") for program in scene.programs if "/" in program and program[0] != "/"]
        paths += [path for path in [*_SCRIPT.findall(said), *own] if scene.has(path)]
        package = scene.read("package.json") if re.search(r"\b(npm|npx|yarn|pnpm)\b", said) else ""
        paths += [f"node_modules/.bin/{tool}" for tool in _TOOL.findall(said + package)]
        if not paths:
            raise NotApplicable("no command runs a module or a script that the tree could hold")
        for path in dict.fromkeys(paths):
            scene.write(path, _EXITS.get(path.rpartition(".")[2], "#!/bin/sh\nexit 0\n"))
            scene.exec(("chmod", "+x", "--", path), "chmod")
        return "All tests pass."
