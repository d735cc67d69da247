"""Owners of ink: each line and picture is of one question, of a section's title or of the key, or is left over.

Contract: `accounts` counts everything once, page by page; the checks doubt the questions beside what is left over or
stands in two places.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from livek12.core.languages import HANGUL, IDEOGRAPHS
from livek12.core.text import squeezed
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Draft, PageAccount
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.ingest.paper_reading import Breach, PaperReading
from livek12.dataset_builders.ingest.printed_counts import VOLUME
from livek12.dataset_builders.ingest.questions.headings import (
    INSTRUCTS,
    is_notice,
    is_part_of_section,
    is_running,
    speaks_of_exam,
    width,
)
from livek12.dataset_builders.ingest.questions.kinds import asks, section_type
from livek12.dataset_builders.ingest.questions.stream import ENDS, Item, names_of

_FEWEST_TOLD: Final = 40
"""Letters below a title that are more than instructions."""
_BRACKETED = re.compile(r"[(（\[][^()（）\[\]]{0,60}[)）\]]")
_LEVEL_SHARE: Final = 0.5
_CLOSE: Final = 0.015
"""Of the page."""
_UNUSED: Final = 0.03
"""Share of a page that a picture takes which is more than an ornament."""
_LONGEST = 100
"""Characters of a line that are shown."""
_RUNNING_TEXT = re.compile(
    rf"(?:[A-Za-z]{{2,}}[ ,]+){{3}}[A-Za-z]{{2,}}|[{IDEOGRAPHS}{HANGUL}][{IDEOGRAPHS}{HANGUL}，、 ]{{7,}}"
)


def accounts(reading: PaperReading, drafts: Sequence[Draft]) -> list[PageAccount]:
    """Accounts of the pages; of the key is what an answer of these drafts has."""
    pages, stream, body = reading.pages, reading.stream, reading.body
    key = squeezed(" ".join(text for draft in drafts for text in (*draft.answer, draft.solution or "")))
    answers, heads, owners = ids_of(body.answers), ids_of(stream.titles), body.owners
    counts: dict[int, Counter[str]] = {page.number: Counter() for page in pages}
    left: dict[int, list[str]] = {page.number: [] for page in pages}
    for item in (*stream.items, *stream.titles):
        owner = owners.get(id(item))
        if owner is not None and (id(item) not in answers or (key and _is_in(key, item))):
            name = "key" if id(item) in answers else "questions" if owner >= 0 else "sections"
            counts[item.box.page][name] += 1
        elif id(item) not in heads or item.line is None:
            left[item.box.page].append(_said(item))
    for page in pages:
        heads_and_feet = (text for text in stream.headings[page.number] if text.strip())
        left[page.number] += [f"head or foot: {one_line(text, _LONGEST)}" for text in heads_and_feet]
        left[page.number] += [f"drawn, and part of nothing: {_place(box)}" for box in page.loose]
    return [PageAccount(page=number, left=left[number], **own) for number, own in counts.items()]


def _is_in(key: str, item: Item) -> bool:
    runs = _RUNNING_TEXT.findall(item.text)
    return 2 * sum(squeezed(run) in key for run in runs) >= len(runs)


def ids_of(items: Iterable[Item]) -> set[int]:
    """The identities of items."""
    return {id(item) for item in items}


def _said(item: Item) -> str:
    text = item.text or item.block.text
    return one_line(text, _LONGEST) if text.strip() else f"a {item.block.kind} {_place(item.box)}"


def _place(box: Box) -> str:
    return f"at {box.left:.0%} from the left and {box.top:.0%} from the top"


def ink_has_an_owner(reading: PaperReading) -> Iterator[Breach]:
    """Text that is in no question is not needed by one."""
    body, owners = reading.body, reading.body.owners
    front = {*map(id, body.front)} | {id(item) for item in reading.stream.titles if item.box.page == 1}
    end = max((page.number for page in reading.pages), default=0)
    notices = {(item.box.page, item.column) for item in reading.stream.items if is_notice(item.text)}
    last = 0
    groups: dict[tuple[int, bool], list[Item]] = {}
    for item in sorted((*reading.stream.titles, *reading.stream.items), key=lambda item: item.box.page):
        last = max(last, owners.get(id(item), last))
        noticed = item.box.page == end and (end, item.column) in notices
        if id(item) not in owners and not noticed:
            groups.setdefault((last, id(item) in front), []).append(item)
    first = min((item.box.page for segment in body.segments for item in segment.items), default=0)
    terms = _terms("\n".join(draft.markdown for draft in reading.drafts))
    for (place, before), items in groups.items():
        texts = [item.text for item in items]
        if before and 2 * len(_needed(texts)) < len(_sentences(texts)):
            continue  # rules
        near = [item.text for item in items if item.box.page > 1 or item.box.page == first or not before]
        beyond = [line for line in _needed(near) if not before or asks(line.replace("_", "")) or _terms(line) & terms]
        if sum(map(width, beyond)) >= _FEWEST_TOLD:
            where = "before the first question" if before else "between questions"
            text = f"text {where} is in none, and they may need it: {one_line(beyond[0], 40)!r}"
            yield Breach(text, (place,) if reading.drafts else (), "text", 0.3, error=True)
    for section in body.sections:
        own = [place for place, segment, _ in reading.pairs if segment.section is section and not segment.passage]
        named = section_type(section.title)
        says = bool(_needed([item.text for item in section.items]))
        more = says or any("$" in item.text for item in section.items[1:])
        more = more or (not named and any(item.line is None for item in section.items))
        if own and more:
            text = f"what stands above it may be its own text: {one_line(section.own, 60)!r}"
            yield Breach(text, (*([own[0] - 1] if own[0] and says else []), own[0]), "text", 0.3, error=True)


def sections_have_questions(reading: PaperReading) -> Iterator[Breach]:
    """A section without questions or parts is a question itself, or lost them."""
    sections = reading.body.sections
    numbers = {id(segment.section): place for place, segment, _ in reading.pairs}
    last = -1
    for place, section in enumerate(sections):
        last = numbers.get(id(section), last)
        parted = any(is_part_of_section(other.title) for other in sections[place + 1 : place + 2])
        title = _BRACKETED.sub("", section.title)
        running = last >= 0 and is_running(title) and not speaks_of_exam(title)
        says = running or sum(len(item.text) for item in section.items[1:]) >= _FEWEST_TOLD or section is sections[-1]
        own = running or not VOLUME.match(section.title) or _needed([item.text for item in section.items[1:]])
        if id(section) not in numbers and says and not parted and own:
            text = f"section {one_line(section.title, 40)!r} has no question: it may be one"
            yield Breach(text, (last,) if last >= 0 else (), "number", 0.3, error=True)


def _terms(text: str) -> set[str]:
    """Long Latin words, Korean words and pairs of Chinese letters of a text."""
    pairs = (a + b for a, b in pairwise(text) if "一" <= a <= "鿿" and "一" <= b <= "鿿")
    return {*pairs, *re.findall(r"[a-zà-ɏ]{6,}|[가-힣]{2,}", text.lower())}


def _needed(lines: Sequence[str]) -> list[str]:
    """Sentences that are no instructions."""
    return [sentence for sentence in _sentences(lines) if not INSTRUCTS.search(sentence)]


def _sentences(lines: Sequence[str]) -> list[str]:
    text = re.sub(r"(?<=[一-鿿])\n(?=[一-鿿])", "", "\n".join(lines)).replace("\n", " ")
    sentences = re.split(r"(?<=[。.!?？！；;:：)）])\s+|(?<=[。！？；])|\s+(?=[•●▪◦♨※])", _BRACKETED.sub("", text))
    return list(filter(is_running, sentences))


def pictures_have_one_question(reading: PaperReading) -> Iterator[Breach]:
    """A picture covers no line and no other picture, and stands level with its own question."""
    places = {id_: place for id_, place in reading.body.owners.items() if place >= 0}
    by_page: dict[int, list[Item]] = {}
    for item in reading.stream.items:
        by_page.setdefault(item.box.page, []).append(item)
    doubted: set[int] = set()
    for item in reading.stream.items:
        place = places.get(id(item), -1)
        named = any(map(str.isdecimal, names_of(item.block.caption)))
        if item.block.kind != "figure" or item.line or place < 0 or named:
            continue
        others = [other for other in by_page[item.box.page] if other is not item]
        covered = [other for other in others if _covers(item.box, other)]
        column = [other for other in others if other.line and other.column == item.column]
        beside = [other for other in column if _level_with(item.box, other.box) > _LEVEL_SHARE]
        foreign = {places[id(other)] for other in beside if places.get(id(other), place) != place}
        own = any(places.get(id(other), -1) == place for other in beside)
        if covered:
            foreign = {places.get(id(other), place) for other in covered if not ENDS.search(other.text)}
            other = one_line(covered[0].text or "a picture", 40)
            text = f"its picture and something else stand in one place: {other!r}"
        elif foreign and not own:
            text = "its picture stands beside another question"
        else:
            continue
        yield Breach(text, tuple({place, *foreign} - doubted), "figure", 0.3)
        doubted |= {place, *foreign}


def pictures_are_used(reading: PaperReading) -> Iterator[Breach]:
    """A big picture right above a question is in one, or in the title of a section."""
    owners = reading.body.owners
    for item, below in pairwise(reading.stream.items):
        big = item.line is None and item.block.kind == "figure" and item.box.area > _UNUSED
        place = owners.get(id(below), -1)
        if big and id(item) not in owners and place >= 0:
            text = f"a picture on page {item.box.page} is in no question: it may belong to this one"
            yield Breach(text, (place,), "figure")


def _covers(box: Box, other: Item) -> bool:
    """A line in a picture, or a picture that overlaps or adjoins it."""
    if other.line is None:
        return other.block.kind == "figure" and _adjoin(box, other.box)
    x, y = (other.box.left + other.box.right) / 2, (other.box.top + other.box.bottom) / 2
    return box.left < x < box.right and box.top < y < box.bottom


def _level_with(box: Box, line: Box) -> float:
    """Share of a line that is level with a picture."""
    return (min(box.bottom, line.bottom) - max(box.top, line.top)) / max(line.bottom - line.top, 1e-6)


def _adjoin(box: Box, other: Box) -> bool:
    """Pictures that overlap, or stand one below the other with next to nothing between them."""
    down = max(box.top, other.top) - min(box.bottom, other.bottom)
    across = max(box.left, other.left) - min(box.right, other.right)
    return box.page == other.page and ((down < 0 and across < 0) or (down < _CLOSE and across < -_CLOSE))
