"""Builds the documentation into docs/site: every Markdown page as a plain HTML page that opens from disk."""

import html
import re
import shutil
import sys
from pathlib import Path

from markdown_it import MarkdownIt

DOCS = Path(__file__).parent
SITE = DOCS / "site"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} · Steelyard</title><style>{style}</style></head>
<body><nav>{nav}</nav><main>{body}</main></body></html>
"""
STYLE = """
:root { color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif }
body { max-width: 76rem; margin: 0 auto; padding: 1rem; display: grid; grid-template-columns: 13rem 1fr; gap: 2rem }
nav a { display: block; padding: .1rem 0 } main { min-width: 0; max-width: 52rem }
pre { overflow-x: auto; padding: .8rem; background: color-mix(in srgb, currentColor 8%, transparent) }
table { border-collapse: collapse; display: block; overflow-x: auto } td, th { padding: .3rem .7rem; text-align: left;
  border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); vertical-align: top }
img { max-width: 100% }
@media (max-width: 50rem) { body { display: block } }
"""


def main() -> int:
    """Write every page; broken links between pages are an error."""
    pages = sorted(path for path in DOCS.rglob("*.md") if SITE not in path.parents)
    titles = {path: _title(path) for path in pages}
    renderer = MarkdownIt("commonmark", {"html": False}).enable("table")
    broken = []
    for path in pages:
        text = path.read_text()
        broken += [f"{path.relative_to(DOCS)}: {link}" for link in _broken_links(path, text)]
        target = (SITE / path.relative_to(DOCS)).with_suffix(".html")
        target.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * (len(path.relative_to(DOCS).parts) - 1)
        nav = "".join(
            f'<a href="{up}{page.relative_to(DOCS).with_suffix(".html")}">{html.escape(title)}</a>'
            for page, title in titles.items()
        )
        body = re.sub(r'href="([^":]+?)\.md(#[^"]*)?"', r'href="\1.html\2"', renderer.render(text))
        target.write_text(PAGE.format(title=html.escape(titles[path]), style=STYLE, nav=nav, body=body))
    shutil.copytree(DOCS / "images", SITE / "images", dirs_exist_ok=True)
    for line in broken:
        print(f"broken link: {line}", file=sys.stderr)
    print(f"{len(pages)} pages in {SITE.relative_to(DOCS.parent)}")
    return 1 if broken else 0


def _title(path: Path) -> str:
    first = path.read_text().splitlines()[0]
    return first.lstrip("# ").strip() or path.stem


def _broken_links(path: Path, text: str) -> list[str]:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
    return [link for link in links if not (path.parent / link).exists()]


if __name__ == "__main__":
    raise SystemExit(main())
