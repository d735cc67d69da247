"""Labelled answers as rows: key, response and human label of each set in a folder.

`CONVENTIONS` names rows with labels that only their library explains, or that are wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from livek12.core.question_types import CHOICE_TYPES, QuestionType
from livek12.core.records import Option, Question

Json = dict[str, Any]


def debatable(name: str) -> list[list[str]]:
    """A list of `debatable.yaml`."""
    rows: list[list[str]] = yaml.safe_load(Path(__file__).with_name("debatable.yaml").read_text("utf-8"))[name]
    return rows


CONVENTIONS: dict[tuple[str, str], str] = {(key, answer): why for key, answer, why in debatable("conventions")}


@dataclass(frozen=True)
class BenchRow:
    """One labelled answer; `extracted` are the parts of the key, where the set wraps it in a solution."""

    set: str
    id: str
    question_type: QuestionType
    language: str
    question: str
    gold: str
    extracted: list[str]
    response: str
    right: bool
    options: tuple[Option, ...] = ()


def labelled_rows(folder: Path) -> list[BenchRow]:
    """All rows of a folder's sets, in file order."""
    sources = (_pairs, _hard, teacher_rows)
    return [row for source in sources for row in source(folder)]


def pair_rows(path: Path) -> list[BenchRow]:
    """Rows of a file for `livek12 judge-pairs`, each with a label `expected` (0 or 1); the set is the file's name."""
    from livek12.evaluation.pairs import read_pair

    rows = []
    for line in path.read_bytes().splitlines():
        pair = read_pair(line, None)
        question, right = pair.question, bool(json.loads(line)["expected"])
        known = (path.stem, str(pair.id), question.question_type, question.language, question.question)
        key = list(question.answer)
        rows.append(BenchRow(*known, "; ".join(key), key, pair.response.text, right, tuple(question.options)))
    return rows


def json_lines(path: Path) -> list[Json]:
    """Rows of a file; none where there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def _keys(gold: str, question_type: QuestionType, language: str = "en") -> list[str]:
    from livek12.tasks.extraction import extract

    row = BenchRow("", "q", question_type, language, "", "?", ["?"], "", right=True)
    return extract(gold, question_of(row), "stop").answers or [gold]


def _pairs(folder: Path) -> Iterator[BenchRow]:
    for name in ("math_verify_cases", "olympiadbench_scoring_examples"):
        for number, row in enumerate(json_lines(folder / f"{name}.jsonl")):
            golds = _keys(row["gold"], "short_answer") if "test" in row else [row["gold"]]
            yield BenchRow(
                name, str(number), "short_answer", "en", "", row["gold"], golds, row["pred"], bool(row["expected"])
            )


def _hard(folder: Path) -> Iterator[BenchRow]:
    path = folder / "hardverify_math.json"
    for row in json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []:
        gold = row["ground_truth"]
        for name, right in (("fn_output", True), ("tn_output", False)):
            number = f"{row['id']}-{name[:2]}"
            yield BenchRow("hardverify", number, "short_answer", "en", row["question"], gold, [gold], row[name], right)


_TYPES: dict[str, QuestionType] = {"单选题": "single_choice", "多选题": "multiple_choice", "填空题": "fill_in_blank"}


def teacher_rows(folder: Path) -> Iterator[BenchRow]:
    """Models' answers to the 2024 gaokao that teachers gave full or zero marks."""
    from livek12.judges.rules.labels import read_labels

    for number, row in enumerate(json_lines(folder / "gaokao2024_teacher_scored.jsonl")):
        kind = _TYPES.get(row["question_type"])
        score, full = float(row["teacher_score"]), float(row["max_score"])
        if kind is None or score not in (0, full):
            continue
        if kind == "fill_in_blank":
            marked = re.search(r".*(?:答案是|故填)：(.+)$", row["gold"], re.DOTALL)  # the last of them
            if marked is None:
                continue
            entries = [marked[1]] if row["subject"] == "数学" else re.split(r";\s|\n", marked[1])
            golds = [re.sub(r"<img[^>]*>", "", entry).strip(" ．。") or "(figure)" for entry in entries]
        else:
            golds = _keys(row["gold"], kind, "zh")
            if not all(map(read_labels, golds)):
                continue  # an essay that the set calls a choice
        name = "teachers, blanks" if kind == "fill_in_blank" else "teachers, choices"
        yield BenchRow(name, str(number), kind, "zh", "", "; ".join(golds), golds, row["response"], score == full)


def question_of(row: BenchRow) -> Question:
    """The question of a row with its key."""
    fields: Json = {"id": "q", "benchmark": "livek12", "subject": "", "language": row.language}
    fields |= {"question_type": row.question_type, "options": list(row.options)}
    return Question(question=row.question, answer=row.extracted, **fields)


KINDS = (
    "number", "quantity", "expression", "equation", "set, tuple, matrix", "text", "several parts", "choice",
    "true or false",
)  # fmt: skip
_LAYOUT = re.compile(r"\$|\\(?:boxed|left|right|displaystyle|d?q?quad)(?![a-z])|\\[,;:!() ]|\s")
_FIGURES = re.compile(r"(?:[\d.,+\-−±*/^(){}!:√πei×·]|\\(?:[dt]?frac|sqrt|pi|pm|times|cdot|overline|dots|infty))+")
_UNIT = re.compile(
    r"(?:\\(?:text|mathrm|rm)\{[^{}]*\}|\\?%|\\circ\}?|[°℃]"
    r"|(?:[munkcd]?m|[munk]?g|[mun]?s|[mk]?[WVAJLN]|mol|min|h|K|Hz|Pa|eV|Ω|[a-z]{4,})(?![a-z]))[\w^{}\-/·]*"
)
_RELATION = re.compile(r"[=<>≤≥≠≈≡]|\\(?:le|ge|leq|geq|ne|neq|approx|equiv|lt|gt|sim|parallel|perp)(?![a-z])")
_SETS = re.compile(r"\\(?:cup|cap|in|mathbb|emptyset|varnothing|setminus|begin)(?![a-z])|[∪∩∈∅]|\\\{")
_JOINED = re.compile(r"(?<![A-Za-z])(?:and|or)(?![A-Za-z])|[;；，、和与或]")
_WORDS = re.compile(r"[\u3040-\u9fff\uac00-\ud7a3]|[A-Za-z]{4,}|\\text\{\s*[A-Za-z]+\s*\}")
_COMMAND = re.compile(r"\\(?:begin|end)\{[a-z]*\}|\\(?!text)[A-Za-z]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)")


def answer_kind(row: BenchRow) -> str:
    """One of `KINDS`."""
    if row.question_type in CHOICE_TYPES:
        return "choice"
    if row.question_type == "true_false":
        return "true or false"
    if len(row.extracted) > 1:
        return "several parts"
    return _kind_of_key(row.extracted[0])


def _kind_of_key(spaced: str) -> str:
    spaced = _JOINED.sub(",", spaced).replace("\\text{ , }", ",").replace("{,}", ",")
    key = _LAYOUT.sub("", spaced)
    figures = _FIGURES.match(key)
    if figures is not None and _UNIT.fullmatch(key, figures.end()):
        return "quantity"
    if _WORDS.search(_COMMAND.sub(" ", _LAYOUT.sub(" ", spaced))):
        return "text"
    if _SETS.search(key) or "," in _THOUSANDS.sub("1", key):
        return "set, tuple, matrix"
    if _RELATION.search(key):
        return "equation"
    return "number" if figures is not None and figures.end() == len(key) else "expression"
