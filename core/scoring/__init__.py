"""Marks, metrics and their uncertainty: rows (question, response, verdict) in, the content of `report.json` out.

Contract: pure functions of a row for each requested answer, in any order. An ungraded, failed or unsupported answer
enters every number at its worst and at its best.

An estimate: `low`, `high` bounds over all completions of undecided answers (None: not available, see `note`); `value`
set where they are equal; `ci` the 95 % interval, from the lower end of low's to the upper end of high's, from
`Parameters.min_questions` on; `unit` the cluster (paper from `Parameters.min_papers` on, else question), `clusters`
their number; `n` the questions in the denominator; `std` the standard deviation over the trials' means. `mark`, `OCS`,
`PES`, `OES` are out of 100, other metrics shares (ARL may exceed 1). `mark` and `OCS` are the same number; each
question counts 1 where none of a task states points; not available where only some do. Group axes: `AXES`; a question
with several subsets counts in each; "(none)" has those without a value.

Profiles (`formulas`): `article` follows the equations of LiveK12Bench, `release` its authors' code, with an ARL only in
`compare`.
"""

from __future__ import annotations

from livek12.core.records import Row
from livek12.core.scoring.formulas import exam_scores
from livek12.core.scoring.outcomes import AXES
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
    "exam_scores",
    "profile_named",
]
