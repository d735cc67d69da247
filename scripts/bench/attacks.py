"""Measures the rules (no model) beside math-verify on wrong answers made to be accepted: a table by class.

`python scripts/bench/attacks.py [--seed N] [--only CLASS]… [--show] [--json FILE]`. A right answer may be left
undecided, not rejected.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from livek12.core.text import one_line
from livek12.scripts.bench.answer_kinds import KINDS, answer_kind
from livek12.scripts.bench.attack_rows import LANGUAGES, SEED, attack_rows
from livek12.scripts.bench.common import write_json
from livek12.scripts.bench.labelled import BenchRow
from livek12.scripts.bench.verifiers import SideAnswers, run_side

Json = dict[str, Any]
BESIDE = ("livek12", "math-verify")


def tally(rows: Sequence[BenchRow], answered: Sequence[SideAnswers]) -> Json:
    """Counts of wrong and right rows: all, accepted, rejected, undecided."""
    outcome: Json = {}
    for name, right in (("wrong", False), ("right", True)):
        verdicts = [answer.said for row, answer in zip(rows, answered, strict=True) if row.right is right]
        counts = {
            "accepted": verdicts.count(True),
            "rejected": verdicts.count(False),
            "undecided": verdicts.count(None),
        }
        outcome[name] = {"rows": len(verdicts), **counts}
    return outcome


def measure(rows: Sequence[BenchRow], seed: int) -> Json:
    """Tallies by class, language and type, and the rules' errors."""
    answers = {side: run_side(rows, side)["answered"] for side in BESIDE}

    def group(chosen: list[int]) -> Json:
        return {side: tally([rows[i] for i in chosen], [answers[side][i] for i in chosen]) for side in BESIDE}

    classes = {name: group([i for i, row in enumerate(rows) if row.set == name]) for name in _classes(rows)}
    languages = {name: group([i for i, row in enumerate(rows) if row.language == name]) for name in LANGUAGES}
    kinds = {
        name: group(mine) for name in KINDS if (mine := [i for i, row in enumerate(rows) if answer_kind(row) == name])
    }
    ours = list(zip(rows, answers["livek12"], strict=True))
    mistaken = [_told(row) for row, answer in ours if answer.said is (not row.right)]
    left_open = [_told(row) for row, answer in ours if row.right and answer.said is None]
    whole = group(list(range(len(rows))))
    groups = {"all": whole, "classes": classes, "languages": languages, "kinds": kinds}
    return {"seed": seed, **groups, "mistaken": mistaken, "left_open": left_open}


def _classes(rows: Sequence[BenchRow]) -> list[str]:
    return list(dict.fromkeys(row.set for row in rows))


def _told(row: BenchRow) -> Json:
    cells = {"gold": one_line(row.gold, 60), "response": one_line(row.response, 160)}
    return {"class": row.set, "id": row.id, "question": row.question, **cells, "right": row.right}


def show(found: Json, rows: bool) -> None:
    """The table of classes; with `rows` also errors and open rows."""
    print(f"{'':34} {'wrong answers':>36}   {'right answers':>36}   {'math-verify':>20}")
    head = f"{'class':34}" + f" {'rows':>5} {'accepted':>9} {'rejected':>9} {'undecided':>10}  " * 2
    print(head + f" {'accepts':>9} {'rejects':>9}")
    for name, sides in {**found["classes"], **found["languages"], **found["kinds"], "all": found["all"]}.items():
        line = f"{name:34}"
        for kind in ("wrong", "right"):
            tallies = sides["livek12"][kind]
            line += f" {tallies['rows']:5} {tallies['accepted']:9} {tallies['rejected']:9} {tallies['undecided']:10}  "
        beside = sides["math-verify"]
        print(line + f" {beside['wrong']['accepted']:9} {beside['right']['rejected']:9}")
    for row in [*found["mistaken"], *found["left_open"]] if rows else ():
        label = "left open" if row in found["left_open"] else "right, rejected" if row["right"] else "wrong, accepted"
        print(f"{label}: {row['class']} {row['id']}: {row['question']} key {row['gold']!r} <- {row['response']!r}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED, help="of the numbers and samples; the card has the default's")
    parser.add_argument("--only", action="append", default=[], metavar="CLASS", help="only rows of this class")
    parser.add_argument("--show", action="store_true", help="the rows, too")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    rows = attack_rows(arguments.seed)
    if unknown := [name for name in arguments.only if name not in _classes(rows)]:
        sys.exit(f"--only {unknown[0]}: is none of {', '.join(_classes(rows))}")
    chosen = [row for row in rows if not arguments.only or row.set in arguments.only]
    figures = measure(chosen, arguments.seed)
    show(figures, arguments.show)
    write_json(arguments.json, figures)


if __name__ == "__main__":
    main()
