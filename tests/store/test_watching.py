"""Scores by day, drift and trust, kept up with every score."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.domain.score import Scorecard
from steelyard.formulas.trust import TRUSTED_FROM
from steelyard.store.backup import backup, restore
from steelyard.store.database import Store, open_store
from steelyard.store.explore import Question, explore
from steelyard.store.overview import last_day, read_overview
from tests.store.support import AT, finished, judged, scorer

KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A new store of each kind."""
    sqlite = f"sqlite:///{tmp_path / 'steelyard.db'}"
    url = sqlite if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    with open_store(url, tmp_path / "artifacts") as opened:
        yield opened


def save(store: Store, number: int, *, day: int = 1, **changes: Any) -> Scorecard | None:
    """Store a run that finished on a day of January and took as long as all others."""
    moment = f"2026-01-{day:02d}T12:{number % 60:02d}:00Z"
    done = finished(number, blobs={}, **{"finished_at": moment, "wall_s": 10.0, **changes})
    return store.save(done, scored_at=AT)


def bad(store: Store, number: int, *, day: int = 1, **changes: Any) -> None:
    """Store a run that failed: Bronze."""
    save(store, number, day=day, outcome="FAILED", **changes)


def told(store: Store, kind: str) -> list[dict[str, Any]]:
    """What the events of a kind say, in order."""
    return [event.payload for event in store.pending_events("nobody", 10_000) if event.kind == kind]


def test_the_trend_is_what_the_runs_say(store: Store) -> None:
    """Days and arms add up to the scores that were given; failures of ours and other workspaces are left out."""
    cards = [save(store, number, day=1 + number % 3, arm="ab"[number % 2]) for number in range(12)]
    save(store, 90, day=2, workspace="other")
    save(store, 91, day=2, status="failed", outcome="FAILED", error_class="network")

    trend = store.trend("payments", until="2026-01-03", days=2)

    scores = [card.score for card in cards if card is not None]
    assert [day["day"] for day in trend["days"]] == ["2026-01-02", "2026-01-03"]
    assert [day["mean"] for day in trend["days"]] == pytest.approx(
        [sum(scores[day::3]) / 4 for day in (1, 2)], abs=1e-4
    )
    assert [day["runs"] for day in trend["arms"]["a"]] == [2, 2]
    assert sum(trend["days"][0]["tiers"].values()) == 4
    assert store.trend("payments", until="2026-01-03", days=2, arm="b")["arms"].keys() == {"b"}
    assert store.trend("nobody", until="2026-01-03", days=2)["days"] == []
    last = cards[11]
    assert last is not None
    assert trend["days"][1]["baseline_p50_s"] == last.inputs["p50_s"] is not None


def test_a_drift_is_told_once_with_its_interval(store: Store) -> None:
    """A week of failures after a week of successes: one event, with the run that made it certain; then quiet."""
    for number in range(12):
        save(store, number, day=1)
    assert told(store, "agent.score.drifted") == []
    for number in range(12, 40):
        bad(store, number, day=8)

    (event,) = told(store, "agent.score.drifted")
    assert (event["arm"], event["drifted"], event["as_of"]) == ("plain", "down", "2026-01-08")
    assert event["run_id"] == "run_00021", "the tenth run of the week"
    assert event["interval"][1] < 0
    assert (event["this_week"]["runs"], event["last_week"]["runs"]) == (10, 12)
    assert store.drift("payments", as_of="2026-01-08")["arms"]["plain"]["drifted"] == "down"


def test_a_drift_that_lasts_is_told_again_a_week_later(store: Store) -> None:
    """Seven quiet days, then a further fall is news."""
    for number in range(20):
        save(store, number, day=1)
    for number in range(20, 40):
        save(store, number, day=8, outcome="BLOCKED")
    for number in range(40, 60):
        bad(store, number, day=15)

    assert [event["as_of"] for event in told(store, "agent.score.drifted")] == ["2026-01-08", "2026-01-15"]


