"""Vision-language models that read pages.

Contract: `Reader.pages` yields pages as `worker.pages` does. A model with a layout of its own (MinerU2.5) is shown the
page and names its regions; the others get our layout. Each region but a figure is read by itself. A reply in another
form than the documented one is asked for again; after three times the region is left unread, with its picture and a
note. A page without a layout ends the paper. The rules read each page too: lines have both readings where they differ,
and lines and figures that are in no region are kept.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast

from PIL import Image as Pictures
from PIL import ImageOps
from PIL.Image import Image as Picture

from livek12.core.errors import UserError
from livek12.core.prompts import image_part, text_message, text_part
from livek12.core.records import Image, Language, Message, Request
from livek12.core.replies import Unreadable, glimpse
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest import worker
from livek12.dataset_builders.ingest.models.mineru import table_rows
from livek12.dataset_builders.ingest.models.model import Model, read_alike, request
from livek12.dataset_builders.ingest.pages import pdf
from livek12.dataset_builders.ingest.pages.blocks import UNREAD, Block, Box, Kind, Line, PageBlocks
from livek12.dataset_builders.ingest.questions.headings import BOTTOM, TOP
from livek12.engines.asking import model_spec

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
    name: kind
    for kind, names in cast(dict[Kind | None, str], {
        "text": "text title doc_title paragraph_title list_item ref_text index phonetic code algorithm formula_number",
        "table": "table", "formula": "equation", "figure": "image chart image_block unknown",
        "caption": "table_caption image_caption code_caption caption table_footnote image_footnote footnote",
        "header": "header aside_text", "footer": "footer page_number page_footnote",
        None: "list equation_block inline_formula",
    }).items()
    for name in names.split()
}  # fmt: skip
"""Of MinerU2.5; None: what is in it is listed by itself."""
_OTSL: Final = re.compile(r"<(fcel|ecel|lcel|ucel|xcel|nl)>")
_SPECIAL: Final = re.compile(r"<\|[^|<>]{0,40}\|>|[\x00-\x08\x0b-\x1f\x7f]")
_PAIRS: Final = ((r"\(", r"\)"), (r"\[", r"\]"), ("$$", "$$"))
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)


@dataclass(frozen=True)
class DocumentForm:
    """A model's prompts: for text (tables and formulas are alike), before each, for a page's layout if it finds that.

    `named` are words in a served model's name, `fields` of every request at an endpoint.
    """

    name: str
    named: tuple[str, ...]
    text: str = "Text Recognition:"
    lead: str = ""
    layout: str = ""
    system: str = ""
    fields: Mapping[str, object] = field(default_factory=dict)

    def prompt(self, element: Element) -> str:
        """The prompt for a kind of element."""
        return self.lead + (self.text if element == "text" else f"{element.title()} Recognition:")


FORMS: Final = {
    form.name: form
    for form in (
        DocumentForm(
            "mineru2.5", ("mineru",), lead="\n", layout="\nLayout Detection:", system="You are a helpful assistant.",
            fields={"skip_special_tokens": False},
        ),
        DocumentForm("paddleocr-vl", ("paddleocr",), text="OCR:"),
        DocumentForm("glm-ocr", ("glm-ocr", "glmocr", "glm_ocr")),
    )
}  # fmt: skip


def form_of(model: str, name: str = "") -> DocumentForm:
    """The form of that name, else by the model's name; UserError if there is none."""
    if name:
        if name not in FORMS:
            raise UserError(f"--vlm-form {name!r}: choose {', '.join(FORMS)}")
        return FORMS[name]
    forms = [form for form in FORMS.values() if any(word in model.lower() for word in form.named)]
    if len(forms) != 1:
        raise UserError(f"--vlm {model}: its name does not say what it is; add --vlm-form {', '.join(FORMS)}")
    return forms[0]


class PageRegion(NamedTuple):
    """A region of a page: its kind, its place, its turn."""

    kind: Kind
    box: Box
    degrees: int = 0

    @property
    def element(self) -> Element | None:
        """The element it is read as; None for a figure."""
        return None if self.kind == "figure" else self.kind if self.kind in ("table", "formula") else "text"


def layout_of(reply: str, page: int = 1) -> list[PageRegion]:
    """The regions of a page in MinerU2.5's form, in reading order; Unreadable for another text."""
    text = reply.strip()
    if rest := _RECORD.sub("", text):
        raise Unreadable(
            f"is no layout: {glimpse(rest[:200])}; a server must leave special tokens in"
            if "<|box_start|>" not in text
            else f"has something else than a record of a layout in it: {glimpse(rest[:200])}"
        )
    regions = [_region(record, page) for record in islice(_RECORD.finditer(text), MAX_REGIONS + 1)]
    if len(regions) > MAX_REGIONS:
        raise Unreadable(f"names more than {MAX_REGIONS} regions")
    if not any(regions):
        raise Unreadable("names no region")
    return [region for region in dict.fromkeys(regions) if region]


