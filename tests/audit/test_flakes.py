"""Checks that do not always say the same: named, and put into quarantine when asked for."""

from pathlib import Path

from steelyard.suites.load import load_suite
from tests.audit.support import calculator, suite
from tests.e2e.conftest import Shop

# Fails every other time that it is run: it counts in a file outside of the sandbox's tree.
COIN = (
    """- {{name: coin, type: command, command: "echo x >> {log}; test $(($(wc -l < {log}) % 2)) = 0"}}  # a flaky one"""
)


def flaky(shop: Shop) -> None:
    """A suite with one check that is right and one that is luck."""
    calculator(shop)
    shop.write("suite.yaml", "# my suite\n" + suite(COIN.format(log=shop.root / "log")))


def test_a_flaky_check_is_named_with_its_counts(shop: Shop) -> None:
    """Baseline and reference are run so many times each; the check that is sure of itself is not named."""
    flaky(shop)
    words = ("--cheat", "nop", "--cheat", "reference", "--flakes", "4", "--jobs", "1", "--sandbox", "local")

    document = shop.json("audit", "suite.yaml", *words, code=1)

    found = {(one["name"], one["on"]): (one["passed"], one["failed"]) for one in document["tasks"][0]["flaky"]}
    assert found == {("coin", "baseline"): (2, 2), ("coin", "reference"): (2, 2)}
    assert document["tasks"][0]["reference"]["detail"].startswith("2 of 4 times")
    assert document["quarantined"] == {}


def test_the_quarantine_is_written_and_then_trusted(shop: Shop) -> None:
    """Every other byte of the file stays; with the flaky check out of the way the audit is sound."""
    flaky(shop)
    before = (shop.root / "suite.yaml").read_text()
    words = ("--cheat", "nop", "--cheat", "reference", "--flakes", "4", "--jobs", "1", "--sandbox", "local")

    document = shop.json("audit", "suite.yaml", *words, "--write-quarantine", code=1)
    again = shop.steelyard("audit", "suite.yaml", *words)

    assert document["quarantined"] == {"calc": ["coin"]}
    after = (shop.root / "suite.yaml").read_text()
    assert after == before.replace("  - id: calc\n", "  - id: calc\n    quarantine: [coin]\n")
    assert load_suite(shop.root / "suite.yaml").tasks[0].quarantine == ("coin",)
    assert again.returncode == 0, again.stdout
    assert "flaky" not in again.stdout


def test_a_run_shows_the_quarantine_and_counts_nothing_of_it(shop: Shop, tmp_path: Path) -> None:
    """A scorer in quarantine fails without failing the run or its mean; a stage in quarantine does not run."""
    shop.write("seed/a.txt", "a\n")
    shop.write(
        "suite.yaml",
        "tasks:\n  - id: one\n    seed: {directory: seed}\n    prompt: Do it.\n    quarantine: [bad, gate]\n"
        "    stages: [{name: gate, command: 'exit 1'}]\n"
        "    scorers:\n      - {name: good, type: command, command: 'true'}\n"
        "      - {name: bad, type: command, command: 'exit 1'}\n"
        "arms: {idle: {agent: command, command: 'echo b > a.txt'}}\n",
    )

    run = shop.json("run", "suite.yaml", "--judge", "none", "--sandbox", "local")["runs"][0]
    shown = shop.steelyard("show", run["run_id"]).stdout

    assert (run["overall"], run["outcome"], run["mean_score"]) == ("PASS", "COMPLETED", 1.0)
    assert [(one["name"], one["verdict"], one["quarantined"]) for one in run["scorers"]] == [
        ("good", "PASS", False),
        ("bad", "FAIL", True),
    ]
    assert "FAIL bad [command] (quarantined)" in shown
