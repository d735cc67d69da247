"""Measures extraction (no model) on real responses whose answer is known, and writes the extraction card.

`python scripts/bench/extraction.py ../shared/data [--out docs/extraction-card]`. A set records extractions (ours must
be the same value), or holds a key with a human mark or printed solution (ours must be the key where they say right, and
must not where they say wrong). Every disagreement is listed by id and class. An absent set is named and skipped.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livek12.core.question_types import QuestionType
from livek12.core.records import Key, Option, Question
from livek12.judges.cascade import default_cascade
from livek12.judges.grade import GradingConfig, grade
from livek12.scripts.bench.common import framed, markdown_table, percent, write_json
from livek12.scripts.bench.labelled import debatable, json_lines, teacher_rows
from livek12.tasks.extraction import Extraction, extract
from livek12.tasks.extraction.regions import spoken

Json = dict[str, Any]
AGREES = "agrees"
CLASSES = {
    "nothing said": "the response says nothing of its own (empty, a loop, the question copied)",
    "no commitment": "words, but no answer committed to; left without an answer, never guessed",
    "handed on whole": "prose with no answer marked in it: the text is handed to a reader as it is",
    "left open": "an answer was found, and the rules cannot say whether it is the recorded value",
    "ours right, recorded wrong": "ours is the key, the recorded extraction is not (or found nothing)",
    "key or mark wrong": "seen by a person: what is extracted is what the response says; the record is at fault",
    "same value, recorded as wrong": "ours is the key in another notation, which the recorded comparison missed",
    "other value": "another value than the recorded or the key: ours is wrong, or the response says two things",
    "ours alone": "ours found a value where the record has none",
    "accepted, marked wrong": "the response ends in the key, and people marked it wrong",
}
"""Why a response is not in agreement; the last three are those in which extraction may be wrong."""


@dataclass(frozen=True)
class ExtractionCase:
    """One response with what is known of its answer.

    Attributes:
        recorded: what somebody else extracted, "" where that was nothing; None where no extraction is recorded.
    """

    set: str
    id: str
    question: Question
    response: str
    finish_reason: str | None = "stop"
    recorded: str | None = None
    right: bool | None = None


# --- the sets -----------------------------------------------------------------------------------------------------


def _question(
    kind: QuestionType, answer: Sequence[str], language: str = "zh", text: str = "", **fields: Any
) -> Question:
    about = {"id": "q", "benchmark": "livek12", "subject": "", "language": language}
    return Question.model_validate({**about, "question_type": kind, "question": text, "answer": list(answer), **fields})


_KINDS: dict[str, QuestionType] = {
    "single_choice": "single_choice", "multiple_choice": "multiple_choice", "fill_blank": "fill_in_blank",
}  # fmt: skip


def nine_models(data: Path) -> Iterator[ExtractionCase]:
    """Nine models on a 2026 paper: the final reply, and the first one, in which no form was asked for again."""
    folder = data / "gaokao2026_math"
    rows = json_lines(folder / "reviewed" / "2026-national-i-math.jsonl")
    questions = {
        row["id"]: _question(_KINDS[row["question_type"]], [row["answer"]["standard"]], text=row["question"]["content"])
        for row in rows
        if row["question_type"] in _KINDS
    }
    for path in sorted((folder / "responses").glob("*.jsonl")):
        graded = json_lines(folder / "grades" / path.name)
        right = {row["item_id"]: row["verdict"] == "correct" for row in graded}
        for row in json_lines(path):
            name = row["item_id"]
            if name not in questions:
                continue
            key = f"{row['model_config']['name']} {name.rpartition('-')[2]}"
            common = {"question": questions[name], "recorded": row["extracted_answer"] or "", "right": right[name]}
            yield ExtractionCase("nine models, final reply", key, response=row["final_response_text"] or "", **common)
            if row["first_response_text"]:
                choice = ((row["raw_responses"]["first"].get("payload") or {}).get("choices") or [{}])[0]
                yield ExtractionCase("nine models, first reply", key, response=row["first_response_text"],
                           finish_reason=choice.get("finish_reason"), **common)  # fmt: skip


def boxed_runs(data: Path) -> Iterator[ExtractionCase]:
    """Small open models asked for boxes; the record holds what was read from the box and whether that was right."""
    for path in sorted((data / "gaokao2026_math" / "boxed_runs").glob("*.json")):
        for name, case in json.loads(path.read_text(encoding="utf-8"))["task_states"]["cases"].items():
            number, text = int(name[-3:]), str(case["prompt"])
            kind: QuestionType = (
                "single_choice" if number < 8 else "multiple_choice" if number < 11 else "fill_in_blank"
            )
            choices = re.findall(r"^([A-D])\.\s*(.+)$", text, re.MULTILINE) if number < 11 else []
            options = [Option(label=label, text=option.strip()) for label, option in choices]
            ended = "length" if "length" in case["status"] else "stop"
            question = _question(kind, [str(case["expected"])], text=text, options=options)
            yield ExtractionCase("boxed runs", f"{path.stem} {name[-3:]}", question, case["response"] or "", ended,
                       str(case["answer"] or ""), bool(case["correct"]))  # fmt: skip


def printed_solutions(data: Path) -> Iterator[ExtractionCase]:
    """The solutions printed with gaokao questions 2010-2024: worked answers in free form that end in the key."""
    for folder in ("gaokao_bench", "gaokao_bench_updates"):
        for path in sorted((data / folder).rglob("*.json")):
            blanks = "Fill-in-the-Blank" in path.name
            if not blanks and "Objective" not in str(path) and "-20" not in path.parent.name:
                continue
            for row in json.loads(path.read_text(encoding="utf-8"))["example"]:
                if not str(row["analysis"]).strip():
                    continue
                answer = [row["answer"].strip()] if blanks else row["answer"]
                several = not blanks and len(answer) == 1 and "Physics" in path.name
                kind: QuestionType = "fill_in_blank" if blanks else "multiple_choice" if several else "single_choice"
                name = "printed solutions, " + (
                    "blanks" if blanks else "one choice" if len(answer) == 1 else "choices in a row"
                )
                question = _question(kind, answer, text=row["question"] if blanks else "")
                yield ExtractionCase(name, f"{path.stem} {row['index']}", question, row["analysis"], right=True)


def teachers(data: Path) -> Iterator[ExtractionCase]:
    """Models' answers to the 2024 gaokao that teachers gave full or zero marks."""
    for row in teacher_rows(data / "judge"):
        name = row.set.replace("teachers,", "teachers' marks,")
        yield ExtractionCase(name, row.id, _question(row.question_type, row.extracted), row.response, right=row.right)


