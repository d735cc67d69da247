"""The card of papers as a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

Json = dict[str, Any]
_COLUMNS: Final = {
    "questions": "questions", "found": "found", "similarity": "text", "formulas": "formulas", "options": "options",
    "answer": "keys", "points": "points", "figures": "figures", "iou": "IoU", "extra": "invented",
}  # fmt: skip
_NAMES: Final = {
    "livek12": "livek12", "text layer": "text layer (pypdfium2)", "mineru": "MinerU, tier flash"
}  # fmt: skip
_SILENT: Final = {
    "found": "question lost", "extra": "question invented", "text": "text", "formulas": "formula", "options": "options",
    "answer": "key", "points": "points", "figures": "figures", "hidden": "unseen text read",
}  # fmt: skip
_HEAD: Final = """\
# How well are papers read that nobody prepared?

Papers of {layouts} layouts, made by a seed with their gold ([how](exam-segmentation.md)), read by `livek12 ingest` and
by other tools. Of each layout {open} stood open when rules were written; at {closed} nobody looked,
and those are the figures that count. Everything on this page is written by

```
python scripts/bench/paper_card.py --work WORK --out docs [--tool NAME=PLACE]… [--shared DATA]
```

Questions are *found* by number and text. *Text* is the mean similarity (1 less the normalised edit distance; 0 for a
question that was not found). *Formulas, options, keys, points* and *figures* are the share that is right; *IoU* is the
mean overlap of a question's boxes with the ink of the question (ours are as wide as their column on purpose, so 1 is
out of reach). A **silent error** is something wrong without a doubt at that question and without a line that says that
the number is missing or the paper unreadable; *clean* is the share of questions without one. A paper that is refused
in so many words is clean and of no use: read both columns. Tools that give text alone
are cut into questions by one simple rule, the same for all of them, and can doubt nothing.
"""


def page(card: Json) -> str:
    """The page."""
    seeds = {
        kind: f"seeds {some[0]} to {some[-1]}" if len(some) > 1 else f"seed {some[0]}"
        for kind, some in card["seeds"].items()
    }
    pieces = [_HEAD.format(layouts=len(card["layouts"]), **seeds)]
    pieces.append("## All tools\n")
    for part in ("closed, born-digital", "open, born-digital", "closed, scanned", "open, scanned"):
        rows = [
            (_NAMES.get(tool, tool), scores[part]["all"]) for tool, scores in card["tools"].items() if part in scores
        ]
        if rows:
            pieces.append(f"**{part[0].upper()}{part[1:]}**\n\n{table('tool', rows)}\n")
    ours = card["tools"]["livek12"]
    others = {tool: scores for tool, scores in card["tools"].items() if tool != "livek12"}
    for part, title in (
        ("closed, born-digital", "closed seeds"),
        ("closed, scanned", "closed seeds, scanned (the first seed)"),
    ):
        if part in ours:
            pieces.append(f"## By layout: {title}\n\n{table('layout', _layouts(ours[part]))}\n")
    pieces.append("## Silent errors of ours\n\nClosed seeds; in brackets, what is wrong and doubted.\n")
    pieces.append(_silent(ours))
    if others:
        pieces.append(
            "## Found and silent beside the others\n\nClosed seeds, born-digital: questions found, and clean ones.\n"
        )
        pieces.append(_beside(card))
    if "public" in ours:
        pieces.append(_public(card))
    pieces.append(
        "## The layouts\n\n" + "\n".join(f"- `{name}`: {about}" for name, about in card["layouts"].items()) + "\n"
    )
    return "\n".join(pieces)


def table(head: str, rows: Sequence[tuple[str, Json]]) -> str:
    """Figures as a Markdown table."""
    lines = [
        f"| {head} | {' | '.join(_COLUMNS.values())} | silent errors | clean |",
        "| --- " * (len(_COLUMNS) + 3) + "|",
    ]
    for name, scores in rows:
        cells = [_cell(key, scores.get(key)) for key in _COLUMNS]
        lines.append(f"| {name} | {' | '.join(cells)} | {sum(scores['silent'].values())} | {_share(scores['clean'])} |")
    return "\n".join(lines)


def _cell(key: str, value: Any) -> str:
    if value is None:
        return "–"
    return (
        str(value)
        if key in ("questions", "extra")
        else f"{value:.2f}"
        if key in ("similarity", "iou")
        else _share(value)
    )


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _layouts(part: Mapping[str, Json]) -> list[tuple[str, Json]]:
    return [(f"`{name}`", scores) for name, scores in part.items() if name != "all"] + [("all", part["all"])]


def _silent(ours: Mapping[str, Mapping[str, Json]]) -> str:
    parts = [part for part in ("closed, born-digital", "closed, scanned") if part in ours]
    lines = [f"| what is wrong | {' | '.join(parts)} |", "| --- " * (len(parts) + 1) + "|"]
    for key, name in _SILENT.items():
        cells = [
            f"{ours[part]['all']['silent'].get(key, 0)} ({ours[part]['all']['doubted'].get(key, 0)})" for part in parts
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _beside(card: Json) -> str:
    part = "closed, born-digital"
    tools = [tool for tool, scores in card["tools"].items() if part in scores]
    lines = [f"| layout | {' | '.join(_NAMES.get(tool, tool) for tool in tools)} |", "| --- " * (len(tools) + 1) + "|"]
    for layout in (*card["layouts"], "all"):
        cells = []
        for tool in tools:
            scores = card["tools"][tool][part].get(layout)
            cells.append(f"{_share(scores['found'])}, {_share(scores['clean'])}" if scores else "–")
        lines.append(f"| {layout if layout == 'all' else f'`{layout}`'} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _public(card: Json) -> str:
    names: Iterable[str] = card["tools"]["livek12"]["public"]
    pieces = [
        "## Public papers\n\nPapers that may be read and not passed on; of the Korean one the gold is"
        " boxes alone, so that only questions and boxes count.\n"
    ]
    for name in names:
        rows = [
            (_NAMES.get(tool, tool), scores["public"][name])
            for tool, scores in card["tools"].items()
            if "public" in scores
        ]
        pieces.append(f"**{name}**\n\n{table('tool', rows)}\n")
    return "\n".join(pieces)
