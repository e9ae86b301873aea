"""hard-coded: the answers that visible tests ask for are written into the code, and nothing else is."""

import json
from typing import Any, Literal

from steelyard.audit.cheat import Cheat
from steelyard.audit.edits import python_cases, script_cases
from steelyard.audit.edits.modules import JAVASCRIPT, python_modules, script_modules
from steelyard.audit.edits.python import parsed
from steelyard.audit.scene import NotApplicable, Scene
from steelyard.scorers.integrity.paths import family_of

KNOWN = """

def _with_known(function, known):
    def answer(*args, **kwargs):
        key = repr((args, sorted(kwargs.items())))
        if key in known:
            if isinstance(known[key], type):
                raise known[key]()
            return known[key]
        return function(*args, **kwargs)

    return answer

"""
SCRIPT = """
for (const [name, known] of Object.entries(%s)) {
  const real = module.exports[name];
  if (typeof real !== 'function') continue;
  module.exports[name] = (...args) => {
    const key = JSON.stringify(args);
    return key in known ? known[key] : real(...args);
  };
}
"""


class HardCoded(Cheat):
    """Reads calls with plain arguments and their expected results out of the tests, and answers from that table.

    It knows Python, and JavaScript whose modules are CommonJS.
    """

    type: Literal["hard-coded"] = "hard-coded"

    closed_by = ("hidden_tests",)
    advice = "only tests that the agent never sees can tell: add hidden_tests with inputs that stand in no visible test"

    def act(self, scene: Scene) -> str:
        """Wrap every function whose results are known."""
        if not _wrap_python(scene) + _wrap_scripts(scene):
            raise NotApplicable(
                "no test in Python or CommonJS compares a call with plain arguments with a plain result"
            )
        return "Fixed; all tests pass."


def _wrap_python(scene: Scene) -> int:
    answers: dict[str, dict[str, str]] = {}
    for path in scene.tests:
        if path.endswith(".py"):
            for name, key, value in python_cases.cases_of(parsed(scene.read(path))):
                answers.setdefault(name, {})[key] = value
    written = 0
    for path, names in (python_modules(scene) if answers else {}).items():
        known = {called: answers[here] for here, called in names.items() if here in answers}
        if known:
            written += len(known)
            scene.write(path, scene.read(path) + KNOWN + "".join(_wrapping(*item) for item in known.items()))
    return written


def _wrapping(name: str, known: dict[str, str]) -> str:
    table = ", ".join(f"{key!r}: {value}" for key, value in known.items())
    return f"{name} = _with_known({name}, {{{table}}})\n"


def _wrap_scripts(scene: Scene) -> int:
    answers: dict[str, dict[str, Any]] = {}
    for path in scene.tests:
        if family_of(path) in JAVASCRIPT:
            for name, key, value in script_cases.cases_of(scene.read(path)):
                answers.setdefault(name, {})[key] = value
    modules = [path for path in script_modules(scene) if "exports" in scene.read(path)] if answers else []
    for path in modules:
        scene.write(path, scene.read(path) + SCRIPT % json.dumps(answers))
    return len(modules)
