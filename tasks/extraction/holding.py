"""The one rule over all claims of a text: the last one that is no weaker than those before it and no remark holds.

Where it is denied later, or names no option, what it says is handed on as it stands: a refusal ends the search.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from livek12.core.patterns import late
from livek12.core.text import CIRCLED
from livek12.tasks.extraction.choice_forms import CONCLUDED, MARKED
from livek12.tasks.extraction.claims import NO_LABELS, Asked, Claim, Labels, marked_claims
from livek12.tasks.extraction.denials import Named, quoted, taken_back
from livek12.tasks.extraction.label_lists import shared
from livek12.tasks.extraction.remarks import concludes, is_correction, is_remark, is_told, turned
from livek12.tasks.extraction.verdicts import LabelVerdict, label_verdicts
from livek12.tasks.extraction.weak_claims import plain_claims


def claims(cleaned: str, asked: Asked, explicit_only: bool = False) -> list[Claim]:
    """All claims of a cleaned text in the order in which they end; the weaker kinds only where there is no other."""
    listed = marked_claims(cleaned, asked) or ([] if explicit_only else plain_claims(cleaned, asked))
    return sorted(listed, key=lambda claim: claim.end)


def holding(cleaned: str, listed: list[Claim], asked: Asked) -> Claim | None:
    """The claim that holds: the last one that is no weaker and no remark; with its words alone where it is denied."""
    best: Claim | None = None
    for new in listed:
        if best is None or (new.labels == best.labels and new.strength > best.strength):
            best = new
        elif CONCLUDED < new.strength < MARKED and is_remark(cleaned, new.start, new.end):
            continue
        elif new.strength == best.strength <= CONCLUDED and new.labels != best.labels:
            best = replace(new, labels=NO_LABELS, said=quoted(cleaned[best.start : new.end]))
        elif new.strength >= best.strength or is_correction(cleaned[best.end : new.start]):
            best = new
    if best is None or not best.labels:
        return best
    if best.strength <= CONCLUDED and asked.wrong is False and not asked.several:
        said = (verdict for verdict in label_verdicts(cleaned) if verdict.right and not verdict.as_answer)
        if any(not verdict.labels <= best.labels for verdict in said):
            return replace(best, labels=NO_LABELS, said=quoted(cleaned))
    last = _LAST_LABEL.search(cleaned, max(0, best.end - 2))
    if last and last[1] not in best.labels:
        return replace(best, labels=NO_LABELS, said=quoted(cleaned[best.start :]))
    until = asked.printed_until(cleaned, best)
    if shared(cleaned, best.end, best.labels, asked.wrong) or shared(cleaned, until, best.labels, asked.wrong):
        return replace(best, labels=NO_LABELS, said=quoted(cleaned[best.start :]))
    denial = denied_until(cleaned, replace(best, end=until), asked)
    if denial is None:
        return best
    return replace(best, labels=NO_LABELS, said=quoted(cleaned[best.start : denial]))


_LAST_LABEL = late(
    r"\n\W{0,4}(?i:therefore|thus|hence|so|final(?:ly)?|所以|因此|故|따라서)[,:：]?\s*(?:we\s(?:choose|pick|take)\s|选)?"
    r"[(（]?([A-J])[)）]?[.。]?\s*\Z"
)
"""A last line that comes to an option."""


def denied_until(cleaned: str, claim: Claim, asked: Asked) -> int | None:
    """Where the first later denial of a claim ends; None where it stands."""
    back = taken_back(cleaned, claim.end, _named(claim, asked))
    if back is not None:
        return back
    said = label_verdicts(cleaned, claim.start)
    for verdict in said:
        if verdict.end > claim.end and verdict.labels & claim.labels and _denies(cleaned, verdict, said, claim, asked):
            return verdict.end
    return None


_ALL_LABELS = [*"ABCDEFGHIJ", *"123456789"]


def _named(claim: Claim, asked: Asked) -> Named:
    """How the claimed option and the others are written; where the wrong one is asked for, what is wrong may be it."""
    this = _written(claim.labels) if len(claim.labels) == 1 and not asked.wrong else None
    return Named(this, _written(frozenset(_ALL_LABELS) - claim.labels), strict=asked.wrong is False)


@cache
def _written(labels: Labels) -> re.Pattern[str]:
    """How labels are written; "I" and the article are none."""
    letters = "".join(label for label in _ALL_LABELS if label in labels and label.isalpha() and label != "I")
    digits = "".join(label for label in _ALL_LABELS if label in labels and label.isdigit())
    ways = (
        [
            rf"(?<![A-Za-z])(?!A\s(?!(?:is|are|was|and|or|has|does|can|fails|cannot|gives)\b)[a-z])[{letters}](?![A-Za-z])"
        ]
        if letters
        else []
    )
    ways += [rf"[{''.join(CIRCLED[int(label) - 1] for label in digits)}]|[{digits}]\s?번"] if digits else []
    return re.compile("|".join(ways) or "(?!)")


_SURELY_ANSWER = late(
    r"题意|选|排除|答案|answer|option|choice|답|ruled|eliminat|exclud|reject|out\b|제외|배제", re.IGNORECASE
)
_IS_QUESTION = late(r"[^。.！!\n]{0,10}(?:[？?]|吗|呢)")


def _denies(cleaned: str, verdict: LabelVerdict, said: list[LabelVerdict], claim: Claim, asked: Asked) -> bool:
    """Whether a verdict on the chosen option says that it is not the answer, by what the question asks for."""
    if is_told(cleaned, verdict.start, verdict.end) or _IS_QUESTION.match(cleaned, verdict.end):
        return False
    turn = turned(cleaned, verdict.start)
    if verdict.right:
        return bool(asked.wrong) and not verdict.as_answer and turn
    if verdict.as_answer and (asked.wrong is False or _SURELY_ANSWER.search(cleaned[verdict.start : verdict.end])):
        return True
    if asked.wrong is None:
        others_right = any(other.right and not other.labels & claim.labels for other in said)
        return turn or not (others_right or concludes(cleaned, verdict.start))
    return not asked.wrong
