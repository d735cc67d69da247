"""`livek12 run`: ask, judge, score and report; run again on the same folder, it goes on where it stopped."""

from __future__ import annotations

from livek12.scripts import options

app = options.command()


@app.command()
def run(
    task: options.Tasks,
    model: options.Model,
    out: options.Out,
    data: options.Data = "",
    engine: options.Engine = "auto",
    engine_args: options.EngineArgs = "",
    limit: options.Limit = None,
    trials: options.Trials = 1,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    seed: options.Seed = None,
    budgets: options.Budgets = "",
    thinking_budget: options.ThinkingBudget = None,
    judge: options.Judge = "rules",
    judge_engine: options.JudgeEngine = "",
    judge_engine_args: options.JudgeEngineArgs = "",
    judge_method: options.JudgeMethod = "",
    cache: options.Cache = True,
    audit: options.Audit = True,
    stages: options.Stages = "auto",
    profile: options.Profile = "paper",
    as_json: options.Json = False,
) -> None:
    """Ask, judge, score and report in one go."""
    from livek12.core.ranks import this_rank
    from livek12.scripts.beside import STAGES, Beside
    from livek12.scripts.commands.generate import ask
    from livek12.scripts.commands.judge import end as end_judging
    from livek12.scripts.commands.report import end, finish
    from livek12.scripts.judging import check_judges
    from livek12.scripts.pipeline import judge as mark
    from livek12.scripts.pipeline import one_of, profile_of
    from livek12.tasks.registry import with_budgets

    judging = options.judging(
        judge, judge_engine, judge_engine_args, judge_method, cache=cache, audit=audit, stages=stages
    )
    beside = Beside(judging, one_of("--stages", stages, STAGES))
    formulas = profile_of(profile)
    first = this_rank().first
    sampling = options.sampling(max_tokens, temperature, seed, thinking_budget)
    task = with_budgets(task, budgets)
    check_judges(judging, model, task)
    folder, exam = ask(task, model, out, data, engine, engine_args, limit, trials, sampling, beside if first else None)
    if not first:
        return  # the first of several launched processes goes on alone
    lost = mark(folder, options=judging, exam=exam, before=beside.marked)
    failed = finish(folder, formulas, exam=exam, as_json=as_json)
    end(failed)
    end_judging(lost)
