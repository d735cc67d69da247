"""Word documents (.docx).

Contract: a document is hostile. Only its own parts are read, each within bounds; relationships to anything outside and
XML with a document type are refused. Tracked deletions and hidden text are left out.
"""

from __future__ import annotations

import lzma
import posixpath
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.pages.atoms import symbol
from livek12.dataset_builders.ingest.pages.blocks import UNREAD
from livek12.dataset_builders.ingest.pages.glyphs import known_sign
from livek12.dataset_builders.ingest.sources.mathml import latex
from livek12.dataset_builders.ingest.sources.writer import BLANK, Cell, Paragraph, Writer, joined

MAX_PART: Final = 64 << 20
MAX_DEPTH: Final = 200
MAX_FIELD, MAX_SWITCHES = 4000, 200  # of an EQ field
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, LookupError, ValueError, ParseError, RuntimeError
)  # fmt: skip
_SKIPPED: Final = frozenset(
    "del moveFrom pPr rPr tblPr tblGrid trPr tcPr sectPr instrText delText commentRangeStart commentRangeEnd"
    " commentReference annotationRef bookmarkStart bookmarkEnd proofErr lastRenderedPageBreak sdtPr sdtEndPr".split()
)
_LABEL, _SHORT_LABEL = 40, 6  # characters of the longest label in a group of shapes, and of one in none
_HAN: Final = "零一二三四五六七八九"
NUMBER_FORMS: Final = {"1": "decimal", "A": "Alph", "a": "alph", "I": "Roman", "i": "roman"}
"""The form of a list whose first number is this."""
_SERIES: Final = {
    **dict.fromkeys(("circled", "decimalEnclosedCircle", "decimalEnclosedCircleChinese"), "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"),
    **dict.fromkeys(("ganada", "koreanDigital2"), "가나다라마바사아자차카타파하"),
    "ideographTraditional": "甲乙丙丁戊己庚辛壬癸",
}
_HUE, _FEW, _SOME = 0x60, 3, 0.8
"""Of colours: the least range of its parts, the fewest brackets or options, and the largest share of all options."""
_INKED: Final = re.compile("\ue010([^\ue011]*)\ue011(?=(.?))")  # text in the colour of the answers, and what follows it
_LABELS: Final = re.compile(r"(?<![A-Za-z0-9])[(（]?([A-HＡ-Ｈ])[.．、)）]")
_FILLED: Final = re.compile(r"[（(]\s*\ue010[^\ue011（()）]*\ue011\s*[)）]")
_PLAIN: Final = re.compile("[\ue010\ue011]")
_SOLUTION: Final = re.compile("\\s*(?:[(（]?\\w{1,3}[.．、)）]\\s*)?(?:\ue010[^\ue011]*\ue011\\s*)+")
_BEGINS: Final = re.compile(
    r"\s*(?:[(（][^)）]{0,4}[)）]\s*)?(?:\d{1,3}\s*[.．、)）]|第?[一二三四五六七八九十]+[、题])"
)


