"""Keys and answer sheets of a paper, in typst."""

from __future__ import annotations

import random
from collections.abc import Sequence

from livek12.scripts.bench.exams import words as say
from livek12.scripts.bench.exams.content import AskedItem
from livek12.scripts.bench.exams.paper_layout import PaperLayout
from livek12.scripts.bench.exams.tex import code

_IN_A_ROW = 8


def key_code(layout: PaperLayout, asked: Sequence[AskedItem], titles: Sequence[str], draw: random.Random) -> str:
    """The key of a paper, in the form of its layout."""
    known = [one for one in asked if one.answer]
    title = f"#align(center, text(14pt, {code(say.KEY_TITLES[layout.language])}))\n"
    made = []
    for name in dict.fromkeys(titles) if layout.restart else [""]:
        own = [one for one in known if one.section == name] if layout.restart else known
        if own:
            heading = f"#strong({code(name)})\n\n" if name else ""
            made.append(heading + _FORMS[layout.key](layout, own, draw))
    return title + "\n\n".join(made)


def marked_code(layout: PaperLayout, answer: str) -> str:
    """An answer below its question."""
    if layout.key == "below":
        return code(f"Ans. ({answer})" if len(answer) == 1 else f"Ans. {answer}")
    return code(f"【答案】{answer}")


def sheet_code(layout: PaperLayout, asked: Sequence[AskedItem]) -> str:
    """Bubbles, a line a question."""
    rows = []
    for one in asked:
        bubbles = "; h(.6em); ".join(
            f'box(circle(radius: .26cm, stroke: .5pt, align(center + horizon, text(7pt, "{label}"))))'
            for label in one.labels
        )
        rows.append(f'{{ box(width: 1.8em, "{one.number}"); {bubbles} }}')
    grid = f"#grid(columns: (1fr, 1fr), row-gutter: .7em, {', '.join(rows)})"
    return f"#align(center, text(14pt, {code(say.SHEET[layout.language])}))\n\n{grid}"


def empty_grid(layout: PaperLayout, numbers: Sequence[int]) -> str:
    """An empty table for the answers of some questions."""
    number, answer, _points = say.KEY_HEADS[layout.language]
    cells = [code(number), *(f'"{one}"' for one in numbers), code(answer), *['""'] * len(numbers)]
    return f"#table(columns: {len(numbers) + 1}, stroke: .5pt, {', '.join(cells)})"


def _rows(asked: Sequence[AskedItem], size: int) -> list[Sequence[AskedItem]]:
    return [asked[start : start + size] for start in range(0, len(asked), size)]


def _table(layout: PaperLayout, asked: Sequence[AskedItem], _: random.Random) -> str:
    number, answer, _points = say.KEY_HEADS[layout.language]
    made = []
    for row in _rows(asked, _IN_A_ROW):
        cells = [code(number), *(f'"{one.number}"' for one in row), code(answer), *(code(one.answer) for one in row)]
        made.append(f"#table(columns: {len(row) + 1}, stroke: .5pt, {', '.join(cells)})")
    return "\n\n".join(made)


def _points(layout: PaperLayout, asked: Sequence[AskedItem], _: random.Random) -> str:
    cells = [f"strong({code(head)})" for head in say.KEY_HEADS[layout.language]]
    for one in asked:
        cells += [f'"{one.number}"', code(one.answer), f'"{one.points:g}"' if one.points else '""']
    return f"#table(columns: 3, stroke: .5pt, {', '.join(cells)})"


def _list(layout: PaperLayout, asked: Sequence[AskedItem], _: random.Random) -> str:
    sign = {"en": ". ", "zh": "．", "ko": ") "}[layout.language]
    pieces = "; h(1.6em, weak: true); ".join(f'box({{ "{one.number}{sign}"; {code(one.answer)} }})' for one in asked)
    return f"#{{ {pieces} }}"


def _ranges(_: PaperLayout, asked: Sequence[AskedItem], __: random.Random) -> str:
    lines = []
    choices = [one for one in asked if one.item.kind == "choice"]
    for row in _rows(choices, 5):
        first, last = row[0].number, row[-1].number
        span = f"{first}～{last}" if len(row) > 1 else first
        lines.append(code(f"{span}　{''.join(one.answer for one in row)}"))
    lines += [code(f"{one.number}．{one.answer}") for one in asked if one.item.kind != "choice"]
    return "\n\n".join(f"#{line}" for line in lines)


def _blocks(_: PaperLayout, asked: Sequence[AskedItem], __: random.Random) -> str:
    lines = [f"【第{one.number}题】【答案】{one.answer}　【解析】由题意直接计算可得。" for one in asked]
    return "\n\n".join(f"#{code(line)}" for line in lines)


def _two_forms(layout: PaperLayout, asked: Sequence[AskedItem], draw: random.Random) -> str:
    cells = [f"strong({code(head)})" for head in (say.KEY_HEADS[layout.language][0], *say.FORMS[layout.language])]
    for one in asked:
        other = draw.choice([label for label in one.labels if label != one.answer] or [one.answer])
        cells += [f'"{one.number}"', code(other), code(one.answer)]
    return f"#table(columns: 3, stroke: .5pt, {', '.join(cells)})"


def _spans(layout: PaperLayout, asked: Sequence[AskedItem], _: random.Random) -> str:
    number, answer, _points = say.KEY_HEADS[layout.language]
    rows = _rows([one for one in asked if one.item.kind == "choice"], 5)
    spans = [f"{row[0].number}-{row[-1].number}" if len(row) > 1 else row[0].number for row in rows]
    letters = ["".join(one.answer for one in row) for row in rows]
    cells = ", ".join(code(cell) for cell in (number, *spans, answer, *letters))
    table = f"#table(columns: {len(rows) + 1}, stroke: .5pt, {cells})"
    return "\n\n".join(
        [table, *(f"#{code(f'{one.number}. {one.answer}')}" for one in asked if one.item.kind != "choice")]
    )


def _items(layout: PaperLayout, asked: Sequence[AskedItem], draw: random.Random) -> str:
    cells = [f"strong({code(head)})" for head in ("Item", "Type", "Key", "Points", "Standard")]
    for one in asked:
        kind = {"choice": "MC", "blank": "SA", "free": "CR"}[one.item.kind]
        standard = f"{draw.randint(5, 8)}.{draw.choice(('EE', 'NS', 'PS', 'LS'))}.{draw.randint(1, 9)}"
        cells += [f'"{one.number}"', f'"{kind}"', code(one.answer), f'"{one.points:g}"' if one.points else '""']
        cells.append(f'"{standard}"')
    return f"#table(columns: 5, stroke: .5pt, {', '.join(cells)})"


def _scored(layout: PaperLayout, asked: Sequence[AskedItem], draw: random.Random) -> str:
    choices = [one for one in asked if one.item.kind == "choice"]
    lines = [
        f"{one.number}．{one.answer}（{one.points or 5:g}分）　评分说明：结果正确得满分，只写过程得 2 分。"
        for one in asked
        if one.item.kind != "choice"
    ]
    return "\n\n".join([_table(layout, choices, draw), *(f"#{code(line)}" for line in lines)])


_FORMS = {
    "table": _table, "points": _points, "list": _list, "ranges": _ranges, "blocks": _blocks, "forms": _two_forms,
    "spans": _spans, "items": _items, "scored": _scored,
}  # fmt: skip
