"""Reads the fields of a row; a missing field, null and an empty text all give None, "" or [].

Contract: keys are compared in lower case with underscores. Of synonyms the first listed counts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from pydantic import ValidationError

from livek12.core.languages import by_name, codes
from livek12.core.records import MOST_POINTS, Language, PageBox, Question, Review, Scheme, Source, check_scheme
from livek12.core.schemes import marks_in_solution, read_scheme
from livek12.dataset_builders.base import BadRow, Log, one_line
from livek12.dataset_builders.reading.publishers import UNKNOWN, Origin
from livek12.dataset_builders.reading.text import parse_list, restore, without_invisible

_LINES = resources.files(__package__).joinpath("names.txt").read_text(encoding="utf-8").splitlines()
NAMES = dict(line.split(": ") for line in _LINES)
"""Other names of a question's fields, in lower case with underscores, in order of precedence."""
OURS = {name: ours for ours, names in NAMES.items() for name in names.split()}
RANK = {name: place for names in NAMES.values() for place, name in enumerate(names.split(), start=1)}


def spelled(key: str) -> str:
    """A key in lower case with underscores."""
    return re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", without_invisible(key).strip())).lower()


Data = Mapping[str, Any]


_BETWEEN = re.compile(r"[;；\n]")
_ARROW = re.compile(r"->|→|›|»")
_SHORTEST_PATH = 2
_TEXT_OR_LIST = frozenset({str, list})
_POINTS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:分|점|points?|pts?)?\s*", re.IGNORECASE)
_NUMBER_LIST = re.compile(r"\[? ?(\d+(?:\.\d+)?(?: ?[ ,;] ?\d+(?:\.\d+)?)*) ?\]?")
_WHOLE = re.compile(r"\s*(\d{1,19})(?:\.0+)?\s*(?:년|年)?\s*")
_YES = frozenset({"true", "t", "yes", "y", "1", "1.0", "o", "예", "네", "참", "是", "对"})
_NO = frozenset({"false", "f", "no", "n", "0", "0.0", "x", "아니오", "아니요", "거짓", "否", "错"})


def stated(data: Data, *keys: str) -> Any:
    """First non-empty field."""
    for key in keys:
        value = data.get(key)
        if value is None:
            continue
        if type(value) in _TEXT_OR_LIST:  # of nearly all fields, and quick
            if value:
                return value
        elif value not in ("", []) and not (isinstance(value, float) and math.isnan(value)):
            return value
    return None


def text_of(data: Data, *keys: str) -> str:
    """Text of the first non-empty field; a number as written."""
    value = stated(data, *keys)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadRow(f"{_named(data, keys)} is {type(value).__name__}, not a text")
    return str(value).strip()


def stated_language(data: Data) -> Language | None:
    """Language that a row states; BadRow if it is unsupported."""
    stated_name = text_of(data, "language").lower()
    code = by_name().get(stated_name)
    if stated_name and code is None:
        raise BadRow(f"language {stated_name!r} is none of {', '.join(codes())}")
    return code


def texts_of(data: Data, *keys: str) -> list[str]:
    """Texts of a list, of a text that spells a list, or of a single text.

    Nulls are skipped, except in keys, whose entries belong to blanks.
    """
    values = [value for value in parse_list(stated(data, *keys)) if value is not None or "answer" in keys]
    if not all(isinstance(value, str | int | float) for value in values):
        raise BadRow(f"{_named(data, keys)} holds something that is not a text")
    return [text for value in values if (text := as_text(value).strip())]


def joined_of(data: Data, *keys: str, by: str = "\n\n") -> str:
    """A single text, or the distinct texts of a list joined."""
    value = stated(data, *keys)
    if value is None or isinstance(value, str):
        return (value or "").strip()
    return text_of(data, *keys) if isinstance(value, int | float) else by.join(dict.fromkeys(texts_of(data, *keys)))


def points_and_parts(data: Data) -> tuple[float | None, list[Any]]:
    """Points of a question and of its parts; a list in `points` holds those of the parts."""
    value, parts = stated(data, "points"), numbers_of(data, "part_points")
    each = numbers_of(data, "points") if isinstance(value, list) or (isinstance(value, str) and "[" in value) else []
    if not each:
        return points_of(data, "points"), parts
    marks = [points_of({"points": part}, "points") for part in each]
    if None in marks:
        raise BadRow("points holds what is not a number of points")
    total = sum(mark for mark in marks if mark is not None)
    return total, parts or (marks if len(marks) > 1 else [])


def knowledge_of(data: Data) -> tuple[list[str], list[str]]:
    """Knowledge points, and the path to the first one if they are paths (algebra -> equations -> roots)."""
    entries = pieces_of(data, "knowledge_points")
    paths = [[piece.strip() for piece in _ARROW.split(entry) if piece.strip()] for entry in entries]
    points = [path[-1] if len(path) > _SHORTEST_PATH else entry for path, entry in zip(paths, entries, strict=True)]
    return list(dict.fromkeys(points)), next((path for path in paths if len(path) > _SHORTEST_PATH), [])


def pieces_of(data: Data, *keys: str) -> list[str]:
    """Texts of a list whose entries may be joined by semicolons or line breaks."""
    pieces = [piece.strip() for text in texts_of(data, *keys) for piece in _BETWEEN.split(text)]
    return [piece for piece in pieces if piece]


