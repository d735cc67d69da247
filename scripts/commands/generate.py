"""`livek12 generate`: fills a run folder with responses and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import typer

from livek12.core.progress import tell
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder

app = options.command()


@app.command(
    epilog=options.example("livek12 generate --task cfe_text --model Qwen/Qwen3-8B --data data/sample --out runs/qwen3")
)
def generate(
    task: options.Tasks,
    model: options.Model,
    out: options.Out,
    data: options.Data = "",
    engine: options.Engine = "auto",
    engine_args: options.EngineArgs = "",
    limit: options.Limit = None,
    trials: options.Trials = None,
    questions: options.Questions = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    top_k: options.TopK = None,
    seed: options.Seed = None,
    system_prompt: options.SystemPrompt = None,
    budgets: options.Budgets = "",
    thinking_budget: options.ThinkingBudget = None,
    as_json: options.Json = False,
) -> None:
    """Only ask: fill a run folder with responses."""
    from livek12.core.ranks import this_rank
    from livek12.evaluation.asking import ask
    from livek12.scripts.commands.report import end
    from livek12.tasks.registry import default_trials, get_tasks, with_budgets

    sampling = options.sampling(
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        seed=seed,
        system_prompt=system_prompt,
        thinking_budget=thinking_budget,
    )
    names = with_budgets(task, budgets)
    trials = trials or default_trials(get_tasks(names))
    folder, _ = ask(names, model, out, data, engine, engine_args, limit, trials, sampling, questions=questions)
    if this_rank().first:
        counts = _counts(folder)
        if as_json:
            typer.echo(json.dumps({"run": str(out), **counts}, ensure_ascii=False))
        else:
            told = ", ".join(f"{number} {what}" for what, number in counts.items())
            tell(f"{out}: {told}; next: livek12 judge {out}")
        end(folder, counts["failed"])


def _counts(folder: RunFolder) -> dict[str, int]:
    """What became of all that the run asks; what is none of it another command has in hand."""
    spec, answered = folder.spec(), folder.answered()
    asked = sum(task.questions for task in spec.tasks) * spec.trials
    states = Counter(failure.state for key, failure in folder.failures().items() if key not in answered)
    return {
        "asked": asked,
        "answered": len(answered),
        "unsupported": states["unsupported"],
        "failed": states["failed"],
    }
