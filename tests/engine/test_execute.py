"""The one path of a run, with real trees, processes and git."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest
from tests.engine.conftest import RunIt

from steelyard.engine.lab import Lab

CHECK = {"name": "check", "type": "command", "command": "sh check.sh"}
FIX = "echo right > code.txt; echo fixed"


def test_a_good_run(run_it: RunIt) -> None:
    """The change is captured, graded and told; the record holds it all."""
    finished = run_it(FIX, scorers=[CHECK, {"name": "few", "type": "max_files_changed", "limit": 1}])

    run = finished.run
    assert (run.status, run.outcome, run.error_class) == ("completed", "COMPLETED", None)
    assert run.changed_files == ("code.txt",)
    assert [(one.name, one.verdict) for one in run.scorers] == [("check", "PASS"), ("few", "PASS")]
    assert run.final_response == "fixed\n"
    assert b"+right" in finished.blobs["diff"]
    assert json.loads(finished.blobs["trajectory"])["schema_version"] == "ATIF-v1.7"
    assert run.wall_s > 0


def test_doing_nothing_is_no_output(run_it: RunIt) -> None:
    """An agent that exits 0 without a word or a change is recorded as such and fails its check."""
    run = run_it("true", scorers=[CHECK]).run

    assert (run.outcome, run.error_class) == ("FAILED", "agent_no_output")
    assert run.scorers[0].verdict == "FAIL"


def test_saying_nothing_is_no_output_of_a_ledger_run(run_it: RunIt) -> None:
    """Where there is no tree the words are the work: an agent without any has not completed it."""
    run = run_it("true", seed=None).run

    assert (run.is_ledger, run.outcome, run.error_class) == (True, "FAILED", "agent_no_output")
    assert run.error_detail == "the agent ended without saying anything"


@pytest.mark.parametrize(
    ("command", "outcome", "error_class"),
    [
        ("exit 3", "FAILED", "agent_crashed"),
        ("echo half > code.txt; exit 3", "BLOCKED", "agent_crashed"),
        ("echo half > code.txt; sleep 900", "BLOCKED", "agent_timeout"),
        ("rm -rf ./* .git; exit 0", "BLOCKED", None),
    ],
)
def test_bad_endings_are_recorded(run_it: RunIt, command: str, outcome: str, error_class: str | None) -> None:
    """A crash, a time-out and a deleted tree are states of the run, and what was done before is graded."""
    run = run_it(command, scorers=[CHECK], limits={"timeout_s": 2}).run

    assert (run.outcome, run.error_class) == (outcome, error_class)
    assert run.scorers[0].verdict == "FAIL"


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ({"archive": "bad.zip"}, "leads out of the tree"),
        ({"git": "repo", "ref": "nosuch"}, "nosuch"),
    ],
)
def test_a_seed_that_cannot_be_planted_is_recorded(run_it: RunIt, lab: Lab, seed: dict[str, str], said: str) -> None:
    """A bad archive or a missing git ref is a recorded failure of its own cells, never the end of the experiment."""
    with zipfile.ZipFile(lab.suite_root / "bad.zip", "w") as archive:
        archive.writestr("../outside", "x")
    subprocess.run(["git", "init", "-q", str(lab.suite_root / "repo")], check=True)

    run = run_it(FIX, seed=seed, scorers=[CHECK]).run

    assert (run.status, run.error_class, run.is_infrastructure) == ("failed", "setup_failed", True)
    assert said in str(run.error_detail)
    assert not (lab.suite_root / "outside").exists()


DEEP = "python3 -c \"import os\nfor _ in range(1100): os.mkdir('d'); os.chdir('d')\""


@pytest.mark.parametrize("grading", ["live", "fresh"])
def test_a_tree_that_cannot_be_read_fails_its_checks(run_it: RunIt, grading: str) -> None:
    """An agent that makes its tree unreadable gains nothing: every check fails, and the run counts."""
    rubric = {"name": "taste", "type": "llm_judge", "rubric": "short"}
    run = run_it(f"{FIX}; {DEEP}", scorers=[CHECK, rubric], grading=grading).run

    assert (run.error_class, run.is_infrastructure) == ("bad_output", False)
    assert [(one.name, one.verdict, one.crashed) for one in run.scorers] == [
        ("check", "FAIL", False),
        ("taste", "N/A", False),
    ]
    assert "deeper than" in run.scorers[0].detail


def test_a_check_that_spoils_the_tree_is_the_agents_fault(run_it: RunIt) -> None:
    """Code of the agent that a check runs can't make the run uncounted, nor let a later check see another tree."""
    spoil = {"name": "spoil", "type": "command", "command": "sh code.txt", "required": False}
    code = f"{DEEP}; echo right > code.txt"
    run = run_it(f"cat > code.txt <<'EOF'\n{code}\nEOF", scorers=[spoil, CHECK | {"command": "sh check.sh; true"}]).run

    assert (run.error_class, run.is_infrastructure) == (None, False)
    assert [(one.verdict, one.crashed) for one in run.scorers] == [("FAIL", False), ("FAIL", False)]
    assert run.scorers[1].detail.startswith("not run: what the command changed could not be put back: ")


