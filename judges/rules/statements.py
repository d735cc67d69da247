r"""Answers in prose with formulas, in rows or with labels: each formula beside the key. Rejects only.

An answer states a formula only by writing it: it is wrong where each formula that it writes is, unless its words name a
number, a comparison or a negation. Behind a value a key may have a remark of a few words.
"""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.judges.base import AnswerComparison, Decision, reject
from livek12.judges.rules.latex import AMBIGUOUS, parse
from livek12.judges.rules.notation import bare, key_value
from livek12.judges.rules.restated import OTHERWISE, Compare
from livek12.judges.rules.tokens import FUNCTIONS, GREEK, Unparsable
from livek12.judges.rules.trees import Node, nodes, symbols, unnamed
from livek12.judges.rules.units import read_unit

NAME = "statements"
MAX_CHARS = 2_000
MAX_FORMULAS = 10
MAX_REMARK = 3
"""Words of a remark behind a key."""
MIN_WORDS, MIN_LETTERS, MIN_NAME = 2, 3, 4
_DOTS = frozenset({"\\ldots", "\\dots", "\\cdots"})
_LAYOUT = late(
    r"\\(?:begin|end)\s*\{(?:aligned|align|gathered|split|equation|array)\*?\}(?:\s*\{[clr| ]+\})?"
    r"|(?<!\\)&|\\[,;:]|~|\\hline(?![a-z])"
)
_PIECE = late(
    r"(?P<prose>\\(?:text(?:bf|it|rm|sf|tt|normal)?|mbox)\s*\{)|(?P<script>[_^]\s*\{)|(?P<one>[_^]\s*(?:\\[a-zA-Z]+|.))"
    r"|(?P<begin>\\begin\s*\{[a-z]+\*?\})|(?P<end>\\end\s*\{[a-z]+\*?\})"
    r"|(?P<row>\\\\(?:\s*\[[^\]]{0,10}\])?|\n|\\q?quad(?![a-zA-Z]))|(?P<command>\\(?:[a-zA-Z]+|.))|[{}]|[^\\{}_^\n]+",
    re.DOTALL,
)
_LABEL = late(r"\A\s*[(]?(?:[a-h]|i{1,3}|iv|v)[).]:?(?:\s|\\,)*")
_PLAIN = r"[A-Za-z]+(?:[-'’][A-Za-z]+)*[.,:;!]?(?=\s|$)"
_RUN = late(rf"(?<![A-Za-z\\]){_PLAIN}(?:\s+{_PLAIN})+")
"""Plain words in a row."""
_WORD = late(r"[A-Za-z]{2,}")
_VALUE_ENDS = late(r"\d[\d.]*[})\]\s]*$")
_GOES_ON = late(
    r"\s*(?:[(,.:;]|(?:and|or|if|for|when|where|while|with|is|are|as|at|in|on|under|during|because|since|by)\b)"
)
"""Prose behind a value that is no unit."""
_RELATION = late(r"[=<>≈]|\\(?:approx|simeq|sim|[lg]eq?|to|rightarrow|propto)(?![a-z])")
_SEPARATOR = late(r"[(\[{]|[)\]}]|,(?=\s)(?!\s\d{3}(?!\d))|;")
_STATED_IN = (
    r"\b(?:quarter|half|third|twice|double[sd]?|times|squared?|cubed?|root|over|plus|minus|divided|product|sum|ratio|power"
    r"|inverse\w*|proportional\w*|equals?|equally|same"
)
_STATES_FORMULA = late(rf"{_STATED_IN})\b", re.IGNORECASE)
SPELLED = late(
    rf"{_STATED_IN}|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|billion|dozen|point|constant|infinit\w+|none|no|not|never|both|pair|couple|single|once|unique\w*"
    r"|vanish\w*|rest|unchanged|conserved|any)\b",
    re.IGNORECASE,
)
"""Words that may state a number or formula."""
_KNOWN_QUANTITY = late(r"\W*(?:the )?[a-z]+(?: [a-z]+)? of(?: [a-z]+){1,4}\W*\Z", re.IGNORECASE)
"""A quantity by its name: the speed of light."""
_ENGLISH = late(r"\b(?:the|is|are|of|and|for|with|from|where)\b", re.IGNORECASE)
"""Words of English alone: prose of another language is not understood here."""
_STRUCTURE = late(r"\\(?:[dt]?frac|sqrt|partial|exp|cos|sin|tan|ln|log)(?![a-z])")
_SIGN = late(r"[\d=^/+<>\\]")
_STATED = frozenset({"", "1", "2"})


