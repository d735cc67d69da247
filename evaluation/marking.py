"""The second stage of a run, marking: at its end, or during the first one.

Contract: one verdict is written for each response to whose mark the judges have something to add; with `again` for all.
Older marks count until then (`core.run.markings`). Each response is marked once by the same judges, whatever runs
beside.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from livek12.core.process import Link
from livek12.core.progress import Progress, say, warn
from livek12.core.ranks import wait_until
from livek12.core.records import Response, Verdict
from livek12.core.run.claims import Claims, at_work, with_its_trials
from livek12.core.run.folder import QUESTIONS, RunFolder, keys_of
from livek12.core.run.journal import Tail, has_lines
from livek12.core.run.keys import KeySet
from livek12.core.run.markings import other_rules
from livek12.core.run.sessions import RULES
from livek12.core.run.spec import RunSpec
from livek12.engines.sessions import SessionWriter
from livek12.evaluation.judging import JudgeUsage, RunScorer, in_rounds, marking_flow, unanswered
from livek12.evaluation.usage import tell_memory
from livek12.evaluation.workers import CHUNK, LINE_SECONDS, Flow, MarkPool, default_size, judge_lines, ray_batches
from livek12.judges.jury import JudgeOptions, Jury

if TYPE_CHECKING:
    from livek12.evaluation.task_data import TaskData

LOOK_SECONDS = 0.2
"""Between looks for new responses while none wait."""
WORTH_A_PROCESS = 100
"""So many responses take as long as the start of a process."""


@dataclass
class Marked:
    """Responses that wait for a judge that could not be asked, and the cost."""

    lost: int = 0
    spent: JudgeUsage = field(default_factory=JudgeUsage)


def mark(
    run: RunFolder,
    options: JudgeOptions,
    exam: Callable[[], TaskData],
    *,
    again: bool = False,
    over: Callable[[], bool] | None = None,
    workers: int | None = None,
    ray: str = "",
) -> Marked:
    """Marks the waiting answers of a run folder."""
    with Jury(options, in_turn=not options.together, sessions=run.path) as judges:
        share = _Share(_Marking.of(run, RunScorer.open(run, judges, exam), again), judges, over, workers, ray)
        while share.mark() and over is None:  # others are at the rest; what one that ends early leaves is marked here
            wait_until(lambda: not at_work(run.path, "verdicts"), partial(_waited, run))
    return share.marked


@dataclass
class _Share:
    marking: _Marking
    judges: Jury
    over: Callable[[], bool] | None
    workers: int | None
    ray: str
    marked: Marked = field(default_factory=Marked)
    begun: bool = False

    def mark(self) -> bool:
        run, by_rules = self.marking.run, self.judges.panel is None
        with ExitStack() as stack:
            writer = stack.enter_context(run.writer("verdicts"))
            claims = Claims(writer.path, "verdicts", self.marking.finished, with_its_trials)
            waiting = None
            if self.over is None:
                waiting = Counter(key.partition("/")[0] for key in run.answered() if key not in claims.done)
            if not self.begun and not self.marking.begin(self.judges, waiting):
                return False
            self.begun = True
            progress = None
            if self.over is None:
                spec = run.spec()
                total = sum(task.questions for task in spec.tasks) * spec.trials
                progress = Progress("judging", total, len(claims.done), partial(_asked, self.judges))
                stack.enter_context(progress)
            session = stack.enter_context(SessionWriter(run.path if by_rules else None, "mark", RULES, RULES))
            session.loaded()  # judge models have sessions of their own
            lines = _claimed_lines(run, claims, progress)
            size = processes(self.workers, waiting.total()) if by_rules and waiting else 0
            if by_rules and waiting and self.ray:
                batches = self._on_ray(lines, waiting.total())
            elif size:
                marking = self.marking
                pool = mark_pool(run, marking.scorer, self.judges.options, marking.number, size)
                batches = stack.enter_context(pool).batches(lines)
            else:
                flow = stack.enter_context(marking_flow(self.judges, self.marking.scorer.mark))
                batches = self._here(flow, claims, progress)
            for batch in batches:
                verdicts = [line for line in batch if line]
                writer.write_lines(verdicts)
                session.count(len(verdicts))
                if progress is not None:
                    progress.step(len(verdicts))
            return bool(claims.refused)

    def _on_ray(self, lines: Iterator[bytes], waiting: int) -> Iterator[list[str]]:
        run, number = self.marking.run, self.marking.number
        return ray_batches(
            lines,
            self.ray,
            self.workers,
            -(-waiting // WORTH_A_PROCESS),
            mark_responses,
            {name: (run.path / name).read_bytes() for name in ("run.json", QUESTIONS)},
            self.judges.options,
            number,
            LINE_SECONDS,
            unmarked=partial(_unmarked, self.marking.scorer, number),
        )

    def _here(self, flow: Flow[Response, Verdict], claims: Claims, progress: Progress | None) -> Iterator[list[str]]:
        run = self.marking.run
        stream = partial(_arriving, run, self.over) if self.over else run.responses
        for verdict in in_rounds(stream, self.judges, flow, claims, progress):
            self.marked.spent.add(verdict.calls)
            self.marked.lost += verdict.waits
            if unanswered(verdict):
                why = verdict.reason if verdict.state == "ungraded" else verdict.process_ungraded
                warn(f"{verdict.key}: {why}", kind="not judged")
            yield [_line_of(verdict, self.marking.number)]


def _claimed_lines(run: RunFolder, claims: Claims, progress: Progress | None) -> Iterator[bytes]:
    lines = run.response_lines()
    while some := dict(islice(lines, CHUNK)):
        if progress is not None:
            progress.beat()
        yield from (some[key] for key in claims.take_all(some))


def mark_pool(
    run: RunFolder, scorer: RunScorer, options: JudgeOptions, number: int, size: int, seconds: float = LINE_SECONDS
) -> MarkPool[str]:
    """Processes that mark by the rules; a reply is the line of a verdict, "" for a damaged response.

    `seconds` are processor time of a response, without its symbolic comparisons.
    """
    given = run.path.resolve(), options, number, seconds
    return MarkPool(mark_responses, *given, unmarked=partial(_unmarked, scorer, number), size=size)


def processes(limit: int | None, waiting: int) -> int:
    """Number of processes worth their start, within the user's limit; 0 where this one is quicker alone."""
    most = min(limit or default_size(), waiting // WORTH_A_PROCESS)
    return most if most > 1 else 0


def mark_responses(
    link: Link, run: Path | Mapping[str, bytes], options: JudgeOptions, number: int, seconds: float
) -> None:
    """Work of `mark_pool`; on another node `run` holds the files that are read, by name."""
    with Jury(options) as judges:
        if isinstance(run, Path):
            scorer = RunScorer.open(RunFolder(run), judges)
        else:
            with TemporaryDirectory(prefix="livek12-") as folder:  # an open scorer has read or opened its files
                for name, data in run.items():
                    (Path(folder) / name).write_bytes(data)
                scorer = RunScorer.open(RunFolder(Path(folder)), judges)
        judge_lines(link, seconds, lambda line: _marked(line, scorer.by_rules, number), judges.cascade.flush)


def _unmarked(scorer: RunScorer, number: int, line: bytes, why: str) -> str:
    return _marked(line, lambda response: scorer.unmarked(response, why), number)


def _marked(line: bytes, mark: Callable[[Response], Verdict], number: int) -> str:
    try:
        response = Response.model_validate_json(line)
    except ValueError:
        return ""
    return _line_of(mark(response), number)


def _line_of(verdict: Verdict, number: int) -> str:
    return verdict.model_copy(update={"marking": number}).model_dump_json()


def _waited(run: RunFolder, seconds: float) -> str:
    others = ", ".join(at_work(run.path, "verdicts"))
    return f"judging: waiting for the processes that write {others} since {seconds:.0f} s"


@dataclass(frozen=True)
class _Marking:
    run: RunFolder
    scorer: RunScorer
    again: bool
    number: int
    before: RunSpec

    @classmethod
    def of(cls, run: RunFolder, scorer: RunScorer, again: bool) -> _Marking:
        spec = run.spec()
        if not again:
            scorer.check_keys(spec)
        marking = cls(run, scorer, again, spec.marking, spec)
        if not again or not spec.judges:
            return marking
        broken_off = spec.marking and spec.judges == scorer.versions and run.answered() - marking.finished()
        return marking if broken_off else replace(marking, number=spec.marking + 1)

    def finished(self) -> KeySet:
        if not has_lines(self.run.path, "verdicts"):
            return KeySet()
        done = keys_of(response for response, verdict in self.run.judged(self._is_own) if not verdict.waits)
        if self.again:
            return done
        return done | keys_of(
            answer for answer, verdict in self.run.judged() if self.scorer.is_settled(answer, verdict)
        )

    def _is_own(self, verdict: Verdict) -> bool:
        return verdict.marking == self.number and verdict.judge == self.scorer.versions.get(verdict.key.task)

    def begin(self, judges: Jury, waiting: Counter[str] | None) -> bool:
        """Notes the judges once they can be asked; returns true if there is work.

        `waiting` counts the answers of each task; None where they are still to come.
        """
        others = self.before.judges != self.scorer.versions
        takes_over = bool(self.before.judges) and (self.again or others)
        if waiting is not None and takes_over:
            say(self._plan(waiting.total()))
        if waiting is not None and not waiting:
            return False
        if takes_over:
            judges.try_out(local=others)
        self.run.begin_marking(self.scorer.versions, self.scorer.words, self.number)
        if critiques := sum(count * self.scorer.critiques(task) for task, count in (waiting or {}).items()):
            say(
                f"the reasoning of every answer is audited: up to {critiques:,} requests, and more where a reply cannot"
                " be read (--no-audit leaves it out)"
            )
        return True

    def _plan(self, waiting: int) -> str:
        by, older = Counter[str](), 0
        for answer, verdict in self.run.judged():
            by[self.before.who(verdict.judge)] += 1
            older += other_rules(verdict, self.scorer.versions[answer.key.task])
        so_far = ", ".join(f"{count:,} by {name}" for name, count in by.most_common()) or "nothing"
        now = ", ".join(dict.fromkeys(self.scorer.words.values()))
        if self.again:
            what = f"to be marked anew by {now}: {waiting:,}, and the old marks count until then"
        else:
            what = f"open for {now}: {f'{waiting:,}' if waiting else 'nothing'}"
            what += f", {older:,} of them marked by other rules" if older else ""
            what += " (--again marks all anew)"
        return f"{self.run.path}: marked so far: {so_far}; {what}"


def _asked(judges: Jury) -> str:
    return f", {judges.asked:,} requests" if judges.asked else ""


def _arriving(run: RunFolder, over: Callable[[], bool]) -> Iterator[Response | None]:
    """Each key once; None where none waits at the moment."""
    expected, stored, seen = run.expected(), Tail(run.path, "responses", Response), KeySet()
    while not over():
        for response in stored.fresh():
            if expected(response) and seen.add(response.key):
                yield response
            if over():
                return
        yield None
        time.sleep(LOOK_SECONDS)


def judge(
    run: RunFolder,
    *,
    again: bool = False,
    options: JudgeOptions | None = None,
    exam: TaskData | None = None,
    before: Marked | None = None,
    workers: int | None = None,
    ray: str = "",
) -> int:
    """Marks unmarked answers, open ones, and those that wait for a judge that did not answer.

    `again` marks everything anew; `before` is the account of marks made during the asking. Returns the number of
    responses that wait for a judge.
    """
    options, began = options or JudgeOptions(), time.time()

    def pictured() -> TaskData:
        from livek12.evaluation.task_data import reload_task_data

        return exam or reload_task_data(run, options.data)

    marked = mark(run, options, pictured, again=again, workers=workers, ray=ray)
    if options.repeats > 1:
        from livek12.evaluation.repeats import ask_again

        lost, spent = ask_again(run, options, pictured)
        marked.lost += lost
        marked.spent.merge(spent)
    if options.panel is not None:
        if before is not None:
            marked.spent.merge(before.spent)
        print(marked.spent, file=sys.stderr)
    if not options.together:
        tell_memory(run, began)
    return marked.lost
