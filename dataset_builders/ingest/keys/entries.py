"""Entries of answer keys: tables, answers behind or below the questions, and CSV files.

Contract: one entry a number and column as printed; a line that is no entry is passed over.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, count, dropwhile, groupby, pairwise, takewhile
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import refuse_pointer
from livek12.core.records import Scheme
from livek12.core.schemes import read_scheme
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, UNREAD, PageBlocks
from livek12.dataset_builders.ingest.questions.headings import (
    ANSWER_HEAD,
    SOLUTION_HEAD,
    begins_answer,
    is_section,
    numeral,
    short_titles,
    width,
)
from livek12.dataset_builders.ingest.questions.kinds import section_type
from livek12.dataset_builders.ingest.questions.numbering import Anchor
from livek12.dataset_builders.ingest.questions.points import marks, says_worth
from livek12.dataset_builders.ingest.questions.segment import Body, segment
from livek12.dataset_builders.ingest.questions.stream import Item, Stream, flatten
from livek12.dataset_builders.ingest.questions.texts import table

NUMBER_CELL = both_scripts(
    r"(?:第|q(?:uestion)?\.?|no\.?|문항)?\s*(\d{1,3})\s*(?:题|번|[.．、)）])?"
    r"\s*(?:[(（]\s*(?:[\d.]+\s*分|(?P<part>空\s*\d|[a-z]{1,4}|\d))\s*[)）])?",
    re.IGNORECASE,
)
"""The number of a question, perhaps with the label of a part or blank, or its points."""
_SPAN_CELL = both_scripts(r"(\d{1,3})\s*[-—–~～∼至]\s*(\d{1,3})\s*题?")
_COLUMNS = {
    "number": "number item item_number item_no. question q # no no. num question_number "
    "题号 序号 编号 번호 문항 문항번호 문제번호",
    "answer": "answer answers scheme key correct correct_answer standard_answer "
    "答案 参考答案 正确答案 标准答案 정답 답",
    "points": "points point score mark marks point_value 分值 分数 배점 점수",
    "solution": "solution explanation analysis 解析 解答 详解 해설 풀이",
    "elective": "elective part form section_name 选考 选修 部分 卷别 선택과목 과목 영역 형",
}


@dataclass(frozen=True)
class Entry:
    """One answer of a key, as printed.

    Attributes:
        answer: "" if only a solution is given.
        rank: number of earlier entries of this number in its table.
        label: print around its table (subject, form, elective parts), without spaces.
        elective: its part (CSV only).
        where: file and page or line, for messages.
        source: name of the file, if there are several.
        confidence: of the least certain line, 0 to 1.
        listed: read as a numbered paragraph, in no table and behind no word for an answer.
        unread: pieces of its lines stand in the picture only.
        unsure: the reason why it may be another question's.
        of: id of the question that it is aligned with; "" if only the number tells.
        copied: the question itself stands above it.
        title: the question that it repeats, with its points.
        printed: all of its lines, of which some may be the question's.
    """

    number: int
    answer: str
    points: float | None = None
    solution: str | None = None
    rank: int = 0
    label: str = ""
    elective: str = ""
    where: str = ""
    source: str = ""
    confidence: float = 1.0
    by_ocr: bool = False
    listed: bool = False
    unread: bool = False
    unsure: str = ""
    of: str = ""
    copied: bool = False
    title: str = ""
    printed: str = ""
    scheme: Scheme = field(default_factory=list, hash=False)


_PART_CELL = re.compile(r"(?:q(?:uestion)?\.?\s*)?(\d{1,3})?\s*((?:\(\s*[a-z]{1,4}\s*\)\s*){0,3})", re.IGNORECASE)
_CODE = r"\*?(?P<needs>D|d|dep\*?\s?)?(?P<code>[MABE][1-9])\*?(?P<follows>\s?FT|\s?ft|√)?"
_CODES = re.compile(rf"(?:{re.sub('[?]P<[a-z]+>', '?:', _CODE)}[\s,;]*){{1,6}}")
_SCHEME_COLUMNS = ("number", "answer", "points")
_ROW = re.compile(
    r"(?P<cell>\d{1,3}(?:\([a-z]{1,4}\))*)(?:．\[(?P<worth>\d{1,2}) points\])?\s{3,}"
    r"(?P<text>\S.*?)(?:\s{3,}(?P<mark>\d{1,2}))?"
)
"""A row whose cells stand in a line of text."""
_PLAIN = re.compile(r"\[?\d{1,2}\]?")
_CELLS = re.compile(r"\w {3,}\w[^\n]{0,20}? {3,}\w")
_LONGEST_KEY = 40
"""Characters of a row that is an answer; a longer one says what marks are for."""


def of_mark_schemes(items: Sequence[Item], where: str) -> tuple[list[Entry], list[Item]]:
    """Entries of tables "Question, Answer, Marks" whose marks are codes (M1, A1, B1) or numbers, and the other items.

    A row without a number goes on with the last; one of only a number of marks is the total of the rows since the last
    total, without which no scheme is made.
    """
    rows: list[tuple[str, str, str]] = []
    rest: list[Item] = []
    begun = False
    for item in items:
        table_rows = (
            [] if item.line else [[cell.strip() for cell in line.text.split("\t")] for line in item.block.lines]
        )
        names = [column_of(name) for name in (table_rows or [re.split(r"\s{3,}", item.text)])[0]]
        if item.line:
            begun = begun or names == [*_SCHEME_COLUMNS]
        elif names[:1] == ["number"] and [names.count(name) for name in _SCHEME_COLUMNS] == [1, 1, 1]:
            answer, points = names.index("answer"), names.index("points")
            own = [(row[0], row[answer], row[points]) for row in table_rows[1:] if len(row) == len(names)]
            if any(_CODES.fullmatch(mark) or (_PLAIN.fullmatch(mark) and _says_what_for(*row)) for *row, mark in own):
                rows += own
                begun = True
                continue
        if begun and (match := _ROW.fullmatch(item.text)):
            rows.append((match["cell"], match["text"], match["worth"] or match["mark"] or ""))
        elif begun and rows and names[:1] != ["number"]:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]}\n{_printed(item)}", rows[-1][2])
        else:
            rest.append(item)
    rows = [(cell, text, f"[{mark.strip('[]')}]" if _PLAIN.fullmatch(mark) else mark) for cell, text, mark in rows]
    by_number: dict[int, list[tuple[str, str, str]]] = {}
    number = part = ""
    for cell, text, mark in rows:
        if match := _PART_CELL.fullmatch(cell):
            number, part = match[1] or number, squeezed(match[2]) or ("" if match[1] else part)
        if match and number:
            by_number.setdefault(int(number), []).append((part, text, mark))
    return [_by_marks(number, own, where) for number, own in by_number.items()], rest


def _says_what_for(cell: str, text: str) -> bool:
    """A row of a part, or with more than an answer: a table of answers and points has neither."""
    return bool(text) and ("(" in cell or len(text) > _LONGEST_KEY)


def _by_marks(number: int, rows: Sequence[tuple[str, str, str]], where: str) -> Entry:
    """The entry of the rows of one question; its scheme is empty unless each row is understood."""
    sentences: list[str] = []
    whole, since, total = True, 0, 0
    for part, text, mark in rows:
        codes = list(re.finditer(_CODE, mark)) if _CODES.fullmatch(mark) else []
        if codes and text:
            for code in codes:
                dependent, follows = "d" if code["needs"] else "", " ft" if code["follows"] else ""
                sentences.append(" ".join(filter(None, (f"{dependent}{code['code']}{follows}", part, text))))
                since += int(code["code"][1])
        elif text and _PLAIN.fullmatch(mark):
            sentences.append(f"{mark} {part} {text}")
            total += int(mark.strip("[]"))
        elif not text and _PLAIN.fullmatch(mark):
            worth = int(mark.strip("[]"))
            whole, since, total = whole and worth == since, 0, total + worth
        elif text and not mark and sentences:
            sentences[-1] += f"\n{text}"
        else:
            whole = False
    prose = "\n".join("  ".join(filter(None, row)) for row in rows)
    unread = UNREAD in prose or PICTURE in prose
    scheme: Scheme = []
    with suppress(ValueError):  # a criterion without points
        scheme = read_scheme(sentences) if whole and not since and total > 0 and not unread else []
    if len(rows) == 1 and not rows[0][0] and len(rows[0][1]) <= _LONGEST_KEY:
        return Entry(number, rows[0][1], float(total) or None, where=where, unread=unread)
    unsure = "cells of a table in its key were read as text" if _CELLS.search(prose) else ""
    unsure = "its key begins within the question" if rows[0][0][:3] not in ("", "(a)", "(i)") else unsure
    return Entry(number, "", float(total) or None, prose, where=where, scheme=scheme, unread=unread, unsure=unsure)


def of_tables(items: Sequence[Item], where: str) -> tuple[list[Entry], list[Item]]:
    """Entries of tables and of lines in columns, and the other items; two rows of answers are those of two forms."""
    entries, items = of_mark_schemes(items, where)
    rest: list[Item] = []
    for rows, own in _tables(items):
        three = zip(rows, rows[1:], rows[2:], strict=False)
        two = any(_of_rows(a, b, where) and _of_rows(a, c, where) for a, b, c in three)
        in_rows = [] if two else [entry for pair in pairwise(rows) for entry in _of_rows(*pair, where)]
        in_table = _by_columns(rows, where, _FITS * bool(own[0].line)) or in_rows
        entries += in_table
        rest += [] if in_table else own
    return entries, rest


def _tables(items: Sequence[Item]) -> Iterator[tuple[list[list[str]], list[Item]]]:
    """Rows of each table, and of lines that are rows: below names of columns, or of several cells that count up."""
    at = 0
    while at < len(items):
        if not items[at].line:
            texts = [line.text for line in items[at].block.lines]
            apart = re.compile(r"\t") if "\t" in "".join(texts) else _APART
            yield [[cell.strip().replace("$\\sqrt$", "√") for cell in apart.split(text)] for text in texts], [items[at]]
            at += 1
            continue
        words = items[at].text.split()
        end = at + 1
        while end < len(items) and _of_rows(words, items[end].text.split(), ""):
            end += 1
        if end > at + 1:
            yield [item.text.split() for item in items[at:end]], [*items[at:end]]
            at = end
            continue
        named = {"number", "answer"} <= {column_of(word) for word in words}
        rows = [*takewhile(bool, (_row(item.text, len(words) * named) for item in items[at + named :]))]
        if named and rows:
            whole = [row[begin : begin + len(words)] for row in rows for begin in range(0, len(row), len(words))]
            yield [words, *whole], [*items[at : at + 1 + len(rows)]]
        elif len(rows) > _FEWEST and [int(row[0]) for row in rows] == [int(rows[0][0]) + n for n in range(len(rows))]:
            above = items[at - 1].text.split() if at else []
            width, _ = Counter(map(len, rows)).most_common(1)[0]
            head = above if len(above) == width else [""] * width
            yield [head, *(row for row in rows if len(row) == width)], [*items[at : at + len(rows)]]
        else:
            rows = []
            yield [], [items[at]]
        at += (len(rows) and len(rows) + named) or 1


def _row(text: str, width: int) -> list[str]:
    """Cells of a line: its words, if each `width` of them begin with a number, else a number and what is set apart."""
    if width:
        cells = text.split()
        return cells if not len(cells) % width and all(map(NUMBER_CELL.fullmatch, cells[::width])) else []
    first, *others = _APART.split(text)
    match = re.fullmatch(r"(\d{1,3})(?:[.．、)]?\s+(\S.*))?", first)
    cells = [*filter(None, match.groups()), *others] if match else []
    return cells if len(cells) > 2 else []


def _by_columns(rows: Sequence[Sequence[str]], where: str, alone: float = 1.5) -> list[Entry]:
    """Entries of a table: behind each column that counts, the column that holds answers.

    The only other column of a table that counts from 1 needs only a fit of `alone`.
    """
    filled = (
        [at for at, cells in enumerate(zip(*rows, strict=True)) if any(cells[1:])]
        if len({*map(len, rows)}) == 1
        else []
    )
    rows = [[row[at] for at in filled] for row in rows] if filled else rows
    titled = max(range(len(rows)), key=lambda at: sum(map(bool, map(column_of, rows[at]))), default=0)
    names = [column_of(name) for name in rows[titled]] if rows else []
    rows = rows if any(names) or not rows or not NUMBER_CELL.fullmatch(rows[0][0]) else [[""] * len(names), *rows]
    rows = [rows[titled], *(row for row in rows[titled + 1 :] if len(row) == len(names))] if rows else []
    columns = [*zip(*rows[1:], strict=True)]
    if len(rows) < 2 or len(columns) < 2:
        return []
    numbers = [at for at, cells in enumerate(columns) if names[at] == "number" or _counts_up([c for c in cells if c])]
    if numbers[:1] != [0]:
        return []
    entries = []
    for begin, end in pairwise([*numbers, len(columns)]):
        own = [*range(begin + 1, end)]
        fits = {at: _PRIOR.get(names[at], 0.0) + _fit([cell for cell in columns[at] if cell]) for at in own}
        best = max(own, key=lambda at: fits[at], default=0)
        needed = alone if len(columns) == 2 and rows[1][0].strip(".．、") == "1" else _FITS
        if fits.get(best, 0) < needed or sum(fit > fits[best] - 0.5 for fit in fits.values()) > 1:
            continue
        kinds = {names[at]: at for at in own if names[at] in ("points", "solution", "elective") and at != best}
        behind = columns[best + 1] if best + 1 < end and not names[begin] else ()
        if behind and all(re.fullmatch(r"\d{1,2}", cell) for cell in behind if cell):
            kinds["points"] = best + 1
        kinds |= {"number": begin, "answer": best}
        answered = [row for row in rows[1:] if NUMBER_CELL.fullmatch(row[begin]) and row[best]]
        read = [_of_cells({kind: row[at] for kind, at in kinds.items()}, where) for row in answered]
        labels = [NUMBER_CELL.sub(r"\g<part>", row[begin]) for row in answered]
        for _, run in groupby(zip(read, labels, strict=True), key=lambda pair: (pair[0].number, bool(pair[1]))):
            entries.append(_of_parts([*run]))
    return entries


def _of_parts(rows: Sequence[tuple[Entry, str]]) -> Entry:
    """The entry of the rows of one question: of its blanks, or of its labelled parts."""
    first, label = rows[0]
    if len(rows) < 2 or not label:
        return first
    worth = [entry.points for entry, _ in rows if entry.points is not None]
    points = sum(worth) if len(worth) == len(rows) else None
    if label.startswith("空"):
        return replace(first, answer="; ".join(entry.answer for entry, _ in rows), points=points)
    lines = [f"({part}) {entry.answer}" for entry, part in rows]
    return replace(first, answer="", solution="\n".join(lines), points=points)


_PRIOR = {"answer": 1.5, "points": -2.0, "solution": -2.0, "elective": -2.0, "number": -2.0}
"""Weight of a column's name for its holding answers."""
_FITS = 1.5
"""A column of less is none of answers: labels alone have 3, short values 1."""
_SHORT_VALUE = 12
"""Characters of a value that a column of answers has."""