class Statements:
    """The formulas and words of a text; raises Unparsable for open braces and for words that may be units."""

    def __init__(self, text: str) -> None:
        """Reads a text of at most MAX_CHARS characters."""
        self.formulas: list[str] = []
        self.words: list[str] = []
        self.begins_in_words = False
        self._formula = ""
        text = _LAYOUT.sub(" ", bare(text).replace("\\!", ""))
        if len(text) > MAX_CHARS:
            raise Unparsable("too long")
        scripts: list[bool] = []
        prose = start = 0
        for match in _PIECE.finditer(text):
            kind, written = match.lastgroup, match[0]
            if written[-1] == "{" and kind != "command":
                scripts.append(kind == "script")
                if kind == "prose" and not prose and True not in scripts:
                    prose, start = len(scripts), match.end()
                    continue
            elif kind == "begin":
                scripts.append(True)
            elif kind == "end":
                del scripts[-1:]
            elif written == "}":
                if prose == len(scripts) > 0:
                    self._add_prose(text[start : match.start()])
                    prose = 0
                    scripts.pop()
                    continue
                del scripts[-1:]
            if prose:
                continue
            if kind == "row" and not scripts:
                self._close()
            elif kind is None and not scripts:
                self._add_text(written)
            else:
                self._formula += written
        if scripts:
            raise Unparsable("open braces")
        self._close()

    def _close(self) -> None:
        pieces, depth, start = [], 0, 0
        for match in _SEPARATOR.finditer(self._formula):
            if match[0] in ",;":
                if depth == 0:
                    pieces.append(self._formula[start : match.start()])
                    start = match.end()
            else:
                depth += 1 if match[0] in "([{" else -1
        pieces.append(self._formula[start:])
        if not all(map(_RELATION.search, filter(str.strip, pieces))):
            pieces = [self._formula]
        self._formula = ""
        self.formulas += [piece for piece in (_LABEL.sub("", piece).strip(" .,:;") for piece in pieces) if piece]

    def _add_text(self, text: str) -> None:
        start = 0
        for run in _RUN.finditer(text):
            words = [word for word in _WORD.findall(run[0]) if word not in FUNCTIONS and word not in GREEK]
            if sum(len(word) > 2 for word in words) >= MIN_WORDS:
                self._formula += text[start : run.start()]
                self._add_prose(run[0])
                start = run.end()
        self._formula += text[start:]

    def _add_prose(self, text: str) -> None:
        """Prose between formulas; the unit of a value belongs to the formula."""
        for place, piece in enumerate(re.split(r"\$|\\[()]", text)):
            if place % 2:
                self._formula += piece
                continue
            first, _, rest = piece.strip(" ~.,:").partition(" ")
            unit = read_unit(first) if self._formula.strip() else None
            united = unit is not None and unit.symbol != ""
            self._formula += f"\\text{{{first}}}" if united else ""
            prose = (rest if united else piece).strip(" ~.,:")
            behind = united or _VALUE_ENDS.search(self._formula) is not None
            if prose and behind and _GOES_ON.match(rest if united else piece) is None:
                raise Unparsable("words that may be a unit")
            if prose:
                self._close()
                self.begins_in_words |= not self.formulas
                self.words += _WORD.findall(_LABEL.sub("", prose)) if prose not in {"and", "or"} else []


