"""What an entry of a key is, and tables that name their columns or rows.

Contract: `of_tables` takes the entries of such tables, whatever their answers are; nothing is guessed where a table
does not say which column holds numbers and which answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from livek12.dataset_builders.ingest.stream import Item

NUMBER_CELL = re.compile(r"(?:第|q(?:uestion)?\.?|no\.?|문항)?\s*(\d{1,3})\s*(?:题|번|[.．、])?", re.IGNORECASE)
_FORM_COLUMN = re.compile(
    r"(?:(?:Form|Version|Paper|Test)\s*[A-H1-4]|[A-H]\s*[卷형]|[가나홀짝]수?\s*형)", re.IGNORECASE
)
"""Names a column of answers after a form of the paper."""
_SPAN_CELL = re.compile(r"(\d{1,3})\s*[-—–~～∼至]\s*(\d{1,3})\s*题?")
_COLUMNS = {
    "number": "number item item_number item_no. question q # no no. num question_number "
    "题号 序号 编号 번호 문항 문항번호 문제번호",
    "answer": "answer answers key correct correct_answer standard_answer 答案 参考答案 正确答案 标准答案 정답 답",
    "points": "points point score marks point_value 分值 分数 배점 점수",
    "solution": "solution explanation analysis 解析 解答 详解 해설 풀이",
    "elective": "elective part form section_name 选考 选修 部分 卷别 선택과목 과목 영역 형",
}


@dataclass(frozen=True)
class Entry:
    """One answer of a key, as printed.

    Attributes:
        number: of the question.
        answer: its key; "" where only a solution is given.
        points: what it is worth, where the key says.
        solution: in full, where the key gives one.
        rank: how many entries of this number stand before it in its table.
        label: what is printed about the table it is of (subject, form, elective parts), without spaces.
        elective: the part it says it is of (CSV only).
        where: file and page or line, for messages.
        source: name of the file, where there are several.
        confidence: of the least certain line that it was read from, 0 to 1.
        by_ocr: it was read from a picture.
        listed: it was read as a numbered paragraph, in no table and behind no word that says that it is an answer.
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


def of_tables(items: Sequence[Item], where: str) -> tuple[list[Entry], list[Item]]:
    """The entries of tables that name their columns or rows, whatever the answers are; and the other items.

    A table with a column of answers for each form of a paper gives each its form as `elective`; beside one nothing else
    of the key is read.
    """
    entries: list[Entry] = []
    rest: list[Item] = []
    for item in items:
        rows = [[cell.strip() for cell in line.text.split("\t")] for line in item.block.lines] if not item.line else []
        found = _by_columns(rows, where) or _by_rows(rows, where)
        entries += found
        rest += [] if found else [item]
    forms = [entry for entry in entries if entry.elective]
    return (forms, []) if forms else (entries, rest)


def _by_columns(rows: Sequence[Sequence[str]], where: str) -> list[Entry]:
    """A row a question, below the names of the columns."""
    names = [column_of(name) for name in rows[0]] if rows else []
    forms = [place for place, name in enumerate(rows[0] if rows else ()) if place and _FORM_COLUMN.fullmatch(name)]
    answers = forms if len(forms) > 1 else [place for place, name in enumerate(names) if name == "answer"]
    if (
        not names
        or (names[0] != "number" and not forms)
        or names.count("number") > 1
        or len(answers) != max(1, len(forms))
    ):
        return []
    worth = names.index("points") if names.count("points") == 1 else -1
    found = []
    for row in rows[1:]:
        number = NUMBER_CELL.fullmatch(row[0])
        if number and len(row) == len(names):
            points = float(row[worth]) if worth > 0 and re.fullmatch(r"\d{1,3}(?:\.\d)?", row[worth]) else None
            found += [
                Entry(int(number[1]), row[at], points, elective=rows[0][at] if len(forms) > 1 else "", where=where)
                for at in answers
                if row[at]
            ]
    return found


def _by_rows(rows: Sequence[Sequence[str]], where: str) -> list[Entry]:
    """Rows of numbers, each above a row of answers; their names may be missing."""
    found = []
    for above, below in pairwise(rows):
        if _counts_up(above) and len(below) == len(above) and all(below) and not _counts_up(below):
            found += [Entry(int(number), answer, where=where) for number, answer in zip(above, below, strict=True)]
        if (column_of(above[0]), column_of(below[0])) == ("number", "answer"):
            numbers = [NUMBER_CELL.fullmatch(cell) for cell in above]
            found += [
                Entry(int(number[1]), answer, where=where)
                for number, answer in zip(numbers, below, strict=False)
                if number and answer
            ]
            spans = [_SPAN_CELL.fullmatch(cell) for cell in above]
            found += [
                Entry(number, letter, where=where)
                for span, answers in zip(spans, below, strict=False)
                if span
                for number, letter in of_span(int(span[1]), int(span[2]), answers)
            ]
    return found


def _counts_up(cells: Sequence[str]) -> bool:
    """Whether cells are nothing but numbers of questions, three at least, each one more than the last."""
    numbers = [int(cell) for cell in cells if re.fullmatch(r"\d{1,3}", cell)]
    return len(numbers) == len(cells) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def of_span(first: int, last: int, said: str) -> list[tuple[int, str]]:
    """The answers of a run of questions ("1-5", "ABCDD"), with their numbers; empty where they are not as many."""
    letters = said.split()
    if len(letters) != last - first + 1:
        letters = re.findall(r"[A-J①-⑩]", said)
    return list(enumerate(letters, first)) if len(letters) == last - first + 1 else []


def column_of(name: str) -> str:
    """What a column holds, by its name: number, answer, points, solution or elective; "" for anything else."""
    bare = re.sub(r"\s+", "_", name.strip().lower())
    return next(
        (column for column, names in _COLUMNS.items() if {bare, bare.replace("_", "")} & set(names.split())), ""
    )
