"""Unbiased pass@k as an `evaluate` metric; a k above the samples of any question is refused."""

from __future__ import annotations

from collections.abc import Sequence

import datasets
import evaluate

from livek12.core.errors import UserError
from livek12.core.statistics import pass_at_k

DESCRIPTION = """\
The chance that at least one of k samples is correct, estimated without bias from n >= k samples of each
question, c of them correct: the mean over questions of 1 - C(n-c, k) / C(n, k)."""

INPUTS = """\
predictions: for each question, a list with one truth value (correct or not) a sample.
k: the values of k; default: from 1 to the smallest number of samples of a question.

Returns {"pass@1": ..., ...}."""


@evaluate.utils.file_utils.add_start_docstrings(DESCRIPTION, INPUTS)
class PassAtKUnbiased(evaluate.Metric):  # type: ignore[misc]
    """Metric module; see DESCRIPTION and INPUTS."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation="Chen et al., Evaluating Large Language Models Trained on Code, 2021, equation 1",
            inputs_description=INPUTS,
            features=datasets.Features({"predictions": datasets.Sequence(datasets.Value("bool"))}),
        )

    def _compute(self, predictions: Sequence[Sequence[bool]], k: Sequence[int] | None = None) -> dict[str, float]:
        samples = min(len(question) for question in predictions)
        wanted = range(1, samples + 1) if k is None else k
        if not samples or not all(1 <= size <= samples for size in wanted):
            raise UserError(f"pass@k needs k from 1 to {samples}, the fewest samples of a question: got {k}")
        counts = [(len(question), sum(question)) for question in predictions]
        return {f"pass@{size}": sum(pass_at_k(n, c, size) for n, c in counts) / len(counts) for size in wanted}