def _fit(cells: Sequence[str]) -> float:
    """The likeness of a column to one of answers: labels, else short values, that differ."""
    if not cells:
        return -_FITS
    labels = sum(bool(_LABELS.fullmatch(cell)) for cell in cells) / len(cells)
    short = sum(len(cell) <= _SHORT_VALUE for cell in cells) / len(cells)
    return 2 * labels + short - (len({*cells}) == 1 and len(cells) > _FEWEST)


def _of_cells(cells: Mapping[str, str], where: str, label: str = "") -> Entry:
    """The entry of a row, by the kinds of its columns."""
    number = NUMBER_CELL.fullmatch(cells.get("number", ""))
    worth = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*(?:分|점|points?)?", cells.get("points", ""), re.IGNORECASE)
    return Entry(
        int(number[1]) if number else 0,
        _SAID.sub("", cells.get("answer", "")),
        float(worth[1]) if worth else None,
        cells.get("solution") or None,
        label=label,
        elective=cells.get("elective", ""),
        where=where,
    )


def _of_rows(above: Sequence[str], below: Sequence[str], where: str) -> list[Entry]:
    """Entries of a row of numbers, or spans, above one of answers, each behind its name: a table on its side."""
    numbers = [*dropwhile(lambda cell: not (NUMBER_CELL.fullmatch(cell) or _SPAN_CELL.fullmatch(cell)), above)]
    begin = len(below) - len(numbers)
    if not numbers or begin < 0 or (begin and _LABELS.fullmatch(below[begin - 1])):
        return []
    names = " ".join(above[: len(above) - len(numbers)]), " ".join(below[:begin])
    rows: list[tuple[str, str]] = [names]
    for cell, answer in zip(numbers, below[begin:], strict=True):
        span = _SPAN_CELL.fullmatch(cell)
        whole = of_span(int(span[1]), int(span[2]), answer) if span else [(cell, answer)]
        rows += [(str(number), own) for number, own in whole]
    return _by_columns(rows, where) if len(rows) > 2 else []


