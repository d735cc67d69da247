"""Marks by a marking scheme: its criteria are the parts of a verdict, and the points follow from them.

Contract: a rule earns a criterion and never loses one, as steps may be skipped (only the final answer's rule decides
both ways). Sentences that speak of marks, or doubt what they say, earn nothing. The best alternative counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from livek12.core.patterns import late
from livek12.core.records import PartVerdict, Question, SchemeCriterion, Verdict
from livek12.core.schemes import PLAIN, criteria_of, folded, is_by_scheme
from livek12.judges.base import AnswerComparison, Decision, undecided
from livek12.judges.cascade import Cascade
from livek12.judges.rules.pool import one_response

MOST_EQUATIONS = 400
MOST_COMPARED = 12
LONGEST_EQUATION = 400
MOST_CHARS = 100_000
"""The end of a response in which equations are looked for."""
MOST_MARKS = 100
NEEDS = "needs "
"""The reason of a criterion that a needed one holds back begins so."""


def bounds(question: Question, parts: Sequence[PartVerdict]) -> tuple[float, float]:
    """Least and the most points of decided and open criteria: those of the best alternative."""
    scores = {part.name: part.score for part in parts}
    lows, highs = zip(*(_bounds(question, criteria, scores) for criteria in question.scheme), strict=True)
    return max(lows), max(highs)


def _bounds(
    question: Question, criteria: Sequence[SchemeCriterion], scores: dict[str | None, float | None]
) -> tuple[float, float]:
    low, high = [0.0] * (1 + len(question.part_points)), [0.0] * (1 + len(question.part_points))
    for criterion in criteria:
        score, part = scores[criterion.id], criterion.part or 0
        part = part if part < len(low) else 0
        low[part] += criterion.points * (score or 0.0)
        high[part] += criterion.points * (1.0 if score is None else score)
    most = [sum(criterion.points for criterion in criteria), *question.part_points]
    least, greatest = (sum(map(min, side, most)) for side in (low, high))
    return round(least, 9), round(greatest, 9)


def marks_of(criterion: SchemeCriterion) -> list[float]:
    """Points between none and all that a criterion may earn; partial marks add up if all together fit."""
    full, marks = criterion.points, {0.0}
    adds_up = sum(partial.points for partial in criterion.partial) <= full + 1e-6
    for partial in criterion.partial:
        each = re.search(r"\beach\b|每|각", partial.text) is not None
        times = range(1, 1 + (_times(full, partial.points) if each else 1))
        marks |= {mark + time * partial.points for mark in (marks if adds_up else {0.0}) for time in times}
        marks = set(sorted(round(mark, 6) for mark in marks if mark < full)[:MOST_MARKS])
    for deduction in criterion.deduct:
        taken = range(1, 1 + _times(full, deduction.points))
        marks |= {round(full - time * deduction.points, 6) for time in taken}
    return sorted(mark for mark in marks if 0 < mark < full)


def _times(full: float, points: float) -> int:
    return min(MOST_MARKS, int(full / points))


# --- the rules' part ------------------------------------------------------------------------------------------------


def by_rules(question: Question, response: str, verdict: Verdict, cascade: Cascade | None) -> list[PartVerdict]:
    """Criteria as the rules decide them, from their `verdict` on the answer; without a cascade all are open."""
    if cascade and is_by_scheme(question, verdict.parts):
        return verdict.parts
    if not response.strip():
        return [_part(criterion, _NOTHING) for criterion in criteria_of(question)]
    with one_response():
        equations = equations_of(own_words(response)) if cascade else []
        return [
            _part(criterion, *_by_rule(question, criterion, equations, verdict, cascade) if cascade else (_OPEN,))
            for criterion in criteria_of(question)
        ]


_NOTHING = Decision("reject", 0.0, "extraction", "no answer")
_OPEN = undecided("rules", "the judge decides")


def _by_rule(
    question: Question, criterion: SchemeCriterion, equations: Sequence[str], verdict: Verdict, cascade: Cascade
) -> tuple[Decision, str | None]:
    """Decision, and the equation that earns the criterion."""
    if criterion.kind == "answer":
        parts = verdict.parts[criterion.part - 1 : criterion.part] if criterion.part else verdict.parts
        if parts and all(part.score is not None for part in parts):
            right = all(part.decision == "accept" for part in parts)
            reason = "; ".join(part.reason for part in parts)
            return Decision("accept" if right else "reject", float(right), "answer", reason), None
    gold = _STAR.sub(r"^{\\star}", criterion.expression or "")
    if not gold or folded(gold) in folded(question.question):
        return undecided("rules", "no equation to look for"), None
    name, value = _sides(gold)
    symbols = _symbols(gold)
    alike = (equation for equation in dict.fromkeys(equations) if _symbols(equation) == symbols)
    for _, equation in zip(range(MOST_COMPARED), alike, strict=False):
        own_name, own_value = _sides(equation)
        pairs = [(value, own_value)] if folded(name) == folded(own_name) else [(gold, equation)]
        if folded(equation) == folded(gold) or any(_equal(question, *pair, cascade) for pair in pairs):
            return Decision("accept", 1.0, "equation", "the response has its equation"), equation
    return undecided("rules", "its equation was not found"), None


def _equal(question: Question, gold: str, answer: str, cascade: Cascade) -> bool:
    comparison = AnswerComparison(gold=gold, answer=answer, question_type="short_answer", language=question.language)
    return cascade.decide(comparison).decision == "accept"


def _part(criterion: SchemeCriterion, decision: Decision, quote: str | None = None) -> PartVerdict:
    return decision.verdict(criterion.id, criterion.text, quote)


def hold_needs(question: Question, parts: Sequence[PartVerdict]) -> list[PartVerdict]:
    """Parts, with nothing for a criterion whose needs earned nothing, and open where a need is open."""
    settled = {part.name: part for part in parts}
    for criteria in question.scheme:
        pending = list(criteria)
        while pending:
            ready = [c for c in pending if not {*c.needs} & {other.id for other in pending}]
            for criterion in ready:
                settled[criterion.id] = _held(settled[criterion.id], [settled[need] for need in criterion.needs])
            pending = [criterion for criterion in pending if criterion not in ready]
    return [settled[part.name] for part in parts]


def _held(part: PartVerdict, needs: Sequence[PartVerdict]) -> PartVerdict:
    lost = next((need.name for need in needs if need.score == 0), None)
    doubtful = next((need.name for need in needs if need.score is None), None)
    if part.score == 0 or (lost is None and doubtful is None):
        return part
    if lost is not None:
        fields = {"decision": "reject", "score": 0.0, "reason": f"{NEEDS}{lost}, which earned nothing"}
    else:
        fields = {"decision": "undecided", "score": None, "reason": f"{NEEDS}{doubtful}, which is open"}
    return part.model_copy(update=fields)


# --- the words of a response ----------------------------------------------------------------------------------------

_SENTENCE = late(r"(?<=[。！？!?\n])|(?<=[a-z)\]}$]\.)(?=\s)")
_OF_MARKS = late(
    r"\baward|\bfull (?:marks?|points?|credit)\b|\ball (?:the |its |of the )?(?:marks|points)\b"
    r"|\d\s{0,3}(?:pts?|marks?)\b|\d\s{0,3}points? (?:for|if|as)\b"
    r"|\b(?:worth|earn\w*|deserv\w*|scores?|claim\w*|grants?)\b[^.]{0,30}\bpoints?\b"
    r"|\b(?:marking scheme|scheme awards|rubric)\b|得\s{0,3}[\d.]{0,6}\s{0,3}分|满分|给\s{0,3}[\d.]{1,6}\s{0,3}分|评分"
    r"|채점|만점|\d\s{0,3}점을",
    re.IGNORECASE,
)
_DOUBTED = late(
    r"\b(?:wrong|incorrect(?:ly)?|mistake|suppose|assum\w*|instead of|would be|not|never|cannot)\b|n't\b"
    r"|错|假设|不是|不等|不成立|若是|아니|틀",
    re.IGNORECASE,
)
_BODY = "(.{1,1000}?)"
_MATH = late(
    rf"\$\${_BODY}\$\$|\${_BODY}\$|\\\[{_BODY}\\\]|\\\({_BODY}\\\)"
    rf"|\\begin\{{(?:align|equation|gather)\*?\}}{_BODY}\\end",
    re.DOTALL,
)
_APART = late(r"\\\\|\\q?quad|\\(?:Rightarrow|implies|Longrightarrow|therefore)(?![a-z])|[,;，；](?![^{(\[]*[})\]])|\n")
_LAYOUT_OF_MATH = late(
    r"\\(?:label|tag)\*?\{[^{}]{0,200}\}|\\(?:nonumber|notag)(?![a-z])"
    r"|\\(?:begin|end)\{(?:aligned|align|equation|gathered|gather|split)\*?\}"
)
_STAR = late(r"\^\s{0,3}(?:\{\s{0,3}(?:\*|\\star|\\ast)\s{0,3}\}|\*|\\star(?![a-z])|\\ast(?![a-z]))")
_RELATION = late(r"(?<![<>!:\\])=|\\approx(?![a-z])|\\simeq(?![a-z])|≈")
_NAME = late(r"\\[a-zA-Z]+|[A-Za-z]")
_LAYOUT = frozenset(r"\frac \dfrac \tfrac \cdot \times \left \right \mathrm \text \sqrt \approx \simeq \quad".split())


def own_words(response: str, doubted: bool = False) -> str:
    """Response without the sentences that speak of marks or, unless `doubted`, doubt what they say."""
    sentences = filter(None, _SENTENCE.split(response))
    return "\n".join(s for s in sentences if not _OF_MARKS.search(s) and (doubted or not _DOUBTED.search(s)))


def equations_of(text: str) -> list[str]:
    """Equations in the formulas of a text; a chain gives one for each of its values."""
    return [equation for _, equation in zip(range(MOST_EQUATIONS), _equations(text[-MOST_CHARS:]), strict=False)]


def _equations(text: str) -> Iterator[str]:
    for match in _MATH.finditer(text):
        last = ""
        for line in _APART.split(_plain_math(next(filter(None, match.groups()), ""))):
            name, *values = (_balanced(side.strip(" .,\n\t")) for side in _RELATION.split(line.replace("&", "")))
            last = name or last
            if last and len(line) <= LONGEST_EQUATION:
                yield from (f"{last} = {value}" for value in values if value)


def _plain_math(text: str) -> str:
    """Mathematics without labels, tags, environments and boxes, with one form of a star."""
    return _STAR.sub(r"^{\\star}", _LAYOUT_OF_MATH.sub("", text).replace("\\boxed{", "{"))


def _balanced(side: str) -> str:
    """Side of an equation without the brace of a box that begins or ends with it."""
    extra = side.count("{") - side.count("}")
    return (side.removeprefix("{") if extra > 0 else side.removesuffix("}") if extra < 0 else side).strip()


def _sides(equation: str) -> tuple[str, str]:
    """First side and the last."""
    sides = _RELATION.split(equation)
    return sides[0].strip(), sides[-1].strip()


def _symbols(text: str) -> frozenset[str]:
    plain = PLAIN.sub(lambda match: " " + (match[1] or match[2] or ""), text)
    return frozenset(_NAME.findall(plain)) - _LAYOUT
