"""livek12 reader: local files in both key languages of upstream, reviewed papers, and collected exam papers.

Contract: pages are `pages/PAPER_N.png` next to the rows. Of a reviewed row (`question.content`, `answer.standard`, …)
the paper is the id without its number. In a collected row ({keywords, example: [...]}) a list key has one entry a
sub-question, with `score` points each; `questions` separates them if their passage splits unambiguously. A text key and
its `score` are of the whole question. These papers are Chinese, whatever a text's language; the year is the release.
Option pictures are at the end: their letters may be out of order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from livek12.core.languages import HANGUL, by_name, codes, language_of, listed
from livek12.core.question_types import CHOICE, CHOICE_TYPES, FREE, kind_of, settle
from livek12.core.records import Attributes, Image, Language, Option, Page, Question
from livek12.dataset_builders.base import IMAGE_ONLY, BadRow, Log, PageKey, by_release, not_from_pages
from livek12.dataset_builders.benchmarks import COMMON_KEYS, free_key, solution_of
from livek12.dataset_builders.builder import ASKED, Beside, Builder, Layout, own_tables
from livek12.dataset_builders.reading.fields import (
    Data,
    as_text,
    boxes_of,
    joined_of,
    knowledge_of,
    numbers_of,
    pieces_of,
    points_and_parts,
    review_of,
    source_of,
    text_of,
    texts_of,
    units_of,
    whole_of,
)
from livek12.dataset_builders.reading.images import ImageLoader
from livek12.dataset_builders.reading.languages import asked_text, written_language
from livek12.dataset_builders.reading.marks import place_marks, take_all_inline, take_inline, without_absent
from livek12.dataset_builders.reading.options import chosen, options_of, placed_key
from livek12.dataset_builders.reading.rows import SourceRow
from livek12.dataset_builders.reading.text import (
    has_parts,
    parse_list,
    plain_width,
    restore,
    split_group,
    split_options,
    trim_part,
    unboxed,
    unlabelled,
)

_REVIEWED = {"id", "year", "subject", "question_type", "score", "question", "answer", "question_number", "paper"}
_NO_PLACE = {"country", "province", "requires_vision", "grading", "extraction"}
"""Provenance and grading fields without a place in a Question."""
_COLLECTED_SUBJECTS = {
    **{
        name: name for name in ("math", "physics", "chemistry", "biology", "chinese", "english", "history", "geography")
    },
    **{"political": "politics", "politics": "politics", "mathematics": "math"},
}
_COLLECTED = {"year", "category", "question", "answer", "analysis", "index", "score", "picture"}
_ONLY_LETTERS = re.compile(r"[A-Ga-g]+")
_YEARS = re.compile(r"^\d{4}(?:-\d{4})?_")
SUBJECTS = {"数学": "math", "物理": "physics", "化学": "chemistry", "生物": "biology", "mathematics": "math"}
_SUBSETS = ("complex_layout", "rigorous_process", "long_horizon")
SUBSETS = {"long_reason": "long_horizon"}
_KNOWN_SUBJECTS = {*SUBJECTS.values()}
_LANGUAGE_RELEASE = re.compile(r"(?:^|[^A-Za-z])(zh|en|ko)[_-](\d{4})(?!\d)")
KEYS = COMMON_KEYS | {
    *("set", "question_type_raw", "solution_images", "boxes", "translation_of", "visual_modality"),
    *("answer_index", "answer_place"),
}
"""Row keys read, by our names."""
_CHINESE = frozenset("题型 分值 题目 答案 解答 图像 考点 学科".split())
"""Keys of older local files, which are Chinese even with text in other scripts."""
_CHOICE_KEY = re.compile(r"[\s(（\[]*[A-Ja-jＡ-Ｊａ-ｊ](?:[\s,，、;；.()（）\[\]]*[A-Ja-jＡ-Ｊａ-ｊ])*[\s.。)）\]]*")
_LONGEST_NAME = 32


def rows(row: SourceRow) -> list[SourceRow]:
    """Converts a row of a known form to rows in our keys, one a question."""
    stem, key = row.data.get("question"), row.data.get("answer")
    if isinstance(stem, Mapping) and "content" in stem and isinstance(key, Mapping):
        return [replace(row, data=_of_reviewed(row.data), found=row.data)]
    if "keywords" in row.context and {"question", "answer", "category", "score"} <= row.data.keys():
        gaokao_row = replace(row, context={}, found=row.data)
        return [replace(gaokao_row, data=data) for data in questions(row)]
    return [row]


def _of_reviewed(row: Mapping[str, Any]) -> dict[str, Any]:
    question, answer = row["question"], row["answer"]
    number = str(row.get("question_number") or "") or None
    content = question["content"]
    if number and isinstance(content, str):
        content = re.sub(rf"^\s*{re.escape(number)}\s*[.．、]\s*", "", content)
    year = row.get("year")
    paper = re.fullmatch(r"(.+?)-q\d+", str(row.get("id") or ""))
    return {
        "id": row.get("id"),
        "set": None if year is None else str(year),
        "subject": row.get("subject"),
        "question_type": row.get("question_type"),
        "points": row.get("score"),
        "question": content,
        "answer": answer.get("standard"),
        "solution": answer.get("analysis"),
        "images": question.get("assets"),
        "number": number,
        "year": year,
        "exam": row.get("paper"),
        "paper_id": paper[1] if paper else None,
        **{key: value for key, value in row.items() if key not in _REVIEWED | _NO_PLACE},
    }


def _of_collected(row: SourceRow) -> dict[str, Any]:
    data, keywords = row.data, str(row.context["keywords"])
    key = data["answer"]
    entries = [as_text(entry).strip() for entry in parse_list(key)]
    listed = isinstance(key, list) and len(entries) > 1
    score = data["score"]
    year, category = as_text(data.get("year")).strip(), as_text(data.get("category")).strip()
    points = {"points": score}
    if listed and isinstance(score, int | float) and not isinstance(score, bool):
        points = {"points": score * len(entries), "part_points": [score] * len(entries)}
    return {
        "id": f"{keywords}_{data['index']}" if data.get("index") is not None else None,
        "set": year or None,
        "language": "zh",
        "subject": next(filter(None, map(_COLLECTED_SUBJECTS.get, keywords.lower().split("_"))), ""),
        "question_type": _type_of_collected(row),
        "question_type_raw": _YEARS.sub("", keywords).replace("_", " "),
        "question": data["question"],
        "answer": entries,
        "solution": data.get("analysis"),
        "images": parse_list(data.get("picture")),
        "year": year or None,
        "exam": category.strip("()（） ") or None,
        **points,
        **{name: value for name, value in data.items() if name not in _COLLECTED},
    }


def questions(row: SourceRow) -> list[dict[str, Any]]:
    """Converts a row to our keys: its passage's questions if the key has letters for each, else itself."""
    whole = _of_collected(row)
    entries = whole["answer"]
    several = isinstance(row.data["answer"], list) and len(entries) > 1 and all(map(_ONLY_LETTERS.fullmatch, entries))
    parts = split_group(restore(as_text(row.data["question"])), entries) if several else []
    shared = {name: value for name, value in whole.items() if name != "part_points"}
    return [
        {
            **shared,
            "id": f"{whole['id']}_{place}" if whole["id"] else None,
            "upstream_id": whole["id"],
            "question": part.text,
            "options": [{"label": option.label, "text": option.text} for option in part.options],
            "number": part.number,
            "answer": [entry],
            "question_type": CHOICE,
            "points": row.data["score"],
        }
        for place, (part, entry) in enumerate(zip(parts, entries, strict=False), start=1)
    ] or [whole]


