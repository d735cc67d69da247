"""Entries of answer keys in tables, mark schemes and CSV files: one a number and column as printed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import dropwhile, groupby, islice, pairwise
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import refuse_pointer
from livek12.core.records import Scheme
from livek12.core.schemes import read_scheme
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.keys.answers import is_label
from livek12.dataset_builders.ingest.keys.words import LETTER
from livek12.dataset_builders.ingest.pages.blocks import UNREAD
from livek12.dataset_builders.ingest.questions.stream import Item
from livek12.dataset_builders.ingest.questions.texts import table

NUMBER_CELL = both_scripts(
    r"(?:第|q(?:uestion)?\.?|no\.?|문항|[A-Z])?\s*(\d{1,3})\s*(?:题|번|[.．、)）])?"
    r"\s*(?:[(（]\s*(?:[\d.]+\s*分|(?P<part>空\s*\d|[a-z]{1,4}|\d))\s*[)）])?",
    re.IGNORECASE,
)
"""The number of a question, perhaps with the label of a part or blank, or its points."""
_SPAN_CELL = both_scripts(r"(\d{1,3})\s*[-—–~～∼至]\s*(\d{1,3})\s*题?")
_COLUMNS = {
    "number": "number item item_number item_no. question q # no no. num question_number "
    "题号 序号 编号 번호 문항 문항번호 문제번호",
    "answer": "answer answers scheme key correct correct_answer standard_answer indicative_content "
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
        label: print around its table (subject, form, elective parts), without spaces.
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


_PART_CELL = re.compile(
    r"(?:q(?:uestion)?\.?\s*)?(?:(\d{1,3})\s*((?:\(\s*[a-z]{1,4}\s*\)\s*|[a-h]\s*|[ivx]{1,4}\s*){0,3})"
    r"|((?:\(\s*[a-z]{1,4}\s*\)\s*){0,3}))\*?",
    re.IGNORECASE,
)
_PART = re.compile(r"[a-h](?=[ivx])|[a-z]+", re.IGNORECASE)
_CLOSES = re.compile(r"[(\[]?(?:total for )?question \d{1,3}\s*(?:is|=)\s*\d{1,3} marks?[)\]]?", re.IGNORECASE)
"""A line behind the last row of a question."""
_CODE = r"\*?(?P<needs>D|d|dep\*?\s?)?(?P<code>[MABE][1-9])\*?(?P<follows>\s?FT|\s?ft|√)?"
_CODES = re.compile(rf"(?:{re.sub('[?]P<[a-z]+>', '?:', _CODE)}[\s,;]*){{1,6}}")
_SCHEME_COLUMNS = ("number", "answer", "points")
_ROW = re.compile(
    r"(?P<cell>[1-9]\d{0,2}(?P<part>\([a-z]{1,4}\))*)(?:．\[(?P<worth>\d{1,2}) points\])?"
    r"(?:\s{3,}(?P<text>\S.*?)(?:\s{3,}(?P<mark>\[?\d{1,2}\]?))?)?"
)
"""A row whose cells stand in a line of text; the first perhaps above the others."""
_LEVEL = 0.005
"""Of the page's height: a row and its mark have one baseline."""
_PLAIN = re.compile(r"[(\[]?(\d{1,2})[)\]]?(?:\s+AO[\w\s.,]{1,40})?")
"""Marks, perhaps with the objective that they assess."""
_LONGEST_KEY = 40
"""Characters of a row that is an answer; a longer one says what marks are for."""


def of_mark_schemes(items: Sequence[Item], where: str) -> list[tuple[int, Entry]]:
    """Entries of tables "Question, Answer, Marks" whose marks are codes (M1, A1, B1) or numbers, with their items.

    A page without rules has lines for rows, with their marks behind them or level with them in a column of their own. A
    row without a number goes on with the last; one of only a number of marks is the total of the rows since the last
    total, without which no scheme is made.
    """
    tables = [_scheme_rows(item) for item in items]
    heads = [[*map(column_of, item.text.split())] == [*_SCHEME_COLUMNS] for item in items]
    rows: list[tuple[int, str, str, str]] = []
    beside = _marks_beside(items)
    begun = next((at for at, own in enumerate(zip(tables, heads, strict=True)) if any(own)), len(items))
    for at, item in enumerate(items if any(tables) or any(heads) else ()):
        if own := tables[at]:
            rows += [(at, *row) for row in own]
        elif (match := item.line and _ROW.fullmatch(item.text)) and (
            ((rows or at > begun) and match["text"]) or match["part"] or match["worth"]
        ):
            mark = beside.get(at) or match["mark"] or match["worth"] or ""
            rows.append((at, match["cell"], match["text"] or "", mark))
        elif item.line and _CLOSES.fullmatch(item.text):
            rows.append((at, "behind the rows", "", ""))
        elif rows and not heads[at] and at not in beside:
            rows[-1] = (*rows[-1][:2], f"{rows[-1][2]}\n{printed(item)}", rows[-1][3])
    by_number: dict[int, list[tuple[str, str, str]]] = {}
    places: dict[int, int] = {}
    number = part = ""
    for at, cell, text, mark in rows:
        if match := _PART_CELL.fullmatch(cell):
            labels = "".join(f"({label})" for label in _PART.findall(match[2] or match[3] or ""))
            number, part = match[1] or number, labels or ("" if match[1] else part)
        if match and number:
            places.setdefault(int(number), at)
            plain = _PLAIN.fullmatch(mark)
            worth = f"[{plain[1]}]" if plain else mark
            by_number.setdefault(int(number), []).append((part, text, worth))
    return [(places[number], _by_marks(number, own, where)) for number, own in by_number.items()]


