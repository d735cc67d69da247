"""What the cells of a sweep cost: the GPU-hours of the run's sessions, shared out to its tasks.

Contract: hours are measured (`core.run.sessions`: each engine's time, from before its load to its end, times its GPUs);
a killed engine counts up to its last beat; the GPUs behind an endpoint are not ours to count. Where a session saw no
GPU of its engine (no driver's tool there), those that the file states count, and without any stated the hours are not
known. An engine serves all tasks of a run, so its time is shared out: asking by the seconds that the responses of each
task took, or, where some do not say, by their completion tokens, or else by their number; judging by the seconds of the
judges' replies, or else by the number of responses. A cost is the GPU-hours times the stated price, and does not exist
where one of them does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from livek12.core.engine_kinds import kind_of
from livek12.core.records import EarlierReply, Response, Verdict
from livek12.core.run.sessions import Session, Stage

BY_SECONDS, BY_TOKENS, BY_NUMBER = "seconds of the responses", "completion tokens", "number of responses"


@dataclass
class Work:
    """What was done for one task."""

    responses: int = 0
    seconds: float = 0.0
    untimed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    judge_seconds: float = 0.0
    judge_cost: float | None = None

    def add(self, response: Response, verdict: Verdict | None) -> None:
        """Counts one response and the calls that marked it."""
        self.responses += 1
        replies: list[Response | EarlierReply] = [response, *([response.earlier] if response.earlier else [])]
        self.seconds += sum(reply.seconds or 0.0 for reply in replies)
        self.untimed += any(reply.seconds is None for reply in replies)
        self.prompt_tokens += sum(reply.prompt_tokens or 0 for reply in replies)
        self.completion_tokens += sum(reply.completion_tokens or 0 for reply in replies)
        self.uncounted += any(reply.completion_tokens is None for reply in replies)
        for call in verdict.calls if verdict else ():
            if not call.remembered:
                self.judge_seconds += call.seconds or 0.0
                if call.cost is not None:
                    self.judge_cost = (self.judge_cost or 0.0) + call.cost


@dataclass(frozen=True)
class Bill:
    """A cell's part of the engines' time, in hours (None: not known); `cost` in the currency of the price.

    `elsewhere`: the model ran behind an endpoint, so that of its GPU-hours the judges' alone are known.
    """

    hours: float
    gpu_hours: float | None
    judging_gpu_hours: float | None
    elsewhere: bool
    cost: float | None
    shared_by: str

    @property
    def counted(self) -> float | None:
        """The GPU-hours on GPUs of ours."""
        return self.judging_gpu_hours if self.elsewhere else self.gpu_hours


def bills(
    sessions: Sequence[Session],
    work: Mapping[str, Work],
    price: float | None,
    gpus: float | None = None,
    judging_gpus: float | None = None,
) -> dict[str, Bill]:
    """The bill of each task of one run.

    Args:
        sessions: of the run.
        work: of each task.
        price: of a GPU-hour, or None.
        gpus: of each replica of the model, where the file says it.
        judging_gpus: of each judge, where it says that.
    """
    asking, shared_by = _asking_shares(work)
    judging = _judging_shares(work)
    hours, gpu_hours = _spent(sessions, "generate", gpus)
    judged_hours, judged_gpu_hours = _spent(sessions, "judge", judging_gpus)
    elsewhere = any(kind_of(session.engine).place == "endpoint" for session in sessions if session.stage == "generate")
    found = {}
    for task in work:
        of_judges = None if judged_gpu_hours is None else judged_gpu_hours * judging[task]
        unknown = elsewhere or gpu_hours is None or of_judges is None
        total = None if unknown else (gpu_hours or 0.0) * asking[task] + (of_judges or 0.0)
        found[task] = Bill(
            hours=hours * asking[task] + judged_hours * judging[task],
            gpu_hours=total,
            judging_gpu_hours=of_judges,
            elsewhere=elsewhere,
            cost=None if price is None or total is None else total * price,
            shared_by=shared_by,
        )
    return found


def _spent(sessions: Iterable[Session], stage: Stage, stated: float | None) -> tuple[float, float | None]:
    """Hours and GPU-hours of a stage, `stated` GPUs a replica where a session knows of none."""
    mine = [session for session in sessions if session.stage == stage]
    taken = [_gpu_seconds(session, stated) for session in mine]
    known = [seconds for seconds in taken if seconds is not None]
    return sum(session.seconds for session in mine) / 3600, sum(known) / 3600 if len(known) == len(taken) else None


def _gpu_seconds(session: Session, stated: float | None) -> float | None:
    if session.gpus or kind_of(session.engine).is_direct:
        return session.gpu_seconds
    return None if stated is None else session.seconds * stated * session.replicas


def _asking_shares(work: Mapping[str, Work]) -> tuple[dict[str, float], str]:
    done = work.values()
    if sum(task.seconds for task in done) and not any(task.untimed for task in done):
        return _shares({name: task.seconds for name, task in work.items()}), BY_SECONDS
    if sum(task.completion_tokens for task in done) and not any(task.uncounted for task in done):
        return _shares({name: float(task.completion_tokens) for name, task in work.items()}), BY_TOKENS
    return _shares({name: float(task.responses) for name, task in work.items()}), BY_NUMBER


def _judging_shares(work: Mapping[str, Work]) -> dict[str, float]:
    if sum(task.judge_seconds for task in work.values()):
        return _shares({name: task.judge_seconds for name, task in work.items()})
    return _shares({name: float(task.responses) for name, task in work.items()})


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    """Parts of 1; equal ones where nothing was done yet."""
    total = sum(weights.values())
    return {name: weight / total if total else 1 / len(weights) for name, weight in weights.items()}
