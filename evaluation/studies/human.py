"""Marks of runs beside human marks: of each run (LiveK12Bench, reliability of the judge), and of ways of judging.

Labelled answers that a run did not decide are in no coefficient, but in `accuracy_low` and `accuracy_high`.

Ways of judging are `s2s`, `l2s`, `l2l`, …, or `rules` (CFE-Bench, table 1: P, R and F1 weighted by class). Several runs
or repeats of one way give mean ± sample standard deviation. AUC is the chance that a right answer gets more points than
a wrong one (ties count half).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from livek12.core.agreement import binary_agreement, cohen_kappa, quadratic_kappa, weighted_agreement
from livek12.core.errors import UserError
from livek12.core.records import Verdict
from livek12.core.scoring import Row
from livek12.core.statistics import mean_std, wilson_interval
from livek12.evaluation.studies.consistency import method_of, require_every_answer
from livek12.evaluation.studies.labels import Label, Stranger
from livek12.evaluation.studies.study import Study, number, percent, share, spread
from livek12.report.marks import rounded
from livek12.report.tables import TableShown

EXAMPLES = 10
Marked = tuple[Label, Row, bool]
"""A label, its answer, and the person's right or wrong."""
Decided = tuple[Row, bool, bool]
"""An answer, and right or wrong by the person and by the run."""


def human_agreement(pairs: Sequence[tuple[Label, Row]], strangers: Sequence[Stranger] = ()) -> dict[str, Any]:
    """The run against each rater, and raters against each other, on right or wrong and on marks."""
    raters: defaultdict[str, list[Marked]] = defaultdict(list)
    for label, row in pairs:
        if label.correct is not None:
            raters[label.rater].append((label, row, label.correct))
    if not raters:
        raise UserError("no label is of a question of this run: labels name question_id (and trial, from 0)")
    return {
        "labels": len(pairs) + len(strangers),
        "not_in_this_run": len(strangers),
        "raters": {rater: _beside(marked) for rater, marked in sorted(raters.items())},
        "between_raters": _between(raters),
    }


def bounded_agreement(pairs: Sequence[tuple[bool, bool | None]]) -> dict[str, Any]:
    """Agreement over the decided marks, beside a person's; undecided ones are in the bounds of the accuracy."""
    decided = [(right, correct) for right, correct in pairs if correct is not None]
    agreement = binary_agreement([right for right, _ in decided], [correct for _, correct in decided])
    agreed, undecided = agreement["true_accepts"] + agreement["true_rejects"], len(pairs) - len(decided)
    return {
        "labelled": len(pairs),
        "decided": len(decided),
        "undecided": undecided,
        **agreement,
        "accuracy_low": agreed / len(pairs) if pairs else None,
        "accuracy_high": (agreed + undecided) / len(pairs) if pairs else None,
        "accuracy_ci": list(wilson_interval(agreed, len(decided))) if decided else None,
    }


def _beside(pairs: Sequence[Marked]) -> dict[str, Any]:
    decided = [
        (row, right, row.verdict.correct) for _, row, right in pairs if row.verdict and row.verdict.correct is not None
    ]
    return {
        **bounded_agreement([(right, row.verdict.correct if row.verdict else None) for _, row, right in pairs]),
        "marks": _marks(pairs),
        "by_stage": _stages(decided),
        "examples": {
            "false_accepts": _examples(decided, accepted=True),
            "false_rejects": _examples(decided, accepted=False),
        },
    }


def _marks(pairs: Sequence[Marked]) -> dict[str, Any]:
    """Marks as shares of full marks, where label and verdict have numbers."""
    shares = [
        (label.share, row.verdict.points / row.verdict.max_points)
        for label, row, _ in pairs
        if label.share is not None and row.verdict and row.verdict.points is not None and row.verdict.max_points
    ]
    human, judge = [a for a, _ in shares], [b for _, b in shares]
    return {
        "n": len(shares),
        "quadratic_kappa": quadratic_kappa(human, judge),
        "mean_difference": sum(b - a for a, b in shares) / len(shares) if shares else None,
        "mean_absolute_difference": sum(abs(b - a) for a, b in shares) / len(shares) if shares else None,
    }


def _stages(decided: Sequence[Decided]) -> dict[str, dict[str, Any]]:
    """By deciding stage: counts, agreement with the human, and both kinds of errors."""
    stages: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for row, right, correct in decided:
        stages[decided_by(row)].append((right, correct))
    return {
        stage: {
            "decided": len(marks),
            "as_human": sum(a == b for a, b in marks),
            "precision_ci": list(wilson_interval(sum(a == b for a, b in marks), len(marks))),
            "false_accepts": sum(b and not a for a, b in marks),
            "false_rejects": sum(a and not b for a, b in marks),
        }
        for stage, marks in sorted(stages.items())
    }