def _type_of_collected(row: SourceRow) -> str:
    keywords, key = str(row.context["keywords"]), row.data["answer"]
    if isinstance(key, list) and all(_ONLY_LETTERS.fullmatch(as_text(entry).strip()) for entry in key):
        entries = [as_text(entry).strip() for entry in key]
        if len(entries) == 1:
            return CHOICE
        return "multiple_choice" if any(len(entry) > 1 for entry in entries) else "single_choice"
    return "fill_in_blank" if re.search(r"fill[-_ ]in|cloze", keywords, re.IGNORECASE) else FREE


def question(row: SourceRow, beside: Beside, log: Log) -> Question:
    """Converts a row; raises BadRow."""
    data, loader = row.data, beside.images
    id = row.id
    language, release = _language_release(data, row)
    given_type = joined_of(data, "question_type", by=", ") or None
    raw_type = text_of(data, "question_type_raw") or given_type
    listed, are_bare = options_of(data.get("options"), letters=not language_of(language).numbered)
    parts = [restore(text) for name in ("passage", "question") if (text := _text(data, name))]
    text, options, refs = take_all_inline("\n\n".join(parts), listed, parse_list(data.get("images")))
    images = [loader.load(ref, row.folder) for ref in refs]
    page_numbers, number = numbers_of(data, "page_numbers"), text_of(data, "number")
    if not (text or images):
        _check_on_pages(text_of(data, "paper_id"), page_numbers, number, beside.pages)
    answer = unlabelled([unboxed(restore(entry)) for entry in texts_of(data, "answer")])
    if listed:
        answer = _by_label(answer, options, are_bare) or placed_key(data, options)
    letters = [_letters(entry) for entry in answer]
    kind = given_type if given_type in (CHOICE, FREE) else kind_of(given_type) or (CHOICE if listed else None)
    if not options and kind in (None, CHOICE, *CHOICE_TYPES):
        text, options = split_options(text, set("".join(letters)) if all(letters) else set(answer))
    if kind is None:
        kind = CHOICE if options and (any(letters) or not answer) else FREE
        log.note(row.where, id, f"question_type {raw_type!r} is not known: taken as {kind}")
    if kind in (CHOICE, "multiple_choice") and _one_set(kind, letters) and not has_parts(text, options, len(letters)):
        letters = ["".join(letters)]
    question_type = settle(kind, several=any(len(entry) > 1 for entry in letters), has_key=bool(answer))
    if question_type in CHOICE_TYPES and all(letters):
        answer = letters
    elif len(answer) == 1:
        answer = free_key(text, answer, question_type)
    if len(answer) > 1:
        answer = [trim_part(entry) or entry for entry in answer]
    text, options, images, change = place_marks(text, options, images)
    points, part_points = points_and_parts(data)
    solution, solution_images, solution_change = _solution(data, row, loader)
    for what in filter(None, (change, solution_change and f"solution: {solution_change}")):
        log.note(row.where, id, what)
    knowledge, path = knowledge_of(data)
    subject = _subject(data, row)
    further = {name: read(data) for keys, name, read in _FURTHER if not keys.isdisjoint(data)}
    return Question(
        id=id,
        benchmark="livek12",
        release=release,
        language=language,
        subject=subject,
        question_type=question_type,
        question_type_raw=raw_type,
        question=text,
        options=options,
        images=images,
        page_numbers=page_numbers,
        number=number or None,
        answer=answer,
        part_points=part_points,
        solution=solution or None,
        solution_images=solution_images,
        points=points,
        knowledge_points=knowledge,
        taxonomy=further.pop("taxonomy", None) or path,
        **further,
        review=review_of(data, row.origin),
        source=source_of(data, row.origin),
    )


