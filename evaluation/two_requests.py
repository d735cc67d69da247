"""Tasks that make two requests for an answer: the reply to the first stands in the second.

Contract: the reply to the first is stored in the run folder before the second is sent, so that a run that was killed
goes on with it. Both kinds flow to the engine as one stream, which is not held up for the one or the other; only a
constant number of replies is held. A first reply without any text makes the question fail for this time, and is asked
for again by the next command. The response to the question holds the first reply (`Response.earlier`) with its own
token counts.
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
    engine: Engine, asked: Iterable[Request], run: RunFolder, exam: TaskData, journal: JournalWriter
) -> Iterator[Response | Failure]:
    """What the engine makes of the requests, where tasks make two of them of both.

    Args:
        engine: who is asked; recorded answers are read without a first request.
        asked: the requests; of tasks that make two, the first ones.
        run: where earlier replies are found.
        exam: tasks and questions.
        journal: takes the replies to first requests.
    """
    two = {task.name for task in exam.tasks if task.first_style}
    if not two or kind_of(engine.name).is_recorded:
        yield from engine.generate(asked)
        return
    both = _Both(two, _Seconds(exam), {str(reply.key): reply for reply in run.earlier()}, journal)
    waiting = iter(asked)
    while True:
        for outcome in engine.generate(both.requests(waiting)):
            yield from both.taken(outcome)
        yield from both.unmade()
        if not both.due:
            return


class _Both:
    """First and second requests as one stream, each second one after the reply that stands in it.

    Args:
        two: tasks that make two requests.
        seconds: makes second requests.
        stored: replies to first requests by key, from before.
        journal: takes the replies that come now.

    Attributes:
        due: what has its first reply, and whose second request was not sent yet.
    """

    def __init__(
        self, two: Collection[str], seconds: _Seconds, stored: dict[str, Response], journal: JournalWriter
    ) -> None:
        self.due: deque[tuple[Request, Response]] = deque()
        self._two, self._seconds, self._stored, self._journal = two, seconds, stored, journal
        self._firsts: dict[Key, Request] = {}
        self._replies: dict[Key, Response] = {}
        self._unmade: list[Failure] = []

    def requests(self, asked: Iterator[Request]) -> Iterator[Request]:
        """What can be sent now; the trials of a question stay together. It may end before all second ones are due."""
        for _, trials in groupby(asked, key=lambda request: (request.key.task, request.key.question_id)):
            yield from filter(self._begun, trials)
            yield from self._second(KEPT)
        yield from self._second(0)

    def taken(self, outcome: Response | Failure) -> Iterator[Response | Failure]:
        """What the outcome of a request comes to for its question; nothing where it is the first of two."""
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
        """The questions whose second request could not be made."""
        while self._unmade:
            yield self._unmade.pop()

    def _begun(self, request: Request) -> bool:
        """Whether a request has to be sent as it is: not where the reply to it is stored."""
        if request.key.task not in self._two:
            return True
        reply = self._stored.pop(str(request.key), None)
        if reply is not None and reply.prompt_sha256 in (None, request.prompt_sha256):
            self.due.append((request, reply))
            return False
        self._firsts[request.key] = request
        return True

    def _second(self, kept: int) -> Iterator[Request]:
        """The second requests that are due, but for so many."""
        while len(self.due) > kept:
            first, reply = self.due.popleft()
            made = self._seconds.request(first, reply)
            if isinstance(made, Failure):
                self._unmade.append(made)
            else:
                self._replies[first.key] = reply
                yield made


class _Seconds:
    """Makes the requests on questions."""

    def __init__(self, exam: TaskData) -> None:
        self._tasks = {task.name: task for task in exam.tasks if task.first_style}
        self._questions = {(name, question.id): question for name in self._tasks for question in exam.questions[name]}
        self._pages = exam.pages

    def request(self, first: Request, reply: Response) -> Request | Failure:
        """The request on the question, with the reply to the one before it; a Failure where it cannot be made."""
        from livek12.tasks.prompting import build_request

        task, question = self._tasks[first.key.task], self._questions[first.key.task, first.key.question_id]
        try:
            return build_request(task, question, first.key, first.sampling, self._pages, reply.text.strip())
        except UserError as error:
            return Failure(key=first.key, state="failed", reason=str(error))


def _as_earlier(reply: Response) -> EarlierReply:
    return EarlierReply.model_validate({name: getattr(reply, name) for name in EarlierReply.model_fields})
