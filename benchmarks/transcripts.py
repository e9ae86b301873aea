"""Agent transcripts: a stream-json transcript becomes ATIF steps at 20 MB/s or more, in bounded memory.

Prints throughput (by processor time, so that other work does not count) and peak memory at two sizes, next to the
floor: `json.loads` of the same lines and nothing else.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import table

MB = 1_000_000
SIZES = (50, 200)
CHUNK = 64 * 1024
GOAL_MB_S = 20


def main(argv: Sequence[str] = ()) -> None:
    """Write transcripts, and read each in a process of its own."""
    if argv:
        return measure(argv[0], Path(argv[1]))
    rows = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "transcript.jsonl"
            write(path, size * MB)
            floor, ours = run("floor", path), run("ours", path)
        rows.append([f"{size} MB", f"{ours[0]:.0f} MB/s", f"{floor[0]:.0f} MB/s", f"{floor[0] / ours[0]:.2f}", ours[1]])
        if ours[0] < GOAL_MB_S:
            raise SystemExit(f"{ours[0]:.1f} MB/s is below the goal of {GOAL_MB_S}")
    print(table(["Transcript", "to ATIF steps", "json.loads alone", "ratio", "peak memory (MB)"], rows))
    print(f"\nGoal: at least {GOAL_MB_S} MB/s. Memory holds the steps (64 MiB of text at most) and the longest line.")
    return None


def run(kind: str, path: Path) -> tuple[float, int]:
    """MB/s and peak memory of one reading."""
    code = "import sys; from benchmarks.transcripts import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", code, kind, str(path)], capture_output=True, text=True, check=True)
    seconds, peak = json.loads(done.stdout)
    return path.stat().st_size / MB / seconds, peak


def measure(kind: str, path: Path) -> None:
    """Read the transcript once; print seconds and peak memory."""
    from steelyard.agents.claude_stream import ClaudeStream
    from steelyard.domain.usage import Usage

    with path.open("rb") as file:
        started = time.process_time()
        if kind == "floor":
            for line in file:
                json.loads(line)
        else:
            stream = ClaudeStream("go", None, None)
            while chunk := file.read(CHUNK):
                stream.feed(chunk)
            stream.close()
            heard = stream.heard(resumed=False, spent=Usage())
            assert heard.finished
            assert heard.usage.tool_calls
        seconds = time.process_time() - started
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024]))


def write(path: Path, size: int) -> None:
    """A transcript like those of long sessions: short words, tool calls, and tool results of 1 to 30 KB."""
    session = "98debe6d-19d9-4d5c-a206-523fb04d85c2"
    usage = {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    source = Path(__file__).read_text() * 20
    with path.open("w") as out:
        out.write(json.dumps({"type": "system", "subtype": "init", "session_id": session, "model": "m"}) + "\n")
        number = 0
        while out.tell() < size:
            number += 1
            head = {"session_id": session, "uuid": f"{number:036d}", "timestamp": f"2026-11-16T18:{number:09d}Z"}
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": source[:300]}}
            for block in ({"type": "text", "text": source[:200]}, call):
                message = {"id": f"msg_{number}", "model": "m", "content": [block], "usage": usage}
                out.write(json.dumps({"type": "assistant", "message": message, **head}) + "\n")
            content = source[: 1000 + number * 7919 % 29_000]
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content}
            line = {
                "type": "user",
                "message": {"role": "user", "content": [result]},
                "tool_use_result": content,
                **head,
            }
            out.write(json.dumps(line) + "\n")
        out.write(json.dumps({"type": "result", "is_error": False, "session_id": session, "result": "Done."}) + "\n")
