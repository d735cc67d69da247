"""Rebuilds the sample's figures, papers and page pictures.

Contract: `python -m tests.dataset_builders.make_sample` writes figures/*.png, papers/*.pdf and pages/*.png beside the
sample's sources, and in each jsonl only `page_numbers` and `boxes`. Texts (plain, LaTeX, images, pipe tables, code)
become typst; only the sample's LaTeX is supported, anything else raises UserError. Needs typst, pypdfium2, pillow and
Debian's fonts-noto-cjk. Reproducible with the same tools.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.core.languages import language_of
from livek12.core.records import IMAGE_MARK
from livek12.dataset_builders import sample
from livek12.dataset_builders.sample import PAPERS

if TYPE_CHECKING:
    import PIL.Image

MAX_DEPTH = 20
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|[^\s]", re.DOTALL)
_MATH = re.compile(r"(\$\$.+?\$\$|\$.+?\$|_{3,})", re.DOTALL)

_SYMBOLS = {
    **{name: name for name in "Delta Omega alpha beta gamma eta theta lambda mu pi rho sigma tau omega".split()},
    **{name: name for name in "sin cos tan ln max sum approx quad in angle perp %".split()},
    **{"int": "integral", "infty": "infinity", "cdot": "dot.op", "times": "times", "pm": "plus.minus"},
    **{"le": "lt.eq", "ge": "gt.eq", "ne": "eq.not", "to": "arrow.r", "rightarrow": "arrow.r"},
    **{"uparrow": 'class("normal", arrow.t)', "circ": "compose", "triangle": "triangle.stroke.t"},
    **{"cdots": "dots.h.c", "dots": "dots.h", ",": "thin", "{": r"\{", "}": r"\}"},
}
_ACCENTS = {
    "vec": "arrow",
    "overrightarrow": "arrow",
    "bar": "macron",
    "hat": "hat",
    "dot": "dot",
    "ddot": "dot.double",
}
_SETS = {"R": "RR", "N": "NN", "Z": "ZZ", "C": "CC"}
# A product of units must neither spread nor wrap.
_UNIT_DOT = 'class("normal", dot.op)'
# Special in typst, bare characters in LaTeX.
_ESCAPED = set('(),;/"#&')
HERE = Path(sample.__file__).resolve().parent
FIGURE_PPI = 160
FIGURE_SCALE = 0.85
PAGE_PPI = 115
GREYS = 16
MARGIN = 6
"""White pixels around a figure."""
PAGE, PAGE_MARGIN = (595.28, 841.89), (59.53, 53.86)
"""Page size and margins in points (paper.typ)."""
SIDES = ("left", "top", "right", "bottom")
BREAKABLE = {"short_answer", "open_ended", "proof"}


class _Parser:
    """Recursive-descent parser of one formula."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        self.tokens = _TOKEN.findall(latex)
        self.at = 0
        self.depth = 0

    def peek(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if token is None or (expected is not None and token != expected):
            actual = token or "its end"
            raise UserError(f"formula {self.latex!r}: expected {expected or 'more'}, found {actual}; mend the text")
        self.at += 1
        return token

    def row(self, *ends: str) -> str:
        """Parses up to one of the end tokens, which remains."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UserError(f"formula {self.latex[:60]!r}: nested deeper than {MAX_DEPTH}; simplify it")
        parts: list[str] = []
        while (token := self.peek()) is not None and token not in ends:
            if token in ("^", "_"):
                self.take()
                parts.append((parts.pop() if parts else '""') + f"{token}({self.argument()})")
            elif token == "'":
                self.take()
                parts.append((parts.pop() if parts else '""') + "'")
            else:
                parts.append(self.atom())
        self.depth -= 1
        return " ".join(parts)

    def argument(self) -> str:
        """Parses one braced group or one atom."""
        if self.peek() != "{":
            return self.atom()
        self.take("{")
        inner = self.row("}")
        self.take("}")
        return inner

    def atom(self) -> str:
        token = self.take()
        if token == "}":
            raise UserError(f"formula {self.latex!r}: a brace closes that was not opened; mend the text")
        if token == "{":
            self.at -= 1
            return f"#[${self.argument()}$]"
        if token.startswith("\\"):
            return self.command(token[1:])
        return f"\\{token}" if token in _ESCAPED else token

    def command(self, name: str) -> str:
        if name in _SYMBOLS:
            return _SYMBOLS[name]
        if name in _ACCENTS:
            return f"{_ACCENTS[name]}({self.argument()})"
        if name in ("frac", "dfrac"):
            fraction = f"frac({self.argument()}, {self.argument()})"
            return f"display({fraction})" if name == "dfrac" else fraction
        if name == "sqrt":
            return f"sqrt({self.argument()})"
        if name == "mathrm":
            return f"upright({self.argument().replace('dot.op', _UNIT_DOT)})"
        if name == "mathbb":
            return _SETS[self.argument()]
        if name == "left":
            opening, inner = self.take(), self.row(r"\right")
            self.take(r"\right")
            return f"lr({_delimiter(opening)} {inner} {_delimiter(self.take())})"
        raise UserError(f"formula {self.latex!r}: \\{name} is not among the LaTeX of the sample; add it here")


def _delimiter(token: str) -> str:
    return {"(": r"\(", ")": r"\)", r"\{": r"\{", r"\}": r"\}", ".": ""}.get(token, token)


def math(latex: str) -> str:
    """Converts a LaTeX formula (without dollars) to typst."""
    parser = _Parser(latex)
    result = parser.row()
    if parser.peek() is not None:
        raise UserError(f"formula {latex!r}: {parser.peek()!r} is out of place; mend the text")
    return result


def inline(text: str) -> str:
    """Converts one paragraph to typst markup; `____` becomes a blank."""
    parts = []
    for piece in _MATH.split(text):
        if piece.startswith("$$"):
            parts.append(f"$ {math(piece[2:-2])} $")
        elif piece.startswith("$"):
            formula = math(piece[1:-1])
            parts.append(f"$display({formula})$" if "frac(" in formula else f"${formula}$")
        elif piece.startswith("___"):
            parts.append("#blank")
        elif piece := piece if not parts or not parts[-1].startswith("$ ") else piece.lstrip():
            parts.append(f"#{json.dumps(piece, ensure_ascii=False)};")
    return "".join(parts)


def blocks(text: str, images: Iterator[str]) -> list[dict[str, object]]:
    """Splits a text into blocks for `paper.typ`; every image mark takes the next of `images`.

    Returns dictionaries with `kind` text (`body`: markup), image (`path`), table (`rows` of markup) or code (`body`).
    """
    result: list[dict[str, object]] = []
    lines = text.split("\n")
    while lines:
        line = lines.pop(0)
        if line.startswith("```"):
            end = lines.index("```")
            result.append({"kind": "code", "body": "\n".join(lines[:end])})
            del lines[: end + 1]
        elif line.startswith("|"):
            table = [line]
            while lines and lines[0].startswith("|"):
                table.append(lines.pop(0))
            result.append({"kind": "table", "rows": [_cells(row) for row in table if set(row) - set("|-: ")]})
        else:
            result += _paragraph(line, images)
    return result


def _cells(row: str) -> list[str]:
    return [inline(cell.strip()) for cell in row.strip("|").split("|")]


def _paragraph(line: str, images: Iterator[str]) -> list[dict[str, object]]:
    pieces: list[dict[str, object]] = []
    for index, piece in enumerate(line.split(IMAGE_MARK)):
        if index:
            path = next(images, None)
            if path is None:
                raise UserError(f"text {line[:40]!r}: more {IMAGE_MARK} marks than images; mend the record")
            pieces.append({"kind": "image", "path": path})
        if piece.strip():
            pieces.append({"kind": "text", "body": inline(piece.strip())})
    return pieces


def read(name: str) -> list[dict[str, Any]]:
    """Reads the rows of a group."""
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """Writes the rows of a group, keys in the given order."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (HERE / f"{name}.jsonl").write_text(text, encoding="utf-8")


def grey_png(picture: PIL.Image.Image) -> bytes:
    """Encodes a picture as a small PNG of few greys."""
    from PIL import Image

    out = io.BytesIO()
    picture.convert("L").quantize(GREYS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def trimmed(picture: PIL.Image.Image) -> PIL.Image.Image:
    """Crops a grey picture to its content plus a margin."""
    from PIL import ImageOps

    box = ImageOps.invert(picture).getbbox()
    assert box is not None, "an empty drawing"
    left, top, right, bottom = box
    inner = (max(0, left - MARGIN), max(0, top - MARGIN), right + MARGIN, bottom + MARGIN)
    return picture.crop((*inner[:2], min(picture.width, inner[2]), min(picture.height, inner[3])))


def draw_figures() -> None:
    """Renders figures.typ to figures/NAME.png."""
    import typst
    from PIL import Image

    source = HERE / "figures.typ"
    for name in json.loads(typst.query(source, "<names>", field="value", one=True)):
        png = typst.compile(source, format="png", ppi=FIGURE_PPI, sys_inputs={"name": name})
        (HERE / "figures" / f"{name}.png").write_bytes(grey_png(trimmed(Image.open(io.BytesIO(png)).convert("L"))))


def layout(name: str) -> dict[str, str]:
    """Input of paper.typ for a group: questions by section, texts converted."""
    rows = read(name)
    sections: list[dict[str, Any]] = []
    by_subject = name.startswith("livek12")
    for subject, group in itertools.groupby(rows, key=lambda row: row["subject"] if by_subject else None):
        questions = [_question(row) for row in group]
        points = sum(question["points"] or 0 for question in questions)
        sections.append({"subject": subject, "questions": questions, "points": points})
    return {"paper": json.dumps({"id": PAPERS[name], "sections": sections}, ensure_ascii=False)}


def _question(row: dict[str, Any]) -> dict[str, Any]:
    images = iter(row.get("images", []))
    question = {
        "id": row["id"],
        "language": row["language"],
        "number": row["number"],
        "points": _whole(row.get("points")),
        "breakable": row["question_type"] in BREAKABLE,
        "blocks": [_sized(block) for block in blocks(row["question"], images)],
        "options": [
            {"label": _label(row, option), "blocks": [_sized(block) for block in blocks(option["text"], images)]}
            for option in row.get("options", [])
        ],
    }
    if next(images, None) is not None:
        raise UserError(f"question {row['id']}: more images than {IMAGE_MARK} marks; mend the record")
    return question


def _label(row: dict[str, Any], option: dict[str, str]) -> str:
    return chr(ord("①") + int(option["label"]) - 1) if language_of(row["language"]).numbered else option["label"] + "."


def _whole(points: float | None) -> int | None:
    return None if points is None else int(points)


def _sized(block: dict[str, object]) -> dict[str, object]:
    from PIL import Image

    if block["kind"] != "image":
        return block
    with Image.open(HERE / str(block["path"])) as picture:
        return {**block, "width": picture.width * 72 / FIGURE_PPI * FIGURE_SCALE}


def locate(name: str) -> dict[str, dict[str, Any]]:
    """Returns `page_numbers` (from 1) and `boxes` of each question in its typeset paper."""
    import typst

    places = typst.query(HERE / "paper.typ", "<pages>", field="value", one=True, sys_inputs=layout(name))
    return {
        place["id"]: {"page_numbers": list(range(place["first"], place["last"] + 1)), "boxes": list(_boxes(place))}
        for place in json.loads(places)
    }


def _boxes(place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for page in range(place["first"], place["last"] + 1):
        top = place["top"] if page == place["first"] else PAGE_MARGIN[1]
        bottom = place["bottom"] if page == place["last"] else PAGE[1] - PAGE_MARGIN[1]
        sides = PAGE_MARGIN[0] / PAGE[0], top / PAGE[1], 1 - PAGE_MARGIN[0] / PAGE[0], bottom / PAGE[1]
        yield {"page": page, **dict(zip(SIDES, (round(side, 4) for side in sides), strict=True))}


def typeset(name: str) -> None:
    """Builds one group: page numbers in its jsonl, PDF, page pictures."""
    import pypdfium2
    import typst

    places = locate(name)
    write(name, [{**row, **places[row["id"]]} for row in read(name)])
    paper = PAPERS[name]
    target = HERE / "papers" / f"{paper}.pdf"
    typst.compile(HERE / "paper.typ", output=target, format="pdf", sys_inputs=layout(name))
    for old in (HERE / "pages").glob(f"{paper}_*.png"):
        old.unlink()
    with pypdfium2.PdfDocument(target) as document:
        for number, page in enumerate(document, 1):
            picture = page.render(scale=PAGE_PPI / 72, grayscale=True).to_pil()
            (HERE / "pages" / f"{paper}_{number}.png").write_bytes(grey_png(picture))


def main() -> None:
    """Builds all; figures first, because the papers show them."""
    for folder in ("figures", "papers", "pages"):
        (HERE / folder).mkdir(exist_ok=True)
    draw_figures()
    for name in PAPERS:
        typeset(name)
        print(f"{name}: papers/{PAPERS[name]}.pdf")


if __name__ == "__main__":
    main()
