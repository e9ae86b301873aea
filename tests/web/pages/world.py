"""What the tests of the pages look at: the demo's runs, and runs with everything odd that a run can have."""

import json
import subprocess
from pathlib import Path
from typing import Any

from steelyard.domain.experiment import Experiment, Finished
from steelyard.domain.grade import FactCheck, Finding
from steelyard.domain.run import Parity, StageAttempt, TurnRecord
from steelyard.domain.suite import Arm, FrozenTask, Scenario, Seed, Stage, Task
from steelyard.domain.usage import Usage
from steelyard.store.database import Store, open_store
from steelyard.store.scenarios import create_scenario, create_task
from steelyard.web.scenarios import checked
from tests.store.support import AT, judged, run_of, scorer
from tests.web.pages.many import add_many
from tests.web.pages.watched import add_watched
from tests.web.pages.weighed import add_weighed
from tests.web.server import STEELYARD, environment

MANY = 100_000
STEPS = 100_000
FILES = 5_000
HOSTILE = (
    '"><script>window.pwned=1</script><img src=x onerror=window.pwned=1><svg onload=window.pwned=1>'
    '<a href="javascript:window.pwned=1">x</a></pre></code>\'--> {{7*7}}{% raw %}${7*7} javascript:window.pwned=1 '
    "\x1b[31mred\x1b]8;;http://evil.example\x07 \u202egnp.exe\u2066 \u200b"
    "<iframe srcdoc='<script>parent.pwned=1</script>'>"
)
LONG = "A" * 10_000_000
TASK = FrozenTask.of(Task(id="fix-the-sum", prompt="Do it.", seed=Seed(empty=True), tags=("odd", HOSTILE)))


