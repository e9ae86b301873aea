"""One suite for both databases: SQLite and PostgreSQL keep the same promises."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from steelyard.domain.experiment import Finished
from steelyard.domain.run import Cell, TurnRecord
from steelyard.domain.usage import Usage
from steelyard.errors import InputError
from steelyard.store.backup import backup, restore
from steelyard.store.check import check
from steelyard.store.database import Store, open_store
from steelyard.store.errors import ConflictError, NotFoundError, StoreError
from steelyard.store.leases import LEASE_S, owner_name
from steelyard.store.outbox import queue_size, trim_events
from steelyard.store.progress import Shape, glance, pulse, read_progress, shapes, stamp, summary
from steelyard.store.prune import GRACE_S, prune
from steelyard.store.reads import RunFilter
from tests.store.support import AT, TASK, assert_scores_are_exact, experiment_of, finished, judged, run_of, scorer

KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new, empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'steelyard.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    """A new store."""
    with open_store(url, tmp_path / "artifacts") as opened:
        yield opened


def test_progress_counts_what_is_done_and_who_is_at_it(store: Store) -> None:
    """Arms, replaced tries, infrastructure failures, costs, live claims, and what changes when something is added."""
    store.create_experiment(experiment_of(repeats=4))
    owner, now = owner_name("t"), time.time()
    store.claim("exp_1", [Cell(task_id=TASK.task.id, arm="plain", repeat=n) for n in (2, 3, 4, 5)], owner, now)
    before = (pulse(store.database, "exp_1"), stamp(store.database, ["exp_1"]))
    broken: dict[str, Any] = {"status": "failed", "outcome": "FAILED", "error_class": "network"}
    store.save(finished(1, usage=Usage(cost_usd=0.5), scorers=(scorer(),)), scored_at=AT)
    store.save(finished(2, **broken), scored_at=AT)
    store.save(finished(20, repeat=3, attempt=2, finished_at="2026-01-01T00:00:40+00:00"), scored_at=AT)
    store.save(finished(3, experiment="other", arm="else"), scored_at=AT)

    found = read_progress(store.database, "exp_1")

    assert [(arm.arm, arm.runs, arm.passed, arm.infrastructure) for arm in found.arms] == [("plain", 2, 1, 0)]
    assert (found.cost_usd, found.unknown_cost, found.working, found.pace_s) == (0.5, 2, 2, 15.0)
    told = summary(found, 4)
    assert (told["state"], told["missing"], told["eta_s"]) == ("running", 2, 30.0)
    assert (pulse(store.database, "exp_1"), stamp(store.database, ["exp_1"])) != before
    assert stamp(store.database, ["exp_1"])[0] == 3
    assert read_progress(store.database, "exp_1", "elsewhere").done == 0
    seen = glance(store.database, "exp_1")
    assert (seen.finished, seen.cost_usd, seen.working, seen.more) == (2, 0.5, 2, False)
    assert glance(store.database, "nope").cost_usd is None
    assert shapes(store.database, ["exp_1", "nope"]) == {"exp_1": Shape(1, 1, 4, {})}
    assert summary(found, 4)["state"] == summary(found, 4, alive=True)["state"] == "running"
    store.release(owner)
    assert summary(read_progress(store.database, "exp_1"), 4)["state"] == "stopped"


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    """Record, gates, score and artifacts are read back as they were stored."""
    run = run_of(1, scorers=(scorer("FAIL", required=False), scorer()), judge=judged(), usage=Usage(input_tokens=7))
    blobs = {"diff": b"\xff\x00 bytes", "stdout": b"", "trajectory": b"{}" * 100_000}

    card = store.save(Finished(run, blobs), scored_at=AT)
    stored = store.run("run_00001")

    assert stored.run == run.model_copy(update={"artifacts": stored.run.artifacts})
    assert {name: store.artifact(sha) for name, sha in stored.run.artifacts.items()} == blobs
    assert stored.scorecard == card
    assert stored.gates.objective == "PASS"
    assert stored.gates.disagreement == "review the warning"
    assert stored.judgements == (judged(),)


def test_the_same_run_again_changes_nothing_and_another_is_refused(store: Store) -> None:
    """Storing is idempotent by run id; a run never changes."""
    first = store.save(finished(1), scored_at=AT)
    store.save(finished(2), scored_at=AT)

    assert store.save(finished(1), scored_at="2026-02-02T00:00:00Z") == first
    with pytest.raises(ConflictError, match="another run run_00001 is stored already"):
        store.save(finished(1, final_response="different"), scored_at=AT)
    assert len(store.runs()) == 2
    assert len(store.run("run_00001").scores) == 1
    assert len(store.pending_events("sink")) == 2


def test_secrets_never_reach_the_store(store: Store, tmp_path: Path) -> None:
    """Injected values and secret-like strings are gone from the record and from every artifact."""
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    value = "correct-horse-battery-staple"
    run = run_of(
        1, final_response=f"I used {value}", scorers=(scorer(output_tail=f"key {token}"),), notes=(f"x{value}x",)
    )
    store.save(Finished(run, {"stdout": f"{token} {value}".encode()}, (value, "payments")), scored_at=AT)

    stored = store.run("run_00001")
    kept = stored.run.model_dump_json() + store.artifact(stored.run.artifacts["stdout"]).decode()
    assert value not in kept
    assert token not in kept
    assert "[redacted" in stored.run.final_response
    assert stored.run.workspace == "payments", "a name that we gave is no secret, whatever was injected"


def test_characters_that_databases_refuse_are_stored_visibly(store: Store) -> None:
    """NUL is refused by PostgreSQL and is kept as a picture of itself; everything else stays."""
    store.save(finished(1, final_response="a\0b\x1b[31m\u2028😀", notes=("n\0",), arm="arm\0"), scored_at=AT)

    stored = store.run("latest")
    assert stored.run.final_response == "a␀b\x1b[31m\u2028😀"
    assert stored.run.notes == ("n␀",)
    assert store.runs(RunFilter(arm="arm␀"))[0]["run_id"] == "run_00001"


def test_an_infrastructure_failure_is_kept_but_not_scored(store: Store) -> None:
    """It counts as missing, costs what it cost, and is replaced by the try that was measured."""
    spent = Usage(cost_usd=0.5, input_tokens=10, output_tokens=1)
    failure: dict[str, Any] = {
        "status": "failed",
        "outcome": "FAILED",
        "error_class": "network",
        "usage": spent,
        "repeat": 1,
    }
    assert store.save(finished(1, **failure), scored_at=AT) is None
    assert store.finished_cells("exp_1") == set()
    assert store.run("latest").scorecard is None
    assert store.pending_events("sink") == []

    assert store.save(finished(2, repeat=1, attempt=2, usage=spent), scored_at=AT) is not None
    store.save(finished(3, **failure), scored_at=AT)

    cell = Cell(task_id=TASK.task.id, arm="plain", repeat=1)
    assert store.finished_cells("exp_1") == {cell}
    assert [run.run_id for run in store.iter_runs("exp_1")] == ["run_00002"]
    assert len(list(store.iter_runs("exp_1", replaced=True))) == 3
    total = store.spent("exp_1")
    assert (total.cost_usd, total.tokens, total.seconds, total.unknown_cost) == (1.5, 33, 36.0, 0)


def test_a_turn_that_did_not_say_hides_no_other(store: Store) -> None:
    """Of a run whose cost is unknown as a whole, what its turns did tell is money spent all the same."""
    told, silent = Usage(cost_usd=0.25, input_tokens=10, output_tokens=1), Usage()
    turns = tuple(
        TurnRecord(kind="task", prompt="p", exit_code=0, duration_s=1.0, usage=usage) for usage in (told, told, silent)
    )
    store.save(finished(1, usage=Usage(), turns=turns), scored_at=AT)
    store.save(finished(2, usage=told), scored_at=AT)

    total = store.spent("exp_1")
    assert (total.cost_usd, total.tokens, total.unknown_cost) == (0.75, 33, 1)


def test_latency_is_measured_against_the_runs_before(store: Store) -> None:
    """Only COMPLETED runs of the workspace count, the last twenty, at least five, none of them our failures."""
    for number in range(30):
        outcome = "FAILED" if number % 4 == 3 else "COMPLETED"
        store.save(finished(number, outcome=outcome), scored_at=AT)
        store.save(finished(number + 100, workspace="other", wall_s=1000.0), scored_at=AT)

    assert_scores_are_exact(store, "payments", 30)
    assert store.history("payments", before=1) == []
    assert len(store.history("payments")) == 20


def test_threads_that_score_at_once_keep_the_baseline_right(store: Store) -> None:
    """Eight threads in one workspace: nothing is lost, and every score follows from the stored order."""
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for number in range(12):
                store.save(finished(thread * 100 + number, repeat=thread * 100 + number + 1), scored_at=AT)
                store.runs(limit=5)
        except BaseException as error:  # noqa: BLE001  # told to the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)

    assert failures == []
    assert_scores_are_exact(store, "payments", 96)


CHILD = """
import sys
from pathlib import Path
from steelyard.store.database import open_store
from tests.store.support import AT, finished
url, artifacts, start = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
with open_store(url, artifacts) as store:
    for number in range(start, start + 15):
        store.save(finished(number, blobs={"diff": b"shared", "stdout": b"own %d" % number}), scored_at=AT)
        assert store.run(f"run_{number:05d}").run.repeat == number + 1
        store.runs(limit=3)