def _counts_up(cells: Sequence[str]) -> bool:
    numbers = [int(match[1]) for cell in cells if (match := NUMBER_CELL.fullmatch(cell))]
    fewest = _FEWEST - ("Q" in "".join(cells[:1]))
    each = [*dict.fromkeys(numbers)]
    return len(numbers) == len(cells) and len(each) >= fewest and each == [*range(each[0], each[0] + len(each))]


def is_label(answer: str) -> bool:
    """Checks for the label of an option, or of several."""
    return bool(_LABELS.fullmatch(answer.strip()))


def of_span(first: int, last: int, answers: str) -> list[tuple[int, str]]:
    """Numbered answers of a span ("1-5", "ABCDD"); empty if the counts differ."""
    letters = answers.split()
    if len(letters) != last - first + 1:
        letters = re.findall(r"[A-J①-⑩√×✓✗]", answers)
    return list(enumerate(letters, first)) if len(letters) == last - first + 1 else []


def column_of(name: str) -> str:
    """The kind of a column by its name: number, answer, points, solution or elective; else ""."""
    words = re.sub(r"\(.*?\)", "", name.strip().lower()).split()
    spellings = {"".join(words)}, {"_".join(words)}, {*words}
    return next(
        (column for column, names in _COLUMNS.items() if any({*s} <= {*names.split()} for s in spellings if s)), ""
    )


