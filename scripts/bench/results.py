"""The recorded answers of 2026 models in the tables of the articles: `docs/results.md`.

`python scripts/bench/results.py DATA --out docs/results.md` builds the reviewed paper in DATA (`gaokao2026_math`),
imports the recorded answers of each model, marks them with the rules and writes the tables that they have answers for.
DATA/matrices has the letters of 29 models on MMLU-Pro. No model is asked.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from livek12.core.lazy import pq
from livek12.core.run.folder import RunFolder
from livek12.scripts.bench.common import page_text

PAPER = "2026-national-i-math"
TASK = "livek12_text_only"
JUDGE = "GaoKao-bench judge"
SUBJECTS = {
    **{"语文": "Chinese", "数学": "mathematics", "英语": "English", "物理": "physics", "化学": "chemistry"},
    **{"生物": "biology", "政治": "politics", "历史": "history", "地理": "geography"},
}


def livek12(*args: object, check: bool = True) -> str:
    """Output of a command."""
    command = [sys.executable, "-m", "livek12.scripts.cli", *map(str, args), "--quiet"]
    return subprocess.run(command, check=check, text=True, stdout=subprocess.PIPE).stdout


def import_answers(file: Path, out: Path, data: Path, name: str = "") -> Path:
    """The run folder of recorded answers; if some are not recorded, the command ends with 1."""
    named = ("--name", name) if name else ()
    livek12("import-responses", file, "--task", TASK, "--data", data, "--out", out, *named, check=False)
    assert (out / "report.json").is_file(), file
    return out


def runs_of(data: Path, folder: Path) -> Iterator[Path]:
    """Run folders of the answers in `data` (`gaokao2026_math`), one a model."""
    livek12("build", "livek12", "--source", data / "reviewed" / f"{PAPER}.jsonl", "--out", folder / "data")
    for file in sorted((data / "responses").glob(f"*.{PAPER}.jsonl")):
        name = file.name.removesuffix(f".{PAPER}.jsonl").replace(" ", "-")
        yield import_answers(file, folder / name, folder / "data")


def markings(run: Path, data: Path) -> tuple[str, int, int, float]:
    """Takes the recorded marks of what the rules leave open; a table row, and counts of answers.

    The counts are of answers that rules and recorded judge mark alike, of all questions, and their points.
    """
    from livek12.report.marks import points, span

    marked = data / "grades" / f"{run.name.replace('GLM-', 'GLM ')}.{PAPER}.jsonl"
    recorded = {row["item_id"]: row for row in map(json.loads, marked.read_text("utf-8").splitlines())}
    rows = list(RunFolder(run).rows())
    verdicts = {row.question.id: row.verdict for row in rows if row.verdict}
    left = [id for id, verdict in verdicts.items() if verdict.correct is None]
    alike = sum(verdict.points == recorded[id]["score"] for id, verdict in verdicts.items() if id not in left)
    assert alike == len(rows) - len(left), run
    judged = run.parent / "open.jsonl"
    judged.write_text("".join(json.dumps(recorded[id]) + "\n" for id in left), encoding="utf-8")
    livek12("import-judgements", run, judged, "--judge", JUDGE)
    of, low, high = (sum(getattr(each, end) for each in verdicts.values()) for end in ("max_points", "low", "high"))
    both = low + sum(recorded[id]["score"] - verdicts[id].low for id in left)
    return f"| {run.name} | {span(low, high)} | {len(left)} | {points(both)} |", alike, len(rows), of


def whole_papers(data: Path, folder: Path) -> dict[str, object]:
    """The nine models on the whole paper."""
    runs = list(runs_of(data, folder))
    lines = ["| | points by the rules | left open | with the judge's |", "| :-- | --: | --: | --: |"]
    agreed = 0
    for run in runs:
        line, alike, questions, points = markings(run, data)
        lines.append(line)
        agreed += alike
    tables = livek12("study", "tables", *runs, "--intervals").strip()
    values = {"marks": "\n".join(lines), "agreed": agreed, "questions": questions, "points": f"{points:g}"}
    return {**values, "tables": tables, "paper": PAPER}


def local_models(data: Path, folder: Path) -> dict[str, object]:
    """The local models on the choices and blanks of the paper."""
    lines = (data / "reviewed" / f"{PAPER}.jsonl").read_text("utf-8").splitlines()
    short = [line for line in lines if json.loads(line)["question_type"] != "solution"]
    source = folder / "short.jsonl"
    source.write_text("\n".join(short) + "\n", encoding="utf-8")
    livek12("build", "livek12", "--source", source, "--out", folder / "data")
    same, both, runs, recordings = 0, 0, list[Path](), set[str]()
    for file in sorted((data / "boxed_runs").glob("*.json")):
        states = json.loads(file.read_text("utf-8"))["task_states"]["cases"]
        cases = {f"{PAPER}-q{place:02}": case for place, case in enumerate(states.values(), 1)}
        model, out = file.stem.rpartition("__")[2], folder / file.stem
        answers = [
            {"question_id": id, "response": case["response"] or "", "completion_tokens": case["tokens"]}
            for id, case in cases.items()
            if case["status"] != "pending"
        ]
        recorded, text = folder / f"{file.stem}.jsonl", "".join(json.dumps(answer) + "\n" for answer in answers)
        if text in recordings:
            continue  # published twice
        recordings.add(text)
        recorded.write_text(text, encoding="utf-8")
        typed = ", told the type" if file.stem.startswith("type_") else ""
        runs.append(import_answers(recorded, out, folder / "data", f"{model}{typed}"))
        marks = {row.question.id: row.verdict.correct for row in RunFolder(out).rows() if row.verdict}
        decided = {id: mark for id, mark in marks.items() if mark is not None and cases[id]["status"] == "ok"}
        both += len(decided)
        same += sum(mark == cases[id]["correct"] for id, mark in decided.items())
    livek12("site", *runs, "--out", folder / "site")
    local = read_board(folder / "site")["board"]
    return {"local": local, "same": same, "both": both, "objective": len(short)}


def teachers(data: Path, folder: Path) -> dict[str, object]:
    """Models by the teachers' points, and the rules beside the teachers by subject."""
    from livek12.scripts.bench.judges import agreement
    from livek12.scripts.bench.labelled import json_lines, teacher_rows
    from livek12.scripts.bench.verifiers import run_side

    recorded = json_lines(data / "gaokao2024_teacher_scored.jsonl")
    cells = {
        (row["model"], f"{row['subject']}-{row['question_no']}"): (
            row["teacher_score"],
            row["max_score"],
            row["subject"],
        )
        for row in recorded
        if not row["has_image"]
    }
    with (folder / "teachers.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "question", "value", "points", "category"])
        writer.writerows((*key, *cell) for key, cell in cells.items())
    livek12(
        *("import-results", folder / "teachers.csv", "--cells", "points", "--task", "gaokao_2024"),
        *("--out", folder / "teachers"),
    )
    livek12("site", *sorted((folder / "teachers").iterdir()), "--out", folder / "marked")
    marked = read_board(folder / "marked")
    rows = list(teacher_rows(data))
    answered = run_side(rows, "livek12")["answered"]
    lines = ["| subject | answers | decided | as the teachers | wrongly accepted | wrongly rejected |"]
    lines.append("| :-- | --: | --: | --: | --: | --: |")
    subjects = [recorded[int(row.id)]["subject"] for row in rows]
    for subject, name in SUBJECTS.items():
        own = [place for place, each in enumerate(subjects) if each == subject]
        if not own:
            continue
        figures = agreement([rows[place] for place in own], [answered[place] for place in own])
        right = figures["decided"] - figures["false_accepts"] - figures["false_rejects"]
        counts = figures["rows"], figures["decided"], right, figures["false_accepts"], figures["false_rejects"]
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    pupils = len({recorded[int(row.id)]["model"] for row in rows})
    values = {"teachers": marked["board"], "pupils": marked["models"], "sat": marked["asked"]}
    return {**values, "subjects": "\n".join(lines), "all_pupils": pupils}


def board(data: Path, folder: Path) -> dict[str, object]:
    """The leaderboard of MMLU-Pro, and numbers of its site."""
    file, site = data / "matrices" / "mmlu_pro_letters.csv.gz", folder / "site"
    livek12("import-results", file, "--task", "mmlu_pro", "--licence", "Apache-2.0", "--out", folder / "mmlu")
    livek12("site", *sorted((folder / "mmlu").iterdir()), "--out", site)
    return read_board(site)


def read_board(site: Path) -> dict[str, object]:
    """The rows of a site's only exam by rank, and counts of its models, questions and suspect keys."""
    from livek12.report.marks import number, span

    rows = [row for row in json.loads((site / "table.json").read_text("utf-8")) if row["profile"] == "article"]
    lines = ["| place | ranks | model | mark of 100 | 95 % interval |", "| --: | --: | :-- | --: | --: |"]
    for row in sorted(rows, key=lambda row: (row["tied"]["mark"], -sum(row["metrics"]["mark"][:2]))):
        low, high, least, most, _ = row["metrics"]["mark"]
        mark = number(low) if number(low) == number(high) else span(low, high)
        ranks = "–".join(map(str, dict.fromkeys(row["ranks"]["mark"])))
        lines.append(f"| {row['tied']['mark']} | {ranks} | {row['model']} | {mark} | {span(least, most)} |")
    chances = pq.read_table(site / "questions.parquet", columns=["chance_key_is_wrong"]).column(0).to_pylist()
    suspect = sum(chance is not None for chance in chances)
    return {"models": len(rows), "asked": f"{len(chances):,}", "suspect": suspect, "board": "\n".join(lines)}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with gaokao2026_math")
    parser.add_argument("--out", type=Path, required=True, help="the page")
    parser.add_argument("--runs", type=Path, help="keep the run folders here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, paper = arguments.runs or Path(scratch), arguments.data / "gaokao2026_math"
        for name in ("whole", "local", "judge"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        values = whole_papers(paper, folder / "whole") | local_models(paper, folder / "local")
        values |= teachers(arguments.data / "judge", folder / "judge") | board(arguments.data, folder)
    arguments.out.write_text(page_text("results").format(**values), encoding="utf-8")


if __name__ == "__main__":
    main()
