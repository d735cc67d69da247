"""Exam metrics of LiveK12Bench (`exam_scores`) as an `evaluate` metric."""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from livek12.core.scoring import Profile, exam_scores

OPTIONAL = ("correct", "tokens", "cie", "lae", "dre", "steps")

DESCRIPTION = """\
Marks of an exam: accuracy, OCS (points in per cent; also as "mark"), PES and OES (with the reasoning process),
ARL (accuracy weighted by response length) and Acc<=r (accuracy within r of the token budget), after
LiveK12Bench. Profile "article" follows its equations, "release" its authors' code."""

INPUTS = """\
predictions: points awarded to each answer; None where undecided.
references: points of each question.
correct: whether each answer is fully correct; default: where all points are awarded.
tokens: completion tokens of each answer, thinking included; needed for ARL and Acc<=r.
cie, lae, dre: presence (0 to 1) of each process error type; needed, all three, for PES and OES.
steps: for each answer a list with the number of erroneous steps that each critic found; profile "release" takes PES
and OES from it, and gives bounds without it.
profile: "article" (default) or "release".

Returns each metric by name: a number, or None where it is undecided (then "<name>_low" and "<name>_high" are
its bounds) or cannot be had (then "<name>_note" says why)."""


@evaluate.utils.file_utils.add_start_docstrings(DESCRIPTION, INPUTS)
class Livek12Exam(evaluate.Metric):  # type: ignore[misc]
    """Metric module; see DESCRIPTION and INPUTS."""

    def _info(self) -> evaluate.MetricInfo:
        number, truth = datasets.Value("float64"), datasets.Value("bool")
        columns = {"predictions": number, "references": number}
        others = {"correct": truth, "steps": datasets.Sequence(datasets.Value("int64"))}
        columns |= {name: others.get(name, number) for name in OPTIONAL}
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation="LiveK12Bench: Have Large Multimodal Models Truly Conquered High School-level Examinations?",
            inputs_description=INPUTS,
            features=datasets.Features(columns),
        )

    def compute(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> dict[str, Any] | None:
        """Computes the metrics."""
        columns = dict.fromkeys(OPTIONAL) | columns
        result: dict[str, Any] | None = super().compute(predictions=predictions, references=references, **columns)
        return result

    def add_batch(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> None:
        """Adds answers."""
        given = {name: [None] * len(predictions) if columns.get(name) is None else columns[name] for name in OPTIONAL}
        super().add_batch(predictions=predictions, references=references, **(columns | given))

    def add(self, *, prediction: Any = None, reference: Any = None, **columns: Any) -> None:
        """Adds one answer."""
        super().add(prediction=prediction, reference=reference, **(dict.fromkeys(OPTIONAL) | columns))

    def _compute(
        self, predictions: Any, references: Any, profile: Profile = "article", **columns: list[Any]
    ) -> dict[str, float | str | None]:
        audits = zip(columns["cie"], columns["lae"], columns["dre"], strict=True)
        scores = exam_scores(
            list(predictions),
            list(references),
            correct=columns["correct"],
            tokens=columns["tokens"],
            presence=[None if None in audit else audit for audit in audits],
            steps=columns["steps"],
            profile=profile,
        )
        result: dict[str, float | str | None] = {}
        for name, score in scores.items():
            decided = score["low"] == score["high"]
            result[name] = score["low"] if decided else None
            if not decided:
                result |= {f"{name}_low": score["low"], f"{name}_high": score["high"]}
            if score["note"]:
                result[f"{name}_note"] = score["note"]
        return result
