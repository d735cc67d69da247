"""From a response to its verdict: extraction, then the judges. The one path that every command takes."""

from __future__ import annotations

from livek12 import __version__
from livek12.core.records import Question, Response, Verdict
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig, grade
from livek12.tasks.extraction import extract


def mark_response(question: Question, response: Response, config: GradingConfig, cascade: Cascade) -> Verdict:
    """Marks one response.

    Args:
        question: the question with its key.
        response: what the model said; its thinking text is never looked at.
        config: the rules in force.
        cascade: the stages that decide.
    """
    found = extract(response.text, question, response.finish_reason)
    verdict = grade(question, response.key, found.answers, config=config, cascade=cascade)
    reason = "; ".join(filter(None, (verdict.reason, "the response was cut short" if found.truncated else "")))
    changes = {"reason": reason, "response_sha256": response.sha256, "versions": {"livek12": __version__}}
    return verdict.model_copy(update=changes)
