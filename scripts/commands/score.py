"""`livek12 score`: computes report.json from the records of a run folder."""

from __future__ import annotations

from livek12.scripts import options


@options.command("livek12 score runs/qwen3 --json")
def score(run: options.ScoredRun, profile: options.Profile = "article", as_json: options.Json = False) -> None:
    """Compute the scores of a run folder."""
    from livek12.core.progress import warn
    from livek12.core.run.folder import RunFolder
    from livek12.core.scoring import profile_named
    from livek12.evaluation.reporting import score_run
    from livek12.scripts.endings import show

    formulas = profile_named(profile)
    folder = RunFolder.open(run, warn)
    options.confine(run)
    show(score_run(folder, formulas), as_json)
