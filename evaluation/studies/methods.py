"""Ways of judging (`s2s`, `l2s`, `l2l`, …, or `rules`) against people (CFE-Bench, table 1).

Several runs of one way give mean ± sample standard deviation. Judges must have seen every answer, or the comparison
would be of shared rules. Undecided answers are counted and in no rate. AUC is the chance that a right answer gets more
points than a wrong one (ties count half); for verdicts without partial marks, the mean of recall and specificity.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from livek12.core.agreement import binary_agreement
from livek12.core.errors import UserError
from livek12.core.records import Verdict
from livek12.core.scoring import Row
from livek12.core.statistics import mean_std
from livek12.evaluation.studies.consistency import require_every_answer
from livek12.evaluation.studies.labels import Label, Stranger
from livek12.evaluation.studies.study import Study, percent
from livek12.report.marks import rounded

FIGURES = ("accuracy", "auc", "precision", "recall", "f1", "false_rejects", "false_accepts")
_METHOD = re.compile(r"^\S+ ([a-z][a-z0-9_]*)-")
Labelled = tuple[Sequence[tuple[Label, Row]], Sequence[Stranger]]


def judging_methods(runs: Mapping[str, Labelled]) -> dict[str, Any]:
    """Each way of judging against the labels of its runs."""
    require_every_answer({name: [row for _, row in pairs] for name, (pairs, _) in runs.items()})
    by_method: defaultdict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for name, (pairs, _) in runs.items():
        labelled = [(label.correct, row.verdict) for label, row in pairs if label.correct is not None and row.verdict]
        if not labelled:
            raise UserError(f"{name}: no label says of a judged answer whether it is right")
        ways = {method_of(verdict) for _, verdict in labelled}
        if len(ways) > 1:
            raise UserError(
                f"{name}: is judged in {len(ways)} ways ({', '.join(sorted(ways))}): judge it `--again` in one"
            )
        by_method[ways.pop()][name] = beside_people(labelled)
    return {
        "methods": {method: _summary(list(by_run.values())) for method, by_run in sorted(by_method.items())},
        "runs": {
            f"{method}: {name}": figures
            for method, by_run in sorted(by_method.items())
            for name, figures in by_run.items()
        },
    }


def method_of(verdict: Verdict) -> str:
    """The way of judging named in the verdict's version; `rules` without models."""
    match = _METHOD.match(verdict.judge)
    return match[1] if match else "rules"


def beside_people(labelled: Sequence[tuple[bool, Verdict]]) -> dict[str, Any]:
    """The figures of one run, from (people's right, verdict)."""
    decided = [(right, verdict) for right, verdict in labelled if verdict.correct is not None]
    agreement = binary_agreement([right for right, _ in decided], [bool(verdict.correct) for _, verdict in decided])
    return {
        "labels": len(labelled),
        "undecided": len(labelled) - len(decided),
        **{name: agreement[name] for name in FIGURES if name != "auc"},  # type: ignore[literal-required]
        "auc": auc([(right, _share(verdict)) for right, verdict in decided]),
    }


def _share(verdict: Verdict) -> float:
    if verdict.points is None or verdict.max_points <= 0:
        return float(bool(verdict.correct))
    return verdict.points / verdict.max_points


def auc(scored: Sequence[tuple[bool, float]]) -> float | None:
    """Area under the ROC curve by ranks (Mann and Whitney 1947); None without both right and wrong."""
    rights = sum(right for right, _ in scored)
    wrongs = len(scored) - rights
    if not rights or not wrongs:
        return None
    at: defaultdict[float, list[int]] = defaultdict(lambda: [0, 0])
    for right, score in scored:
        at[score][right] += 1
    below, won = 0, 0.0
    for score in sorted(at):
        lost, gained = at[score]
        won += gained * (below + lost / 2)
        below += lost
    return won / (rights * wrongs)


def _summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    summary: dict[str, Any] = {"runs": len(runs)}
    for name in ("labels", "undecided", *FIGURES):
        summary[name], std = mean_std([float(run[name]) for run in runs if run[name] is not None])
        if len(runs) > 1 and name in FIGURES:
            summary[f"{name}_std"] = std
    return summary


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """The result in sentences."""
    for method, own in result["methods"].items():
        over = f", mean of {own['runs']} runs" if own["runs"] > 1 else ""
        yield (
            f"{method}: {percent(own['accuracy'])} as people said{over}; {rounded(own['false_accepts'])} accepted"
            f" wrongly, {rounded(own['false_rejects'])} rejected wrongly, {rounded(own['undecided'])} undecided of"
            f" {rounded(own['labels'])} labelled answers."
        )


STUDY = Study("methods", sentences)