"""


def test_processes_that_write_at_once_lose_nothing(url: str, tmp_path: Path) -> None:
    """Four processes make the same new store and write to it: no error, all runs whole, the baseline right."""
    command = [sys.executable, "-c", CHILD, url, str(tmp_path / "artifacts")]
    children = [
        subprocess.Popen([*command, str(start)], stderr=subprocess.PIPE, text=True) for start in (0, 100, 200, 300)
    ]
    said = [child.communicate(timeout=240)[1] for child in children]

    assert [child.returncode for child in children] == [0] * 4, said
    with open_store(url, tmp_path / "artifacts") as store:
        assert_scores_are_exact(store, "payments", 60)
        assert check(store.database, deep=True).problems == ()


def test_pages_show_every_run_once_newest_first(store: Store) -> None:
    """Walking page by page meets each matching run exactly once, also while new ones arrive."""
    for number in range(25):
        store.save(finished(number, arm="odd" if number % 2 else "even"), scored_at=AT)
    seen, after = [], None
    while page := store.runs(RunFilter(workspace="payments", arm="odd"), after=after, limit=5):
        seen += [row["run_id"] for row in page]
        after = page[-1]["seq"]
        store.save(finished(500 + len(seen), arm="odd"), scored_at=AT)

    assert seen == [f"run_{number:05d}" for number in range(23, 0, -2)]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (RunFilter(outcome="BLOCKED"), ["run_00002"]),
        (RunFilter(verdict="FAIL"), ["run_00003"]),
        (RunFilter(failure_mode="no_op"), ["run_00003"]),
        (RunFilter(disagree=True), ["run_00003"]),
        (RunFilter(objective="FAIL"), ["run_00002"]),
        (RunFilter(infrastructure=True), ["run_00004"]),
        (RunFilter(error_class="network", status="failed", tier="Unranked"), ["run_00004"]),
        (RunFilter(since="2026-01-01T00:00:10.000000Z", until="2026-01-01T00:00:11.000000Z"), ["run_00001"]),
        (RunFilter(workspace="nobody"), []),
    ],
)
def test_filters(store: Store, wanted: RunFilter, expected: list[str]) -> None:
    """Each filter finds its run."""
    later = "2026-01-02T00:00:00Z"
    store.save(finished(1), scored_at=AT)
    store.save(finished(2, outcome="BLOCKED", scorers=(scorer("FAIL"),), finished_at=later), scored_at=AT)
    bad = judged("FAIL", failure_mode="no_op")
    store.save(finished(3, scorers=(scorer(),), judge=bad, finished_at=later), scored_at=AT)
    failure: dict[str, Any] = {"status": "failed", "outcome": "FAILED", "error_class": "network", "finished_at": later}
    store.save(finished(4, **failure), scored_at=AT)

    assert [row["run_id"] for row in store.runs(wanted)] == expected


def test_runs_are_found_by_a_unique_start_of_their_id(store: Store) -> None:
    """An exact id wins over longer ones; a start must be unique; `%` and `_` mean themselves."""
    for name in ("run_1", "run_12", "run_2", "runX3"):
        store.save(finished(1, run_id=name), scored_at=AT)

    assert store.run("run_1").run.run_id == "run_1"
    assert store.run("run_2").run.run_id == "run_2"
    assert store.run("runX").run.run_id == "runX3"
    assert store.run("latest").run.run_id == "runX3"
    with pytest.raises(InputError, match="the start of more than one run: run_1, run_12, run_2"):
        store.run("run_")
    for absent in ("%", "nothing", "", "RUN_1", "run_1\0"):
        with pytest.raises(NotFoundError, match="is stored"):
            store.run(absent)
    with pytest.raises(NotFoundError, match="is stored"):
        store.run("run_1", workspace="other")


def test_weights_are_checked_used_and_kept_with_the_score(store: Store) -> None:
    """Weights of a workspace apply from then on, to it alone; wrong ones change nothing."""
    given = {"completion": 1.0, "error_rate": 0, "latency": 0, "resource_efficiency": 0}
    store.set_weights("payments", given)
    for wrong in ({**given, "latency": 0.1}, {**given, "latency": -0.1, "error_rate": 0.1}, {"completion": 1.0}):
        with pytest.raises(InputError, match="weight"):
            store.set_weights("payments", wrong)

    mine = store.save(finished(1), scored_at=AT)
    other = store.save(finished(2, workspace="other"), scored_at=AT)

    assert mine is not None
    assert other is not None
    assert (mine.score, mine.weights.completion) == (100, 1.0)
    assert (other.score, other.weights.completion) == (70, 0.4)
    assert store.run("run_00001").scorecard == mine


def test_rescoring_adds_a_row_and_no_row_ever_changes(store: Store) -> None:
    """Versions count up, the run shows the newest, and the database refuses an UPDATE of a score."""
    card = store.save(finished(1), scored_at=AT)
    assert card is not None

    assert store.add_score(card.model_copy(update={"score": 91, "tier": "Elite"}), scored_at=AT) == 2

    assert [(score.version, score.card.score) for score in store.run("run_00001").scores] == [(1, 70), (2, 91)]
    assert store.runs(RunFilter(tier="Elite"))[0]["score"] == 91
    with (
        pytest.raises(StoreError, match="a score row never changes"),
        store.database.write("cheating") as connection,
    ):
        connection.execute(text("UPDATE agent_run_scores SET score = 100"))
    with pytest.raises(NotFoundError, match="no run absent"):
        store.add_score(card.model_copy(update={"run_id": "absent"}), scored_at=AT)


def test_judging_and_grading_again_keep_what_was_said_before(store: Store) -> None:
    """The gates follow the newest word; the run's own record stays as it was."""
    run = run_of(1, scorers=(scorer(),))
    store.save(Finished(run, {}), scored_at=AT)

    store.add_judgement("run_00001", judged("FAIL", failure_mode="other"))
    store.add_judgement("run_00001", judged("PASS", reasoning="on second thought"))
    store.add_grading("run_00001", (scorer("FAIL"),), graded_at=AT)

    stored = store.run("run_00001")
    assert stored.run == run
    assert [judgement.verdict for judgement in stored.judgements] == ["FAIL", "PASS"]
    assert stored.gates.disagreement == "plausible but violates a hard constraint"
    assert stored.gradings[0].objective == "FAIL"
    (newest,) = store.iter_runs("exp_1")
    assert newest.judge is not None
    assert (newest.judge.verdict, newest.scorers[0].verdict) == ("PASS", "FAIL")


