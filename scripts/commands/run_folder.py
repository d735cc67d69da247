"""`livek12 status`, `check`, `compact`, `sign` and `push`: the keeping of a run folder."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.progress import say, tell
from livek12.scripts import options
from livek12.scripts.endings import answer

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


@options.command("livek12 compact runs/qwen3")
def compact(run: options.OwnRun, undo: Annotated[bool, "Restore the journals, byte for byte."] = False) -> None:
    """Pack the journals of a finished run into Parquet, losslessly. All commands read both forms."""
    from livek12.core.compaction import compact as pack
    from livek12.core.compaction import restore

    sizes = restore(run) if undo else pack(run)
    say(f"{run}: {sizes.before / 1e6:,.1f} MB → {sizes.after / 1e6:,.1f} MB" + ("" if undo else "; --undo unpacks it"))


@options.command("livek12 sign runs/qwen3 --key ~/.ssh/id_ed25519")
def sign(
    run: options.OwnRun,
    key: Annotated[
        Path,
        options.Opt("Private ed25519 key without a password, or the public key of one in ssh-agent."),
    ],
) -> None:
    """Sign a finished run. `livek12 check --signer` verifies the signature."""
    from livek12.core.run.access import alone
    from livek12.core.run.folder import RunFolder
    from livek12.core.run.signing import sign as signed

    with alone(run):
        tell(f"{run}: signed by {signed(RunFolder.open(run), key)}")


@options.command("livek12 push runs/qwen3 hf://datasets/ORG/NAME/qwen3")
def push(
    run: options.OwnRun,
    address: Annotated[
        str,
        typer.Argument(metavar="ADDRESS", help="hf://datasets/ORG/NAME[/FOLDER], or s3://BUCKET/FOLDER and the like."),
    ],
    public: Annotated[bool, "Create the data set as a public one; default: private."] = False,
    unfinished: Annotated[bool, "Also send a run with missing or unmarked answers."] = False,
    hold: options.Hold = None,
    reveal_answers: Annotated[bool, "Send answers even if they are held back."] = False,
    rights: options.Rights = None,
    as_json: options.Json = False,
) -> None:
    """Send a finished run to a data set of the Hub or a bucket, where other commands can read it."""
    from livek12.dataset_builders.publishing.policy import read_rights, refusal
    from livek12.evaluation import pushing

    permissions = read_rights(rights) if rights else []
    wishes = pushing.PushWishes(
        refuses=lambda question: refusal(question, permissions),
        hold=frozenset(hold) - {"none"} if hold else None,
        reveal=reveal_answers,
        unfinished=unfinished,
        public=public,
    )
    pushed = pushing.push(run, address, wishes)
    commit = f", commit {pushed.commit}" if pushed.commit else ""
    answer(as_json, asdict(pushed), f"{pushed.address}: {pushed.files} files, {pushed.bytes / 1e6:,.1f} MB{commit}")
