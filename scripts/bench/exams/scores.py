"""Agreement of a prediction of a paper with its gold, and silent errors (figures: `docs/exam-segmentation.md`).

A wrong field is *silent* unless the question's `doubts` name it; a lost question is silent unless the paper's `missing`
names its number or the paper has an `error`. Texts with formulas are compared in a canonical spelling: a formula that
lost its structure (`x2` for `x^{2}`) has another form.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.scripts.bench.exams.gold import GoldPaper, GoldQuestion, PredictedQuestion, Prediction

FOUND: Final = 0.5
"""Similarity below which a question of the right number is another one."""
RIGHT: Final = 0.95
"""Similarity from which a text counts as read."""
OVERLAP: Final = 0.5
"""Intersection over union from which a figure is the right one."""
MAX_TEXT: Final = 20_000
MOST_OF_A_NUMBER: Final = 50
"""Predictions of one number that are looked at."""
FIELDS: Final = ("found", "text", "formulas", "options", "answer", "points", "figures", "hidden", "extra")
_COVERED: Final = {
    "text": {"text"}, "formulas": {"text"}, "options": {"options", "text"}, "answer": {"answer"}, "points": {"points"},
    "figures": {"figures"}, "hidden": {"text"}, "extra": {"number"},
}  # fmt: skip
_CIRCLED: Final = {chr(0x2460 + index): str(index + 1) for index in range(20)}


@dataclass
class PaperTally:
    """Counts of right values, and of all, over papers.

    Attributes:
        right, of: by field, right questions and questions with the field (of `formulas`: formulas).
        similarity: sum of text similarities over the gold questions, 0 for a lost one.
        silent, doubted: wrong values by field.
        clean: gold questions without a silent error.
    """

    right: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    of: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    silent: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    doubted: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    similarity: float = 0.0
    overlap: float = 0.0
    boxed: int = 0
    clean: int = 0
    questions: int = 0
    papers: int = 0

    def share(self, name: str) -> float | None:
        """Share of a field, 0 to 1; None where no question has it."""
        return self.right[name] / self.of[name] if self.of[name] else None

    def add(self, other: PaperTally) -> None:
        """Adds another tally."""
        for name, value in vars(other).items():
            own = getattr(self, name)
            if isinstance(value, dict):
                for field_name, many in value.items():
                    own[field_name] += many
            else:
                setattr(self, name, own + value)


def score(gold: GoldPaper, said: Prediction) -> PaperTally:
    """Scores a prediction against its gold."""
    tally = PaperTally(papers=1, questions=len(gold.questions))
    pairs, extra = _aligned(gold.questions, said.questions)
    tally.boxed = sum(bool(question.boxes) for question in gold.questions)
    missing = {_number(entry) for entry in said.missing}
    for question, predicted, similarity in pairs:
        wrong = _held(question, predicted, similarity, gold.hidden, tally)
        if predicted is None:
            reported = bool(said.error) or _number(question.number) in missing
            covered = set(wrong) if reported else set()
        else:
            doubts = set(predicted.doubts)
            covered = {name for name in wrong if _COVERED.get(name, set()) & doubts}
            tally.similarity += similarity
            tally.overlap += union_overlap(question.boxes, predicted.boxes)
        for name in wrong:
            (tally.doubted if name in covered else tally.silent)[name] += 1
        tally.clean += not (set(wrong) - covered)
    for entry in extra:
        tally.of["extra"] += 1
        (tally.doubted if "number" in entry.doubts else tally.silent)["extra"] += 1
    return tally


def _held(
    gold: GoldQuestion, predicted: PredictedQuestion | None, similarity: float, hidden: Sequence[str], tally: PaperTally
) -> list[str]:
    checks: dict[str, bool] = {"found": predicted is not None}
    printed = formulas("\n".join([gold.text, *(option.text for option in gold.options)]))
    tally.of["formulas"] += len(printed)
    if predicted is not None:
        read = canonical(_whole(predicted, MAX_TEXT))
        good = sum(canonical(text) in read for text in printed)
        tally.right["formulas"] += good
        if gold.text:
            checks["text"] = similarity >= RIGHT
        checks["formulas"] = good == len(printed)
        if hidden:
            checks["hidden"] = not any(bare(text) in bare(read) for text in hidden)
    for name, has in _has(gold).items() if gold.text else ():
        drawn = name == "figures" and not gold.boxes  # a gold of texts alone does not say where figures are
        if not drawn and (has or (predicted is not None and _has(predicted)[name])):
            checks[name] = predicted is not None and _same(name, gold, predicted)
    for name, fine in checks.items():
        if name != "formulas":
            tally.of[name] += 1
            tally.right[name] += fine
    if predicted is None:
        for name in (*(["text"] if gold.text else []), *(["hidden"] if hidden else [])):
            tally.of[name] += 1
        return ["found"]
    return [name for name, fine in checks.items() if not fine]


def _has(question: GoldQuestion | PredictedQuestion) -> dict[str, bool]:
    return {
        "options": bool(question.options),
        "answer": bool(question.answer),
        "points": question.points is not None,
        "figures": bool(question.figures),
    }


def _same(name: str, gold: GoldQuestion, predicted: PredictedQuestion) -> bool:
    if name == "options":
        ours = {_label(entry.label): bare(canonical(entry.text)) for entry in gold.options}
        return ours == {_label(entry.label): bare(canonical(entry.text[:MAX_TEXT])) for entry in predicted.options[:20]}
    if name == "answer":
        return [_answer(entry) for entry in gold.answer] == [
            _answer(entry[:MAX_TEXT]) for entry in predicted.answer[:20]
        ]
    if name == "points":
        return gold.points == predicted.points
    left = list(predicted.figures)
    for figure in gold.figures:
        best = max(left, key=lambda entry: union_overlap([figure], [entry]), default=None)
        if best is None or union_overlap([figure], [best]) < OVERLAP:
            return False
        left.remove(best)
    return not left


def _aligned(
    gold: Sequence[GoldQuestion], predicted: Sequence[PredictedQuestion]
) -> tuple[list[tuple[GoldQuestion, PredictedQuestion | None, float]], list[PredictedQuestion]]:
    by_number: dict[str, list[int]] = defaultdict(list)
    for index, entry in enumerate(predicted):
        by_number[_number(entry.number)].append(index)
    ranked = [
        (similarity(question, predicted[index]), -place, -index)
        for place, question in enumerate(gold)
        for index in by_number.get(_number(question.number), [])[:MOST_OF_A_NUMBER]
    ]
    chosen: dict[int, tuple[int, float]] = {}
    used: set[int] = set()
    for alike, place, index in sorted(ranked, reverse=True):
        if alike >= FOUND and -place not in chosen and -index not in used:
            chosen[-place] = (-index, alike)
            used.add(-index)
    pairs: list[tuple[GoldQuestion, PredictedQuestion | None, float]] = []
    for place, question in enumerate(gold):
        hit = chosen.get(place)
        pairs.append((question, predicted[hit[0]] if hit else None, hit[1] if hit else 0.0))
    return pairs, [entry for index, entry in enumerate(predicted) if index not in used]


def similarity(gold: GoldQuestion, said: PredictedQuestion) -> float:
    """One less the normalised edit distance of text and options, the best of several spellings; 1 without gold text."""
    if not gold.text:
        return 1.0
    read = bare(canonical(_whole(said, MAX_TEXT)))
    texts = [_whole(gold), *([_whole(gold, named=_label)] if said.options else [])]
    if gold.passage:
        direction, _, passage = gold.passage.partition("\n")
        texts += [f"{before}\n{text}" for before in (gold.passage, passage or direction) for text in texts]
    printed = [bare(canonical(text)) for text in texts]
    return max(1 - edit_distance(read, text) / max(len(read), len(text), 1) for text in printed)


def _whole(question: GoldQuestion | PredictedQuestion, limit: int = 10**9, named: Callable[[str], str] = str) -> str:
    options = (f"{named(option.label[:20])} {option.text[:limit]}" for option in question.options[:20])
    return "\n".join([question.text[:limit], *options])


def union_overlap(ours: Iterable[Box], theirs: Iterable[Box]) -> float:
    """Intersection over union of two sets of disjoint boxes."""
    first, other = list(ours), list(theirs)[:200]
    shared = sum(a.shared(b) for a in first for b in other)
    union = sum(box.area for box in (*first, *other)) - shared
    return min(1.0, shared / union) if union > 0 else 0.0


def _number(text: str) -> str:
    digits = "".join(letter for letter in unicodedata.normalize("NFKC", text[:100]) if letter.isdigit())
    return digits.lstrip("0") or text.strip()[:100]


def _label(text: str) -> str:
    label = text[:20].strip(" .．、()（）")
    return _CIRCLED.get(label, unicodedata.normalize("NFKC", label).upper())


def _answer(text: str) -> str:
    answer = "".join(_CIRCLED.get(letter, letter) for letter in text)
    return bare(canonical(answer)).upper()


_FORMULA: Final = re.compile(r"\$([^$]+)\$")
_STRUCTURED: Final = re.compile(r"[\\^_]")
_BLANK: Final = re.compile(r"_{2,}|\\underline\s*\{[^{}]*\}|[（(]\s*[）)]")
"""Places for answers: lines, and empty brackets."""
_FIGURE: Final = re.compile(r"!?\[(?:image|figure|图|그림)[ _]?\d*\](?:\([^()]*\))?|<image[ _]?\d*>", re.IGNORECASE)
_MARKS: Final = re.compile(
    r"(?<!sqrt)\[(?:Total:\s*)?\d+(?:\s*(?:marks?|points?))?\]|[（(]\s*(?:本小?题)?(?:满分)?\s*\d+\s*分\s*[）)]|\[\s*\d+\s*점\s*\]"
)
_TABLE: Final = re.compile(
    r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+(?:[ \t]*:?-{2,}:?)?[ \t]*$|</?(?:table|thead|tbody|tr|t[dh])[^<>]*>",
    re.MULTILINE,
)
_TOKEN: Final = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
_DROPPED: Final = frozenset(
    "left right mathrm mathbf mathbb mathit mathsf text textbf textit operatorname rm displaystyle textstyle limits"
    " quad qquad big Big bigl bigr boldsymbol bm".split()
)
_SIGNS: Final = {
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "le": "≤", "leq": "≤", "leqslant": "≤", "ge": "≥", "geq": "≥",
    "geqslant": "≥", "ne": "≠", "neq": "≠", "pi": "π", "theta": "θ", "alpha": "α", "beta": "β", "lambda": "λ",
    "omega": "ω", "Omega": "Ω", "mu": "μ", "Delta": "Δ", "triangle": "△", "angle": "∠", "perp": "⊥", "parallel": "∥",
    "infty": "∞", "in": "∈", "cap": "∩", "cup": "∪", "to": "→", "rightarrow": "→", "longrightarrow": "→", "circ": "°",
    "degree": "°", "ldots": "…", "cdots": "…", "dots": "…", "lbrace": "{", "rbrace": "}", "mid": "|", "vert": "|",
    "lvert": "|", "rvert": "|",
    "int": "∫", "sum": "∑", "complement": "∁", "subseteq": "⊆",
}  # fmt: skip
_LETTERS: Final = str.maketrans("−–—⋅∙•∆～“”’，。：；？！（）、．", '---···Δ~""\',.:;?!(),.', "\u200b")
_UP: Final = {letter: str(digit) for digit, letter in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"⁻": "-", "ⁿ": "n"}
_DOWN: Final = {letter: str(digit) for digit, letter in enumerate("₀₁₂₃₄₅₆₇₈₉")} | {"ₙ": "n"}
_DEEP: Final = 40
_NOISE: Final = re.compile(r"[\s(){}\[\]^_/$\\,.:;~|]+")


def formulas(text: str) -> list[str]:
    """Formulas that have a structure to lose."""
    return [formula for formula in _FORMULA.findall(text) if _STRUCTURED.search(formula)]


def canonical(text: str) -> str:
    """A text in canonical spelling, without spaces, blanks, points and figures."""
    for pattern in (_TABLE, _BLANK, _FIGURE, _MARKS):
        text = pattern.sub("", text)
    tokens = _TOKEN.findall(_scripts(text).replace("$", "").replace("//", "∥"))
    output, position = _sequence(tokens, 0, "", 0)
    while position < len(tokens):  # a brace too many
        more, position = _sequence(tokens, position + 1, "", 0)
        output += more
    return unicodedata.normalize("NFKC", output).translate(_LETTERS)


def bare(said: str) -> str:
    """Letters and digits of a canonical text."""
    return _NOISE.sub("", said)


def _scripts(text: str) -> str:
    for letters, sign in ((_UP, "^"), (_DOWN, "_")):
        runs = re.split(f"([{''.join(letters)}]+)", text)
        runs[1::2] = [f"{sign}{{{''.join(letters[letter] for letter in run)}}}" for run in runs[1::2]]
        text = "".join(runs)
    return text


def _sequence(tokens: list[str], position: int, end: str, depth: int) -> tuple[str, int]:
    pieces = []
    while position < len(tokens):
        if tokens[position] == "}" or (end and tokens[position] == end):
            break
        piece, position = _one(tokens, position, depth)
        pieces.append(piece)
    return "".join(pieces), position


def _argument(tokens: list[str], position: int, depth: int) -> tuple[str, int]:
    while position < len(tokens) and tokens[position].isspace():
        position += 1
    if position >= len(tokens):
        return "", position
    if tokens[position] != "{":
        return _one(tokens, position, depth)
    argument, position = _sequence(tokens, position + 1, "}", depth)
    return argument, position + 1


def _one(tokens: list[str], position: int, depth: int) -> tuple[str, int]:
    token = tokens[position]
    if token.isspace():
        return "", position + 1
    if depth > _DEEP:
        return token, position + 1
    if token in ("^", "_"):
        argument, position = _argument(tokens, position + 1, depth + 1)
        return (argument if argument == "°" else f"{token}({argument})"), position
    if token == "{":
        return _argument(tokens, position, depth + 1)
    if not token.startswith("\\"):
        return token, position + 1
    return _command(token[1:], tokens, position + 1, depth + 1)


def _command(name: str, tokens: list[str], position: int, depth: int) -> tuple[str, int]:
    if name in ("frac", "dfrac", "tfrac", "cfrac"):
        above, position = _argument(tokens, position, depth)
        below, position = _argument(tokens, position, depth)
        return f"({above})/({below})", position
    if name == "sqrt":
        degree = ""
        if position < len(tokens) and tokens[position] == "[":
            degree, position = _sequence(tokens, position + 1, "]", depth)
            position += 1
        inner, position = _argument(tokens, position, depth)
        return f"√({inner})" if not degree else f"√[{degree}]({inner})", position
    if name in ("overrightarrow", "vec"):
        inner, position = _argument(tokens, position, depth)
        return f"⃗({inner})", position
    if name in ("overline", "bar"):
        inner, position = _argument(tokens, position, depth)
        return f"¯({inner})", position
    if name in _DROPPED:
        return "", position
    if name in _SIGNS:
        return _SIGNS[name], position
    return (name if name.isalpha() or name in "{}%#&$" else ""), position


def edit_distance(one: str, other: str) -> int:
    """Levenshtein distance by bit vectors (Hyyrö 2003)."""
    if not one or not other:
        return len(one) + len(other)
    places: dict[str, int] = {}
    for index, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << index
    full, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    rises, falls, distance = full, 0, len(one)
    for letter in other:
        equal = places.get(letter, 0)
        down = equal | falls
        across = (((equal & rises) + rises) ^ rises) | equal
        up = falls | (~(across | rises) & full)
        low = rises & across
        distance += bool(up & last) - bool(low & last)
        up, low = up << 1 | 1, low << 1
        rises = (low | ~(down | up)) & full
        falls = up & down & full
    return distance
