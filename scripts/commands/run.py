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
    judge: options.Judge = "rules",
    profile: options.Profile = "paper",
    as_json: options.Json = False,
) -> None:
    """Ask, judge, score and report in one go."""
    from livek12.scripts.commands.generate import ask
    from livek12.scripts.commands.report import end, finish
    from livek12.scripts.pipeline import judge as mark
    from livek12.scripts.pipeline import judge_of, profile_of

    judge_of(judge)
    formulas = profile_of(profile)
    sampling = options.sampling(max_tokens, temperature, seed)
    folder, exam = ask(task, model, out, data, engine, engine_args, limit, trials, sampling)
    mark(folder)
    end(finish(folder, formulas, exam=exam, as_json=as_json))
