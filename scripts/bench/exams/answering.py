"""Keys and answer sheets of a paper, in typst."""

from __future__ import annotations

import random
from collections.abc import Sequence

from livek12.scripts.bench.exams import content as say
from livek12.scripts.bench.exams.content import AskedItem
from livek12.scripts.bench.exams.layouts import PaperLayout
from livek12.scripts.bench.exams.tex import code

_IN_A_ROW = 8


def key_code(layout: PaperLayout, asked: Sequence[AskedItem], titles: Sequence[str], draw: random.Random) -> str:
    """The key of a paper."""
    answered = [entry for entry in asked if entry.answer]
    title = f"#align(center, text(14pt, {code(say.KEY_TITLES[layout.language])}))\n"
    made = []
    for name in dict.fromkeys(titles) if layout.restart else [""]:
        own = [entry for entry in answered if entry.section == name] if layout.restart else answered
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
    """Bubbles to fill in."""
    rows = []
    for entry in asked:
        bubbles = "; h(.6em); ".join(
            f'box(circle(radius: .26cm, stroke: .5pt, align(center + horizon, text(7pt, "{label}"))))'
            for label in entry.labels
        )
        rows.append(f'{{ box(width: 1.8em, "{entry.number}"); {bubbles} }}')
    grid = f"#grid(columns: (1fr, 1fr), row-gutter: .7em, {', '.join(rows)})"
    return f"#align(center, text(14pt, {code(say.SHEET[layout.language])}))\n\n{grid}"


def empty_grid(layout: PaperLayout, numbers: Sequence[int]) -> str:
    """An empty table for answers."""
    number, answer, _points = say.KEY_HEADS[layout.language]
    cells = [code(number), *(f'"{entry}"' for entry in numbers), code(answer), *['""'] * len(numbers)]
    return f"#table(columns: {len(numbers) + 1}, stroke: .5pt, {', '.join(cells)})"


def _rows(entries: Sequence[AskedItem], size: int) -> list[Sequence[AskedItem]]:
    return [entries[start : start + size] for start in range(0, len(entries), size)]


def _table(layout: PaperLayout, entries: Sequence[AskedItem], _: random.Random) -> str:
    number, answer, _points = say.KEY_HEADS[layout.language]
    made = []
    for row in _rows(entries, _IN_A_ROW):
        cells = [
            code(number),
            *(f'"{entry.number}"' for entry in row),
            code(answer),
            *(code(entry.answer) for entry in row),
        ]
        made.append(f"#table(columns: {len(row) + 1}, stroke: .5pt, {', '.join(cells)})")
    return "\n\n".join(made)


def _points(layout: PaperLayout, entries: Sequence[AskedItem], _: random.Random) -> str:
    cells = [f"strong({code(head)})" for head in say.KEY_HEADS[layout.language]]
    for entry in entries:
        cells += [f'"{entry.number}"', code(entry.answer), f'"{entry.points:g}"' if entry.points else '""']
    return f"#table(columns: 3, stroke: .5pt, {', '.join(cells)})"


def _list(layout: PaperLayout, entries: Sequence[AskedItem], _: random.Random) -> str:
    sign = {"en": ". ", "zh": "．", "ko": ") "}[layout.language]
    pieces = "; h(1.6em, weak: true); ".join(
        f'box({{ "{entry.number}{sign}"; {code(entry.answer)} }})' for entry in entries
    )
    return f"#{{ {pieces} }}"


def _ranges(_: PaperLayout, entries: Sequence[AskedItem], __: random.Random) -> str:
    lines = []
    choices = [entry for entry in entries if entry.item.kind == "choice"]
    for row in _rows(choices, 5):
        first, last = row[0].number, row[-1].number
        span = f"{first}～{last}" if len(row) > 1 else first
        lines.append(code(f"{span}　{''.join(entry.answer for entry in row)}"))
    lines += [code(f"{entry.number}．{entry.answer}") for entry in entries if entry.item.kind != "choice"]
    return "\n\n".join(f"#{line}" for line in lines)


def _blocks(_: PaperLayout, entries: Sequence[AskedItem], __: random.Random) -> str:
    lines = [f"【第{entry.number}题】【答案】{entry.answer}　【解析】由题意直接计算可得。" for entry in entries]
    return "\n\n".join(f"#{code(line)}" for line in lines)


def _two_forms(layout: PaperLayout, entries: Sequence[AskedItem], draw: random.Random) -> str:
    cells = [f"strong({code(head)})" for head in (say.KEY_HEADS[layout.language][0], *say.FORMS[layout.language])]
    for entry in entries:
        other = draw.choice([label for label in entry.labels if label != entry.answer] or [entry.answer])
        cells += [f'"{entry.number}"', code(other), code(entry.answer)]
    return f"#table(columns: 3, stroke: .5pt, {', '.join(cells)})"


def _spans(layout: PaperLayout, entries: Sequence[AskedItem], _: random.Random) -> str:
    number, answer, _points = say.KEY_HEADS[layout.language]
    rows = _rows([entry for entry in entries if entry.item.kind == "choice"], 5)
    spans = [f"{row[0].number}-{row[-1].number}" if len(row) > 1 else row[0].number for row in rows]
    letters = ["".join(entry.answer for entry in row) for row in rows]
    cells = ", ".join(code(cell) for cell in (number, *spans, answer, *letters))
    table = f"#table(columns: {len(rows) + 1}, stroke: .5pt, {cells})"
    return "\n\n".join(
        [table, *(f"#{code(f'{entry.number}. {entry.answer}')}" for entry in entries if entry.item.kind != "choice")]
    )


def _items(layout: PaperLayout, entries: Sequence[AskedItem], draw: random.Random) -> str:
    cells = [f"strong({code(head)})" for head in ("Item", "Type", "Key", "Points", "Standard")]
    for entry in entries:
        kind = {"choice": "MC", "blank": "SA", "free": "CR"}[entry.item.kind]
        standard = f"{draw.randint(5, 8)}.{draw.choice(('EE', 'NS', 'PS', 'LS'))}.{draw.randint(1, 9)}"
        cells += [f'"{entry.number}"', f'"{kind}"', code(entry.answer), f'"{entry.points:g}"' if entry.points else '""']
        cells.append(f'"{standard}"')
    return f"#table(columns: 5, stroke: .5pt, {', '.join(cells)})"


def _scored(layout: PaperLayout, entries: Sequence[AskedItem], draw: random.Random) -> str:
    choices = [entry for entry in entries if entry.item.kind == "choice"]
    lines = [
        f"{entry.number}．{entry.answer}（{entry.points or 5:g}分）　评分说明：结果正确得满分，只写过程得 2 分。"
        for entry in entries
        if entry.item.kind != "choice"
    ]
    return "\n\n".join([_table(layout, choices, draw), *(f"#{code(line)}" for line in lines)])


_FORMS = {
    "table": _table, "points": _points, "list": _list, "ranges": _ranges, "blocks": _blocks, "forms": _two_forms,
    "spans": _spans, "items": _items, "scored": _scored,
}  # fmt: skip
