"""`livek12 report`: report.json and report.html of a run folder, and a summary on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from livek12.core.engine_kinds import kind_of
from livek12.core.progress import tell
from livek12.scripts import options

if TYPE_CHECKING:
    from pathlib import Path

    from livek12.core.run.folder import RunFolder
    from livek12.core.scoring import Profile
    from livek12.evaluation.reporting import Scored
    from livek12.evaluation.task_data import TaskData

app = options.command()


@app.command(epilog=options.example("livek12 report runs/qwen3"))
def report(
    run: options.Run,
    data: Annotated[str, typer.Option("--data", help="Where the data set lies now, if it was moved.")] = "",
    profile: options.Profile = "article",
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Also print report.pdf, by a Chromium that is on this machine.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Write and print the report of a run folder."""
    from livek12.core.progress import warn
    from livek12.core.run.folder import RunFolder
    from livek12.core.scoring import profile_named
    from livek12.evaluation import task_data

    formulas = profile_named(profile)
    folder = RunFolder.open(run, warn)
    if not finish(folder, formulas, exam=task_data.reload_task_data(folder, data), as_json=as_json).written:
        raise typer.Exit(1)
    if pdf:
        from livek12.report.html import further_pages
        from livek12.report.pdf import write_pdf

        further = further_pages(run / "report.html")
        for page in (run / "report.html", *further):
            write_pdf(page, page.with_suffix(".pdf"))
        also = f", and {len(further)} more in {further[0].parent}" if further else ""
        tell(f"for a printer: {run / 'report.pdf'}{also}", err=as_json)


def finish(folder: RunFolder, profile: Profile, exam: TaskData, as_json: bool, brief: bool = False) -> Finished:
    """Scores, prints the summary and writes both reports.

    Args:
        folder: the run.
        profile: which formulas.
        exam: the questions with their pictures.
        as_json: print the scores for a program.
        brief: print one line a task.
    """
    from livek12.evaluation.reporting import score_run

    scored = score_run(folder, profile, exam)
    written = show(scored, as_json, brief)
    if written and not as_json:
        _tell_page(folder.path / "report.html")
    return Finished(scored.count("failed"), scored.count("ungraded"), written)


class Finished(NamedTuple):
    """How a run ended: requests without a response, answers left open, and whether its reports could be written."""

    failed: int
    ungraded: int
    written: bool


def show(scored: Scored, as_json: bool, brief: bool = False) -> bool:
    """Prints the scores, in words or for a program, and writes the files; whether all could be written."""
    from livek12.report.terminal import print_summary

    if as_json:
        typer.echo(scored.text)
    else:
        print_summary(scored.scores, brief=brief, run_name=str(scored.folder.path))
    if problem := scored.write():
        tell(f"warning: {problem}", err=True)
    return not problem


def _tell_page(page: Path) -> None:
    """Says where the graded paper lies: a link where the terminal knows links, else its path alone."""
    from rich.console import Console
    from rich.text import Text

    linked = Text.assemble("report: ", (str(page), f"link {page.resolve().as_uri()}"))
    Console(highlight=False).print(linked, soft_wrap=True)


def end(folder: RunFolder, failed: int, written: bool = True) -> None:
    """Ends a command that asks: exit code 1 while requests have no response, or where its reports are not written."""
    if failed:
        recorded = f"{failed} answers are not in what was recorded"
        asked = f"{failed} requests have no response; the same command asks them again"
        tell(recorded if kind_of(folder.spec().engine).is_recorded else asked, err=True)
    if failed or not written:
        raise typer.Exit(1)