def _scheme_rows(item: Item) -> list[tuple[str, str, str]]:
    """Numbers, answers and marks of a table that is a scheme."""
    rows = [] if item.line else [[cell.strip() for cell in line.text.split("\t")] for line in item.block.lines]
    names = [*map(column_of, rows[0])] if rows else []
    if names[:1] != ["number"] or [names.count(name) for name in _SCHEME_COLUMNS] != [1, 1, 1]:
        return []
    answer, points = names.index("answer"), names.index("points")
    rows = [row for row in rows[1:] if len(row) == len(names)]
    notes = [" ".join(filter(None, row[1:points] + row[points + 1 :])) for row in rows]  # say what the mark is for
    own = [
        (row[0], row[answer] or note * bool(row[0] or _CODES.fullmatch(row[points])), row[points])
        for row, note in zip(rows, notes, strict=True)
    ]
    coded = any(_CODES.fullmatch(mark) for *_, mark in own)
    plain = any(_PLAIN.fullmatch(c) and b and ("(" in a or len(b) > _LONGEST_KEY) for a, b, c in own)
    return own if coded or plain else []


def _marks_beside(items: Sequence[Item]) -> dict[int, str]:
    """Marks level with the line that begins their row, at its right, by the row's place, and "" by their own."""
    lines = [(at, item, round(item.box.top / _LEVEL)) for at, item in enumerate(items) if item.line]
    places = {(item.box.page, slot): at for at, item, slot in lines if _PLAIN.fullmatch(item.text)}
    marks: dict[int, str] = {}
    for at, item, slot in lines:
        match = _ROW.fullmatch(item.text)
        level = (places.get((item.box.page, slot + step), -1) for step in (0, -1, 1))
        mark = next((place for place in level if place >= 0 and items[place].box.left >= item.box.right), -1)
        if match and not match["mark"] and mark >= 0:
            marks |= {at: items[mark].text, mark: ""}
    return marks


def printed(item: Item) -> str:
    """A line, or the rows of a table."""
    return item.text if item.line else table(item.block)


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
    unread = UNREAD in prose
    whole = whole and not (since or unread or LETTER.search(prose))
    scheme: Scheme = []
    with suppress(ValueError):  # a criterion without points
        scheme = read_scheme(sentences) if whole and total > 0 else []
    if any(sum(criterion.points for criterion in way) != total for way in scheme):
        scheme = []
    (part, answer, mark), *others = rows
    remarks = "\n".join(text for _, text, _ in others)
    alone = not (part or any(own or worth for own, _, worth in others)) and len(answer) <= _LONGEST_KEY
    if alone and (mark or not remarks):
        return Entry(number, answer, float(total) or None, remarks or None, where=where, unread=unread)
    unsure = "its key begins within the question" if part[:3] not in ("", "(a)", "(i)") else ""
    unsure = unsure or ("no mark of its key was read" if not any(worth for *_, worth in rows) else "")
    return Entry(number, "", float(total) or None, prose, where=where, scheme=scheme, unread=unread, unsure=unsure)


def of_tables(items: Sequence[Item], where: str) -> Iterator[tuple[range, Entry]]:
    """Entries of tables and of lines in columns, with the items of each; two rows of answers are those of two forms."""
    for rows, own in _tables(items):
        three = zip(rows, rows[1:], rows[2:], strict=False)
        two = any(_of_rows(a, b, where) and _of_rows(a, c, where) for a, b, c in three)
        in_rows = [] if two else [entry for pair in pairwise(rows) for entry in _of_rows(*pair, where)]
        yield from ((own, entry) for entry in _by_columns(rows, where, bool(items[own.start].line)) or in_rows)


