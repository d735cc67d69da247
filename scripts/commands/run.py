"""`livek12 run`: ask, judge, score and report; run again on the same folder, it goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.evaluation.prompt_cost import PromptCost

app = options.command()


@app.command(
    epilog=options.example(
        "livek12 run --task livek12_text_only --model Qwen/Qwen3-8B --data data/sample --out runs/qwen3"
    )
)
def run(
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
    judge: options.Judge = "rules",
    judge_engine: options.JudgeEngine = "",
    judge_engine_args: options.JudgeEngineArgs = "",
    judge_method: options.JudgeMethod = "",
    judge_prompt: options.JudgePrompt = "",
    judge_scope: options.JudgeScope = "",
    judge_repeats: options.JudgeRepeats = 1,
    cache: options.Cache = True,
    audit: options.Audit = True,
    stages: options.Stages = "auto",
    profile: options.Profile = "article",
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
) -> None:
    """Ask, judge, score and report in one go."""
    from livek12.core.arguments import one_of
    from livek12.core.scoring import profile_named
    from livek12.evaluation.asking import expected
    from livek12.evaluation.judging import judge_options
    from livek12.evaluation.overlap import STAGES
    from livek12.evaluation.running import ask_and_mark
    from livek12.scripts.commands.judge import end as end_judging
    from livek12.scripts.commands.report import end, finish
    from livek12.tasks.registry import default_trials, get_tasks, with_budgets

    overlap = one_of("--stages", stages, STAGES)
    judges = judge_options(
        judge,
        judge_engine,
        judge_engine_args,
        judge_method,
        judge_prompt,
        judge_scope,
        cache=cache,
        audit=audit,
        stages=stages,
        repeats=judge_repeats,
    )
    formulas = profile_named(profile)
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
    if dry_run:
        _show_cost(expected(names, data, engine, limit, trials, sampling, questions), as_json)
        return
    marked = ask_and_mark(
        names,
        model,
        out,
        data,
        judges=judges,
        engine=engine,
        engine_args=engine_args,
        limit=limit,
        trials=trials or default_trials(get_tasks(names)),
        sampling=sampling,
        stages=overlap,
        questions=questions,
    )
    if marked is None:
        return
    finished = finish(marked.folder, formulas, exam=marked.exam, as_json=as_json)
    end(marked.folder, finished.failed, finished.written)
    end_judging(marked.lost)


def _show_cost(found: Mapping[str, PromptCost], as_json: bool) -> None:
    from livek12.evaluation.prompt_cost import as_json as in_json
    from livek12.evaluation.prompt_cost import sentences

    typer.echo(json.dumps(in_json(found)) if as_json else "\n".join(sentences(found)))
