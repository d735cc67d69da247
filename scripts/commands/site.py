"""`livek12 site`: run folders as one static site."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options


@options.command("livek12 site runs/qwen3 runs/gemma3 --out site")
def site(
    runs: options.Runs,
    out: Annotated[Path, "Folder of the site; a repeated call writes only what changed."],
    space: Annotated[str, "Upload the site to this static Space of the Hub: ORG/NAME."] = "",
    models: Annotated[Path | None, "YAML file with dates, sizes, licences and prices of models."] = None,
    ask_hub: Annotated[bool, "Ask the Hub about models that --models lacks."] = False,
    hold: Annotated[
        list[str] | None, options.Opt("A release that is held back: marks only; repeatable.", metavar="RELEASE")
    ] = None,
    rights: options.Rights = None,
    title: Annotated[str, "Title of the site; default: the exam's name."] = "",
    publisher: Annotated[str, "Publisher on the About page: a name, with or without an https:// address."] = "",
    as_json: options.Json = False,
) -> None:
    """Make a static site of runs: leaderboard, heat-map, plots, questions, papers."""
    from livek12.core.run.folder import RunFolder
    from livek12.dataset_builders.publishing.policy import read_rights, refusal
    from livek12.evaluation.site.making import SiteWishes, check_space, make_site, read_models, send

    if space:
        check_space(space)
    permissions = read_rights(rights) if rights else []
    wishes = SiteWishes(
        refuses=lambda question: refusal(question, permissions),
        held=hold or (),
        models=read_models(models) if models else None,
        ask_hub=ask_hub,
        title=title,
        publisher=publisher,
        permits=repr(permissions),
    )
    places = [place for run in runs for place in options.data_of(RunFolder.open(run))]
    options.confine(*runs, out, data=places, network=bool(space) or ask_hub)
    made = make_site(runs, out, wishes)
    sent = send(out, space, title) if space else ""
    if as_json:
        typer.echo(json.dumps({**asdict(made), "site": str(out / "index.html"), "space": sent or None}))
        return
    tell(
        f"{out / 'index.html'}: {made.runs} runs ({made.read} read anew), {made.questions} questions"
        f" ({made.hidden} hidden), {made.written} files written"
    )
    if sent:
        tell(f"space: {sent}")