def decided_by(row: Row) -> str:
    """Deciders of the parts of an answer, in order, without repetition."""
    parts = row.verdict.parts if row.verdict else []
    return "+".join(dict.fromkeys(part.decided_by for part in parts)) or "nothing to decide"


def _examples(decided: Sequence[Decided], accepted: bool) -> list[dict[str, Any]]:
    wrong = [row for row, right, correct in decided if correct is accepted and right is not accepted]
    return [
        {
            "question_id": row.question.id,
            "trial": row.trial,
            "decided_by": decided_by(row),
            "parts": [{"gold": part.gold, "answer": part.answer} for part in row.verdict.parts] if row.verdict else [],
        }
        for row in wrong[:EXAMPLES]
    ]


def _between(raters: Mapping[str, Sequence[Marked]]) -> dict[str, dict[str, Any]]:
    marks = {
        rater: {(row.task, row.question.id, row.trial): right for _, row, right in pairs}
        for rater, pairs in raters.items()
    }
    pairs_of = {}
    for a, b in combinations(sorted(marks), 2):
        shared = sorted(marks[a].keys() & marks[b].keys())
        kappa = cohen_kappa([marks[a][key] for key in shared], [marks[b][key] for key in shared])
        pairs_of[f"{a} / {b}"] = {"n": len(shared), "kappa": kappa}
    return pairs_of


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    for run, beside in result.items():
        for rater, marks in beside["raters"].items():
            agreed = marks["true_accepts"] + marks["true_rejects"]
            yield (
                f"{run} beside {'the labels' if rater == '(unnamed)' else rater}: of {marks['labelled']} labelled"
                f" answers the run decided {marks['decided']}, {agreed} of them as the person did"
                f"{share(marks['accuracy'], marks['accuracy_ci'])}; it accepted {marks['false_accepts']} that the"
                f" person rejected, and rejected {marks['false_rejects']} that the person accepted. Cohen's κ"
                f" {number(marks['kappa'])}."
            )


AGREEMENT = Study("agreement", _sentences)


WEIGHTED = ("weighted_precision", "weighted_recall", "weighted_f1")
FIGURES = ("accuracy", "auc", *WEIGHTED, "precision", "recall", "f1", "false_rejects", "false_accepts")
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
        by_method[ways.pop()][name] = _beside_people(labelled)
    return {
        "methods": {method: _summary(list(by_run.values())) for method, by_run in sorted(by_method.items())},
        "runs": {
            f"{method}: {name}": figures
            for method, by_run in sorted(by_method.items())
            for name, figures in by_run.items()
        },
    }


def _beside_people(labelled: Sequence[tuple[bool, Verdict]]) -> dict[str, Any]:
    decided = [(right, verdict) for right, verdict in labelled if verdict.correct is not None]
    sides = [right for right, _ in decided], [bool(verdict.correct) for _, verdict in decided]
    figures: dict[str, Any] = {**binary_agreement(*sides), **weighted_agreement(*sides)}
    return {
        "labels": len(labelled),
        "undecided": len(labelled) - len(decided),
        **{name: figures[name] for name in FIGURES if name != "auc"},
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


def methods_sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """The result in sentences."""
    for method, own in result["methods"].items():
        over = f", mean of {own['runs']} runs" if own["runs"] > 1 else ""
        yield (
            f"{method}: {percent(own['accuracy'])} as people said{over}; {rounded(own['false_accepts'])} accepted"
            f" wrongly, {rounded(own['false_rejects'])} rejected wrongly, {rounded(own['undecided'])} undecided of"
            f" {rounded(own['labels'])} labelled answers."
        )


HEADS = ("Acc (%)", "AUC", "P", "R", "F1", "P of right", "R of right", "F1 of right", "FN", "FP")


def _methods_tables(result: Mapping[str, Any]) -> Iterator[TableShown]:
    for title, rows in (("Ways of judging (CFE-Bench, table 1)", result["methods"]), ("Their runs", result["runs"])):
        yield TableShown(
            title, ["", "labels", "undecided", *HEADS], [[name, *_cells(own)] for name, own in rows.items()]
        )


def _cells(own: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{own[name]:g}" for name in ("labels", "undecided"))
    for name in FIGURES:
        times, digits = (100, 2) if name == "accuracy" else (1, 2)
        mean, std = (None if value is None else times * value for value in (own[name], own.get(f"{name}_std")))
        yield spread(mean, std, digits) if f"{name}_std" in own else "–" if mean is None else rounded(mean, digits)


METHODS = Study("methods", methods_sentences, "How well do ways of judging agree with people?", tables=_methods_tables)
