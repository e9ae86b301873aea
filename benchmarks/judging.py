"""Judging: a bundle of a huge run costs little time and memory, and many judgements at once wait only for the model.

Prints the time to build the bundle of a 20 MB trajectory with a 5 MB diff next to `json.loads` of that trajectory, and
the time of 200 judgements against a model on loopback that answers in 200 ms next to the shortest possible.
"""

import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import median, table
from steelyard import plugins
from steelyard.domain.diff import Diff, FileChange
from steelyard.domain.evidence import Evidence
from steelyard.domain.suite import Task
from steelyard.domain.trajectory import AgentInfo, Observation, ObservationResult, Step, ToolCall, Trajectory
from steelyard.judge.base import About, Judge
from steelyard.judge.jury import Seats
from steelyard.judge.request import build_request
from steelyard.wiring import open_jury

MB = 1_000_000
REPEATS = 5
BUNDLE_GOAL = 10.0
MEMORY_GOAL_MB = 32.0
JUDGEMENTS = 200
ANSWER_S = 0.2
WAIT_GOAL = 1.3
ABOUT = About("task", "arm")


def main(argv: Sequence[str] = ()) -> None:
    """Print both tables; fail when a goal is missed."""
    del argv
    evidence = huge_run()
    bundles(evidence)
    waiting()


def huge_run() -> Evidence:
    """A run of 20 MB of steps and 5 MB of diff."""
    source = Path(__file__).read_text() * 20
    steps: list[Step] = []
    size = 0
    while size < 20 * MB:
        number = len(steps) + 1
        content = source[: 1000 + number * 7919 % 29_000]
        size += len(content) + 700
        call = ToolCall(tool_call_id=f"c{number}", function_name="Bash", arguments={"command": source[:300]})
        seen = Observation(results=(ObservationResult(source_call_id=f"c{number}", content=content),))
        step = Step(step_id=number, source="agent", message=source[:200], tool_calls=(call,), observation=seen)
        steps.append(step)
    lines = "".join(f"+{line}\n" for line in source.split("\n"))
    hunks = f"@@ -0,0 +1,{lines.count(chr(10))} @@\n{lines}".encode()
    one = b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n" + hunks
    count = 5 * MB // len(one) + 1
    change = FileChange.parsed(hunks, path="x", kind="added")
    return Evidence(
        task=Task.model_validate({"id": "t", "prompt": "go", "seed": {"empty": True}}, strict=False),
        diff=Diff(one * count, (change,) * count),
        trajectory=Trajectory(agent=AgentInfo(name="a", version="1"), steps=tuple(steps)),
        final_response=source,
    )


def bundles(evidence: Evidence) -> None:
    """Time and memory of the bundle, from a run in memory and from its stored trajectory."""
    assert evidence.trajectory is not None
    stored = evidence.trajectory.model_dump_json(exclude_none=True)
    build_request(evidence, ABOUT)  # the secret rules are compiled once

    def from_stored() -> None:
        read = Trajectory.model_validate_json(stored)
        build_request(Evidence(task=evidence.task, diff=evidence.diff, trajectory=read), ABOUT)

    floor = timed(lambda: json.loads(stored))
    rows = []
    for name, work in (("a run in memory", lambda: build_request(evidence, ABOUT)), ("a stored run", from_stored)):
        took = timed(work)
        rows.append([name, f"{took * 1000:.0f} ms", f"{floor * 1000:.0f} ms", f"{took / floor:.2f}"])
        if took > BUNDLE_GOAL * floor:
            raise SystemExit(f"the bundle of {name} takes {took / floor:.1f} × json.loads; the goal is {BUNDLE_GOAL}")
    tracemalloc.start()
    request = build_request(evidence, ABOUT)
    peak = tracemalloc.get_traced_memory()[1] / MB
    tracemalloc.stop()
    size, diff = len(stored) / MB, len(evidence.diff.patch) / MB
    print(f"A trajectory of {size:.0f} MB with a diff of {diff:.0f} MB becomes {len(request.evidence):,} characters.\n")
    print(table(["Bundle of", "build", "json.loads", "ratio"], rows))
    print(f"\nPeak memory while building: {peak:.1f} MB. Goals: ratio under {BUNDLE_GOAL:g}, {MEMORY_GOAL_MB:g} MB.")
    if peak > MEMORY_GOAL_MB:
        raise SystemExit(f"building the bundle took {peak:.0f} MB")


def timed(work: Callable[[], object]) -> float:
    """Processor seconds, the median of some."""
    spent = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return median(spent)


def waiting() -> None:
    """Many judgements at once, by both SDKs."""
    task = Task.model_validate({"id": "t", "prompt": "say hi"}, strict=False)
    evidence = Evidence(task=task, final_response="hi " * 5_000)
    case = build_request(evidence, ABOUT).case
    rows = []
    with slow_model(case) as url:
        env = {
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": url,
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": f"{url}/v1",
        }
        for name in ("anthropic", "openai"):
            judge = plugins.build("judges", {"type": name})
            with open_jury(alone(judge), env) as jury:
                assert jury.judge(evidence, ABOUT) is not None  # imports the SDK and opens the line
                started = time.monotonic()
                with ThreadPoolExecutor(4 * judge.concurrency) as pool:
                    results = list(pool.map(lambda _: jury.judge(evidence, ABOUT), range(JUDGEMENTS)))
                took = time.monotonic() - started
            assert all(result is not None and result.verdict == "PASS" for result in results)
            least = JUDGEMENTS * ANSWER_S / judge.concurrency
            rows.append([name, judge.concurrency, f"{took:.2f} s", f"{least:.2f} s", f"{took / least:.2f}"])
            if took > WAIT_GOAL * least:
                raise SystemExit(f"{name}: {took / least:.2f} × the shortest possible; the goal is {WAIT_GOAL}")
    print(f"\n{JUDGEMENTS} judgements against a model that answers in {ANSWER_S * 1000:.0f} ms.\n")
    print(table(["Judge", "at once", "took", "shortest possible", "ratio"], rows))
    print(f"\nGoal: ratio under {WAIT_GOAL}.")


def alone(judge: Judge) -> Seats:
    """A jury of one."""
    return lambda _spec: (judge,)


@contextmanager
def slow_model(case: str) -> Iterator[str]:
    """The scripted model in a process of its own."""
    ratings = {"task_completion": 5, "instruction_adherence": 5, "efficiency": 5}
    answer: dict[str, object] = {
        "case": case,
        "fact_checks": [],
        "reasoning": "ok",
        **ratings,
        "verdict": "PASS",
        "failure_mode": None,
    }
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps([{"json": answer, "delay_s": ANSWER_S}]))
        argv = [sys.executable, "-m", "steelyard.testing.scripted_model", "--script", str(script)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                yield json.loads(server.stdout.readline())["url"]
            finally:
                server.terminate()
