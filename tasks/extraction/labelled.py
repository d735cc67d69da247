"""Parts with labels ("(1) … (2) …", "① … ② …") and values with names ("v = 3 m/s")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from livek12.core.patterns import late
from livek12.judges.rules.names import is_named, place_of
from livek12.judges.rules.notation import split_values
from livek12.tasks.extraction.regions import without_stars
from livek12.tasks.extraction.remarks import ANSWER, SO

_LABELS = (
    late(r"(?<![A-Za-z0-9_}])[(（]\s*(\d{1,2})\s*[)）]"),
    late(r"第?\s?([①-⑳])(?:\s?(?:个?空|小?题))?"),
    late(r"(?:【?小?题\s*|第\s*)(\d{1,2})\s*[】题空问小]*"),
    late(r"第\s*([一二三四五六七八九十])\s*个?\s*[空问题]"),
    late(r"空\s*(\d{1,2})\s*(?=[:：])"),
    late(r"(?i)\b(first|second|third|fourth|fifth)\s(?:blank|answer|part|value)\s?(?:is\b|:)"),
    late(r"(?i)\b(?:blank|part|question|q)\s*\(?([\da-j])\)?\s*(?=[:：.)])"),
    late(r"(첫|[두둘]|[세셋]|[네넷]|다섯)\s?(?:번\s?)?째\s*(?:빈칸|칸|답)"),
    late(r"(?m)^(?:#+ ?)?\**(\d{1,2})\s*[.、．:：)]"),
    late(r"(?m)(?:^|[;；,，]\s?)(\d)\s?[)）]"),
    late(r"[(（]\s*([a-j가나다라마바])\s*[)）]"),
    late(r"[(（]\s*(i{1,3}|iv|vi?)\s*[)）]"),
)
"""Signs of parts, the surest first; numbers at the very edge of a line before those of a list within a part."""
_SERIES = [*map(list, ("一二三四五六七八九十", "abcdefghij", "가나다라마바", "첫두세네", "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"))]
_SERIES += map(str.split, ("첫 둘 셋 넷 다섯", "first second third fourth fifth", "_ ii iii iv v vi"))
_ORDER = {label: number for series in _SERIES for number, label in enumerate(series, 1)}
_LIST_MARK = late(r"^\s{0,4}(?:[-*•]|\d+[.)])\s+")
MAX_LINE = 1200
Mark = tuple[int, re.Match[str]]
"""The number of a label and its position."""
_HEAD_CHARS = 20
_HEAD = late(
    r"(?i)(?:\A|[\n;；,，.。:：{]|(?<![A-Za-z])(?:is|are|and)|[是为和])[\s*#$]{0,6}(?:(?:and|the)\s{1,3}){0,2}[^\s]?\Z"
)
_JSON_ENTRY = late(
    r"[{,]\s{0,20}\"([^\"\n]{1,60})\"\s?:\s?(?:\"([^\"\n]{1,200})\"|([^\s,{}\[\]\"][^,{}\n]{0,80}))\s{0,20}}?"
)
_LEAD = late(rf"(?i)\A{SO}(?:[，,：:]|(?![A-Za-z]))\s*")
_SIGN = late(r"[=≈:：]|\\approx")
_ROW = late(r"(?m)^ ?\|([^\n]*)\|[^\S\n]*$")
_RULE = late(r"[\s|:-]*")
_ANSWER_HEAD = late(ANSWER, re.IGNORECASE)


def labelled_parts(text: str, count: int) -> list[str]:
    """The pieces behind the last labels 1…count of a kind (later ones belong to a nested list), in order."""
    kinds = [[(_number(match[1], pattern), match) for match in pattern.finditer(text)] for pattern in _LABELS]
    in_order = list(range(1, count + 1))
    runs = [kind[-count:] for kind in kinds if [number for number, _ in kind[-count:]] == in_order]
    runs += [kind for kind in kinds if sorted(number for number, _ in kind) == in_order and all(map(_is_head, kind))]
    if not runs:
        return []
    ends = [match.start() for _, match in runs[0][1:]] + [len(text)]
    pieces = [(number, text[match.end() : end]) for (number, match), end in zip(runs[0], ends, strict=True)]
    return [piece for _, piece in sorted(pieces)]


def _number(label: str, kind: re.Pattern[str]) -> int:
    roman_one = label.lower() == "i" and kind is _LABELS[-1]
    return int(label) if label.isdecimal() else 1 if roman_one else _ORDER[label.lower()]


def _is_head(mark: Mark) -> bool:
    start = mark[1].start()
    return _HEAD.search(mark[1].string[max(0, start - _HEAD_CHARS) : start + 1]) is not None


def named_values(text: str, names: Sequence[str]) -> list[str]:
    """The last "name = value" line of each name, or "".

    Equally many lines with other names fill the missing ones; else all are returned undecided.
    """
    by_place: dict[int, str] = {}
    others: list[str] = []
    if '":' in text:
        text = _JSON_ENTRY.sub(lambda entry: f"\n{entry[1]}: {entry[2] or entry[3]}\n", text)
    for run in _runs(text):
        lines = [piece for line in run for piece in _parted(line, names)]
        places = [place_of(line, names) for line in lines]
        if set(places) - {None}:
            others = [line for place, line in zip(places, lines, strict=True) if place is None]
            by_place |= {place: line for place, line in zip(places, lines, strict=True) if place is not None}
    if not by_place:
        return []
    missing = [place for place in range(len(names)) if place not in by_place]
    if missing and others and len(others) != len(missing):
        return [*by_place.values(), *others]
    by_place |= dict(zip(missing, others or [""] * len(missing), strict=False))
    return [by_place[place] for place in range(len(names))]


def _parted(line: str, names: Sequence[str]) -> list[str]:
    line = _LEAD.sub("", line)
    for count in range(min(len(names), len(_SIGN.findall(line))), 1, -1):
        pieces = split_values(line, count)
        if len(pieces) == count == len({place_of(piece, names) for piece in pieces} - {None}):
            return pieces
    return [line]


def _runs(text: str) -> Iterator[list[str]]:
    run: list[str] = []
    for line in text.split("\n"):
        plain = without_stars(_LIST_MARK.sub("", line)).strip()
        if plain and len(plain) <= MAX_LINE and is_named(plain):
            run.append(plain)
        elif line.strip() and run:
            yield run
            run = []
    yield run


def tabled_values(text: str, count: int) -> list[str]:
    """The "answer" column of the last such table, if it has `count` values."""
    values: list[str] = []
    column: int | None = None
    end = -1
    for row in _ROW.finditer(text):
        cells = [cell.strip().strip("*").strip() for cell in row[1].split("|")]
        heads = [index for index, cell in enumerate(cells) if _ANSWER_HEAD.fullmatch(cell)]
        if heads:
            column, values = heads[-1], []
        elif row.start() > end + 1:
            column = None
        elif column is not None and not _RULE.fullmatch(row[1]):
            values.append(cells[column] if column < len(cells) else "")
        end = row.end()
    return values if len(values) == count and all(values) else []
