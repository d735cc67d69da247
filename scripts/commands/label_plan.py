"""`livek12 label-plan RUN`: the answers that people should label, so that its mark can be corrected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options


@options.command("livek12 label-plan runs/qwen3 --budget 60")
def label_plan(
    run: options.OwnRun,
    budget: Annotated[int, options.Opt("Number of answers to label.", min=1)] = 60,
    seed: Annotated[int, "Seed of the random choice."] = 0,
    metric: Annotated[str, "Metric to correct: accuracy or mark."] = "accuracy",
    out: Annotated[Path | None, "Default: RUN/label-plan.jsonl."] = None,
) -> None:
    """Choose the answers that reveal most about the judge's errors, and print how to label them."""
    from livek12.core.arguments import one_of
    from livek12.core.errors import UserError
    from livek12.core.files import write_atomically
    from livek12.core.progress import warn
    from livek12.core.run.folder import LABEL_PLAN, RunFolder
    from livek12.core.run.sums import write_summed
    from livek12.evaluation.studies.label_plan import METRICS
    from livek12.evaluation.studies.label_plan import label_plan as chosen

    file = out or run / LABEL_PLAN
    if file.exists():
        raise UserError(f"{file}: is there already; remove it, or name another file by --out")
    rows = chosen(RunFolder.open(run, warn).judged_rows(), budget, seed, one_of("--metric", metric, METRICS))
    write = write_atomically if out else write_summed
    write(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts[f"{row['task']}, {row['stratum']}"] = [row["planned"], row["answers"]]
    for name, (planned, of) in sorted(counts.items()):
        typer.echo(f"{name}: {planned} of {of} answers", err=True)
    where = "" if out is None else f" --plan {out}"
    typer.echo(f"{file}: {len(rows)} answers; label them with: livek12 review {run}{where} --rater YOUR-NAME", err=True)
