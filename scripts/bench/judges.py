"""Measures the rules (no model) beside other verifiers on labelled answers: agreement a set, and rows a second."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from livek12.core.statistics import wilson_interval
from livek12.scripts.bench.common import write_json
from livek12.scripts.bench.labelled import CONVENTIONS, KINDS, BenchRow, answer_kind, labelled_rows, pair_rows
from livek12.scripts.bench.verifiers import SIDES, WORKERS, SideAnswers, run_side

WRONG = ("false_accepts", "false_rejects")
FIGURES = ("rows", "decided", "coverage", "precision", "precision_low", *WRONG)
PART_SIDES = ("livek12", "math-verify")
Json = dict[str, Any]


def agreement(rows: Sequence[BenchRow], answered: Sequence[SideAnswers]) -> Json:
    """Coverage, precision with its Wilson bound, and wrong decisions."""
    decided = [(row, answer.said) for row, answer in zip(rows, answered, strict=True) if answer.said is not None]
    right = sum(row.right == verdict for row, verdict in decided)
    wrong = [{"id": row.id, "said": verdict} for row, verdict in decided if verdict != row.right]
    low = wilson_interval(right, len(decided))[0] if decided else 0.0
    return {
        "rows": len(rows),
        "decided": len(decided),
        "coverage": len(decided) / len(rows),
        "precision": right / len(decided) if decided else None,
        "precision_low": low,
        "agreement": right / len(rows),
        "false_accepts": sum(bool(answer["said"]) for answer in wrong),
        "false_rejects": sum(not answer["said"] for answer in wrong),
        "wrong": wrong,
        "open": [row.id for row, answer in zip(rows, answered, strict=True) if answer.said is None],
    }


def by_stage(rows: Sequence[BenchRow], answered: Sequence[SideAnswers]) -> Json:
    """Decisions of each stage; `coverage` is its share of rows."""
    stages: Json = {}
    for name in sorted({answer.by for answer in answered if answer.said is not None}):
        mine = [index for index, answer in enumerate(answered) if answer.said is not None and answer.by == name]
        figures = agreement([rows[index] for index in mine], [answered[index] for index in mine])
        stages[name] = {key: figures[key] for key in ("decided", "precision", "precision_low", *WRONG)}
        stages[name]["coverage"] = len(mine) / len(rows)
    return stages


def versions() -> Json:
    """Versions that the figures depend on."""
    from livek12.engines.common import versions_of
    from livek12.judges.grade import GradingConfig, judge_version

    libraries = versions_of("sympy", "pint", "math-verify", "latex2sympy2_extended")
    python = ".".join(map(str, sys.version_info[:3]))
    return {**libraries, "python": python, "judge": judge_version(GradingConfig())}


def measure(folder: Path) -> Json:
    """All sides on all rows of a folder."""
    rows = labelled_rows(folder)
    if not rows:
        sys.exit(f"no labelled rows in {folder}: name the folder that holds them with --data")
    sides = {name: run_side(rows, name) for name in SIDES}
    sets: Json = {}
    for name in dict.fromkeys(row.set for row in rows):
        mine = [index for index, row in enumerate(rows) if row.set == name]
        plain = [index for index in mine if (rows[index].gold, rows[index].response) not in CONVENTIONS]
        sets[name] = {"conventions": [asdict(rows[index])["id"] for index in mine if index not in set(plain)]}
        for side, result in sides.items():
            for label, chosen in ((side, mine), (f"{side}, without conventions", plain)):
                sets[name][label] = agreement([rows[i] for i in chosen], [result["answered"][i] for i in chosen])
        sets[name]["stages"] = by_stage([rows[i] for i in mine], [sides["livek12"]["answered"][i] for i in mine])
    groups = grouped(rows, {side: result["answered"] for side, result in sides.items()})
    for result in sides.values():
        del result["answered"]
    ratio = sides["livek12"]["rows_per_second"] / sides["math-verify"]["rows_per_second"]
    named = [{"set": row.set, "id": row.id, "gold": row.gold, "answer": row.response, "why": CONVENTIONS[pair]}
             for row in rows if (pair := (row.gold, row.response)) in CONVENTIONS]  # fmt: skip
    figures = {"rows": len(rows), "workers": WORKERS, "sides": sides, "ratio": ratio, "sets": sets}
    return figures | groups | {"conventions": named, "versions": versions()}


def measure_parts(files: Mapping[str, Sequence[Path]]) -> Json:
    """The rules and math-verify on sources by part: open to those who write the rules, or closed."""
    parts: Json = {}
    for part, paths in files.items():
        for path in paths:
            rows = pair_rows(path)
            answered = {side: run_side(rows, side)["answered"] for side in PART_SIDES}
            figures = {side: agreement(rows, answers) for side, answers in answered.items()}
            kept = {side: {key: of[key] for key in FIGURES} for side, of in figures.items()}
            parts.setdefault(path.stem, {})[part] = kept
    return parts


def grouped(rows: Sequence[BenchRow], answered: Mapping[str, Sequence[SideAnswers]]) -> Json:
    """Figures by type of answer and by language, without `CONVENTIONS`."""
    plain = [index for index, row in enumerate(rows) if (row.gold, row.response) not in CONVENTIONS]
    kinds = {index: answer_kind(rows[index]) for index in plain}

    def group(chosen: Sequence[int]) -> Json:
        figures = {
            side: agreement([rows[i] for i in chosen], [answers[i] for i in chosen])
            for side, answers in answered.items()
        }
        return {side: {key: result[key] for key in FIGURES} for side, result in figures.items()}

    languages = dict.fromkeys(rows[index].language for index in plain)
    return {
        "kinds": {kind: group(mine) for kind in KINDS if (mine := [i for i in plain if kinds[i] == kind])},
        "languages": {name: group([i for i in plain if rows[i].language == name]) for name in languages},
    }


def show(figures: Json) -> None:
    """The table of sets, then speed and memory."""
    print(f"{'set':32} {'side':34} {'rows':>5} {'coverage':>9} {'precision':>16} {'false acc.':>10} {'false rej.':>10}")
    for name, sides in figures["sets"].items():
        for side, result in sides.items():
            if side in {"conventions", "stages"} or (side.endswith("conventions") and not sides["conventions"]):
                continue
            precision = f"{result['precision']:.1%} (≥ {result['precision_low']:.1%})" if result["decided"] else "-"
            print(f"{name:32} {side:34} {result['rows']:5} {result['coverage']:9.1%} {precision:>16} "
                  f"{result['false_accepts']:10} {result['false_rejects']:10}")  # fmt: skip
    for side, result in figures["sides"].items():
        slow = result["slowest_row"]
        print(f"{side:12} {result['rows_per_second']:8.1f} rows/s, slowest {slow['seconds']:.2f} s "
              f"({slow['set']} {slow['id']}), highest memory of a process {result['peak_mib']:.0f} MiB")  # fmt: skip
    print(f"ratio {figures['ratio']:.1f}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/judge"))
    parser.add_argument("--open", type=Path, nargs="*", default=[], help="pairs that authors of rules may read")
    parser.add_argument("--closed", type=Path, nargs="*", default=[], help="pairs that are only counted")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    figures = measure(arguments.data)
    figures["parts"] = measure_parts({"open": arguments.open, "closed": arguments.closed})
    show(figures)
    write_json(arguments.json, figures)


if __name__ == "__main__":
    main()