def test_trust_is_earned_and_lost_by_an_arm(store: Store) -> None:
    """Five good runs in a row earn it, failures of ours between them do not matter, one bad run loses it."""
    for number in range(TRUSTED_FROM):
        save(store, number)
        bad(store, 100 + number, arm="other")
        save(store, 200 + number, status="failed", outcome="FAILED", error_class="network")
    save(store, 50)
    assert store.trust("payments")["arms"]["plain"] == {"streak": 6, "trusted": True}
    bad(store, 60)
    bad(store, 61)

    (earned,), (lost,) = told(store, "agent.trust.earned"), told(store, "agent.trust.lost")
    assert (earned["run_id"], earned["streak"], earned["arm"]) == (f"run_{TRUSTED_FROM - 1:05d}", 5, "plain")
    assert (lost["run_id"], lost["streak"], lost["streak_before"]) == ("run_00060", 0, 6)
    assert store.trust("payments")["arms"]["plain"] == {"streak": 0, "trusted": False}


def test_runs_stored_together_cause_what_they_cause_one_by_one(store: Store, tmp_path: Path) -> None:
    """The same events with the same numbers in the same order, however many runs share a transaction."""
    runs = [
        finished(
            number,
            blobs={},
            arm="ab"[number % 2],
            outcome="FAILED" if 60 <= number < 90 else "COMPLETED",
            finished_at=f"2026-01-{(1, 9, 2, 10)[number // 30]:02d}T12:{number % 60:02d}:00Z",
            wall_s=10.0 + number % 5,
        )
        for number in range(120)
    ]

    with open_store(f"sqlite:///{tmp_path / 'alone.db'}", tmp_path / "artifacts") as alone:
        for run in runs:
            alone.save(run, scored_at=AT)
        for start in range(0, len(runs), 24):
            store.store_runs(runs[start : start + 24], scored_at=AT)
        expected, found = (
            [(event.kind, event.payload) for event in one.pending_events("nobody", 10_000)] for one in (alone, store)
        )
        trends = [one.trend("payments", until="2026-01-10", days=10) for one in (alone, store)]

    assert found == expected
    assert {"agent.run.scored", "agent.trust.earned", "agent.trust.lost", "agent.score.drifted"} == {
        k for k, _ in found
    }
    assert trends[0] == trends[1]


def test_the_same_run_again_causes_nothing_again(store: Store) -> None:
    """Storing a run twice counts once and tells once."""
    for number in [*range(6), *range(6)]:
        save(store, number)

    assert store.trend("payments", until="2026-01-01", days=1)["days"][0]["runs"] == 6
    assert len(told(store, "agent.trust.earned")) == 1


def test_scoring_again_moves_the_day_and_the_trust(store: Store) -> None:
    """A new version takes the place of the old in its day; what it does to trust is told with its version."""
    cards = [save(store, number) for number in range(6)]
    first = cards[5]
    assert first is not None

    assert store.add_score(first.model_copy(update={"score": 20, "tier": "Bronze"}), scored_at=AT) == 2
    (day,) = store.trend("payments", until="2026-01-01", days=1)["days"]
    assert (day["runs"], day["tiers"]["Bronze"]) == (6, 1)
    assert day["mean"] == pytest.approx((sum(c.score for c in cards[:5] if c) + 20) / 6, abs=1e-4)
    (lost,) = told(store, "agent.trust.lost")
    assert (lost["run_id"], lost["version"], lost["streak"]) == ("run_00005", 2, 0)
    store.add_score(first, scored_at=AT)
    assert store.trust("payments")["arms"]["plain"]["streak"] == 6
    assert len(told(store, "agent.trust.earned")) == 2


