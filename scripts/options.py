"""The options that several subcommands share, so that each is spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup


def place(text: str) -> Path | str:
    """A run folder as it is named: a path, or an address that `run_folder` or `own_folder` looks at."""
    from livek12.core.run.remote import is_address

    return text if is_address(text) else Path(text)


def run_folder(context: typer.Context, named: Any) -> Any:
    """The folders that a command reads; what stands at an address is fetched where the command is to run."""
    return _here(context, named, texts=True)


def scored_folder(context: typer.Context, named: Any) -> Any:
    """The same of a command that makes scores alone."""
    return _here(context, named, texts=False)


def _here(context: typer.Context, named: Any, texts: bool) -> Any:
    from livek12.core.run.remote import run_folder as local

    if isinstance(named, list):
        return [_here(context, one, texts) for one in named]
    return named if named is None or context.resilient_parsing else local(named, texts)


def own_folder(context: typer.Context, named: Any) -> Any:
    """The folder that a command writes in."""
    from livek12.core.run.remote import own_folder as local

    return named if context.resilient_parsing else local(named)


Tasks = Annotated[str, typer.Option("--task", help="Task names, comma-separated; see `livek12 tasks`.")]
Model = Annotated[str, typer.Option("--model", help="Model folder, Hub name, served name, or recorded file.")]
Engine = Annotated[str, typer.Option("--engine", help="auto, vllm, transformers, openai or replay.")]
EngineArgs = Annotated[str, typer.Option("--engine-args", help="Arguments for the engine: K=V,…")]
Data = Annotated[
    str,
    typer.Option("--data", envvar="LIVEK12_DATA", help="Folder made by `livek12 build`, or ORG/NAME on the Hub."),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N questions of a task.")]
Trials = Annotated[
    int | None,
    typer.Option("--trials", min=1, help="Answers drawn for each question; default: as the task has it, mostly 1."),
]
Questions = Annotated[
    tuple[str, Path] | None,
    typer.Option("--questions", metavar="failed-in RUN", help="Only questions that the model failed in that run."),
]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Token budget of an answer.")]
Budgets = Annotated[
    str, typer.Option("--budgets", help="Ask each task once per token budget: shares of its base, such as 0.1,0.5,1.")
]
ThinkingBudget = Annotated[
    int | None, typer.Option("--thinking-budget", min=0, help="The most tokens of thinking in an answer.")
]
Temperature = Annotated[float | None, typer.Option("--temperature", min=0.0, help="Sampling temperature.")]
TopP = Annotated[float | None, typer.Option("--top-p", help="Nucleus sampling: a share above 0 and up to 1.")]
TopK = Annotated[int | None, typer.Option("--top-k", min=0, help="Draw from the N likeliest tokens; 0 draws from all.")]
SystemPrompt = Annotated[
    str | None, typer.Option("--system-prompt", help="What the model is told before the question.")
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the first trial; the next adds 1.")]
Judge = Annotated[
    str,
    typer.Option(
        "--judge",
        help="Who marks what the rules leave open: rules (nobody), MODEL[@ENGINE[:K=V,…]][,…], FILE.yaml, or panel:NAME"
        " (see `livek12 tasks --judges`).",
    ),
]
JudgeEngine = Annotated[str, typer.Option("--judge-engine", help="Engine of judges that name none; default: auto.")]
JudgeEngineArgs = Annotated[
    str, typer.Option("--judge-engine-args", help="Arguments for the engine of such judges: K=V,…")
]
JudgeMethod = Annotated[
    str,
    typer.Option(
        "--judge-method",
        help="p1, p2, p3, count, marks, s2s, s2s_rules, l2s, l2l, compass or xverify; default: that of the task.",
    ),
]
JudgeScope = Annotated[
    str,
    typer.Option(
        "--judge-scope",
        help="What judges see: open, what the rules leave open (default), or all answers, with the rules unheard.",
    ),
]
_REPEATS = "Ask judge models so often about each answer, each time another draw; the first makes the marks."
Repeats = Annotated[int, typer.Option("--repeats", min=1, help=_REPEATS)]
JudgeRepeats = Annotated[int, typer.Option("--judge-repeats", min=1, help=_REPEATS)]
JudgePrompt = Annotated[
    str, typer.Option("--judge-prompt", help="The prompt file of a published verifier, for compass and xverify.")
]
Answers = Annotated[
    str, typer.Option("--answers", help="A data set with the reference answers, if the run's questions have none.")
]
Cache = Annotated[bool, typer.Option("--cache/--no-cache", help="Remember decisions and replies on disk.")]
Audit = Annotated[
    bool, typer.Option("--audit/--no-audit", help="Also let judges audit the reasoning, where the task's article does.")
]
Stages = Annotated[
    str,
    typer.Option(
        "--stages",
        help="overlap: mark while asking, all local judges at once; turn: one after the other; auto: as memory allows.",
    ),
]
Profile = Annotated[
    str, typer.Option("--profile", help="Score formulas: article (the equations) or release (its authors' code).")
]
Out = Annotated[Path, typer.Option("--out", help="The run folder; an unfinished run in it goes on.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Ask and write nothing; say how many requests and prompt tokens it would be.")
]
OwnRun = Annotated[Path, typer.Argument(help="A run folder.", parser=place, callback=own_folder, metavar="RUN")]
_PLACE, _PLACES = "A run folder, or its address (hf://, s3://).", "Run folders, or their addresses (hf://, s3://)."
_READ: dict[str, Any] = {"parser": place, "callback": run_folder}
_SCORED: dict[str, Any] = {"parser": place, "callback": scored_folder}
Run = Annotated[Path, typer.Argument(help=_PLACE, metavar="RUN", **_READ)]
Runs = Annotated[list[Path], typer.Argument(help=_PLACES, metavar="RUN", **_READ)]
ScoredRun = Annotated[Path, typer.Argument(help=_PLACE, metavar="RUN", **_SCORED)]
ScoredRuns = Annotated[list[Path], typer.Argument(help=_PLACES, metavar="RUN", **_SCORED)]
BaseRun = Annotated[
    Path | None,
    typer.Option("--base", help="The run of whole questions; default: that of --questions.", metavar="RUN", **_READ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]


class _WholeHelp(TyperGroup):
    """Lists its commands with what each does, not cut off at the end of a line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, (one.help or "").partition("\n\n")[0]) for name, one in self.commands.items()])


def command() -> typer.Typer:
    """The app of one subcommand: plain help, no shell completion of its own."""
    return typer.Typer(cls=_WholeHelp, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


def example(line: str) -> str:
    """The end of a command's help: a command line, kept on one line so that it can be copied."""
    return f"\b\nExample:\n  {line}"


def sampling(**given: Any) -> dict[str, Any]:
    """What the user set over the tasks' defaults.

    Raises:
        UserError: a number that no model could draw by.
    """
    from livek12.evaluation.task_data import sampling_set

    return sampling_set(given)
