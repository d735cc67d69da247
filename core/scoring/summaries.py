"""The plain counts of a report: states, points, process errors, tokens, stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from livek12.core.scoring.answers import Table
from livek12.core.scoring.outcomes import ENDINGS, Outcome
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
    """Counts of the picked answers (indices); without them, of all."""
    import numpy as np

    picked = np.arange(len(table.rows)) if picked is None else picked
    states = np.bincount(table.states[picked], minlength=len(STATES)).tolist()
    graded, no_answer, ungraded, failed, unsupported = states
    _, truncated, unknown = np.bincount(table.endings[picked], minlength=len(ENDINGS)).tolist()
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


def ungraded(rows: Sequence[Outcome]) -> Ungraded:
    """Who left the ungraded answers open."""
    judges = Counter(row.judged_by for row in rows if row.state == "ungraded")
    return Ungraded(nobody=judges["nobody"], rules=judges["rules"], models=judges["models"])


def points(table: Table, questions: Sequence[int]) -> float | None:
    """Points of the questions (indices) together; None where only some questions of the task state them."""
    return None if table.worth is None else float(table.worth[questions].sum())


def process_errors(rows: Sequence[Outcome], threshold: float) -> ProcessErrors | None:
    """How often critics saw each error type; None where no answer was audited."""
    audits = [row.presence for row in rows if row.presence]
    if not audits:
        return None

    def tally(presence: list[float]) -> ErrorCount:
        return ErrorCount(answers=sum(x >= threshold for x in presence), mean_presence=sum(presence) / len(audits))

    return ProcessErrors(
        audited=len(audits),
        CIE=tally([cie for cie, _, _ in audits]),
        LAE=tally([lae for _, lae, _ in audits]),
        DRE=tally([dre for _, _, dre in audits]),
    )


def token_use(rows: Sequence[Outcome]) -> Tokens:
    """Tokens of each kind over the responses, with those of requests before them.

    A response that does not state a count is counted as missing.
    """
    stated = [used for row in rows if (used := row.spent or row.tokens)]

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
        prompt=use([tokens.prompt for tokens in stated]),
        cached=use([tokens.cached for tokens in stated]),
        completion=use([tokens.completion for tokens in stated]),
        reasoning=use([tokens.reasoning for tokens in stated]),
    )


def prompt_cache(rows: Sequence[Outcome]) -> PromptCache | None:
    """What prefix caches served; None where no response says it."""
    told = [
        (row.tokens.prompt, row.tokens.cached)
        for row in rows
        if row.tokens and row.tokens.prompt is not None and row.tokens.cached is not None
    ]
    if not told:
        return None
    prompt, cached = sum(asked for asked, _ in told), sum(served for _, served in told)
    return PromptCache(answers=len(told), prompt=prompt, cached=cached, share=cached / prompt if prompt else None)


def thinking_use(rows: Sequence[Outcome], budget: int | None) -> ThinkingUse | None:
    """How the responses kept a thinking budget; None without one."""
    if budget is None:
        return None
    counts = [row.tokens.reasoning for row in rows if row.tokens]
    known = [tokens for tokens in counts if tokens is not None]
    return ThinkingUse(
        budget=budget,
        over=sum(tokens > budget for tokens in known),
        unknown=len(counts) - len(known),
        most=max(known, default=None),
    )


def context_cut(rows: Sequence[Outcome], budget: int | None) -> ContextCut | None:
    """The answers that ended at a limit and are shorter than the budget; None without one or without such answers."""
    lengths = [row.tokens.completion for row in rows if row.tokens and row.ending == "truncated"]
    cut = [tokens for tokens in lengths if tokens is not None and budget is not None and tokens < budget]
    return ContextCut(budget=budget, answers=len(cut), fewest=min(cut)) if cut and budget is not None else None


def decided_by(rows: Sequence[Outcome]) -> dict[str, int]:
    """Parts by the stage that decided them, most first; undecided ones under "undecided"."""
    stages = Counter(stage for row in rows for stage in row.stages)
    return dict(sorted(stages.items(), key=lambda item: (-item[1], item[0])))
