"""The tasks in NeMo Evaluator, one `@benchmark` each: `nel eval run --bench FILE:livek12_cfe_text`, with this file.

Contract: what an endpoint is sent is our request, message by message. Questions with pictures are refused: NeMo
Evaluator 0.3 fails when it logs messages that have some, after all were asked, and its own way puts them before the
text. The reward is 1 for an answer that our rules take for right. One that they leave open has reward 0 and the state
`ungraded`, whose number stands among NeMo Evaluator's breakdowns; `score` is the share of the points.
"""

from __future__ import annotations

import asyncio
from typing import Any

from nemo_evaluator import ScorerInput, SeedResult, benchmark, scorer

from livek12.core.errors import UserError
from livek12.core.text import clean
from livek12.engines.openai.format import messages_json
from livek12.tasks.plugins.harness_task import Document, harness_name, in_one_line, open_task
from livek12.tasks.registry import all_tasks


def register(name: str) -> None:
    """Puts one of our tasks into NeMo Evaluator's list; its data set is that of LIVEK12_DATA when it is asked."""

    def rows() -> list[dict[str, Any]]:
        return [{"id": document.id} for document in in_one_line(asked)(name)]

    def seed(row: dict[str, Any], index: int) -> SeedResult:
        document = open_task(name).document(row["id"])
        return SeedResult(
            prompt=document.text,
            expected_answer=document.target,
            messages=messages_json(document.request),
            metadata={
                "id": document.id,
                "category": document.question.subject or "",
            },
        )

    async def marks(sample: ScorerInput) -> dict[str, Any]:
        # In a thread, for NeMo Evaluator marks an answer while others are under way.
        return await asyncio.to_thread(marked, name, sample.metadata["id"], sample.response)

    benchmark(name=harness_name(name), dataset=rows, seed_fn=seed)(scorer(marks))


def asked(name: str) -> list[Document]:
    """The questions of a task.

    Raises:
        UserError: no data set, or questions with pictures.
    """
    exam = open_task(name)
    if shown := next((document for document in exam.documents if document.images), None):
        raise UserError(
            f"{exam.data}: question {shown.id} of {name} has pictures, which NeMo Evaluator 0.3 cannot log where they"
            " stand: ask tasks of text alone there, the others in Inspect"
        )
    return exam.documents


def marked(name: str, id: str, response: str) -> dict[str, Any]:
    """What NeMo Evaluator writes down of an answer; `correct` is its reward."""
    verdict = open_task(name).mark(id, clean(response))
    return {
        "correct": verdict.correct is True,
        "correct_high": verdict.correct is not False,
        "score": verdict.low / (verdict.max_points or 1.0),
        "state": verdict.state,
        "decided_by": "+".join(dict.fromkeys(part.decided_by for part in verdict.parts)),
        "extracted": "; ".join(part.answer for part in verdict.parts if part.answer),
        "reason": verdict.reason or "",
        "judge": verdict.judge,
    }


for _name, _task in all_tasks().items():
    if not _task.first_style:  # harnesses make one request for an answer
        register(_name)
