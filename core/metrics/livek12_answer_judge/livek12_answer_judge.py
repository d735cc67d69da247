"""Agreement of responses with reference answers, as an `evaluate` metric over `livek12.Verifier`."""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from livek12 import Verifier

OPTIONAL = {"questions": "question", "question_types": "question_type", "units": "unit"}
"""Columns that may be left out, with their fields in a row of the verifier."""

DESCRIPTION = """\
Whether responses agree with reference answers: numbers, formulas, units, choices and texts, by rules that leave open
what they cannot tell, and by model judges for that where some are named. Nothing undecided is counted as right or
wrong: accuracy is then an interval."""

INPUTS = """\
predictions: whole responses, or bare answers.
references: reference answers; a list has one entry a blank or sub-question.
questions: the text of each question, for the form and unit that it asks for.
question_types: `single_choice`, `fill_in_blank`, ... of each question.
units: the unit printed behind the blank.
judge: models for what the rules leave open, as `MODEL[@ENGINE[:K=V,...]][,...]`; default: the rules alone.

Returns `accuracy` (None where it is undecided; `accuracy_low` and `accuracy_high` are always there), `undecided` (how
many), and for each answer `decisions` (`accept`, `reject`, `undecided`), `scores` (share of the points, None where it
is not known), `decided_by` and `reasons`."""


@evaluate.utils.file_utils.add_start_docstrings(DESCRIPTION, INPUTS)
class Livek12AnswerJudge(evaluate.Metric):  # type: ignore[misc]
    """Metric module; see DESCRIPTION and INPUTS."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        columns = {"predictions": text, **dict.fromkeys(OPTIONAL, text)}
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation="",
            inputs_description=INPUTS,
            features=[
                datasets.Features({**columns, "references": text}),
                datasets.Features({**columns, "references": datasets.Sequence(text)}),
            ],
        )

    def compute(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> dict[str, Any] | None:
        """Judges the answers."""
        if predictions is not None:
            columns |= _filled(columns, len(predictions))
        result: dict[str, Any] | None = super().compute(predictions=predictions, references=references, **columns)
        return result

    def add_batch(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> None:
        """Adds answers."""
        filled = _filled(columns, len(predictions))
        super().add_batch(predictions=predictions, references=references, **(columns | filled))

    def add(self, *, prediction: Any = None, reference: Any = None, **columns: Any) -> None:
        """Adds one answer."""
        optional = {name: columns.get(name) or "" for name in OPTIONAL}
        super().add(prediction=prediction, reference=reference, **(columns | optional))

    def _compute(
        self, predictions: Any, references: Any, judge: str | None = None, **columns: list[Any]
    ) -> dict[str, Any]:
        optional = {field: columns[name] for name, field in OPTIONAL.items()}
        rows = [
            {"response": response, "gold": gold}
            | {field: each[number] for field, each in optional.items() if each[number]}
            for number, (response, gold) in enumerate(zip(predictions, references, strict=True))
        ]
        with Verifier(judge=judge) as verifier:
            judged = verifier.batch(rows)
        decisions = [each.decision for each in judged]
        undecided = decisions.count("undecided")
        low = decisions.count("accept") / len(judged)
        high = (decisions.count("accept") + undecided) / len(judged)
        return {
            "accuracy": None if undecided else low,
            "accuracy_low": low,
            "accuracy_high": high,
            "undecided": undecided,
            "decisions": decisions,
            "scores": [each.score for each in judged],
            "decided_by": [each.decided_by for each in judged],
            "reasons": [each.reason for each in judged],
        }


def _filled(columns: dict[str, Any], length: int) -> dict[str, list[str]]:
    """`evaluate` takes no None among texts."""
    return {name: [value or "" for value in columns.get(name) or [""] * length] for name in OPTIONAL}
