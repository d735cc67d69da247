"""Headers and footers: what stands in the margins of a page and of the pages around it.

Contract: `marked` passes pages on, at most `LOOK` pages late, with lines of headers and footers in blocks of their own
kind. A line is one when it stands in the outer parts of the page and each piece of it comes again, numbers aside, at
the same height on a page near by (in whatever order: left and right pages mirror each other), or when it says that it
is a page number or a notice of copyright.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from livek12.dataset_builders.ingest.blocks import UNREAD, Block, Box, Line, PageBlocks
from livek12.dataset_builders.ingest.points import says_worth

LOOK: Final = 2
TOP: Final = 0.13
BOTTOM: Final = 0.88
_NUMBER: Final = re.compile(
    r"^(?:[\s\-–—·•.|/()（）第页共頁쪽,，。\d]|page|of){0,6}\d{1,4}(?:[\s\-–—·•.|/()（）第页共頁쪽,，\d]|page|of){0,16}$",
    re.IGNORECASE,
)
ASKED: Final = re.compile(
    r"(?:Question|Problem|Q|문항|문제|第)\s*\d{1,3}\s*题?\s*[.:：．]?|\d{1,3}\s*[.．、)）]", re.IGNORECASE
)
"""Numbers a question, on a line of its own: it comes again on the next page with another number."""
_LISTED: Final = re.compile(r"\d{1,3}\s*(?:[)）]|[.．、]\s)\s*\d")
"""A numbered answer that is a number ("16. 2"), as the last line of a short key has it."""
_PAGE_OF: Final = re.compile(r"第\s*\d+\s*[页頁]|共\s*\d+\s*[页頁]|\bpage\s+\d+|^\s*\d+\s*/\s*\d+\s*$", re.IGNORECASE)
_BRACKETED: Final = re.compile(r"[(（]\d{1,2}[)）]")
"""The number of a page where others have one too, else the marks of a part."""
_PAGED: Final = "paged"
"""Among what stands on the pages around: this page has its number at the place where they have theirs."""
_LEVEL: Final = 0.01
"""Of the page's height: what differs by less stands side by side."""
_APART: Final = re.compile(r"\s{3,}|\t")
"""Between the pieces of a line."""
_COPYRIGHT: Final = re.compile(r"저작권|版权|版權|著作权|copyright|©|all rights reserved", re.IGNORECASE)


def marked(pages: Iterable[PageBlocks]) -> Iterator[PageBlocks]:
    """The pages, with headers and footers marked."""
    behind: deque[set[str]] = deque(maxlen=LOOK)
    ahead: deque[tuple[PageBlocks, set[str]]] = deque()
    for page in pages:
        ahead.append((page, _keys(page)))
        if len(ahead) > LOOK:
            yield _first(ahead, behind)
    while ahead:
        yield _first(ahead, behind)


def _first(ahead: deque[tuple[PageBlocks, set[str]]], behind: deque[set[str]]) -> PageBlocks:
    page, keys = ahead.popleft()
    around = set().union(*behind, *(others for _, others in ahead))
    behind.append(keys)
    return _mark(page, around)


def _zone(box: Box) -> str:
    if box.bottom < TOP:
        return "header"
    return "footer" if box.top > BOTTOM else ""


def _line_keys(line: Line) -> set[str]:
    """What stands in a line of the margins, piece by piece; empty elsewhere."""
    zone = _zone(line.box)
    if not zone:
        return set()
    text = re.sub(rf"[\d\t]*{UNREAD}[\d\t{UNREAD}]*", "#", line.text)
    pieces = (re.sub(r"\d+", "#", re.sub(r"\s+", "", piece)) for piece in _APART.split(text))
    return {f"{zone}:{round(line.box.top * 50)}:{piece}" for piece in pieces if piece}


def _near(key: str) -> set[str]:
    zone, at, text = key.split(":", 2)
    return {f"{zone}:{int(at) + step}:{text}" for step in (-1, 0, 1)}


def _keys(page: PageBlocks) -> set[str]:
    keys: set[str] = set()
    for block in page.blocks:
        if block.kind == "figure":
            keys.add(_figure_key(block))
        for line in block.lines:
            keys |= {*_line_keys(line), _page_key(line)}
    keys.discard("")
    return keys


def _figure_key(block: Block) -> str:
    box = block.box
    return f"{_zone(box)}:{round(box.top * 50)}:figure{round(box.right * 20 - box.left * 20)}" if _zone(box) else ""


def _mark(page: PageBlocks, around: set[str]) -> PageBlocks:
    texts = [line for block in page.blocks if block.kind in ("text", "caption", "table") for line in block.lines]
    own = [line for line in texts if not _NUMBER.match(line.text.strip()) and not _kind(line, around, 1.0)]
    ends = max((line.box.top for line in own), default=0.0)
    around = around | {_PAGED} if any(_is_paged(line, around) for line in texts) else around
    blocks: list[Block] = []
    for block in page.blocks:
        if block.kind == "figure":
            key = _figure_key(block)
            again = bool(key) and bool(_near(key) & around) and len(block.text) < 12
            blocks.append(block.model_copy(update={"kind": _zone(block.box)}) if again else block)
        elif block.kind in ("text", "caption"):
            blocks += _parted(block, around, ends)
        else:
            blocks.append(block)
    return page.model_copy(update={"blocks": blocks})


def _is_paged(line: Line, around: set[str]) -> bool:
    """Whether a bare number stands where pages near by have one too."""
    key = _page_key(line)
    return bool(key) and bool(_near(key) & around)


def _page_key(line: Line) -> str:
    """The place of a line that is nothing but a number; "" for others."""
    zone = _zone(line.box)
    return f"{zone}:{round(line.box.top * 50)}:page" if zone and line.text.strip().isdecimal() else ""


def _parted(block: Block, around: set[str], ends: float) -> list[Block]:
    kinds = [_kind(line, around, ends) for line in block.lines]
    if not any(kinds):
        return [block]
    parts: list[Block] = []
    for line, found in zip(block.lines, kinds, strict=True):
        kind = found or block.kind
        if parts and parts[-1].kind == kind:
            last = parts[-1]
            parts[-1] = last.model_copy(update={"lines": [*last.lines, line], "box": last.box.joined(line.box)})
        else:
            parts.append(block.model_copy(update={"kind": kind, "lines": [line], "box": line.box}))
    return parts


def _kind(line: Line, around: set[str], ends: float) -> str:
    """Header or footer, where a line is one.

    A bare number above the end of the text is no page's, nor is one where another has its place on other pages too.
    """
    zone = _zone(line.box)
    text = line.text.strip()
    if not zone or ASKED.fullmatch(text) or _LISTED.match(text) or says_worth(text):
        return ""
    if _COPYRIGHT.search(text) or (len(text) < 40 and _PAGE_OF.search(text)):
        return zone
    keys = _line_keys(line)
    marks = bool(_BRACKETED.fullmatch(text)) and not any(_near(key) & around for key in keys)
    asked = _PAGED in around and text.isdecimal() and not _is_paged(line, around)
    if _NUMBER.match(text) and not marks and not asked and (zone == "header" or line.box.top > ends - _LEVEL):
        return zone
    again = any(len(key.split(":", 2)[2]) > 1 for key in keys) and all(
        key.endswith(":#") or _near(key) & around for key in keys
    )
    return zone if again else ""
