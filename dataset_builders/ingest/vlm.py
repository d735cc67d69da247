"""A paper's pages as a vision-language model reads them, behind any engine that takes pictures.

Contract: `Reader.pages` yields pages as `worker.pages` does. A model with a layout of its own (MinerU2.5) is shown the
page and names its regions; for the others our own layout does. Each region but a figure is shown by itself and read in
the model's documented form (`vlm_forms`). Replies are remembered in the folder, nothing is asked twice; what is not in
its form is asked again, and after three times a region is left unread, with its picture and a note on the page; a page
whose layout cannot be had ends the paper. Ink outside all regions is said too.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.parts import image_part, text_message, text_part
from livek12.core.records import Image, Key, Language, Message, Request, Sampling
from livek12.core.store import Store
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest import pdf, worker
from livek12.dataset_builders.ingest.blocks import UNREAD, Block, Box, Line, PageBlocks
from livek12.dataset_builders.ingest.vlm_forms import DocumentForm, PageRegion, element_of, form_of, layout_of
from livek12.engines.asking import REPLIES, Asker, ModelSpec, model_spec

Picture = Any
LAYOUT_TOKENS: Final = 8192
ELEMENT_TOKENS: Final = 4096
_SIDE: Final = 1036
"""Of the square that MinerU2.5 is shown a page as, in pixels."""
_LEAST: Final = 28
"""Pixels of a crop's shorter side; what is smaller gets a margin."""
_INK: Final = 160
_OUTSIDE: Final = 0.02
"""Share of a page's ink outside all regions from which it is said."""
_TASK: Final = "ingest-vlm"


class Reader:
    """A model that reads pages.

    Args:
        spec: MODEL, MODEL@ENGINE or MODEL@ENGINE:K=V,…
        form: one of `vlm_forms.FORMS`; "": by the model's name.
        folder: where its replies are remembered; None remembers none.

    Raises:
        UserError: no such engine or form, or a model that it cannot run.
    """

    def __init__(self, spec: str, form: str = "", folder: Path | None = None) -> None:
        named = model_spec(spec, "--vlm")
        self.form = form_of(named.model, form)
        self._engine = _with_fields(named, self.form).start()
        self._asker = Asker(self._engine, Store(REPLIES, folder) if folder else None)
        self.name = self._engine.model

    def close(self) -> None:
        """Gives memory and processes back."""
        self._engine.close()
        self._asker.close()

    def pages(self, path: Path, language: Language | None, numbers: range | None = None) -> Iterator[PageBlocks]:
        """Yields the pages of a paper.

        Args:
            path: the PDF.
            language: of the text, for our own layout; None: found out.
            numbers: of the pages, from 1; None for all.

        Raises:
            UserError: the paper cannot be read, or the model gives no layout of a page.
        """
        for page in worker.pages(path, language, "image" if self.form.layout else "auto", numbers):
            picture = _opened(page.image)
            if self.form.layout:
                regions = self._layout(path, page.number, picture)
                blocks = [Block(kind=one.kind, box=_box(page.number, one)) for one in regions]
            else:
                blocks = page.blocks
                regions = [
                    PageRegion(one.kind, one.box.left, one.box.top, one.box.right, one.box.bottom) for one in blocks
                ]
            read, notes = self._read(page.number, picture, regions, blocks)
            notes += _outside(picture, regions, self.name)
            yield page.model_copy(update={"blocks": read, "notes": [*page.notes, *notes]})

    def _layout(self, path: Path, number: int, picture: Picture) -> list[PageRegion]:
        square = picture.resize((_SIDE, _SIDE))
        request = self._request(f"{number}.layout", pdf.png(square), self.form.layout, LAYOUT_TOKENS)
        (reply,) = self._asker.replies([request], lambda _, text: layout_of(text), whole=True)
        if reply.value is None:
            raise UserError(f"{path}: page {number}: {self.name} gave no layout: {one_line(reply.problem, 300)}")
        return reply.value

    def _read(
        self, number: int, picture: Picture, regions: Sequence[PageRegion], blocks: Sequence[Block]
    ) -> tuple[list[Block], list[str]]:
        """The blocks with what the model read in each, and notes on what it did not."""
        elements = {f"{number}.{index}": region.element for index, region in enumerate(regions)}
        crops = {f"{number}.{index}": _crop(picture, region) for index, region in enumerate(regions)}
        requests = (
            self._request(name, pdf.png(crops[name]), self.form.prompts[element], ELEMENT_TOKENS)
            for name, element in elements.items()
            if element is not None
        )
        said: dict[str, str] = {}
        notes = []
        for reply in self._asker.replies(requests, self._element(elements), whole=True):
            name = reply.key.question_id
            if reply.value is None:
                place = name.partition(".")[2]
                notes.append(
                    f"{self.name} did not read region {int(place) + 1} of page {number}: {one_line(reply.problem, 200)}"
                )
            else:
                said[name] = reply.value
        made = [
            _block(block, region, said.get(f"{number}.{index}"), crops[f"{number}.{index}"])
            for index, (region, block) in enumerate(zip(regions, blocks, strict=True))
        ]
        return made, sorted(notes)

    @staticmethod
    def _element(elements: dict[str, Any]) -> Any:
        return lambda key, text: element_of(text, elements[key.question_id])

    def _request(self, name: str, image: Image, prompt: str, tokens: int) -> Request:
        system = [text_message("system", self.form.system)] if self.form.system else []
        return Request(
            key=Key(task=_TASK, question_id=name),
            messages=[*system, Message(role="user", content=[image_part(image), text_part(prompt)])],
            images={image.sha256: image},
            sampling=Sampling(temperature=0.0, max_tokens=tokens),
        )


