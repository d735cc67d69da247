"""Short-to-short (CFE-Bench, section 3.2): a value for each variable is taken out of the response, then compared.

Contract: the judge extracts one value a variable; the rules compare each with its reference; what they leave open goes
to the judge once more, with the variable's name, description and type but without the response. An extraction that
failed leaves every variable undecided; a variable for which the response gives no value is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from livek12.judges.base import Decision
from livek12.judges.llm.case import Case, table
from livek12.judges.llm.client import Answer
from livek12.judges.llm.forms import Checked, Values, Variables
from livek12.judges.llm.methods import (
    Ask,
    Decide,
    Open,
    Opinion,
    PartVote,
    about_of,
    names_of,
    undecided_vote,
    variable_rows,
)


def extract_and_verify(case: Case, parts: Sequence[Open], ask: Ask, decide: Decide) -> Opinion:
    """One judge's votes on the open variables of a case."""
    found: Answer[list[str | None]] = ask(
        "cfe_extract",
        {
            "question": case.question_block(),
            "variables": table("VARIABLES", variable_rows(case.question, parts, with_values=False)),
            "response": case.response_block(),
        },
        Values(names_of(parts)),
        about_of(parts),
    )
    if found.value is None:
        return Opinion((undecided_vote(found),) * len(parts), found.calls)
    values = [value.strip() or None if value else None for value in found.value]
    said = [decide(part.part, value) if value else None for part, value in zip(parts, values, strict=True)]
    doubtful = [n for n, decision in enumerate(said) if decision is not None and decision.decision == "undecided"]
    verified: Answer[list[Checked]] | None = None
    if doubtful:
        verified = _verify(case, [parts[n] for n in doubtful], [values[n] or "" for n in doubtful], ask)
    votes = []
    for n, (value, decision) in enumerate(zip(values, said, strict=True)):
        if n in doubtful and verified is not None:
            checked = verified.value[doubtful.index(n)] if verified.value else None
            votes.append(_verified(verified, checked, value))
        else:
            votes.append(_by_rule(found, value, decision))
    calls = (*found.calls, *(verified.calls if verified else ()))
    return Opinion(tuple(votes), calls)


def _verify(case: Case, parts: Sequence[Open], values: Sequence[str], ask: Ask) -> Answer[list[Checked]]:
    names = names_of(parts)
    rows: list[dict[str, object]] = [{"name": n, "value": v} for n, v in zip(names, values, strict=True)]
    shown = {
        "question": case.question_block(),
        "references": table("REFERENCE VALUES", variable_rows(case.question, parts, with_values=True)),
        "values": table("VALUES FOUND", rows),
    }
    answer: Answer[list[Checked]] = ask("cfe_verify", shown, Variables(names), about_of(parts))
    return answer


def _by_rule(found: Answer[list[str | None]], value: str | None, decision: Decision | None) -> PartVote:
    if decision is None:
        return PartVote("reject", 0.0, "the response gives no value", found.raw)
    return PartVote(decision.decision, decision.score, f"{decision.by}: {decision.reason}", found.raw, value)


def _verified(answer: Answer[list[Checked]], checked: Checked | None, value: str | None) -> PartVote:
    if checked is None:
        return PartVote("undecided", None, answer.problem, answer.raw, value)
    return PartVote(
        "accept" if checked.correct else "reject", float(checked.correct), checked.reason, answer.raw, value
    )
