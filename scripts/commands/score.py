"""`livek12 score`: computes report.json from the records of a run folder."""

from __future__ import annotations

import json

import typer

from livek12.scripts import options

app = options.command()


@app.command()
def score(run: options.Run, profile: options.Profile = "paper", as_json: options.Json = False) -> None:
    """Compute the scores of a run folder."""
    from livek12.core.run_folder import RunFolder
    from livek12.scripts import pipeline
    from livek12.scripts.progress import warn
    from livek12.scripts.report.terminal import print_summary

    formulas = pipeline.profile_of(profile)
    report = pipeline.score(RunFolder.open(run, warn), formulas)
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        print_summary(report)