def experts(data: Path) -> Iterator[ExtractionCase]:
    """Models' solutions in English: without a wrong step to experts, or with a last line "Solution: Choice_X"."""
    for subject in ("math", "physics"):
        rows = json.loads((data / "judge" / f"mr_ben_{subject}.json").read_text(encoding="utf-8"))
        for row in (row for several in rows.values() for row in several):
            choices = re.findall(r"^\s*([A-J])\s*:\s*(.*?)\s*$", row["Options"], re.MULTILINE)
            options = [Option(label=label, text=text) for label, text in choices]
            key = row["Ground_Truth_Answer_Modified"] or row["Ground_Truth_Answer"]
            question = _question("single_choice", [key], "en", row["Question"], options=options)
            name = f"{subject} {row['Question_UUID']} {row['Sampled_Model']}"
            response = "\n".join(row["Model_Solution_Steps"])
            if row["Model_Solution_Correctness"] == "correct":  # a solution with a wrong step may end in the key
                yield ExtractionCase("experts' marks, English", name, question, response, right=True)
            if last := re.search(r"^Solution: Choice\\?_?\s?([A-J])\W*\Z", response, re.MULTILINE):
                yield ExtractionCase("models' own last line, English", name, question, response, recorded=last[1])


SOURCES: Mapping[str, Callable[[Path], Iterator[ExtractionCase]]] = {
    "gaokao2026_math/responses": nine_models,
    "gaokao2026_math/boxed_runs": boxed_runs,
    "gaokao_bench": printed_solutions,
    "judge/gaokao2024_teacher_scored.jsonl": teachers,
    "judge/mr_ben_math.json": experts,
}


# --- comparison ---------------------------------------------------------------------------------------------------


def judged(case: ExtractionCase, found: Extraction, key: Sequence[str] | None = None) -> bool | None:
    """True if the extracted answer equals a key; None if the rules cannot say."""
    question = case.question if key is None else case.question.model_copy(update={"answer": list(key)})
    verdict = grade(
        question, Key(task="bench", question_id="q"), found.answers, config=GradingConfig(), cascade=_rules()
    )
    return verdict.correct


_cascade: Any = None


def _rules() -> Any:
    global _cascade  # noqa: PLW0603 (one cascade a process)
    if _cascade is None:
        _cascade = default_cascade()
    return _cascade


def outcome(case: ExtractionCase) -> tuple[str, Extraction]:
    """The class of a case ("agrees" or one of `CLASSES`), and the extraction."""
    extraction = extract(case.response, case.question, case.finish_reason)
    if (case.set, case.id) in SEEN:
        return "key or mark wrong", extraction
    return (_against_record if case.recorded is not None else _against_mark)(case, extraction), extraction


def _against_record(case: ExtractionCase, extraction: Extraction) -> str:
    if not extraction.answers:
        return AGREES if not case.recorded else _silence(case)
    is_key = judged(case, extraction)
    if not case.recorded:
        return "ours right, recorded wrong" if is_key else "ours alone"
    same = extraction.answers == [case.recorded] or judged(case, extraction, [case.recorded])
    if same:
        return "same value, recorded as wrong" if is_key and case.right is False else AGREES
    if is_key:
        return "ours right, recorded wrong"
    return "left open" if same is None else "other value"