MAX_BYTES = 8 << 20
MAX_ROWS = 5000
LONGEST_ANSWER = 60
"""Characters of an answer that is no solution."""
_LONGEST_LISTED = 120
"""Characters of an answer in a line of several, formulas as LaTeX."""
_LABEL = 3
"""Characters of an answer that any line may have."""
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩"
_LABELS = both_scripts(
    rf"[{_CIRCLED}](?:[\s,，]*[{_CIRCLED}])*|[(（]?[A-J]{{1,6}}[)）.]?|[a-e]|[TFOX√×✓✗○对错]|True|False"
)
_SHORT = rf"[{_CIRCLED}√×✓✗对错]|[A-J]{{1,6}}(?=[\s,，;；。.]|$)"
_ENTRY = both_scripts(
    r"(?:(?<![\w.．,，$\\^{/+=<>*−-])|(?<=[A-J①-⑩√×✓✗对错]))"
    r"(?:[(（\[【〖]\s*第?\s*(?P<boxed>\d{1,3})\s*题?\s*[)）\]】〗]|第?\s*(?P<bare>(?:[Il](?=\d))?\d{1,3})\s*"
    rf"(?:[)）]\s*[-–:：.]?|\.(?!\d)|[．、:：]|[题번]|(?:[,，]\s*)?(?={_SHORT})))\s*"
)
_SPAN = both_scripts(
    r"(?<!\S)(\d{1,3})\s*[-—–~～∼至]\s*(\d{1,3})\s*[.．:：、题]?\s*((?:[(（]?[A-J①-⑩√×✓✗][)）]?[\s,，、]*)+)(?![A-Za-z])"
)
_APART = re.compile(r"\s{3,}|\t")
_AT_ONCE = both_scripts(
    r"(?<=[^\s{])(?=【(?:解析|详解|解答|分析|点评)】)|(?<=[。．.；;])(?=(?:解析|详解)[:：])|(?<=】)(?=解答\s)"
)
"""A solution's title right behind the answer; one in a formula was read into it."""
_SOLUTION_LINE = both_scripts(r"\n(?=[^\n]*【(?:解析|详解|解答)】)")
"""A title that was read into a formula: its whole line is the solution's, so that nothing is lost."""
_WORTH_EACH = re.compile(r"\s*[(（]\s*(?:每空)?\s*\d{1,2}\s*分\s*[)）]\s*[。．.]?(?P<remark>.*)$")
_TOPICS = both_scripts(r"(?:^|\n)[ \t]*[【\[](?:考点|知识点)[】\]][ \t]*([^\n]*)")
_SOLVES = both_scripts(r"\s*(?:解|证明|解答|证|Solution|Proof|풀이)\s*[:：]|\s*[(（]\s*1\s*[)）]", re.IGNORECASE)
BEGUN = re.compile(r"\s*(?:Solution|Proof)s?\s*[.．](?:\s+|(?=[^\sa-z]))")
_VALUE_ALONE = both_scripts(
    rf"(?!\s*[(（]\s*(?:1|一|a|i)\s*[)）]|.*[:：]$|\$?[•◦▪●])(?=.{{1,{LONGEST_ANSWER}}}$)(?:(?:\S+\s*){{1,3}}|[(（]?[A-Ja-j][)）.．、]\s.*)"
)
"""One answer: a label with its text, or a few words, that introduce no list and are no part."""
_WIDEST = 40
"""Letters of a first line that is an answer, with its reason below; one of Chinese or Korean counts two."""
_BULLET = re.compile(r"\s*\$?[•◦▪●]")
_LETTER_ROW = re.compile(r"[A-J](?:[\s,，、;；]*[A-J]){3,}\s*[.。]?|[TF√×✓✗](?:[\s,，、;；]*[TF√×✓✗]){3,}")
"""Answers of a section in order, without numbers."""
_FEWEST = 3
_DASH = re.compile(r"\A\s*[–—](?:\s*(?P<title>[^\W\d_]{2})|\s)")
"""Between a number and its answer, or a title."""
_MATERIAL = re.compile(r"\s*(?:Text|Passage|Conversation|Dialogue|Recording)\s*\d", re.IGNORECASE)
"""The number of what is heard or read, which is no question's."""
_IN_BRACKETS = re.compile(r"\s*[(（][^()（）]*[)）]\s*")
_OMITTED = both_scripts(r"[^\n]{0,6}[(（]?(?:略|见[课书]本)[)）]?[。.]?|[^\n]{0,12}第.{1,3}[道个]?[大小]?题[^\n]{0,6}")
"""In place of an answer: none, or where it is."""
_FIRST_PART = both_scripts(r"part\s[a1I]\b|[(（]?(?:1|a|i|一)[)）]", re.IGNORECASE)
_NEXT_PART = both_scripts(r"(?:^|\n)(?:part\s(?:[b2]|II)\b|[(（]?(?:2|b|ii|二)[)）])", re.IGNORECASE)
_TWICE = "a number comes twice in the key: those behind it may be of other questions"
NO_HEAD = "text without a head stands behind its key: it may be another question's"
_WORTH = re.compile(
    r"\n[ \t]*(?:points?|marks?|배점|分值)[ \t]*[:：].*"
    r"|\A\s*[(（\[]?\s*\d{1,3}\s*(?:points?|marks?|pts|分|점)(?:\s*[)）\]]?|[^\n()（）]{2,30}[)）])[ \t]*(?=\n|\Z)",
    re.IGNORECASE,
)
"""A line of points, below an answer or behind its number."""
_SAID = re.compile(r"^(?:答案|정답|answer)\s*[:：]\s*", re.IGNORECASE)


