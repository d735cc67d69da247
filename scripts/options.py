"""The options that several subcommands share, so that each is spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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
Temperature = Annotated[float | None, typer.Option("--temperature", min=0.0, help="Sampling temperature.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the first trial; the next adds 1.")]
Judge = Annotated[str, typer.Option("--judge", help="Who marks: rules (no model).")]
Profile = Annotated[str, typer.Option("--profile", help="Score formulas: paper or release.")]
Out = Annotated[Path, typer.Option("--out", help="The run folder; an unfinished run in it goes on.")]
Run = Annotated[Path, typer.Argument(help="A run folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]


def command() -> typer.Typer:
    """The app of one subcommand: plain help, no shell completion of its own."""
    return typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


def sampling(max_tokens: int | None, temperature: float | None, seed: int | None) -> dict[str, Any]:
    """What the user set over the tasks' defaults."""
    given = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
    return {name: value for name, value in given.items() if value is not None}
