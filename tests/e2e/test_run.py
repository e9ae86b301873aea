"""`steelyard run` from a suite file to stored runs."""

import os
import pty
import signal
import sqlite3
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.e2e.conftest import STEELYARD, Shop

SUITE = """
scenarios:
  fix:
    seed: {directory: seed}
    limits: {timeout_s: 120}
    scorers:
      - {name: check, type: command, command: "grep -q right code.txt"}
      - {name: small, type: max_files_changed, limit: 2}
tasks:
  - {id: one, scenario: fix, prompt: "make it right"}
  - {id: two, scenario: fix, prompt: "make it right too"}
arms:
  before: {agent: command, command: "BEFORE"}
  after: {agent: command, command: "AFTER"}
compare: {baseline: before, candidate: after}
"""
GOOD, BAD = "echo right > code.txt", "echo left > code.txt"


def suite(shop: Shop, before: str = BAD, after: str = GOOD) -> str:
    """A suite of two tasks and two arms."""
    shop.write("seed/code.txt", "wrong\n")
    shop.write("suite.yaml", SUITE.replace("BEFORE", before).replace("AFTER", after))
    return "suite.yaml"


def wait_for(condition: Path, seconds: float = 60) -> None:
    """Wait until a file is there."""
    end = time.monotonic() + seconds
    while not condition.exists():
        assert time.monotonic() < end, f"{condition} never came"
        time.sleep(0.05)


def stored(shop: Shop) -> list[tuple[str, str]]:
    """Every stored run's arm and outcome, read past the program."""
    path = shop.root / ".steelyard" / "steelyard.db"
    with sqlite3.connect(path) as database:
        return list(database.execute("SELECT arm, outcome FROM runs WHERE error_class IS NULL"))


def test_the_document_of_a_run(shop: Shop) -> None:
    """One JSON document with the names that programs rely on."""
    found = shop.json("run", suite(shop), "--sandbox", "local")

    assert set(found) >= {"experiment", "runs", "comparison"}
    assert len(found["runs"]) == 4
    run = next(one for one in found["runs"] if one["arm"] == "after")
    for name in [
        "run_id",
        "task_id",
        "arm",
        "repeat",
        "status",
        "outcome",
        "error_class",
        "gates",
        "overall",
        "mean_score",
        "scorers",
        "changed_files",
        "composite",
        "score",
        "tier",
        "usage",
        "wall_s",
    ]:
        assert name in run
    assert run["gates"] == {"objective": "PASS", "judge": "NOT_RUN", "run": "PASS", "disagreement": None}
    assert (run["overall"], run["mean_score"], run["changed_files"]) == ("PASS", 1.0, ["code.txt"])
    assert set(run["scorers"][0]) >= {
        "name",
        "type",
        "verdict",
        "score",
        "required",
        "detail",
        "output_tail",
        "duration_s",
    }
    assert found["comparison"]["verdict"] == "improved"
    assert found["comparison"]["promote"] is False


def test_a_regression_is_exit_code_1(shop: Shop) -> None:
    """A candidate that fails where the baseline passes is told by the exit code."""
    assert shop.steelyard("run", suite(shop, GOOD, BAD), "--sandbox", "local").returncode == 1


def test_one_arm_has_nothing_to_compare(shop: Shop) -> None:
    """The comparison is null."""
    assert shop.json("run", suite(shop), "--arm", "after", "--sandbox", "local")["comparison"] is None


def test_without_a_comparison_a_failed_run_is_exit_code_1(shop: Shop) -> None:
    """One arm has no verdict, so its own checks decide."""
    assert shop.steelyard("run", suite(shop), "--arm", "before", "--sandbox", "local").returncode == 1


def test_nothing_measured_is_exit_code_3(shop: Shop) -> None:
    """Only infrastructure failures: nothing was learnt, and each try is kept."""
    found = shop.json("run", suite(shop, "no-such-agent-x", "no-such-agent-x"), "--sandbox", "local", code=3)

    assert {run["error_class"] for run in found["runs"]} == {"agent_unavailable"}


