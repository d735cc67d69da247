"""Marks, metrics and their uncertainty: rows (question, response, verdict) in, the content of `report.json` out.

Contract: pure functions; the same rows in any order give the same report. Nothing leaves a denominator and
nothing is guessed: an answer that is ungraded, failed or unsupported enters every number twice, at its worst
and at its best, so that an estimate is the interval [low, high]; `value` is set only where both are equal.
The caller passes one row for every answer that the run asked for, including those that never came.

`score(rows)` returns a `Report`, JSON as it is (types in `schema`):

    {"formulas": 2, "profile": "article", "parameters": {"process_penalty": 3.0, "reference_tokens": 4096, ...},
     "tasks": {"livek12_text_only": {
        "counts": {"questions": 40, "trials": 3, "answers": 120,
                   "graded": 118, "no_answer": 1, "ungraded": 1, "failed": 0, "unsupported": 0,
                   "truncated": 2, "truncated_unknown": 0},  # cut off; None says whether
        "ungraded": {"nobody": 0, "rules": 0, "models": 1},   # who left them open
        "points": 200.0,                     # sum over the questions; None: only some of them state points
        "metrics": {
           "accuracy": {"low": 0.600, "high": 0.608, "value": None, "ci": [0.481, 0.725], "unit": "question",
                        "clusters": 40, "n": 40, "std": None, "note": None},
           "mark": {...}, "OCS": {...}, "PES": {"low": None, "high": None, "value": None, "ci": None, ...,
                                                "note": "no process verdicts"},
           "OES": {...}, "ARL": {...}, "Acc≤0.1": {...}, ..., "Acc≤1.0": {...}, "pass@1": {...}, ...},
        "groups": {"subject": {"math": {"questions": 10, "points": 50.0, "counts": {...}, "metrics": {...}}}},
        "deltas": {"accuracy/korean_specific/true-false": {...}, "mark/release/2605-2603": {...}},
        "process_errors": {"audited": 100, "CIE": {"answers": 7, "mean_presence": 0.06}, "LAE": ..., "DRE": ...},
        "tokens": {"completion": {"sum": 51234, "mean": 430.5, "median": 401.0, "missing": 1}, "prompt": ...},
        "prompt_cache": {"answers": 100, "prompt": 90000, "cached": 63000, "share": 0.7},  # None: no engine told it
        "context_cut": None,                 # or {"budget": 32768, "answers": 4, "fewest": 7930}
        "thinking": None,                    # or {"budget": 512, "over": 0, "unknown": 0, "most": 510}
        "decided_by": {"letters": 80, "numeric": 60, "undecided": 1}}},
     "deltas": {"livek12_image_only/accuracy/modality/image_only-standard/complex_layout": {...}},
     "variants": [{"task": "kmmmu_text_only", "base": "kmmmu", "differs": "without pictures",
                   "shared": 40, "only_task": 0, "only_base": 2,
                   "metrics": {"accuracy": {"difference": {...}, "test": {"name": "mcnemar_exact", "p": 0.03, ...}}},
                   "groups": {"subject": {"math": {"questions": 10, "metrics": {...}}}}}],
     "budgets": {"livek12_text_only": {
        "longest": "livek12_text_only@1", "longest_tokens": 32768, "true_means": "...", "counterfactual_means": "...",
        "points": [{"share": 0.1, "tokens": 3276, "true": {...}, "true_task": "livek12_text_only@0.1",
                    "counterfactual": {...}}, ...]}}}

An estimate: `low`, `high` bounds over all completions of what is undecided (None: not available, `note` says
why); `value` the number where low = high; `ci` the 95 % interval of the sample (`livek12.core.statistics`), from the
lower end of low's to the upper end of high's; `unit` what it is clustered by (paper
where the questions of this estimate come from at least ten papers, else question) and `clusters` how many of
them; `n` the questions in the denominator; `std` the sample standard deviation over the trials' means (None:
one trial, or undecided).
`mark`, `OCS`, `PES`, `OES` are out of 100 (see `scoring.metrics`), all other metrics are shares (ARL may exceed 1).
`mark` and `OCS` are the same number: points in per cent; where no question of a task states points, each
counts 1; where only some do, they are not available. `variable_accuracy` and `question_accuracy` exist where
questions have variables. Group axes: `AXES`; a question with several subsets counts in each; where an axis
exists, questions without a value are the group "(none)".

Profiles (the formulas are in `formulas`): `article` follows the equations of LiveK12Bench, `release` the code
its authors released; neither claims to reproduce the printed tables. `release` has an ARL only in `compare`.
"""

from __future__ import annotations

from livek12.core.rows import Row
from livek12.core.scoring.comparison import compare, modality_delta, release_arl
from livek12.core.scoring.formulas import exam_scores
from livek12.core.scoring.outcomes import AXES
from livek12.core.scoring.report import score
from livek12.core.scoring.schema import (
    FORMULAS,
    PARAMETERS,
    Comparison,
    Estimate,
    Limit,
    Parameters,
    Profile,
    Report,
    profile_named,
)

__all__ = [
    "AXES",
    "FORMULAS",
    "PARAMETERS",
    "Comparison",
    "Estimate",
    "Limit",
    "Parameters",
    "Profile",
    "Report",
    "Row",
    "compare",
    "exam_scores",
    "modality_delta",
    "profile_named",
    "release_arl",
    "score",
]
