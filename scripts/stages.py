"""The second stage of a run, marking: at its end, or beside the first one; several local judges round by round.

Contract: `mark` writes one verdict for each response that has none of the present judges. Whatever runs beside it,
before it or after it on the same folder, each response is marked once, and the verdicts are the same. Responses wait on
disk, not in memory: only those in hand are held.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from livek12.core.claims import Claims, with_its_trials
from livek12.core.engines.memory import GIB, Memory
from livek12.core.errors import UserError
from livek12.core.keys import KeySet
from livek12.core.records import Response, Verdict
from livek12.core.run_folder import RunFolder
from livek12.core.sessions import Session, read_sessions
from livek12.core.tail import Tail
from livek12.judges.llm.turns import Asleep
from livek12.scripts.flow import Flow
from livek12.scripts.judging import JudgeOptions, Judges, MarkingDesk, Spent, quick_threads, unanswered, unfinished
from livek12.scripts.progress import Progress, warn

if TYPE_CHECKING:
    from livek12.scripts.pipeline import Exam

LOOK_SECONDS = 0.2
"""How often it is looked for new responses while none wait."""


@dataclass
class Marked:
    """What came of marking: how many responses still wait for a judge that could not be asked, and what was spent."""

    lost: int = 0
    spent: Spent = field(default_factory=Spent)


def mark(
    run: RunFolder,
    options: JudgeOptions,
    exam: Callable[[], Exam],
    *,
    again: bool = False,
    over: Callable[[], bool] | None = None,
) -> Marked:
    """Marks what waits in a run folder.

    Args:
        run: the run folder.
        options: who judges.
        exam: reads the questions with their pictures; called when a judge has some to look at.
        again: mark everything anew, whoever marked it.
        over: where responses are still coming: marks them as they come, until this is true, and quietly.

    Raises:
        UserError: the run was marked by other judges, and `again` is not set; or a judge cannot be used at all.
    """
    spec = run.spec()
    marked = Marked()
    with ExitStack() as stack:
        judges = stack.enter_context(Judges(options, in_turn=not options.together, sessions=run.path))
        desk = MarkingDesk.open(run, judges, exam)
        if spec.judges and spec.judges not in (desk.versions, desk.keyless) and not again:
            was, now = sorted(set(spec.judges.values())), sorted(set(desk.versions.values()))
            raise UserError(f"{run.path}: was marked by {was}, now {now}; `livek12 judge --again` marks it anew")
        run.write_spec(spec.model_copy(update={"judges": desk.versions}))

        def finished() -> Collection[str]:
            return run.marked(lambda verdict: not unfinished(verdict))

        writer = stack.enter_context(run.writer("verdicts"))
        claims = Claims(writer.path, "verdicts", set if again else finished, with_its_trials)
        total = sum(task.questions for task in spec.tasks) * spec.trials
        progress = None if over else stack.enter_context(Progress("judging", total, done=len(claims.done)))
        slow = desk.by_models if judges.panel else None
        flow = stack.enter_context(
            Flow(
                desk.by_rule,
                slow,
                desk.is_open,
                quick_threads=quick_threads(),
                slow_threads=judges.threads,
                postpone=Asleep,
            )
        )
        if over is None and len(claims.done) == total:
            return marked  # the responses need not be read again to find none that waits
        stream = run.responses if over is None else partial(_arriving, run, over)
        for verdict in _rounds(stream, judges, flow, claims):
            writer.append(verdict)
            marked.spent.add(verdict.calls)
            marked.lost += unfinished(verdict)
            if progress is not None:
                progress.step()
            if unanswered(verdict):
                why = verdict.reason if verdict.state == "ungraded" else verdict.process_ungraded
                warn(f"{verdict.key}: {why}", kind="not judged")
    return marked


def _rounds(
    stream: Callable[[], Iterator[Response | None]], judges: Judges, flow: Flow[Response, Verdict], claims: Claims
) -> Iterator[Verdict]:
    """The verdicts; of judges that take turns, from as many rounds over what is open as they need."""
    done = KeySet()

    def waiting() -> Iterator[Response | None]:
        for response in stream():
            if response is None or (str(response.key) not in done and claims.take(str(response.key))):
                yield response

    while True:
        postponed = flow.postponed
        for verdict in flow.run(waiting()):
            if judges.turns is not None:
                done.add(verdict.key)
            yield verdict
        if judges.turns is None or flow.postponed == postponed:
            return
        judges.turns.end_round()


def _arriving(run: RunFolder, over: Callable[[], bool]) -> Iterator[Response | None]:
    """The responses of a run as they are stored, each key once; None where none waits at the moment."""
    trials = run.spec().trials
    asked = {(task, question.id) for task, questions in run.questions().items() for question in questions}
    stored, seen = Tail(run.path, "responses", Response), KeySet()
    while not over():
        for response in stored.fresh():
            key = response.key
            if (key.task, key.question_id) in asked and 0 <= key.trial < trials and seen.add(key):
                yield response
            if over():
                return
        yield None
        time.sleep(LOOK_SECONDS)


def tell_memory(run: RunFolder, since: float) -> None:
    """Says of each local engine that this process has had what it held and what stayed; warns where too much did."""
    for session in read_sessions(run.path):
        if session.pid == os.getpid() and session.started >= since and session.ended and session.after_load:
            print(f"{_who(session)} left memory: {_left(session)}", file=sys.stderr)
            if session.stuck:
                warn(
                    f"{_who(session)}: more than a tenth of the device memory that it took was not given back;"
                    " the next engine may not fit"
                )


def _who(session: Session) -> str:
    return f"{'the model under test' if session.stage == 'generate' else 'judge'} {session.model} ({session.engine})"


def _left(session: Session) -> str:
    """GiB with the engine up and after it was closed, on the devices and in the processes."""
    held, kept = session.after_load or Memory(), session.after_close or Memory()
    said = [("on devices", held.on_devices, kept.on_devices)] if held.devices else []
    said += [("in processes", held.rss, kept.rss)] if held.rss is not None and kept.rss is not None else []
    return ", ".join(f"{before / GIB:.1f} → {after / GIB:.1f} GiB {where}" for where, before, after in said)
