"""What the kinds of study share: their run folders, and how a result is printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.core.run_folder import RunFolder
    from livek12.core.scoring import Row
    from livek12.evaluation.studies.labels import Label, Stranger
    from livek12.judges.jury import Jury
    from livek12.report.charts import Chart, TableShown

Runs = options.Runs

Labels = Annotated[
    list[Path], typer.Option("--labels", metavar="FILE", help="Labels of people: JSONL or CSV; may be given again.")
]


Page = Annotated[Path | None, typer.Option("--html", help="Also write a page with figures and tables.")]

JudgedBy = Annotated[str, typer.Option("--judge", help="Who is asked; written as for `livek12 judge`.")]


def folders(runs: list[Path]) -> dict[str, RunFolder]:
    """The run folders by name.

    Raises:
        UserError: one is none.
    """
    from livek12.core.progress import warn
    from livek12.core.run_folder import RunFolder
    from livek12.evaluation.comparing import run_names

    return {name: RunFolder.open(path, warn) for name, path in run_names(runs).items()}


def all_rows(runs: list[Path]) -> dict[str, list[Row]]:
    """Every answer of each run."""
    return {name: list(folder.rows()) for name, folder in folders(runs).items()}


def labelled(runs: list[Path], labels: list[Path]) -> dict[str, tuple[list[tuple[Label, Row]], list[Stranger]]]:
    """The labels of each run with their answers, and those of other runs.

    Raises:
        UserError: a row of the labels cannot be used, or is of no answer of any run.
    """
    from livek12.core.progress import warn
    from livek12.evaluation.studies.labels import fit_labels, read_labels, refuse_strangers

    told = set[str]()

    def once(line: str) -> None:
        if line not in told:
            told.add(line)
            warn(line)

    found = {}
    for name, folder in folders(runs).items():
        found[name] = fit_labels(read_labels(labels, folder.spec().model, once), folder.judged_rows())
    refuse_strangers([strangers for _, strangers in found.values()])
    return found


def sitting(judge: str, cache: bool, study: str) -> Jury:
    """The judges of a study.

    Raises:
        UserError: none is named, or one cannot run.
    """
    from livek12.core.errors import UserError
    from livek12.evaluation.judging import judge_options
    from livek12.judges.jury import Jury

    if not judge or judge == "rules":
        raise UserError(f"{study} needs judges: --judge MODEL[,MODEL…]")
    return Jury(judge_options(judge, "", "", "", cache=cache))


def tell(
    title: str, found: Mapping[str, Any], sentences: Callable[[Mapping[str, Any]], Iterator[str]], as_json: bool
) -> None:
    """Prints a result: as JSON, or as sentences and tables."""
    from livek12.evaluation.studies.show import show

    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        show(title, found, sentences)


def write_page(
    path: Path, title: str, said: Iterable[str], charts: Iterable[Chart], tables: Iterable[TableShown]
) -> None:
    """Writes the page of a study and says where it is.

    Raises:
        UserError: it cannot be written.
    """
    from livek12.core.progress import say
    from livek12.report.charts import write_study

    write_study(path, title, said, charts, tables)
    say(f"{path}: figures and tables")
