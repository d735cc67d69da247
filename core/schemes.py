"""Reads marking schemes: criteria of a table, of an examiner's sentences, or the marks printed in a solution.

Contract: points are only taken where they are printed. The rest of a criterion remains text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import ValidationError

from livek12.core.patterns import late
from livek12.core.records import CriterionKind, PartVerdict, PointsFor, Question, Scheme, SchemeCriterion
from livek12.core.text import one_line

_NUMBER = r"(?P<points>\d+(?:\.\d+)?)"
_UNIT = r"(?:pts?|points?|marks?|分|점)"
_ENGLISH = re.compile(
    rf"\s*(?:\(\d+\)\s*)?Award (?:a total of )?{_NUMBER} {_UNIT}(?: if| for)?(?: the following:)?\s+(?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)
_CHINESE = re.compile(rf"(?P<text>.+?)[，,。.；;\s]*则?得\s*{_NUMBER}\s*分[；;，,。.]?(?P<note>.*)", re.DOTALL)
_ELSE = re.compile(r"\s*否则，?得\s*0\s*分[。.]?\s*")
_BEHIND = re.compile(rf"(?P<text>.+?)\s*[(（\[]\s*{_NUMBER}\s*{_UNIT}?\s*[)）\]][。.]?\s*", re.DOTALL)
_BEFORE = re.compile(rf"\s*[(（\[]\s*{_NUMBER}\s*{_UNIT}?\s*[)）\]]\s*[:：]?\s*(?P<text>.+)", re.IGNORECASE | re.DOTALL)
_HEADED = re.compile(rf"\s*{_NUMBER}\s*{_UNIT}\s*[:：]\s*(?P<text>.+)", re.IGNORECASE | re.DOTALL)
_CODED = re.compile(r"\s*(?P<kind>d?[MABE])(?P<points>[1-9])(?P<follows> ?ft)?\s*[:：]?\s+(?P<text>.+)", re.DOTALL)
LONGEST = 10_000
"""Characters of a criterion that is read."""
_FORMS = (_CODED, _ENGLISH, _CHINESE, _BEHIND, _BEFORE, _HEADED)
_KINDS: Mapping[str, CriterionKind] = {"M": "method", "A": "accuracy", "B": "independent"}
_OTHERWISE = re.compile(r"[;,.]?\s*Otherwise,? (?:award )?0(?:\.0)? pts?\.?\s*$", re.IGNORECASE)
_PARTIAL = re.compile(r"\s*Partial points?:\s*", re.IGNORECASE)
_CLAUSE_END = re.compile(r";\s*(?:and\s+)?(?=(?:award|deduct|if)\b)", re.IGNORECASE)
_AWARD = re.compile(
    r"(?P<what>award|deduct) (?P<points>\d+(?:\.\d+)?) pts?(?: if| for)?\s+(?P<text>.+?)\.?\s*",
    re.IGNORECASE | re.DOTALL,
)
_IF_AWARD = re.compile(
    r"if (?P<text>.+?), (?P<what>award|deduct) (?P<points>\d+(?:\.\d+)?) pts?\.?\s*", re.IGNORECASE | re.DOTALL
)
_FORMULA = re.compile(r"\$\$?(?P<dollars>[^$]+)\$\$?|\\[(\[](?P<brackets>.+?)\\[)\]]", re.DOTALL)
_ASIDE = re.compile(r",? (?:where|with|for example|e\.g\.|by|using|from)\b|[，,]?其中|[（(]其中", re.IGNORECASE)
_BEYOND = re.compile(
    r"\b(?:justif|explain|prov(?:e|es|ing)\b|show|argu|reali[sz]|recogni|understand|plot|draw|graph|figure|reason|both|check|range)"
    r"|证明|说明|解释|指出|理由|作图|画|且|并",
    re.IGNORECASE,
)
"""Words of a criterion that asks for more than an equation."""
_EQUATION = re.compile(r"(?<![<>!:])=|\\approx|\\simeq")


def criteria_of(question: Question) -> list[SchemeCriterion]:
    """Criteria of all alternatives, in order."""
    return [criterion for criteria in question.scheme for criterion in criteria]


def is_by_scheme(question: Question, parts: Sequence[PartVerdict]) -> bool:
    """Checks whether the parts are the scheme's criteria."""
    return bool(question.scheme) and [part.name for part in parts] == [c.id for c in criteria_of(question)]


