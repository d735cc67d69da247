r"""Finds LaTeX that stands in a text without any delimiter ("the point (0, \frac{5}{3}) lies on …").

Contract: `bare_formulas(text, start, end)` gives (start, end) of pieces that hold at least one command, taken
word by word: a formula grows from a word with a command over operators to the next operand, and never over a
word of prose. What follows no operator stays text, so a wrong guess shows a formula too short, not prose in
italics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NOT_MATHS = "begin|end|item|section|par|hline|cline|multirow|multicolumn|uline|emph|textbf|textit|textquotesingle|n|t"
COMMAND = re.compile(rf"\\(?!(?:{NOT_MATHS})(?![A-Za-z]))[A-Za-z]{{2,}}|[_^]\{{")
WAITING = re.compile(r"\\[A-Za-z]+$")
MAX_FORMULA = 4000
OPERATOR = re.compile(
    r"(?:[-=+*/<>|×÷·≤≥≠≈±→⇒∈,]|\\(?:[lg]eq?(?:slant)?|neq?|approx|sim|cdot|times|div|pm|mp|in|to|mid|cup|cap|equiv"
    r"|subset(?:eq)?|rightarrow|Rightarrow|implies|iff|quad|qquad|perp|parallel|propto|[,;]))+"
)
OPERAND = re.compile(r"[-+(\[|{]*(?:\d[\d.,]*|\d*[A-Za-z](?:[_^]\w|'|\(\w(?:,\w)*\))*|\d+[A-Za-z])[)\]|}']*[!%°]?")
BREAK = re.compile(
    r"[\s\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\u3000-\u303f“”‘’。，、]|</?[A-Za-z]{1,20}>"
)
STEP = re.compile(r"\\(?:[A-Za-z]+|.)|[^\\]", re.S)


def bare_formulas(text: str, start: int, end: int, braces: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Formulas in text[start:end], which holds no delimited one; `braces` tells where each brace closes."""
    for line in re.finditer(r"[^\n]+", text[start:end]):
        if COMMAND.search(line[0]) and not line[0].lstrip().startswith("|"):
            yield from _in_line(text, start + line.start(), start + line.end(), braces)


def _in_line(text: str, start: int, end: int, braces: dict[int, int]) -> Iterator[tuple[int, int]]:
    words = list(_words(text, start, end, braces))
    index = 0
    while index < len(words):
        if not _is_formula(text, words[index]):
            index += 1
            continue
        first, last = _leftwards(text, words, index), _rightwards(text, words, index)
        if words[last][1] - words[first][0] <= MAX_FORMULA:
            yield _trimmed(text, words[first][0], words[last][1])
        index = last + 1


def _words(text: str, start: int, end: int, braces: dict[int, int]) -> Iterator[tuple[int, int]]:
    r"""Pieces between spaces, tags and East Asian writing; braces and \left…\right hold a piece together."""
    position = start
    while position < end:
        if found := BREAK.match(text, position, end):
            position = found.end()
            continue
        first = position
        while position < end and not BREAK.match(text, position, end):
            position = _after(text, position, end, braces)
        yield first, position


def _after(text: str, position: int, end: int, braces: dict[int, int]) -> int:
    if position in braces and braces[position] < end:
        return braces[position] + 1
    step = STEP.match(text, position)
    if step is None:
        return position + 1
    if step[0] == r"\left":
        closing = text.find(r"\right", position, end)
        return closing + len(r"\right") if closing >= 0 else step.end()
    if len(step[0]) > 2 and text.startswith(" {", step.end()):
        return min(step.end() + 1, end)
    return min(step.end(), end)


def _is_formula(text: str, word: tuple[int, int]) -> bool:
    return COMMAND.search(text, *word) is not None


def _is_operator(text: str, word: tuple[int, int]) -> bool:
    return OPERATOR.fullmatch(text, *word) is not None


def _may_join(text: str, word: tuple[int, int]) -> bool:
    return _is_formula(text, word) or _is_operator(text, word) or OPERAND.fullmatch(text, *word) is not None


def _leftwards(text: str, words: list[tuple[int, int]], index: int) -> int:
    while index > 0 and text[words[index - 1][1] : words[index][0]].strip(" ") == "":
        linked = _is_operator(text, words[index - 1]) or _starts_with_operator(text, words[index])
        linked = linked or _is_operator(text, words[index])
        if not (linked and _may_join(text, words[index - 1])):
            break
        index -= 1
    return index + 1 if _is_operator(text, words[index]) and text[words[index][0]] in "-*+,|" and index else index


def _rightwards(text: str, words: list[tuple[int, int]], index: int) -> int:
    while index + 1 < len(words) and text[words[index][1] : words[index + 1][0]].strip(" ") == "":
        linked = _is_operator(text, words[index]) or text[words[index][1] - 1] in "=+-<>"
        linked = linked or WAITING.search(text, *words[index]) is not None
        linked = linked or _is_operator(text, words[index + 1]) or _starts_with_operator(text, words[index + 1])
        linked = linked or _is_formula(text, words[index + 1])
        if text[words[index][1] - 1] in ".;" or not (linked and _may_join(text, words[index + 1])):
            break
        index += 1
    return index


def _starts_with_operator(text: str, word: tuple[int, int]) -> bool:
    return text[word[0]] in "=+<>"


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while end > start and (text[end - 1] in " ,.;:*\\" or _closes_too_much(text[start:end])):
        end -= 1
    while start < end and text[start] in " ,.;:*":
        start += 1
    if text[start:end].count("(") > text[start:end].count(")") and text[start] == "(":
        start += 1
    return start, end


def _closes_too_much(piece: str) -> bool:
    return piece.endswith((")", "]")) and piece.count(piece[-1]) > piece.count({")": "(", "]": "["}[piece[-1]])