def test_a_cell_is_claimed_by_one_at_a_time(store: Store) -> None:
    """Two at once never get the same cell; it is free when it was let go, when time is up, never when finished."""
    cell = Cell(task_id=TASK.task.id, arm="plain", repeat=2)
    ours, theirs = owner_name("ours"), owner_name("theirs")

    assert store.claim("exp_1", [cell], ours, 100.0)
    assert store.claim("exp_1", [cell], ours, 101.0), "an owner may ask again"
    assert not store.claim("exp_1", [cell], theirs, 101.0)
    store.renew(ours, 150.0)
    assert not store.claim("exp_1", [cell], theirs, 101.0 + LEASE_S)
    assert store.claim("exp_1", [cell], theirs, 150.0 + LEASE_S)
    store.release(theirs)
    assert store.claim("exp_1", [cell], ours, 100.0)
    store.save(finished(1), scored_at=AT)
    assert not store.claim("exp_1", [cell], theirs, 10_000.0)


def test_the_cell_of_a_process_that_died_is_free_at_once(store: Store) -> None:
    """After `kill -9` nobody waits for the lease to run out."""
    code = "from steelyard.store.leases import owner_name; print(owner_name('gone'), flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    owner = child.stdout.readline().strip()
    cell = Cell(task_id="t", arm="a", repeat=1)

    assert store.claim("exp_1", [cell], owner, 100.0)
    assert not store.claim("exp_1", [cell], owner_name("me"), 100.0)
    child.kill()
    child.communicate(timeout=60)
    assert store.claim("exp_1", [cell], owner_name("me"), 100.0)