def weigh(comparison: AnswerComparison, whole: Decision, compare: Compare) -> Decision:
    """The verdict on prose, given that on the whole text."""
    try:
        key, answer = Statements(key_value(comparison.gold)), Statements(comparison.answer)
    except Unparsable:
        return whole
    if answer.words and "\\" not in comparison.answer and not _ENGLISH.search(comparison.answer):
        return whole
    golds, values = _values(key), _values(answer)
    prose = " ".join(answer.words)
    few = len(key.words) <= MAX_REMARK and not key.begins_in_words and len(answer.formulas) <= MAX_FORMULAS
    if not (key.formulas or answer.words) and len(key.words) >= MIN_WORDS:
        subject = " ".join(key.words)
        other = values and all(map(_is_measured, values)) and not _KNOWN_QUANTITY.match(subject)
        return reject(NAME, "a value for words") if other and not SPELLED.search(subject) else whole
    if not golds or values is None or not few or (golds, values) == ([comparison.gold], [comparison.answer]):
        return whole
    if values and (OTHERWISE.search(prose) or (_DOTS & {*key.formulas} and any(map(_letters, values)))):
        return whole
    states = _STATES_FORMULA if max(map(_letters, golds)) >= MIN_LETTERS else SPELLED
    named = (len(answer.words) >= MIN_WORDS or len(prose) >= MIN_NAME) and not _KNOWN_QUANTITY.match(prose)
    if states.search(prose) or not (values or (named and any(map(_is_formula, golds)))):
        return whole
    pairs = [(gold, value) for gold in golds for value in values]
    if any(compare(gold, f"-({value})").decision == "accept" for gold, value in pairs):
        return whole  # words may state the sign: a loss of 3
    if all(compare(*pair).decision == "reject" for pair in pairs):
        return reject(NAME, "none of its formulas is the key" if values else "words for a formula")
    return whole


def _values(text: Statements) -> list[str] | None:
    """The formulas of a text without nouns and ellipses; None if one is not understood."""
    formulas = [(formula, _tree(formula)) for formula in text.formulas if formula not in _DOTS]
    if any(tree is None for _, tree in formulas):
        return None
    return [formula for formula, tree in formulas if not (text.words and _is_noun(tree))]


def _tree(text: str) -> Node | None:
    try:
        return parse(text)
    except Unparsable as error:
        try:
            return parse(text, division="tight") if str(error) == AMBIGUOUS else None
        except Unparsable:
            return None


def _is_noun(tree: Node | None) -> bool:
    """Checks for a letter or function in prose: "for large k"."""
    return tree is not None and (tree[0] in {"sym", "opaque"} or (tree[0] == "mul" and tree[1][1][0] == "tuple"))


def _letters(key: str) -> int:
    tree = _tree(key)
    return MIN_LETTERS * len(_STRUCTURE.findall(key)) if tree is None else len(symbols(tree))


def _is_formula(key: str) -> bool:
    """Checks for what words do not say."""
    value = unnamed(_tree(key) or [""])
    return _is_measured(key) or bool(
        _SIGN.search(key) and value[0] not in {"", "sym", "num", "unit"} and _numbers(value)
    )


def _is_measured(key: str) -> bool:
    """Checks for several letters, and for a number with decimals or a unit."""
    tree = _tree(key)
    if tree is None or _letters(key) >= MIN_LETTERS:
        return _letters(key) >= MIN_LETTERS and _SIGN.search(key) is not None
    numbers = _numbers(unnamed(tree[1] if tree[0] == "unit" else tree))
    return bool(numbers) and (tree[0] == "unit" or any("." in number for number in numbers))


def _numbers(value: Node) -> list[str]:
    """The numbers of a tree that words do not state lightly."""
    return [part[1] for part in nodes(value) if part[:1] == ["num"] and part[1].lstrip("0.") not in _STATED]
