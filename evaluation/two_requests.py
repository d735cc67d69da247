"""Tasks that make two requests for an answer: the reply to the first stands in the second.

Contract: the reply to the first is stored in the run folder before the second is sent, so that a run that was killed
goes on with it. A first reply without any text makes the question fail for this time, and is asked for again by the
next command. The response to the question holds the first reply (`Response.earlier`) with its own token counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.records import EarlierReply, Failure, Request, Response

if TYPE_CHECKING:
    from livek12.core.journal import JournalWriter
    from livek12.core.run_folder import RunFolder
    from livek12.engines.base import Engine
    from livek12.evaluation.task_data import TaskData

TOGETHER = 512
"""So many questions have all their first requests answered before their second ones are sent."""


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
    if not two or engine.name == "replay":
        yield from engine.generate(asked)
        return
    stored = {str(reply.key): reply for reply in run.earlier()}
    seconds = _Seconds(exam)
    waiting = iter(asked)
    while together := list(islice(waiting, TOGETHER)):
        first = [request for request in together if request.key.task in two]
        replies: dict[str, Response] = {}
        for outcome in _first(engine, first, stored):
            if isinstance(outcome, Failure):
                yield outcome
                continue
            if str(outcome.key) not in stored:
                journal.append(outcome)
            replies[str(outcome.key)] = outcome
        answered = [request for request in first if str(request.key) in replies]
        built = [seconds.request(request, replies[str(request.key)]) for request in answered]
        yield from (one for one in built if isinstance(one, Failure))
        ready = [request for request in together if request.key.task not in two]
        for outcome in engine.generate([*ready, *(one for one in built if isinstance(one, Request))]):
            reply = replies.get(str(outcome.key))
            if isinstance(outcome, Failure) or reply is None:
                yield outcome
            else:
                yield outcome.model_copy(update={"earlier": _as_earlier(reply)})


def _first(engine: Engine, asked: Iterable[Request], stored: dict[str, Response]) -> Iterator[Response | Failure]:
    """The replies to first requests: those that are stored, then those that come now."""
    unknown = []
    for request in asked:
        reply = stored.get(str(request.key))
        if reply is not None and reply.prompt_sha256 in (None, request.prompt_sha256):
            yield reply
        else:
            stored.pop(str(request.key), None)
            unknown.append(request)
    for outcome in engine.generate(unknown) if unknown else ():
        if isinstance(outcome, Failure):
            yield outcome.model_copy(update={"reason": f"request before the question: {outcome.reason}"})
        elif outcome.text.strip():
            yield outcome
        else:
            reason = "request before the question: the model said nothing"
            yield Failure(key=outcome.key, state="failed", reason=reason)


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
