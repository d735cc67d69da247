"""Protocols of judge models: each turns one case into one vote on each open part.

A vote is undecided, with the reason, if there is no readable reply. Methods:

    p1 p2 p3   KMMMU, Table 23: [TRUE] or [FALSE] for each open part
    count      LiveK12Bench: which of the open parts are right, and their number
    marks      MDK12-Bench: m of n of a part, worth m/n
    s2s        CFE-Bench: extract one value a variable, verify each; of open answers only the values that the rules
               leave open
    s2s_rules  the same for all answers: the rules compare the values first
    l2s l2l    CFE-Bench: the whole response against the variables; against the whole solution
    compass    CompassVerifier with the user's prompt: A, B or C for each open part; C is no vote
    xverify    xVerify with the user's prompt: Correct or Incorrect for each open part
    scheme     the criteria of the question's marking scheme are the parts: all points, partial ones or none for each
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from livek12.core.records import Call, Question, SchemeCriterion
from livek12.core.schemes import criteria_of
from livek12.judges.base import Decision, Outcome
from livek12.judges.llm.client import Answer
from livek12.judges.llm.forms import (
    Checked,
    CompassLine,
    Counted,
    Earned,
    Earnings,
    FinalLine,
    Form,
    Invalid,
    Marks,
    Share,
    TruthLine,
    Values,
    Variables,
    Whole,
    XVerifyWord,
)
from livek12.judges.llm.prompts import GIVEN, Case, Fenced, table
from livek12.judges.parts import GradedPart
from livek12.judges.scheme import own_words

SCHEME = "scheme"
"""The method of questions with a marking scheme, and its prompt."""
Decide = Callable[[GradedPart, str], Decision]
"""The rules' decision on a value for a part."""


@dataclass(frozen=True)
class PartVote:
    """One judge's vote on one part; `score` is None exactly when undecided.

    `by` is the stage of the rules that decided on the extracted answer; "" for the judge itself.
    """

    decision: Outcome
    score: float | None
    reason: str = ""
    raw: str | None = None
    answer: str | None = None
    by: str = ""


@dataclass(frozen=True)
class Opinion:
    """One judge's votes, one a part."""

    votes: tuple[PartVote, ...]
    calls: tuple[Call, ...] = ()


class Ask(Protocol):
    """Sends a prompt file about the case; `about` tells requests apart."""

    def __call__(
        self, prompt: str, values: Mapping[str, str | Fenced], form: Form[Any], about: str = ""
    ) -> Answer[Any]:
        """The answer."""
        ...


@dataclass(frozen=True)
class Open:
    """An open part: its index and key."""

    index: int
    part: GradedPart


Run = Callable[[Case, Sequence[Open], Ask, Decide], Opinion]


@dataclass(frozen=True)
class Method:
    """A protocol for one judge.

    Attributes:
        prompts: its prompt files, or `GIVEN`.
        with_rules: rules decide extractions even of decided answers.
    """

    name: str
    prompts: tuple[str, ...]
    run: Run = field(compare=False)
    with_rules: bool = False

    @property
    def takes_prompt(self) -> bool:
        """Checks whether the method needs the user's prompt."""
        return GIVEN in self.prompts


# --- one verdict a part ---------------------------------------------------------------------------------------------


def _line_method(prompt: str, form: Form[Checked | Invalid]) -> Run:
    def run(case: Case, parts: Sequence[Open], ask: Ask, decide: Decide) -> Opinion:
        votes: list[PartVote] = []
        calls: list[Call] = []
        for open_part in parts:
            reference = case.reference_block([_labelled(case.question, open_part, parts)], "GOLD ANSWER")
            values = {"question": case.question_block(), "reference": reference, "response": case.response_block()}
            answer: Answer[Checked | Invalid] = ask(prompt, values, form, _about(open_part))
            votes.append(_vote(answer, answer.value))
            calls += answer.calls
        return Opinion(tuple(votes), tuple(calls))

    return run