def make_world(home: Path) -> None:
    """Fill a store."""
    home.mkdir(parents=True, exist_ok=True)
    demo = [*STEELYARD, "demo", "--repeats", "1", "--task", "slugs", "--task", "word-count", "--jobs", "2", "--json"]
    ran = subprocess.run(demo, env=environment(home), cwd=home, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
    with open_store(f"sqlite:///{home / 'steelyard.db'}", home / "artifacts") as store:
        add_many(store, MANY)
        add_watched(store, HOSTILE)
        _add_odd(store)
        _add_scenarios(store)
        add_weighed(store, HOSTILE)


def add_shown(store: Store) -> None:
    """What the pictures of the documentation show, the same every time: whatever else there is stays out of them."""
    add_watched(store)
    _add_plain(store)
    plain = Scenario.model_validate_json(json.dumps(CALC))
    create_scenario(store.database, "odd", "calc-fix", checked(plain), at=AT)
    add_weighed(store)


def _add_plain(store: Store) -> None:
    arm = Arm(name="plain", agent={"type": "scripted"})
    fields: dict[str, Any] = {"id": "exp_odd", "workspace": "odd", "created_at": AT, "tasks": (TASK,), "arms": (arm,)}
    store.create_experiment(Experiment(**fields, suite_path="/suites/it's mine.yaml", repeats=3))
    _save(store, 1, "run_rich", _rich(), {"diff": DIFF.encode(), "trajectory": _trajectory(_steps(12))})
    _save(store, 2, "run_ledger", {"is_ledger": True, "judge": judged("PASS")}, {})
    broken = {"status": "failed", "outcome": "FAILED", "error_class": "rate_limited", "error_detail": "429, later"}
    _save(store, 3, "run_broken", broken, {})


def _add_odd(store: Store) -> None:
    _add_plain(store)
    _save(store, 4, "run_long", {}, {"diff": _many_files(), "trajectory": _trajectory(_steps(STEPS))})
    _save(store, 5, "run_large", {}, {"diff": _large_file()})
    _save(store, 6, "run_gone", {}, {"diff": b"diff --git a/gone b/gone\n", "trajectory": b'{"steps": []} '})
    for sha in store.run("run_gone").run.artifacts.values():
        store.database.artifacts.path(sha).unlink()
    _save(store, 7, "run_damaged", {}, {"diff": b"not a patch", "trajectory": b"not json"})
    _save(store, 8, "run_hostile", _hostile(), {"diff": _hostile_diff(), "trajectory": _trajectory(_hostile_steps())})
    _save(store, 9, "run_'<b>\"&?#", {"arm": HOSTILE, "task_id": HOSTILE}, {})


def _add_scenarios(store: Store) -> None:
    """One as people make them, and one of texts that were made up to do harm."""
    plain = Scenario.model_validate_json(json.dumps(CALC))
    create_scenario(store.database, "odd", "calc-fix", checked(plain), at=AT)
    command = {"name": HOSTILE, "type": "command", "command": HOSTILE, "timeout_s": 9, "required": False}
    gone = {"name": HOSTILE, "type": HOSTILE, HOSTILE: [HOSTILE]}
    stage = Stage(name=HOSTILE[:200], command=HOSTILE)
    hostile = Scenario(scorers=(command, gone), setup=(HOSTILE,), stages=(stage,), image=HOSTILE)
    create_scenario(store.database, "odd", "hostile", hostile, at=AT)
    for name, prompt in (("fix-the-sum", "tests/test_calc.py fails. Fix the code."), ("hostile", HOSTILE)):
        scenario = plain if name == "fix-the-sum" else hostile
        fields = {field: getattr(scenario, field) for field in Scenario.model_fields}
        task = Task(**fields, id=name, scenario="calc-fix", prompt=prompt, tags=("bugfix", HOSTILE))
        create_task(store.database, "odd", FrozenTask.of(task), at=AT)


CALC: dict[str, Any] = {
    "seed": {"directory": "fixtures/calc"},
    "setup": ["pip install -q -e ."],
    "stages": [{"name": "lint", "command": "ruff check ."}, {"name": "test", "command": "pytest -q"}],
    "scorers": [
        {"name": "unit tests", "type": "command", "command": "pytest -q", "timeout_s": 300},
        {"name": "frozen tests", "type": "tests_unmodified", "paths": ["tests/test_calc.py"]},
        {"name": "no new skips", "type": "no_new_skips"},
        {"name": "taste", "type": "llm_judge", "rubric": "Prefer the smallest clear change."},
    ],
    "limits": {"timeout_s": 900, "memory_mb": 2048},
}


def _save(store: Store, number: int, run_id: str, changes: dict[str, Any], blobs: dict[str, bytes]) -> None:
    fields = {"run_id": run_id, "workspace": "odd", "experiment": "exp_odd", "task_id": "fix-the-sum"}
    run = run_of(number, **{**fields, "task_sha256": TASK.sha256, **changes})
    store.save(Finished(run, blobs), scored_at=AT)


DIFF = """diff --git a/src/calc.py b/src/calc.py
index 1111111..2222222 100644
--- a/src/calc.py
+++ b/src/calc.py
@@ -1,4 +1,5 @@
 def add(a, b):
-    return a - b  # wrong
+    # the sum
+    return a + b
 #
 print(add(1, 2))
diff --git a/tests/test_calc.py b/tests/test_calc.py
deleted file mode 100644
index 3333333..0000000
--- a/tests/test_calc.py
+++ /dev/null
@@ -1,2 +0,0 @@
-def test_add():
-    assert add(1, 2) == 3
diff --git a/logo.png b/logo.png
new file mode 100644
index 0000000..4444444
Binary files /dev/null and b/logo.png differ
"""


def _rich() -> dict[str, Any]:
    checks = (
        FactCheck(claim="the sum is right", evidence="src/calc.py line 3", status="supported"),
        FactCheck(claim="the tests were kept", evidence="tests/test_calc.py was deleted", status="refuted"),
        FactCheck(claim="it is fast", evidence="nothing says so", status="unverified"),
    )
    found = (Finding(path="src/calc.py", line=3, rule="taste", message="a plain sum would do"),)
    lost = (Finding(path="tests/test_calc.py", line=2, rule="assertions", message="an assertion is gone"),)
    return {
        "scorers": (
            scorer(name="unit tests", output_tail="2 passed in 0.01s"),
            scorer("FAIL", name="frozen tests", type="tests_unmodified", detail="1 file deleted", findings=lost),
            scorer("FAIL", name="no new skips", type="no_new_skips", required=False, detail="one", findings=found),
            scorer("N/A", name="shape", type="a_plugin_that_is_gone", detail="does not apply"),
        ),
        "judge": judged("PASS", fact_checks=checks, reasoning="The sum is right.\nThe tests are gone."),
        "stages": (
            StageAttempt(name="test", attempt=1, exit_code=1, passed=False, duration_s=1.5, output_tail="1 failed"),
            StageAttempt(name="test", attempt=2, exit_code=0, passed=True, duration_s=1.2, output_tail="2 passed"),
        ),
        "turns": (TurnRecord(kind="task", prompt="Fix it.", exit_code=0, duration_s=3.0, final_response="Fixed."),),
        "timings": {"agent": 3.0, "stages": 2.7},
        "changed_files": ("logo.png", "src/calc.py", "tests/test_calc.py"),
        "added_lines": 2,
        "removed_lines": 3,
        "final_response": "Fixed.",
        "usage": Usage(
            input_tokens=1200, output_tokens=340, cache_read_tokens=0, cache_write_tokens=0, cost_usd=0.42, steps=12,
            tool_calls=5,
        ),
        "parity": Parity(agent="claude-code", agent_version="2.1.0", model="a-model", sandbox="bwrap"),
    }  # fmt: skip


def _steps(count: int) -> list[dict[str, Any]]:
    """Every seventh step failed; step 8 names a needle."""
    steps: list[dict[str, Any]] = [{"step_id": 0, "source": "user", "message": "Fix it."}]
    for number in range(1, count):
        failed = number % 7 == 0
        step: dict[str, Any] = {
            "step_id": number,
            "source": "agent",
            "message": "look for the needle" if number == 8 else f"step {number}",
            "timestamp": AT,
            "metrics": {"prompt_tokens": 100, "completion_tokens": 10},
            "tool_calls": [{"tool_call_id": "c", "function_name": "bash", "arguments": {"command": f"ls {number}"}}],
            "observation": {
                "results": [{"content": "no such file" if failed else "ok", "extra": {"exit_code": failed}}]
            },
        }
        step["observation"]["results"][0]["extra"]["exit_code"] = int(failed)
        steps.append(step)
    return steps


def _trajectory(steps: list[dict[str, Any]]) -> bytes:
    agent = {"name": "a", "version": "1"}
    return json.dumps({"schema_version": "ATIF-v1.7", "agent": agent, "steps": steps}).encode()


def _many_files() -> bytes:
    return b"".join(
        b"diff --git a/dir%d/f%d.txt b/dir%d/f%d.txt\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n"
        b"+++ b/dir%d/f%d.txt\n@@ -0,0 +1 @@\n+content %d\n" % (n % 50, n, n % 50, n, n % 50, n, n)
        for n in range(FILES)
    )


def _large_file() -> bytes:
    lines = 500_000
    head = b"diff --git a/large.txt b/large.txt\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n"
    return head + b"+++ b/large.txt\n@@ -0,0 +1,%d @@\n" % lines + b"+%s\n" % (b"x" * 99) * lines


def _hostile() -> dict[str, Any]:
    finding = Finding(path=HOSTILE, line=1, rule=HOSTILE, message=HOSTILE, test=HOSTILE, before=HOSTILE, after=HOSTILE)
    here = Finding(path="evil.py", line=1, rule=HOSTILE, message=HOSTILE)
    check = FactCheck(claim=HOSTILE, evidence=HOSTILE, status="refuted")
    stage = StageAttempt(name=HOSTILE, attempt=1, exit_code=1, passed=False, duration_s=1, output_tail=HOSTILE + LONG)
    turn = TurnRecord(kind="task", prompt=HOSTILE, exit_code=0, duration_s=1, final_response=HOSTILE)
    return {
        "scorers": (
            scorer(
                "FAIL", name=HOSTILE, type=HOSTILE, detail=HOSTILE, output_tail=HOSTILE + LONG, findings=(finding, here)
            ),
        ),
        "judge": judged(
            "FAIL", reasoning=HOSTILE, fact_checks=(check,), model=HOSTILE, raw=HOSTILE, failure_mode="other"
        ),
        "stages": (stage,),
        "turns": (turn,),
        "final_response": HOSTILE + LONG,
        "changed_files": (HOSTILE,),
        "error_detail": HOSTILE,
        "error_class": "agent_crashed",
        "notes": (HOSTILE,),
        "arm": HOSTILE,
        "timings": {HOSTILE: 1.0},
        "parity": Parity(agent=HOSTILE, agent_version=HOSTILE, model=HOSTILE, sandbox=HOSTILE),
    }


def _hostile_diff() -> bytes:
    name = HOSTILE.replace("/", "_").encode("unicode_escape").replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    quoted = b'"b/' + name + b'"'
    body = HOSTILE.encode().replace(b"\n", b" ")
    first = (
        b"diff --git a/evil.py b/evil.py\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/evil.py\n"
    )
    second = (
        b'diff --git "a/' + name + b'" ' + quoted + b"\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n"
    )
    return (
        first + b"@@ -0,0 +1,2 @@ " + body + b"\n+" + body + b"\n+" + b"B" * 10_000_000 + b"\n"
        + second + b"+++ " + quoted + b"\n@@ -0,0 +1 @@\n+" + body + b"\n"
    )  # fmt: skip


def _hostile_steps() -> list[dict[str, Any]]:
    call = {"tool_call_id": HOSTILE, "function_name": HOSTILE, "arguments": {HOSTILE: HOSTILE, "deep": [HOSTILE]}}
    result = {"content": HOSTILE + LONG, "extra": {"is_error": True}}
    step = {
        "step_id": 1,
        "source": HOSTILE,
        "message": [{"type": "text", "text": HOSTILE}],
        "timestamp": HOSTILE,
        "model_name": HOSTILE,
        "reasoning_content": HOSTILE,
        "tool_calls": [call],
        "observation": {"results": [result]},
    }
    odd: list[Any] = [
        step,
        {"source": None, "message": {"a": HOSTILE}, "tool_calls": "none", "observation": 7},
        "text",
        3,
    ]
    return odd
