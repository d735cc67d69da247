"""Reads livek12 questions from local files, in both key languages of upstream and from reviewed papers.

Contract: `read(source, log)` yields the pages in `pages/` beside the rows (files PAPER_N.png), then the
questions. What a row lacks stays empty. A row without any question, with a wrong type or with a bad image is
left out with one line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast, get_args

from livek12.core.records import CHOICE_TYPES, Language, Option, Page, Question, QuestionType, Source
from livek12.dataset_builders import reviewed
from livek12.dataset_builders.base import BadRow, Log, Records
from livek12.dataset_builders.images import ImageLoader
from livek12.dataset_builders.pages import find_pages
from livek12.dataset_builders.rows import Row, read_rows, source_root, to_questions
from livek12.dataset_builders.text import (
    count_blanks,
    has_parts,
    parse_list,
    place_marks,
    plain_width,
    restore_newlines,
    split_blanks,
    split_options,
    split_parts,
    trim_part,
)

KEYS = {
    "题型": "question_type",
    "分值": "point_value",
    "题目": "question",
    "答案": "answer",
    "解答": "solution",
    "图像": "images",
    "考点": "knowledge_points",
    "学科": "subject",
}
"""Chinese keys of older local files, and the English ones that replaced them."""
SUBJECTS = {"数学": "math", "物理": "physics", "化学": "chemistry", "生物": "biology", "mathematics": "math"}
SUBSETS = {"long_reason": "long_horizon"}
_KNOWN_SUBJECTS = {*SUBJECTS.values()}
_LANGUAGE_RELEASE = re.compile(r"(?:^|[^A-Za-z])(zh|en|ko)[_-](\d{4})(?!\d)")
_CHOICE, _FREE = "choice", "free"
_TYPE_NAMES = {
    _CHOICE: "选择题 multiplechoice choice mcq",
    "single_choice": "单选题 单项选择题 singlechoice singleanswerchoice",
    "multiple_choice": "多选题 多项选择题 不定项选择题 multipleselect multiselect multipleanswerchoice",
    "fill_in_blank": "填空题 fillintheblank fillintheblanks fillinblank fillblank",
    "true_false": "判断题 truefalse trueorfalse",
    "proof": "证明题 proof",
    _FREE: "解答题 计算题 实验题 综合题 简答题 非选择题 freeresponse problemsolving solution calculation"
    " shortanswer openended",
}
"""Upstream's names in lower case, letters only. `choice` becomes single or multiple by the number of letters
in the key; `free` becomes short_answer where there is a key to compare with, else open_ended."""
_TYPES = {name: kind for kind, names in _TYPE_NAMES.items() for name in names.split()}
_PASSED_ON = ("paper_id", "page_numbers", "year", "exam", "difficulty", "taxonomy", "part_points", "translation_of")
"""Keys that mean here what they mean in `Question`."""
_READ = {
    *("id", "set", "subject", "question_type", "point_value", "question", "answer", "solution", "images", "subset"),
    *("knowledge_points", "language", "number", "licence", *_PASSED_ON),
}
_CHOICE_KEY = re.compile(r"[\s(（\[]*[A-Ja-j](?:[\s,，、;；.()（）\[\]]*[A-Ja-j])*[\s.。)）\]]*")
_LONGEST_NAME = 32
_LARGEST = 99_999
_POINTS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:分|points?|pts?)?\s*", re.IGNORECASE)


def read(source: Path, log: Log) -> Records:
    """The pages and questions of a livek12 source: a JSON, JSONL or Parquet file, or a folder of them.

    Raises:
        UserError: the source is not there or holds no rows.
    """
    root = source_root(source)
    loader = ImageLoader(root)
    unread: set[str] = set()

    def make(row: Row) -> Question:
        data = _upstream(row)
        unread.update(data.keys() - _READ)
        return _question(data, row, loader, log)

    yield from _pages(source, root, loader, log)
    yield from to_questions(read_rows(source, log), make, log)
    if unread:
        log.note(source.name, None, f"keys with no place in a livek12 question: {', '.join(sorted(unread))}")


def _pages(source: Path, root: Path, loader: ImageLoader, log: Log) -> Iterator[Page]:
    files = find_pages(root)
    if not files:
        return
    papers: dict[str, tuple[Language, str | None]] = {}
    for row in read_rows(source, Log()):
        data = _upstream(row)
        if isinstance(paper := data.get("paper_id"), str) and paper not in papers:
            with suppress(BadRow):  # said when the question is read
                papers[paper] = _language_release(data, row)
    for (paper, number), file in files.items():
        language, release = papers.get(paper, (None, None))
        try:
            image = loader.load(file.name, file.parent)
        except BadRow as error:
            log.skip(str(file.relative_to(root)), None, error)
            continue
        yield Page(paper_id=paper, page_number=number, image=image, language=language, release=release)


def _question(data: Mapping[str, Any], row: Row, loader: ImageLoader, log: Log) -> Question:
    language, release = _language_release(data, row)
    raw_type = _text(data, "question_type") or None
    text = restore_newlines(_text(data, "question"))
    images = [loader.load(ref, row.file.parent) for ref in parse_list(data.get("images"))]
    number = str(value).strip() if (value := data.get("number")) is not None else ""
    on_pages = data.get("paper_id") and data.get("page_numbers") and number
    if not (text or images or on_pages):
        raise BadRow("it has no question")
    answer = [restore_newlines(entry) for entry in _texts(data, "answer")]
    letters = [_letters(entry) for entry in answer]
    kind = raw_type if raw_type in get_args(QuestionType) else _TYPES.get(_type_name(raw_type))
    options: list[Option] = []
    if kind in (None, _CHOICE, *CHOICE_TYPES):
        text, options = split_options(text, set("".join(letters)) if all(letters) else set(answer))
    if kind is None:
        kind = _CHOICE if options and any(letters) else _FREE
        log.note(row.where, row.id, f"question_type {raw_type!r} is not known: taken as {kind}")
    if kind in (_CHOICE, "multiple_choice") and _one_set(kind, letters) and not has_parts(text, options, len(letters)):
        letters = ["".join(letters)]
    question_type = _question_type(kind, answer, letters)
    if question_type in CHOICE_TYPES and all(letters):
        answer = letters
    elif question_type == "fill_in_blank" and len(answer) == 1:
        answer = split_blanks(answer[0], count_blanks(text))
    elif question_type == "short_answer" and len(answer) == 1:
        answer = split_parts(text, answer[0])
    if len(answer) > 1:
        answer = [trim_part(entry) or entry for entry in answer]
    text, options, images, change = place_marks(text, options, images)
    if change:
        log.note(row.where, row.id, change)
    numbers = [data.get("year"), *parse_list(data.get("page_numbers"))]
    if any(isinstance(number, int) and abs(number) > _LARGEST for number in numbers):
        raise BadRow("year or page_numbers is out of range")
    return Question(
        **{name: data[name] for name in _PASSED_ON if data.get(name) is not None},
        id=row.id,
        benchmark="livek12",
        release=release,
        language=language,
        subject=_subject(data, row),
        question_type=question_type,
        question_type_raw=raw_type,
        question=text,
        options=options,
        images=images,
        number=number or None,
        answer=answer,
        solution=restore_newlines(_text(data, "solution")) or None,
        points=_points(data.get("point_value")),
        knowledge_points=_split_list(data, "knowledge_points"),
        subsets=[SUBSETS.get(name, name) for name in _split_list(data, "subset")],
        source=Source(licence=data.get("licence"), upstream_id=str(data["id"]) if data.get("id") else None),
    )


def _upstream(row: Row) -> dict[str, Any]:
    """The row in upstream's English keys."""
    if reviewed.matches(row.data):
        return reviewed.to_upstream(row.data)
    return {KEYS.get(key, key): value for key, value in row.data.items()}


