"""Common parts of the studies: run folders and printing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder
    from livek12.core.scoring import Row
    from livek12.evaluation.sieve import AnswerChoice
    from livek12.evaluation.studies.labels import Label, Stranger
    from livek12.evaluation.studies.study import Study
    from livek12.judges.jury import Jury

Runs = options.Runs

Labels = Annotated[
    list[Path], typer.Option("--labels", metavar="FILE", help="Labels of people: JSONL or CSV; may be given again.")
]


Page = Annotated[Path | None, typer.Option("--html", help="Also write a page with figures and tables.")]

JudgedBy = Annotated[str, typer.Option("--judge", help="Who is asked; written as for `livek12 judge`.")]


def folders(runs: list[Path]) -> dict[str, RunFolder]:
    """Run folders by name."""
    from livek12.core.progress import warn
    from livek12.core.run.folder import RunFolder
    from livek12.evaluation.comparing import run_names

    return {name: RunFolder.open(path, warn) for name, path in run_names(runs).items()}


Tasks = Annotated[
    str, typer.Option("--task", metavar="NAME[,NAME]", help="Only answers to these tasks, where a run has several.")
]
Way = Annotated[
    str,
    typer.Option(
        "--way", help='Answers asked this way, e.g. "page images alone"; default: as the task asks (standard).'
    ),
]


def choice(task: str, way: str) -> AnswerChoice:
    """Answers that `--task` and `--way` choose."""
    from livek12.evaluation.sieve import AnswerChoice

    return AnswerChoice(way.strip(), tuple(name.strip() for name in task.split(",") if name.strip()))


def rows_of(
    runs: Mapping[str, RunFolder], chosen: AnswerChoice | None, *, together: bool = True, judged: bool = False
) -> dict[str, Iterable[Row]]:
    """Answers of each run that were asked in one way, each question and trial once.

    `together`: all runs have to be asked in the same way; `judged`: the marks of the judges alone.
    """
    from livek12.evaluation.sieve import RunRows, one_way

    rows = {name: RunRows(folder, judged=judged) for name, folder in runs.items()}
    return dict(rows) if chosen is None else one_way(rows, chosen, together)


def labelled(
    runs: list[Path], labels: list[Path], chosen: AnswerChoice | None, together: bool = False
) -> dict[str, tuple[list[tuple[Label, Row]], list[Stranger]]]:
    """Labels of each run with their answers, and the labels of other runs."""
    from livek12.core.progress import warn
    from livek12.evaluation.sieve import RunRows, sieves
    from livek12.evaluation.studies.labels import fit_labels, read_labels, refuse_strangers

    lines = set[str]()

    def once(line: str) -> None:
        if line not in lines:
            lines.add(line)
            warn(line)

    given = {name: RunRows(folder, judged=True) for name, folder in folders(runs).items()}
    taken = sieves({name: rows.tasks for name, rows in given.items()}, chosen, together) if chosen else {}
    result = {}
    for name, rows in given.items():
        pairs, strangers = fit_labels(read_labels(labels, rows.spec.model, once), rows)
        result[name] = taken[name].labelled(pairs, rows) if taken else pairs, strangers
    refuse_strangers([strangers for _, strangers in result.values()])
    return result


def sitting(judge: str, cache: bool, study: str) -> Jury:
    """Judges of a study; UserError if none is named, or one cannot run."""
    from livek12.core.errors import UserError
    from livek12.evaluation.options import JudgingOptions
    from livek12.judges.jury import Jury

    if not judge or judge == "rules":
        raise UserError(f"{study} needs judges: --judge MODEL[,MODEL…]")
    return Jury(JudgingOptions(judge, cache=cache).judges())


def tell(study: Study, result: Mapping[str, Any], as_json: bool, page: Path | None = None) -> None:
    """Writes the page of a result, if asked for, and prints the result."""
    from livek12.core.progress import say

    if page is not None:
        study.write_page(page, result)
        say(f"{page}: figures and tables")
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False, indent=1))
    else:
        study.show(result)