def test_scores_at_once_are_all_counted(store: Store) -> None:
    """Eight threads in one workspace: the day, the streak and the events are as if they had come one by one."""
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for number in range(8):
                save(store, thread * 100 + number)
        except BaseException as error:  # noqa: BLE001  # told to the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)

    assert failures == []
    assert store.trend("payments", until="2026-01-01", days=1)["days"][0]["runs"] == 64
    assert store.trust("payments")["arms"]["plain"]["streak"] == 64
    assert len(told(store, "agent.trust.earned")) == 1


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_clock_that_is_far_off_breaks_nothing(store: Store, moment: str) -> None:
    """A run from the first or the last day there is counts on that day."""
    store.save(finished(1, finished_at=moment, started_at=moment), scored_at=AT)

    assert store.trend("payments", until=moment[:10], days=366)["days"][0]["runs"] == 1
    assert store.drift("payments", as_of=moment[:10])["this_week"]["runs"] == 1


def test_a_backup_holds_events_sinks_and_days(store: Store, tmp_path: Path) -> None:
    """What waited for a sink waits for it after a restore, and trend, trust and counting go on."""
    for number in range(6):
        save(store, number)
    assert store.take_sink("sink", "token", 0.0)
    waiting = store.pending_events("sink")
    store.settle("sink", [event.seq for event in waiting[:4]], at=AT)
    backup(store.database, tmp_path / "backup.tar", created_at=AT)

    with open_store(f"sqlite:///{tmp_path / 'copy.db'}", tmp_path / "copies") as copy:
        restore(copy.database, tmp_path / "backup.tar")
        assert copy.pending_events("sink") == waiting[4:]
        assert copy.trust("payments") == store.trust("payments")
        asked: dict[str, Any] = {"until": "2026-01-01", "days": 9}
        assert copy.trend("payments", **asked) == store.trend("payments", **asked)
        assert [state.delivered for state in copy.sink_states(0.0)] == [4]
        save(copy, 7)
        assert copy.pending_events("sink")[-1].seq > waiting[-1].seq
        assert copy.trust("payments")["arms"]["plain"]["streak"] == 7


def test_the_overview_tells_each_workspace_what_its_trend_does(store: Store) -> None:
    """By name and in pages; a week against the week before; a workspace without scores is there too."""
    for number in range(24):
        save(store, number, day=1 + number % 2 * 10, arm="ab"[number % 3 == 0])
    save(store, 90, day=2, workspace="other")
    store.set_weights("silent", {"completion": 1, "error_rate": 0, "latency": 0, "resource_efficiency": 0})

    rows = read_overview(store.database, None, until="2026-01-11", days=30)

    assert [row["workspace"] for row in rows] == ["other", "payments", "silent"]
    found = rows[1]
    trend = store.trend("payments", until="2026-01-11", days=30)
    assert found["days"] == trend["days"]
    assert (found["runs"], found["arms"], found["last_day"]) == (24, 2, "2026-01-11")
    drift = store.drift("payments", as_of="2026-01-11")
    assert found["drift"] == {name: drift[name] for name in found["drift"]}
    assert (rows[2]["runs"], rows[2]["mean"], rows[2]["last_day"]) == (0, None, None)
    assert read_overview(store.database, "payments", until="2026-01-11", days=30) == [found]
    later = read_overview(store.database, None, until="2026-01-11", days=1, after="other", limit=1)
    assert [(row["workspace"], row["runs"]) for row in later] == [("payments", 12)]
    assert last_day(store.database, "payments") == "2026-01-11"
    assert last_day(store.database, "nobody") is None
    assert store.has_workspace("silent")
    assert not store.has_workspace("nobody")


def test_runs_are_sorted_by_a_composite_that_follows_the_judge(store: Store) -> None:
    """The stored composite is the formula's, and a later verdict changes it."""
    save(store, 1, scorers=(scorer("PASS"), scorer("FAIL", name="other")))
    save(store, 2, scorers=(scorer("PASS"),))
    question = Question(sort="composite", ascending=True)
    first = [(row["run_id"], row["composite"]) for row in explore(store.database, question).rows]
    store.add_judgement("run_00002", judged("FAIL", task_completion=1, instruction_adherence=1, efficiency=1))
    after = [(row["run_id"], row["composite"]) for row in explore(store.database, question).rows]

    assert first == [("run_00001", 0.5), ("run_00002", 1.0)]
    assert after == [("run_00001", 0.5), ("run_00002", 0.6)]