def test_a_task_that_could_not_be_measured_is_exit_code_3(shop: Shop) -> None:
    """Without arms to compare: all that was measured passes, but a seed that can't be planted is not fine."""
    shop.write("broken.tar", "no archive")
    name = suite(shop)
    text = (shop.root / name).read_text()
    broken = '  - {id: two, prompt: "never asked", seed: {archive: broken.tar}}'
    shop.write(name, text.replace('  - {id: two, scenario: fix, prompt: "make it right too"}', broken))

    found = shop.json("run", name, "--arm", "after", "--sandbox", "local", code=3)

    kept = {run["task_id"]: (run["error_class"], run["overall"]) for run in found["runs"]}
    assert kept == {"one": (None, "PASS"), "two": ("setup_failed", "N/A")}


BUDGETS = (["--max-cost", "0"], ["--max-cost", "nan"], ["--max-tokens", "-5"], ["--max-seconds", "inf"])


def test_wrong_words_are_exit_code_2(shop: Shop) -> None:
    """Unknown names and numbers that can't be are one line, and nothing runs."""
    name = suite(shop)
    for words in (
        ["--arm", "afterr"],
        ["--task", "x"],
        ["--repeats", "0"],
        ["--jobs", "-1"],
        ["--sandbox", "moon"],
        *BUDGETS,
    ):
        done = shop.steelyard("run", name, *words)
        assert done.returncode == 2, words
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert shop.steelyard("run", "missing.yaml").returncode == 2
    assert not (shop.root / ".steelyard").exists() or stored(shop) == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_is_finished_and_resume_runs_the_rest(shop: Shop, signum: signal.Signals) -> None:
    """The running agent is gone, finished runs stay, and --resume runs only what is missing; SIGTERM is as good."""
    wait = f"echo $$ > {shop.root}/pid; touch {shop.root}/started; sleep 600"
    slow = f"if [ -e {shop.root}/go ]; then {GOOD}; else {wait}; fi"
    name = suite(shop, GOOD, slow)
    process = shop.start("run", name, "--sandbox", "local", "--jobs", "1")
    wait_for(shop.root / "started")
    os.kill(process.pid, signum)
    said = process.communicate(timeout=60)[1]

    assert process.returncode == 130
    assert said.rstrip().endswith("suite.yaml --resume goes on")
    agent = int((shop.root / "pid").read_text())
    assert not Path(f"/proc/{agent}").exists()
    before = len(stored(shop))
    assert before < 4
    shop.write("go", "")
    part = shop.json("run", name, "--sandbox", "local", "--resume", "--arm", "before", code=None)
    assert sum(run["error_class"] is None for run in part["runs"] if run["arm"] == "before") == 2
    assert [run for run in part["runs"] if run["arm"] == "after" and run["error_class"] is None] == []
    found = shop.json("run", name, "--sandbox", "local", "--resume", code=None)
    assert len(found["runs"]) == 4
    assert {run["error_class"] for run in found["runs"]} == {None}
    assert len(stored(shop)) == 4


def test_kill_9_loses_no_finished_run(shop: Shop) -> None:
    """What was finished is there afterwards, whole, and the experiment goes on."""
    slow = f"if [ -e {shop.root}/go ]; then {GOOD}; else touch {shop.root}/started; sleep 600; fi"
    name = suite(shop, GOOD, slow)
    process = shop.start("run", name, "--sandbox", "local", "--jobs", "1", "--task", "one", "--repeats", "1")
    wait_for(shop.root / "started")
    finished = len(stored(shop))
    os.kill(process.pid, signal.SIGKILL)
    told = process.communicate(timeout=60)[1]

    assert len(stored(shop)) == finished
    assert told.count("COMPLETED") <= finished  # a run is told of when it is stored, not before
    shop.write("go", "")
    assert len(shop.json("run", name, "--sandbox", "local", "--resume", code=None)["runs"]) == 2


def test_resume_says_what_it_can_not_run_and_what_was_edited(shop: Shop) -> None:
    """A task that the experiment never had is refused, not passed over; an edited one goes on as it was frozen."""
    name = suite(shop)
    shop.steelyard("run", name, "--sandbox", "local", "--task", "one")

    stranger = shop.steelyard("run", name, "--sandbox", "local", "--resume", "--task", "two")
    same = shop.steelyard("run", name, "--sandbox", "local", "--resume")
    shop.write(name, (shop.root / name).read_text().replace("make it right too", "other").replace("make it", "do it"))
    edited = shop.steelyard("run", name, "--sandbox", "local", "--resume")

    assert stranger.returncode == 2
    assert "--task two: experiment exp_" in stranger.stderr
    assert "has only one; run it without --resume" in stranger.stderr
    assert "edited since" not in same.stderr
    assert "began: one; it goes on with them as they were" in edited.stderr


