"""The recorded answers of 2026 models in the tables of the articles: `docs/results.md`.

`python scripts/bench/results.py DATA --out docs/results.md` builds the reviewed paper in DATA (`gaokao2026_math`),
imports the recorded answers of each model, marks them with the rules and writes the tables that they have answers for.
DATA/matrices has the letters of 29 models on MMLU-Pro. No model is asked.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from livek12.scripts.bench.common import page_text

PAPER = "2026-national-i-math"
TASK = "livek12_text_only"


def livek12(*args: object) -> str:
    """Output of a command."""
    command = [sys.executable, "-m", "livek12.scripts.cli", *map(str, args), "--quiet"]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def runs_of(data: Path, folder: Path) -> Iterator[Path]:
    """Run folders of the answers in `data` (`gaokao2026_math`), one a model."""
    livek12("build", "livek12", "--source", data / "reviewed" / f"{PAPER}.jsonl", "--out", folder / "data")
    for file in sorted((data / "responses").glob(f"*.{PAPER}.jsonl")):
        out = folder / file.name.removesuffix(f".{PAPER}.jsonl").replace(" ", "-")
        how = ("--from", "jsonl", "--task", TASK, "--data", folder / "data", "--out", out)
        livek12("import-responses", file, *how)
        yield out


def decided(runs: list[Path]) -> tuple[str, int, int, float]:
    """Decisions of the rules on each run: questions, undecided, points."""
    from livek12.core.run.folder import RunFolder

    lines = ["| | right | wrong | left to a judge |", "| :-- | --: | --: | --: |"]
    questions, left, points = 0, 0, 0.0
    for run in runs:
        rows = list(RunFolder(run).rows())
        marks = [row.verdict.correct if row.verdict else None for row in rows]
        counts = [sum(mark is state for mark in marks) for state in (True, False, None)]
        lines.append(f"| {run.name} | {counts[0]} | {counts[1]} | {counts[2]} |")
        questions, left = len(rows), max(left, counts[2])
        points = sum(row.question.points or 0 for row in rows)
    return "\n".join(lines), questions, left, points


def board(data: Path, folder: Path) -> dict[str, object]:
    """The leaderboard of MMLU-Pro, and numbers of its site."""
    file, site = data / "matrices" / "mmlu_pro_letters.csv.gz", folder / "site"
    livek12("import-results", file, "--task", "mmlu_pro", "--licence", "Apache-2.0", "--out", folder / "mmlu")
    livek12("site", *sorted((folder / "mmlu").iterdir()), "--out", site)
    return read_board(site)


def read_board(site: Path) -> dict[str, object]:
    """The rows of a site's only exam by rank, and counts of its models, questions and suspect keys."""
    import pyarrow.parquet as pq

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
        folder = arguments.runs or Path(scratch)
        runs = list(runs_of(arguments.data / "gaokao2026_math", folder))
        tables = livek12("study", "tables", *runs, "--intervals")
        table, questions, left, points = decided(runs)
        numbers = board(arguments.data, folder)
    values = {"questions": questions, "open": left, "points": f"{points:g}", "tables": tables.strip(), "table": table}
    arguments.out.write_text(page_text("results").format(**values, **numbers), encoding="utf-8")


if __name__ == "__main__":
    main()
