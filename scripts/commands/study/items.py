"""`livek12 study items`: difficulty and discrimination of each question, and suspect keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import Page, Runs, Tasks, Way, choice, folders, tell

EPILOG = options.example("livek12 study items runs/qwen3 runs/gemma3 runs/glm --export suspects.jsonl")


def command(
    runs: Runs,
    irt: Annotated[bool, typer.Option("--irt", help="Also fit a two-parameter model (needs the extra stats).")] = False,
    choose: Annotated[
        int | None, typer.Option("--choose", min=1, help="Propose N questions that keep the ranking, with their error.")
    ] = None,
    prior: Annotated[
        float, typer.Option("--prior", min=0.0001, max=0.5, help="The share of keys that are wrong, beforehand.")
    ] = 0.03,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write the answers to the suspect questions, for `livek12 review RUN --plan`."),
    ] = None,
    task: Tasks = "",
    way: Way = "",
    html: Page = None,
    as_json: options.Json = False,
) -> None:
    """Measure each question over the runs of several models, and list the keys that look wrong."""
    from livek12.core.progress import Progress
    from livek12.evaluation.sieve import RunRows
    from livek12.evaluation.studies.items import STUDY, items_study, linked, plan, read_items
    from livek12.evaluation.studies.suspects import same_by_rules

    found_folders = folders(runs)
    items = read_items({name: RunRows(folder) for name, folder in found_folders.items()}, choice(task, way))
    with Progress("comparing answers", len(items), patient=True) as progress, same_by_rules() as same:
        result: dict[str, Any] = items_study(items, same, progress.step, prior)
    linked(result["suspects"], {name: folder.path for name, folder in found_folders.items()})
    if irt or choose:
        from livek12.evaluation.studies.items import choose as chosen_items
        from livek12.evaluation.studies.items import fit

        result |= {"irt": fit(items)} if irt else {}
        result |= {"chosen": chosen_items(items, choose)} if choose else {}
    if export is not None:
        from livek12.core.files import write_atomically

        rows = plan(result["suspects"])
        write_atomically(export, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    tell(STUDY, result, as_json, html)
