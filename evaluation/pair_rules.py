"""What the rules say to a row: as to a response of a run, but that a bare answer needs no commitment.

Contract: a response of some length in which no answer was found is undecided here: nobody has read it. One that says
nothing is *no answer*, worth 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from livek12.core.records import PartVerdict, Verdict
from livek12.evaluation.pairs import (
    BadPair,
    Json,
    JudgedPair,
    extracted,
    line_id,
    open_row,
    read_pair,
    verdict_row,
)
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig, grade, judge_version, total
from livek12.tasks.extraction.regions import spoken
from livek12.tasks.scorer import mark_response, unless_broken

BARE_CHARS: Final = 300
"""A response of one line that is no longer and commits to nothing is itself the answer."""
PAIR_CONFIG: Final = GradingConfig(partial_credit="proportional")


def rule_verdict(pair: JudgedPair, cascade: Cascade) -> Verdict:
    """The verdict on a pair.

    Raises:
        UserError: this machine cannot run the rules.
    """
    return unless_broken(pair.question, pair.response.key, PAIR_CONFIG, lambda: _rule_verdict(pair, cascade))


def _rule_verdict(pair: JudgedPair, cascade: Cascade) -> Verdict:
    verdict = mark_response(pair.question, pair.response, PAIR_CONFIG, cascade)
    if verdict.state != "no_answer" or not (text := spoken(pair.response.text, pair.question)):
        return verdict
    if len(text) <= BARE_CHARS and "\n" not in text:
        return grade(pair.question, pair.response.key, [text], config=PAIR_CONFIG, cascade=cascade)
    open_parts = [
        PartVerdict(
            name=part.name,
            answer=None,
            gold=part.gold,
            decision="undecided",
            score=None,
            decided_by="extraction",
            reason="no answer was found in the response",
        )
        for part in verdict.parts
    ]
    return total(pair.question, pair.response.key, open_parts, PAIR_CONFIG) if open_parts else verdict


def reply_to(line: bytes, folder: Path | None, cascade: Cascade, whole: bool) -> Json:
    """What a row is told: see `row_workers.Reply`.

    Args:
        line: the row.
        folder: where image files may lie; None for nowhere.
        cascade: the stages that decide.
        whole: whether the verdict is told, too.

    Raises:
        UserError: this machine cannot run the rules.
    """
    try:
        pair = read_pair(line, folder)
    except BadPair as error:
        return open_reply(line, "input", str(error))
    verdict = rule_verdict(pair, cascade)
    reply: Json = {"row": verdict_row(pair, verdict), "extracted": extracted(pair, verdict)}
    return {**reply, "verdict": verdict.model_dump(mode="json")} if whole else reply


def open_reply(line: bytes, by: str, reason: str) -> Json:
    """What a row is told that nobody could judge."""
    return {"row": open_row(line_id(line), by, reason, judge_version(PAIR_CONFIG)), "extracted": []}
