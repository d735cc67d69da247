r"""Translation checks: numbers, formulas, symbols, figures, blanks and parts kept, nothing added.

Contract: other spellings (`\dfrac` and `\frac`, spaces, full-width characters, $…$ and \(…\)) are equal. Stricter than
meaning: a number spelled in words counts as lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal

from livek12.core.languages import HANGUL, IDEOGRAPHS
from livek12.core.records import IMAGE_MARK
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.proposals import number_figures
from livek12.dataset_builders.reading.text import count_blanks

Texts = dict[str, str]
"""Texts of a question by name."""
MAX_TEXT = 12_000
"""Longest translated text."""
FIGURE = re.compile(r"\[\[figure-\d{1,3}\]\]")
_FOREIGN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff]+")
_FORMULA = re.compile(
    r"\$\$(?P<display>.+?)\$\$|\$(?P<inline>[^$]+?)\$|\\\((?P<round>.+?)\\\)|\\\[(?P<square>.+?)\\\]", re.DOTALL
)
_NUMBER = re.compile(r"(?<![A-Za-z0-9.)])-?\d+(?:\.\d+)?|\d+(?:\.\d+)?")
_GROUPED = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?![\d,])")
_PLAIN_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:\\?%)?")
_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_WORDS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_SCALED = re.compile(
    r"(?<!\d)(?P<number>\d++(?:\.\d++)?+)\s*+(?P<unit>[十百千万]*亿|[十百千]*万|十(?!字)|百(?!分)|千(?![克米瓦焦赫伏帕安])"
    r"|(?:hundred|thousand|million|billion)\b)",
    re.IGNORECASE,
)
_HANZI = re.compile(r"[零〇一二两三四五六七八九十百千万亿]+")
_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_MONTH = re.compile(r"(\d{1,2})\s*[月월]")
_MONTHS = "january february march april may june july august september october november december".split()
_COMMAND = re.compile(r"\\[A-Za-z]+")
_LATIN = re.compile(r"[A-Za-zα-ωΑ-Ω]+")
_RELATION = re.compile(r"[=<>≤≥≠≈±×÷+*/^√∠△⊥∥∈∪∩⊂⊆∅∞→⇒⇌°%‰℃Ω]")
_PART = re.compile(r"[(（]\s*(\d{1,2}|[ivxIVX]{1,4})\s*[)）]")
_MARKUP = re.compile(r"<\s*/?\s*[A-Za-z!][^<>]{0,200}>|&#?\w{2,8};|javascript:", re.IGNORECASE)
_TALK = re.compile(
    r"\b(?:here is|here's|translat(?:ion|ed|or)\b\s*(?:of|:|note)|as an ai"
    r"|i cannot|i can't|i'm sorry|i am sorry|i'm unable"
    r"|the (?:correct |right )?answer is|correct (?:answer|option)|solution:|hint:"
    r"|explanation:|note that the original)",
    re.IGNORECASE,
)
_TOLD = re.compile(r"答案|正确的?(?:选项|是)|故选|解[：:]|提示|解析|정답|해설|풀이")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_CLAUSE_END = re.compile(r"[。！？；，、：.!?;,:\n]")
_SAME = {
    **dict.fromkeys("dfrac tfrac cfrac".split(), "frac"),
    **{"leqslant": "le", "leq": "le", "geqslant": "ge", "geq": "ge", "neq": "ne", "to": "rightarrow"},
    **{"land": "wedge", "lor": "vee", "lnot": "neg", "ni": "owns"},
    **dict.fromkeys("hspace left right big Big bigg Bigg displaystyle textstyle limits quad qquad".split(), ""),
    **dict.fromkeys("rm mathrm text textrm mathit".split(), ""),
}
"""Canonical names of commands that print the same, or only set type."""
_SPELLED = {
    "°": re.compile("度|도"),
    "%": re.compile("百分|퍼센트"),
    "/": re.compile("每|당"),
    "=": re.compile("等于|相等|같"),
}
_WORDS_MARK = "§"
_FOREIGN_WORDS = re.compile(rf"[{IDEOGRAPHS}{HANGUL}][{IDEOGRAPHS}{HANGUL}\s,.、。]*")
_NEEDLESS = re.compile(r"(?<![A-Za-z}\]_^\\])\{([^{}]*)\}")
"""Braces that are no argument of a command."""
_SIGNS = str.maketrans(
    {"−": "-", "–": "-", "—": "-", "﹣": "-", "，": ",", "：": ":", "⩽": "≤", "⩾": "≥", "≦": "≤", "≧": "≥"}
)


def problems(source: str, target: str) -> list[str]:
    """Losses, changes and additions in an English translation; figures are [[figure-N]]."""
    if rough := _no_text(source, target, "there is no translation"):
        return rough
    ours, theirs = _Parts(source), _Parts(target)
    return _lost(source, target, ours.letters, ours, theirs) + _added(source, target, ours, theirs)


def problems_in_words(source: str, target: str) -> list[str]:
    """Losses, changes and additions in a paraphrase; figures are [[figure-N]].

    Only single letters are compared, as words may change.
    """
    if rough := _no_text(source, target, "there is no text"):
        return rough
    ours, theirs = _Parts(source), _Parts(target)
    names = [word for word in ours.letters if len(word) == 1 and word not in "aAI"]
    return _lost(source, target, names, ours, theirs) + _own_words(source, target, theirs)


def _no_text(source: str, target: str, missing: str) -> list[str]:
    if not target.strip():
        return [missing]
    return ["it is far longer than the text"] if len(target) > 8 * len(source) + 400 else []


def _lost(source: str, target: str, names: Iterable[str], ours: _Parts, theirs: _Parts) -> list[str]:
    checks: Iterable[tuple[str, Callable[[], Iterable[str]]]] = (
        ("figures", lambda: _order(ours.figures, theirs.figures)),
        ("formulas", lambda: _formulas(ours.formulas, theirs.formulas)),
        ("numbers", lambda: _numbers(ours, theirs)),
        ("commands outside of formulas", lambda: _counts(ours.commands, theirs.commands)),
        ("symbols", lambda: _symbols(ours, theirs)),
        ("letters", lambda: [f"{word} is missing" for word in dict.fromkeys(names) if word not in theirs.letters]),
        ("parts", lambda: _order(ours.parts, theirs.parts)),
        ("blanks", lambda: _count("blanks", _blanks(source), _blanks(target))),
    )
    return [f"{name}: {line}" for name, check in checks for line in check()]


def numbered(text: str) -> str:
    """Replaces image marks by [[figure-1]], [[figure-2]], to check their order; literal ones lose a bracket."""
    return number_figures(FIGURE.sub(lambda match: match[0][1:-1], text), "[[figure-{}]]")


def marked(text: str) -> str:
    """Inverse of `numbered`."""
    return FIGURE.sub(IMAGE_MARK, text)


def figure_marks(text: str) -> list[str]:
    """Figures of a text, in order."""
    return FIGURE.findall(text)


def formula(text: str) -> str:
    """Canonical spelling of a formula; words to translate become one mark."""
    flat = _flat(text).replace("\\{", " \\lbrace ").replace("\\}", " \\rbrace ")
    flat = re.sub(r"\\[,;:! ]|~|&nbsp;", " ", flat)
    flat = _COMMAND.sub(_one_name, flat)
    flat = re.sub(r"(\\frac)\s*([0-9A-Za-z])\s*([0-9A-Za-z])", r"\1{\2}{\3}", flat)
    flat = _FOREIGN_WORDS.sub(_WORDS_MARK, flat)
    flat = re.sub(r"\s+", "", flat)
    flat = re.sub(r"([_^])\{(.)\}", r"\1\2", flat)
    while (bare := _NEEDLESS.sub(r"\1", flat)) != flat:
        flat = bare
    return flat.rstrip(".,;")


class _Parts:
    def __init__(self, text: str) -> None:
        self.figures = figure_marks(text)
        text = FIGURE.sub(" ", text)
        spans = [next(filter(None, match.groups()), "") for match in _FORMULA.finditer(text)]
        written = [formula(span) for span in spans]
        numbers = [span for span in written if _PLAIN_NUMBER.fullmatch(span)]
        self.formulas = Counter(span for span in written if span and span not in numbers)
        bare = _flat(_FORMULA.sub(" \0 ", text))
        self.commands = Counter(_SAME.get(name[1:], name[1:]) for name in _COMMAND.findall(bare))
        self.commands.pop("", None)
        outside = _COMMAND.sub(" ", bare)
        self.parts = [match[1].lower() for match in _PART.finditer(outside)]
        self.relations = Counter(_RELATION.findall(outside)) + Counter(
            "%" for number in numbers if number.endswith("%")
        )
        self.letters = [word for word in _LATIN.findall(outside) if not word.lower().startswith("nbsp")]
        outside = " ".join([outside, *(number.rstrip("\\%") for number in numbers)])
        self.hanzi = Counter(_hanzi(word) for word in _HANZI.findall(outside))
        self.months = Counter(Decimal(month) for month in _MONTH.findall(outside) if 1 <= int(month) <= 12)
        self.named_months = Counter(
            Decimal(_MONTHS.index(word.lower()) + 1)
            for word in self.letters
            if word.lower() in _MONTHS and word[0].isupper()
        )
        self.numbers = _values(outside)
        self.plain = outside


def _numbers(ours: _Parts, theirs: _Parts) -> list[str]:
    lost, added = ours.numbers - theirs.numbers, theirs.numbers - ours.numbers
    lost -= ours.months & theirs.named_months
    added -= ours.hanzi
    return [
        *(f"{_shown(value)} is missing" for value in lost.elements()),
        *(f"{_shown(value)} is new" for value in added.elements()),
    ][:8]


def _values(text: str) -> Counter[Decimal]:
    text = _GROUPED.sub(lambda match: match[0].replace(",", ""), text)
    values: Counter[Decimal] = Counter()

    def scaled(match: re.Match[str]) -> str:
        value = Decimal(match["number"])
        for unit in [match["unit"]] if match["unit"].isascii() else match["unit"]:
            value *= _WORDS.get(unit.lower()) or _UNITS[unit]
        values[value.normalize()] += 1
        return " "

    text = _SCALED.sub(scaled, text)
    values.update(Decimal(number).normalize() for number in _NUMBER.findall(text))
    return values


def _hanzi(word: str) -> Decimal:
    if all(c in _DIGITS for c in word):
        return Decimal("".join(str(_DIGITS[c]) for c in word)).normalize()
    total, part, digit = 0, 0, 0
    for c in word:
        if c in _DIGITS:
            digit = _DIGITS[c]
        elif _UNITS[c] >= 10**4:
            total, part, digit = (total + part + digit or 1) * _UNITS[c], 0, 0
        else:
            part, digit = part + (digit or 1) * _UNITS[c], 0
    return Decimal(total + part + digit).normalize()


def _added(source: str, target: str, ours: _Parts, theirs: _Parts) -> list[str]:
    problems = []
    if untranslated := _FOREIGN.search(target):
        problems.append(f"not translated: {one_line(untranslated[0], 30)!r}")
    problems += _own_words(source, target, theirs)
    clauses = len(_CLAUSE_END.findall(ours.plain)) + 1
    sentences = len(_SENTENCE_END.findall(theirs.plain))
    if sentences > clauses + 1:
        problems.append(f"added text: {sentences} sentences where the text has {clauses} clauses")
    characters = len(re.sub(r"\s", "", ours.plain))
    meant = len("".join(_FOREIGN.findall(ours.plain)))
    longest = 6 * meant + 2 * (characters - meant) + 40
    if len(theirs.plain) > longest:
        problems.append(f"added text: {len(theirs.plain)} characters where at most {longest} were expected")
    words = len(re.findall(r"[A-Za-z]{2,}", theirs.plain))
    if meant >= 8 and words * 8 < meant:
        problems.append(f"lost text: {words} words for {meant} characters")
    return problems


def _own_words(source: str, target: str, theirs: _Parts) -> list[str]:
    problems = []
    if new := Counter(_MARKUP.findall(target)) - Counter(_MARKUP.findall(source)):
        problems.append(f"added markup: {one_line(next(iter(new)), 40)!r}")
    if (talk := _TALK.search(theirs.plain)) and not _TOLD.search(source) and not _TALK.search(source):
        problems.append(f"added text: {one_line(talk[0], 40)!r}")
    return problems


def _formulas(ours: Counter[str], theirs: Counter[str]) -> list[str]:
    lost, added = ours - theirs, theirs - ours
    for span in [span for span in lost if _WORDS_MARK in span]:
        pattern = re.compile(r"[A-Za-z,.'-]{1,80}".join(map(re.escape, span.split(_WORDS_MARK))))
        while lost[span] and (match := next((other for other in added.elements() if pattern.fullmatch(other)), "")):
            lost[span] -= 1
            added[match] -= 1
    return _counts(+lost, +added)


def _symbols(ours: _Parts, theirs: _Parts) -> list[str]:
    added = {
        symbol: count
        for symbol, count in (theirs.relations - ours.relations).items()
        if not (symbol in _SPELLED and _SPELLED[symbol].search(ours.plain))
    }
    return _counts(ours.relations - theirs.relations, Counter(added))


def _order(ours: list[str], theirs: list[str]) -> list[str]:
    if ours == theirs:
        return []
    return [f"{', '.join(ours) or 'none'} became {', '.join(theirs[:20]) or 'none'}"]


def _count(name: str, ours: int, theirs: int) -> list[str]:
    return [] if ours == theirs else [f"{ours} {name} became {theirs}"]


def _counts(ours: Counter[str], theirs: Counter[str]) -> list[str]:
    return [
        *(f"{one_line(item, 60)} is missing" for item in (ours - theirs).elements()),
        *(f"{one_line(item, 60)} is new" for item in (theirs - ours).elements()),
    ][:8]


def _blanks(text: str) -> int:
    return count_blanks(text) + len(re.findall(r"[(（][\s\u3000~]*[)）]", FIGURE.sub("x", text)))


def _flat(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS)


def _one_name(command: re.Match[str]) -> str:
    name = command[0][1:]
    return f" \\{kept} " if (kept := _SAME.get(name, name)) else " "


def _shown(value: Decimal) -> str:
    return format(value, "f")
