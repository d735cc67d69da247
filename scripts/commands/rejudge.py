"""`livek12 rejudge`: makes a run folder of another harness's log, judged here beside its own marks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.evaluation.options import JudgingOptions
from livek12.scripts import options

_PATHS = "as a dotted path into an entry, such as doc.answer; default: the harness's own places"


@options.command("livek12 rejudge logs --from lm-eval --out runs/theirs")
def rejudge(
    log: Annotated[Path, typer.Argument(help="The log: a file, or a folder of a harness's logs.")],
    out: options.Out,
    judging: Annotated[JudgingOptions, options.Offered(without=("judge_prompt", "judge_repeats", "audit", "stages"))],
    source: Annotated[
        str, options.Opt("lm-eval, lmms-eval, inspect, lighteval, vlmevalkit, evalscope, or jsonl.", "--from")
    ] = "jsonl",
    question: Annotated[str, options.Opt(f"The question, {_PATHS}.", metavar="F")] = "",
    gold: Annotated[str, options.Opt("The reference answer, likewise.", metavar="F")] = "",
    response: Annotated[str, options.Opt("The model's answer, likewise.", metavar="F")] = "",
    type: Annotated[str, options.Opt("The question type, likewise; or one type for all.", metavar="F")] = "",
    choices: Annotated[str, options.Opt("The options of a choice question, likewise.", "--options", metavar="F")] = "",
    score: Annotated[str, options.Opt("The harness's own mark, likewise.", metavar="F")] = "",
    task: Annotated[str, "Name of the task; default: the log's."] = "",
    model: Annotated[str, "Model whose answers to take, if there are several, or to name, if the log does not."] = "",
    profile: options.Profile = "article",
    as_json: options.Json = False,
) -> None:
    """Mark the log of any task of another harness."""
    from livek12.core.arguments import one_of
    from livek12.core.scoring import profile_named
    from livek12.evaluation import rejudging
    from livek12.evaluation.logs import READERS
    from livek12.evaluation.marking import judge as mark
    from livek12.evaluation.task_data import reload_task_data
    from livek12.scripts.endings import end_judging, finish

    one_of("--from", source, tuple(READERS))
    formulas = profile_named(profile)
    judges = judging.judges()
    paths = {"question": question, "gold": gold, "response": response, "type": type, "options": choices, "score": score}
    if judges.panel is None:
        options.confine(out, reads=[log])
    folder = rejudging.rejudge(log, source, out, paths, task=task, model=model)
    lost = mark(folder, options=judges)
    written = finish(folder, formulas, exam=reload_task_data(folder), as_json=as_json).written
    end_judging(lost)
    if not written:
        raise typer.Exit(1)
