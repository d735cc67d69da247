"""Panels: draw judges for a response and add up their votes on the open parts.

A hash of (seed, question, judge) draws the judges, without the model under test, its family, and judges without vision
if the question has pictures. A part needs `quorum` usable votes:

- `mean`: its score is the mean of the votes; right if more votes accept than reject. A tie is undecided.
- `majority`: the decision of more than half of the usable votes; score 1, or the mean of those that reject.
- `unanimous`: the common decision.

If scores differ by more than `spread`, `extra` votes are added: of undrawn judges, else of the drawn ones anew.

Open parts are the undecided ones, and all parts of a complete response without an extracted answer; with
`PanelSpec.scope` `all`, all. A question that is marked by reading goes to the panel sub-question by sub-question, with
its solution.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.core.question_types import READER_TYPES
from livek12.core.records import Call, Key, PartVerdict, Question, Verdict, Vote
from livek12.core.schemes import is_by_scheme
from livek12.judges.base import Decision, NamedJudge, Outcome, undecided
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig, decide_part, judge_version, total
from livek12.judges.llm.client import Answer, JudgeModel, waits_for_turn
from livek12.judges.llm.families import families_of, normalised, same_model
from livek12.judges.llm.forms import Form
from livek12.judges.llm.methods import (
    METHODS,
    SCHEME,
    SCHEME_METHODS,
    Ask,
    Decide,
    Method,
    Open,
    Opinion,
    PartVote,
)
from livek12.judges.llm.prompts import AnyPrompt, CannotShow, Case, Values
from livek12.judges.llm.spec import PanelSpec, Rule
from livek12.judges.parts import GradedPart, parts_of
from livek12.judges.scheme import by_rules

T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ruling:
    """A panel's decision on one part. `score` is None exactly when undecided.

    `by` is the deciding stage of the rules; "" for the judges.
    """

    decision: Outcome
    score: float | None
    reason: str
    votes: tuple[Vote, ...]
    answer: str | None = None
    by: str = ""


class Panel:
    """Sends cases to its judges; thread-safe.

    Args:
        spec: the rules of the panel.
        judges: in the order of `spec.judges`.
        threads: for judges only: a task that waits for a panel would deadlock.
    """

    def __init__(self, spec: PanelSpec, judges: Sequence[JudgeModel], threads: Executor) -> None:
        self.spec = spec
        self._judges = {judge.name: judge for judge in judges}
        self._threads = threads
        self._warned: set[str] = set()

    def eligible(self, authors: Collection[str]) -> list[JudgeModel]:
        """Judges that may judge these models."""
        return [judge for judge in self._judges.values() if not self._barred(judge, authors)]

    def check(self, authors: Collection[str], size: int | None) -> None:
        """Logs excluded judges.

        Raises:
            UserError: fewer judges are eligible than a quorum needs.
        """
        eligible = {judge.name for judge in self.eligible(authors)}
        wanted, author = self._size(size), ", ".join(sorted(authors)) or "this"
        if len(eligible) < self.quorum(wanted):
            named = ", ".join(sorted(self._judges))
            raise UserError(
                f"{len(eligible)} of the judges {named} may judge {author} (never itself nor its family), and"
                f" {self.quorum(wanted)} are needed: name others with --judge"
            )
        if len(eligible) < wanted:
            barred = ", ".join(name for name in self._judges if name not in eligible)
            warn(
                f"{barred}: not asked about {author}, as the same model or one of its family; {len(eligible)} judges"
                f" mark each answer, not {wanted}: name judges of other families to have {wanted}"
            )

    def most(self, authors: Collection[str], size: int | None) -> int:
        """Largest number of judges for these models."""
        return min(self._size(size), len(self.eligible(authors)))

    def members(self, authors: Collection[str], size: int | None) -> str:
        """Eligible judges, and the number drawn, in words."""
        eligible = [judge.name for judge in self.eligible(authors)]
        drawn = self.most(authors, size)
        few = f"{drawn} of " if drawn < len(eligible) else ""
        return few + ", ".join(eligible)

    def rule(
        self,
        case: Case,
        parts: Sequence[Open],
        method: Method,
        decide: Decide,
        authors: Collection[str] = (),
        size: int | None = None,
    ) -> tuple[list[Ruling], tuple[Call, ...]]:
        """One ruling on each open part."""
        try:
            case.question_block()
            case.solution_block()
        except CannotShow as error:
            return [Ruling("undecided", None, str(error), ())] * len(parts), error.calls
        order = self._order(case, authors)
        drawn = order[: self._size(size)]
        if not drawn:
            return [Ruling("undecided", None, "no judge may judge this response", ())] * len(parts), ()

        def opinion(judge: JudgeModel, more: bool) -> Opinion:
            try:
                return method.run(case, parts, _asker(judge, case, case.draw(more), self.spec.prompt_of), decide)
            except CannotShow as error:
                return Opinion((PartVote("undecided", None, str(error)),) * len(parts), error.calls)

        given = self._gather([(judge, False) for judge in drawn], opinion)
        again = ""
        heard = not any(waits_for_turn(found.calls) for _, found in given)
        if heard and self._apart(given, len(parts)):
            more = [(judge, False) for judge in order[len(drawn) :]] + [(judge, True) for judge in drawn]
            again = f"judged again, the votes were more than {self.spec.spread:g} apart; "
            given += self._gather(more[: self.spec.extra], opinion)
        calls = tuple(call for _, found in given for call in found.calls)
        return [self._ruling(given, part, again, len(drawn)) for part in range(len(parts))], calls

    def consult(
        self, case: Case, authors: Collection[str], size: int | None, opinion: Callable[[JudgeModel], T]
    ) -> list[tuple[JudgeModel, T]]:
        """Opinions of the question's judges; empty if none is eligible."""
        drawn = self._order(case, authors)[: self._size(size)]
        return self._gather([(judge, False) for judge in drawn], lambda judge, _: opinion(judge)) if drawn else []

    def _gather(
        self, drawn: Sequence[tuple[JudgeModel, bool]], opinion: Callable[[JudgeModel, bool], T]
    ) -> list[tuple[JudgeModel, T]]:
        if len(drawn) == 1:
            return [(drawn[0][0], opinion(*drawn[0]))]
        futures = [self._threads.submit(opinion, judge, more) for judge, more in drawn]
        return [(judge, future.result()) for (judge, _), future in zip(drawn, futures, strict=True)]

    def _ruling(self, given: Sequence[tuple[JudgeModel, Opinion]], part: int, again: str, drawn: int) -> Ruling:
        cast = [(judge, opinion.votes[part]) for judge, opinion in given]
        votes = tuple(
            Vote(judge=judge.name, decision=vote.decision, score=vote.score, reason=vote.reason, raw=vote.raw)
            for judge, vote in cast
        )
        usable = [vote for _, vote in cast if vote.score is not None]
        answer = next((vote.answer for _, vote in cast if vote.answer), None)
        quorum = self.quorum(drawn)
        if len(usable) < quorum:
            problems = "; ".join(dict.fromkeys(vote.reason for _, vote in cast if vote.score is None))
            needed = f"{len(usable)} of {len(cast)} votes, {quorum} needed: " if len(cast) > 1 else ""
            return Ruling("undecided", None, f"{needed}{problems or 'too few judges'}", votes, answer)
        decision, score, reason = add_up(usable, self.spec.rule)
        by = "+".join(dict.fromkeys(vote.by for vote in usable)) if all(vote.by for vote in usable) else ""
        return Ruling(decision, score, again + reason, votes, answer, by if decision != "undecided" else "")

    def _apart(self, given: Sequence[tuple[JudgeModel, Opinion]], parts: int) -> bool:
        if self.spec.spread is None or len(given) < 2 or not self.spec.extra:
            return False
        for part in range(parts):
            scores = [opinion.votes[part].score for _, opinion in given]
            usable = [score for score in scores if score is not None]
            if usable and max(usable) - min(usable) > self.spec.spread:
                return True
        return False

    def _order(self, case: Case, authors: Collection[str]) -> list[JudgeModel]:
        able = [judge for judge in self.eligible(authors) if not case.has_images or judge.sees]
        return sorted(able, key=lambda judge: _lot(self.spec.seed, case.question.id, normalised(judge.name)))

    def _size(self, size: int | None) -> int:
        return min(self.spec.size or size or len(self._judges), len(self._judges))

    def quorum(self, drawn: int) -> int:
        """Votes that decide, of so many judges."""
        return self.spec.quorum or drawn // 2 + 1

    def _barred(self, judge: JudgeModel, authors: Collection[str]) -> bool:
        return any(same_model(judge.name, author) for author in authors) or (
            self.spec.exclude_family and any(self._related(judge, author) for author in authors)
        )

    def _related(self, judge: JudgeModel, author: str) -> bool:
        declared = self.spec.families
        own = judge.spec.family
        mine = frozenset({own.strip().lower()}) if own else families_of(judge.name, declared)
        theirs = families_of(author, declared)
        for name, names in ((judge.name, mine), (author, theirs)):
            if not names and name not in self._warned:
                self._warned.add(name)
                _log.warning("the family of %s is not known; declare it under `families` in a panel file", name)
        return bool(mine & theirs)