def _language_release(data: Mapping[str, Any], row: Row) -> tuple[Language, str | None]:
    """From the row's own words, else its set, id or file name; the language else from the keys or the script.

    Raises:
        BadRow: a language that is none of ours, or a set that is no name.
    """
    set_name = str(data.get("set") or "").strip()
    named = [_LANGUAGE_RELEASE.search(text) for text in (set_name, str(data.get("id") or ""), row.file.stem)]
    language, release = next(((m[1], m[2]) for m in named if m), (None, None))
    if set_name and not named[0]:
        release = set_name
    language = data.get("language") or language or _language_of(str(data.get("question")), row)
    if language not in get_args(Language) or len(release or "") > _LONGEST_NAME:
        raise BadRow(f"language {language!r} or set {set_name!r} cannot be: zh, en or ko, and a short name")
    return cast(Language, language), release


def _language_of(text: str, row: Row) -> Language:
    if re.search(r"[가-힣]", text):
        return "ko"
    return "zh" if row.data.keys() & KEYS.keys() or re.search(r"[一-鿿]", text) else "en"


def _subject(data: Mapping[str, Any], row: Row) -> str:
    if stated := _text(data, "subject").strip().lower():
        return SUBJECTS.get(stated, stated)
    for text in (str(data.get("id") or ""), row.file.stem):
        for token in re.split(r"[\W\d_]+", text.lower()):
            if (subject := SUBJECTS.get(token, token)) in _KNOWN_SUBJECTS:
                return subject
    return ""


def _type_name(raw: str | None) -> str:
    return re.sub(r"[\W_]+", "", re.sub(r"\bquestions?$", "", (raw or "").lower()))


def _letters(entry: str) -> str:
    """The letters of an entry of a choice key, however it is written ("ACD", "A, C", "(b)"); else nothing."""
    entry = plain_width(entry)
    return "".join(re.findall(r"[A-Za-z]", entry)).upper() if _CHOICE_KEY.fullmatch(entry) else ""


def _one_set(kind: str, letters: list[str]) -> bool:
    """Whether the entries of a choice key can be the letters of one answer.

    No letter comes twice, and each entry is one letter unless the type itself says that several are right.
    """
    joined = "".join(letters)
    singles = kind == "multiple_choice" or all(len(entry) == 1 for entry in letters)
    return len(letters) > 1 and all(letters) and singles and len({*joined}) == len(joined)


def _question_type(kind: str, answer: list[str], letters: list[str]) -> QuestionType:
    if kind == _CHOICE:
        return "multiple_choice" if any(len(entry) > 1 for entry in letters) else "single_choice"
    if kind == _FREE:
        return "short_answer" if answer else "open_ended"
    return cast(QuestionType, kind)


def _points(value: object) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, str) and (match := _POINTS.fullmatch(value)):
        value = float(match[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise BadRow(f"point_value {value!r} is not a number of points")
    return float(value)


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRow(f"{key} is {type(value).__name__}, not a text")
    return value.strip()


def _texts(data: Mapping[str, Any], key: str) -> list[str]:
    values = parse_list(data.get(key))
    if not all(isinstance(value, str | int | float) for value in values):
        raise BadRow(f"{key} holds something that is not a text")
    return [text for value in values if (text := str(value).strip())]


def _split_list(data: Mapping[str, Any], key: str) -> list[str]:
    pieces = [piece.strip() for text in _texts(data, key) for piece in re.split(r"[;；\n]", text)]
    return [piece for piece in pieces if piece]
