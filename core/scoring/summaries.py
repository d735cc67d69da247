"""The plain counts of a report: states, points, process errors, tokens, stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from livek12.core.scoring.answers import Table
from livek12.core.scoring.outcomes import ENDINGS, UNTOLD, Outcomes
from livek12.core.scoring.schema import (
    STATES,
    ContextCut,
    Counts,
    ErrorCount,
    ProcessErrors,
    PromptCache,
    ThinkingUse,
    Tokens,
    TokenUse,
    Ungraded,
)

if TYPE_CHECKING:
    from livek12.core.statistics import Indices


def count(table: Table, picked: Indices | None = None) -> Counts:
    """Counts of the picked answers (indices; default all)."""
    import numpy as np

    picked = np.arange(len(table.rows)) if picked is None else picked
    states = np.bincount(table.states[picked], minlength=len(STATES)).tolist()
    graded, no_answer, ungraded, failed, unsupported = states
    _, truncated, unknown = np.bincount(table.rows.ending[picked], minlength=len(ENDINGS)).tolist()
    return Counts(
        questions=len(np.unique(table.question[picked])),
        trials=len(np.unique(table.trial[picked])),
        answers=len(picked),
        graded=graded,
        no_answer=no_answer,
        ungraded=ungraded,
        failed=failed,
        unsupported=unsupported,
        truncated=truncated,
        truncated_unknown=unknown,
    )


def ungraded(rows: Outcomes) -> Ungraded:
    """Ungraded answers by their last judge."""
    judges = Counter[str]()
    for verdict, answers in rows.numbers():
        if verdict.state == "ungraded" and verdict.judged_by is not None:
            judges[verdict.judged_by] += answers
    return Ungraded(nobody=judges["nobody"], rules=judges["rules"], models=judges["models"])


def points(table: Table, questions: Sequence[int]) -> float | None:
    """Total points of the questions (indices)."""
    return None if table.worth is None else float(table.worth[questions].sum())


def process_errors(rows: Outcomes, threshold: float) -> ProcessErrors | None:
    """Process errors by type, by that threshold of mean presence; None without an audit."""
    findings = rows.findings
    audited = rows.finding[findings.audited[rows.finding]]
    if findings.presence is None or not len(audited):
        return None
    presence = findings.presence[0]

    def tally(kind: int) -> ErrorCount:
        seen = presence[audited, kind].tolist()
        return ErrorCount(answers=sum(x > threshold for x in seen), mean_presence=sum(seen) / len(seen))

    return ProcessErrors(audited=len(audited), CIE=tally(0), LAE=tally(1), DRE=tally(2))


def token_use(rows: Outcomes) -> Tokens:
    """Tokens of each kind over the responses and their earlier requests; unstated counts are `missing`."""
    spent = rows.used if rows.spent is None else rows.spent
    prompt, cached, completion, reasoning = (_use(spent[rows.came, kind]) for kind in range(4))
    return Tokens(prompt=prompt, cached=cached, completion=completion, reasoning=reasoning)


def _use(counts: Indices) -> TokenUse:
    import numpy as np

    stated = np.sort(counts[counts != UNTOLD])
    total, number = int(stated.sum()), len(stated)
    return TokenUse(
        sum=total,
        mean=total / number if number else None,
        median=(int(stated[(number - 1) // 2]) + int(stated[number // 2])) / 2 if number else None,
        missing=len(counts) - number,
    )


def prompt_cache(rows: Outcomes) -> PromptCache | None:
    """Prefix-cache use."""
    stated = rows.used[(rows.used[:, :2] != UNTOLD).all(axis=1), :2]
    if not len(stated):
        return None
    prompt, cached = map(int, stated.sum(axis=0))
    return PromptCache(answers=len(stated), prompt=prompt, cached=cached, share=cached / prompt if prompt else None)


def thinking_use(rows: Outcomes, budget: int | None) -> ThinkingUse | None:
    """Thinking against its budget."""
    if budget is None:
        return None
    counts = rows.used[rows.came, 3]
    stated = counts[counts != UNTOLD]
    return ThinkingUse(
        budget=budget,
        over=int((stated > budget).sum()),
        unknown=len(counts) - len(stated),
        most=int(stated.max()) if len(stated) else None,
    )


def context_cut(rows: Outcomes, budget: int | None) -> ContextCut | None:
    """Answers that ended at a limit shorter than the budget."""
    if budget is None:
        return None
    lengths = rows.used[rows.came & (rows.ending == ENDINGS.index("truncated")), 2]
    cut = lengths[(lengths != UNTOLD) & (lengths < budget)]
    return ContextCut(budget=budget, answers=len(cut), fewest=int(cut.min())) if len(cut) else None


def decided_by(rows: Outcomes) -> dict[str, int]:
    """Parts by the stage that decided them, most first."""
    stages = Counter[str]()
    for verdict, answers in rows.numbers():
        for stage in verdict.stages:
            stages[stage] += answers
    return dict(sorted(stages.items(), key=lambda item: (-item[1], item[0])))
