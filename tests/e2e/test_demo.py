"""The demo: the main job, end to end."""

from tests.e2e.conftest import Shop


def test_the_demo_ends_in_a_verdict_and_names_the_cheater(shop: Shop) -> None:
    """Every arm runs, each trick of the shortcut arm is caught by its scorer, and a report is written."""
    done = shop.steelyard("demo", "--repeats", "1", "--sandbox", "local")

    assert done.returncode in {0, 1}, done.stderr
    for words in (
        "caught: shortcut on slugs: no new skips",
        "caught: shortcut on durations: assertions kept",
        "caught: shortcut on word-count: frozen tests",
        "candidate against baseline",
    ):
        assert words in done.stdout
    assert "caught: candidate" not in done.stdout
    assert "caught: baseline" not in done.stdout
    page = (shop.root / ".steelyard" / "demo.html").read_text()
    assert "<html" in page
    assert 'src="http' not in page
