"""Rows of `livek12 judge-pairs`: JSON lines with questions, keys and responses, and their verdicts.

Contract: nothing in a row is evaluated, and images come from the row or from beside the file. Rows are marked as
responses of a run, but a bare answer needs no commitment, and a longer response without an answer is undecided.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from livek12.core.languages import codes, language_of, letters_in, written_in
from livek12.core.patterns import late
from livek12.core.question_types import CHOICE, CHOICE_TYPES, QuestionType, kind_of, settle
from livek12.core.records import (
    Image,
    Key,
    Language,
    Option,
    PartVerdict,
    Question,
    Response,
    Scheme,
    SchemeCriterion,
    Variable,
    Verdict,
    check_scheme,
)
from livek12.core.schemes import criteria_of, is_by_scheme, read_scheme
from livek12.core.text import clean_json, one_line
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig, grade, judge_version, total
from livek12.judges.parts import part_count
from livek12.judges.rules.labels import read_labels
from livek12.judges.rules.true_false import read_truth
from livek12.judges.scheme import by_rules
from livek12.tasks.extraction import extract
from livek12.tasks.extraction.regions import boxes, spoken
from livek12.tasks.scorer import judge_response, stamped, unless_broken

TASK = "judge-pairs"
MAX_IMAGE_BYTES = 64 * 2**20
LONG_KEY = 200
"""A key of more characters may be a worked solution."""
PRINTED_DIGITS = 9
"""A float with more digits was computed: it is what it says to 15 digits, of which none is a rounding."""
MOST_POINTS = 1e15
BARE_CHARS: Final = 300
"""A response of one line that is no longer and commits to nothing is itself the answer."""
PAIR_CONFIG: Final = GradingConfig(partial_credit="proportional")
Json = dict[str, Any]


class BadPair(Exception):
    """Line that is no pair, with the reason."""


@dataclass(frozen=True)
class JudgedPair:
    """One answer beside its key, ready for the judges."""

    id: str | int
    question: Question
    response: Response


def read_pair(line: bytes, folder: Path | None) -> JudgedPair:
    """Line as a pair; `folder` is that of image files."""
    row = _row(line)
    name = _row_id(row)
    if name is None:
        raise BadPair("has no id (a text or a whole number)")
    golds = _golds(row)
    response = row.get("response")
    if not isinstance(response, str | None) or "response" not in row:
        raise BadPair("has no response (a text)")
    try:
        question = _question(str(name), row, golds, folder)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadPair(f"{'.'.join(map(str, first['loc']))}: {one_line(first['msg'], 120)}") from None
    if not row.get("question_type"):
        question = _as_choice(question, response or "")
    answer = Response(
        key=Key(task=TASK, question_id=str(name)),
        text=response or "",
        finish_reason=_text(row, "finish_reason") or None,
        engine=TASK,
        model=_text(row, "model"),
    )
    return JudgedPair(name, question, answer)


def _row_id(row: Mapping[str, Any]) -> str | int | None:
    value = row.get("id")
    return value if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None


def line_id(line: bytes) -> str | int | None:
    """Id in a line; None where it has no usable one."""
    try:
        return _row_id(_row(line))
    except BadPair:
        return None


def line_digest(line: bytes, fields: Iterable[str]) -> str:
    """Digest of these fields (null is absent), or of a whole unreadable line."""
    try:
        row = _row(line)
        judged = {name: row[name] for name in fields if row.get(name) is not None}
        line = json.dumps(judged, sort_keys=True).encode()
    except (BadPair, RecursionError):
        line = line.strip()
    return hashlib.sha256(line).hexdigest()[:16]


def _row(line: bytes) -> Json:
    try:
        text = line.removeprefix(codecs.BOM_UTF8).decode()
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPair(f"is not JSON ({one_line(error, 80)})") from None
    if not isinstance(row, dict):
        raise BadPair("is no JSON object")
    return clean_json(row) if "\\ud" in text or "\\uD" in text else row


def _question(name: str, row: Json, golds: list[str], folder: Path | None) -> Question:
    text = _text(row, "question")
    language = _language(row, text, golds)
    options = _options(row.get("options"), golds, language)
    variables = [Variable(**entry) for entry in _list(row, "variables", dict)]
    fields = {
        "id": name,
        "benchmark": "cfe" if variables else "livek12",
        "language": language,
        "subject": _text(row, "subject"),
        "question_type": _type(row, golds, options),
        "question": text,
        "options": options,
        "images": _images(row.get("images"), folder),
        "answer": golds,
        "part_units": _units(row, golds),
        "part_points": _points(row),
        "variables": variables,
        "solution": _text(row, "solution") or None,
        "scheme": _scheme(row),
    }
    question = _EMPTY.model_copy(update=fields)
    committed = _committed(question) if len(golds) == 1 else golds
    return question if committed == golds else question.model_copy(update={"answer": committed})


_EMPTY: Final = Question(
    id="", benchmark="livek12", language="en", subject="", question_type="short_answer", question=""
)
"""Copied for each row: its fields are checked one by one, and a second validation costs as much as marking a number."""
_FORMULA = late(
    r"(?:\\(?!boxed|fbox|text|mathrm|mbox)[a-zA-Z]+|\\[^a-zA-Z]|(?<![A-Za-z])[A-Za-z](?![A-Za-z])"
    r"|[^A-Za-z\\#:：\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3])+"
    r"|\d[\d.,]* ?[A-Za-z]{1,3}|(?!.*\b[Aa]ns)[A-Za-z][A-Za-z '-]*"
)
"""A key without words, with one for a unit or without numbers, which commits to nothing but itself."""


def _committed(question: Question) -> list[str]:
    """Of a worked solution the value it commits to."""
    gold = question.answer[0]
    if question.question_type in CHOICE_TYPES:
        if read_labels(gold) is not None or any(gold.strip() == option.text.strip() for option in question.options):
            return [gold]
        answers = extract(gold, question, None).answers
        return answers if len(answers) == 1 and read_labels(answers[0]) is not None else [gold]
    if len(gold) <= LONG_KEY and _FORMULA.fullmatch(gold):
        return [gold]
    extracted = extract(gold, question, None)
    if len(gold) > LONG_KEY:
        return extracted.answers if extracted.method in {"boxed", "answer_tag", "phrase"} else [gold]
    if len(extracted.answers) == 1 == part_count(question) and _says(gold, extracted.answers[0], extracted.method):
        return extracted.answers
    return [gold]


def _says(gold: str, value: str, method: str) -> bool:
    """True for a sentence that commits to a value, rather than a value or prose itself."""
    if method == "boxed":
        marked = boxes(gold)
        before, after = (gold[: marked[-1].start], gold[marked[-1].end :]) if marked else ("", gold)
        return _GOES_IN.search(before) is None and _BOX_ENDS.fullmatch(after) is not None
    if method == "phrase":
        plain = any(char.isdigit() or char in "$\\" for char in value) or len(value.split()) <= _FEW_WORDS
        return plain and not value.startswith("…") and _COMMITS.search(gold) is not None
    if method == "sentence":
        return True
    return _SAYS_VALUE.fullmatch(gold.strip()) is not None and _VALUE.fullmatch(value) is not None


_FEW_WORDS = 3
_COMMITS = re.compile(
    r"####|(?:\A|[\s*])(?:answers?|ans)\b|(?:\A|\n)A:|答案(?![^。\n]{0,4}(?:不|之|可|合|开))|(?:\A|\n)(?:정답|답)",
    re.IGNORECASE,
)
_GOES_IN = re.compile(r"(?:[\d+\-−*/^_{<>≤≥×·]|\\(?:pm|mp|times|cdot|div|leq?|geq?|sqrt|neq?|approx))\s*\Z")
"""Before a box that is a piece of a larger value: a factor, a term, an argument."""
_BOX_ENDS = re.compile(
    r"(?:[\s$.。*)\]\\}]|\\end\{[a-z]{1,12}\*?\}|\\(?:q?quad|(?:black)?square|qed|Box)(?![a-z]))*"
    r"(?:(?<=[\s$)\]])(?:(?:as|is|are) (?:the|our|its|his|her)|since|because)(?= )"
    r"(?!.*\b(?:not|no|never|or|if|unless|when|where|wrong|false|incorrect|too)\b)[a-zA-Z ]{1,80}[.]?\s*)?"
)
"""Behind a box that is the whole value: nothing, no unit either, or a few words of prose."""
_SAYS_VALUE = re.compile(
    r"(?!.*(?:\b(?:and|or|not|no|if|when|where|so|but|then|because|since|at|about|for)\b|n't\b|approx))"
    r"(?:it|(?:the|this|that|there|her|his|its|their)(?: [a-z]{2,15}){0,6})"
    r" (?:is|are|was|were|equals?)(?: equal to)? [-−$\d\\(].{0,60}",
    re.IGNORECASE,
)
"""A short sentence that says a value and nothing else: "The sum is 9."."""
_VALUE = re.compile(r"[-−]?\$?\d[\d.,/]*(?:\s?\S{1,4})?|\$[^$]+\$|\\\(.+\\\)|\\[a-z].*")


def _golds(row: Json) -> list[str]:
    gold = row.get("gold")
    golds = gold if isinstance(gold, list) else [gold]
    if any(not isinstance(entry, str | int | float) for entry in golds) or not golds:
        if row.get("variables") or (row.get("scheme") and gold is None):
            return []
        raise BadPair("has no gold (a text, a number, or a list of them)")
    return [_plain(entry) for entry in golds]


def _plain(value: str | float | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _printed(value)
    return value if isinstance(value, str) else json.dumps(value)


def _printed(value: float) -> str:
    """A float as people print it: digits imply exactness."""
    text = json.dumps(value)
    digits = sum(char.isdigit() for char in text.partition("e")[0].lstrip("-0."))
    return text.removesuffix(".0") if digits <= PRINTED_DIGITS or text.endswith(".0") else f"{value:#.15g}"


def _text(row: Json, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str | None):
        raise BadPair(f"has a {name} that is no text")
    return value or ""


def _list(row: Json, name: str, *kinds: type) -> list[Any]:
    value = row.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, kinds) for entry in value):
        raise BadPair(f"has {name} that are no list of {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def _scheme(row: Json) -> Scheme:
    if row.get("scheme") in (None, "", []):
        return []
    try:
        points = _points(row)
        scheme = read_scheme(row["scheme"], sum(points) or None)
        check_scheme(scheme, None, points)
    except ValueError as error:
        raise BadPair(one_line(error, 300)) from None
    return scheme


def _points(row: Json) -> list[Any]:
    points = _list(row, "part_points", int, float)
    sound = all(0 <= entry <= MOST_POINTS and not isinstance(entry, bool) for entry in points)
    if points and not (sound and any(points)):
        raise BadPair("has part_points that are no numbers from 0, one of them above")
    return [float(entry) for entry in points]


def _options(value: Any, golds: Sequence[str], language: Language) -> list[Option]:
    """{label, text}, a mapping of labels to texts, or texts.

    Those are A, B, C, … ("B. text" keeps its B), or 1, 2, 3, … where the key is plainly such a number.
    """
    if value in (None, "", [], {}):
        return []
    if isinstance(value, dict):
        value = [{"label": label, "text": text} for label, text in value.items()]
    if not isinstance(value, list):
        raise BadPair("has options that are neither a list nor a mapping of labels to texts")
    options = []
    numbered = _is_number_of(golds, value, language)
    for place, entry in enumerate(value):
        if isinstance(entry, str):
            label = str(place + 1) if numbered else chr(65 + place)
            head = re.match(r"\s*[(（]?([A-Z]|[1-9](?!.\d))[)）.．、:：]\s*", entry)
            options.append(Option(label=label, text=entry[head.end() :] if head and head[1] == label else entry))
        elif isinstance(entry, dict) and isinstance(entry.get("label"), str) and isinstance(entry.get("text"), str):
            options.append(Option(label=entry["label"], text=entry["text"]))
        else:
            raise BadPair(f"option {place + 1} is neither a text nor {{label, text}}")
    return options


_NUMBER_OF_OPTION = re.compile(r"[①-⑨]|번")


def _is_number_of(golds: Sequence[str], texts: Sequence[Any], language: Language) -> bool:
    """③, 3번, or 3 on a Korean paper; else 3 may count from zero."""
    labels = {label for gold in golds for label in read_labels(gold) or ("",)}
    printed = language_of(language).numbered or any(map(_NUMBER_OF_OPTION.search, golds))
    places = {str(place) for place in range(1, len(texts) + 1)}
    return printed and labels <= places and not any(gold.strip() in texts for gold in golds)


def _language(row: Json, text: str, golds: Sequence[str]) -> Language:
    stated = row.get("language")
    if stated in codes():
        return str(stated)
    if stated is not None:
        raise BadPair(f"language {one_line(stated, 20)!r} is none of {', '.join(codes())}")
    shown = text + " ".join(golds) + str(row.get("response") or "")[:2000]
    return (not shown.isascii() and written_in(letters_in(shown))) or "en"


def _type(row: Json, golds: Sequence[str], options: Sequence[Option]) -> QuestionType:
    stated = row.get("question_type")
    kind = kind_of(stated) if isinstance(stated, str) else None
    chosen = [read_labels(gold) or frozenset() for gold in golds]
    several = any(len(labels) > 1 for labels in chosen) or (len(golds) > 1 and all(chosen))
    if kind is not None:
        return settle(kind, several=several, has_key=any(gold.strip() for gold in golds) or bool(row.get("variables")))
    offered = frozenset(label for option in options for label in read_labels(option.label) or ())
    if chosen and all(labels and labels <= offered for labels in chosen):
        return settle(CHOICE, several=several, has_key=True)
    return "true_false" if len(golds) == 1 and _is_truth(golds[0]) else "short_answer"


def _is_truth(gold: str) -> bool:
    """Excludes "right", which may be a side, and "NO", which may be a gas."""
    return gold.strip() != "NO" and gold.strip().lower() != "right" and read_truth(gold, signs=False) is not None


def _as_choice(question: Question, response: str) -> Question:
    """A choice where its key is a letter and the response commits to a letter as to an option.

    Several letters (a side AB) are options where the response speaks of choosing.
    """
    letters = _LETTERS.fullmatch(question.answer[0].strip()) if len(question.answer) == 1 else None
    if letters is None or question.question_type != "short_answer" or question.options:
        return question
    if len(letters[0]) > 1 and not _CHOOSES.search(response):
        return question
    kind: QuestionType = "multiple_choice" if len(letters[0]) > 1 else "single_choice"
    choice = question.model_copy(update={"question_type": kind})
    answers = extract(response, choice, None).answers
    return choice if len(answers) == 1 and read_labels(answers[0]) else question


_LETTERS = late(r"[A-HJ](?:,?\s?[A-HJ]){0,7}")
_CHOOSES = late(r"[选選]|\b(?:options?|choices?|choose|pick|select)\b|고르|고른|선택|보기", re.IGNORECASE)


def _units(row: Json, golds: Sequence[str]) -> list[str]:
    unit = row.get("unit", row.get("part_units"))
    if unit is None:
        return []
    if isinstance(unit, str):
        return [unit] * len(golds) if unit.strip() else []
    if isinstance(unit, list) and len(unit) == len(golds) and all(isinstance(entry, str | None) for entry in unit):
        return [entry or "" for entry in unit]
    raise BadPair("has a unit that is neither a text nor a list with one text a part")


def _images(value: Any, folder: Path | None) -> list[Image]:
    if value in (None, []):
        return []
    if not isinstance(value, list):
        raise BadPair("has images that are no list")
    return [_image(entry, folder) for entry in value]


def _image(entry: Any, folder: Path | None) -> Image:
    text = entry.get("bytes") or entry.get("path") if isinstance(entry, dict) else entry
    if not isinstance(text, str) or not text:
        raise BadPair("has an image that is neither a data URL, base64, nor the name of a file")
    data = re.match(r"data:image/[\w.+-]+;base64,", text)
    is_file = not data and not (isinstance(entry, dict) and entry.get("bytes")) and len(text) < 1024
    if is_file:
        path = (folder / text).resolve() if folder else None
        inside = path and folder and path.is_relative_to(folder.resolve())
        if not path or not inside or not path.is_file() or path.stat().st_size > MAX_IMAGE_BYTES:
            raise BadPair(f"has an image {one_line(text, 80)!r} that is no file beside the input")
        return Image(bytes=path.read_bytes(), path=path.name)
    try:
        return Image(bytes=base64.b64decode(text[data.end() :] if data else text, validate=True))
    except (binascii.Error, ValueError):
        raise BadPair("has an image that is no base64") from None


def rule_verdict(pair: JudgedPair, cascade: Cascade) -> Verdict:
    """Verdict on a pair, not stamped; raises UserError where this machine cannot run the rules."""
    return unless_broken(pair.question, pair.response.key, PAIR_CONFIG, lambda: _rule_verdict(pair, cascade))


def _rule_verdict(pair: JudgedPair, cascade: Cascade) -> Verdict:
    verdict = judge_response(pair.question, pair.response, PAIR_CONFIG, cascade)
    if pair.question.scheme:
        parts = by_rules(pair.question, spoken(pair.response.text, pair.question), verdict, cascade)
        return total(pair.question, pair.response.key, parts, PAIR_CONFIG)
    if verdict.state != "no_answer" or not (text := spoken(pair.response.text, pair.question)):
        return verdict
    if len(text) <= BARE_CHARS and "\n" not in text:
        return grade(pair.question, pair.response.key, [text], config=PAIR_CONFIG, cascade=cascade)
    open_parts = [
        PartVerdict(
            name=part.name,
            answer=None,
            gold=part.gold,
            decision="undecided",
            score=None,
            decided_by="extraction",
            reason="no answer was found in the response",
        )
        for part in verdict.parts
    ]
    return total(pair.question, pair.response.key, open_parts, PAIR_CONFIG) if open_parts else verdict


def reply_to(line: bytes, folder: Path | None, cascade: Cascade, whole: bool) -> Json:
    """Reply to a row (`workers.Reply`), `whole` with the verdict."""
    try:
        pair = read_pair(line, folder)
    except BadPair as error:
        return open_reply(line, "input", str(error))
    verdict = rule_verdict(pair, cascade)
    if whole or pair.response.finish_reason:
        verdict = stamped(verdict, pair.response)
    reply: Json = {"row": verdict_row(pair, verdict), "extracted": extracted(pair, verdict)}
    return {**reply, "verdict": verdict.model_dump(mode="json")} if whole else reply


def open_reply(line: bytes, by: str, reason: str) -> Json:
    """Reply to an undecided row."""
    return {"row": _open_row(line_id(line), by, reason, judge_version(PAIR_CONFIG)), "extracted": []}


def verdict_row(pair: JudgedPair, verdict: Verdict) -> Json:
    """Line of a judged pair."""
    decision = {True: "accept", False: "reject", None: "undecided"}[verdict.correct]
    parts = verdict.parts
    deciding = [part for part in parts if part.decision == decision] or parts
    reasons = [part.reason for part in deciding] if len(parts) == 1 else _numbered(parts)
    if verdict.state == "no_answer":
        reasons = [verdict.reason]
    row: Json = {
        "id": pair.id,
        "decision": decision,
        "decided_by": "+".join(dict.fromkeys(part.decided_by for part in deciding)) or "rules",
        "reason": "; ".join(filter(None, dict.fromkeys(reasons))) or verdict.reason,
        "score": None if verdict.points is None else verdict.points / verdict.max_points,
        "judge": verdict.judge,
    }
    if is_by_scheme(pair.question, parts):
        row |= verdict.model_dump(include={"points", "low", "high", "max_points"})
        row["criteria"] = [_criterion(*both) for both in zip(criteria_of(pair.question), parts, strict=True)]
    if verdict.calls:
        row["votes"] = [
            {"part": number, "judge": vote.judge, "decision": vote.decision, "score": vote.score, "reason": vote.reason}
            for number, part in enumerate(parts, 1)
            for vote in part.votes
        ]
        row["calls"] = [call.model_dump(mode="json", exclude_none=True) for call in verdict.calls]
    return row


def _criterion(criterion: SchemeCriterion, part: PartVerdict) -> Json:
    points = None if part.score is None else round(part.score * criterion.points, 9)
    decision = part.model_dump(include={"decision", "decided_by", "reason"})
    return {"id": criterion.id, "points": points, "of": criterion.points, "quote": part.answer, **decision}


def _numbered(parts: Sequence[Any]) -> list[str]:
    return [f"part {part.name or number}: {part.reason}" for number, part in enumerate(parts, 1) if part.reason]


def bad_row(name: str | int | None, number: int, problem: str, judge: str) -> Json:
    """Line of an unreadable row."""
    return _open_row(name, "input", f"line {number}: {problem}", judge)


def _open_row(name: str | int | None, by: str, reason: str, judge: str) -> Json:
    return {"id": name, "decision": "undecided", "decided_by": by, "reason": reason, "score": None, "judge": judge}


def extracted(pair: JudgedPair, verdict: Verdict) -> list[str]:
    """Answers in a response: one a part, or all where these fit no part."""
    answers = [part.answer for part in verdict.parts if part.answer is not None]
    return answers or extract(pair.response.text, pair.question, pair.response.finish_reason).answers