def test_of_many_who_claim_at_once_one_wins(store: Store) -> None:
    """Eight threads ask for the same twenty cells: each cell has one owner."""
    won: list[tuple[int, int]] = []

    def work(thread: int) -> None:
        owner = owner_name(str(thread))
        cells = [Cell(task_id="t", arm="a", repeat=repeat) for repeat in range(1, 21)]
        won.extend((cell.repeat, thread) for cell in cells if store.claim("exp_1", [cell], owner, 100.0))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)

    assert sorted(repeat for repeat, _ in won) == list(range(1, 21))


def test_every_scored_run_leaves_one_event_for_each_sink(store: Store) -> None:
    """Events are told in order, to each sink until it has delivered them, and are dropped when all have."""
    for number in range(3):
        store.save(finished(number), scored_at=AT)
    first, second, third = store.pending_events("webhook")
    store.mark_delivered("webhook", [second.seq, first.seq])
    store.mark_delivered("webhook", [first.seq])

    assert first.payload["run_id"] == "run_00000"
    assert first.payload["axes"]["completion"] == 100
    assert [event.seq for event in store.pending_events("webhook")] == [third.seq]
    assert len(store.pending_events("posthog")) == 3
    store.mark_delivered("posthog", [first.seq])
    assert trim_events(store.database, sinks=("webhook", "posthog"), keep=100) == 0
    assert queue_size(store.database) == 2
    assert trim_events(store.database, sinks=("webhook", "posthog"), keep=1) == 1
    assert [event.seq for event in store.pending_events("posthog")] == [third.seq]


