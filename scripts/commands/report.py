"""`livek12 score`, `report` and `compare`: the marks of run folders, as JSON, pages and tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from livek12.core.errors import UserError
from livek12.core.progress import tell, warn
from livek12.core.visible import visible
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


@options.command("livek12 score runs/qwen3 --json")
def score(run: options.ScoredRun, profile: options.Profile = "article", as_json: options.Json = False) -> None:
    """Compute the scores of a run folder."""
    from livek12.core.run.folder import RunFolder
    from livek12.core.scoring import profile_named
    from livek12.evaluation.reporting import score_run
    from livek12.scripts.endings import show

    formulas = profile_named(profile)
    folder = RunFolder.open(run, warn)
    options.confine(run)
    show(score_run(folder, formulas), as_json)


@options.command("livek12 compare runs/qwen3 runs/gemma3")
def compare(
    runs: options.ScoredRuns,
    where: Annotated[str, "Only some questions: FIELD=VALUE[,VALUE]."] = "",
    profile: options.Profile = "article",
    as_json: options.Json = False,
    csv: Annotated[bool, "Print CSV: a row for each run, then a row for each pair."] = False,
    markdown: Annotated[bool, options.Opt("Print Markdown.", "--md")] = False,
) -> None:
    """Compare runs: a table, intervals and paired tests."""
    from livek12.core.scoring import profile_named
    from livek12.evaluation.comparing import compare_runs
    from livek12.evaluation.reporting import corrected_lines
    from livek12.report.compared import as_csv, as_markdown, print_comparison

    if as_json + csv + markdown > 1:
        raise UserError("--json, --csv and --md: give one of them")
    options.confine(*runs)
    result = compare_runs(runs, where, profile_named(profile))
    labelled = {} if where else {name: marks for name, marks in _corrected(runs).items() if marks}
    if as_json:
        typer.echo(
            json.dumps({**result, **({"corrected": labelled} if labelled else {})}, ensure_ascii=False, indent=1)
        )
    elif csv:
        typer.echo(as_csv(result), nl=False)
    elif markdown:
        typer.echo(as_markdown(result))
    else:
        print_comparison(result)
        for name, marks in labelled.items():
            for line in corrected_lines(marks):
                typer.echo(f"{name}: {visible(line)}")


def _corrected(runs: list[Path]) -> dict[str, dict[str, Any]]:
    from livek12.core.run.folder import RunFolder
    from livek12.evaluation.comparing import run_names
    from livek12.evaluation.reporting import corrected_marks

    return {name: corrected_marks(RunFolder.open(path, warn)) for name, path in run_names(runs).items()}
