"""`livek12 import-…` and `livek12 rejudge`: run folders of responses, results, marks and logs that others recorded."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from livek12.core.arguments import one_of
from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.options import JudgingOptions, RunOptions
from livek12.scripts import options
from livek12.scripts.endings import answer, end, end_judging, finish


@options.command("livek12 import-responses logs --from lm-eval --task cfe_text --data data/sample --out runs/theirs")
def import_responses(
    file: Annotated[Path, typer.Argument(help="The recorded responses: a file, or a folder of a harness's logs.")],
    task: options.Tasks,
    out: options.Out,
    data: options.Data = "",
    name: options.Name = "",
    source: Annotated[
        str,
        options.Opt(
            "Format: jsonl, or the log of lm-eval, lmms-eval, inspect, lighteval, vlmevalkit or evalscope.", "--from"
        ),
    ] = "jsonl",
    limit: options.Limit = None,
    trials: Annotated[int | None, options.Opt("Answers per question; default: all.", min=1)] = None,
    max_tokens: Annotated[int | None, options.Opt("Token limit of the answers; default: the log's.", min=1)] = None,
    tokenizer: Annotated[str, "Tokenizer (a folder or Hub name) to count tokens if the log does not."] = "",
    log_marks: Annotated[bool, "Also take judge models' marks and audits from the log (inspect)."] = False,
    profile: options.Profile = "article",
    as_json: options.Json = False,
) -> None:
    """Make a run folder from recorded responses."""
    from livek12.core.scoring import profile_named
    from livek12.evaluation.asking import ask
    from livek12.evaluation.logs import READERS, as_jsonl
    from livek12.evaluation.logs.harness_marks import tell_marks
    from livek12.evaluation.marking import judge as mark
    from livek12.tasks.registry import get_tasks

    one_of("--from", source, tuple(READERS))
    formulas = profile_named(profile)
    if source != "jsonl":
        file = as_jsonl(file, source, [named.name for named in get_tasks(task)], out)
    stated = {"max_tokens": max_tokens, "tokenizer": tokenizer}
    given = {name: value for name, value in stated.items() if value}
    folder, exam = ask(RunOptions(task, str(file), out, data, "replay", given, limit, trials, name=name), {})
    if source != "jsonl":
        tell_marks(folder, file, take=log_marks)
    mark(folder)
    finished = finish(folder, formulas, exam=exam, as_json=as_json)
    end(folder, finished.failed, finished.written)


@options.command("livek12 import-results results.csv --items items.csv --out runs/theirs")
def import_results(
    file: Annotated[Path, typer.Argument(help="The table: .csv, .tsv, .jsonl or .parquet, also as .gz.")],
    out: Annotated[Path, "Folder for the run folders, one per model."],
    items: Annotated[Path | None, "Table of the questions: id, key, category, options, points."] = None,
    data: options.Data = "",
    task: Annotated[str, "The task of --data; without --data, a name for it."] = "",
    cells: Annotated[
        str, "Kind of the cells: letters, answers, marks (0/1), shares (0 to 1) or points; default: inferred."
    ] = "",
    column: Annotated[
        list[str] | None,
        options.Opt("Name of the column for model, question, value, key, ….", metavar="ROLE=NAME"),
    ] = None,
    source: Annotated[str, "Address of the source of the questions."] = "",
    licence: Annotated[str, "Licence of the questions; without it, a site shows only marks."] = "",
    as_json: options.Json = False,
) -> None:
    """Make run folders from a table of results, models × questions: letters, answers, 0/1, shares or points."""
    from livek12.evaluation.results import COLUMNS, KINDS, ResultsOptions, import_results

    if cells:
        one_of("--cells", cells, KINDS)
    if items is not None and data:
        raise UserError("--items and --data both name the questions: give one of them")
    columns = dict(pair.partition("=")[::2] for pair in column or ())
    if wrong := next((role for role, name in columns.items() if role not in COLUMNS or not name), None):
        raise UserError(f"--column {wrong}: write ROLE=NAME; roles are {', '.join(COLUMNS)}")
    options.confine(out, reads=[file, *filter(None, [items])], data=[data])
    wishes = ResultsOptions(file, out, items, data, task, cells, columns, source, licence)
    made = import_results(wishes)
    lines = [
        f"{run.folder}: {run.right:,} right of {run.decided:,} decided, {run.questions:,} questions" for run in made
    ]
    answer(as_json, [{**asdict(run), "folder": str(run.folder)} for run in made], *lines)


@options.command("livek12 import-judgements runs/qwen3 grades.jsonl --judge gpt-5.5")
def import_judgements(
    run: options.OwnRun,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Recorded judgements, JSONL or CSV; one file per prompt."),
    ],
    judge: Annotated[str, "The judge's name."],
    as_json: options.Json = False,
) -> None:
    """Mark a run by a judge's recorded marks or replies."""
    from livek12.core.run.folder import RunFolder
    from livek12.evaluation import judgements

    counts = judgements.import_judgements(RunFolder.open(run, warn), files, judge, warn)
    states = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in counts.items() if count)
    line = f"{run}: answers judged by {judge}: {states}; next: livek12 report {run}"
    answer(as_json, {"run": str(run), "judge": judge, **counts}, line)


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
    from livek12.core.scoring import profile_named
    from livek12.evaluation import rejudging
    from livek12.evaluation.logs import READERS
    from livek12.evaluation.marking import judge as mark
    from livek12.evaluation.task_data import reload_task_data

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