def add_up(votes: Sequence[PartVote], rule: Rule) -> tuple[Outcome, float | None, str]:
    """Decision, score and reason of at least one vote."""
    scores = [vote.score or 0.0 for vote in votes]
    yes = sum(vote.decision == "accept" for vote in votes)
    no = len(votes) - yes
    if len(votes) == 1:
        return votes[0].decision, votes[0].score, votes[0].reason
    tally = f"{yes} of {len(votes)} accept"
    if yes and no and (rule == "unanimous" or yes == no):
        return "undecided", None, f"{tally}: {'not unanimous' if rule == 'unanimous' else 'a tie'}"
    decision: Outcome = "accept" if yes > no else "reject"
    if rule in {"mean", "unanimous"}:
        return decision, sum(scores) / len(scores), tally
    siding = [score for score, vote in zip(scores, votes, strict=True) if vote.decision == decision]
    return decision, sum(siding) / len(siding), tally


def _lot(seed: int, question: str, judge: str) -> str:
    return hashlib.sha256(f"{seed}\0{question}\0{judge}".encode("utf-8", "replace")).hexdigest()


def _asker(judge: JudgeModel, case: Case, trial: int, prompt_of: Callable[[str], AnyPrompt]) -> Ask:
    def ask(prompt: str, values: Values, form: Form[Any], about: str = "") -> Answer[Any]:
        key = Key(task=prompt, question_id=case.id + about)
        return judge.ask(key, prompt_of(prompt), values, form, trial)

    return ask