def pages(rows: Iterable[SourceRow], files: Mapping[PageKey, Path], loader: ImageLoader, log: Log) -> Iterator[Page]:
    """Yields a source's pages, with the language and release of their paper's rows."""
    papers: dict[str, tuple[Language, str | None]] = {}
    for row in rows:
        if isinstance(paper := row.data.get("paper_id"), str) and paper not in papers:
            with suppress(BadRow):  # reported with the question
                papers[paper] = _language_release(row.data, row)
    for (paper, number), file in files.items():
        language, release = papers.get(paper, (None, None))
        try:
            image = loader.load(file.name, file.parent)
        except BadRow as error:
            log.skip(f"pages/{file.name}", None, error)
            continue
        yield Page(paper_id=paper, page_number=number, image=image, language=language, release=release)


def _attributes(data: Data) -> Attributes:
    return Attributes(**{name: joined_of(data, name, by="; ") or None for name in ("topic", "visual_modality")})


def _subsets(data: Data) -> list[str]:
    return [SUBSETS.get(name, name) for name in pieces_of(data, "subsets")]


def _name_of(data: Data, name: str) -> str | None:
    return text_of(data, name) or None


_FURTHER: tuple[tuple[frozenset[str], str, Callable[[Data], Any]], ...] = (
    (frozenset({"boxes"}), "boxes", boxes_of),
    (frozenset({"part_units"}), "part_units", units_of),
    (frozenset({"taxonomy"}), "taxonomy", lambda data: texts_of(data, "taxonomy")),
    (frozenset({"difficulty"}), "difficulty", partial(_name_of, name="difficulty")),
    (frozenset({"year"}), "year", lambda data: whole_of(data, "year")),
    (frozenset({"subsets"}), "subsets", _subsets),
    (frozenset({"topic", "visual_modality"}), "attributes", _attributes),
    (frozenset({"exam"}), "exam", lambda data: joined_of(data, "exam", by="; ") or None),
    *((frozenset({name}), name, partial(_name_of, name=name)) for name in ("paper_id", "translation_of", "removed_in")),
)
"""Rare fields, with their source keys."""