def as_text(value: object) -> str:
    """A text unchanged; null as ""; other values as JSON (0.008, true)."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def numbers_of(data: Data, key: str) -> list[Any]:
    """A list of numbers, also from text ("[1, 2]"); other values pass, for the record to refuse."""
    value = stated(data, key)
    if isinstance(value, str) and (match := _NUMBER_LIST.fullmatch(" ".join(value.split()))):
        return re.split(r"[ ,;]+", match[1])
    return parse_list(value)


def boxes_of(data: Data) -> list[PageBox]:
    """Boxes on pages: objects with page, left, top, right, bottom."""
    value = stated(data, "boxes")
    try:
        return [PageBox.model_validate(box) for box in (parse_list(value) if isinstance(value, str) else value or [])]
    except (ValidationError, TypeError):
        raise BadRow(f"boxes {one_line(repr(value), 60)} are no boxes on pages") from None


def whole_of(data: Data, *keys: str) -> int | None:
    """A whole number such as a year, also as a text ("2019", "2019.0", "2019년")."""
    value = stated(data, *keys)
    if value is None:
        return None
    match = _WHOLE.fullmatch(str(value))
    if isinstance(value, bool) or not match:
        raise BadRow(f"{_named(data, keys)} {one_line(repr(value), 40)} is no whole number")
    return int(match[1])


def points_of(data: Data, *keys: str) -> float | None:
    """A number of points, also with its unit ("5分", "3점", "6 points")."""
    # As in `stated`, but nan counts as stated, so that it can be refused.
    value = next((value for key in keys if (value := data.get(key)) is not None and value not in ("", [])), None)
    if value is None:
        return None
    if isinstance(value, str) and (match := _POINTS.fullmatch(value)):
        value = float(match[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_POINTS:
        raise BadRow(f"{_named(data, keys)} {one_line(repr(value), 40)} is not a number of points")
    return float(value)


def truth_of(value: object) -> bool | None:
    """A boolean in any usual spelling (true, "False", 1, "Y", "예", "O"); None for other values."""
    if isinstance(value, bool):
        return value
    spelled = str(value).strip().lower()
    return True if spelled in _YES else False if spelled in _NO else None


def units_of(data: Data) -> list[str]:
    """Unit after each blank, "" for none: from `part_units`, or `unit` for the only blank or as a list."""
    units = parse_list(stated(data, "part_units", "unit"))
    if not all(unit is None or isinstance(unit, str) for unit in units):
        raise BadRow("part_units holds something that is not a text")
    given = [(unit or "").strip() for unit in units]
    return given if any(given) else []


def review_of(data: Data, origin: Origin = UNKNOWN) -> Review:
    """The row's own review; else its publisher's, if the origin is proved; else none."""
    own = data.get("review")
    if own is None or own == "":
        return Review(state="upstream", by=origin.published_by) if origin.published_by else Review()
    if isinstance(own, str):
        try:
            own = json.loads(own)
        except (ValueError, RecursionError):
            own = {"state": own}
    if not isinstance(own, Mapping):
        raise BadRow(f"review is {type(own).__name__}, not {{state, by, at}}")
    try:
        return Review(**{key: value for key, value in own.items() if value is not None})
    except (ValidationError, TypeError) as error:
        first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else {"msg": str(error)}
        raise BadRow(f"review: {first['msg']}") from None


def source_of(data: Data, origin: Origin = UNKNOWN) -> Source:
    """The row's own source, completed by its publisher's if the origin is proved."""
    given = data.get("source")
    source = given if isinstance(given, Mapping) else {}
    upstream = stated(source, "upstream_id") or stated(data, "upstream_id", "id")
    return Source(
        url=text_of(source, "url") or text_of(data, "source_url", "url") or origin.url,
        licence=text_of(source, "licence", "license") or text_of(data, "licence", "license") or origin.licence,
        upstream_id=None if upstream is None else str(upstream),
    )


def _named(data: Data, keys: tuple[str, ...]) -> str:
    return next((key for key in keys if data.get(key) is not None), keys[0])


def with_scheme(question: Question, data: Data, where: str, log: Log) -> Question:
    """Question with its row's scheme; what is no sound scheme stays readable in the solution.

    Raises:
        BadRow: a `scheme`, which is our own form, is not sound.
    """
    own, marking = stated(data, "scheme"), stated(data, "marking")
    if own is None and marking is None:
        printed = (
            marks_in_solution(text, question.points) for text in (question.solution, "\n".join(question.answer)) if text
        )
        scheme = next(filter(None, printed), None)
        return question.model_copy(update={"scheme": scheme}) if scheme else question
    try:
        scheme = _scheme_of(marking if own is None else own, question)
        return question.model_copy(update={"scheme": scheme})
    except ValueError as error:
        if own is not None:
            raise BadRow(str(error)) from None
        log.note(where, question.id, f"{one_line(error)}: the scheme is kept as text of the solution")
    text = "\n\n".join(filter(None, (question.solution, _prose_of(marking))))
    return question.model_copy(update={"solution": text or None})


def _scheme_of(value: Any, question: Question) -> Scheme:
    """A scheme that fits the question's points; else ValueError."""
    given = parse_list(value) if isinstance(value, str) and value.lstrip()[:1] == "[" else value
    schemes = read_scheme(given, question.points)
    scheme = [[each.model_copy(update={"text": restore(each.text)}) for each in criteria] for criteria in schemes]
    if not any(scheme):
        return []
    try:
        check_scheme(scheme, question.points, question.part_points)
    except ValueError as error:
        words = "; ".join(f"{criterion.points:g}: {criterion.text}" for criteria in scheme for criterion in criteria)
        raise ValueError(f"{error} ({one_line(words, 160)})") from None
    return scheme


def _prose_of(marking: Any) -> str:
    """A marking scheme as text, a line per criterion; several schemes follow each other."""
    given = parse_list(marking)
    schemes = given if any(isinstance(scheme, list) for scheme in given) else [given]
    texts = ["\n".join(f"- {as_text(line).strip()}" for line in parse_list(scheme) if line) for scheme in schemes]
    return "\n\nor\n\n".join(restore(text) for text in texts if text)