SHOWN = 2000
"""Characters of a response stored as the answer to each of several sub-questions."""


@dataclass(frozen=True)
class PanelScorer:
    """A panel with the method of one task."""

    panel: Panel
    named: NamedJudge
    config: GradingConfig
    cascade: Cascade

    @property
    def _methods(self) -> list[Method]:
        """Method of questions without a scheme, and that of questions with one, if the panel marks by it."""
        spec = self.panel.spec
        if spec.method not in (None, SCHEME):
            return [METHODS[spec.method]]
        return [METHODS[self.named.method], SCHEME_METHODS[spec.scheme_requests]]

    def _by_scheme(self, question: Question) -> bool:
        return bool(question.scheme) and len(self._methods) > 1

    def sees_everything(self, question: Question) -> bool:
        """Checks whether the panel also sees decided answers."""
        return self.panel.spec.scope == "all" or self._by_scheme(question)

    @property
    def method_name(self) -> str:
        """The panel's method, else the task's."""
        return self.panel.spec.method or self.named.method

    @property
    def _prompts(self) -> list[str]:
        return [prompt for method in self._methods for prompt in method.prompts]

    @property
    def version(self) -> str:
        """Equal strings mark equally."""
        (own, *others), spec = self._methods, self.panel.spec
        beside = [prompt for method in others for prompt in method.prompts]
        panel = spec.version(self.method_name, own.prompts, spec.size or self.named.size, beside)
        return f"{judge_version(self.config)} {panel}"

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the prompt files and the panel."""
        of = self.panel.spec.prompt_of
        return {"judge": self.version} | {f"prompt {name}": of(name).sha256 for name in self._prompts}

    def wants(self, verdict: Verdict, case: Case, cut_short: bool) -> bool:
        """Checks for open parts that a model could decide."""
        if self._by_scheme(case.question):
            marked = is_by_scheme(case.question, verdict.parts) and verdict.state != "ungraded"
            return bool(case.response.strip()) and not marked
        return bool(open_parts(verdict, case, cut_short, self.panel.spec.scope == "all")[1])

    def settle(self, verdict: Verdict, case: Case, authors: Collection[str] = (), cut_short: bool = False) -> Verdict:
        """Decides the open parts of the rules' verdict.

        `authors` are names of the model under test; `cut_short` is by the token limit.
        """
        by_scheme = self._by_scheme(case.question) and bool(case.response.strip())
        parts, opened = (
            self._criteria(verdict, case)
            if by_scheme
            else open_parts(verdict, case, cut_short, self.panel.spec.scope == "all")
        )
        if not opened and not by_scheme:
            return verdict.model_copy(update={"judge": self.version, "versions": self.versions})

        method = self._methods[1 if by_scheme else 0]
        with_rules = method.with_rules or self.panel.spec.scope != "all"

        def decide(part: GradedPart, answer: str) -> Decision:
            if not with_rules:
                return undecided("rules", "the judge decides")
            return decide_part(case.question, part, answer, self.config, self.cascade)

        rulings, calls = self.panel.rule(case, opened, method, decide, authors, self.named.size) if opened else ([], ())
        settled = list(parts)
        for open_part, ruling in zip(opened, rulings, strict=True):
            settled[open_part.index] = _ruled(parts[open_part.index], ruling)
        judged = total(case.question, verdict.key, settled, self.config)
        return judged.model_copy(update={"calls": list(calls), "judge": self.version, "versions": self.versions})

    def _criteria(self, verdict: Verdict, case: Case) -> tuple[list[PartVerdict], list[Open]]:
        rules = None if self.panel.spec.scope == "all" else self.cascade
        parts = by_rules(case.question, case.response, verdict, rules)
        return parts, [Open(n, GradedPart(part.gold, part.name)) for n, part in enumerate(parts) if part.score is None]


def open_parts(
    verdict: Verdict, case: Case, cut_short: bool, everything: bool = False
) -> tuple[list[PartVerdict], list[Open]]:
    """Parts (or sub-questions), and those for the panel.

    `everything` also opens parts decided by rules, not by models.
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
        return verdict.parts, []  # the usual case: no need to look at the question
    graded = parts_of(question)
    if not graded:
        return verdict.parts, []
    parts = [_undecided(part, None) for part in graded] if found_none else verdict.parts
    if everything and len(parts) == len(graded):
        parts = [part if part.votes else _undecided(own, part.answer) for own, part in zip(graded, parts, strict=True)]
    opened = [
        Open(index, part)
        for index, part in enumerate(graded)
        if part.gold.strip() and index < len(parts) and parts[index].score is None
    ]
    return parts, opened


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
