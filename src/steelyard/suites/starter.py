"""The suite that `steelyard init` writes: small, commented, and ready to run as it is."""

from pathlib import Path

from steelyard.errors import InputError
from steelyard.suites.load import FILE

SUITE = """\
# A suite: tasks × arms × repeats. Check it with `steelyard validate {file}`, try to cheat it with
# `steelyard audit {file}`, run it with `steelyard run {file}`.
workspace: default

scenarios:
  calc:                                      # how to seed a code tree and grade what an agent does to it
    seed: {{directory: fixtures/calc}}         # or {{git: URL, ref: SHA}}, {{archive: x.tar.gz}}, {{empty: true}}
    grading: fresh                           # grade in a new sandbox: nothing that the agent left running counts
    scorers:                                 # a run passes when every required scorer does
      - {{name: unit tests, type: command, command: "python3 -m unittest -q", timeout_s: 60}}
      - {{name: tests untouched, type: tests_unmodified, paths: [test_calc.py]}}
      - {{name: harness, type: harness_unmodified}}   # the runner itself must not be bent
      - {{name: hidden tests, type: hidden_tests, files: hidden/calc, command: "python3 -m unittest -q", timeout_s: 60}}
      - {{name: small change, type: max_files_changed, limit: 2}}
    reference: {{directory: reference/calc}}   # a solution, for `steelyard audit {file}`; no agent ever sees it
    judge: {{enabled: false}}                  # true: a language model also reads the run (see docs/judging.md)
    limits: {{timeout_s: {timeout_s}}}

tasks:                                       # what the agents are asked to do
  - id: fix-add
    scenario: calc
    prompt: "test_calc.py fails. Fix the code, not the tests."

arms:                                        # what is weighed: an agent with its model, files and environment
{arms}
compare: {{baseline: {baseline}, candidate: {candidate}}}
repeats: {repeats}                                   # promotion asks for at least 5
"""

CALC = '''\
"""A calculator with a mistake in it."""


def add(a, b):
    """The sum of two numbers."""
    return a - b
'''

SOLVED = CALC.replace("a - b", "a + b").replace("with a mistake in it", "without its mistake")

TEST_CALC = '''\
"""What the calculator must do."""

import unittest

from calc import add


class TestAdd(unittest.TestCase):
    """add() adds."""

    def test_adds(self):
        """Two and two are four."""
        self.assertEqual(add(2, 2), 4)


if __name__ == "__main__":
    unittest.main()
'''

TEST_HIDDEN = '''\
"""What the calculator must do, with numbers that no agent has seen."""

import unittest

from calc import add


class TestHidden(unittest.TestCase):
    """add() adds whatever it is given."""

    def test_adds_other_numbers(self):
        """Not only two and two."""
        self.assertEqual([add(3, 4), add(-1, 1), add(0, 0)], [7, 0, 0])
'''

COMMAND_ARMS = """\
  # Any program can be an agent: the prompt comes on stdin and in $STEELYARD_PROMPT, the tree is where it starts.
  idle: {agent: command, command: "echo 'I looked, and changed nothing.'"}
  fixer:
    agent: command
    command: "sed 's/a - b/a + b/' calc.py > calc.new && mv calc.new calc.py && echo 'Fixed add().'"
"""

SCRIPTED_ARMS = """\
  # A scripted agent replays edits from a file: for demos, and to try out scorers.
  idle: {agent: scripted, script: scripts/idle.yaml}
  fixer: {agent: scripted, script: scripts/fixer.yaml}
"""

AGENT_ARMS = """\
  # The same agent without and with a guide: the files under overlay/ are laid over the tree before it starts.
  # `model: NAME` chooses a model; `env: [NAME]` hands it a variable of yours. Values never stand in this file.
  without_guide: {{agent: {agent}{fields}}}
  with_guide: {{agent: {agent}{fields}, overlay: overlay}}
"""

IDLE = 'tasks:\n  "*":\n    - say: I looked, and changed nothing.\n'
FIXER = 'tasks:\n  "*":\n    - replace: {path: calc.py, old: "a - b", new: "a + b"}\n    - say: Fixed add().\n'
GUIDE = "Run `python3 -m unittest -q` before and after you change anything. Never edit a test.\n"

# What an agent can't do without: its fields in the starter, of which a person changes the values.
FIELDS = {
    "claude-code": ", env: [ANTHROPIC_API_KEY]",
    "codex": ", env: [OPENAI_API_KEY]",
    "opencode": ", model: anthropic/claude-sonnet-4-5, env: [ANTHROPIC_API_KEY]",
    "mini-swe-agent": ", model: anthropic/claude-sonnet-4-5, env: [ANTHROPIC_API_KEY]",
}


def starter_files(agent: str) -> dict[str, str]:
    """The files of a suite to start from, by path, for arms that use this type of agent."""
    files = {"fixtures/calc/calc.py": CALC, "fixtures/calc/test_calc.py": TEST_CALC}
    files |= {"hidden/calc/test_hidden.py": TEST_HIDDEN, "reference/calc/calc.py": SOLVED}
    baseline, candidate, repeats, timeout_s = "idle", "fixer", 2, 60
    if agent == "command":
        arms = COMMAND_ARMS
    elif agent == "scripted":
        arms = SCRIPTED_ARMS
        files |= {"scripts/idle.yaml": IDLE, "scripts/fixer.yaml": FIXER}
    else:
        arms = AGENT_ARMS.format(agent=agent, fields=FIELDS.get(agent, ""))
        baseline, candidate, repeats, timeout_s = "without_guide", "with_guide", 5, 900
        files |= {"overlay/CLAUDE.md": GUIDE, "overlay/AGENTS.md": GUIDE}
    suite = SUITE.format(
        file=FILE, arms=arms, baseline=baseline, candidate=candidate, repeats=repeats, timeout_s=timeout_s
    )
    return {FILE: suite, **files}


def write_starter(directory: Path, agent: str) -> list[Path]:
    """Write the starter's files and say which; nothing that is there is overwritten, and nothing is left half done."""
    files = {directory / name: text for name, text in starter_files(agent).items()}
    there = [path for path in files if path.exists() or path.is_symlink()]
    if there:
        raise InputError(f"{there[0]} is there already and is never overwritten; choose another directory")
    written: list[Path] = []
    folders: list[Path] = []
    try:
        for path, text in files.items():
            missing = [folder for folder in path.parents if not folder.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            folders += reversed(missing)
            with path.open("x", encoding="utf-8", newline="\n") as stream:
                written.append(path)
                stream.write(text)
    except OSError as error:
        _undo(written, folders)
        place = error.filename or directory
        raise InputError(f"{place}: can't be written: {error.strerror}; choose another directory") from error
    return written


def _undo(written: list[Path], folders: list[Path]) -> None:
    for path in written:
        path.unlink(missing_ok=True)
    for folder in reversed(folders):
        folder.rmdir()
