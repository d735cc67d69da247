"""A paper of a layout and a seed as typst source.

Every piece of a question is put into `piece`, which marks its place for `printing.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from livek12.scripts.bench.exams import content as say
from livek12.scripts.bench.exams import mathematics, sciences
from livek12.scripts.bench.exams.answering import empty_grid, key_code, marked_code, sheet_code
from livek12.scripts.bench.exams.content import GAPPED, AskedItem, PaperItem, Passage, Template, choice
from livek12.scripts.bench.exams.layouts import Labels, Numbers, PaperLayout, PaperSection
from livek12.scripts.bench.exams.tex import code, quoted

_DRAWINGS: Final = "\n" + Path(__file__).with_name("drawings.typ").read_text("utf-8").partition("\n")[2]
_FONTS: Final = {
    "en": ("Libertinus Serif", "New Computer Modern", "Liberation Sans", "Liberation Serif"),
    "zh": ("Noto Serif CJK SC", "Noto Sans CJK SC"),
    "ko": ("Noto Serif CJK KR", "Noto Sans CJK KR"),
}
_LETTERS: Final = "ABCDEFG"
_CIRCLED: Final = "①②③④⑤"
_NUMBERED: Final[dict[Numbers, str]] = {
    "cell": "{body}",
    "question": '{{ strong("Question {n}"); parbreak(); {body} }}',
    "bare": 'hanging(strong("{n}"), 2em, {body})',
    "boxed": 'hanging(boxed("{n}"), 2.4em, {body})',
    "margin": '{{ place(dx: -2em, strong("{n}")); {body} }}',
    "zero": 'hanging(strong("{n:0>2}"), 2.4em, {body})',
    "parens": '{{ "({n}) "; {body} }}',
    "q": '{{ strong("Q.{n}"); h(.6em); {body} }}',
    "bracket": '{{ "(      ) {n}. "; {body} }}',
    "inverse": 'hanging(inverse("{n}"), 2.4em, {body})',
    "math": "{{ ${n}.$; h(.5em); {body} }}",
    "dot": '{{ strong("{n}."); h(.5em); {body} }}',
    "fullwidth": '{{ "{n}．"; {body} }}',
    "comma": '{{ "{n}，"; {body} }}',
    "paren": '{{ "{n}) "; {body} }}',
}
"""A question with its number."""
_WIDE: Final = 2
"""A CJK letter is so many times as wide as a Latin one."""


@dataclass
class PaperSource:
    """Typst code of paper and key (None: no PDF of its own), and the questions."""

    paper: str
    key: str | None
    asked: list[AskedItem] = field(default_factory=list)
    count_printed: int | None = None
    hidden: list[str] = field(default_factory=list)


def source_of(layout: PaperLayout, seed: int) -> PaperSource:
    """The paper of a layout and a seed."""
    draw = random.Random(f"{layout.name}:{seed}")
    writer = _Writer(layout, draw)
    body = "\n\n".join(writer.body())
    setup = _setup(layout, draw)
    shown = sum(section.count for section in layout.sections)
    key = key_code(layout, writer.asked, writer.titles, draw) if layout.key not in ("", "marked", "below") else ""
    paper = f"{setup}\n{body}"
    if layout.sheet:
        paper += f"\n#pagebreak()\n{sheet_code(layout, writer.asked)}"
    if key and not layout.apart:
        paper += f"\n#pagebreak()\n{key}"
    assert shown == len(writer.asked)
    counted = shown if layout.counts and layout.titled else None
    return PaperSource(paper, f"{setup}\n{key}" if key and layout.apart else None, writer.asked, counted, writer.hidden)


def _setup(layout: PaperLayout, draw: random.Random) -> str:
    own = draw.choice(_FONTS[layout.language])
    fonts = f'"{own}"' if layout.language == "en" else f'"Libertinus Serif", "{own}"'
    size = draw.choice((9.5, 10, 10.5, 11)) - (0.5 if layout.columns == 2 and layout.paper != "a3" else 0)
    margin = draw.choice((1.7, 2.0, 2.3))
    leading = 0.3 if layout.language == "en" else 0.15
    head = (
        f"[{say.HEADS[layout.language]} #h(1fr) {draw.choice(say.TITLES[layout.language])}]" if layout.head else "none"
    )
    foot = {
        "en": f"[{say.FEET['en'] if layout.head else ''} #h(1fr) #context counter(page).display()]",
        "zh": '[#align(center, context [第 #counter(page).display() 页（共 #counter(page).final().first() 页）])]',
        "ko": f"[#align(center, context counter(page).display()) #h(1fr) {say.FEET['ko']}]",
    }[layout.language]  # fmt: skip
    if layout.page_of:
        foot = "[#align(center, context [Page #counter(page).display() of #counter(page).final().first()])]"
    sheet = f'paper: "{layout.paper}", flipped: {str(layout.flipped).lower()}, columns: {layout.columns}'
    return (
        f"#set page({sheet}, margin: {margin}cm, header: {head}, footer: {foot}{_ground(layout)})\n"
        f'#set text(font: ({fonts},), size: {size}pt, lang: "{layout.language}", '
        f'top-edge: "ascender", bottom-edge: "descender")\n'
        f"#set par(leading: {leading}em, spacing: {leading + 0.3}em)\n"
        f"#set columns(gutter: {34 if layout.number == 'margin' else draw.choice((14, 20, 26))}pt)\n{_DRAWINGS}"
    )


def _ground(layout: PaperLayout) -> str:
    made = []
    if layout.divider:
        made.append(
            "context { let top = if here().page() == 1 { 15% } else { 7% }; "
            "place(dx: 50%, dy: top, line(length: 92% - top, angle: 90deg, stroke: .5pt)) }"
        )
    if layout.sealed:
        made.append(f"place(dx: .5cm, dy: 4cm, rotate(-90deg, reflow: true, text(8pt, {quoted(say.SEALED)})))")
    return f", background: {{ {'; '.join(made)} }}" if made else ""


class _Writer:
    """Writes a paper's body and collects its questions."""

    def __init__(self, layout: PaperLayout, draw: random.Random) -> None:
        self.layout = layout
        self.draw = draw
        self.asked: list[AskedItem] = []
        self.titles: list[str] = []
        self.hidden: list[str] = []
        self._used: set[str] = set()
        self._bags: dict[str, list[Template]] = {}
        self._passages = 0
        self.spoken = layout.asked_in or layout.language

    def body(self) -> Iterator[str]:
        layout, language = self.layout, self.layout.language
        form = f" #h(1em) {say.FORMS[language][1]}" if layout.key == "forms" else ""
        title = self.draw.choice(say.TITLES[language])
        subject = say.SUBJECTS[language][layout.subject]
        span = ', scope: "parent", float: true' if layout.columns == 2 else ""
        head = f'align(center, {{ text(15pt, weight: "bold")[{title}]; parbreak(); text(13pt)[{subject}{form}] }})'
        yield f"#place(top + center{span}, {head})" if span else f"#{head}"
        if layout.instructions:
            lines = "; parbreak(); ".join(code(line) for line in say.INSTRUCTIONS[language])
            yield f"#{{ strong({code(say.INSTRUCTIONS_TITLE[language])}); parbreak(); {lines} }}"
        number = 0
        for index, section in enumerate(layout.sections):
            number = 0 if layout.restart else number
            total = section.count * section.points
            name = say.section_title(
                language, index, section.kind, section.count, section.points, total, layout.counts, layout.bilingual
            )
            if layout.titled:
                yield f"#strong({code(name)})"
                self.titles.append(name)
            else:
                self.titles.append("")
            if layout.answer_grid and section.kind == "choice":
                yield empty_grid(layout, range(number + 1, number + section.count + 1))
            yield from self._section(section, number)
            number += section.count

    def _section(self, section: PaperSection, number: int) -> Iterator[str]:
        if section.kind in ("cloze", "match", "forms"):
            yield from self._gapped(section, number)
            return
        made: list[str] = []
        for item, passage in self._items(section, number):
            if passage.startswith("#"):
                made.append(passage)
                continue
            number += 1
            made.append(self._question(item, number, section, passage))
        if split := self.layout.split:
            parts = round(len(made) * split[0] / sum(split) + 0.01)
            cells = ", ".join(f"[{chr(10).join(part)}]" for part in (made[:parts], made[parts:]))
            widths = f"columns: ({split[0]}fr, {split[1]}fr), column-gutter: 18pt"
            yield f"#block(breakable: false, grid({widths}, {cells}))"
            return
        if self.layout.number == "cell":
            rows = ", ".join(made)
            yield f"#table(columns: (1.2cm, 1fr, 1.4cm), stroke: .5pt, inset: 5pt, {rows})"
        else:
            yield from made

    def _items(self, section: PaperSection, number: int) -> Iterator[tuple[PaperItem, str]]:
        if section.kind in ("reading", "data"):
            shared = sciences.reading if section.kind == "reading" else sciences.data
            passage = shared(self.draw, say.words_of(section.kind, self.spoken), section.count)
            direction, code_ = self._passage_code(passage, number + 1)
            yield PaperItem(""), code_
            for item in passage.items:
                yield item.with_options(self.layout.options), f"{direction}\n{passage.text}"
            return
        for at in range(section.count):
            item = self._drawn(section.kind).with_options(self.layout.options)
            if self.layout.alternatives and section.kind == "free" and at % 2:
                item = replace(item, alternative=self._drawn("free").stem)
            yield item, ""

    def _gapped(self, section: PaperSection, number: int) -> Iterator[str]:
        made = gapped(section.kind, self.draw, section.count)
        labels = [_bare_label("A.", index) for index in range(len(made.shared))]
        body = "; ".join(
            f'{quoted(piece)}; underline("  {number + at}  ")' if at <= section.count else quoted(piece)
            for at, piece in enumerate(made.pieces, 1)
        )
        yield f"#par(first-line-indent: 2em, {{ {body} }})\n"
        for label, text in zip(labels, made.shared, strict=True):
            yield f"#{code(f'{label}. {text}')}\n"
        passage = made.text(number + 1)
        for at, item in enumerate(made.items, number + 1):
            shown = replace(item, options=made.shared or item.options)
            own = tuple(_bare_label("A.", index) for index in range(len(shown.options)))
            entry = AskedItem(
                f"q{len(self.asked)}", str(at), self.titles[-1], replace(shown, stem=f"{at}."), own,
                points=section.points or None, passage=passage,
            )  # fmt: skip
            self.asked.append(entry)
            if item.options:
                row = "; h(1fr); ".join(code(f"{label}. {text}") for label, text in zip(own, item.options, strict=True))
                yield f'#piece("{entry.mark}", "text", {{ "{at}. "; {row} }})\n'

    def _passage_code(self, passage: Passage, first: int) -> tuple[str, str]:
        last = first + len(passage.items) - 1
        instruction = {
            "en": f"Questions {first}–{last} refer to the following passage.",
            "zh": f"阅读下面的文字，完成{first}～{last}题。",
            "ko": f"[{first}～{last}] 다음 글을 읽고 물음에 답하시오.",
        }[self.layout.language]
        self._passages += 1
        body = code(passage.text)
        if passage.table:
            instruction = instruction.replace("passage", "table").replace("文字", "表格").replace("글", "표")
            rows = ", ".join("(" + ", ".join(code(cell) for cell in row) + ",)" for row in passage.table)
            body = f"align(center, cells(({rows},)))"
        if self.layout.framed:
            body = f"block(stroke: .6pt, inset: 6pt, width: 100%, {body})"
        return instruction, f'#emph({code(instruction)})\n\n#piece("p{self._passages}", "passage", {body})\n'

    def _drawn(self, kind: str) -> PaperItem:
        sets = {"choice": "CHOICES", "blank": "BLANKS", "free": "FREE"}[kind]
        rooms = {"mathematics": (mathematics,), "sciences": (sciences,), "both": (mathematics, sciences)}
        templates = [template for room in rooms[self.layout.subject] for template in getattr(room, sets)]
        for _ in range(200):
            bag = self._bags.setdefault(sets, [])
            bag[:] = bag or self.draw.sample(templates, len(templates))
            template = bag.pop()
            item = template(self.draw, say.words_of(template.__name__, self.spoken))
            text = item.stem + "".join(item.options)
            if text not in self._used and (kind == "choice" or item.stem not in self._used):
                self._used |= {text, item.stem}
                return item
        raise ValueError(f"{self.layout.name}: too few templates for so many questions of kind {kind}")

    def _question(self, item: PaperItem, number: int, section: PaperSection, passage: str) -> str:
        layout = self.layout
        points = section.points or sum(part.points for part in item.parts) or None
        worth = points if section.points or layout.marks else None
        labels = tuple(_bare_label(layout.labels, i) for i in range(len(item.options)))
        entry = AskedItem(
            f"q{len(self.asked)}", str(number), self.titles[-1] if self.titles else "", item, labels,
            tuple(self._part_labels(len(item.parts))), worth, passage,
        )  # fmt: skip
        self.asked.append(entry)
        code_ = (
            self._cell(entry) if layout.number == "cell" else "\n".join(f"#{piece}\n" for piece in self._pieces(entry))
        )
        if layout.key in ("marked", "below") and entry.answer:
            code_ += f"\n#{marked_code(layout, entry.answer)}\n"
        if layout.hidden and self.draw.random() < 0.5:
            hidden = self.draw.choice(say.HIDDEN[layout.language])
            self.hidden.append(hidden)
            code_ += f"\n#unseen({code(hidden)})\n"
        return code_

    def _part_labels(self, count: int) -> Iterator[str]:
        style = self.layout.parts
        nested = style == "(a)(i)" and count > 2
        for index in range(count):
            if nested and index < 2:
                yield ("(a) (i)", "(ii)")[index]
            elif style in ("(a)", "(a)(i)"):
                yield f"({_LETTERS[index - nested].lower()})"
            else:
                yield style.replace("1", str(index + 1)).replace("Ⅰ", "ⅠⅡⅢⅣⅤ"[index])

    def _cell(self, entry: AskedItem) -> str:
        inner = "; parbreak(); ".join(self._pieces(entry))
        number = f'piece("{entry.mark}", "number", "{entry.number}")'
        marks = f"{entry.points:g}" if entry.points else ""
        return f'{number}, {{ {inner} }}, "{marks}"'

    def _pieces(self, entry: AskedItem) -> Iterator[str]:
        item, mark = entry.item, entry.mark
        yield f'piece("{mark}", "text", {self._stem(entry)})'
        if item.table:
            rows = ", ".join("(" + ", ".join(code(cell) for cell in row) + ",)" for row in item.table)
            yield f'piece("{mark}", "table", align(center, cells(({rows},))))'
        if item.figure:
            yield f'piece("{mark}", "text", align(center, figure-of("{mark}", {item.figure}-figure)))'
        if item.options:
            yield f'piece("{mark}", "options", {self._options(entry)})'
        for label, part in zip(entry.parts, item.parts, strict=True):
            shown = self.layout.marks in ("end", "maximum", "margin")
            marks = f"; h(1fr); {self._end_marks(part.points)}" if shown else ""
            if self.layout.marks == "korean":
                marks = f'; " [{part.points}점]"'
            yield f'piece("{mark}", "part", {{ "{label} "; {code(part.text)}{marks} }})'
            if self.layout.marks == "total":
                yield f'align(right, strong("({part.points})"))'
            if self.layout.lines:
                yield "{ " + "; ".join(["answer-line"] * (part.points + 1)) + " }"
        if self.layout.lines and item.parts and entry.points:
            yield f'align(right, "[Total: {entry.points:g}]")'
        if self.layout.marks == "total":
            if entry.points and not item.parts:
                yield f'align(right, strong("({entry.points:g})"))'
            yield f'align(center, strong("(Total for Question {entry.number} is {entry.points or 1:g} marks)"))'
        if item.alternative:
            yield 'align(center, strong("OR"))'
            yield f'piece("{mark}", "text", {code(item.alternative)})'

    def _end_marks(self, points: float) -> str:
        return f'"{points:g}"' if self.layout.marks == "margin" else f'"[{points:g}]"'

    def _stem(self, entry: AskedItem) -> str:
        layout, n = self.layout, entry.number
        body = code(entry.item.stem)
        if entry.points and (layout.marks == "each" or (layout.marks == "start" and entry.item.kind == "free")):
            prefix = f"({entry.points:g} points) " if layout.language == "en" else f"（{entry.points:g}分）"
            body = f'{{ "{prefix}"; {body} }}'
        if entry.points and layout.marks == "korean" and not entry.item.parts:
            body = f'{{ {body}; " [{entry.points:g}점]" }}'
        if entry.points and layout.marks == "maximum":
            body = f'{{ "[Maximum mark: {entry.points:g}]"; parbreak(); {body} }}'
        at_end = layout.marks in ("end", "margin") and not entry.item.parts
        if entry.points and at_end and layout.number != "cell":
            body = f"{{ {body}; h(1fr); {self._end_marks(entry.points)} }}"
        return _NUMBERED[layout.number].format(n=n, body=body)

    def _options(self, entry: AskedItem) -> str:
        made = []
        for index, text in enumerate(entry.item.options):
            label = _printed_label(self.layout.labels, index)
            made.append(f"{{ {label}; {code(text)} }}")
        if self.layout.arranged == "cells":
            return f"align(center, table(columns: (6cm,) * 2, stroke: .5pt, inset: 5pt, {', '.join(made)}))"
        columns = self._across(entry.item.options)
        gutters = "row-gutter: .7em, column-gutter: .6em"
        return f"block(inset: (left: 1em), grid(columns: (1fr,) * {columns}, {gutters}, {', '.join(made)}))"

    def _across(self, options: Sequence[str]) -> int:
        longest = max(_width(text) for text in options)
        room = 80 // (2 if self.layout.split else self.layout.columns) * (2 if self.layout.paper == "a3" else 1)
        fits = next((n for n in (len(options), 2) if n * (longest + 5) <= room), 1)
        return {"list": 1, "two": min(2, fits), "row": fits, "auto": fits, "cells": 2}[self.layout.arranged]


