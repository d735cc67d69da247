"""Pictures of a key: each is a private letter in the texts of entries, so that it moves with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from livek12.core.records import IMAGE_MARK, Image
from livek12.dataset_builders.ingest.drafts import Draft, Figure
from livek12.dataset_builders.ingest.keys.matching import with_doubt
from livek12.dataset_builders.ingest.keys.words import LETTER
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, UNREAD, Block, Line
from livek12.dataset_builders.ingest.questions.stream import Item, Stream
from livek12.dataset_builders.ingest.questions.texts import harmless, is_empty, table

_FIRST: Final = 0xF0000
"""The letter of the first picture."""
_COMPARE: Final = "its solution has pictures: compare it with the key"


class KeyPictures:
    """The pictures of a paper's keys, by their letters."""

    def __init__(self) -> None:
        self._blocks: dict[str, Block] = {}
        self._apart: set[str] = set()  # those that are lines

    def lettered(self, stream: Stream) -> Stream:
        """A stream with letters for pictures; one outside lines is a line."""
        items = (item for item in stream.items if item.line or not is_empty(item.block.picture or b""))
        return replace(stream, items=[*map(self._item, items)])

    def _item(self, item: Item) -> Item:
        if item.line:
            return replace(item, line=self._line(item.line))
        if table(item.block) or not item.block.picture:
            return replace(item, block=replace(item.block, lines=[*map(self._line, item.block.lines)]))
        letter = self._letter(item.block)
        self._apart |= {letter} - {UNREAD}
        return replace(item, line=Line(text=letter, box=item.box))

    def _line(self, line: Line) -> Line:
        text = harmless(LETTER.sub(UNREAD, line.text))
        for picture in line.pictures:
            text = text.replace(PICTURE, self._letter(Block(kind="figure", box=line.box, picture=picture)), 1)
        return replace(line, text=text, pictures=[])

    def _letter(self, block: Block) -> str:
        letter = chr(_FIRST + len(self._blocks))
        if not LETTER.match(letter):
            return UNREAD
        self._blocks[letter] = block
        return letter

    def placed(self, draft: Draft, pictures: dict[str, Image]) -> Draft:
        """A draft with figures for its solution's letters; others are □."""
        solution = draft.solution or ""
        if letters := LETTER.findall(solution):
            own = figures_of([*map(self._blocks.__getitem__, letters)], f"{draft.id}-solution", pictures, placed=False)
            apart = re.compile(rf"[ \t]*\n?([{''.join(self._apart)}])[ \t]*\n?" if self._apart else r"(?!)")
            lines = "\n".join(filter(None, apart.split(solution)))
            changes = {"solution": LETTER.sub(IMAGE_MARK, lines), "solution_figures": own}
            draft = with_doubt(draft.model_copy(update=changes), "answer", _COMPARE, 0.5)
        elif solution.count(IMAGE_MARK) != len(draft.solution_figures):
            draft = draft.model_copy(update={"solution": solution.replace(IMAGE_MARK, UNREAD), "solution_figures": []})
        return without_letters(draft)


def without_letters(draft: Draft) -> Draft:
    """A draft with □ for private letters, of whatever source."""
    text = draft.model_dump_json()
    return Draft.model_validate_json(LETTER.sub(UNREAD, text)) if LETTER.search(text) else draft


def figures_of(blocks: Sequence[Block], stem: str, pictures: dict[str, Image], placed: bool = True) -> list[Figure]:
    """Figures of blocks; `pictures` gets theirs."""
    figures = []
    for place, block in enumerate(blocks, 1):
        if block.picture:
            name = f"{stem}-{place}.{_suffix(block.picture)}"
            pictures[name] = Image(bytes=block.picture, path=name)
            figures.append(Figure(name=name, box=block.box if placed else None, caption=block.caption))
    return figures


def _suffix(picture: bytes) -> str:
    return "jpg" if picture.startswith(b"\xff\xd8") else "webp" if picture[8:12] == b"WEBP" else "png"
