"""Replies of published rubric judges, in their forms of conclusion: JSON, a vector, "N out of M", a word.

Contract: nothing is guessed. A reply that contradicts itself, awards too many points, or decides a criterion that the
scheme lacks is `Unreadable`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from livek12.core.records import SchemeCriterion
from livek12.core.replies import MAX_REPLY, Json, Unreadable, glimpse, parse_object
from livek12.core.schemes import ALMOST_SHARE, PARTIAL_SHARE
from livek12.judges.base import Outcome
from livek12.judges.llm.forms import Earned, Earnings, Invalid

RECORDED = " recorded-"
"""In the version of a judge whose judgements were recorded, before the hash of its files."""
WORDS: Mapping[str, float] = {"correct": 1.0, "almost": ALMOST_SHARE, "partial": PARTIAL_SHARE, "incorrect": 0.0}
"""Shares of the points of a verdict without a number, as IMO-GradingBench gives them."""
FULL_OF_WORDS = 7
ITEMS = ("criteria", "details", "items", "rubric", "rubric_items", "scores")
NAMES = ("id", "criterion", "criterion_id", "item", "part_id", "title", "name")
MARKS = ("points", "score", "awarded", "points_awarded", "earned", "mark", "grade", "total", "total_score")
FULL = ("max_points", "max_score", "out_of", "maximum", "full_marks")
VERDICTS = ("verdict", "label", "grade", "prediction", "response", "assessment")
_NUMBER = r"\d{1,6}(?:\.\d{1,6})?"
_GAP = r"\s{0,9}"
_POINTS = rf"{_GAP}(?:(?:points?|pts?|marks?|分){_GAP})?"
_SHARE = rf"(?P<points>{_NUMBER}){_POINTS}(?:(?:/|out of|of){_GAP}(?P<full>{_NUMBER}){_POINTS})?"
_VECTOR = re.compile(
    rf"(?<![\w^}}\\])\{{{_GAP}(?P<values>{_NUMBER}(?:{_GAP},{_GAP}{_NUMBER}){{1,99}}){_GAP},?{_GAP}\}}"
)
_TAGGED = re.compile(rf"<(?P<tag>points?|score|grade|mark)>{_GAP}{_SHARE}</(?P=tag)>", re.IGNORECASE)
_BOXED = re.compile(rf"\\boxed\{{{_GAP}{_SHARE}\}}")
_NOUN = rf"(?:final |total |overall )?(?:score|points?|grade|marks?|得分|总分){_GAP}(?:(?:is|=|:|：){_GAP})?"
_SAID = re.compile(rf"(?:{_NOUN})?{_SHARE}\.?", re.IGNORECASE)
_WORD = re.compile(
    rf"(?:(?:final )?(?:verdict|grade|label|assessment|judge?ment){_GAP}[:：]{_GAP})?(?P<word>{'|'.join(WORDS)})\.?",
    re.IGNORECASE,
)
_FENCES = (("```json", "```"), ("<json>", "</json>"))


@dataclass(frozen=True)
class Award:
    """A share of the points, or a decision on each criterion."""

    share: float | None
    criteria: tuple[Earned | Invalid, ...] = ()


def read_reply(text: str, criteria: Sequence[SchemeCriterion], full: float | None, words: str) -> Award:
    """Award of a reply; `full` marks count for numbers without a maximum, `words` are those of the response."""
    if len(text) > MAX_REPLY:
        raise Unreadable(f"is {len(text)} characters long")
    if (fields := _object(text)) is not None:
        return _of_object(text, fields, criteria, full, words)
    last = text.rstrip("* \t\r\n").rpartition("\n")[2].replace("*", "").strip()
    vectors = _vectors(last, criteria) or _vectors(text, criteria)
    if len(vectors) == 1:
        return points_by_place([float(value) for value in vectors.pop().split(",")], criteria)
    for pattern, place in ((_TAGGED, text), (_BOXED, last)):
        marks = {(float(m["points"]), float(m["full"]) if m["full"] else full) for m in pattern.finditer(place)}
        if len(marks) == 1:
            return Award(share_of(*marks.pop()))
    if not vectors and (match := _SAID.fullmatch(last)):
        return Award(share_of(float(match["points"]), float(match["full"]) if match["full"] else full))
    if not vectors and (match := _WORD.fullmatch(last)):
        return Award(share_of_word(match["word"], full))
    raise Unreadable(f"concludes with no mark: {glimpse(text[-100:])}")


def _vectors(text: str, criteria: Sequence[SchemeCriterion]) -> set[str]:
    vectors = {re.sub(r"\s", "", match["values"]) for match in _VECTOR.finditer(text)}
    return {vector for vector in vectors if len(vector.split(",")) == len(criteria)}


def outcome_of(share: float | None) -> Outcome:
    """Decision of a share of the points; None is open."""
    return "undecided" if share is None else "accept" if share == 1 else "reject"


def share_of(points: Any, full: Any) -> float:
    """Share of the points; `Unreadable` for no mark."""
    if full is None:
        raise Unreadable(f"awards {_shown(points)} points and says no maximum")
    try:
        mark, most = float(points), float(full)
    except (TypeError, ValueError):
        mark = most = math.nan
    if isinstance(points, bool) or not (math.isfinite(mark) and math.isfinite(most) and 0 <= mark <= most and most > 0):
        raise Unreadable(f"awards {_shown(points)} of {_shown(full)} points")
    return mark / most


def share_of_word(word: str, full: float | None) -> float:
    """Share of one of `WORDS`; of other maxima only full marks and none."""
    share = WORDS.get(word.strip().lower())
    if share is None or (0 < share < 1 and full not in (None, FULL_OF_WORDS)):
        raise Unreadable(f"says {glimpse(word)}, which tells no points of {'any' if full is None else f'{full:g}'}")
    return share


def points_by_place(points: Sequence[Any], criteria: Sequence[SchemeCriterion]) -> Award:
    """One number a criterion, in their order."""
    if len(points) != len(criteria):
        raise Unreadable(f"decides {len(points)} criteria, where the scheme has {len(criteria)}")
    return points_by_name({c.id: mark for c, mark in zip(criteria, points, strict=True)}, criteria)


def points_by_name(points: Mapping[str, Any], criteria: Sequence[SchemeCriterion]) -> Award:
    """One number for the id of each criterion."""
    ids = [criterion.id for criterion in criteria]
    if invented := [name for name in points if name not in ids]:
        raise Unreadable(f"decides criterion {glimpse(invented[0])}, which the scheme lacks")
    if missing := [name for name in ids if name not in points]:
        raise Unreadable(f"does not decide criterion {glimpse(missing[0])}")
    shares = {c.id: share_of(points[c.id], c.points) for c in criteria}
    return Award(None, tuple(Earned(shares[c.id] * c.points, "") for c in criteria))


def _object(text: str) -> Json | None:
    """JSON object of a reply: all of it, or its last fence."""
    try:
        return parse_object(text)
    except Unreadable:
        fenced = _last_fence(text)
        return parse_object(fenced) if fenced else None


def _of_object(text: str, fields: Json, criteria: Sequence[SchemeCriterion], full: float | None, words: str) -> Award:
    if criteria and set(fields) == {"criteria"} and _is_ours(fields["criteria"]):
        return Award(None, tuple(Earnings(tuple(criteria), words).read(_last_fence(text) or text)))
    mark, most = _mark(fields)
    total = None if mark is None else share_of(mark, full if most is None else most)
    listed = next((fields[name] for name in ITEMS if isinstance(fields.get(name), list | dict)), None)
    if listed is None and criteria and fields.keys() == {criterion.id for criterion in criteria}:
        listed = fields
    if listed is not None and criteria:
        award = _of_items(listed, criteria)
        earned = sum(each.points for each in award.criteria if isinstance(each, Earned))
        if mark is not None and abs(earned - mark) > 1e-6:
            raise Unreadable(f"awards {mark:g} points and {earned:g} for its criteria")
        return award
    if total is not None:
        return Award(total)
    verdicts = {str(fields[name]).strip().lower() for name in VERDICTS if name in fields} & WORDS.keys()
    if len(verdicts) != 1:
        raise Unreadable(f"has no mark among its fields: {glimpse(', '.join(fields))}")
    return Award(share_of_word(verdicts.pop(), full))


def _last_fence(text: str) -> str:
    for begin, end in _FENCES:
        start, stop = text.rfind(begin), text.rfind(end)
        if 0 <= start < stop:
            return text[start + len(begin) : stop]
    return ""


def _mark(fields: Json) -> tuple[float | None, float | None]:
    """Points and maximum, as numbers or texts such as "6/7"."""
    shares = (_SAID.fullmatch(str(fields[name]).strip()) for name in MARKS if _is_number_or_text(fields.get(name)))
    if (share := next(filter(None, shares), None)) is None:
        return None, None
    most = share["full"] or next((fields[name] for name in FULL if _is_number_or_text(fields.get(name))), None)
    return float(share["points"]), None if most is None else _number(most)


def _number(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise Unreadable(f"has a maximum that is no number: {glimpse(str(value))}") from None


def _of_items(listed: Any, criteria: Sequence[SchemeCriterion]) -> Award:
    """Decisions by name, or by place where no item has a name."""
    if isinstance(listed, dict):
        return points_by_name(listed, criteria)
    items = _entries(listed)
    marks = [_mark(item)[0] for item in items]
    names = [next((str(item[name]) for name in NAMES if item.get(name) is not None), None) for item in items]
    if None in marks:
        raise Unreadable("has an item without points")
    if not any(names):
        return points_by_place(marks, criteria)
    named = [_named(name or "", criteria) for name in names]
    if len(set(named)) != len(named):
        raise Unreadable(f"decides criterion {glimpse(next(n for n in named if named.count(n) > 1))} twice")
    return points_by_name(dict(zip(named, marks, strict=True)), criteria)


def _named(name: str, criteria: Sequence[SchemeCriterion]) -> str:
    """Id of the criterion of that id or title."""
    titled = [c.id for c in criteria if name and (c.text == name or c.text.startswith(f"{name}: "))]
    return titled[0] if len(titled) == 1 and name not in {c.id for c in criteria} else name


def _entries(value: Any) -> list[Json]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Unreadable("has items that are no objects")
    return value


def _is_ours(items: Any) -> bool:
    names = {"id", "reason", "quote", "decision", "points"}
    return isinstance(items, list) and all(isinstance(item, dict) and item.keys() == names for item in items)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else glimpse(str(value))


def _is_number_or_text(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)