def test_resume_knows_a_suite_by_any_spelling(shop: Shop) -> None:
    """By its directory, by a link to that, or round about."""
    suite(shop)
    shop.write("place/steelyard.yaml", (shop.root / "suite.yaml").read_text().replace("directory: seed", "empty: true"))
    (shop.root / "link").symlink_to("place")
    first = shop.json("run", "place", "--sandbox", "local", code=None)

    for spelling in ("place/steelyard.yaml", "./link", "place/../link/steelyard.yaml"):
        again = shop.json("run", spelling, "--sandbox", "local", "--resume", code=None)
        assert again["experiment"] == first["experiment"]


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_a_terminal_shows_progress_and_names_as_they_are(shop: Shop, terminal: str) -> None:
    """A bar, or lines where none can be drawn; what looks like markup in a name is a name."""
    name = suite(shop, f"sleep 1; {BAD}")  # long enough to be drawn
    shop.write(name, (shop.root / name).read_text().replace("id: one", 'id: "fix [/api] [red]"'))
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        [STEELYARD, "run", name, "--sandbox", "local"],
        cwd=shop.root,
        env=shop.env({"TERM": terminal, "COLUMNS": "120"}),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    with suppress(OSError):  # the terminal is gone with the last who had it
        while chunk := os.read(ours, 65536):
            said += chunk
    os.close(ours)

    assert done.wait(60) in (0, 1)
    assert b"fix [/api] [red]" in said
    assert b"4/4" in said


def test_a_budget_stops_and_resume_remembers_it(shop: Shop) -> None:
    """Money that was spent is not forgotten: a resumed experiment with the same budget runs nothing more."""
    paid = GOOD + """; echo '{\\"cost_usd\\": 1.0}' > $STEELYARD_USAGE_FILE"""
    name = suite(shop, paid, paid)
    first = shop.json("run", name, "--sandbox", "local", "--jobs", "1", "--max-cost", "2", code=None)
    again = shop.json("run", name, "--sandbox", "local", "--resume", code=None)

    assert len(first["runs"]) == len(again["runs"]) == 2
    assert "budget of $2" in first["stopped_by"]


def test_a_budget_says_what_it_could_not_count(shop: Shop) -> None:
    """Runs whose cost nobody knows can't use up money: that is said, not passed over."""
    done = shop.steelyard("run", suite(shop), "--sandbox", "local", "--max-cost", "2")

    assert "budget: what 4 runs cost is not known and not counted" in done.stdout


def test_hostile_output_does_not_reach_the_terminal(shop: Shop) -> None:
    """Control codes that an agent prints are shown, not obeyed."""
    name = suite(shop, "printf '\\\\033[2Jgone\\\\007'; exit 1", GOOD)
    shop.steelyard("run", name, "--sandbox", "local")
    run = next(r for r in shop.json("runs")["runs"] if r["arm"] == "before")

    done = shop.steelyard("show", run["run_id"])

    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout


def test_turns_and_repairs_are_shown_with_their_own_usage(shop: Shop) -> None:
    """`show` tells turn by turn what was said and used; stage attempts stand below."""
    shop.write(
        "suite.yaml",
        """
tasks:
  - id: chat
    seed: {empty: true}
    turns: ["Write it.", "Now the log."]
    stages: [{name: there, command: "test -f done"}]
    max_repair_loops: 1
arms:
  only:
    agent: command
    command: >-
      echo "$STEELYARD_TURN" >> log.txt; test "$STEELYARD_TURN" -lt 3 || touch done;
      echo "{\\"input_tokens\\": $STEELYARD_TURN}" > "$STEELYARD_USAGE_FILE"
""",
    )
    shop.json("run", "suite.yaml", "--sandbox", "local", "--judge", "none")
    shown = shop.steelyard("show", "latest").stdout

    for words in (
        "1 task",
        "2 task",
        "3 repair",
        ": Now the log.",
        "usage: input_tokens 3",
        "there, attempt 2: passed",
    ):
        assert words in shown