def _marks(case: Case, parts: Sequence[Open], ask: Ask, decide: Decide) -> Opinion:
    votes: list[PartVote] = []
    calls: list[Call] = []
    for open_part in parts:
        reference = case.reference_block([_labelled(case.question, open_part, parts)])
        values = {"question": case.question_block(), "reference": reference, "response": case.response_block()}
        answer: Answer[Share] = ask("mdk12_marks", values, Marks(), _about(open_part))
        votes.append(_share_vote(answer))
        calls += answer.calls
    return Opinion(tuple(votes), tuple(calls))


def _count(case: Case, parts: Sequence[Open], ask: Ask, decide: Decide) -> Opinion:
    from livek12.core.question_types import READER_TYPES

    whole = len(parts) == 1 and case.question.question_type in READER_TYPES
    if whole:
        ask_for = "Number the sub-questions of the reference in order; without sub-questions there is 1 part."
        golds = [parts[0].part.gold]
    else:
        golds = [_labelled(case.question, part, ()) for part in parts]
        ask_for = f"There {'is 1 part' if len(parts) == 1 else f'are {len(parts)} parts'} to decide."
    values: dict[str, str | Fenced] = {
        "question": case.question_block(),
        "reference": case.reference_block(golds),
        "solution": case.solution_block(),
        "response": case.response_block(),
        "parts": ask_for,
    }
    form = Counted(None if whole else len(parts))
    answer: Answer[Share] = ask("livek12_count", values, form, _about_of(parts))
    if whole:
        return Opinion((_share_vote(answer),), answer.calls)
    checks: Sequence[Checked | None] = answer.value.parts if answer.value else [None] * len(parts)
    return Opinion(tuple(_vote(answer, checked) for checked in checks), answer.calls)


# --- typed variables ------------------------------------------------------------------------------------------------


def _s2s(case: Case, parts: Sequence[Open], ask: Ask, decide: Decide) -> Opinion:
    """Extracts one value a variable, then compares them (CFE-Bench, section 3.3).

    Values that the rules (`decide`) leave open go to the judge again, alone. A failed extraction decides nothing; a
    missing value is wrong.
    """
    extracted: Answer[list[str | None]] = ask(
        "cfe_extract",
        {
            "question": case.question_block(),
            "variables": table("VARIABLES", _variable_rows(case.question, parts, with_values=False)),
            "response": case.response_block(),
        },
        Values(_names_of(parts)),
        _about_of(parts),
    )
    if extracted.value is None:
        return Opinion((_undecided_vote(extracted),) * len(parts), extracted.calls)
    values = [value.strip() or None if value else None for value in extracted.value]
    decisions = [decide(part.part, value) if value else None for part, value in zip(parts, values, strict=True)]
    doubtful = [n for n, decision in enumerate(decisions) if decision is not None and decision.decision == "undecided"]
    verified: Answer[list[Checked]] | None = None
    if doubtful:
        verified = _verify(case, [parts[n] for n in doubtful], [values[n] or "" for n in doubtful], ask)
    votes = []
    for n, (value, decision) in enumerate(zip(values, decisions, strict=True)):
        if n in doubtful and verified is not None:
            checked = verified.value[doubtful.index(n)] if verified.value else None
            votes.append(_verified(verified, checked, value))
        else:
            votes.append(_by_rule(extracted, value, decision))
    calls = (*extracted.calls, *(verified.calls if verified else ()))
    return Opinion(tuple(votes), calls)


def _verify(case: Case, parts: Sequence[Open], values: Sequence[str], ask: Ask) -> Answer[list[Checked]]:
    names = _names_of(parts)
    rows: list[dict[str, object]] = [{"name": n, "value": v} for n, v in zip(names, values, strict=True)]
    shown = {
        "question": case.question_block(),
        "references": table("REFERENCE VALUES", _variable_rows(case.question, parts, with_values=True)),
        "values": table("VALUES FOUND", rows),
    }
    answer: Answer[list[Checked]] = ask("cfe_verify", shown, Variables(names), _about_of(parts))
    return answer