def _region(record: re.Match[str], page: int) -> PageRegion | None:
    numbers = [int(record[index]) / 1000 for index in range(1, 5)]
    if max(numbers) > 1:
        raise Unreadable(f"has a box off the page: {record[0][:80]}")
    name = record[5].lower()
    if name not in _KINDS:
        raise Unreadable(f"names a kind of region that is not known: {name}")
    (left, right), (top, bottom) = sorted(numbers[0::2]), sorted(numbers[1::2])
    kind = _KINDS[name]
    if kind is None or left == right or top == bottom:
        return None
    if kind in ("header", "footer") and bottom > TOP and top < BOTTOM:
        kind = "text"  # whatever the model says: heads and feet are at the edges
    return PageRegion(kind, Box(page=page, left=left, top=top, right=right, bottom=bottom), _DEGREES[record[6]])


def element_of(reply: str, element: Element) -> str:
    """An element's text, rows with tabs between cells, or LaTeX without dollar signs; Unreadable in another form."""
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
    for token, cell_text in zip(pieces[1::2], pieces[2::2], strict=True):
        cell = " ".join(cell_text.split())
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
    formula = " ".join(_dollars(text).split())
    if len(formula) > 2 and formula[0] == formula[-1] == "$":
        formula = formula[1:-1].strip()
    if not formula or "$" in formula.replace(r"\$", ""):
        raise Unreadable(f"is not one formula: {glimpse(text)}")
    return formula


def _dollars(text: str) -> str:
    r"""Formulas between \( \), \[ \] or $$ as between dollar signs."""
    for opening, closing in _PAIRS:
        if text.count(opening) != text.count(closing) or (opening == closing and text.count(opening) % 2):
            raise Unreadable(f"opens a formula and does not close it: {glimpse(text)}")
        text = text.replace(opening, "$").replace(closing, "$")
    return text


LAYOUT_TOKENS: Final = 8192
ELEMENT_TOKENS: Final = 4096
_SIDE: Final = 1036
"""Of the square that MinerU2.5 is shown a page as, in pixels."""
_LEAST: Final = 28
"""Pixels of a crop's shorter side; what is smaller gets a margin."""
_WHITE: Final = 0.004
"""Of the page: white kept around a block."""
_TASK: Final = "ingest-vlm"


class Reader(Model):
    """A model that reads pages, MODEL[@ENGINE[:K=V,…]], in one of `FORMS` ("": by its name); UserError if none can."""

    def __init__(self, spec: str, form: str = "", folder: Path | None = None) -> None:
        named = model_spec(spec, "--vlm")
        self.form = form_of(named.model, form)
        if self.form.fields and named.runs_on == "openai":  # the user's own fields go before the form's
            body = {**self.form.fields, **(named.engine_args.get("extra_body") or {})}
            named = replace(named, engine_args={**named.engine_args, "extra_body": body})
        super().__init__(named, folder)

    def pages(self, path: Path, language: Language | None, numbers: range | None = None) -> Iterator[PageBlocks]:
        """Yields the pages of a paper; UserError if it cannot be read, or the model gives no layout of a page."""
        for page in worker.pages(path, language, "auto", numbers):
            picture = Pictures.open(io.BytesIO(page.image)).convert("RGB")
            if self.form.layout:
                regions = self._layout(path, page.number, picture)
                blocks = [Block(kind=region.kind, box=region.box) for region in regions]
            else:
                blocks = page.blocks
                regions = [PageRegion(block.kind, _with_white(block.box)) for block in blocks]
            read, notes = self._read(page.number, picture, regions, blocks)
            yield replace(page, blocks=_compared(read, page.blocks), notes=[*page.notes, *notes])

    def _layout(self, path: Path, number: int, picture: Picture) -> list[PageRegion]:
        name, square = f"{number}.layout", picture.resize((_SIDE, _SIDE))
        page = self._request(name, pdf.png(square), self.form.layout, LAYOUT_TOKENS)
        layouts, problems = self.ask([page], lambda _, text: layout_of(text, number), whole=True)
        if name in problems:
            raise UserError(f"{path}: page {number}: {self.name} gave no layout: {one_line(problems[name], 300)}")
        return layouts[name]

    def _read(
        self, number: int, picture: Picture, regions: Sequence[PageRegion], blocks: Sequence[Block]
    ) -> tuple[list[Block], list[str]]:
        """The blocks with the model's text, and notes on unread ones."""
        crops = [pdf.png(_crop(picture, region)) for region in regions]
        elements = {f"{number}.{index}": region.element for index, region in enumerate(regions)}
        requests = (
            self._request(name, crop, self.form.prompt(element), ELEMENT_TOKENS)
            for (name, element), crop in zip(elements.items(), crops, strict=True)
            if element is not None
        )

        def read(name: str, text: str) -> str:
            return element_of(text, cast(Element, elements[name]))

        texts, problems = self.ask(requests, read, whole=True)
        notes = [
            f"{self.name} did not read region {index} of page {number}: {one_line(problems[name], 200)}"
            for index, name in enumerate(elements, 1)
            if name in problems
        ]
        made = [
            _block(block, element, texts.get(name), crop)
            for block, (name, element), crop in zip(blocks, elements.items(), crops, strict=True)
        ]
        return made, sorted(notes)

    def _request(self, name: str, png: bytes, prompt: str, tokens: int) -> Request:
        image = Image(bytes=png)
        system = [text_message("system", self.form.system)] if self.form.system else []
        page = Message(role="user", content=[image_part(image), text_part(prompt)])
        return request(_TASK, name, [*system, page], tokens, images={image.sha256: image})


