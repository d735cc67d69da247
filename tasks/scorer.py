"""Scoring: extraction, the rules, and model judges. Thinking text is ignored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.records import UNSPLIT, Image, Key, PartVerdict, Question, Response, Verdict
from livek12.core.version import __version__
from livek12.judges.base import NamedJudge, PartialCredit
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig, grade, judge_version, total
from livek12.tasks.extraction import extract
from livek12.tasks.extraction.regions import spoken

if TYPE_CHECKING:
    from livek12.judges.jury import Jury
    from livek12.judges.llm.audit import Auditor
    from livek12.judges.llm.panel import PanelScorer
    from livek12.judges.llm.prompts import Case

_log = logging.getLogger(__name__)


def mark_response(question: Question, response: Response, config: GradingConfig, cascade: Cascade) -> Verdict:
    """Marks one response by rule."""
    return stamped(judge_response(question, response, config, cascade), response)


def judge_response(question: Question, response: Response, config: GradingConfig, cascade: Cascade) -> Verdict:
    """As `mark_response`, without its version and the digest of the response."""

    def mark() -> Verdict:
        if response.finish_reason == UNSPLIT:
            return undecided(question, response.key, config, "its part of the sheet cannot be told")
        extraction = extract(response.text, question, response.finish_reason)
        return grade(question, response.key, extraction.answers, config=config, cascade=cascade)

    return unless_broken(question, response.key, config, mark)


def unless_broken(question: Question, key: Key, config: GradingConfig, mark: Callable[[], Verdict]) -> Verdict:
    """Verdict of `mark`; if a rule fails, this answer alone is ungraded.

    Raises:
        UserError: this machine cannot run the rules.
    """
    try:
        return mark()
    except UserError:
        raise
    except Exception as error:
        _log.warning("%s: the rules broke off", key, exc_info=True)
        return undecided(question, key, config, f"the rules broke off ({type(error).__name__})")


def undecided(question: Question, key: Key, config: GradingConfig, reason: str) -> Verdict:
    """Verdict of an answer that no rule can decide."""
    gold = "; ".join(question.answer)
    part = PartVerdict(answer=None, gold=gold, decision="undecided", score=None, decided_by="rules", reason=reason)
    return total(question, key, [part], config)


@dataclass(frozen=True)
class Scorer:
    """Marks responses: the rules, then a panel, then critics of the reasoning. Thread-safe."""

    config: GradingConfig
    cascade: Cascade
    panel: PanelScorer | None = None
    auditor: Auditor | None = None

    @classmethod
    def of(cls, judges: Jury, named: NamedJudge, credit: PartialCredit, authors: Collection[str] = ()) -> Scorer:
        """Scorer of a protocol.

        `named` is the task's judge, `authors` are names of the model under test.

        Raises:
            UserError: too few judges may judge these authors.
        """
        config = GradingConfig(partial_credit=credit)
        panel = judges.panel_scorer(named, config)
        if panel is not None:
            panel.panel.check(authors, named.size)
        return cls(config, judges.cascade, panel, judges.auditor(named))

    @property
    def version(self) -> str:
        """Equal strings mark equally."""
        by = [self.panel.version if self.panel else judge_version(self.config)]
        return " ".join([*by, self.auditor.version] if self.auditor else by)

    def by_rules(self, question: Question, response: Response) -> Verdict:
        """Verdict of the rules."""
        return mark_response(question, response, self.config, self.cascade)

    def has_more(self, question: Question, response: Response, verdict: Verdict) -> bool:
        """True if the panel could decide open parts."""
        cut = response.finish_reason == "length"
        return self.panel is not None and self.panel.wants(verdict, case_of(question, response), cut)

    def sees_everything(self, question: Question) -> bool:
        """True if the panel also sees decided answers."""
        return self.panel is not None and self.panel.sees_everything(question)

    def is_open(self, question: Question, response: Response, verdict: Verdict) -> bool:
        """True if model judges are needed."""
        audits = self.auditor is not None and bool(response.text.strip())
        return audits or self.has_more(question, response, verdict)

    def by_models(
        self,
        question: Question,
        response: Response,
        verdict: Verdict,
        authors: Collection[str] = (),
        pages: tuple[Image, ...] = (),
        repeat: int = 0,
    ) -> Verdict:
        """Completes the rules' verdict with model judges and the audit.

        `question` needs the bytes of its pictures; `pages` are those of the request, `repeat` counts earlier repeats.
        """
        if self.panel is not None:
            case = case_of(question, response, pages, self.panel.panel.spec.images, repeat)
            cut = response.finish_reason == "length"
            verdict = stamped(self.panel.settle(verdict, case, authors, cut), response)
        if self.auditor is not None:
            case = case_of(question, response, pages, self.auditor.panel.spec.images, repeat)
            verdict = self.auditor.audit(verdict, case, authors)
        return verdict

    def mark(
        self, question: Question, response: Response, authors: Collection[str] = (), pages: tuple[Image, ...] = ()
    ) -> Verdict:
        """Marks by the rules, then by models if needed."""
        verdict = self.by_rules(question, response)
        if not self.is_open(question, response, verdict):
            return verdict
        return self.by_models(question, response, verdict, authors, pages)


def case_of(
    question: Question, response: Response, pages: tuple[Image, ...] = (), images: bool = True, repeat: int = 0
) -> Case:
    """A response as a case for judges; its id is the question's, with the trial after the first."""
    from livek12.judges.llm.prompts import Case

    trial = f"/{response.key.trial}" if response.key.trial else ""
    return Case(question.id + trial, question, spoken(response.text, question), pages, images, repeat)


def stamped(verdict: Verdict, response: Response) -> Verdict:
    """Verdict with response and version."""
    cut = "the response was cut short" if response.finish_reason == "length" else ""
    reason = verdict.reason if cut and cut in verdict.reason else "; ".join(filter(None, (verdict.reason, cut)))
    versions = {**verdict.versions, "livek12": __version__}
    return verdict.model_copy(update={"reason": reason, "response_sha256": response.sha256, "versions": versions})
