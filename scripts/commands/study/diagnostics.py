"""`livek12 study diagnostics`: causes of failures, from the answers to derived tasks."""

from __future__ import annotations

from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Page, Runs, folders, tell

EPILOG = options.example("livek12 study diagnostics runs/why --base runs/qwen3 --html why.html")


def command(
    runs: Runs,
    base: options.BaseRun = None,
    fewest: Annotated[
        int | None,
        typer.Option("--fewest", min=1, help="Questions behind each point; default: 6 for a unit, 5 for a length."),
    ] = None,
    html: Page = None,
    as_json: options.Json = False,
) -> None:
    """Show how a model does unit by unit, and with a part of the solution, beside the whole questions."""
    from livek12.evaluation.studies.diagnostics import (
        FEWEST,
        STUDY,
        diagnostics,
        read_diagnosed,
        whole_rows,
    )

    least = (fewest, fewest) if fewest else FEWEST
    result = {
        name: diagnostics(
            read_diagnosed(folder.rows(), whole_rows(folder, base)), least, folder.spec().chosen is not None
        )
        for name, folder in folders(runs).items()
    }
    tell(STUDY, result, as_json, html)