def _tables(items: Sequence[Item]) -> Iterator[tuple[list[list[str]], range]]:
    """Rows of each table, and of lines that are rows: answers below numbers."""
    at = 0
    while at < len(items):
        end = at + 1
        if not items[at].line:
            texts = [line.text for line in items[at].block.lines]
            apart = re.compile(r"\t") if "\t" in "".join(texts) else APART
            yield (
                [[cell.strip().replace("$\\sqrt$", "√") for cell in apart.split(text)] for text in texts],
                range(at, end),
            )
        words = items[at].text.split() if items[at].line else []
        while words and end < len(items) and _of_rows(words, items[end].text.split(), ""):
            end += 1
        if end > at + 1:
            yield [item.text.split() for item in items[at:end]], range(at, end)
        elif (names := [*map(column_of, words)]).count("number") == names.count("answer") > 1:  # lists side by side
            rows = [words]
            while end < len(items) and NUMBER_CELL.fullmatch((cells := APART.split(items[end].text))[0]):
                if len(cells) not in (2, len(words)):
                    break
                rows.append([*cells, *[""] * (len(words) - len(cells))])
                end += 1
            yield rows, range(at, end)
        at = end


def _by_columns(rows: Sequence[Sequence[str]], where: str, of_lines: bool = True) -> list[Entry]:
    """Entries of a table: behind each column that counts, the one that holds answers, or the only one if from 1 on."""
    if len({*map(len, rows)}) == 1 and (filled := [cells for cells in zip(*rows, strict=True) if any(cells[1:])]):
        rows = [*zip(*filled, strict=True)]
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
        only = len(columns) == 2 and rows[1][0].strip(".．、") == "1" and not of_lines
        if fits.get(best, 0) < (0 if only else _FITS) or sum(fit > fits[best] - 0.5 for fit in fits.values()) > 1:
            continue
        kinds = {names[at]: at for at in own if names[at] in ("points", "solution", "elective") and at != best}
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
    labels = sum(is_label(cell) for cell in cells) / len(cells)
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
    if not numbers or begin < 0 or (begin and is_label(below[begin - 1])):
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


def of_span(first: int, last: int, answers: str) -> list[tuple[int, str]]:
    """Numbered answers of a span ("1-5", "ABCDD"); empty if the counts differ."""
    letters = answers.split()
    if len(letters) != last - first + 1:
        letters = re.findall(r"[A-J①-⑩√×✓✗]", answers)
    return list(enumerate(letters, first)) if len(letters) == last - first + 1 else []


@lru_cache(maxsize=4096)
def column_of(name: str) -> str:
    """The kind of a column by its name: number, answer, points, solution or elective; else ""."""
    words = re.sub(r"\(.*?\)", "", name.strip().lower()).split()
    spellings = {"".join(words)}, {"_".join(words)}, {*words}
    return next(
        (column for column, names in _COLUMNS.items() if any({*s} <= {*names.split()} for s in spellings if s)), ""
    )


MAX_BYTES = 8 << 20
MAX_ROWS = 5000
APART = re.compile(r"\s{3,}|\t")
TABLES = (".csv", ".tsv", ".txt")
"""Suffixes of keys that are no papers."""
_FEWEST = 3
_SAID = re.compile(r"^(?:答案|정답|answer)\s*[:：]\s*", re.IGNORECASE)


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


def _rows(file: Path) -> list[list[str]]:
    refuse_pointer(file)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise UserError(f"{file.name}: has more than {MAX_BYTES >> 20} MiB; a key is smaller")
    text = re.sub(r"\r\n?", "\n", LETTER.sub(UNREAD, _decoded(data, file.name))).replace("\0", "").lstrip("\ufeff\n ")
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t，；", key=head.count)
    try:
        rows = [*islice(csv.reader(io.StringIO(text), delimiter=delimiter), MAX_ROWS + 1)]
    except csv.Error as error:
        raise UserError(f"{file.name}: is not CSV: {error}") from None
    if len(rows) > MAX_ROWS:
        raise UserError(f"{file.name}: has more than {MAX_ROWS} rows; a key is smaller")
    return rows


def _decoded(data: bytes, name: str) -> str:
    """The text of a spreadsheet's table: UTF-8, UTF-16, or a Chinese or Korean code page.

    If two code pages fit the bytes, the one in which the first line names the columns.
    """
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "gb18030", "cp949"):
        with suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            head = re.split(r"[,;\t，；]", text.strip().split("\n", 1)[0].strip())
            if encoding.startswith("utf") or {"number", "answer"} <= {column_of(cell.strip('" ')) for cell in head}:
                return text
    raise UserError(f"{name}: is not UTF-8, nor Chinese or Korean with columns that are known; save it as UTF-8")
