"""What vision-language models that read documents are asked, and the forms they answer in.

Contract: a reply is data: it is read in its model's documented form, strictly and in linear time, or `Unreadable` is
raised; nothing in it is guessed, mended or run. Sources: mineru-vl-utils (MinerU2.5: layout records, OTSL tables), the
model cards and vLLM recipes of PaddleOCR-VL (prompts by element, OTSL tables) and of GLM-OCR (prompts, HTML tables).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from livek12.core.errors import UserError
from livek12.core.replies import Unreadable, glimpse
from livek12.dataset_builders.ingest.blocks import Kind
from livek12.dataset_builders.ingest.mineru import table_rows

Element = Literal["text", "table", "formula"]
MAX_TEXT: Final = 20_000
"""Characters of one element; a page of print has about 5,000."""
MAX_REGIONS: Final = 1000
_RECORD: Final = re.compile(
    r"<\|box_start\|>(\d{1,4}) (\d{1,4}) (\d{1,4}) (\d{1,4})<\|box_end\|><\|ref_start\|>(\w{1,40})<\|ref_end\|>"
    r"(?:<\|rotate_(up|right|down|left)\|>)?(?:<\|txt_contd_tgt\|>|<\|txt_contd\|>)?\s*"
)
_DEGREES: Final = {"up": 0, "right": 90, "down": 180, "left": 270, None: 0}
_KINDS: Final[dict[str, Kind | None]] = {
    **dict.fromkeys(
        ("text", "title", "doc_title", "paragraph_title", "list_item", "ref_text", "index", "phonetic", "code",
         "algorithm", "formula_number"), "text"
    ),
    "table": "table", "equation": "formula",
    **dict.fromkeys(("image", "chart", "image_block", "unknown"), "figure"),
    **dict.fromkeys(
        ("table_caption", "image_caption", "code_caption", "caption", "table_footnote", "image_footnote", "footnote"),
        "caption",
    ),
    **dict.fromkeys(("header", "aside_text"), "header"),
    **dict.fromkeys(("footer", "page_number", "page_footnote"), "footer"),
    **dict.fromkeys(("list", "equation_block", "inline_formula"), None),
}  # fmt: skip
"""Of MinerU2.5; None: what is in it is listed by itself."""
_OTSL: Final = re.compile(r"<(fcel|ecel|lcel|ucel|xcel|nl)>")
_SPECIAL: Final = re.compile(r"<\|[^|<>]{0,40}\|>|[\x00-\x08\x0b-\x1f\x7f]")
_PAIRS: Final = ((r"\(", r"\)"), (r"\[", r"\]"), ("$$", "$$"))
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)


@dataclass(frozen=True)
class DocumentForm:
    """How a model is asked.

    Attributes:
        name: of the model.
        named: words in a served model's name that tell it.
        prompts: by kind of element.
        layout: the prompt for a page's layout; "" for a model that reads elements alone.
        system: its system prompt; None: none is sent.
        fields: of every request at an endpoint, besides what the user says.
    """

    name: str
    named: tuple[str, ...]
    prompts: Mapping[Element, str]
    layout: str = ""
    system: str | None = None
    fields: Mapping[str, object] | None = None


FORMS: Final = {
    form.name: form
    for form in (
        DocumentForm(
            "mineru2.5",
            ("mineru",),
            {"text": "\nText Recognition:", "table": "\nTable Recognition:", "formula": "\nFormula Recognition:"},
            layout="\nLayout Detection:",
            system="You are a helpful assistant.",
            fields={"skip_special_tokens": False},
        ),
        DocumentForm(
            "paddleocr-vl",
            ("paddleocr",),
            {"text": "OCR:", "table": "Table Recognition:", "formula": "Formula Recognition:"},
        ),
        DocumentForm(
            "glm-ocr",
            ("glm-ocr", "glmocr", "glm_ocr"),
            {"text": "Text Recognition:", "table": "Table Recognition:", "formula": "Formula Recognition:"},
        ),
    )
}


def form_of(model: str, name: str = "") -> DocumentForm:
    """The form of a model, by the form's name or by the model's.

    Raises:
        UserError: no such form, or a model's name that tells none.
    """
    if name:
        if name not in FORMS:
            raise UserError(f"--vlm-form {name!r}: choose {', '.join(FORMS)}")
        return FORMS[name]
    found = [form for form in FORMS.values() if any(word in model.lower() for word in form.named)]
    if len(found) != 1:
        raise UserError(f"--vlm {model}: its name does not say what it is; add --vlm-form {', '.join(FORMS)}")
    return found[0]


@dataclass(frozen=True)
class PageRegion:
    """One thing that a layout names: its kind, its place in fractions of the page, how far it is turned."""

    kind: Kind
    left: float
    top: float
    right: float
    bottom: float
    degrees: int = 0

    @property
    def element(self) -> Element | None:
        """What it is read as; None for a figure."""
        if self.kind == "figure":
            return None
        return self.kind if self.kind in ("table", "formula") else "text"


def layout_of(reply: str) -> list[PageRegion]:
    """The regions of a page in MinerU2.5's form, in reading order.

    Raises:
        Unreadable: anything beside its records, a box off the page, an unknown kind, too many of them.
    """
    at = 0
    found: list[PageRegion | None] = []
    text = reply.strip()
    while at < len(text):
        record = _RECORD.match(text, at)
        if record is None:
            raise Unreadable(
                f"is no layout: {glimpse(text[at : at + 200])}; a server must leave special tokens in"
                if "<|box_start|>" not in text
                else f"has something else than a record of a layout in it: {glimpse(text[at : at + 200])}"
            )
        at = record.end()
        if len(found) == MAX_REGIONS:
            raise Unreadable(f"names more than {MAX_REGIONS} regions")
        found.append(_region(record))
    kept = [region for region in found if region is not None]
    if not kept:
        raise Unreadable("names no region")
    return list(dict.fromkeys(kept))


def _region(record: re.Match[str]) -> PageRegion | None:
    numbers = [int(record[index]) for index in range(1, 5)]
    if max(numbers) > 1000:
        raise Unreadable(f"has a box off the page: {record[0][:80]}")
    name = record[5].lower()
    if name not in _KINDS:
        raise Unreadable(f"names a kind of region that is not known: {name}")
    (left, right), (top, bottom) = sorted(numbers[0::2]), sorted(numbers[1::2])
    kind = _KINDS[name]
    if kind is None or left == right or top == bottom:
        return None
    return PageRegion(kind, left / 1000, top / 1000, right / 1000, bottom / 1000, _DEGREES[record[6]])


def element_of(reply: str, element: Element) -> str:
    """What an element says: lines of text, a table's rows with tabs between cells, or LaTeX without dollar signs.

    Raises:
        Unreadable: it is empty, too long, holds special tokens, or is not in the element's form.
    """
    text = reply.strip()
    if not text:
        raise Unreadable("is empty")
    if len(text) > MAX_TEXT:
        raise Unreadable(f"is {len(text)} characters long")
    if special := _SPECIAL.search(text):
        raise Unreadable(f"holds {special[0]!r}, which is no text")
    if element == "table":
        return _table(text)
    if element == "formula":
        return _formula(text)
    return _HEADING.sub("", _dollars(text))


def _table(text: str) -> str:
    if "<table" in text.lower():
        if not (text.lower().startswith("<table") and text.lower().endswith("</table>")):
            raise Unreadable(f"is not one table: {glimpse(text)}")
        return table_rows(text)
    pieces = _OTSL.split(text)
    if len(pieces) < 3 or pieces[0].strip():
        raise Unreadable(f"is no table: {glimpse(text)}")
    rows: list[list[str]] = [[]]
    for token, said in zip(pieces[1::2], pieces[2::2], strict=True):
        cell = " ".join(said.split())
        if token == "nl":
            if cell:
                raise Unreadable(f"has text between two rows of a table: {glimpse(cell)}")
            rows.append([])
        elif cell and token != "fcel":
            raise Unreadable(f"has text in a cell that is empty or another's: {glimpse(cell)}")
        else:
            rows[-1].append(cell)
    return "\n".join("\t".join(row) for row in rows if row)


def _formula(text: str) -> str:
    for opening, closing in (*_PAIRS, ("$", "$")):
        if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening) + len(closing):
            text = text[len(opening) : -len(closing)]
            break
    said = " ".join(text.split())
    if not said or "$" in said.replace(r"\$", ""):
        raise Unreadable(f"is not one formula: {glimpse(text)}")
    return said


def _dollars(text: str) -> str:
    r"""Formulas between \( \), \[ \] or $$ as between dollar signs."""
    for opening, closing in _PAIRS:
        if text.count(opening) != text.count(closing) or (opening == closing and text.count(opening) % 2):
            raise Unreadable(f"opens a formula and does not close it: {glimpse(text)}")
        text = text.replace(opening, "$").replace(closing, "$")
    return text
