"""Screenshots of the pages for the documentation: a store that is the same every time, a real server, Chromium.

python tools/screenshots.py docs/images
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

CHROMIUM = Path("/usr/bin/chromium")
SIZE = (1120, 720)
PAGES = {
    "runs": "/runs?workspace=watched&cols=task,arm,status,objective,judge,score,composite,cost,tokens,duration",
    "disagreements": "/runs?workspace=odd&disagree=1",
    "run": "/runs/run_rich",
    "diff": "/runs/run_rich/diff?view=split",
    "stages": "/runs/run_rich/stages",
    "files": "/runs/run_rich/files",
    "workspaces": "/workspaces?until=2026-01-28",
    "workspace": "/workspaces/watched?until=2026-01-28",
    "scenarios": "/scenarios",
    "scenario": "/scenarios/calc-fix?workspace=odd",
    "tokens": "/tokens",
    "experiments": "/experiments",
    "experiment": "/experiments/exp_mixed",
    "compare": "/compare?experiment=exp_mixed",
}
NARROW = ("runs", "compare")


def main(folder: Path) -> None:
    """Write one picture a page in light and in dark, and some as a telephone shows them."""
    if not CHROMIUM.exists():
        print(f"screenshots: skipped, there is no {CHROMIUM}; the pictures in {folder} stay as they are")
        return
    from playwright.sync_api import sync_playwright
    from tests.web.pages.world import add_shown
    from tests.web.server import serving

    from steelyard.store.database import open_store

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="steelyard-shots-") as scratch, sync_playwright() as driver:
        home = Path(scratch, "home")
        with open_store(f"sqlite:///{home / 'steelyard.db'}", home / "artifacts") as store:
            add_shown(store)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        with serving(home) as served:
            for scheme in ("light", "dark"):
                for name, address in PAGES.items():
                    shoot(browser, served.url + address, folder / f"{name}-{scheme}.png", SIZE, scheme)
            for name in NARROW:
                shoot(browser, served.url + PAGES[name], folder / f"{name}-narrow.png", (375, 700), "light")
        browser.close()
    print(f"screenshots: {len(PAGES) * 2 + len(NARROW)} pictures in {folder}")


def shoot(browser: Any, address: str, path: Path, size: tuple[int, int], scheme: str) -> None:
    """One picture, without what changes from one time to the next."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, timezone_id="UTC", reduced_motion="reduce"
    )
    tab = context.new_page()
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]")
    tab.screenshot(path=path)
    context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "images"))