def _by_rule(extracted: Answer[list[str | None]], value: str | None, decision: Decision | None) -> PartVote:
    if decision is None:
        return PartVote("reject", 0.0, "the response gives no value", extracted.raw)
    reason = f"{decision.by}: {decision.reason}"
    return PartVote(decision.decision, decision.score, reason, extracted.raw, value, decision.by)


def _verified(answer: Answer[list[Checked]], checked: Checked | None, value: str | None) -> PartVote:
    if checked is None:
        return PartVote("undecided", None, answer.problem, answer.raw, value)
    return PartVote(
        "accept" if checked.correct else "reject", float(checked.correct), checked.reason, answer.raw, value
    )


def _l2s(case: Case, parts: Sequence[Open], ask: Ask, decide: Decide) -> Opinion:
    names = _names_of(parts)
    references = table("REFERENCE VALUES", _variable_rows(case.question, parts, with_values=True))
    values = {"question": case.question_block(), "references": references, "response": case.response_block()}
    answer: Answer[list[Checked]] = ask("cfe_l2s", values, Variables(names), _about_of(parts))
    checks: Sequence[Checked | None] = answer.value or [None] * len(parts)
    return Opinion(tuple(_vote(answer, checked) for checked in checks), answer.calls)


def _l2l(case: Case, parts: Sequence[Open], ask: Ask, decide: Decide) -> Opinion:
    values = {
        "question": case.question_block(),
        "reference": case.reference_block([part.part.gold for part in parts]),
        "solution": case.solution_block(),
        "response": case.response_block(),
    }
    answer: Answer[Checked] = ask("cfe_l2l", values, Whole(), _about_of(parts))
    return Opinion((_vote(answer, answer.value),) * len(parts), answer.calls)


def _names_of(parts: Sequence[Open]) -> tuple[str, ...]:
    names = [open_part.part.name or f"part {open_part.index + 1}" for open_part in parts]
    return tuple(
        name if names.count(name) == 1 else f"{name} ({open_part.index + 1})"
        for name, open_part in zip(names, parts, strict=True)
    )


def _variable_rows(question: Question, parts: Sequence[Open], with_values: bool) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name, open_part in zip(_names_of(parts), parts, strict=True):
        variable = question.variables[open_part.index] if question.variables else None
        row: dict[str, object] = {"name": name}
        if variable:
            row |= {"description": variable.description, "type": variable.type}
        if with_values:
            row["reference"] = open_part.part.gold
        rows.append(row)
    return rows


# --- criteria -------------------------------------------------------------------------------------------------------


def _scheme(case: Case, parts: Sequence[Open], ask: Ask, decide: Decide) -> Opinion:
    """One request for the open criteria."""
    criteria = criteria_of(case.question)
    chosen = [criteria[part.index] for part in parts]
    values: dict[str, str | Fenced] = {
        "question": case.question_block(),
        "reference": case.reference_block(case.question.answer),
        "solution": case.solution_block(),
        "scheme": table("MARKING SCHEME", [_criterion_row(criterion) for criterion in criteria]),
        "response": case.response_block(),
        "criteria": f"Decide these criteria: {', '.join(criterion.id for criterion in chosen)}.",
    }
    form = Earnings(tuple(chosen), own_words(case.response, doubted=True))
    answer: Answer[list[Earned | Invalid]] = ask("scheme", values, form, _about_of(parts))
    if answer.value is None:
        return Opinion((_undecided_vote(answer),) * len(parts), answer.calls)
    votes = map(_earned_vote, chosen, answer.value)
    return Opinion(tuple(votes), answer.calls)


