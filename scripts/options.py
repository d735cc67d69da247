"""The options that several subcommands share, so that each is spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from livek12.scripts.judging import JudgeOptions

Tasks = Annotated[str, typer.Option("--task", help="Task names, comma-separated; see `livek12 tasks`.")]
Model = Annotated[str, typer.Option("--model", help="Model folder, Hub name, served name, or recorded file.")]
Engine = Annotated[str, typer.Option("--engine", help="auto, vllm, transformers, openai or replay.")]
EngineArgs = Annotated[str, typer.Option("--engine-args", help="K=V,… passed to the engine.")]
Data = Annotated[
    str,
    typer.Option("--data", envvar="LIVEK12_DATA", help="Folder made by `livek12 build`, or ORG/NAME on the Hub."),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N questions of a task.")]
Trials = Annotated[int, typer.Option("--trials", min=1, help="Answers drawn for each question.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Token budget of an answer.")]
Budgets = Annotated[
    str, typer.Option("--budgets", help="Ask each task once per token budget: shares of its base, such as 0.1,0.5,1.")
]
ThinkingBudget = Annotated[
    int | None, typer.Option("--thinking-budget", min=0, help="Most tokens of thinking in an answer.")
]
Temperature = Annotated[float | None, typer.Option("--temperature", min=0.0, help="Sampling temperature.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the first trial; the next adds 1.")]
Judge = Annotated[
    str,
    typer.Option(
        "--judge", help="Who marks what the rules leave open: rules (nobody), MODEL[@ENGINE[:K=V,…]][,…], or FILE.yaml."
    ),
]
JudgeEngine = Annotated[str, typer.Option("--judge-engine", help="Engine of judges that name none; default auto.")]
JudgeEngineArgs = Annotated[str, typer.Option("--judge-engine-args", help="K=V,… for judges that name no engine.")]
JudgeMethod = Annotated[
    str, typer.Option("--judge-method", help="p1, p2, p3, count, marks, s2s, l2s or l2l; default: the task's own.")
]
Answers = Annotated[
    str, typer.Option("--answers", help="A data set with the keys, where the run's questions have none.")
]
Cache = Annotated[bool, typer.Option("--cache/--no-cache", help="Remember decisions and replies on disk.")]
Audit = Annotated[
    bool, typer.Option("--audit/--no-audit", help="Judges also audit the reasoning, where the task's paper does.")
]
Stages = Annotated[
    str,
    typer.Option(
        "--stages",
        help="overlap: mark while asking, all local judges at once; turn: one after the other; auto: as memory allows.",
    ),
]
Profile = Annotated[str, typer.Option("--profile", help="Score formulas: paper or release.")]
Out = Annotated[Path, typer.Option("--out", help="The run folder; an unfinished run in it goes on.")]
Run = Annotated[Path, typer.Argument(help="A run folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]


def command() -> typer.Typer:
    """The app of one subcommand: plain help, no shell completion of its own."""
    return typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


def judging(
    judge: str,
    engine: str,
    engine_args: str,
    method: str,
    *,
    answers: str = "",
    data: str = "",
    cache: bool = True,
    audit: bool = True,
    stages: str = "auto",
) -> JudgeOptions:
    """What the options on judges say.

    Raises:
        UserError: they name no judge that could be.
    """
    from livek12.judges.llm.spec import parse_judge
    from livek12.scripts.judging import JudgeOptions

    together = stages == "overlap"
    return JudgeOptions(parse_judge(judge, engine, engine_args, method), answers, data, cache, audit, together)


def sampling(
    max_tokens: int | None, temperature: float | None, seed: int | None, thinking_budget: int | None
) -> dict[str, Any]:
    """What the user set over the tasks' defaults."""
    given = {
        "max_tokens": max_tokens,
        "temperature": temperature,
        "seed": seed,
        "thinking_budget": thinking_budget,
    }
    return {name: value for name, value in given.items() if value is not None}
