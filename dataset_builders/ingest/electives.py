"""The parts of a paper that its pages name: elective parts, and forms of one paper in one file.

Contract: each page is of one part, or of none; a name is believed on a title line or on two pages running.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.stream import Stream

_PART_NAME = re.compile(r"[(（〔]\s*([^()（）〔〕]{2,24}?)\s*[)）〕]")
_NO_NAME = re.compile(
    r"[홀짝]수형?|[A-Z가나]형|제?\d*교시|[AB]卷|共.*|.*[:：?？].*|\d.*|.*\d+(?:분|점|分|p)|.{0,2}回忆版|[a-z]{1,3}|[가나다라마]"
)
_FORM = re.compile(r"(?<![가-힣])(홀수|짝수)\s*형|[(（]\s*([AB])\s*[)）]?\s*(?:형|卷)")
_TITLE_PAGE = re.compile(r"교시|영역|문제지|시험|卷|部分|\bpaper\b|\bsection\b", re.IGNORECASE)
_LONGEST_HEADING = 50
TOP = 0.2
"""The part of a page, from above, in which its part of the paper is named."""


def parts(stream: Stream) -> Mapping[int, str]:
    """The name of the part of the paper that each page belongs to, "" where there is none.

    An elective part is named in brackets at the top of its pages, or of its first where that is set as a title page; it
    goes on to the next part's. The only name of a paper that stands on its first page is its subject, no part. Where
    a file holds several forms of one paper (홀수형, 짝수형), the form's name goes first.
    """
    forms = _forms(stream)
    several = len({*forms.values()}) > 1
    begins = _begins(stream)
    pages = sorted(stream.headings)
    if len({*begins.values()}) == 1 and begins.get(pages[0]):
        begins = {}
    found, name = {}, ""
    for place, page in enumerate(pages):
        if place and forms[page] != forms[pages[place - 1]]:
            name = ""
        name = begins.get(page, name)
        found[page] = " ".join(word for word in (forms[page] if several else "", name) if word)
    return found


def _begins(stream: Stream) -> dict[int, str]:
    """The pages that name a part: on a title line, or on two pages running."""
    pages = sorted(stream.headings)
    named = {page: _names(stream, page) for page in pages}
    everything = squeezed("".join(text for page in pages for text in _texts(stream, page)))
    found: dict[int, str] = {}
    for page in pages:
        titled = {name for name, _ in named[page]} if any(title for _, title in named[page]) else set()
        near = {name for other in (page - 1, page + 1) for name, _ in named.get(other, ())}
        running = {name for name, _ in named[page]} & near
        if names := titled or running:  # a title printed over another line reads as no name that comes again
            found[page] = max(sorted(names), key=lambda name: (everything.count(f"({squeezed(name)})"), -len(name)))
    return found


def _forms(stream: Stream) -> dict[int, str]:
    """The form each page is of; a page that does not say is of the form before it."""
    found: dict[int, str] = {}
    last = ""
    for page in sorted(stream.headings):
        names = [match for text in _headings(stream, page) for match in _FORM.finditer(text)]
        if names:
            last = f"{names[0][1]}형" if names[0][1] else names[0][2]
        found[page] = last
    return found


def _texts(stream: Stream, page: int) -> list[str]:
    items = (item for item in (*stream.titles, *stream.items) if item.box.page == page)
    return [*stream.headings[page], *(item.text or item.block.text for item in items)]


def _headings(stream: Stream, page: int) -> list[str]:
    """What is printed at the top of a page, or was left out there as a header."""
    items = [*stream.titles, *stream.items]
    top = [item.text or item.block.text for item in items if item.box.page == page and item.box.bottom < TOP]
    lines = [line for text in (*stream.headings[page], *top) for line in text.split("\n")]
    return [line for line in lines if len(line) <= _LONGEST_HEADING]


def _names(stream: Stream, page: int) -> set[tuple[str, bool]]:
    """The names in brackets at the top of a page, and whether their line is that of a title page."""
    found = set()
    for text in _headings(stream, page):
        for match in _PART_NAME.finditer(text):
            name = " ".join(match[1].split())
            if name[:1].isalpha() and not _NO_NAME.fullmatch(squeezed(name)):
                found.add((name, bool(_TITLE_PAGE.search(text))))
    return found