def read(path: Path) -> Writer:
    """The paragraphs, tables and pictures of a document; UserError if it is none, damaged, encrypted or too large."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _Document(archive).writer
    except _DAMAGE:
        raise UserError("it is damaged, encrypted or no Word document: save it as .docx again, or as PDF") from None


_NONE: Final = Element("none")
_RULES: Final = ({"line"}, {"straightConnector1"}, {"line", "straightConnector1"})  # shapes of a drawing that is a rule


class _Builder(TreeBuilder):
    """Builds elements whose names, and those of their attributes, have no namespaces."""

    depth = 0

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise UserError("its XML declares a document type: save it again with Word")

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UserError(f"its XML is nested more than {MAX_DEPTH} times: save it again with Word")
        named = {name.rpartition("}")[2]: value for name, value in reversed(attrs.items())}  # of two alike the first
        return super().start(tag.rpartition("}")[2], named)

    def end(self, tag: str, /) -> Element:
        self.depth -= 1
        return super().end(tag)


def _at(node: Element, path: str) -> Element:
    """The first element at a path, an empty one if there is none."""
    element = node.find(path)
    return _NONE if element is None else element


def _value(node: Element, path: str) -> str:
    return _at(node, path).get("val", "")


def _set(properties: Element, name: str) -> bool:
    node = properties.find(name)
    return node is not None and (node.get("val") or "1") in ("1", "true", "on", "single")


class _Numbers:
    def __init__(self, numbering: Element, styles: Element) -> None:
        self.levels = {
            node.get("abstractNumId", ""): {int(level.get("ilvl", "")): level for level in node.iterfind("lvl")}
            for node in numbering.iterfind("abstractNum")
        }
        self.lists: dict[str, str] = {}  # the abstract list of each
        self.starts: dict[str, dict[int, int]] = {}  # where a list restarts, until it did
        for node in numbering.iterfind("num"):
            id = node.get("numId", "")
            self.lists[id] = _value(node, "abstractNumId")
            overs = [over for over in node.iterfind("lvlOverride") if over.find("startOverride") is not None]
            self.starts[id] = {int(over.get("ilvl", "")): int(_value(over, "startOverride") or 1) for over in overs}
        self.styles = {style.get("styleId", ""): style for style in styles}
        self.counts: dict[str, dict[int, int]] = {}

    def of(self, properties: Element) -> tuple[str, int]:
        """The number of the next paragraph with these properties, and its level; "" for none."""
        own, name = _at(properties, "numPr"), _value(properties, "pStyle")
        for _ in range(10):
            if own is not _NONE or name not in self.styles:
                break
            own, name = _at(self.styles[name], "pPr/numPr"), _value(self.styles[name], "basedOn")
        id, level = _value(own, "numId"), int(_value(own, "ilvl") or 0)
        return (self._next(id, level), level) if id in self.lists else ("", 0)

    def heading(self, properties: Element) -> bool:
        """Checks for a title or a heading by its style's name."""
        name = _value(self.styles.get(_value(properties, "pStyle"), _NONE), "name")
        return bool(re.match(r"title|heading|标题", name, re.IGNORECASE))

    def _next(self, id: str, level: int) -> str:
        levels = self.levels.get(self.lists[id], {})
        counts = self.counts.setdefault(self.lists[id], {})
        counts.update({depth: start - 1 for depth, start in self.starts.pop(id, {}).items()})
        for deeper in [depth for depth in counts if depth > level]:
            del counts[deeper]
        if level not in levels:
            return ""
        for depth in range(level + 1):
            counts.setdefault(depth, int(_value(levels.get(depth, _NONE), "start") or 1) - (depth == level))
        counts[level] += 1

        def counted(match: re.Match[str]) -> str:
            depth = int(match[1]) - 1
            return numeral(counts.get(depth, 1), _value(levels.get(depth, _NONE), "numFmt"))

        is_plain = _value(levels[level], "numFmt") in ("bullet", "none")
        return "" if is_plain else re.sub(r"%([1-9])", counted, _value(levels[level], "lvlText"))


