"""The plain counts of a report: states, points, process errors, tokens, stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from livek12.core.scoring.answers import Table
from livek12.core.scoring.schema import (
    STATES,
    Counts,
    ErrorCount,
    ProcessErrors,
    PromptCache,
    Row,
    ThinkingUse,
    Tokens,
    TokenUse,
)

if TYPE_CHECKING:
    from livek12.core.statistics import Indices


def count(table: Table, picked: Indices | None = None) -> Counts:
    """Counts of the picked answers (indices); without them, of all."""
    import numpy as np

    picked = np.arange(len(table.rows)) if picked is None else picked
    states = np.bincount(table.states[picked], minlength=len(STATES)).tolist()
    graded, no_answer, ungraded, failed, unsupported = states
    return Counts(
        questions=len(np.unique(table.question[picked])),
        trials=len(np.unique(table.trial[picked])),
        answers=len(picked),
        graded=graded,
        no_answer=no_answer,
        ungraded=ungraded,
        failed=failed,
        unsupported=unsupported,
    )


def points(table: Table, questions: Sequence[int]) -> float | None:
    """Points of the questions (indices) together; None where only some questions of the task state them."""
    return None if table.worth is None else float(table.worth[questions].sum())


def process_errors(rows: Sequence[Row], threshold: float) -> ProcessErrors | None:
    """How often critics saw each error type; None where no answer was audited."""
    audits = [row.verdict.process for row in rows if row.verdict and row.verdict.process]
    if not audits:
        return None

    def tally(presence: list[float]) -> ErrorCount:
        return ErrorCount(answers=sum(x >= threshold for x in presence), mean_presence=sum(presence) / len(audits))

    return ProcessErrors(
        audited=len(audits),
        CIE=tally([audit.cie for audit in audits]),
        LAE=tally([audit.lae for audit in audits]),
        DRE=tally([audit.dre for audit in audits]),
    )


def token_use(rows: Sequence[Row]) -> Tokens:
    """Tokens of each kind over the responses; a response that does not state a count is counted as missing."""
    responses = [row.response for row in rows if row.response]

    def use(counts: list[int | None]) -> TokenUse:
        known = [tokens for tokens in counts if tokens is not None]
        total = sum(known)
        return TokenUse(
            sum=total,
            mean=total / len(known) if known else None,
            median=float(median(known)) if known else None,
            missing=len(counts) - len(known),
        )

    return Tokens(
        prompt=use([response.prompt_tokens for response in responses]),
        cached=use([response.cached_tokens for response in responses]),
        completion=use([response.completion_tokens for response in responses]),
        reasoning=use([response.reasoning_tokens for response in responses]),
    )


def prompt_cache(rows: Sequence[Row]) -> PromptCache | None:
    """What prefix caches served; None where no response says it."""
    told = [
        (row.response.prompt_tokens, row.response.cached_tokens)
        for row in rows
        if row.response and row.response.prompt_tokens is not None and row.response.cached_tokens is not None
    ]
    if not told:
        return None
    prompt, cached = sum(asked for asked, _ in told), sum(served for _, served in told)
    return PromptCache(answers=len(told), prompt=prompt, cached=cached, share=cached / prompt if prompt else None)


def thinking_use(rows: Sequence[Row], budget: int | None) -> ThinkingUse | None:
    """How the responses kept a thinking budget; None without one."""
    if budget is None:
        return None
    counts = [row.response.reasoning_tokens for row in rows if row.response]
    known = [tokens for tokens in counts if tokens is not None]
    return ThinkingUse(
        budget=budget,
        over=sum(tokens > budget for tokens in known),
        unknown=len(counts) - len(known),
        most=max(known, default=None),
    )


def decided_by(rows: Sequence[Row]) -> dict[str, int]:
    """Parts by the stage that decided them, most first; undecided ones under "undecided"."""
    stages = Counter(
        "undecided" if part.decision == "undecided" else part.decided_by
        for row in rows
        if row.verdict
        for part in row.verdict.parts
    )
    return dict(sorted(stages.items(), key=lambda item: (-item[1], item[0])))
