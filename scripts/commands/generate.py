"""`livek12 generate`: fills a run folder with responses."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from livek12.evaluation.options import RunOptions, SamplingOptions
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder


@options.command("livek12 generate --task cfe_text --model Qwen/Qwen3-8B --data data/sample --out runs/qwen3")
def generate(asking: RunOptions, sampling: SamplingOptions, as_json: options.Json = False) -> None:
    """Only ask: write the responses to a run folder."""
    from livek12.core.ranks import this_rank
    from livek12.evaluation.asking import ask
    from livek12.scripts.endings import answer, end

    draws = sampling.given()
    folder, _ = ask(asking.with_trials(), draws)
    if this_rank().first:
        counts = _counts(folder)
        summary = ", ".join(f"{number} {what}" for what, number in counts.items())
        line = f"{asking.out}: {summary}; next: livek12 judge {asking.out}"
        answer(as_json, {"run": str(asking.out), **counts}, line)
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