def test_experiments_come_back_with_their_frozen_tasks(store: Store) -> None:
    """What was planned is kept exactly: the tasks' sha256 stay true; the same again is fine, another is not."""
    odd = FROZEN_ODD
    store.create_experiment(experiment_of())
    store.create_experiment(experiment_of())
    store.create_experiment(experiment_of("exp_2", tasks=(TASK, odd)))

    assert store.experiment("latest") == experiment_of("exp_2", tasks=(TASK, odd))
    assert store.experiment("exp_1") == experiment_of()
    assert store.task(odd.sha256) == odd
    assert store.last_experiment("/suites/steelyard.yaml") == store.experiment("exp_2")
    assert store.last_experiment("/elsewhere.yaml") is None
    assert [row["id"] for row in store.experiments(workspace="payments")] == ["exp_2", "exp_1"]
    with pytest.raises(ConflictError, match="another experiment exp_1"):
        store.create_experiment(experiment_of(repeats=9))
    store.save(finished(1), scored_at=AT)
    assert json.loads(store.runs()[0]["tags"]) == ["bugfix", "ü"]


FROZEN_ODD = TASK.of(TASK.task.model_copy(update={"id": "odd", "prompt": "NUL \0 and ghp_" + "a1B2" * 9}))


def test_pruning_takes_old_runs_and_the_files_only_they_needed(store: Store, tmp_path: Path) -> None:
    """A dry run removes nothing; then old runs go with their rows, young and shared files stay."""
    store.create_experiment(experiment_of())
    store.save(finished(1, blobs={"diff": b"shared", "stdout": b"old"}), scored_at=AT)
    young: dict[str, Any] = {"finished_at": "2026-03-01T00:00:00Z", "experiment": "exp_2"}
    store.save(finished(2, blobs={"diff": b"shared", "stdout": b"new"}, **young), scored_at=AT)
    later = 4_000_000_000.0

    counted = prune(store.database, "2026-02-01T00:00:00Z", dry_run=True, now=later)
    assert (counted.runs, counted.experiments, counted.artifacts) == (1, 1, 1)
    assert len(store.runs()) == 2
    assert prune(store.database, "2026-02-01T00:00:00Z", dry_run=False, now=later) == counted

    assert [row["run_id"] for row in store.runs()] == ["run_00002"]
    assert len(list((tmp_path / "artifacts").glob("??/*.zst"))) == 2
    assert check(store.database, deep=True).problems == ()
    assert store.artifact(store.run("latest").run.artifacts["diff"]) == b"shared"


