"""Five diagnostic conditions of CFE-Bench (sections 5.2 to 5.4), as derived tasks.

A question Q has units u1 … un, each a sub-question with a verifiable answer. For every unit i:

    unit_execution     Q, u1 … u(i-1) with answers, sub-question i  → the answer of unit i   (5.2)
    reasoning_prefix   Q, u1 … ui with answers                      → the final answer       (5.3)
    prefix_questions   Q, u1 … ui without answers                   → the final answer       (5.3)
    injection          Q, ui with its answer                        → the final answer       (5.4)
    injection_question Q, ui without its answer                     → the final answer       (5.4)

`unit_execution_text` asks the multimodal units without pictures. Prompts end with the instruction, for the prefix
cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from livek12.core.prompts import without_marks
from livek12.core.records import IMAGE_MARK, FlowStep, Question, Variable
from livek12.tasks.base import Derive
from livek12.tasks.families import Diagnostic, variant_of

TRIALS = 8
"""Samples of each request (sections 5.2 to 5.4)."""
EXECUTION = "unit_execution"
EXECUTION_TEXT = "unit_execution_text"


def _has_answers(flow: Sequence[FlowStep]) -> bool:
    return bool(flow) and all(unit.step.strip() and unit.answer.strip() for unit in flow)


def _execution(question: Question) -> list[Question]:
    flow = question.reasoning_flow
    if not _has_answers(flow):
        return []
    return [
        _derived(
            question,
            EXECUTION,
            unit,
            [*_numbered(flow[: unit - 1]), f"Step {unit}. {_line(step.step)}"],
            answer=[step.answer],
            variables=[Variable(name="step_answer", description=step.step, value=step.answer)],
            **Question.empty("solution", "solution_images", "answer_images", "part_units", "points"),
        )
        for unit, step in enumerate(flow, 1)
    ]


def _prefix(kind: str, answers: bool, question: Question) -> list[Question]:
    flow = question.reasoning_flow
    if not flow or (answers and not _has_answers(flow)):
        return []
    steps = _numbered(flow, answers)
    return [_derived(question, kind, unit, steps[:unit]) for unit, _ in enumerate(flow, 1)]


def _injection(kind: str, answers: bool, question: Question) -> list[Question]:
    flow = question.reasoning_flow
    if not flow or (answers and not _has_answers(flow)):
        return []
    return [_derived(question, kind, unit, [_said("Step:", step, answers)]) for unit, step in enumerate(flow, 1)]


def _numbered(flow: Iterable[FlowStep], answers: bool = True) -> list[str]:
    return [_said(f"Step {unit}.", step, answers) for unit, step in enumerate(flow, 1)]


def _said(name: str, unit: FlowStep, answers: bool) -> str:
    return f"{name} {_line(unit.step)}" + (f"\nResult: {_line(unit.answer)}" if answers else "")


def _line(text: str) -> str:
    return without_marks(text).strip()


def _derived(question: Question, kind: str, unit: int, steps: Iterable[str], **changes: Any) -> Question:
    """Question with units below it; image marks missing in its text come before them."""
    missing = len(question.images) - question.question.count(IMAGE_MARK)
    text = "\n".join([question.question, *[IMAGE_MARK] * missing])
    return variant_of(
        question,
        kind,
        unit,
        len(question.reasoning_flow),
        **{"question": "\n\n".join([text, *steps]), "reasoning_flow": [], **changes},
    )


def _condition(word: str, differs: str, derive: Derive, answers: bool = True, **more: Any) -> Diagnostic:
    needs = "a reasoning flow" + (" with an answer to each unit" if answers else "")
    return Diagnostic(word, differs, derive, **{"style": word, "trials": TRIALS, "needs": needs, **more})


DIAGNOSTICS = (
    _condition(EXECUTION, "each unit by itself, after those before it", _execution, own_key=True),
    _condition("reasoning_prefix", "units 1 to i are given", partial(_prefix, "reasoning_prefix", True)),
    _condition(
        "prefix_questions",
        "units 1 to i are given without answers",
        partial(_prefix, "prefix_questions", False),
        answers=False,
    ),
    _condition("injection", "unit i is given", partial(_injection, "injection", True)),
    _condition(
        "injection_question",
        "unit i is given without its answer",
        partial(_injection, "injection_question", False),
        answers=False,
    ),
    _condition(
        EXECUTION_TEXT,
        "each unit by itself, without pictures",
        _execution,
        style=EXECUTION,
        own_key=True,
        beside=EXECUTION,
        of=lambda task: task.modality == "text_image",
        changes={"modality": "text_only", "without_pictures": True},
    ),
)