def _scheme_each(case: Case, parts: Sequence[Open], ask: Ask, decide: Decide) -> Opinion:
    """One request a criterion."""
    opinions = [_scheme(case, [part], ask, decide) for part in parts]
    calls = (call for opinion in opinions for call in opinion.calls)
    return Opinion(tuple(vote for opinion in opinions for vote in opinion.votes), tuple(calls))


def _criterion_row(criterion: SchemeCriterion) -> dict[str, object]:
    shown = {"id", "points", "text", "part", "needs", "expression"}
    row: dict[str, object] = criterion.model_dump(include=shown, exclude_defaults=True)
    for name, marks in (("partial", criterion.partial), ("deduct", criterion.deduct)):
        if marks:
            row[name] = [{"points": mark.points, "for": mark.text} for mark in marks]
    return row


def _earned_vote(criterion: SchemeCriterion, earned: Earned | Invalid) -> PartVote:
    if isinstance(earned, Invalid):
        return PartVote("undecided", None, earned.reason)
    share = earned.points / criterion.points
    decision: Outcome = "accept" if share == 1 else "reject"
    return PartVote(decision, share, earned.reason, answer=earned.quote if share else None)


# --- votes ----------------------------------------------------------------------------------------------------------


def _undecided_vote(answer: Answer[Any]) -> PartVote:
    return PartVote("undecided", None, answer.problem, answer.raw)


def _vote(answer: Answer[Any], checked: Checked | Invalid | None) -> PartVote:
    if checked is None:
        return _undecided_vote(answer)
    if isinstance(checked, Invalid):
        return PartVote("undecided", None, checked.reason, answer.raw)
    decision: Outcome = "accept" if checked.correct else "reject"
    return PartVote(decision, float(checked.correct), checked.reason, answer.raw)


def _share_vote(answer: Answer[Share]) -> PartVote:
    share = answer.value
    if share is None:
        return _undecided_vote(answer)
    decision: Outcome = "accept" if share.correct == share.total else "reject"
    reason = share.reason or "; ".join(filter(None, (part.reason for part in share.parts)))
    said = f"{share.correct} of {share.total}"
    return PartVote(decision, share.correct / share.total, f"{said}: {reason}" if reason else said, answer.raw)


def _labelled(question: Question, open_part: Open, among: Sequence[Open]) -> str:
    name = open_part.part.name
    if name:
        return f"{name} = {open_part.part.gold}"
    several = max(len(question.answer), open_part.index + 1, len(among)) > 1
    return f"(blank or sub-question {open_part.index + 1}) {open_part.part.gold}" if several else open_part.part.gold


def _about(open_part: Open) -> str:
    return _about_of([open_part])


def _about_of(parts: Sequence[Open]) -> str:
    indices = [open_part.index for open_part in parts]
    return "" if indices == list(range(len(indices))) else "#" + ",".join(str(index + 1) for index in indices)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("p1", ("kmmmu_p1",), _line_method("kmmmu_p1", TruthLine())),
        Method("p2", ("kmmmu_p2",), _line_method("kmmmu_p2", TruthLine())),
        Method("p3", ("kmmmu_p3",), _line_method("kmmmu_p3", FinalLine())),
        Method("count", ("livek12_count",), _count),
        Method("marks", ("mdk12_marks",), _marks),
        Method("s2s", ("cfe_extract", "cfe_verify"), _s2s),
        Method("s2s_rules", ("cfe_extract", "cfe_verify"), _s2s, with_rules=True),
        Method("l2s", ("cfe_l2s",), _l2s),
        Method("l2l", ("cfe_l2l",), _l2l),
        Method("compass", (GIVEN,), _line_method(GIVEN, CompassLine())),
        Method("xverify", (GIVEN,), _line_method(GIVEN, XVerifyWord())),
        Method(SCHEME, (SCHEME,), _scheme),
    )
}
SCHEME_METHODS: Mapping[str, Method] = {"one": METHODS[SCHEME], "each": Method(SCHEME, (SCHEME,), _scheme_each)}
"""The method by the requests for an answer."""