def numeral(number: int, form: str) -> str:
    """A number in a form of Word, LaTeX or a web page; digits for an unknown form."""
    if re.search("etter|lph|latin", form) and 0 < number <= 26 * 26:
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.upper() if form.startswith(("upper", "A")) else letter
    if "oman" in form and 0 < number < 400:
        roman = "".join(
            ("", u, u * 2, u * 3, u + f, f, f + u, f + u * 2, f + u * 3, u + t)[number // unit % 10]
            for unit, u, f, t in ((100, "c", "d", "m"), (10, "x", "l", "c"), (1, "i", "v", "x"))
        )
        return roman.upper() if form.startswith(("upper", "R")) else roman
    if form.startswith(("chinese", "zhnum", "japaneseCounting", "ideographDigital", "taiwanese")) and 0 < number < 100:
        tens, ones = divmod(number, 10)
        return (_HAN[tens] if tens > 1 else "") + "十" * (tens > 0) + (_HAN[ones] if ones else "")
    if 0 < number <= len(series := _SERIES.get(form, "")):
        return series[number - 1]
    return f"{number:02}" if form == "decimalZero" else str(number)


class Numbering:
    """An open list: the form of its numbers, the number of its last item, its kind."""

    def __init__(self, form: str, last: int = 0, kind: str = "") -> None:
        self.form, self.last, self.kind = form, last, kind

    def next(self) -> str:
        """The number of the next item."""
        self.last += 1
        form = re.search(r"[A-Za-z-]{4,}", self.form)
        return self.form.replace(form[0], numeral(self.last, form[0])) if form else self.form


class _Document:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self.writer = Writer()
        self.relations = {
            relation.get("Id", ""): posixpath.normpath(posixpath.join("/word", relation.get("Target", ""))).lstrip("/")
            for relation in self._xml("word/_rels/document.xml.rels")
            if relation.get("TargetMode") != "External"
        }
        self.numbers = _Numbers(self._xml("word/numbering.xml"), self._xml("word/styles.xml"))
        body = self._xml("word/document.xml").find("body")
        if body is None:
            raise UserError("it holds no text of a Word document: save it as .docx again, or as PDF")
        self.boxes: list[Paragraph] = []  # of the paragraph that is read
        self.floating = Paragraph()  # pictures that float beside it
        self.fields: list[list[str]] = []  # instruction and state of each open field
        self.ink = _answer_colours(body)
        self._blocks(body)
        self.writer.reveal()

    def _part(self, name: str) -> bytes | None:
        info = self.archive.NameToInfo.get(name)
        if info is None:
            return None
        if info.file_size > MAX_PART:
            raise UserError(f"{name} in it has more than {MAX_PART >> 20} MiB: split the document")
        with self.archive.open(info) as part:
            return part.read(info.file_size)  # no more is unpacked, even if there is more

    def _xml(self, name: str) -> Element:
        parser = XMLParser(target=_Builder())
        data = self._part(name)
        parser.feed(b"<none/>" if data is None else data)
        root: Element = parser.close()
        return root

    def _blocks(self, node: Element) -> None:
        for child in _within(node, "p", "tbl"):
            if child.tag == "p":
                for paragraph in self._paragraphs(child):
                    if _BEGINS.match(paragraph.text) and not _SOLUTION.fullmatch(paragraph.text):
                        self.writer.reveal()
                    self.writer.add(self._questioned(paragraph))
            else:
                rows = list(self._rows(child))
                self.writer.table([[[self._questioned(p) for p in cell] for cell in row] for row in rows])

    def _rows(self, table: Element) -> Iterator[list[Cell]]:
        for row in _within(table, "tr"):
            cells: list[Cell] = []
            for cell in _within(row, "tc"):
                wide = _value(cell, "tcPr/gridSpan")
                cells += [[] for _ in range(int(wide) - 1 if re.fullmatch(r"\d{1,2}", wide) else 0)]
                cells.append(self._cell(cell))
            yield cells

    def _cell(self, cell: Element) -> Cell:
        paragraphs: Cell = []
        for child in _within(cell, "p", "tbl"):
            if child.tag == "p":
                outer = self.boxes, self.floating
                paragraphs += [paragraph for paragraph in self._paragraphs(child) if paragraph.text.strip()]
                self.boxes, self.floating = outer
            else:
                paragraphs += [joined(row, "    ") for row in self._rows(child)]
        return paragraphs

    def _paragraphs(self, node: Element) -> list[Paragraph]:
        properties = _at(node, "pPr")
        number, level = self.numbers.of(properties)
        paragraph = Paragraph(f"{number} " if number else "", level, self.numbers.heading(properties))
        self.boxes, self.floating = [], Paragraph()
        self._runs(node, paragraph)
        if self.floating.text:  # behind the text that it floats beside
            paragraph.text += "\n" + re.sub(f"{UNREAD}+", UNREAD, self.floating.text)
            paragraph.pictures += self.floating.pictures
            paragraph.unread |= self.floating.unread
        runs = [run for run in node.iter("r") if run.find("t") is not None]
        paragraph.bold = bool(runs) and all(_set(_at(run, "rPr"), "b") for run in runs)
        return [paragraph, *self.boxes]

    def _questioned(self, paragraph: Paragraph) -> Paragraph:
        """A paragraph without text in the colour of the answers, unless that marks options."""
        text, labels = paragraph.text, _inked_labels(paragraph.text)
        self.writer.answers += labels
        paragraph.text = _PLAIN.sub("", text)
        if _SOLUTION.fullmatch(text) and not labels:
            self.writer.solutions.append(paragraph.text)
            paragraph.text = ""
        elif not labels:
            self.writer.answers += [inner for match in _INKED.finditer(text) if (inner := match[1].strip())]
            paragraph.text = _INKED.sub(lambda match: BLANK if match[1].strip() and match[2] else "", text)
        return paragraph

    def _runs(self, node: Element, paragraph: Paragraph) -> None:
        for child in _within(node, "r", "oMath", "oMathPara"):
            if child.tag == "r":
                self._run(child, paragraph)
            elif child.tag == "oMath":
                paragraph.formula(latex(child))
            else:  # on lines of their own
                for formula in _within(child, "oMath"):
                    paragraph.text = paragraph.text.rstrip() + "\n"
                    paragraph.formula(latex(formula))
                paragraph.text += "\n"

    def _run(self, run: Element, paragraph: Paragraph) -> None:
        properties = _at(run, "rPr")
        if _set(properties, "vanish"):
            if run.find("t") is not None:
                self.writer.notes["hidden text was left out"] = None
            return
        for child in run:
            self._piece(child, properties, paragraph)

    def _piece(self, child: Element, properties: Element, paragraph: Paragraph) -> None:
        name = child.tag
        if name == "fldChar":
            self._field(child.get("fldCharType"), paragraph)
        elif self.fields and not self.fields[-1][1] and name in ("instrText", "t"):
            self.fields[-1][0] += child.text or ""
        elif name in ("t", "tab", "ptab"):
            self._text(child.text or "" if name == "t" else "\t", properties, paragraph)
        elif name in ("br", "cr"):
            paragraph.text += "" if child.get("type") in ("page", "column") else "\n"
        elif name == "noBreakHyphen":
            paragraph.text += "-"
        elif name == "sym":
            self._symbol(child.get("font", ""), child.get("char", ""), paragraph)
        elif name in ("drawing", "pict", "object", "AlternateContent"):
            self._drawing(_chosen(child) if name == "AlternateContent" else child, paragraph)
        elif name not in (*_SKIPPED, "softHyphen", "pgNum", "separator", "continuationSeparator"):
            paragraph.gap()

    def _text(self, text: str, properties: Element, paragraph: Paragraph) -> None:
        is_inked = bool(self.ink) and _colour(properties) in self.ink
        if is_inked:
            paragraph.text = paragraph.text[:-1] if paragraph.text.endswith("\ue011") else f"{paragraph.text}\ue010"
        sign = {"superscript": "^", "subscript": "_"}.get(_value(properties, "vertAlign"))
        if _value(properties, "u") not in ("", "none") and not text.strip():
            paragraph.text += BLANK if not paragraph.text.endswith(BLANK) else ""
        elif sign:
            paragraph.script(sign, text)
        else:
            paragraph.text += text.replace("\t", "    ")
        paragraph.text += "\ue011" if is_inked else ""

    def _symbol(self, font: str, code: str, paragraph: Paragraph) -> None:
        sign = known_sign(font, 0xF000 | int(code, 16) & 0xFF) if re.fullmatch(r"[0-9A-Fa-f]{1,4}", code) else None
        if sign and sign != UNREAD:
            paragraph.text += sign
        else:
            paragraph.gap()

    def _field(self, kind: str | None, paragraph: Paragraph) -> None:
        """A field's instruction runs to its "separate" or its end; only EQ has no result to read."""
        if kind == "begin":
            self.fields.append(["", ""])
        elif kind == "separate" and self.fields:
            self.fields[-1][1] = "result"
        elif kind == "end" and self.fields:
            instruction, _ = self.fields.pop()
            if re.match(r"\s*eq\b", instruction, re.IGNORECASE):
                formula = _equation(instruction.strip()[2:])
                if self.fields and not self.fields[-1][1]:
                    self.fields[-1][0] += formula or "□"
                else:
                    paragraph.formula(formula) if formula else paragraph.gap()

    def _drawing(self, node: Element, paragraph: Paragraph) -> None:
        """Pictures and text boxes of a drawing, or a placeholder; short texts are labels of what is drawn."""
        pictures, texts = [], list[Cell]()
        for part in _within(node, "blip", "imagedata", "txbxContent"):
            if part.tag == "txbxContent":
                texts += [cell for cell in [self._cell(part)] if cell]
            else:
                target = self.relations.get(part.get("embed", "") or part.get("id", ""), "")
                pictures.append(self._part(target) if target.startswith("word/media/") else None)
        grouped = any(part.tag in ("wgp", "group", "wpc") for part in node.iter())
        boxes = [
            cell
            for cell in texts
            if sum(len(_INKED.sub("", p.text)) for p in cell) > (_LABEL if grouped else _SHORT_LABEL)
        ]
        self.boxes += [text for cell in boxes for text in cell]
        floats = any(part.tag == "anchor" or "position:absolute" in part.get("style", "") for part in node.iter())
        place = self.floating if floats else paragraph
        drawn = [picture for picture in pictures if picture and place.picture(picture)]
        lost = len(drawn) < len(pictures) or len(boxes) < len(texts) or grouped
        is_rule = {part.get("prst") for part in node.iter("prstGeom")} in _RULES
        if lost or not (pictures or texts or is_rule):
            place.gap()


def _colour(properties: Element) -> str:
    """The colour of a run, "" for black and grey."""
    value = _value(properties, "color")
    parts = bytes.fromhex(value) if re.fullmatch("[0-9A-Fa-f]{6}", value) else b"\0"
    return value.upper() if max(parts) - min(parts) >= _HUE else ""


def _answer_colours(body: Element) -> set[str]:
    """Colours that fill brackets, or that mark some of the options."""
    runs, size, answers = [], Counter[str](), set()
    for node in body.iter():
        if node.tag in ("p", "r"):
            text = "".join(child.text or "" for child in node.iterfind("t")) or "\n" * (node.tag == "p")
            runs.append((text, _colour(_at(node, "rPr"))))
            size[runs[-1][1]] += len(text)
    for colour, part in size.most_common(6):
        if not colour or 2 * part >= size.total():
            continue
        text = "".join(f"\ue010{text}\ue011" if own == colour else text for text, own in runs)
        text = text.replace("\ue011\ue010", "")
        options, marked = len(_LABELS.findall(_PLAIN.sub("", text))), len(_inked_labels(text))
        if len(_FILLED.findall(text)) >= _FEW or _FEW <= marked <= _SOME * options:
            answers.add(colour)
    return answers


def _inked_labels(text: str) -> list[str]:
    """Labels of options in the colour of the answers, or before it; a letter that fills a bracket is none."""
    labels: list[str] = []
    for match in _INKED.finditer(text):
        head = text[max(0, match.start() - 12) : match.start()]
        if before := _LABELS.search(head.rstrip()[-3:]):
            labels += [before[1]] * bool(match[1].strip())
        elif not (head[-1:] in [*"(（"] and match[2] in [*")）"] and head[:-1].strip(" \n")):
            labels += _LABELS.findall(head[-1:] + match[1] + match[2])
    return [chr((ord(label) - ord("A")) % 32 + ord("A")) for label in labels]


def _chosen(node: Element) -> Element:
    choice = node.find("Choice") if node.tag == "AlternateContent" else None
    return choice if choice is not None else node


def _within(node: Element, *names: str) -> Iterator[Element]:
    """Elements of these names, those in content controls too; they are not looked into."""
    for child in node:
        if child.tag in names:
            yield child
        elif child.tag not in _SKIPPED:
            yield from _within(_chosen(child), *names)


_SWITCH: Final = re.compile(
    r"(?:\\([a-z]+)\d*\s*((?:\\[a-z]+\d*(?:\\?[\[\]{}|()])?\s*)*))?\(([^()\\]*)\)", re.IGNORECASE
)
_SWITCHES: Final = {
    ("f", 2): "\\frac{{{}}}{{{}}}", ("r", 1): "\\sqrt{{{}}}", ("r", 2): "\\sqrt[{}]{{{}}}", ("a", 1): "{}",
    ("x", 1): "{}", ("b", 1): "\\left({}\\right)", ("vec", 1): "\\overrightarrow{{{}}}",
}  # fmt: skip
"""A switch of an EQ field, or a bracket, without another within it."""


def _equation(text: str) -> str | None:
    r"""LaTeX of an EQ field: \f(a,b), \r(n,a), \s\up6(a), \b(a), \o(a,→), the innermost first; None for another."""
    if re.search("[\ue100-\uefff]", text):  # signs of parts below
        return None
    parts: list[str] = []

    def filled(text: str) -> str:
        return re.sub("[\ue100-\uefff]", lambda match: parts[ord(match[0]) - 0xE100], text)

    def kept(match: re.Match[str]) -> str:
        inner = [filled("".join(map(symbol, part.strip()))) for part in re.split("[,;]", match[3])]
        made = _switched(match[1].lower(), (match[2] or "").lower(), inner) if match[1] else f"({filled(match[3])})"
        parts.append(match[0] if made is None else made)
        return match[0] if made is None else chr(0xE100 + len(parts) - 1)

    while len(text) < MAX_FIELD and len(parts) < MAX_SWITCHES and (text != (made := _SWITCH.sub(kept, text, count=1))):
        text = made
    return None if "\\" in text else filled("".join(map(symbol, text)))


def _switched(name: str, options: str, parts: list[str]) -> str | None:
    if name == "s":
        return f"{'_' if 'do' in options else '^'}{{{parts[0]}}}"
    if name == "o" and {*parts} & {"\\to", "→", "^{\\to}"}:
        name, parts = "vec", [part for part in parts if part not in ("\\to", "→", "^{\\to}")]
    form = _SWITCHES.get((name, len(parts) - (name == "r" and not parts[0])))
    return form.format(*parts[-form.count("{}") :]) if form and not (name == "b" and options) else None
