"""Accuracy within a token budget, read in two ways (LiveK12Bench, sections 2.3 and 3.2).

Contract: both are Acc≤r = (1/N)·#(S = 1 and l ≤ r · token limit), l all completion tokens, thinking included; both
keep every question and trial in N, are intervals while anything is undecided, and are not available where an answer
states no count. They differ in whose answers they are of:

true            those drawn under that very limit: an answer that reached it was cut there, and is marked on what it
                holds by then.
counterfactual  those of the longest run, cut after the fact: an answer that is longer than the limit counts as not
                given, whatever it held by then. So it is at most the true one, but for the luck of sampling.
                Beyond the limit of the longest run it does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from livek12.core.scoring.estimates import Units, draw, estimates
from livek12.core.scoring.formulas import RATIOS, Terms, budget_term
from livek12.core.scoring.schema import BudgetCurve, BudgetPoint, Estimate, Limit, Parameters

if TYPE_CHECKING:
    from livek12.core.scoring.answers import Table

TRUE = "answers drawn under the limit: one that reached it was cut there and is marked on what it holds"
COUNTERFACTUAL = "answers of {}, cut after the fact: one that is longer than the limit counts as not given"


def budget_curves(
    tables: Mapping[str, Table], limits: Mapping[str, Limit], parameters: Parameters
) -> dict[str, BudgetCurve]:
    """The curve of each task that has limits: at the article's r, and at those of its budgets.

    Args:
        tables: the answers, by task.
        limits: the limit of each task that has token budgets.
        parameters: `token_limit` is what r = 1 allows.
    """
    groups: dict[str, dict[str, Limit]] = {}
    for task in tables:
        if task in limits:
            groups.setdefault(limits[task].of, {})[task] = limits[task]
    return {of: _curve({task: tables[task] for task in group}, group, parameters) for of, group in groups.items()}


def within_limit(terms: Terms, limit: Limit | None, parameters: Parameters) -> Terms:
    """The terms of a task without those Acc≤r that its answers were never allowed the tokens for."""
    if limit is None or limit.tokens is None:
        return terms
    most = f"{limit.tokens:,} tokens" if limit.share is None else f"r = {limit.share:g}"
    why = f"not available: the answers were limited to {most}"
    beyond = [f"Acc≤{ratio}" for ratio in RATIOS if int(float(ratio) * parameters.token_limit) > limit.tokens]
    return terms | dict.fromkeys(beyond, why)


def _curve(tables: Mapping[str, Table], limits: Mapping[str, Limit], parameters: Parameters) -> BudgetCurve:
    longest = max(limits, key=lambda task: _allowed(limits[task]))
    end = limits[longest].tokens
    shares = sorted({float(ratio) for ratio in RATIOS} | {limit.share for limit in limits.values() if limit.share})
    tokens = {share: int(share * parameters.token_limit) for share in shares}
    cut: Terms = {
        str(share): budget_term(tables[longest].answers, allowed)
        if end is None or allowed <= end
        else f"not available: the longest answers were limited to {end:,} tokens"
        for share, allowed in tokens.items()
    }
    cuts = _drawn(cut, tables[longest], parameters)
    points = []
    for share, allowed in tokens.items():
        task = next((task for task, limit in limits.items() if limit.tokens == allowed), None)
        true = None if task is None else _true(tables[task], allowed, parameters)
        points.append(
            BudgetPoint(share=share, tokens=allowed, true=true, true_task=task, counterfactual=cuts[str(share)])
        )
    return BudgetCurve(
        longest=longest,
        longest_tokens=end,
        true_means=TRUE,
        counterfactual_means=COUNTERFACTUAL.format(longest),
        points=points,
    )


def _allowed(limit: Limit) -> float:
    return float("inf") if limit.tokens is None else limit.tokens


def _true(table: Table, allowed: int, parameters: Parameters) -> Estimate:
    """Acc≤r of answers that were drawn under the limit; says where the engine did not keep it."""
    over = int((table.answers.tokens > allowed).sum())
    found = _drawn({"true": budget_term(table.answers, allowed)}, table, parameters)["true"]
    if over and found["note"] is None:
        found["note"] = f"{over} answers are longer than the limit, which was not kept: they count as not given"
    return found


def _drawn(terms: Terms, table: Table, parameters: Parameters) -> dict[str, Estimate]:
    return estimates(draw(terms, table, Units(table.questions, parameters)))