def _by_label(answer: list[str], options: list[Option], are_bare: bool) -> list[str]:
    labels_of_entries = [chosen(entry, options, unlabelled=are_bare) for entry in answer]
    return ["".join(labels) for labels in labels_of_entries if labels] if all(labels_of_entries) else answer


def _solution(data: Data, row: SourceRow, loader: ImageLoader) -> tuple[str, list[Image], str | None]:
    text, refs = solution_of(data), parse_list(data.get("solution_images"))
    text, refs = take_inline(text, refs) if refs else (text, refs)
    text, _, refs = without_absent(text, [], refs)
    text, _, images, change = place_marks(text, [], [loader.load(ref, row.folder) for ref in refs])
    return text, images, change if refs else None


def _check_on_pages(paper: str, page_numbers: list[Any], number: str, pages: Collection[PageKey]) -> None:
    if not (paper and page_numbers and number):
        raise BadRow("it has no question")
    missing = [str(page) for page in page_numbers if not str(page).isdigit() or (paper, int(page)) not in pages]
    if missing:
        raise BadRow(f"it has no question: no text, no images, and no image of page {', '.join(missing)} of {paper}")


def _language_release(data: Data, row: SourceRow) -> tuple[Language, str | None]:
    """Language and release from the row, else its set, id or file name; language last from keys or script."""
    set_name = str(data.get("set") or "").strip()
    in_set = _LANGUAGE_RELEASE.search(set_name)
    named = in_set or _LANGUAGE_RELEASE.search(str(data.get("id") or "")) or _LANGUAGE_RELEASE.search(row.file.stem)
    language, release = (named[1], named[2]) if named else (None, None)
    if set_name and not in_set:
        release = set_name
    given = str(data.get("language") or "")
    language = by_name().get(given.lower(), given) or language or _language_of(data, row)
    if language not in codes() or len(release or "") > _LONGEST_NAME:
        raise BadRow(f"language {language!r} or set {set_name!r} cannot be: {listed(codes())}, and a short name")
    return language, release


def _language_of(data: Data, row: SourceRow) -> Language:
    text = asked_text(data, *ASKED)
    if row.as_found.keys() & _CHINESE and not re.search(f"[{HANGUL}]", text):
        return "zh"
    return written_language(text, row.language, "en")


def _subject(data: Data, row: SourceRow) -> str:
    if stated := _text(data, "subject").strip().lower():
        return SUBJECTS.get(stated, stated)
    for text in (str(data.get("id") or ""), row.file.stem):
        for token in re.split(r"[\W\d_]+", text.lower()):
            if (subject := SUBJECTS.get(token, token)) in _KNOWN_SUBJECTS:
                return subject
    return ""


def _letters(entry: str) -> str:
    return "".join(re.findall(r"[A-Za-z]", plain_width(entry))).upper() if _CHOICE_KEY.fullmatch(entry) else ""


def _one_set(kind: str, letters: list[str]) -> bool:
    """True if the entries can be one answer's letters: distinct, and single unless several are right."""
    joined = "".join(letters)
    singles = kind == "multiple_choice" or all(len(entry) == 1 for entry in letters)
    return len(letters) > 1 and all(letters) and singles and len({*joined}) == len(joined)


def _text(data: Data, key: str) -> str:
    value = data.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRow(f"{key} is {type(value).__name__}, not a text")
    return value.strip()


def _tables(question: Question, pages: Collection[PageKey]) -> Iterator[str]:
    if question.images or question.question or question.options:  # asked on its pages only
        yield "text_image" if question.images else "text_only"
    if not not_from_pages(question, pages):
        yield IMAGE_ONLY
    yield from (subset for subset in _SUBSETS if subset in question.subsets)


BUILDER = Builder(
    question,
    Layout(
        {"default": ("text_only", "text_image"), **own_tables("text_only", "text_image", IMAGE_ONLY, *_SUBSETS)},
        _tables,
        split=by_release,
    ),
    hub="Shawn-wxh/livek12bench",
    licence="CC BY-NC 4.0",
    month="2026-05",
    pages=pages,
    keys=KEYS,
    rows=rows,
)