def _block(block: Block, element: Element | None, reply: str | None, crop: bytes) -> Block:
    """A block with its text; without one, a picture and an unread line."""
    if element is None:
        return replace(block, lines=[], picture=block.picture or crop, origin="vlm")
    if reply is None:
        line = Line(text=UNREAD, box=block.box, confidence=0.0, unread=True)
        return replace(block, lines=[line], picture=crop, origin="vlm", confidence=0.0)
    texts = [f"${reply}$"] if element == "formula" else [line for line in reply.split("\n") if line.strip()]
    before = block.lines if len(texts) == len(block.lines) else [Line(text="", box=block.box)] * len(texts)
    lines = [
        Line(text=text, box=line.box, size=line.size, bold=line.bold) for text, line in zip(texts, before, strict=True)
    ]
    return replace(block, lines=lines, picture=None if element == "text" else crop, origin="vlm", confidence=1.0)


def _compared(blocks: Sequence[Block], rules: Sequence[Block]) -> list[Block]:
    """The model's blocks with the rules' reading where it differs, and lines that only the rules have.

    A figure of the rules is one thing, in a figure or table of the model; a figure of the model has its labels alone.
    """
    own: dict[int, list[Line]] = {}
    made: list[tuple[Block, int]] = [(block, place) for place, block in enumerate(blocks)]
    for block in rules:
        is_figure = block.kind == "figure"
        things: list[Line | None] = [None] if is_figure else [*block.lines] or [None]
        for line in things:
            box = line.box if line else block.box
            x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
            around = [
                (each.box.area, place)
                for place, each in enumerate(blocks)
                if each.box.left <= x <= each.box.right
                and each.box.top <= y <= each.box.bottom
                and (each.kind in ("figure", "table") if is_figure else each.kind != "figure")
            ]
            lines = [line] if line else block.lines
            if around:
                own.setdefault(min(around)[1], []).extend(lines)
            elif line is None or line.text.strip():
                alone = [replace(each, readings=(each.text, "")) for each in lines]
                below = (at for at, (each, _) in enumerate(made) if each.box.top > y and each.column == block.column)
                kept = replace(block, box=box, lines=alone, picture=None if line else block.picture)
                made.insert(next(below, len(made)), (kept, -1))
    return [_doubted(block, own.get(place, [])) if place >= 0 else block for block, place in made]


def _doubted(block: Block, rules: Sequence[Line]) -> Block:
    """A block with the rules' reading of lines where it differs; a figure has the rules' lines as labels."""
    if block.kind == "figure":
        return replace(block, lines=list(rules))
    if len(rules) != len(block.lines):
        whole = "\n".join(line.text for line in rules), block.text
        if read_alike(*whole):
            return block
        return replace(block, lines=[replace(line, readings=whole) for line in block.lines or rules])
    read = [
        line if read_alike(ours.text, line.text) else replace(line, readings=(ours.text, line.text))
        for ours, line in zip(rules, block.lines, strict=True)
    ]
    return replace(block, lines=read)


def _crop(picture: Picture, region: PageRegion) -> Picture:
    """A region by itself, upright, no smaller than a model takes."""
    left, right = (round(x * picture.width) for x in (region.box.left, region.box.right))
    top, bottom = (round(y * picture.height) for y in (region.box.top, region.box.bottom))
    crop = picture.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    if region.degrees:
        crop = crop.rotate(region.degrees, expand=True)
    short = _LEAST - min(crop.size)
    return ImageOps.expand(crop, border=(short + 1) // 2, fill="white") if short > 0 else crop


def _with_white(box: Box) -> Box:
    """A box with some white, for the boxes of lines end at their ink."""
    left, top = max(0.0, box.left - _WHITE), max(0.0, box.top - _WHITE)
    right, bottom = min(1.0, box.right + _WHITE), min(1.0, box.bottom + _WHITE)
    return Box(page=box.page, left=left, top=top, right=right, bottom=bottom)
