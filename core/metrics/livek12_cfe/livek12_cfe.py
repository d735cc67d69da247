"""Variable accuracy and question accuracy of CFE-Bench as an `evaluate` metric.

A question or variable without a verdict (failed extraction) is wrong, an undecided one (None) leaves bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import datasets
import evaluate

from livek12.core.errors import UserError

DESCRIPTION = """\
Variable accuracy (the mean over questions of the share of variables that are right) and question accuracy (the share
of questions with every variable right), after CFE-Bench, section 3.3."""

INPUTS = """\
predictions: for each question, a list that says of each variable whether it is right; None where undecided.
references: how many variables each question has; those without a verdict are wrong.

Returns `variable_accuracy` and `question_accuracy`, from 0 to 1: a number, or None where it is undecided (then
`<name>_low` and `<name>_high` are its bounds)."""


@evaluate.utils.file_utils.add_start_docstrings(DESCRIPTION, INPUTS)
class Livek12Cfe(evaluate.Metric):  # type: ignore[misc]
    """Metric module; see DESCRIPTION and INPUTS."""

    def _info(self) -> evaluate.MetricInfo:
        columns = {"predictions": datasets.Sequence(datasets.Value("bool")), "references": datasets.Value("int64")}
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation="Classroom Final Exam: An Instructor-Tested Reasoning Benchmark, section 3.3",
            inputs_description=INPUTS,
            features=datasets.Features(columns),
        )

    def _compute(
        self, predictions: Sequence[Sequence[bool | None]], references: Sequence[int]
    ) -> dict[str, float | None]:
        for number, (verdicts, total) in enumerate(zip(predictions, references, strict=True)):
            if not 0 < total >= len(verdicts):
                raise UserError(f"question {number} has {len(verdicts)} verdicts for {total} variables")
        shares = []  # of each question, at worst and at best
        for worst in (True, False):
            rights = [sum(not worst if right is None else right for right in verdicts) for verdicts in predictions]
            shares.append([right / total for right, total in zip(rights, references, strict=True)])
        scores: dict[str, float | None] = {}
        whole = [[float(share == 1) for share in each] for each in shares]
        for name, values in (("variable_accuracy", shares), ("question_accuracy", whole)):
            low, high = (sum(each) / len(each) for each in values)
            scores[name] = low if low == high else None
            if low != high:
                scores |= {f"{name}_low": low, f"{name}_high": high}
        return scores
