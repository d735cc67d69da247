"""Repeated judging of the same answers, for the judges' self-agreement (LiveK12Bench, appendix C).

Contract: repeat 0 is the marking of the run. Repeat k puts each of its requests once more, as another draw (seed and
cache entry differ, the identity of the judges does not). Its verdicts go to repeats-N.jsonl and make no mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from livek12.core.progress import Progress, say, warn
from livek12.core.records import Key, Response, Verdict
from livek12.core.run.claims import Claims
from livek12.core.run.keys import KeySet
from livek12.evaluation.judging import JudgeUsage, RunScorer, in_rounds, marking_flow, unanswered
from livek12.judges.jury import JudgeOptions, Jury

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder
    from livek12.core.scoring import Row
    from livek12.evaluation.task_data import TaskData


@dataclass(frozen=True)
class _Again:
    """Response for its `repeat`-th judging after the first."""

    response: Response
    repeat: int

    @property
    def key(self) -> Key:
        return _key(self.response.key, self.repeat)


def _key(key: Key, repeat: int) -> Key:
    return Key(task=key.task, question_id=f"{key.question_id}/{key.trial}", trial=repeat)


def ask_again(run: RunFolder, options: JudgeOptions, exam: Callable[[], TaskData]) -> tuple[int, JudgeUsage]:
    """Asks the judges of a run again, until each answer that they saw has `options.repeats` verdicts.

    Returns the number of verdicts that wait for a judge, and the cost.
    """
    lost, spent = 0, JudgeUsage()
    with ExitStack() as stack:
        judges = stack.enter_context(Jury(options, in_turn=not options.together, sessions=run.path))
        scorer = RunScorer.open(run, judges, exam)
        marking = run.spec().marking

        def is_first(verdict: Verdict) -> bool:
            own = verdict.marking == marking and verdict.judge == scorer.versions.get(verdict.key.task)
            return own and verdict.by_models and not verdict.waits

        def waiting() -> Iterator[_Again]:
            for repeat in range(1, options.repeats):
                for response, _ in run.judged(is_first):
                    yield _Again(response, repeat)

        def stored() -> KeySet:
            return KeySet(
                str(_key(verdict.key, verdict.repeat))
                for verdict in run.repeats()
                if verdict.marking == marking
                and verdict.judge == scorer.versions.get(verdict.key.task)
                and not verdict.waits
            )

        writer = stack.enter_context(run.writer("repeats"))
        claims = Claims(writer.path, "repeats", stored)
        first = ((_key(response.key, 0), verdict) for response, verdict in run.judged(is_first))
        requests = _tell(run, first, options.repeats, claims.done)
        if not requests:
            return lost, spent
        judges.try_out(local=False)
        progress = stack.enter_context(Progress("judging again", requests, 0))

        def marked(again: _Again) -> Verdict:
            return scorer.mark(again.response, again.repeat).model_copy(update={"repeat": again.repeat})

        flow = stack.enter_context(marking_flow(judges, marked))
        named = in_rounds(waiting, judges, flow, claims, progress, lambda verdict: _key(verdict.key, verdict.repeat))
        for verdict in named:
            writer.append(verdict.model_copy(update={"marking": marking}))
            spent.add(verdict.calls)
            lost += verdict.waits
            progress.step()
            if unanswered(verdict):
                warn(f"{verdict.key}: {verdict.reason or verdict.process_ungraded}", kind="not judged again")
    return lost, spent


def _tell(run: RunFolder, first: Iterable[tuple[Key, Verdict]], repeats: int, done: Iterable[str]) -> int:
    made, wanted, requests, tokens = KeySet(done), 0, 0, 0
    for key, verdict in first:
        missing = sum(str(key.model_copy(update={"trial": repeat})) not in made for repeat in range(1, repeats))
        put = [call for call in verdict.calls if call.prompt]
        wanted += missing
        requests += missing * len(put)
        tokens += missing * sum(call.prompt_tokens or 0 for call in put)
    if wanted:
        say(
            f"{run.path}: the judges are asked again, {repeats} times in all: {wanted:,} verdicts, about"
            f" {requests:,} requests and {tokens:,} prompt tokens; the marks stay those of the first time"
        )
    return wanted


def repeated_rows(run: RunFolder, rows: Iterable[Row]) -> list[list[Row]]:
    """Answers of a run, once by its marking and once for each repeat, without a verdict where it has none."""
    first, verdicts = list(rows), dict[tuple[str, int], Verdict]()
    for verdict in run.repeats():
        before = verdicts.get((str(verdict.key), verdict.repeat))
        if before is None or before.waits or not verdict.waits:
            verdicts[str(verdict.key), verdict.repeat] = verdict
    repeats = sorted({repeat for _, repeat in verdicts})
    return [first, *([_with(row, verdicts.get((_name(row), repeat))) for row in first] for repeat in repeats)]


def _name(row: Row) -> str:
    return str(Key(task=row.task, question_id=row.question.id, trial=row.trial))


def _with(row: Row, again: Verdict | None) -> Row:
    """If it is of the same judges and answer."""
    first = row.verdict
    fits = again and first and (again.judge, again.marking) == (first.judge, first.marking)
    if fits and again and first and again.response_sha256 == first.response_sha256:
        return replace(row, verdict=again, state=again.state)
    return replace(row, verdict=None)
