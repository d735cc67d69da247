"""`livek12 import-responses`: recorded responses become a run folder, marked and reported like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options


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
    from livek12.core.arguments import one_of
    from livek12.core.scoring import profile_named
    from livek12.evaluation.asking import ask
    from livek12.evaluation.logs import READERS, as_jsonl
    from livek12.evaluation.logs.harness_marks import tell_marks
    from livek12.evaluation.marking import judge as mark
    from livek12.evaluation.options import RunOptions
    from livek12.scripts.endings import end, finish
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