def printed_points(question: Question, parts: Sequence[PartVerdict]) -> list[float]:
    """Points of each part or criterion; empty where none are printed."""
    return [c.points for c in criteria_of(question)] if is_by_scheme(question, parts) else question.part_points


_SPACES = r"\\(?:left|right|q?quad|displaystyle)(?![a-zA-Z])|\\[,;:! ()\[\]]|[\s$*&~]|\\\\"
_SPACING = late(_SPACES)
PLAIN = late(r"\\(?:mathrm|text|mathbf|boldsymbol|operatorname)\s*\{([^{}]*)\}|\{([A-Za-z0-9])\}")
"""Upright words of a formula, and a single sign in braces."""
_SKIPPED = late(rf"{_SPACES}|[{{}}]|\\(?:mathrm|text|mathbf|boldsymbol|operatorname)(?=\s*\{{)|(?<=\\)d(?=frac)|\s")


def folded(text: str) -> str:
    """Text without spacing and formatting."""
    text = _SPACING.sub("", unicodedata.normalize("NFKC", text))
    return PLAIN.sub(lambda match: match[1] or match[2] or "", text).replace("\\dfrac", "\\frac").strip(".,;")


def quoted_span(text: str, quote: str) -> tuple[int, int] | None:
    """Place of a quotation; spacing and formatting may differ."""
    if (start := text.find(quote)) >= 0:
        return start, start + len(quote)
    signs = _SKIPPED.sub("", quote).strip(".,;")
    ends = [0, *(end for match in _SKIPPED.finditer(text) for end in match.span()), len(text)]
    places = [place for start, end in zip(ends[::2], ends[1::2], strict=True) for place in range(start, end)]
    start = "".join(text[place] for place in places).find(signs) if signs else -1
    return (places[start], places[start + len(signs) - 1] + 1) if start >= 0 else None


def read_scheme(value: Any, points: float | None = None) -> Scheme:
    """A scheme from alternatives, from one list of criteria (tables or sentences), or from guidelines for a proof.

    Raises:
        ValueError: a criterion says no points, or is none.
    """
    if isinstance(value, str):
        value = _of_text(value)
    if isinstance(value, str):
        if points and (levels := _levels(value, points)):
            return [[levels]]
        value = value.split("\n")
    if not isinstance(value, list | tuple):
        raise ValueError(f"scheme: {one_line(value, 60)!r} is no list of criteria")
    given = [entry for entry in value if entry not in (None, "", [])]
    if not any(isinstance(entry, list | tuple) for entry in given):
        given = [given] if given else []
    alone = given[0][0] if len(given) == 1 and len(given[0]) == 1 else None
    if points and isinstance(alone, str) and (levels := _levels(alone, points)):
        return [[levels]]
    letters = [chr(65 + place) if len(given) > 1 else "" for place in range(len(given))]
    return [
        list(_criteria([entry for entry in alternative if entry], letter))
        for alternative, letter in zip(given, letters, strict=True)
    ]


def _of_text(text: str) -> Any:
    try:
        return json.loads(text) if text.lstrip()[:1] in "[{" else text
    except (ValueError, RecursionError):
        return text


