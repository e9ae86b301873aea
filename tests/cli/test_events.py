"""steelyard events."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.events.support import SECRET, receiving, until
from tests.store.home import fill

COMMAND = [sys.executable, "-c", "from steelyard.cli.main import main; main()", "events"]


def environment(home: Path, **more: str) -> dict[str, str]:
    """This environment with a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STEELYARD_", "OTEL_"))}
    return {**kept, "STEELYARD_HOME": str(home), **more}


def run(home: Path, *words: str, **more: str) -> tuple[int, str, str]:
    """The command as a person would type it; exit code, stdout, stderr."""
    ran = subprocess.run([*COMMAND, *words], env=environment(home, **more), capture_output=True, text=True, timeout=240)
    return ran.returncode, ran.stdout, ran.stderr


def test_what_waits_is_delivered_shown_and_forgotten(tmp_path: Path) -> None:
    """Once to a file; then status tells of it, and forgetting takes it away."""
    fill(tmp_path)
    path = tmp_path / "events.jsonl"
    code, out, err = run(tmp_path, "deliver", "--once", "--json", STEELYARD_EVENTS=f"jsonl:{path}")
    assert (code, err) == (0, "")
    (sink,) = json.loads(out)["sinks"]
    assert sink == {"name": f"jsonl:{path}", "delivered": 2, "refused": 0, "last_error": None}
    assert [json.loads(line)["run_id"] for line in path.read_text().splitlines()] == ["run_00001", "run_00002"]

    code, out, _ = run(tmp_path, "status")
    assert code == 0
    assert f"jsonl:{path}: 0 waiting, 2 delivered, nobody delivers to it now" in out
    assert run(tmp_path, "forget", f"jsonl:{path}")[0] == 0
    assert json.loads(run(tmp_path, "status", "--json")[1])["sinks"] == []


def test_a_sink_that_fails_is_exit_code_3(tmp_path: Path) -> None:
    """And status says why, until it works."""
    fill(tmp_path)
    with receiving() as receiver:
        receiver.mood = "error"
        more = {"STEELYARD_EVENTS": f"webhook:{receiver.url}", "STEELYARD_WEBHOOK_SECRET": SECRET}
        code, out, _ = run(tmp_path, "deliver", "--once", **more)
        assert code == 3
        assert "0 delivered, then 127.0.0.1 answered 500" in out
        assert "failing, 1 times in a row: 127.0.0.1 answered 500" in run(tmp_path, "status")[1]
        receiver.mood = "fine"
        assert run(tmp_path, "deliver", "--once", **more)[0] == 0
        assert len(receiver.taken) == 2


def test_it_delivers_until_it_is_told_to_end(tmp_path: Path) -> None:
    """SIGTERM ends it with 0; its logs are JSON lines when asked."""
    fill(tmp_path)
    path = tmp_path / "events.jsonl"
    env = environment(tmp_path, STEELYARD_EVENTS=f"jsonl:{path}")
    process = subprocess.Popen([*COMMAND, "deliver", "--log-json"], env=env, stderr=subprocess.PIPE)
    try:
        until(lambda: path.exists() and path.read_bytes().count(b"\n") == 2, "delivery")
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.communicate(timeout=60)


def test_wrong_words_are_told(tmp_path: Path) -> None:
    """One line each; exit code 2."""
    fill(tmp_path)
    for words, said in (
        (("deliver",), "there is nowhere to deliver to; set STEELYARD_EVENTS"),
        (("forget",), "needs a SINK"),
        (("forget", "nothing"), "no sink 'nothing' is known; known: none"),
        (("status", "x"), "takes no SINK"),
    ):
        code, _, err = run(tmp_path, *words)
        assert (code, err.count("\n")) == (2, 1)
        assert said in err
    code, _, err = run(tmp_path, "status", STEELYARD_EVENTS_KEEP="many")
    assert code == 2
    assert "STEELYARD_EVENTS_KEEP is 'many'; a whole number above 0 is allowed" in err
