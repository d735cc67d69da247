"""`livek12 study completion`: verbatim continuation of the beginnings of questions."""

from __future__ import annotations

from livek12.scripts import options
from livek12.scripts.commands.study.shared import JudgedBy, Page, Runs, folders, sitting, tell

EPILOG = options.example("livek12 study completion runs/begun --html completion.html")


def command(
    runs: Runs,
    judge: JudgedBy = "",
    cache: options.Cache = True,
    html: Page = None,
    as_json: options.Json = False,
) -> None:
    """Tell how much of the questions came back from their beginnings, by exam, with and without its name."""
    from dataclasses import replace

    from livek12.core.progress import Progress
    from livek12.evaluation.studies.completion import (
        STUDY,
        completion_study,
        completions,
        judged,
        measured,
    )
    from livek12.evaluation.studies.consulting import authors_of

    given = folders(runs)
    rows = {name: completions(folder.rows()) for name, folder in given.items()}
    ones = {name: [measured(row) for row in each] for name, each in rows.items()}
    if judge:
        total = sum(map(len, rows.values()))
        with sitting(judge, cache, "completion") as judges, Progress("comparing", total) as progress:
            for name, each in rows.items():
                verdicts = judged(each, judges, authors_of(given[name]), progress.step)
                ones[name] = [
                    replace(item, judged=compared, problem=problem)
                    for item, (compared, problem) in zip(ones[name], verdicts, strict=True)
                ]
    result = {name: completion_study(each) for name, each in ones.items()}
    tell(STUDY, result, as_json, html)
