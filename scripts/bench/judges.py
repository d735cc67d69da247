"""Measures the rules (no model) beside math-verify on labelled answers: agreement a set, and rows a second.

`python scripts/bench/judges.py --data ../shared/data/judge [--json FILE]`. Both sides get the same rows in the same
run, two warm processes each, with empty caches; ours reads a response, extracts the answer and marks it, in a process
that has one symbolic worker. math-verify stops a row by SIGALRM, so it runs in the main threads of its processes.
A response that says something but holds no answer counts as left open, as in `livek12 judge-pairs`. A figure "without
conventions" leaves out the rows of `CONVENTIONS`, whose labels only their library explains, or which are wrong.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from livek12.core.records import Key, Question, QuestionType
from livek12.core.statistics import wilson_interval

WORKERS = 2
WRONG = ("false_accepts", "false_rejects")
CHUNK = 8
Json = dict[str, Any]
CONVENTIONS: dict[tuple[str, str], str] = {
    ("$9$", "Answer $ \n 9 \n $"): "a line break inside dollars is no formula there",
    ("$9$", "Answer \\( \n 9 \n \\)"): "a line break inside \\( \\) is no formula there",
    ("$x \\in [-2,7]$", "$-2 \\\\le x \\\\le 7$"): "a doubled backslash is a new line there",
    ("$10/9$", "Answer $ \\frac{1}{2} \\$ = \\frac{10}{9} $"): "an escaped dollar ends no formula there",
    ("$1 = \\zzz = x = 0$", "$0$"): "an unknown command is skipped there",
    ("$(\\begin{pmatrix}\\frac{1}{3}\\\\ \\frac{1}{5} \\end{pmatrix})$",
     "$\\begin{pmatrix}0.33\\\\0.2 \\end{pmatrix}$"):
        "two digits are enough there, by a parameter of the test",
    ("$\text{13}$", "$13$"): "the key holds a tab where \\t was meant",
    ("$f(x)$", "$f(y)$"): "labelled both ways, by a parameter of the test",
    ("\\\\boxed{W(n) = 1 \\\\text{ and } W(n) = -1", "W(x)=1orW(x)=-1"): "the key is broken LaTeX",
    ("$\\\\boxed{35 cm} ++++++ \\\\boxed{4}$", "${35 cm,4}$"): "the key is broken LaTeX",
    ("7 \\times 10^{35}", "7.1 \\cdot 10^{35}"): "labelled both ways, by a tolerance that the row does not hold",
    ("7 \\times 10^{35}, 0.002", "0.001, 7.1 \\cdot 10^{35}"): "right within a tolerance that the row does not hold",
    ("0.003, 5.233", "0.002, 5.234"): "right within a tolerance that the row does not hold",
    ("$3,1,-1,1+\\sqrt{2}, 1-\\sqrt{2}$", "\\{-1, 1, 3, 1 - \\sqrt{2}, 1 + \\sqrt{2}\\}"):
        "labelled wrong, and the same five numbers",
    ("C", "C．MP的同分异构体中含羧基的有3种"): "the answer and the mark belong to different questions",
    ("D", "正确答案是B．$\\frac{K_\\mathrm{sp}(\\text{AgCl})}"
          "{K_\\mathrm{sp}\\left(\\mathrm{Ag}_{2}\\mathrm{CrO}_{4}\\right)}=10^{-2.21}$。"):
        "the answer and the mark belong to different questions",
}  # fmt: skip


@dataclass(frozen=True)
class BenchRow:
    """One labelled answer. `extracted` are the parts of the key, where the set wraps it in a solution."""

    set: str
    id: str
    question_type: QuestionType
    language: str
    question: str
    gold: str
    extracted: list[str]
    response: str
    right: bool


@dataclass(frozen=True)
class SideAnswers:
    """What one side said about a row: True, False, or None when it left it open; its seconds; the deciding stages."""

    said: bool | None
    seconds: float
    by: str = ""


# --- the labelled sets --------------------------------------------------------------------------------------------


def labelled_rows(folder: Path) -> list[BenchRow]:
    """All rows of the sets that lie in a folder, in the order of their files."""
    sources = (_pairs, _hard, _teachers)
    return [row for source in sources for row in source(folder)]


def _lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def _keys(gold: str, question_type: QuestionType, language: str = "en") -> list[str]:
    from livek12.tasks.extraction import extract

    return extract(gold, _question(question_type, ["?"], "", language), "stop").answers or [gold]


def _pairs(folder: Path) -> Iterator[BenchRow]:
    for name in ("math_verify_cases", "olympiadbench_scoring_examples"):
        for number, row in enumerate(_lines(folder / f"{name}.jsonl")):
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


def _teachers(folder: Path) -> Iterator[BenchRow]:
    """Choice questions and blanks that teachers gave full or zero marks."""
    from livek12.judges.rules.labels import read_labels

    for number, row in enumerate(_lines(folder / "gaokao2024_teacher_scored.jsonl")):
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


def _question(question_type: QuestionType, golds: list[str], text: str, language: str) -> Question:
    fields: Json = {"id": "q", "benchmark": "livek12", "subject": "", "language": language}
    return Question(question_type=question_type, question=text, answer=golds, **fields)


# --- the two sides ------------------------------------------------------------------------------------------------

_cascade: Any = None


def _warm_ours() -> None:
    global _cascade  # noqa: PLW0603 (one cascade a process)
    from livek12.judges.cascade import default_cascade
    from livek12.judges.rules import pool

    pool._shared = pool.SymbolicPool(size=1)
    _cascade = default_cascade()
    _ours(BenchRow("", "", "short_answer", "en", "", "", ["(x+1)^2"], "x^2+2x+1", True))
    _ours(BenchRow("", "", "short_answer", "en", "", "", ["5 km"], "5000 m", True))


def _ours(row: BenchRow) -> SideAnswers:
    from livek12.judges.grade import GradingConfig, grade
    from livek12.tasks.extraction import extract
    from livek12.tasks.extraction.substance import spoken

    began = time.perf_counter()
    question = _question(row.question_type, row.extracted, row.question, row.language)
    answers = extract(row.response, question, "stop").answers
    key = Key(task="bench", question_id="q")
    verdict = grade(question, key, answers, config=GradingConfig(), cascade=_cascade)
    seconds = time.perf_counter() - began
    silent = verdict.state == "no_answer" and spoken(row.response, question)
    said = None if silent else verdict.correct
    return SideAnswers(said, seconds, " and ".join(dict.fromkeys(part.decided_by for part in verdict.parts)))


def _warm_theirs() -> None:
    _theirs(BenchRow("", "", "short_answer", "en", "", "$(x+1)^2$", [], "$x^2+2x+1$", True))


def _theirs(row: BenchRow) -> SideAnswers:
    from math_verify import StringExtractionConfig, parse, verify

    began = time.perf_counter()
    if row.question_type in {"single_choice", "multiple_choice"}:
        config = [StringExtractionConfig(strings=("A", "B", "C", "D", "E", "F"))]
        said = verify(parse("".join(row.extracted), config), parse(row.response, config))
    else:
        said = verify(parse(_as_formula(row.gold)), parse(_as_formula(row.response)))
    return SideAnswers(bool(said), time.perf_counter() - began)


def _as_formula(text: str) -> str:
    """A text in dollars, which math-verify looks for, unless it has formulas of its own."""
    return text if re.search(r"\$|\\boxed|\\\(|\\\[", text) else f"${text}$"


def _ours_in_a_worker(rows: Sequence[BenchRow]) -> tuple[list[SideAnswers], dict[int, int]]:
    from livek12.judges.rules.pool import shared_pool

    answered = [_ours(row) for row in rows]
    processes = [os.getpid(), *shared_pool().pids()]
    return answered, {process: _peak_kib(process) for process in processes}


def _theirs_in_a_worker(rows: Sequence[BenchRow]) -> tuple[list[SideAnswers], dict[int, int]]:
    return [_theirs(row) for row in rows], {os.getpid(): _peak_kib(os.getpid())}


def _peak_kib(process: int) -> int:
    """The most memory that a process has held, in KiB; 0 where the system does not tell."""
    try:
        found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    except OSError:
        return 0
    return int(found[1]) if found else 0


Work = Callable[[Sequence[BenchRow]], tuple[list[SideAnswers], dict[int, int]]]


def run_side(rows: Sequence[BenchRow], warm: Callable[[], None], work: Work) -> Json:
    """All rows through two warm processes: what was said, rows a second, the slowest row, the highest memory."""
    chunks = [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=context, initializer=warm) as pool:
        list(pool.map(time.sleep, [1.0] * WORKERS))
        began = time.perf_counter()
        results = list(pool.map(work, chunks))
        seconds = time.perf_counter() - began
    answered = [one for part, _ in results for one in part]
    peaks: dict[int, int] = {}
    for _, part in results:
        peaks = {process: max(kib, peaks.get(process, 0)) for process, kib in {**peaks, **part}.items()}
    slowest = max(range(len(rows)), key=lambda index: answered[index].seconds)
    return {
        "rows_per_second": len(rows) / seconds,
        "slowest_row": {"seconds": answered[slowest].seconds, "set": rows[slowest].set, "id": rows[slowest].id},
        "peak_mib": max(peaks.values()) / 1024,
        "answered": answered,
    }


# --- figures ------------------------------------------------------------------------------------------------------


def agreement(rows: Sequence[BenchRow], answered: Sequence[SideAnswers]) -> Json:
    """Coverage, precision with its Wilson bound, and the wrong decisions of one side on one set."""
    decided = [(row, one.said) for row, one in zip(rows, answered, strict=True) if one.said is not None]
    right = sum(row.right == said for row, said in decided)
    wrong = [{"id": row.id, "said": said} for row, said in decided if said != row.right]
    low = wilson_interval(right, len(decided))[0] if decided else 0.0
    return {
        "rows": len(rows),
        "decided": len(decided),
        "coverage": len(decided) / len(rows),
        "precision": right / len(decided) if decided else None,
        "precision_low": low,
        "agreement": right / len(rows),
        "false_accepts": sum(bool(one["said"]) for one in wrong),
        "false_rejects": sum(not one["said"] for one in wrong),
        "wrong": wrong,
        "open": [row.id for row, one in zip(rows, answered, strict=True) if one.said is None],
    }


def by_stage(rows: Sequence[BenchRow], answered: Sequence[SideAnswers]) -> Json:
    """What each stage (or the stages of a row's parts together) decided; `coverage` is its share of all rows."""
    stages: Json = {}
    for name in sorted({one.by for one in answered if one.said is not None}):
        mine = [index for index, one in enumerate(answered) if one.said is not None and one.by == name]
        found = agreement([rows[index] for index in mine], [answered[index] for index in mine])
        stages[name] = {key: found[key] for key in ("decided", "precision", "precision_low", *WRONG)}
        stages[name]["coverage"] = len(mine) / len(rows)
    return stages


def versions() -> Json:
    """All that the figures depend on, but for the data."""
    from livek12.engines.common import versions_of
    from livek12.judges.grade import GradingConfig, judge_version

    libraries = versions_of("sympy", "pint", "math-verify")
    python = ".".join(map(str, sys.version_info[:3]))
    return {**libraries, "python": python, "judge": judge_version(GradingConfig())}


def measure(folder: Path) -> Json:
    """Both sides on all rows of a folder."""
    rows = labelled_rows(folder)
    if not rows:
        sys.exit(f"no labelled rows in {folder}: name the folder that holds them with --data")
    sides = {
        "livek12": run_side(rows, _warm_ours, _ours_in_a_worker),
        "math-verify": run_side(rows, _warm_theirs, _theirs_in_a_worker),
    }
    sets: Json = {}
    for name in dict.fromkeys(row.set for row in rows):
        mine = [index for index, row in enumerate(rows) if row.set == name]
        plain = [index for index in mine if (rows[index].gold, rows[index].response) not in CONVENTIONS]
        sets[name] = {"conventions": [asdict(rows[index])["id"] for index in mine if index not in set(plain)]}
        for side, result in sides.items():
            for label, chosen in ((side, mine), (f"{side}, without conventions", plain)):
                sets[name][label] = agreement([rows[i] for i in chosen], [result["answered"][i] for i in chosen])
        sets[name]["stages"] = by_stage([rows[i] for i in mine], [sides["livek12"]["answered"][i] for i in mine])
    for result in sides.values():
        del result["answered"]
    ratio = sides["livek12"]["rows_per_second"] / sides["math-verify"]["rows_per_second"]
    named = [{"set": row.set, "id": row.id, "gold": row.gold, "answer": row.response, "why": CONVENTIONS[pair]}
             for row in rows if (pair := (row.gold, row.response)) in CONVENTIONS]  # fmt: skip
    found = {"rows": len(rows), "workers": WORKERS, "sides": sides, "ratio": ratio, "sets": sets}
    return found | {"conventions": named, "versions": versions()}


def show(figures: Json) -> None:
    """The table of sets, then speed and memory."""
    print(f"{'set':32} {'side':34} {'rows':>5} {'coverage':>9} {'precision':>16} {'false acc.':>10} {'false rej.':>10}")
    for name, sides in figures["sets"].items():
        for side, one in sides.items():
            if side in {"conventions", "stages"} or (side.endswith("conventions") and not sides["conventions"]):
                continue
            precision = f"{one['precision']:.1%} (≥ {one['precision_low']:.1%})" if one["decided"] else "-"
            print(f"{name:32} {side:34} {one['rows']:5} {one['coverage']:9.1%} {precision:>16} "
                  f"{one['false_accepts']:10} {one['false_rejects']:10}")  # fmt: skip
    for side, one in figures["sides"].items():
        slow = one["slowest_row"]
        print(f"{side:12} {one['rows_per_second']:8.1f} rows/s, slowest {slow['seconds']:.2f} s "
              f"({slow['set']} {slow['id']}), highest memory of a process {one['peak_mib']:.0f} MiB")  # fmt: skip
    print(f"ratio {figures['ratio']:.1f}")


def main() -> None:
    """Reads the arguments, measures, prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/judge"))
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    figures = measure(arguments.data)
    show(figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