def test_filling_the_disk_is_recorded(run_it: RunIt) -> None:
    """An agent that leaves more than `limits.disk_mb` behind is over its budget, also when it ended by itself."""
    run = run_it(f"{FIX}; head -c 3000000 /dev/zero > big", scorers=[CHECK], limits={"disk_mb": 1}).run

    assert (run.outcome, run.error_class) == ("BLOCKED", "budget_exceeded")
    assert run.error_detail == "ended for filling more disk than limits.disk_mb allows"


def test_the_agents_arms_overlay_is_no_change_of_the_agent(run_it: RunIt, lab: Lab) -> None:
    """What the arm added was there before the baseline was taken."""
    (lab.suite_root / "over").mkdir()
    (lab.suite_root / "over" / "CLAUDE.md").write_text("be good")

    run = run_it("cat CLAUDE.md; echo right > code.txt", overlay="over").run

    assert run.changed_files == ("code.txt",)
    assert run.final_response == "be good"
    assert run.parity.treatment_files == ("CLAUDE.md",)


def test_setup_comes_before_the_baseline(run_it: RunIt) -> None:
    """What the user's set-up made is not the agent's change."""
    run = run_it(FIX, setup=["echo made > setup.txt"], scorers=[CHECK]).run

    assert run.changed_files == ("code.txt",)


def test_a_failing_setup_is_nobodys_fault(run_it: RunIt) -> None:
    """It is an infrastructure failure that says which command and why."""
    run = run_it(FIX, setup=["echo broken >&2; exit 7"]).run

    assert run.error_class == "setup_failed"
    assert run.error_detail == "setup `echo broken >&2; exit 7` exited with 7: broken"
    assert run_it(FIX, setup=["exit 7"]).run.error_detail == "setup `exit 7` exited with 7: it printed nothing"
    assert run.is_infrastructure


def test_a_missing_program_is_not_the_agents_fault(run_it: RunIt) -> None:
    """Nothing is run and nothing is graded."""
    run = run_it("no-such-agent-program --go", scorers=[CHECK]).run

    assert run.error_class == "agent_unavailable"
    assert run.scorers == ()


def test_a_missing_variable_is_told_by_name(run_it: RunIt) -> None:
    """The arm's key is not set: say which."""
    run = run_it(FIX, env=["STEELYARD_TEST_KEY"]).run

    assert run.error_class == "auth_failed"
    assert "STEELYARD_TEST_KEY" in (run.error_detail or "")


def test_a_key_reaches_the_agent_and_is_handed_over_for_redaction(run_it: RunIt) -> None:
    """The value comes in by name, and the store is told what to redact."""
    finished = run_it('printf %s "$KEY"', env=["KEY"], environ={"KEY": "abc-123", "OTHER": "x"})

    assert finished.run.final_response == "abc-123"
    assert finished.secrets == ("abc-123",)


