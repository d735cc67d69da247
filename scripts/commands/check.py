"""`livek12 check`: are the files, lines and numbers of a run folder what was written?"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from livek12.scripts import options


@options.command("livek12 check runs/qwen3")
def check(
    run: options.Run,
    signer: Annotated[
        str,
        typer.Option(
            "--signer", help="Public ed25519 key (ssh-ed25519 …), or its file, that must have signed the run."
        ),
    ] = "",
    as_json: options.Json = False,
) -> None:
    """Check every file, line and number of a run folder; changes nothing."""
    from livek12.core.progress import say, tell
    from livek12.evaluation.checking import check_run

    checked = check_run(run, signer)
    if as_json:
        typer.echo(json.dumps(asdict(checked)))
    else:
        for line in checked.faults:
            tell(line)
        for note in checked.notes:
            say(f"note: {note}")
        if not checked.faults:
            tell(f"{run}: every sum, line and number is as it was written")
    if checked.faults:
        raise typer.Exit(1)
