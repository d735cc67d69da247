"""Opens a run folder for labelling: its planned answers, with the pictures of their questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from livek12.core.run.folder import RunFolder
from livek12.core.run.markings import RegradeCounts, read_regrades, regraded
from livek12.core.scoring import Row
from livek12.evaluation.labelling.regrading import Regrading
from livek12.evaluation.labelling.server import Surroundings
from livek12.evaluation.labelling.store import LabelStore
from livek12.evaluation.studies.labels import fit_labels, read_labels
from livek12.evaluation.studies.planned import PLAN, planned, read_plan

Tell = Callable[[str], None]


def open_labels(
    folder: Path, plan: Path | None, data: str, verdict: bool, warn: Tell
) -> tuple[LabelStore, Surroundings]:
    """What the labelling page works on.

    Args:
        folder: the run.
        plan: which answers; None: those of the run's own plan, else all.
        data: where the data set lies now, if not where run.json says.
        verdict: show what the run decided.
        warn: told in one line of what is not there.

    Raises:
        UserError: there is no run, plan or answer, or `data` is another data set than the run's.
    """
    from livek12.evaluation.task_data import illustrated, reload_task_data

    run = RunFolder.open(folder, warn)
    regrading = Regrading(folder)
    spec, rows = run.spec(), _answers(run, plan, warn, regrading)
    exam = reload_task_data(run, data)
    shown = Surroundings(
        run=folder.resolve().name,
        modalities={task.name: task.modality for task in spec.tasks},
        pages=exam.pages,
        regrading=regrading,
        audited=any(row.verdict and (row.verdict.process or row.verdict.process_ungraded) for row in rows),
        verdict=verdict,
    )
    read_regrades(folder, warn)
    return LabelStore(folder, spec.model, list(illustrated(rows, exam))), shown


def progress(folder: Path, plan: Path | None, warn: Tell) -> dict[str, Any]:
    """How many answers there are to label, and how many of them each rater did."""
    rows = _answers(RunFolder.open(folder, warn), plan, warn)
    raters = {}
    for file in sorted(folder.glob("labels-*.jsonl")):
        labels = read_labels(file, None, warn) if file.stat().st_size else []
        raters[file.stem.removeprefix("labels-")] = len(fit_labels(labels, rows)[0])
    changes = RegradeCounts()
    for _ in changes.passing(regraded(rows, read_regrades(folder, warn))):
        pass
    told = changes.summary()
    return {"answers": len(rows), "raters": raters, **({"regraded": told} if told else {})}


def _answers(run: RunFolder, plan: Path | None, warn: Tell, regrading: Regrading | None = None) -> list[Row]:
    own = run.path / PLAN
    file = plan if plan is not None else own if own.is_file() else None
    rows = run.judged_rows() if regrading is None else regrading.passing(run.judged_rows())
    return planned(rows, None if file is None else read_plan(file), (file or own).name, warn)