def test_processes_left_behind_are_gone_before_grading(run_it: RunIt, tmp_path: Path) -> None:
    """A daemon that would make the check pass later is killed with the agent."""
    late = tmp_path / "late"
    command = (
        f"(setsid sh -c 'while :; do echo right > code.txt; touch {late}; sleep 0.01; done' >/dev/null 2>&1 &) ; :"
    )

    run = run_it(
        command + "; sleep 0.2", scorers=[{**CHECK, "command": "sleep 0.5; sh check.sh; ps ax | grep -c touch"}]
    )
    late.unlink(missing_ok=True)

    assert run.run.status in {"completed", "failed"}
    assert not late.exists()


@pytest.mark.parametrize("grading", ["live", "fresh"])
def test_one_scorers_command_cannot_change_what_the_next_sees(run_it: RunIt, grading: str) -> None:
    """The agent's tree is put back between commands, so a planted test runner can't rewrite the frozen check."""
    plant = "echo 'echo true > check.sh' > evil.sh; echo still > code.txt"
    scorers = [
        {"name": "first", "type": "command", "command": "sh evil.sh"},
        {"name": "second", "type": "command", "command": "sh check.sh"},
    ]

    run = run_it(plant, scorers=scorers, grading=grading).run

    assert [one.verdict for one in run.scorers] == ["PASS", "FAIL"]


def test_fresh_grading_sees_only_baseline_and_diff(run_it: RunIt) -> None:
    """What the agent left outside the tree does not exist for the scorers."""
    command = "echo hidden > $HOME/helper; echo right > code.txt"
    scorer = {"name": "home", "type": "command", "command": 'test -e "$HOME/helper"'}

    assert run_it(command, scorers=[scorer], grading="live").run.scorers[0].verdict == "PASS"
    assert run_it(command, scorers=[scorer], grading="fresh").run.scorers[0].verdict == "FAIL"


@pytest.mark.parametrize("grading", ["live", "fresh"])
@pytest.mark.parametrize(
    "spoil", ["rm lib.txt; mkfifo lib.txt", "truncate -s 2G lib.txt; printf x | dd of=lib.txt conv=notrunc"]
)
def test_a_file_that_was_spoilt_does_not_come_back(run_it: RunIt, lab: Lab, spoil: str, grading: str) -> None:
    """A fresh tree never has the baseline's content where the diff shows that it is gone."""
    (lab.suite_root / "seed" / "lib.txt").write_text("lib\n")
    scorer = {"name": "lib", "type": "command", "command": "test -f lib.txt && head -c 3 lib.txt | grep -q lib"}

    run = run_it(f"{FIX}; {spoil}", scorers=[scorer], grading=grading).run

    assert "lib.txt" in run.changed_files
    assert run.scorers[0].verdict == "FAIL"


PLANT_BYTECODE = """
echo 'value = 2' > sums.py
python3 -c 'import py_compile as p; p.compile("sums.py", invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)'
chmod 555 __pycache__
echo 'value = 1' > sums.py
"""


@pytest.mark.parametrize("grading", ["live", "fresh"])
@pytest.mark.parametrize("rules", ["", "__pycache__/\n"])
def test_planted_bytecode_is_not_graded(run_it: RunIt, lab: Lab, rules: str, grading: str) -> None:
    """Compiled Python that claims to be a better source than the one in the diff is gone before a check runs."""
    (lab.suite_root / "seed" / "sums.py").write_text("value = 1\n")
    (lab.suite_root / "seed" / ".gitignore").write_text(rules)
    scorer = {"name": "value", "type": "command", "command": "python3 -c 'import sums; assert sums.value == 2'"}

    run = run_it(PLANT_BYTECODE + "echo done", scorers=[scorer], grading=grading).run

    assert (run.changed_files, run.scorers[0].verdict) == ((), "FAIL")


def test_fresh_grading_has_the_users_setup(run_it: RunIt) -> None:
    """Set-up runs again in the fresh sandbox, on the untouched seed."""
    scorer = {"name": "home", "type": "command", "command": 'test -e "$HOME/tool" && sh check.sh'}

    run = run_it(FIX, setup=['touch "$HOME/tool"'], scorers=[scorer], grading="fresh").run

    assert run.scorers[0].verdict == "PASS"


