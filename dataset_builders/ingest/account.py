"""An account of a paper: what became of each thing that stands on its pages.

Contract: every line, table and picture of every page is counted once: in a question, in the title or instructions of
a section, in the key, or among what is left over, which is listed in words. Ink of which no block was made is left over
too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.blocks import Box, PageBlocks
from livek12.dataset_builders.ingest.drafts import PageAccount
from livek12.dataset_builders.ingest.segment import Body
from livek12.dataset_builders.ingest.stream import Item, Stream

_LONGEST = 100
"""Characters of a line that are shown."""


def accounts(pages: Sequence[PageBlocks], stream: Stream, body: Body, key_read: bool) -> list[PageAccount]:
    """The account of each page.

    Args:
        pages: as they were read.
        stream: what stands on them, in order.
        body: that, taken apart.
        key_read: whether answers were found behind the questions' title of answers.
    """
    asked = _ids(item for found in body.segments for item in (*found.items, *found.passage))
    titles = _ids(item for section in body.sections for item in section.items)
    keys = _ids(body.answers) if key_read else set()
    heads = _ids(stream.titles)
    counts: dict[int, Counter[str]] = {page.number: Counter() for page in pages}
    left: dict[int, list[str]] = {page.number: [] for page in pages}
    for item in (*stream.items, *stream.titles):
        for name, ids in (("questions", asked), ("sections", titles), ("key", keys)):
            if id(item) in ids:
                counts[item.box.page][name] += 1
                break
        else:
            left[item.box.page] += [_said(item)] if id(item) not in heads or item.line is None else []
    for page in pages:
        heads_and_feet = (text for text in stream.headings[page.number] if text.strip())
        left[page.number] += [f"head or foot: {one_line(text, _LONGEST)}" for text in heads_and_feet]
        left[page.number] += [f"drawn, and part of nothing: {_place(box)}" for box in page.loose]
    return [PageAccount(page=number, left=left[number], **own) for number, own in counts.items()]


def _ids(items: Iterable[Item]) -> set[int]:
    return {id(item) for item in items}


def _said(item: Item) -> str:
    text = item.text or item.block.text
    return one_line(text, _LONGEST) if text.strip() else f"a {item.block.kind} {_place(item.box)}"


def _place(box: Box) -> str:
    return f"at {box.left:.0%} from the left and {box.top:.0%} from the top"
