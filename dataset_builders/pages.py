"""Finds the page images of papers beside their rows.

Contract: pages lie in a folder `pages/`, one file a page, named PAPER_N.png (or .jpg, .jpeg, .webp), N from 1.
"""

from __future__ import annotations

import re
from pathlib import Path

from livek12.dataset_builders.base import PageKey

_NAME = re.compile(r"(.+)_0*([1-9]\d{0,4})\.(?:png|jpe?g|webp)", re.IGNORECASE)


def find_pages(root: Path) -> dict[PageKey, Path]:
    """The page files below `root/pages` by paper and page number, in that order."""
    found = {}
    for file in sorted((root / "pages").glob("*")):
        if match := _NAME.fullmatch(file.name):
            found[match[1], int(match[2])] = file
    return dict(sorted(found.items()))
