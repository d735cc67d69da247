"""`livek12 scheme`: proposes marking schemes for review."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options

scheme = options.group()


@scheme.callback(epilog=options.example("livek12 scheme propose mine --model Qwen/Qwen3-8B"))
def about() -> None:
    """Propose marking schemes for review."""


@options.subcommand(scheme, "livek12 scheme propose mine --model Qwen/Qwen3-8B")
def propose(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder made by `livek12 ingest`.")],
    model: Annotated[str, "The model that proposes: a folder, name or recorded file."],
    engine: options.Engine = "auto",
    engine_args: options.EngineArgs = "",
    unreviewed: Annotated[bool, "Let `build` use the proposals before anybody has reviewed them."] = False,
    as_json: options.Json = False,
) -> None:
    """Propose schemes for questions with a solution and points."""
    from livek12.core.errors import UserError
    from livek12.core.progress import Progress
    from livek12.dataset_builders.ingest.folder import STATE
    from livek12.dataset_builders.proposals.tagging.schemes import propose_schemes
    from livek12.engines.asking import model_spec

    if not (folder / STATE).is_dir():
        raise UserError(f"{folder}: schemes are proposed in the drafts of an ingested folder; make one: livek12 ingest")
    with closing(model_spec(model, "--model", engine, engine_args).start()) as made, Progress("schemes") as progress:
        report = propose_schemes(folder, made, unreviewed, progress.step)
    for line in report.problems:
        tell(f"warning: {line}", err=True)
    if as_json:
        typer.echo(json.dumps(asdict(report), ensure_ascii=False))
    else:
        tell(
            f"proposed schemes for {report.proposed} of {report.asked} questions; review them: livek12 review {folder}"
        )
    if report.failed:
        raise typer.Exit(1)
