"""Corrected marks of a run whose planned answers people have labelled.

Contract: unusable or too few labels are a note and never an end of scoring.
"""

from __future__ import annotations

from typing import Any

from livek12.core.errors import UserError
from livek12.core.run.folder import RunFolder
from livek12.evaluation.studies.label_plan import PLAN


def corrected_marks(run: RunFolder) -> dict[str, Any]:
    """Corrected accuracy as {"tasks": {task: figures}} or {"note": reason}; {} without labels."""
    plan, labels = run.path / PLAN, sorted(run.path.glob("labels-*.jsonl"))
    if not plan.is_file() or not labels:
        return {}
    from livek12.evaluation.studies.corrected import corrected_study, said
    from livek12.evaluation.studies.label_plan import planned_strata
    from livek12.evaluation.studies.labels import fit_labels, read_labels

    try:
        strata = planned_strata(plan)
        if not strata:
            return {}  # the plan of another study
        read = read_labels(labels, run.spec().model, lambda line: None)
        study = corrected_study(run.judged_rows(), fit_labels(read, run.judged_rows()), strata)
    except UserError as error:
        return {"note": f"no corrected mark: {error}"}
    return {"tasks": {task: {**row, "said": f"accuracy {said(row)}"} for task, row in study["tasks"].items()}}


def corrected_lines(marks: dict[str, Any]) -> list[str]:
    """Line for each task."""
    lines = [f"{task}, corrected by people's labels: {row['said']}" for task, row in marks.get("tasks", {}).items()]
    return [*lines, *([marks["note"]] if "note" in marks else [])]
