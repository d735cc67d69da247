"""`livek12 report`: report.json and report.html of a run folder, and a summary on the terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from livek12.core.progress import tell
from livek12.scripts import options


@options.command("livek12 report runs/qwen3")
def report(
    run: options.Run,
    data: options.MovedData = "",
    profile: options.Profile = "article",
    pdf: Annotated[bool, "Also print report.pdf; needs Chromium on this machine."] = False,
    as_json: options.Json = False,
) -> None:
    """Write and print the report of a run folder."""
    from livek12.core.progress import warn
    from livek12.core.run.folder import RunFolder
    from livek12.core.scoring import profile_named
    from livek12.evaluation import task_data
    from livek12.scripts.endings import finish

    formulas = profile_named(profile)
    folder = RunFolder.open(run, warn)
    options.confine(run, data=options.data_of(folder, data))
    exam = task_data.reload_task_data(folder, data, trusts=False)
    if not finish(folder, formulas, exam=exam, as_json=as_json).written:
        raise typer.Exit(1)
    if pdf:
        from livek12.report.html import further_pages
        from livek12.report.pdf import write_pdf

        further = further_pages(run / "report.html")
        for page in (run / "report.html", *further):
            write_pdf(page, page.with_suffix(".pdf"))
        also = f", and {len(further)} more in {further[0].parent}" if further else ""
        tell(f"for a printer: {run / 'report.pdf'}{also}", err=as_json)
