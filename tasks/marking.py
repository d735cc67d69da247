"""From a response to its verdict: extraction, the rules, and where these leave something open, judge models.

The one path that every command takes. `mark_response` is rules alone; `second_look` puts what they left open before a
panel. Thinking text is never looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from livek12 import __version__
from livek12.core.records import Image, Key, PartVerdict, Question, Response, Verdict
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig, grade, total
from livek12.tasks.extraction import extract
from livek12.tasks.extraction.substance import spoken

if TYPE_CHECKING:
    from livek12.judges.llm.audit import Auditor
    from livek12.judges.llm.case import Case
    from livek12.judges.llm.settle import Settler

_log = logging.getLogger(__name__)


def mark_response(question: Question, response: Response, config: GradingConfig, cascade: Cascade) -> Verdict:
    """Marks one response by rule.

    Args:
        question: the question with its key.
        response: what the model said.
        config: the rules in force.
        cascade: the stages that decide.
    """

    def mark() -> Verdict:
        found = extract(response.text, question, response.finish_reason)
        return grade(question, response.key, found.answers, config=config, cascade=cascade)

    return _stamped(unless_broken(question, response.key, config, mark), response)


def unless_broken(question: Question, key: Key, config: GradingConfig, mark: Callable[[], Verdict]) -> Verdict:
    """The verdict of `mark`; a rule that breaks off costs this answer its mark (ungraded, with the reason), no more."""
    try:
        return mark()
    except Exception as error:
        _log.warning("%s: the rules broke off", key, exc_info=True)
        reason = f"the rules broke off ({type(error).__name__})"
        gold = "; ".join(question.answer)
        part = PartVerdict(answer=None, gold=gold, decision="undecided", score=None, decided_by="rules", reason=reason)
        return total(question, key, [part], config)


def needs_second_look(question: Question, response: Response, verdict: Verdict, settler: Settler) -> bool:
    """Whether the rules left something open that a model could decide."""
    return settler.wants(verdict, case_of(question, response), response.finish_reason == "length")


def second_look(
    question: Question,
    response: Response,
    verdict: Verdict,
    settler: Settler,
    authors: Collection[str] = (),
    pages: tuple[Image, ...] = (),
) -> Verdict:
    """The verdict of the rules with what they left open decided by a panel, where anything is open.

    Args:
        question: with the bytes of its pictures.
        response: what the model said.
        verdict: what the rules made of it.
        settler: the panel with the task's method.
        authors: names of the model under test.
        pages: the page images that it was shown.
    """
    case = case_of(question, response, pages, settler.panel.spec.images)
    return _stamped(settler.settle(verdict, case, authors, response.finish_reason == "length"), response)


def audited(
    question: Question,
    response: Response,
    verdict: Verdict,
    auditor: Auditor,
    authors: Collection[str] = (),
    pages: tuple[Image, ...] = (),
) -> Verdict:
    """The verdict with the process audit of the response.

    Args:
        question: with the bytes of its pictures.
        response: what the model said.
        verdict: of its parts.
        auditor: the critics.
        authors: names of the model under test.
        pages: the page images that it was shown.
    """
    return auditor.audit(verdict, case_of(question, response, pages, auditor.panel.spec.images), authors)


def case_of(question: Question, response: Response, pages: tuple[Image, ...] = (), images: bool = True) -> Case:
    """A response as a case for judges; its id is the question's, with the trial after the first."""
    from livek12.judges.llm.case import Case

    trial = f"/{response.key.trial}" if response.key.trial else ""
    return Case(question.id + trial, question, spoken(response.text, question), pages, images)


def _stamped(verdict: Verdict, response: Response) -> Verdict:
    """The verdict with what it was given for, and by which version."""
    cut = "the response was cut short" if response.finish_reason == "length" else ""
    reason = verdict.reason if cut and cut in verdict.reason else "; ".join(filter(None, (verdict.reason, cut)))
    versions = {**verdict.versions, "livek12": __version__}
    return verdict.model_copy(update={"reason": reason, "response_sha256": response.sha256, "versions": versions})
