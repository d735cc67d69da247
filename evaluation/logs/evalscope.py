"""The logs of EvalScope for any benchmark: its reviews (`evaluation.imports.evalscope`) as entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from livek12.evaluation.imports.evalscope import reviews
from livek12.evaluation.logs import Fields, LogEntry
from livek12.evaluation.logs.lines import numbers
from livek12.evaluation.logs.paths import at

FIELDS: Final = Fields(
    question=("question",),
    gold=("target",),
    type=("sample_score.sample_metadata.question_type",),
    options=("sample_score.sample_metadata.choices",),
)


def entries(path: Path) -> Iterator[LogEntry]:
    """The reviews of a work folder of EvalScope, or of one file.

    Raises:
        UserError: there is none.
    """
    for review in reviews(path):
        group, answer = review.score.get("group_id"), review.answer
        yield LogEntry(
            place=review.place,
            task=review.benchmark,
            id=str(review.raw.get("index") if group is None else group),
            raw={**review.raw, "question": [turn for turn in review.turns if turn.get("role") != "assistant"]},
            answers=() if answer is None else (answer,),
            trial=review.trial,
            scores=numbers(at(review.score, "score.value")),
            model=review.model,
        )