def entries_of_pages(pages: Sequence[PageBlocks], name: str) -> list[Entry]:
    """Entries of a key's PDF: mark schemes, tables by page, lists and numbered answers."""
    stream = flatten(pages)
    marked, others = of_mark_schemes(stream.items, name)
    pages_of = {number: [item for item in others if item.box.page == number] for number in stream.headings}
    labels = {number: squeezed("".join([*stream.headings[number], *_texts(own)])) for number, own in pages_of.items()}
    return _weighed(marked, stream.items) or entries_of_items(others, name, labels)


def entries_of_items(items: Sequence[Item], name: str, by_page: Mapping[int, str] | None = None) -> list[Entry]:
    """Entries of each section of a key: of its tables and lines, for each page that `by_page` labels, and questions."""
    labels = by_page or {}
    heads = [bool(item.line and (is_section(item.text) or numeral(item.text))) for item in items]
    starts = [at for at, is_head in enumerate(heads) if is_head or not at]
    titles = short_titles([items[start].text if heads[start] else "" for start in starts])
    rows = {id(item) for a, b in pairwise(items) if _of_rows(a.text.split(), b.text.split(), name) for item in (a, b)}
    questions = {id(items[anchor.place]): anchor for anchor in _questions(items) if id(items[anchor.place]) not in rows}
    spans = [items[start:end] for start, end in pairwise([*starts, len(items)])]
    series = [
        [replace(questions[id(item)], place=at) for at, item in enumerate(own) if id(item) in questions]
        for own in spans
    ]
    parts: list[list[Entry]] = []
    for title, own, printed in zip(titles, spans, series, strict=True):
        if entry := _of_numeral(own, bool(printed), name):
            parts.append([entry])
            continue
        begins = rows | {id(own[anchor.place]) for anchor in printed}
        listed = {id(item): [answer for _, answer in _series(item.text)] for item in own}
        begins |= {at for at, answers in listed.items() if len(answers) > 2 and all(map(_LABELS.fullmatch, answers))}
        below = printed[0].place if len(printed) > 1 else len(own)
        within = range(below, printed[-1].place if len(printed) >= _FEWEST else below)
        outer = [
            item
            for at, item in enumerate(own)
            if at < below or (not item.line and at not in within) or id(item) in begins
        ]
        short = _by_page(outer, name, labels) if labels else _table_entries(outer, name)
        due = {1, *(entry.number + 1 for entry in short)}
        run = [anchor for anchor in printed if len(questions) > 1 or anchor.number in due]
        long = _numbered(own, run, name) if not short or [anchor.place for anchor in run] != [0] else []
        parts.append([replace(each, elective=each.elective or title) for each in _merged(short, long, bool(labels))])
    return _weighed(_named([part for part in parts if part]), items)


def _by_page(items: Sequence[Item], name: str, labels: Mapping[int, str]) -> list[Entry]:
    """Entries of the tables of each page, with its label."""
    pages = [(page, [*own]) for page, own in groupby(items, key=lambda item: item.box.page)]
    entries = [(page, entry) for page, own in pages for entry in _table_entries(own, f"{name}, page {page}")]
    return [replace(entry, label=labels.get(page, "")) for page, entry in entries]


def _merged(short: Sequence[Entry], long: Sequence[Entry], by_page: bool) -> list[Entry]:
    """Entries of one section: of its tables with the solutions that stand elsewhere, or those of a longer series."""
    numbers = {entry.number for entry in short}
    if by_page and len(numbers) < len(short):  # of several papers
        return [*short]
    solved = {entry.number: entry for entry in long}
    if not numbers or (len(solved) >= len(numbers) and numbers - {*solved} and numbers & {*solved}):
        return [*long]
    later = [replace(entry, label=short[-1].label) for entry in long if entry.number not in numbers]
    behind = {*takewhile(solved.__contains__, count(max(numbers) + 1))}
    steady = all(a.number < b.number for a, b in pairwise(long))
    own = [entry for entry in later if steady or entry.number < max(numbers) or entry.number in behind]
    return [*(_with_solution(entry, solved.get(entry.number)) for entry in short), *own]


def _named(parts: Sequence[Sequence[Entry]]) -> list[Entry]:
    """Entries whose sections are named only if numbers begin anew in several, each under a title of its own."""
    numbers = [number for part in parts for number in {entry.number for entry in part}]
    names = [part[0].elective for part in parts if part[0].elective]
    anew = sum(part[0].number == 1 or not part[0].elective for part in parts)
    apart = len({*numbers}) < len(numbers) and len({*names}) == len(names) and anew > 1
    return [replace(entry, label="") if apart else replace(entry, elective="") for part in parts for entry in part]


def _of_numeral(items: Sequence[Item], is_title: bool, where: str) -> Entry | None:
    """The entry of a question that only a Chinese numeral counts; a title of a section is none."""
    end = numeral(items[0].text) if items[0].line else None
    text = items[0].text[end[1] :] if end else ""
    titled = section_type(text) or _IN_BRACKETS.fullmatch(text) or is_title
    if not end or (titled and not (begins_answer(text) or _SOLVES.match(text))):
        return None
    answer, solution = _answer_and_solution("\n".join(filter(None, (text, *map(_printed, items[1:])))).strip())
    return Entry(end[0], answer, None, solution, where=where)