def test_a_stage_that_fails_goes_back_to_the_agent(run_it: RunIt) -> None:
    """The repair turn carries the stage's output; every attempt is kept; the loop starts over at the first stage."""
    command = 'if [ "$STEELYARD_TURN" = 1 ]; then echo no > code.txt; else cat; echo right > code.txt; fi'
    stages = [{"name": "lint", "command": "true"}, {"name": "test", "command": "sh check.sh || { echo boom; exit 5; }"}]

    run = run_it(command, stages=stages, max_repair_loops=2).run

    assert [(one.name, one.attempt, one.passed) for one in run.stages] == [
        ("lint", 1, True),
        ("test", 1, False),
        ("lint", 2, True),
        ("test", 2, True),
    ]
    assert run.outcome == "COMPLETED"
    assert [turn.kind for turn in run.turns] == ["task", "repair"]
    assert "boom" in run.turns[1].prompt
    assert "exited with code 5" in run.turns[1].prompt


def test_repairs_run_out(run_it: RunIt) -> None:
    """With usable output and a stage that still fails the run is blocked."""
    run = run_it("echo no > code.txt", stages=[{"name": "test", "command": "sh check.sh"}], max_repair_loops=2).run

    assert run.outcome == "BLOCKED"
    assert [one.attempt for one in run.stages] == [1, 2, 3]
    assert len(run.turns) == 3


def test_turns_go_to_one_session(run_it: RunIt) -> None:
    """Each turn's prompt comes in order, usage adds up, scorers run once at the end."""
    command = """cat >> said.txt; echo "$STEELYARD_SESSION" >> s.txt
        printf '{"input_tokens": 5}' > "$STEELYARD_USAGE_FILE" """
    scorer = {
        "name": "n",
        "type": "command",
        "command": 'test "$(cat said.txt)" = onetwo && test $(sort -u s.txt | wc -l) = 1',
    }

    run = run_it(command, prompt=None, turns=["one", "two"], scorers=[scorer]).run

    assert run.scorers[0].verdict == "PASS", run.scorers[0]
    assert run.usage.input_tokens == 10
    assert [turn.usage.input_tokens for turn in run.turns] == [5, 5]


@pytest.mark.parametrize(
    ("limits", "usage"),
    [
        ({"max_cost_usd": 0.1}, '{"cost_usd": 0.2}'),
        (
            {"max_tokens": 10},
            json.dumps(dict.fromkeys(("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"), 5)),
        ),
        ({"max_tokens": 10}, '{"input_tokens": 9, "output_tokens": 2}'),
    ],
)
def test_a_budget_ends_the_run(run_it: RunIt, limits: dict[str, float], usage: str) -> None:
    """After a turn that used too much no other turn is taken."""
    command = f"echo x >> code.txt; echo '{usage}' > $STEELYARD_USAGE_FILE"

    run = run_it(command, prompt=None, turns=["one", "two"], limits=limits).run

    assert run.error_class == "budget_exceeded"
    assert len(run.turns) == 1
    assert run.outcome == "BLOCKED"


def test_a_ledger_run_has_no_tree_and_no_scorers(run_it: RunIt) -> None:
    """It is the agent's answer that counts."""
    run = run_it("echo answer", seed=None).run

    assert run.is_ledger
    assert (run.scorers, run.changed_files, run.outcome) == ((), (), "COMPLETED")


def test_a_preamble_comes_before_the_prompt(run_it: RunIt) -> None:
    """The arm's own words stand first."""
    assert run_it("cat", preamble="Be brief.").run.final_response == "Be brief.\n\nmake it right"


def test_output_of_a_chatty_agent_is_bounded(run_it: RunIt) -> None:
    """A hundred megabytes of output leave a bounded record that says how much is missing."""
    run = run_it("yes | head -c 100000000; echo right > code.txt", scorers=[CHECK]).run

    assert run.scorers[0].verdict == "PASS"
    assert len(run.final_response) < 1_000_000
