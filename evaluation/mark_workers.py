"""The responses of a run, marked by the rules in processes (`evaluation.line_workers`): the caller hands out lines.

Contract: the verdicts are those that one process gives, but for a response that breaks a limit of time or memory, which
is ungraded and says so. What the caller does for a response is reading its line, a claim, and writing the verdict's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from livek12.core.process import Link
from livek12.core.records import Response, Verdict
from livek12.core.run.folder import RunFolder
from livek12.evaluation.judging import RunScorer
from livek12.evaluation.line_workers import LINE_SECONDS, LinePool, default_size, judge_lines
from livek12.judges.jury import JudgeOptions, Jury

WORTH_A_PROCESS = 100
"""So many responses take as long as the start of a process."""


class MarkPool(LinePool[str]):
    """A bounded number of processes that mark responses; they reply with verdicts, each a line of JSON ("": none).

    Args:
        run: the run folder.
        scorer: marks what breaks a limit.
        options: who judges; the rules alone.
        number: of the marking.
        size: the most processes.
        seconds: processor time of one response, without its symbolic comparisons.
    """

    def __init__(
        self,
        run: RunFolder,
        scorer: RunScorer,
        options: JudgeOptions,
        number: int,
        size: int,
        seconds: float = LINE_SECONDS,
    ) -> None:
        super().__init__(mark_responses, run.path.resolve(), options, number, seconds, size=size)
        self._scorer, self._number = scorer, number

    def _open(self, line: bytes, why: str) -> str:
        return _marked(line, lambda response: self._scorer.unmarked(response, why), self._number)


def processes(asked: int | None, waiting: int) -> int:
    """How many processes mark so many responses; 0 where this one does it sooner alone.

    Args:
        asked: by the user; None for the cores of this machine.
        waiting: how many responses there are.
    """
    most = min(asked or default_size(), waiting // WORTH_A_PROCESS)
    return most if most > 1 else 0


def mark_responses(link: Link, path: Path, options: JudgeOptions, number: int, seconds: float) -> None:
    """Marks the responses that a pool sends, in a process of its own; arguments as those of `MarkPool`."""
    with Jury(options) as judges:
        scorer = RunScorer.open(RunFolder(path), judges)

        judge_lines(link, seconds, lambda line: _marked(line, scorer.by_rules, number), judges.cascade.flush)


def _marked(line: bytes, mark: Callable[[Response], Verdict], number: int) -> str:
    """The line of the verdict on a response; "" where the line is damaged and holds none."""
    try:
        response = Response.model_validate_json(line)
    except ValueError:
        return ""
    return line_of(mark(response), number)


def line_of(verdict: Verdict, number: int) -> str:
    """The line of a verdict.

    Args:
        verdict: on a response.
        number: of the marking.
    """
    return verdict.model_copy(update={"marking": number}).model_dump_json()
