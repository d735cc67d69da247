"""The second judge: takes a verdict of the rules and has a panel decide what they left open.

Contract: a part that the rules decided is never touched, unless the panel sees every answer (`PanelSpec.scope`): then
it is open too, what the rules said of it is forgotten, and they are not asked about what a judge extracts. Open are
the undecided parts, and all parts of a response in which the rules found no answer, if it was not cut short (a rule
that finds nothing has not read the response). A question that is marked by reading goes straight to the panel,
sub-question by sub-question, with its reference solution. Without a key (and, where one reads, without a solution)
nothing is asked. What the panel does not decide stays undecided; the verdict is then ungraded and says why.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from livek12.core.records import PartVerdict, Verdict
from livek12.judges.base import Decision, NamedJudge, undecided
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig, decide_part, judge_version, total
from livek12.judges.llm.case import Case
from livek12.judges.llm.methods import METHODS, Open
from livek12.judges.llm.panel import Panel, Ruling
from livek12.judges.parts import READER_TYPES, GradedPart, parts_of

SHOWN = 2000
"""Characters of a response that is kept as the answer to each of several sub-questions."""


@dataclass(frozen=True)
class PanelScorer:
    """A panel with the method of one task, and the rules that it shares with the first judge."""

    panel: Panel
    named: NamedJudge
    config: GradingConfig
    cascade: Cascade

    @property
    def method_name(self) -> str:
        """The method: as the panel says, else the task's own."""
        return self.panel.spec.method or self.named.method

    @property
    def version(self) -> str:
        """Names rules and panel: equal strings mark equally."""
        method = METHODS[self.method_name]
        panel = self.panel.spec.version(method.name, method.prompts, self.panel.spec.size or self.named.size)
        return f"{judge_version(self.config)} {panel}"

    @property
    def versions(self) -> dict[str, str]:
        """The prompt files in use, and the panel, for the record."""
        prompts, of = METHODS[self.method_name].prompts, self.panel.spec.prompt_of
        return {"judge": self.version} | {f"prompt {name}": of(name).sha256 for name in prompts}

    def wants(self, verdict: Verdict, case: Case, cut_short: bool) -> bool:
        """Whether anything is open that a model could decide."""
        return bool(open_parts(verdict, case, cut_short, self.panel.spec.scope == "all")[1])

    def settle(self, verdict: Verdict, case: Case, authors: Collection[str] = (), cut_short: bool = False) -> Verdict:
        """The verdict with the open parts decided, as far as the panel decides them.

        Args:
            verdict: of the rules.
            case: the question with its pictures, and the response.
            authors: names of the model under test.
            cut_short: the response ended at its token limit.
        """
        parts, asked = open_parts(verdict, case, cut_short, self.panel.spec.scope == "all")
        if not asked:
            return verdict.model_copy(update={"judge": self.version, "versions": self.versions})

        method = METHODS[self.method_name]
        with_rules = method.with_rules or self.panel.spec.scope != "all"

        def decide(part: GradedPart, answer: str) -> Decision:
            if not with_rules:
                return undecided("rules", "the judge decides")
            return decide_part(case.question, part, answer, self.config, self.cascade)

        rulings, calls = self.panel.rule(case, asked, method, decide, authors, self.named.size)
        settled = list(parts)
        for open_part, ruling in zip(asked, rulings, strict=True):
            settled[open_part.index] = _ruled(parts[open_part.index], ruling)
        found = total(case.question, verdict.key, settled, self.config)
        return found.model_copy(update={"calls": list(calls), "judge": self.version, "versions": self.versions})


def open_parts(
    verdict: Verdict, case: Case, cut_short: bool, everything: bool = False
) -> tuple[list[PartVerdict], list[Open]]:
    """The parts as they are (a question that is read by its sub-questions), and which of them to ask about.

    Args:
        verdict: so far.
        case: the question and the response.
        cut_short: the response ended at its token limit.
        everything: what the rules decided is open too; what models decided is not.
    """
    question = case.question
    if not case.response.strip() or (verdict.state == "no_answer" and cut_short):
        return verdict.parts, []
    reads = question.question_type in READER_TYPES and not question.variables
    if reads:
        golds = [gold for gold in question.answer if gold.strip()] or [""]
        if not golds[0] and not (question.solution or "").strip():
            return verdict.parts, []
        shown = case.response if len(golds) == 1 or len(case.response) <= SHOWN else case.response[:SHOWN] + " …"
        parts = [_undecided(GradedPart(gold), shown) for gold in golds]
        return parts, [Open(index, GradedPart(gold)) for index, gold in enumerate(golds)]
    found_none = verdict.state == "no_answer"
    if not everything and not found_none and all(part.score is not None for part in verdict.parts):
        return verdict.parts, []  # as most are: the question need not be looked at
    graded = parts_of(question)
    if not graded:
        return verdict.parts, []
    parts = [_undecided(part, None) for part in graded] if found_none else verdict.parts
    if everything and len(parts) == len(graded):
        parts = [part if part.votes else _undecided(own, part.answer) for own, part in zip(graded, parts, strict=True)]
    asked = [
        Open(index, part)
        for index, part in enumerate(graded)
        if part.gold.strip() and index < len(parts) and parts[index].score is None
    ]
    return parts, asked


def _undecided(part: GradedPart, answer: str | None) -> PartVerdict:
    return PartVerdict(
        name=part.name, answer=answer, gold=part.gold, decision="undecided", score=None, decided_by="rules"
    )


def _ruled(part: PartVerdict, ruling: Ruling) -> PartVerdict:
    judges = {vote.judge for vote in ruling.votes}
    by_rules = f" (rules: {part.reason})" if ruling.score is None and part.reason else ""
    return part.model_copy(
        update={
            "answer": part.answer if ruling.answer is None else ruling.answer,
            "decision": ruling.decision,
            "score": ruling.score,
            "decided_by": ruling.by or ("panel" if len(judges) > 1 else "llm" if judges else part.decided_by),
            "reason": ruling.reason + by_rules,
            "votes": list(ruling.votes),
        }
    )