def _weighed(entries: Sequence[Entry], items: Sequence[Item]) -> list[Entry]:
    by_ocr = any(item.block.origin == "ocr" for item in items)
    lines = [(squeezed(line.text), line) for item in items for line in ([item.line] if item.line else item.block.lines)]
    done = []
    for entry in entries:
        beginning = squeezed(entry.answer or entry.solution or "")[:20]
        own = [(text, line) for text, line in lines if beginning in text]
        named = [line for text, line in own if str(entry.number) in text] or [line for _, line in own]
        sure = min((line.confidence for line in named), default=0.0) if by_ocr else entry.confidence
        unread = entry.unread or (len(entry.answer) > _LABEL and any(line.unread for line in named))
        done.append(replace(entry, confidence=sure, by_ocr=by_ocr, unread=unread))
    return done


def _with_solution(entry: Entry, other: Entry | None) -> Entry:
    if other is None or entry.solution or other.unsure or not f"{other.answer} ".startswith((f"{entry.answer} ", " ")):
        return entry
    return replace(entry, solution=other.solution, unread=entry.unread or other.unread)


def entries_of_csv(file: Path) -> tuple[list[Entry], list[str]]:
    """Entries of a CSV file, and a line for each bad row.

    Raises:
        UserError: it cannot be read, or lacks columns for numbers and answers.
    """
    rows = [row for row in _rows(file) if any(cell.strip() for cell in row)]
    if rows and all(len(row) == 2 and NUMBER_CELL.fullmatch(row[0].strip()) for row in rows):
        rows = [["number", "answer"], *rows]
    header = [column_of(name) for name in rows[0]] if rows else []
    doubled = {name for name in header if name and header.count(name) > 1}
    if "number" not in header or "answer" not in header or doubled:
        what = f"two columns for {sorted(doubled)[0]}" if doubled else "no columns 'number' and 'answer'"
        raise UserError(f"{file.name}: {what}; its first line names them (number, answer; optional points, solution)")
    entries, problems = [], []
    for line, row in enumerate(rows[1:], 2):
        cells = {name: value.strip() for name, value in zip(header, row, strict=False) if name}
        number = NUMBER_CELL.fullmatch(cells.get("number", ""))
        if not any(cells.values()):
            continue
        if not number:
            problems.append(f"{file.name}:{line}: {cells.get('number', '')[:40]!r} is no question number; left out")
            continue
        entries.append(_of_cells(cells, f"{file.name}:{line}", squeezed(file.stem)))
    return entries, problems


_PART_LABEL = re.compile(
    r"(?:^|\n)[ \t]*[(（]?(?:(?P<roman>[ivx]{1,4})|(?P<small>[a-h])|(?P<digit>\d))\s?[)）.．](?!\d)"
)
_LABELS_AND_VALUE = re.compile(r"(?:^|(?<=[\n】]))[ \t]*解答[ \t]+(\S[^\n]*)\n[ \t]*解析(?=\s)")
"""The answer and its solution, behind labels without a colon."""
_BARE_HEAD = re.compile(r"\n[ \t]*Answer[ \t]*\n(?=\S[^\n]{20})(?![ \t]*[(（]?(?:[a-h]|[ivx]{1,4}|\d)[)）.．])")
"""Over an answer; where none is printed, the next part or a place to write follows."""
_HEADS_OF_TEXT = ("Answer", "Answer.", "Answers.")
"""Heads of answers that are solutions if they have several lines."""
_RULE = re.compile(r"\n\s*[-=]{8,}")
_ROMAN = "i ii iii iv v vi vii viii ix x".split()


def _labels(text: str) -> dict[str, str]:
    """The last label of each kind of parts in a text."""
    return {kind: label for match in _PART_LABEL.finditer(text) for kind, label in match.groupdict().items() if label}


def _after(kind: str, label: str) -> str:
    if kind == "roman":
        return _ROMAN[_ROMAN.index(label) + 1] if label in _ROMAN[:-1] else ""
    return chr(ord(label) + 1)


def _split_parts(text: str) -> tuple[str, str] | None:
    """Question and answers of parts that each have their answer below; None if no part follows an answer.

    A part begins with the label that is due, or a rule.
    """
    question, place = "", 0
    answers: list[str] = []
    kind = ""
    heads = list(ANSWER_HEAD.finditer(text))
    for answer, later in zip(heads, [*heads[1:], None], strict=False):
        if answer.start() < place:
            continue
        question += text[place : answer.start()]
        labels = _labels(question)
        begins = {name: rf"[ \t]*[(（]?{_after(name, label) or '$'}\s?[)）.．](?!\d)" for name, label in labels.items()}
        begins |= {"rule": r"[ \t]*[-=]{8,}"} if later else {}
        place = len(text)
        for name, pattern in begins.items():
            if (match := re.compile(rf"\n(?={pattern})").search(text, answer.end())) and match.start() < place:
                place, kind = match.start(), name
        own = _RULE.sub("", text[answer.end() : place]).strip()
        answers.append(f"({labels.get(kind) or len(answers) + 1}) {own}")
    return (f"{question}{text[place:]}", "\n".join(answers)) if kind else None