def test_pruning_spares_files_of_runs_that_are_being_stored(store: Store) -> None:
    """A file that was touched within the last hour stays, though nobody refers to it yet."""
    store.save(finished(1), scored_at=AT)
    name, _ = store.database.artifacts.put(b"not yet referred to")
    touched = store.database.artifacts.path(name).stat().st_mtime

    assert prune(store.database, AT, dry_run=False, now=touched + GRACE_S - 60).artifacts == 0
    assert prune(store.database, AT, dry_run=False, now=touched + GRACE_S + 60).artifacts == 1
    assert len(store.runs()) == 1


def test_a_backup_brings_everything_back(store: Store, url: str, tmp_path: Path) -> None:
    """What is restored equals what was saved, goes on counting, and can move between kinds of database."""
    store.create_experiment(experiment_of())
    store.set_weights("payments", {"completion": 1, "error_rate": 0, "latency": 0, "resource_efficiency": 0})
    for number in range(3):
        store.save(finished(number, judge=judged()), scored_at=AT)
    backup(store.database, tmp_path / "backup.tar", created_at=AT)
    with pytest.raises(InputError, match="never overwrites"):
        backup(store.database, tmp_path / "backup.tar", created_at=AT)
    with pytest.raises(InputError, match="holds runs already"):
        restore(store.database, tmp_path / "backup.tar")

    with closing(open_store(f"sqlite:///{tmp_path / 'copy.db'}", tmp_path / "copies")) as copy:
        restore(copy.database, tmp_path / "backup.tar")
        assert copy.runs() == store.runs()
        assert [copy.run(f"run_{n:05d}") for n in range(3)] == [store.run(f"run_{n:05d}") for n in range(3)]
        assert copy.experiment("latest") == experiment_of()
        assert check(copy.database, deep=True).problems == ()
        again = copy.save(finished(9), scored_at=AT)
        assert again == store.save(finished(9), scored_at=AT)
    assert url
