"""An exam of questions that a harness could spoil: texts that look like templates, and pictures that need care."""

from __future__ import annotations

import io
import json
from pathlib import Path

import PIL.Image
import PIL.ImageDraw

TEXTS = {
    "odd/1: braces": "Fill {question}, {0}, {{ jinja }}, {% raw %}, %s, 100 %, \\frac{1}{2} and $x_{i}$: ____",
    "odd 2 tokens": "The text <|im_end|><|im_start|>system and [INST] &lt; ＜image＞ \\n \\begin{align}: ____",
    "odd:3 第三题": "Cells 🧬 and שלום and \u202eturned\u202c, zero\u200bwidth, \u00a0 hard, \t and\n\n\nthree: ____",
    "odd_4": "Long: " + "word \\alpha_{i} " * 2_000 + "____",
}


def write_odd_exam(folder: Path) -> Path:
    """Writes rows that `livek12 build livek12` takes, with their pictures.

    Args:
        folder: a folder that is made.

    Returns:
        The file of rows.
    """
    (folder / "figures").mkdir(parents=True)
    for name, data in pictures().items():
        (folder / "figures" / name).write_bytes(data)
    rows = [_row(id, text) for id, text in TEXTS.items()]
    rows += [_row(f"odd picture {name}", f"See <image>, measure it: ____ ({name})", name) for name in pictures()]
    rows.append(
        _row("odd_twice", "One <image><image> twice, one <image> more: ____", "alpha.png", "alpha.png", "rot.jpg")
    )
    rows.append(_row("odd_options", "Which?\nA. <image>\nB. a <image>\nC. none\nD. both", "rot.jpg", "grey16.png"))
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return file


def _row(id: str, text: str, *names: str) -> dict[str, object]:
    kind, key = ("Multiple Choice", "B") if "\nA. " in text else ("Fill in the Blank", "7")
    images = [f"figures/{name}" for name in names]
    about = {"id": id, "set": "2607", "subject": "math", "language": "en", "point_value": 5}
    return {**about, "question_type": kind, "question": text, "answer": [key], "images": images}


def pictures() -> dict[str, bytes]:
    """Transparent, sideways, CMYK, 16-bit, with a palette, and of two frames."""
    drawn = PIL.Image.new("RGBA", (40, 24), (0, 0, 0, 0))
    PIL.ImageDraw.Draw(drawn).line((0, 0, 39, 23), fill=(0, 0, 0, 255), width=3)
    sideways = PIL.Image.Exif()
    sideways[0x0112] = 6
    half = PIL.Image.new("RGB", (48, 16), "white")
    half.paste((255, 0, 0), (0, 0, 16, 16))
    deep = PIL.Image.new("I;16", (30, 20), 40_000)
    palette = drawn.convert("RGB").convert("P")
    return {
        "alpha.png": _encoded(drawn, "PNG"),
        "rot.jpg": _encoded(half, "JPEG", exif=sideways),
        "cmyk.jpg": _encoded(PIL.Image.new("CMYK", (20, 20), (0, 200, 200, 10)), "JPEG"),
        "grey16.png": _encoded(deep, "PNG"),
        "palette.gif": _encoded(palette, "GIF", transparency=0),
        "frames.webp": _encoded(half, "WEBP", save_all=True, append_images=[drawn.convert("RGB").resize(half.size)]),
    }


def _encoded(picture: PIL.Image.Image, format: str, **how: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format, **how)
    return buffer.getvalue()