def split_answered(text: str) -> tuple[str, str | None, str | None]:
    """A question's text, and the answer and solution printed below it, or below each of its parts."""
    text = _LABELS_AND_VALUE.sub(r"\nAnswer: \1\n解析：", _BARE_HEAD.sub("\nAnswer: ", _AT_ONCE.sub("\n", text)))
    if parts := _split_parts(text):
        return parts[0], None, parts[1]
    answer = ANSWER_HEAD.search(text)
    start = answer.end() if answer else 0
    solution = SOLUTION_HEAD.search(text, start) or _SOLUTION_LINE.search(text, start)
    if not answer:
        titled = solution and (solution[0].strip()[0] in "【[［〖<＜" or solution[0].lstrip(" ").startswith("\n"))
        if solution and titled and text[: solution.start()].strip():
            return text[: solution.start()].rstrip(), None, text[solution.end() :].strip() or None
        return text, None, None
    end = solution.start() if solution else len(text)
    key = _WORTH.sub("", text[answer.end() : end]).strip()
    key, worked = _RULE.sub("", key), text[solution.end() :].strip() if solution else ""
    if answer[0].strip() in _HEADS_OF_TEXT and marks(key):  # of an example
        return text, None, None
    if answer[0].strip() in _HEADS_OF_TEXT and "\n" in key:
        return text[: answer.start()].rstrip(), None, "\n".join(filter(None, (key, worked)))
    first, _, rest = key.partition("\n")
    explained = _is_value(first) and not _BULLET.match(rest)
    if len(rest) > LONGEST_ANSWER and explained:
        key, worked = first, "\n".join(filter(None, (rest.strip(), worked)))
    return text[: answer.start()].rstrip(), key.rstrip(" .．。") or None, worked or None


def _is_value(line: str) -> bool:
    """Checks for one answer, with its reason below."""
    return width(line) <= _WIDEST and bool(_VALUE_ALONE.fullmatch(line))


def take_topics(text: str) -> tuple[str, list[str]]:
    """A text without the lines that name its topics (【考点】), and the topics."""
    topics = [topic.strip() for match in _TOPICS.finditer(text) for topic in re.split(r"[;；、]", match[1])]
    return _TOPICS.sub("", text).strip(), [topic for topic in topics if topic]


def _texts(items: Sequence[Item]) -> list[str]:
    return [text for item in items for text in ([item.text] if item.line else [line.text for line in item.block.lines])]


def _table_entries(items: Sequence[Item], where: str) -> list[Entry]:
    """Entries of tables, rows, spans and lists in lines.

    The series of their numbers is the proof: in a line, in that of a neighbour, or in all columns of a block of lines.
    """
    entries, others = of_tables(items, where)
    flat = [(bool(item.line), text.strip()) for item in others for text in _texts([item])]
    texts = [text for _, text in flat]
    series = [_series(text) for text in texts]
    grids = _grids(texts)
    answers: list[tuple[int, str]] = []
    last = 0
    for place, (is_line, text) in enumerate(flat):
        own, after = series[place], series[place + 1] if place + 1 < len(flat) else []
        goes_on = bool(own) and (own[0][0] in (last, last + 1) or (bool(after) and after[0][0] == own[-1][0] + 1))
        alone = len(own) == 1 and not re.fullmatch(_SHORT, own[0][1])
        last = own[-1][0] if own else last
        counted = numeral(text)
        row = text[counted[1] :] if counted else text
        letters = re.findall("[A-JT√×✓✗]", row) if _LETTER_ROW.fullmatch(row) else []
        if place in grids:
            answers += grids[place]
        elif spans := list(_SPAN.finditer(text)):
            answers += [entry for span in spans for entry in of_span(int(span[1]), int(span[2]), span[3])]
            answers += _series(" ".join(_SPAN.sub(" ", text).split()))
        elif is_line and letters != sorted({*letters}):  # those of one answer go up
            answers += enumerate(letters, 1)
        elif is_line and (len(own) > 2 or (goes_on and not alone)):
            answers += own
    ranks: Counter[tuple[int, str]] = Counter()
    for at, entry in enumerate(entries := [*entries, *(Entry(*answer, where=where) for answer in answers)]):
        entries[at] = replace(entry, rank=ranks[entry.number, entry.elective])
        ranks[entry.number, entry.elective] += 1
    return entries


def _grids(texts: Sequence[str]) -> dict[int, list[tuple[int, str]]]:
    """Entries of blocks of lines in columns, all of them at the first line, in order."""
    rows = [[_series(cell) for cell in _APART.split(text)] for text in texts]
    grids: dict[int, list[tuple[int, str]]] = {}
    for is_grid, run in groupby(range(len(texts)), key=lambda place: all(len(cell) == 1 for cell in rows[place])):
        places = [*run]
        cells = sorted(cell[0] for place in places for cell in rows[place]) if is_grid else []
        numbers = [*dict(cells)]
        wide = 2 * sum(len(rows[place]) > 1 for place in places) > len(places)
        if wide and len(numbers) == len(cells) > 3 and numbers[-1] - numbers[0] <= 1.1 * len(cells):
            grids |= {place: cells if place == places[0] else [] for place in places}
    return grids


def _series(text: str) -> list[tuple[int, str]]:
    """Entries of a line that begins with one, or with a numeral and 1, and counts on within."""
    match = _ENTRY.match(text)
    if not match and numeral(text):
        match = next((first for first in _ENTRY.finditer(text) if _value(first) == 1), None)
    heads: list[re.Match[str]] = []
    while match:
        heads.append(match)
        following = _ENTRY.finditer(text, match.end())
        due = _value(match) + 1, _style(match)
        alike = (each for each in following if not text.count("$", 0, each.start()) % 2)
        match = next((each for each in alike if (_value(each), _style(each)) == due), None)
    ends = [*(head.start() for head in heads[1:]), len(text)][: len(heads)]
    entries = [(_value(head), text[head.end() : end].strip(" ;；,，")) for head, end in zip(heads, ends, strict=True)]
    return entries if all(number and 0 < len(answer) <= _LONGEST_LISTED for number, answer in entries) else []


def _style(head: re.Match[str]) -> str:
    return head[0][0].translate(str.maketrans("（", "(")) if head["boxed"] else ""


_ONE = str.maketrans("Il", "11")
"""Letters for which OCR takes the digit at the beginning of a number."""


def _value(head: re.Match[str]) -> int:
    return int((head["boxed"] or head["bare"]).translate(_ONE))


def _numbered(items: Sequence[Item], questions: Sequence[Anchor], where: str) -> list[Entry]:
    """Entries of `questions`, unsure where numbers come twice."""
    entries = of_list(items, questions, where)
    anew = any(a.number > b.number for a, b in pairwise(questions))
    return [replace(entry, unsure=_TWICE) for entry in entries] if anew else entries


