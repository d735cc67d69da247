"""Ends of commands that ask or mark: the summary, the report's files, the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from livek12.core.lazy import rich
from livek12.core.progress import Progress, tell

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder
    from livek12.core.scoring import Profile
    from livek12.engines.asking import ModelSpec
    from livek12.engines.base import Engine
    from livek12.evaluation.reporting import Scored
    from livek12.evaluation.task_data import TaskData


def finish(folder: RunFolder, profile: Profile, exam: TaskData, as_json: bool) -> Finished:
    """Scores, prints the summary and writes both reports."""
    from livek12.evaluation.reporting import score_run

    scored = score_run(folder, profile, exam)
    written = show(scored, as_json)
    if written and not as_json:
        _tell_page(folder.path / "report.html")
    return Finished(scored.count("failed"), scored.count("ungraded"), written)


class Finished(NamedTuple):
    """Requests without a response, answers left open, and true if the reports were written."""

    failed: int
    ungraded: int
    written: bool


def answer(as_json: bool, value: Any, *lines: str, indent: int | None = None) -> None:
    """Prints JSON for a program, or lines for people."""
    if as_json:
        typer.echo(json.dumps(value, ensure_ascii=False, indent=indent))
        return
    for line in lines:
        tell(line)


def show(scored: Scored, as_json: bool) -> bool:
    """Writes the files, prints the scores; true if all could be written."""
    from livek12.report.terminal import print_summary

    problem = scored.write()  # before the first line: who reads may close the pipe
    if as_json:
        typer.echo(scored.text)
    else:
        print_summary(scored.scores, run_name=str(scored.folder.path))
    if problem:
        tell(f"warning: {problem}", err=True)
    return not problem


def _tell_page(page: Path) -> None:
    linked = rich.text.Text.assemble("report: ", (str(page), f"link {page.resolve().as_uri()}"))
    rich.console.Console(highlight=False).print(linked, soft_wrap=True)


def end(folder: RunFolder, failed: int, written: bool = True) -> None:
    """Ends a command that asks: exit code 1 without all responses and reports."""
    if failed:
        from livek12.core.engine_kinds import kind_of

        recorded = f"{failed} answers are not in what was recorded"
        hint = f"{failed} requests have no response; the same command asks them again"
        tell(recorded if kind_of(folder.spec().engine).is_recorded else hint, err=True)
    if failed or not written:
        raise typer.Exit(1)


class CommandWork(ExitStack):
    """Model and progress bar of a command, opened on demand and closed at its end."""

    def starting(self, spec: ModelSpec) -> Callable[[], Engine]:
        """Starts the model."""
        return lambda: self.enter_context(closing(spec.start()))

    def counting(self, what: str) -> Callable[[int], Callable[[], None]]:
        """Begins a progress bar of a total; returns its step."""
        return lambda total: self.enter_context(Progress(what, total)).step


def end_requests(failed: int, to: str = "") -> None:
    """Ends a command that proposes by a model: exit code 1 while requests failed."""
    if failed:
        tell(f"{failed} requests{to} failed: the same command sends them again", err=True)
        raise typer.Exit(1)


def end_judging(lost: int) -> None:
    """Ends a command that judges: exit code 1 while responses wait for a judge."""
    if lost:
        tell(f"{lost} responses wait for a judge that did not answer; the same command asks again", err=True)
        raise typer.Exit(1)
