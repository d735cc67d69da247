"""`livek12 study`: how far the marks of run folders can be trusted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from livek12.core.errors import UserError
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.core.run_folder import RunFolder
    from livek12.core.scoring import Row

app = options.command()
FIRST_ERROR = "first-error"


@app.command(epilog=options.example("livek12 study stability runs/qwen3 runs/gemma3"))
def study(
    kind: Annotated[
        str, typer.Argument(help="agreement, inter-judge, intra-judge, sensitivity, stability or first-error.")
    ],
    runs: Annotated[list[Path], typer.Argument(help="Run folders; for first-error a file of labelled solutions.")],
    labels: Annotated[Path | None, typer.Option("--labels", help="Human marks (JSONL or CSV), for agreement.")] = None,
    metric: Annotated[
        str, typer.Option("--metric", help="What stability ranks by: accuracy, mark, PES or OES.")
    ] = "accuracy",
    judge: Annotated[
        str,
        typer.Option(
            "--judge", help="The judges that look for errors, for first-error; written as for `livek12 judge`."
        ),
    ] = "",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N solutions.")] = None,
    cache: options.Cache = True,
    as_json: options.Json = False,
) -> None:
    """Measure how far marks can be trusted: agreement, sensitivity and stability; judges beside experts."""
    from livek12.core.arguments import one_of
    from livek12.core.progress import warn
    from livek12.core.run_folder import RunFolder
    from livek12.evaluation.comparing import run_names

    chosen = one_of("KIND", kind, (*_STUDIES, FIRST_ERROR))
    if chosen == FIRST_ERROR:
        _print(chosen, _first_error(runs, judge, limit, cache), as_json)
        return
    folders = {name: RunFolder.open(path, warn) for name, path in run_names(runs).items()}
    _print(chosen, _STUDIES[chosen](folders, labels, metric), as_json)


def _print(kind: str, found: Mapping[str, Any], as_json: bool) -> None:
    from livek12.evaluation.studies.show import show

    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        show(kind, found)


def _first_error(files: list[Path], judge: str, limit: int | None, cache: bool) -> dict[str, Any]:
    from livek12.core.progress import Progress, warn
    from livek12.evaluation.judging import judge_options
    from livek12.evaluation.studies.first_error import first_errors, read_solutions
    from livek12.judges.jury import Jury
    from livek12.judges.llm.audit import Auditor

    if not judge or judge == "rules":
        raise UserError("first-error needs critics: --judge MODEL[,MODEL…]")
    solutions = [solution for file in files for solution in read_solutions(file, warn)][:limit]
    with (
        Jury(judge_options(judge, "", "", "", cache=cache)) as judges,
        Progress("auditing", len(solutions)) as progress,
    ):
        assert judges.panel is not None
        return first_errors(solutions, Auditor(judges.panel), judges.threads, progress.step)


def _agreement(folders: Mapping[str, RunFolder], labels: Path | None, metric: str) -> dict[str, Any]:
    from livek12.core.progress import warn
    from livek12.evaluation.studies.human import human_agreement
    from livek12.evaluation.studies.labels import read_labels

    if labels is None:
        raise UserError("agreement needs --labels FILE: rows {question_id, correct} or {question_id, score, max_score}")
    return {
        name: human_agreement(folder.rows(), read_labels(labels, folder.spec().model, warn))
        for name, folder in folders.items()
    }


def _inter(folders: Mapping[str, RunFolder], labels: Path | None, metric: str) -> dict[str, Any]:
    from livek12.evaluation.studies.consistency import between_judges

    return {name: between_judges(folder.rows()) for name, folder in folders.items()}


def _intra(folders: Mapping[str, RunFolder], labels: Path | None, metric: str) -> dict[str, Any]:
    from livek12.evaluation.studies.consistency import between_runs

    return between_runs(_rows(folders), "same")


def _sensitivity(folders: Mapping[str, RunFolder], labels: Path | None, metric: str) -> dict[str, Any]:
    from livek12.evaluation.studies.consistency import between_runs

    return between_runs(_rows(folders), "different")


def _stability(folders: Mapping[str, RunFolder], labels: Path | None, metric: str) -> dict[str, Any]:
    from typing import get_args

    from livek12.core.arguments import one_of
    from livek12.evaluation.studies.stability import Metric, stability

    return stability(
        {name: folder.rows() for name, folder in folders.items()}, one_of("--metric", metric, get_args(Metric))
    )


def _rows(folders: Mapping[str, RunFolder]) -> dict[str, list[Row]]:
    return {name: list(folder.rows()) for name, folder in folders.items()}


_STUDIES: dict[str, Callable[[Mapping[str, RunFolder], Path | None, str], dict[str, Any]]] = {
    "agreement": _agreement,
    "inter-judge": _inter,
    "intra-judge": _intra,
    "sensitivity": _sensitivity,
    "stability": _stability,
}
