"""`livek12 judge`: marks the unmarked answers of a run folder."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from livek12.core.progress import tell
from livek12.evaluation.options import JudgingOptions
from livek12.scripts import options


@options.command("livek12 judge runs/qwen3 --judge Qwen/Qwen3-32B")
def judge(
    run: options.OwnRun,
    judging: Annotated[JudgingOptions, options.Offered(names={"judge_repeats": "--repeats"})],
    answers: Annotated[str, "Data set with the reference answers, if the run's questions have none."] = "",
    data: options.MovedData = "",
    workers: Annotated[int | None, options.Opt("Processes for the rules; default: one per core.", min=1)] = None,
    engine_args: Annotated[str, "ray=auto, local or HOST:PORT: run the rules on a Ray cluster."] = "",
    again: Annotated[bool, "Mark everything again; old marks count until then."] = False,
    as_json: options.Json = False,
) -> None:
    """Mark the unmarked and undecided answers of a run folder."""
    from livek12.core.arguments import parse_engine_args
    from livek12.core.errors import UserError
    from livek12.core.progress import warn
    from livek12.core.run.folder import RunFolder, states
    from livek12.evaluation import marking
    from livek12.scripts.endings import end_judging

    judges = judging.judges(answers, data)
    placing = parse_engine_args(engine_args)
    if {*placing} - {"ray"} or (placing and judges.panel is not None):
        raise UserError("--engine-args: rules take ray=… alone; those of judge models are --judge-engine-args")
    folder = RunFolder.open(run, warn)
    if judges.panel is None and not placing:
        options.confine(run, data=[answers, data])
    lost = marking.judge(folder, again=again, options=judges, workers=workers, ray=str(placing.get("ray", "")))
    counts = states(folder)
    if as_json:
        typer.echo(json.dumps({"run": str(run), **counts, "lost": lost}))
    else:
        summary = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in counts.items() if count)
        tell(f"{run}: {summary}; next: livek12 report {run}")
    end_judging(lost)