def _with_fields(spec: ModelSpec, form: DocumentForm) -> ModelSpec:
    """The model with what its form needs of an endpoint, unless the user says otherwise."""
    if not form.fields or spec.runs_on != "openai":
        return spec
    given = spec.engine_args.get("extra_body") or {}
    return ModelSpec(spec.model, spec.engine, {**spec.engine_args, "extra_body": {**form.fields, **given}})


def _block(block: Block, region: PageRegion, said: str | None, crop: Picture) -> Block:
    """A block as it was read; one that was not is a picture and a line that stands in it only."""
    if region.element is None:
        return block.model_copy(update={"lines": [], "picture": block.picture or pdf.png(crop), "origin": "vlm"})
    pictured = region.element != "text"
    if said is None:
        line = Line(text=UNREAD, box=block.box, confidence=0.0, unread=True)
        return block.model_copy(update={"lines": [line], "picture": pdf.png(crop), "origin": "vlm", "confidence": 0.0})
    texts = [f"${said}$"] if region.element == "formula" else [line for line in said.split("\n") if line.strip()]
    same = len(texts) == len(block.lines)
    lines = [
        Line(text=text, box=block.lines[index].box, size=block.lines[index].size, bold=block.lines[index].bold)
        if same
        else Line(text=text, box=block.box)
        for index, text in enumerate(texts)
    ]
    picture = pdf.png(crop) if pictured else None
    return block.model_copy(update={"lines": lines, "picture": picture, "origin": "vlm", "confidence": 1.0})


def _box(page: int, region: PageRegion) -> Box:
    return Box(page=page, left=region.left, top=region.top, right=region.right, bottom=region.bottom)


def _opened(image: Image) -> Picture:
    from PIL import Image as Pictures

    picture = Pictures.open(io.BytesIO(image.bytes or b""))
    return picture.convert("RGB")


def _crop(picture: Picture, region: PageRegion) -> Picture:
    """A region by itself, upright, and no smaller than a model takes."""
    from PIL import ImageOps

    left, right = round(region.left * picture.width), round(region.right * picture.width)
    top, bottom = round(region.top * picture.height), round(region.bottom * picture.height)
    crop = picture.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    if region.degrees:
        crop = crop.rotate(region.degrees, expand=True)
    short = _LEAST - min(crop.size)
    return ImageOps.expand(crop, border=(short + 1) // 2, fill="white") if short > 0 else crop


def _outside(picture: Picture, regions: Sequence[PageRegion], name: str) -> list[str]:
    """A note where ink of the page is in no region."""
    from PIL import ImageDraw

    ink = picture.convert("L").point(lambda value: 255 if value < _INK else 0)
    every = ink.histogram()[255]
    pen = ImageDraw.Draw(ink)
    for region in regions:
        corners = (
            region.left * ink.width,
            region.top * ink.height,
            region.right * ink.width,
            region.bottom * ink.height,
        )
        pen.rectangle(corners, fill=0)
    left = ink.histogram()[255]
    if not every or left / every < _OUTSIDE:
        return []
    return [f"{left / every:.0%} of what is printed on this page is in no region that was read by {name}"]
