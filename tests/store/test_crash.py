"""`kill -9` at any moment, and a disk that is full: no finished run is lost, none is stored by half."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.store.check import check
from steelyard.store.database import open_store
from tests.store.support import AT, assert_scores_are_exact, finished

WRITER = """
import sys
from pathlib import Path
from steelyard.store.database import open_store
from tests.store.support import AT, finished
home, start = Path(sys.argv[1]), int(sys.argv[2])
with open_store(f"sqlite:///{home / 'steelyard.db'}", home / "artifacts") as store:
    for number in range(start, start + 100_000):
        blobs = {"diff": b"diff %d" % number, "stdout": b"x" * 3000 * (number % 7)}
        store.save(finished(number, blobs=blobs), scored_at=AT)
        print(number, flush=True)
"""


def test_killed_writers_lose_no_finished_run(tmp_path: Path) -> None:
    """Two writers at a time are killed in the middle of their work, four times; what they reported is there, whole."""
    reported: set[int] = set()
    for round_number in range(4):
        starts = (round_number * 2_000, round_number * 2_000 + 1_000)
        command = [sys.executable, "-c", WRITER, str(tmp_path)]
        writers = [subprocess.Popen([*command, str(s)], stdout=subprocess.PIPE, text=True) for s in starts]
        for writer in writers:
            assert writer.stdout is not None
            for _ in range(3 + 2 * round_number):  # then it is somewhere in the next one when the kill comes
                reported.add(int(writer.stdout.readline()))
        for writer in writers:
            writer.kill()
        for writer in writers:
            rest, _ = writer.communicate(timeout=60)
            reported |= {int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")}

    with open_store(f"sqlite:///{tmp_path / 'steelyard.db'}", tmp_path / "artifacts") as store:
        rows = store.runs(limit=10_000)
        assert reported <= {int(row["run_id"].removeprefix("run_")) for row in rows}
        scored = [one.run_id for one in store.pending_events("sink", limit=10_000) if one.kind == "agent.run.scored"]
        assert sorted(map(str, scored)) == sorted(row["run_id"] for row in rows)
        assert check(store.database, deep=True).problems == ()
        for row in rows:
            run = store.run(row["run_id"]).run
            assert store.artifact(run.artifacts["diff"]) == b"diff %d" % (run.repeat - 1)
        assert_scores_are_exact(store, "payments", len(rows))


LIMITED = """
import sys
from pathlib import Path
from steelyard.store.database import open_store
from steelyard.store.errors import StoreError
from tests.store.support import AT, finished
home, grows = Path(sys.argv[1]), sys.argv[2]
with open_store(f"sqlite:///{home / 'steelyard.db'}", home / "artifacts") as store:
    for number in range(200):
        random = __import__("random").Random(number).randbytes
        blob = random(number * 20_000) if grows == "artifact" else b"small"
        text = random(4_000).hex() if grows == "database" else ""
        try:
            store.save(finished(number, blobs={"stdout": blob}, final_response=text), scored_at=AT)
        except StoreError as error:
            print(number, error, sep="|", flush=True)
            break
"""


@pytest.mark.parametrize("grows", ["artifact", "database"])
def test_a_full_disk_is_told_in_one_line_and_spoils_nothing(tmp_path: Path, grows: str) -> None:
    """When a file can't grow, the run is refused whole; with room again it can be stored."""

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    command = [sys.executable, "-c", LIMITED, str(tmp_path), grows]
    ran = subprocess.run(command, preexec_fn=small_files, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
    number, message = ran.stdout.strip().split("|")

    assert message.startswith(f"storing run run_{int(number):05d}: ")
    assert "\n" not in message
    assert list((tmp_path / "artifacts").glob("??/*.part")) == []
    with open_store(f"sqlite:///{tmp_path / 'steelyard.db'}", tmp_path / "artifacts") as store:
        assert check(store.database, deep=True).problems == ()
        assert len(store.runs(limit=1000)) == int(number)
        store.save(finished(int(number)), scored_at=AT)
        assert_scores_are_exact(store, "payments", int(number) + 1)
