"""`livek12 generate`: fills a run folder with responses."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import typer

from livek12.core.progress import tell
from livek12.evaluation.options import RunOptions, SamplingOptions
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder


@options.command(
    "livek12 generate --task cfe_text --model Qwen/Qwen3-8B --data data/sample --out runs/qwen3", grouped=True
)
def generate(asking: RunOptions, sampling: SamplingOptions, as_json: options.Json = False) -> None:
    """Only ask: fill a run folder with responses."""
    from livek12.core.ranks import this_rank
    from livek12.evaluation.asking import ask
    from livek12.scripts.endings import end

    draws = sampling.given()
    folder, _ = ask(asking.with_trials(), draws)
    if this_rank().first:
        counts = _counts(folder)
        if as_json:
            typer.echo(json.dumps({"run": str(asking.out), **counts}, ensure_ascii=False))
        else:
            summary = ", ".join(f"{number} {what}" for what, number in counts.items())
            tell(f"{asking.out}: {summary}; next: livek12 judge {asking.out}")
        end(folder, counts["failed"])


def _counts(folder: RunFolder) -> dict[str, int]:
    """Counts of the run's questions by their state; the rest is in the hands of another command."""
    spec, answered = folder.spec(), folder.answered()
    requested = sum(task.questions for task in spec.tasks) * spec.trials
    states = Counter(failure.state for key, failure in folder.failures().items() if key not in answered)
    return {
        "asked": requested,
        "answered": len(answered),
        "unsupported": states["unsupported"],
        "failed": states["failed"],
    }
