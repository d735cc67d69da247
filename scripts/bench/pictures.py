"""The pictures of the site and of the graded paper in README and docs, from real runs.

`python scripts/bench/pictures.py --runs FOLDER --demo DEMO --out docs/images` photographs pages in a Chromium: the site
of the run folders in FOLDER (the nine recorded models of `results.py --runs FOLDER`, whose questions carry no licence,
so that only their marks are shown), and report and site of DEMO, which `livek12 demo --out DEMO` made.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path
from typing import Any

WIDTH = 1280
COLOURS = 64


def photograph(browser: Any, address: str, target: Path, wait: str, of: str, height: int | None = None) -> None:
    """One element of a page as a small PNG.

    Args:
        browser: Playwright's.
        address: of the page.
        target: the file.
        wait: the selector that is there once the page is whole.
        of: the selector of what is photographed.
        height: of the picture at most, in pixels.
    """
    from PIL import Image

    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
    page.goto(address)
    page.wait_for_selector(wait)
    page.wait_for_timeout(500)
    with Image.open(io.BytesIO(page.locator(of).first.screenshot())) as taken:
        whole = taken.convert("RGB")
    shown = whole.crop((0, 0, whole.width, min(whole.height, height or whole.height)))
    shown.quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
    page.close()


def main() -> None:
    """Takes the pictures."""
    from playwright.sync_api import sync_playwright

    from livek12.dataset_builders.publishing.showing import refusal
    from livek12.evaluation.site.making import SiteWishes, make_site
    from livek12.report.pdf import find_browser

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, help="run folders of recorded models")
    parser.add_argument("--demo", type=Path, help="what `livek12 demo` made")
    parser.add_argument("--out", type=Path, required=True, help="where the pictures go")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
        if said.runs:
            runs = sorted(file.parent for file in said.runs.glob("*/run.json"))
            make_site(runs, Path(scratch), SiteWishes(refuses=refusal))
            nine = (Path(scratch) / "index.html").as_uri()
            photograph(browser, f"{nine}#/board", said.out / "site-board.png", "table.single", "main", 860)
            photograph(browser, f"{nine}#/heat", said.out / "site-heat.png", ".heat-box", "main", 470)
        if said.demo:
            site, report = ((said.demo / name).resolve().as_uri() for name in ("site/index.html", "run/report.html"))
            photograph(browser, f"{site}#/board", said.out / "site-demo.png", "table.board", "main", 420)
            photograph(browser, report, said.out / "graded-scan.png", ".scan", ".scan", 1100)
        browser.close()


if __name__ == "__main__":
    main()
