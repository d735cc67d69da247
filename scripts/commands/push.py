"""`livek12 push RUN ADDRESS`: a finished run to the Hub, or to a bucket."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options


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
    if as_json:
        typer.echo(json.dumps(asdict(pushed)))
    else:
        commit = f", commit {pushed.commit}" if pushed.commit else ""
        tell(f"{pushed.address}: {pushed.files} files, {pushed.bytes / 1e6:,.1f} MB{commit}")