def of_list(items: Sequence[Item], chosen: Sequence[Anchor], where: str) -> list[Entry]:
    """Entries that begin at `chosen` numbers."""
    parts = [[*own] for _, own in groupby(chosen, key=lambda anchor: anchor.number)]
    entries = []
    for own, later in zip(parts, [*parts[1:], None], strict=False):
        anchor, end = own[0], later[0].place if later else len(items)
        if _MATERIAL.match(items[anchor.place].text):
            continue
        dash = _DASH.match(items[anchor.place].text[anchor.end :])
        first = _DASH.sub(r"\g<title>", items[anchor.place].text[anchor.end :])
        worth = marks(first) if says_worth(first) else []
        titled = bool(worth) and (items[anchor.place].text[:1].isalpha() or bool(_WORTH.fullmatch(first)))
        shared = _series(items[anchor.place].text)
        lines = ["" if titled else first, *map(_printed, items[anchor.place + 1 : end])]
        lines = [shared[0][1]] if len(shared) > 1 else lines
        text = _AT_ONCE.sub("\n", "\n".join(line for line in lines if line).strip())
        named = titled or (dash and dash["title"] and not _LABELS.fullmatch(first))
        answer, solution = ("", text) if named and "\n" in text else _answer_and_solution(text)
        listed = not (ANSWER_HEAD.search(text) or SOLUTION_HEAD.search(text) or _SOLVES.match(text))
        parted = [part for part in own if items[part.place].text[part.end :].lstrip()[1:2].isalpha()] or own[:1]
        each = [marks(items[part.place].text)[:1] for part in parted]
        points = sum(mark.points for mark in chain(*each)) if worth and all(each) else None
        unsure = NO_HEAD if answer and solution and not SOLUTION_HEAD.search(text) else ""
        title = first if titled else ""
        entry = Entry(anchor.number, answer, points, solution, where=where, listed=listed, unsure=unsure, title=title)
        entries.append(replace(entry, printed=text))
    return entries


def _printed(item: Item) -> str:
    """A line, the rows of a table, or the mark of a picture."""
    return item.text if item.line else table(item.block) or PICTURE


def _questions(items: Sequence[Item]) -> list[Anchor]:
    """The questions of a key, which is a paper too."""
    body = segment(Stream(items=[*items], headings={item.box.page: [] for item in items})) if items else Body()
    places = {id(item): place for place, item in enumerate(items)}
    own = [Anchor(places[id(each.items[0])], each.number, each.end) for each in body.segments if not each.inline]
    later = _questions(body.answers) if 0 < len(body.answers) < len(items) else []
    own += [replace(anchor, place=places[id(body.answers[anchor.place])]) for anchor in later]
    return sorted(own, key=lambda anchor: anchor.place)


def _answer_and_solution(text: str) -> tuple[str, str | None]:
    text = _WORTH.sub("", text)
    if head := BEGUN.match(text):
        return "", text[head.end() :]
    if len(ANSWER_HEAD.findall(f"\n{text}")) > 1:  # of parts
        return "", text
    stem, answer, solution = split_answered("\n" + text)
    if answer is not None:
        several = "\n" in answer and len(answer) > LONGEST_ANSWER  # a text of several lines
        return ("", "\n".join(filter(None, (answer, solution)))) if several else (answer, solution)
    if solution is not None and 0 < len(stem.strip()) <= LONGEST_ANSWER and not _SOLVES.match(stem):
        return stem.strip().rstrip(" .．。"), solution
    if solution is not None or _SOLVES.match(text):
        return "", solution or text
    if head := SOLUTION_HEAD.match(f"\n{text}"):
        return "", text[head.end() - 1 :]
    first, _, rest = text.partition("\n")
    if _OMITTED.fullmatch(text):
        return "", None
    if rest.strip() and not _is_value(first.strip()):  # a text of several lines
        return "", text
    if _FIRST_PART.match(first) and _NEXT_PART.search(rest):
        return "", text
    worth = _WORTH_EACH.search(first.strip())
    answer, remark = (first.strip()[: worth.start()], worth["remark"].strip()) if worth else (first.strip(), "")
    answer, remark = (answer, remark) if answer else (remark, "")  # points in front of an answer
    if len(answer) <= LONGEST_ANSWER:
        return answer.rstrip(" .．。"), "\n".join(filter(None, (remark, rest.strip()))) or None
    return "", text


def _rows(file: Path) -> list[list[str]]:
    refuse_pointer(file)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise UserError(f"{file.name}: has more than {MAX_BYTES >> 20} MiB; a key is smaller")
    text = re.sub(r"\r\n?", "\n", _decoded(data, file.name)).replace("\0", "").lstrip("\ufeff\n ")
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t，；", key=head.count)
    try:
        rows = [
            row for _, row in zip(range(MAX_ROWS + 1), csv.reader(io.StringIO(text), delimiter=delimiter), strict=False)
        ]
    except csv.Error as error:
        raise UserError(f"{file.name}: is not CSV: {error}") from None
    if len(rows) > MAX_ROWS:
        raise UserError(f"{file.name}: has more than {MAX_ROWS} rows; a key is smaller")
    return rows


def _decoded(data: bytes, name: str) -> str:
    """The text of a spreadsheet's table: UTF-8, UTF-16, or a Chinese or Korean code page.

    If two code pages fit the bytes, the one in which the first line names the columns.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    for encoding in ("utf-8-sig", "gb18030", "cp949"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        head = re.split(r"[,;\t，；]", text.strip().split("\n", 1)[0].strip())
        if encoding == "utf-8-sig" or {"number", "answer"} <= {column_of(cell.strip('" ')) for cell in head}:
            return text
    raise UserError(f"{name}: is not UTF-8, nor Chinese or Korean with columns that are known; save it as UTF-8")