def _bare_label(style: Labels, index: int) -> str:
    if style == "①":
        return _CIRCLED[index]
    if style == "(1)":
        return str(index + 1)
    return _LETTERS[index].lower() if style == "a." else _LETTERS[index]


def _printed_label(style: Labels, index: int) -> str:
    letter = _bare_label(style, index)
    if style == "①":
        return f'"{letter} "'
    if style == "(1)":
        return f'"({letter}) "'
    if style == "A":
        return f'strong("{letter}"); h(.8em)'
    return f'"{style.replace("A", letter).replace("a", letter)}{"" if "．" in style else " "}"'


def _width(text: str) -> int:
    bare = text.replace("\\frac", "").replace("\\overrightarrow", "").replace("\\sqrt", "v")
    return sum(_WIDE if ord(letter) > 0x2E80 else letter not in "${}\\^_" for letter in bare)


@dataclass(frozen=True)
class GappedText:
    """A passage between gaps, their items, and the options that all share."""

    pieces: tuple[str, ...]
    items: tuple[PaperItem, ...]
    shared: tuple[str, ...] = ()

    def text(self, first: int) -> str:
        """The passage with numbered gaps."""
        text = self.pieces[0]
        for number, piece in enumerate(self.pieces[1:], first):
            text += f"{number}{piece}"
        return text


def gapped(kind: str, draw: random.Random, count: int) -> GappedText:
    """A passage with `count` gaps, as cloze, match or forms."""
    text = GAPPED[kind].replace("<a>", draw.choice(GAPPED["names"]))
    pieces = text.split("____")
    pieces = [*pieces[:count], "".join(pieces[count:])]
    if kind == "cloze":
        items = [
            choice(draw, "", right, [*wrong, "whispered"]).with_options(4) for right, *wrong in GAPPED["chosen"][:count]
        ]
        return GappedText(tuple(pieces), tuple(items))
    if kind == "forms":
        return GappedText(
            tuple(pieces), tuple(PaperItem("", "blank", answer=word) for word in GAPPED["written"][:count])
        )
    sentences = GAPPED["sentences"]
    shared = draw.sample(sentences, len(sentences))
    rights = [shared.index(sentence) for sentence in sentences[:count]]
    return GappedText(tuple(pieces), tuple(PaperItem("", "choice", answer=at) for at in rights), tuple(shared))
