"""`livek12 report`: report.json and report.html of a run folder, and a summary on the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.core.run_folder import RunFolder
    from livek12.core.scoring import Profile
    from livek12.scripts.pipeline import Exam

app = options.command()


@app.command()
def report(
    run: options.Run,
    data: Annotated[str, typer.Option("--data", help="Where the data set lies now, if it moved.")] = "",
    profile: options.Profile = "paper",
    as_json: options.Json = False,
) -> None:
    """Write and print the report of a run folder."""
    from livek12.core.run_folder import RunFolder
    from livek12.scripts import pipeline
    from livek12.scripts.progress import warn

    formulas = pipeline.profile_of(profile)
    folder = RunFolder.open(run, warn)
    finish(folder, formulas, exam=pipeline.reload_exam(folder, data), as_json=as_json)


def finish(folder: RunFolder, profile: Profile, exam: Exam, as_json: bool) -> int:
    """Scores, writes both reports, prints the summary; returns how many requests have no response."""
    from livek12.scripts import pipeline
    from livek12.scripts.report.html import write_html
    from livek12.scripts.report.terminal import print_summary

    rows = pipeline.illustrated(folder, exam)  # read once, for both reports
    scores = pipeline.score(folder, profile, rows)
    write_html(folder.path / "report.html", scores, rows, scores["run"], exam.pages)
    if as_json:
        typer.echo(json.dumps(scores, ensure_ascii=False, indent=1))
    else:
        print_summary(scores)
        typer.echo(f"report: {folder.path / 'report.html'}")
    return sum(int(task["counts"]["failed"]) for task in scores["tasks"].values())


def end(failed: int) -> None:
    """Ends a command that asks: exit code 1 while requests have no response."""
    if failed:
        typer.echo(f"{failed} requests have no response; the same command asks them again", err=True)
        raise typer.Exit(1)