def _against_mark(case: ExtractionCase, extraction: Extraction) -> str:
    if not extraction.answers:
        return _silence(case) if case.right else AGREES
    is_key = judged(case, extraction)
    if not case.right:
        return "accepted, marked wrong" if is_key else AGREES
    if is_key:
        return AGREES
    if extraction.method == "whole" and is_key is None:
        return "handed on whole"
    return "left open" if is_key is None else "other value"


def _silence(case: ExtractionCase) -> str:
    return "no commitment" if spoken(case.response, case.question) else "nothing said"


SEEN: dict[tuple[str, str], str] = {(name, row): why for name, row, why in debatable("seen")}
"""Rows that a person has looked at and found the record at fault, with what was found."""


def measure(data: Path) -> Json:
    """Rows, agreement, methods and classes of each set in a folder."""
    sets: Json = {}
    absent: list[str] = []
    for name, source in SOURCES.items():
        if not (data / name).exists():
            absent.append(name)
            continue
        for case in source(data):
            empty = {"about": (source.__doc__ or "").strip(), "rows": 0, "agrees": 0, "methods": {}, "classes": {}}
            tally = sets.setdefault(case.set, empty)
            kind, extraction = outcome(case)
            tally["rows"] += 1
            tally["agrees"] += kind == AGREES
            tally["methods"][extraction.method] = tally["methods"].get(extraction.method, 0) + 1
            if kind != AGREES:
                tally["classes"].setdefault(kind, []).append(_row(case, extraction))
    return {"sets": sets, "absent": absent}


def _row(case: ExtractionCase, extraction: Extraction) -> Json:
    ours = [] if extraction.method == "whole" else [_short(answer) for answer in extraction.answers]
    expected = "; ".join(case.question.answer) if case.recorded is None else case.recorded
    seen = SEEN.get((case.set, case.id))
    return {"id": case.id, "known": _short(expected), "ours": ours, "method": extraction.method, "seen": seen}


def _short(value: str) -> str:
    value = " ".join(value.split())
    return value if len(value) <= _SHOWN else value[:_SHOWN] + " …"


# --- the card -----------------------------------------------------------------------------------------------------

_SHOWN = 60


def card(figures: Json) -> str:
    """The card as Markdown."""
    sets = figures["sets"]
    rows = [
        (name, str(tally["rows"]), str(tally["agrees"]), percent(tally["agrees"] / tally["rows"]))
        for name, tally in sets.items()
    ]
    about = dict.fromkeys(tally["about"] for tally in sets.values())
    classes = [kind for kind in CLASSES if any(kind in tally["classes"] for tally in sets.values())]
    counts = [(name, *(str(len(tally["classes"].get(kind, []))) for kind in classes)) for name, tally in sets.items()]
    methods = sorted({method for tally in sets.values() for method in tally["methods"]})
    method_rows = [
        (name, *(str(tally["methods"].get(method, 0)) for method in methods)) for name, tally in sets.items()
    ]
    listed = [_listed(name, tally["classes"]) for name, tally in sets.items() if tally["classes"]]
    if figures["absent"]:
        listed.append("Absent when this was measured: " + ", ".join(figures["absent"]) + ".")
    parts = {
        "sets": markdown_table(("set", "rows", "agrees", "share"), rows),
        "about": "\n".join(f"- {text}" for text in about),
        "counts": markdown_table(("set", *classes), counts),
        "classes": "\n".join(f"- **{kind}**: {CLASSES[kind]}" for kind in classes),
        "methods": markdown_table(("set", *methods), method_rows),
        "listed": "\n\n".join(listed),
    }
    return framed("extraction-card", parts)


def _listed(name: str, classes: Json) -> str:
    lines = [f"### {name}"]
    for kind, rows in classes.items():
        lines.append(f"\n{kind} ({len(rows)}):\n")
        if not any(row["ours"] for row in rows):
            lines.append(", ".join(row["id"] for row in rows))
            continue
        for row in rows:
            why = f": {row['seen']}" if row["seen"] else ""
            lines.append(f"- {row['id']}{why}; known {_code([row['known']])}, ours {_code(row['ours'])}")
    return "\n".join(lines)


def _code(values: Sequence[str]) -> str:
    return f"`` {' | '.join(values) or 'nothing'} ``"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder that holds the sets")
    parser.add_argument("--out", type=Path, help="the two files of the card, without their ending")
    arguments = parser.parse_args()
    figures = measure(arguments.data)
    for name in figures["absent"]:
        print(f"{name}: not in {arguments.data}, skipped")
    if not figures["sets"]:
        sys.exit(f"no set of responses in {arguments.data}: name the folder that holds them")
    for name, tally in figures["sets"].items():
        classes = ", ".join(f"{kind} {len(rows)}" for kind, rows in tally["classes"].items())
        print(f"{name:36} {tally['rows']:5} rows, {percent(tally['agrees'] / tally['rows']):>8} agree; {classes}")
    if arguments.out:
        arguments.out.with_suffix(".md").write_text(card(figures), encoding="utf-8")
        write_json(arguments.out.with_suffix(".json"), figures)


if __name__ == "__main__":
    main()