def _criteria(entries: Any, letter: str) -> Iterator[SchemeCriterion]:
    if not isinstance(entries, list):
        raise ValueError(f"scheme: {one_line(entries, 60)!r} is no list of criteria")
    method = None
    for place, entry in enumerate(entries, 1):
        id = f"{letter}{place}"
        if isinstance(entry, Mapping):
            yield _of_table(entry, id)
            continue
        if not isinstance(entry, str) or len(entry) > LONGEST or (match := _form(entry)) is None:
            raise ValueError(f"scheme: criterion {id} says no points: {one_line(entry, 200)}")
        criterion = _of_sentence(match, id)
        code = match.groupdict().get("kind") or ""
        if code in ("A", "dM") and method:
            criterion = criterion.model_copy(update={"needs": [method]})
        if code.endswith("M"):
            method = id
        yield criterion


def _of_table(entry: Mapping[str, Any], id: str) -> SchemeCriterion:
    fields = {name: value for name, value in entry.items() if value is not None}
    texts = [fields.pop(name) for name in ("title", "desc", "description") if "text" not in entry and name in fields]
    fields |= {"text": ": ".join(map(str, texts))} if texts else {}
    try:
        return SchemeCriterion.model_validate({"id": id, **fields})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"scheme: criterion {fields.get('id', id)}: {place}: {one_line(first['msg'], 120)}") from None


def _form(text: str) -> re.Match[str] | None:
    return next(filter(None, (form.fullmatch(text) for form in _FORMS)), None)


def _of_sentence(match: re.Match[str], id: str) -> SchemeCriterion:
    named = match.groupdict()
    worth = float(named["points"])
    body, _, rest = _cut(_PARTIAL, _OTHERWISE.sub("", named["text"].strip()))
    partial, deduct, prose = _partial_marks(rest, worth)
    if note := _ELSE.sub("", named.get("note") or ""):
        prose.append(note)
    if named.get("follows"):
        prose.append("(follow through: a value that rightly follows from an earlier wrong one counts)")
    return SchemeCriterion(
        id=id,
        points=worth,
        text="\n".join([body.strip(), *prose]),
        kind=_KINDS.get((named.get("kind") or "").removeprefix("d")),
        expression=expression_in(body),
        partial=partial,
        deduct=deduct,
    )


def _cut(pattern: re.Pattern[str], text: str) -> tuple[str, str, str]:
    match = pattern.search(text)
    return (text[: match.start()], match[0], text[match.end() :]) if match else (text, "", "")


def _partial_marks(text: str, worth: float) -> tuple[list[PointsFor], list[PointsFor], list[str]]:
    partial: list[PointsFor] = []
    deduct: list[PointsFor] = []
    prose: list[str] = []
    for clause in filter(None, (piece.strip() for piece in _CLAUSE_END.split(text))):
        match = _AWARD.fullmatch(clause) or _IF_AWARD.fullmatch(clause)
        points = float(match["points"]) if match else 0.0
        if match and 0 < points < worth:
            marks = deduct if match["what"].lower() == "deduct" else partial
            marks.append(PointsFor(points=points, text=match["text"].strip()))
        else:
            prose.append(clause)
    return partial, deduct, prose


def expression_in(text: str) -> str | None:
    """The only equation that a criterion names, or None."""
    if _BEYOND.search(text):
        return None
    formulas = [(match["dollars"] or match["brackets"]).strip() for match in _FORMULA.finditer(text)]
    equations = [formula for formula in formulas if _EQUATION.search(formula)]
    if len(equations) > 1:
        main = _main_clause(text)
        formulas = [(match["dollars"] or match["brackets"]).strip() for match in _FORMULA.finditer(main)]
        equations = [formula for formula in formulas if _EQUATION.search(formula)]
    return equations[0].rstrip(" .,;，。；") if len(equations) == 1 else None


def _main_clause(text: str) -> str:
    inside = [match.span() for match in _FORMULA.finditer(text)]
    asides = (match.start() for match in _ASIDE.finditer(text))
    outside = (place for place in asides if not any(start <= place < end for start, end in inside))
    return text[: next((place for place in outside if "$" in text[:place] or "\\" in text[:place]), len(text))]


# --- guidelines of proofs, and marks printed in solutions -----------------------------------------------------------

