"""Screenshots of the pages for the documentation: a demo store, a real server, the installed Chromium.

python tools/screenshots.py docs/images
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

PAGES = {
    "runs": "/runs?workspace=demo",
    "disagreements": "/runs?workspace=odd&disagree=1",
    "run": "/runs/run_rich",
    "diff": "/runs/run_rich/diff?view=split",
    "experiment": "/experiments/exp_mixed",
    "compare": "/compare?experiment=exp_mixed",
}


def main(folder: Path) -> None:
    """Write one picture a page in light and in dark, and the list as a telephone shows it."""
    from playwright.sync_api import sync_playwright
    from tests.web.pages.world import make_world
    from tests.web.server import serving

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="steelyard-shots-") as scratch, sync_playwright() as driver:
        home = Path(scratch, "home")
        make_world(home)
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        with serving(home) as served:
            for scheme in ("light", "dark"):
                for name, address in PAGES.items():
                    shoot(browser, served.url + address, folder / f"{name}-{scheme}.png", (1200, 760), scheme)
            for name in ("runs", "compare"):
                shoot(browser, served.url + PAGES[name], folder / f"{name}-narrow.png", (375, 700), "light")
        browser.close()


def shoot(browser: object, address: str, path: Path, size: tuple[int, int], scheme: str) -> None:
    """One picture, without what changes from one time to the next."""
    width, height = size
    context = browser.new_context(  # type: ignore[attr-defined]  # a Playwright browser
        viewport={"width": width, "height": height}, color_scheme=scheme, timezone_id="UTC", reduced_motion="reduce"
    )
    tab = context.new_page()
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]")
    tab.screenshot(path=path)
    context.close()
    print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "images"))
