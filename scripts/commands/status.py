"""`livek12 status`: how far a run is, and what its batches are doing."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.engines.batch.ledger import Batch


@options.command("livek12 status runs/qwen3")
def status(
    run: options.Run,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Ask the provider to cancel waiting batches; finished answers are kept.")
    ] = False,
    key_file: Annotated[str, typer.Option(help="For --cancel: a file of mode 0600 with the provider's key.")] = "",
    as_json: options.Json = False,
) -> None:
    """Show the progress of a run and its batches. Connects only for --cancel."""
    from livek12.core.engine_kinds import kind_of
    from livek12.core.errors import UserError
    from livek12.core.progress import tell
    from livek12.core.run.folder import RunFolder
    from livek12.engines.batch.ledger import read_batches

    folder = RunFolder.open(run)
    spec, batches = folder.spec(), list(read_batches(run))
    counts = {
        "asked": sum(task.questions for task in spec.tasks) * spec.trials,
        "answered": len(folder.answered()),
        "failed": len(folder.failures().keys() - set(folder.answered())),
    }
    if cancel:
        from livek12.engines.batch.providers import cancel as cancel_batches

        if not folder.made_here():
            raise UserError(f"{run}: was not made on this machine; cancel its batches where it was")
        counts["cancelled"] = cancel_batches(batches, key_file or None)
    if as_json:
        typer.echo(json.dumps({**counts, "batches": [batch.model_dump() for batch in batches]}))
        return
    missing = "not recorded" if kind_of(folder.spec().engine).is_recorded else "failed"
    tell(f"{run}: {counts['answered']:,} of {counts['asked']:,} answered, {counts['failed']:,} {missing}")
    for batch in batches:
        tell(_in_words(batch))
    if cancel:
        tell(f"{counts['cancelled']} batches are asked to stop; the same `run` fetches what was answered")


_STATES = {"sending": "is being submitted", "waiting": "waits", "void": "was not submitted"}


def _in_words(batch: Batch) -> str:
    over, minutes = batch.answered + batch.failed, (time.time() - batch.at) / 60
    state = _STATES.get(batch.state, f"was fetched ({batch.how})")
    name = f"{batch.model} by {batch.provider}: {batch.id or batch.token}"
    return f"{name} {state}, {over:,} of {batch.requests:,} requests over, {minutes:,.0f} minutes ago"
