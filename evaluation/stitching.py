"""Several pictures as one, for harnesses that show a model one picture a question.

Contract: one picture keeps its bytes. Several are stacked on white under their numbers; the same pictures give the same
bytes.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.records import Image
from livek12.engines.images import BadImage, check_image
from livek12.engines.openai.format import data_url

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MOST_PIXELS = 7_900
"""Of a side: endpoints refuse more than 8,000."""
_GAP, _LABEL = 12, 28


def one_picture(pictures: Sequence[Image]) -> str:
    """The `data:` address of all pictures in one; "" where there are none."""
    try:
        if len(pictures) == 1:
            check_image(pictures[0])
            return data_url(pictures[0])
        return _stitched(tuple(pictures)) if pictures else ""
    except BadImage as error:
        raise UserError(f"a picture {error}") from None


@lru_cache(maxsize=4)
def _stitched(pictures: tuple[Image, ...]) -> str:
    """Cached: the pages of a paper are those of several questions, one after the other."""
    from PIL import Image as PIL
    from PIL import ImageDraw, ImageFont

    shown = [check_image(picture) for picture in pictures]
    heights = [picture.height + _LABEL + _GAP for picture in shown]
    sheet = PIL.new("RGB", (max(picture.width for picture in shown), sum(heights)), "white")
    draw, font, top = ImageDraw.Draw(sheet), ImageFont.load_default(_LABEL - 8), 0
    for number, (picture, height) in enumerate(zip(shown, heights, strict=True), start=1):
        draw.text((4, top + 2), f"[image {number}]", fill="black", font=font)
        sheet.paste(picture, (0, top + _LABEL))
        top += height
    return _encoded(sheet)


def _encoded(sheet: Picture) -> str:
    if max(sheet.size) > MOST_PIXELS:
        sheet.thumbnail((MOST_PIXELS, MOST_PIXELS))
    out = io.BytesIO()
    sheet.save(out, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
