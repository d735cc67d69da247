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


@app.command()
def study(
    kind: Annotated[str, typer.Argument(help="agreement, inter-judge, intra-judge, sensitivity or stability.")],
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    labels: Annotated[Path | None, typer.Option("--labels", help="Human marks (JSONL or CSV), for agreement.")] = None,
    metric: Annotated[str, typer.Option("--metric", help="What stability ranks by: accuracy or mark.")] = "accuracy",
    as_json: options.Json = False,
) -> None:
    """Agreement, sensitivity and stability of the marks of run folders."""
    from livek12.core.run_folder import RunFolder
    from livek12.scripts.pipeline import one_of
    from livek12.scripts.progress import warn
    from livek12.scripts.run_names import run_names
    from livek12.scripts.studies.show import show

    chosen = one_of("KIND", kind, _STUDIES)
    folders = {name: RunFolder.open(path, warn) for name, path in run_names(runs).items()}
    found = _STUDIES[chosen](folders, labels, metric)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        show(chosen, found)


def _agreement(folders: Mapping[str, RunFolder], labels: Path | None, metric: str) -> dict[str, Any]:
    from livek12.scripts.progress import warn
    from livek12.scripts.studies.human import human_agreement
    from livek12.scripts.studies.labels import read_labels

    if labels is None:
        raise UserError("agreement needs --labels FILE: rows {question_id, correct} or {question_id, score, max_score}")
    return {
        name: human_agreement(folder.rows(), read_labels(labels, folder.spec().model, warn))
        for name, folder in folders.items()
    }


def _inter(folders: Mapping[str, RunFolder], labels: Path | None, metric: str) -> dict[str, Any]:
    from livek12.scripts.studies.consistency import between_judges

    return {name: between_judges(folder.rows()) for name, folder in folders.items()}


def _intra(folders: Mapping[str, RunFolder], labels: Path | None, metric: str) -> dict[str, Any]:
    from livek12.scripts.studies.consistency import between_runs

    return between_runs(_rows(folders), "same")


def _sensitivity(folders: Mapping[str, RunFolder], labels: Path | None, metric: str) -> dict[str, Any]:
    from livek12.scripts.studies.consistency import between_runs

    return between_runs(_rows(folders), "different")


def _stability(folders: Mapping[str, RunFolder], labels: Path | None, metric: str) -> dict[str, Any]:
    from typing import get_args

    from livek12.scripts.pipeline import one_of
    from livek12.scripts.studies.stability import Metric, stability

    return stability(_rows(folders), one_of("--metric", metric, get_args(Metric)))


def _rows(folders: Mapping[str, RunFolder]) -> dict[str, list[Row]]:
    return {name: list(folder.rows()) for name, folder in folders.items()}


_STUDIES: dict[str, Callable[[Mapping[str, RunFolder], Path | None, str], dict[str, Any]]] = {
    "agreement": _agreement,
    "inter-judge": _inter,
    "intra-judge": _intra,
    "sensitivity": _sensitivity,
    "stability": _stability,
}
