"""Tasks that make two requests for an answer: the second holds the reply to the first.

Contract: the first reply is stored before the second request is sent. A first reply without any text makes the question
fail for this time. `Response.earlier` has the first reply with its token counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.records import EarlierReply, Failure, Key, Request, Response

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder
    from livek12.core.run.journal import JournalWriter
    from livek12.engines.base import Engine
    from livek12.evaluation.task_data import TaskData

KEPT = 512
"""So many second requests are held back while first ones can be sent: at the end they fill the places of those that
have been answered, while the last first ones are still at work."""


def outcomes(
    engine: Engine, wanted: Iterable[Request], run: RunFolder, exam: TaskData, journal: JournalWriter
) -> Iterator[Response | Failure]:
    """Outcomes of the requests; `journal` takes first replies."""
    two = {task.name for task in exam.tasks if task.first_style}
    if not two or kind_of(engine.name).is_recorded:
        yield from engine.generate(wanted)
        return
    both = _Both(two, _Seconds(exam), {str(reply.key): reply for reply in run.earlier()}, journal)
    waiting = iter(wanted)
    while True:
        for outcome in engine.generate(both.requests(waiting)):
            yield from both.taken(outcome)
        yield from both.unmade()
        if not both.due:
            return


class _Both:
    """First and second requests as one stream; `due` are those with their first reply, to be sent."""

    def __init__(
        self, two: Collection[str], seconds: _Seconds, stored: dict[str, Response], journal: JournalWriter
    ) -> None:
        self.due: deque[tuple[Request, Response]] = deque()
        self._two, self._seconds, self._stored, self._journal = two, seconds, stored, journal
        self._firsts: dict[Key, Request] = {}
        self._replies: dict[Key, Response] = {}
        self._unmade: list[Failure] = []

    def requests(self, wanted: Iterator[Request]) -> Iterator[Request]:
        """Trials of a question together; `due` may hold more at the end."""
        for _, trials in groupby(wanted, key=lambda request: (request.key.task, request.key.question_id)):
            yield from filter(self._begun, trials)
            yield from self._second(KEPT)
        yield from self._second(0)

    def taken(self, outcome: Response | Failure) -> Iterator[Response | Failure]:
        """Outcome for the question; nothing for that of the first request."""
        yield from self.unmade()
        if first := self._firsts.pop(outcome.key, None):
            if isinstance(outcome, Response) and outcome.text.strip():
                self._journal.append(outcome)
                self.due.append((first, outcome))
                return
            why = outcome.reason if isinstance(outcome, Failure) else "the model said nothing"
            failed = outcome if isinstance(outcome, Failure) else Failure(key=outcome.key, state="failed", reason=why)
            yield failed.model_copy(update={"reason": f"request before the question: {why}"})
            return
        reply = self._replies.pop(outcome.key, None)
        if reply is not None and isinstance(outcome, Response):
            outcome = outcome.model_copy(update={"earlier": _as_earlier(reply)})
        yield outcome

    def unmade(self) -> Iterator[Failure]:
        while self._unmade:
            yield self._unmade.pop()

    def _begun(self, request: Request) -> bool:
        if request.key.task not in self._two:
            return True
        reply = self._stored.pop(str(request.key), None)
        if reply is not None and reply.prompt_sha256 in (None, request.prompt_sha256):
            self.due.append((request, reply))
            return False
        self._firsts[request.key] = request
        return True

    def _second(self, kept: int) -> Iterator[Request]:
        while len(self.due) > kept:
            first, reply = self.due.popleft()
            made = self._seconds.request(first, reply)
            if isinstance(made, Failure):
                self._unmade.append(made)
            else:
                self._replies[first.key] = reply
                yield made


class _Seconds:
    def __init__(self, exam: TaskData) -> None:
        self._tasks = {task.name: task for task in exam.tasks if task.first_style}
        self._questions = {(name, question.id): question for name in self._tasks for question in exam.questions[name]}
        self._pages = exam.pages

    def request(self, first: Request, reply: Response) -> Request | Failure:
        """Request on the question; a Failure where it cannot be made."""
        from livek12.tasks.prompting import build_request

        task, question = self._tasks[first.key.task], self._questions[first.key.task, first.key.question_id]
        try:
            return build_request(task, question, first.key, first.sampling, self._pages, reply.text.strip())
        except UserError as error:
            return Failure(key=first.key, state="failed", reason=str(error))


def _as_earlier(reply: Response) -> EarlierReply:
    return EarlierReply.model_validate({name: getattr(reply, name) for name in EarlierReply.model_fields})
