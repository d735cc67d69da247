"""`livek12 bank`: an item bank for adaptive exams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from livek12.scripts import options
from livek12.scripts.endings import answer


@options.command("livek12 bank runs/a runs/b runs/c runs/d runs/e --out bank.json")
def bank(
    runs: options.ScoredRuns,
    out: Annotated[Path, "The bank's file."],
    task: Annotated[str, "Task of the runs, if they have several."] = "",
    area: Annotated[str, "Field of the questions that gives the content area."] = "subject",
    samples: Annotated[Path | None, "Also write a fixed exam of --size questions for lm-eval's --samples."] = None,
    size: Annotated[int, options.Opt("Questions of --samples.", min=1)] = 50,
    as_json: options.Json = False,
) -> None:
    """Make an item bank from marked runs, for `run --adaptive`."""
    from livek12.core.files import write_atomically
    from livek12.evaluation.adaptive import bank_of_runs, fixed_exam

    made = bank_of_runs(runs, area, task)
    if samples is not None:
        write_atomically(samples, json.dumps({made.task: fixed_exam(made, runs[0], size)}) + "\n")
    write_atomically(out, made.model_dump_json() + "\n")
    trial, tau = made.trial, made.trial.tau
    lines = [
        f"{out}: version {made.version}, {len(made.items):,} questions of {made.task}, of {len(made.models)} models",
        f"tried on each of them, left out of the fit: with {trial.questions} questions the mark is off by"
        f" {trial.error:.1f} points in the mean, drawn at random by {trial.random:.1f}"
        + ("" if tau is None else f", Kendall's tau of the ranking {tau:.2f}"),
    ]
    answer(as_json, {"file": str(out), **made.model_dump(exclude={"items"}), "questions": len(made.items)}, *lines)
