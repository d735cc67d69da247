"""What a run comes to, answer by answer: what scores, reports and studies are made of."""

from __future__ import annotations

from dataclasses import dataclass

from livek12.core.records import Question, Response, State, Verdict


@dataclass(frozen=True)
class Row:
    """One answer that a run asked for, in whatever state it ended (`verdict` None: failed or unsupported, `why`).

    `judged` is the judges' verdict, where a person set another mark in its place (`core.run.markings`).
    """

    task: str
    question: Question
    trial: int
    state: State
    response: Response | None
    verdict: Verdict | None
    why: str = ""
    judged: Verdict | None = None
