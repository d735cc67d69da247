"""NeMo Evaluator: one `@benchmark` a task: `nel eval run --bench FILE:livek12_cfe_text`, with this file.

Questions with pictures are refused: NeMo Evaluator 0.3 fails when it logs them. The reward is 1 for a right answer; an
undecided one has 0 and the state `ungraded`; `score` is the share of the points.
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
    """Registers a task over LIVEK12_DATA."""

    def rows() -> list[dict[str, Any]]:
        return [{"id": document.id} for document in in_one_line(text_documents)(name)]

    def seed(row: dict[str, Any], index: int) -> SeedResult:
        document = open_task(name).document(row["id"])
        return SeedResult(
            prompt=document.text,
            expected_answer=document.target,
            messages=messages_json(document.request),
            metadata={"id": document.id, "category": document.question.subject or ""},
        )

    async def marks(sample: ScorerInput) -> dict[str, Any]:  # in a thread, as other answers are in progress
        return await asyncio.to_thread(marked, name, sample.metadata["id"], sample.response)

    benchmark(name=harness_name(name), dataset=rows, seed_fn=seed)(scorer(marks))


def text_documents(name: str) -> list[Document]:
    """A task's questions, without pictures."""
    exam = open_task(name)
    if shown := next((document for document in exam.documents if document.images), None):
        where = (
            f"{exam.data}: question {shown.id} of {name} has pictures, which NeMo Evaluator 0.3 cannot log where they"
        )
        raise UserError(f"{where} stand: ask tasks of text alone there, the others in Inspect")
    return exam.documents


def marked(name: str, id: str, response: str) -> dict[str, Any]:
    """NeMo Evaluator's details of an answer; `correct` is its reward."""
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