_LEVEL = re.compile(r"^\s*\((Partial|Almost|Incorrect)\)\s*$", re.MULTILINE)
_ITEM = re.compile(r"^\s*\d+\.\s+", re.MULTILINE)
PARTIAL_SHARE, ALMOST_SHARE = 1 / 7, 6 / 7
"""Shares of the points that IMO-GradingBench gives for its two levels: 1 and 6 of 7."""


def _levels(text: str, points: float) -> SchemeCriterion | None:
    """Guidelines with (Partial) and (Almost) as one criterion with partial marks."""
    pieces = _LEVEL.split(text)
    if len(pieces) == 1 or pieces[0].strip():
        return None
    partial, nothing = [], ""
    for level, items in zip(pieces[1::2], pieces[2::2], strict=True):
        texts = [item.strip() for item in _ITEM.split(items) if item.strip()]
        if level == "Incorrect":
            nothing += "".join(f"; no points: {item}" for item in texts)
        else:
            worth = round((ALMOST_SHARE if level == "Almost" else PARTIAL_SHARE) * points, 6)
            partial += [PointsFor(points=worth, text=item) for item in texts]
    return SchemeCriterion(
        id="1", points=points, text="the solution is complete and correct" + nothing, partial=partial
    )


_PRINTED = re.compile(
    r"[(（\[]\s{0,3}(?P<fenced>\d{1,3}(?:\.\d{1,2})?)\s{0,3}\$?\s{0,3}(?:分|점|marks?|points?|pts?)\s{0,3}[)）\]]"
    r"|(?<=[.…⋯·])\s{0,3}(?P<dotted>\d{1,3})\s{0,3}分|\[(?P<square>\d{1,3})\][ \t]{0,9}$"
    r"|(?<=\s)(?P<korean>\d{1,3})\s{0,3}점[ \t]{0,9}$"
    r"|(?<=\s)(?P<code>[MAB][1-9](?: ?ft)?(?: [MAB][1-9](?: ?ft)?){0,9})[ \t]{0,9}$",
    re.MULTILINE,
)
_LEADERS = ("\\quad", "\\qquad", "\\dots", "\\cdots", "\\ldots")
_FEWEST_MARKS = 2


def marks_in_solution(solution: str, points: float | None) -> Scheme:
    """Scheme of the marks printed in a solution, one a step or added up; empty unless they make `points`."""
    if not points:
        return []
    steps: list[tuple[str, str]] = []
    start = 0
    for match in _PRINTED.finditer(solution):
        text = _without_leaders(solution[start : match.start()])
        start = match.end()
        codes = re.findall(r"[MAB][1-9](?: ?ft)?", match["code"] or "")
        mark = match["fenced"] or match["dotted"] or match["square"] or match["korean"]
        steps += [(code, text) for code in codes] or [(mark, text)]
    if len(steps) < _FEWEST_MARKS or not all(text for _, text in steps):
        return []
    values = [float(re.sub(r"[^\d.]", "", mark)) for mark, _ in steps]
    if abs(sum(values) - points) < 1e-6:
        each = values
    elif values[-1] == points and all(before < after for before, after in pairwise(values)):
        each = [after - before for before, after in pairwise([0.0, *values])]
    else:
        return []
    if not all(each):
        return []
    if all(mark[0] in "MAB" for mark, _ in steps):
        return [list(_criteria([f"{mark} {text}" for mark, text in steps], ""))]
    texts = (text for _, text in steps)
    return [
        [
            SchemeCriterion(id=str(n), points=p, text=text)
            for n, (p, text) in enumerate(zip(each, texts, strict=True), 1)
        ]
    ]


def _without_leaders(text: str) -> str:
    before = ""
    while before != text:
        before, text = text, text.strip(" \t\n.…⋯·")
        text = next((text.removesuffix(leader) for leader in _LEADERS if text.endswith(leader)), text)
    return text + "$" * (text.count("$") % 2)
