r"""Finds the formulas in a text: `find_spans(text)` gives them in order, without overlap.

Contract: nothing of the text is changed or lost; a span names the piece `text[start:end]`, the LaTeX in it
and whether it stands on a line of its own. Understood are $…$, $$…$$, \(…\), \[…\], environments and
\boxed{…}, \ce{…}, \pu{…} outside any delimiter, and bare LaTeX between other writing ("得 \frac{1}{2}。").
Code (`…`, ```…```) and amounts of money ("$5 and $6") are left alone. Time is bounded by the length of the
text, except for a factor of at most `MAX_FORMULA`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from livek12.report.bare import bare_formulas

MAX_FORMULA = 4000
"""Longest formula looked for, in characters."""

ENVIRONMENTS = (
    "equation|align|aligned|alignat|alignedat|gather|gathered|multline|split|eqnarray|cases|dcases|rcases|array"
    "|matrix|pmatrix|bmatrix|Bmatrix|vmatrix|Vmatrix|smallmatrix"
)
OPENER = re.compile(
    r"(?P<fence>```)|(?P<code>`[^`\n]+`)|(?P<skip>\\\\|\\\$)"
    r"|(?P<bracket>\\\[)|(?P<paren>\\\()|(?P<double>\$\$)|(?P<single>\$)"
    rf"|\\begin\{{(?P<begin>(?:{ENVIRONMENTS})\*?)\}}|(?P<macro>\\(?:boxed|fbox|ce|pu)\s*\{{)"
)
CLOSERS = {"bracket": r"\]", "paren": r"\)", "double": "$$", "single": "$"}
BLANK_LINE = re.compile(r"\n[ \t]*\n")
MONEY = re.compile(
    r"\s*\d[\d.,]*+(?:\s*(?:[-–—]|to|and|or|per)\s*|[^\\^_=+*/<>{}|]*(?:[A-Za-z]{3}|[^\x00-\u02ff])[^\\^_]*)", re.S
)
PROSE = re.compile(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}")
TEXT_ARGUMENT = re.compile(r"\\(?:text\w*|mathrm|operatorname|mbox)\s*\{[^{}]*\}")


@dataclass(frozen=True)
class TextSpan:
    """One formula, or with `code` a piece of code to leave alone; `bare` where no delimiter marked it."""

    start: int
    end: int
    latex: str
    display: bool = False
    code: bool = False
    bare: bool = False


def find_spans(text: str) -> list[TextSpan]:
    """All formulas and code pieces of a text, in order."""
    braces = _matching_braces(text)
    marked = list(_delimited(text, braces))
    return sorted([*marked, *_bare(text, marked, braces)], key=lambda span: span.start)


def _delimited(text: str, braces: dict[int, int]) -> Iterator[TextSpan]:
    position = 0
    while opener := OPENER.search(text, position):
        span = _span_at(text, opener, braces)
        if span is not None:
            yield span
        position = span.end if span is not None else opener.end()


def _span_at(text: str, opener: re.Match[str], braces: dict[int, int]) -> TextSpan | None:
    kind, start = opener.lastgroup, opener.start()
    if kind == "fence":
        closing = text.find("```", opener.end())
        end = closing + 3 if closing >= 0 else len(text)
        return TextSpan(start, end, "", code=True)
    if kind == "code":
        return TextSpan(start, opener.end(), "", code=True)
    if kind == "macro":
        closing = braces.get(opener.end() - 1, -1)
        return TextSpan(start, closing + 1, text[start : closing + 1]) if 0 <= closing - start < MAX_FORMULA else None
    if kind == "begin":
        return _environment(text, opener)
    if kind in CLOSERS:
        return _between(text, opener, kind)
    return None


def _between(text: str, opener: re.Match[str], kind: str) -> TextSpan | None:
    start, closer = opener.end(), CLOSERS[kind]
    closing = _closing(text, closer, start)
    latex, end = text[start:closing], closing + len(closer)
    if closing < 0 or not latex.strip() or (kind == "single" and not _is_inline(latex, text[end : end + 1])):
        return None
    return TextSpan(opener.start(), end, latex.strip(), display=kind in ("bracket", "double"))


def _closing(text: str, closer: str, start: int) -> int:
    """Where the closer stands that no backslash escapes, or -1."""
    found = text.find(closer, start, start + MAX_FORMULA)
    while found >= 0:
        before = text[max(start, found - 40) : found]
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return found
        found = text.find(closer, found + 1, start + MAX_FORMULA)
    return -1


def _is_inline(latex: str, following: str) -> bool:
    """Whether what stands between two dollar signs is a formula and not prose between two others or two prices."""
    if BLANK_LINE.search(latex) or MONEY.fullmatch(latex) or PROSE.search(TEXT_ARGUMENT.sub("", latex)):
        return False
    return not (following.isdigit() and latex.lstrip()[:1].isdigit())


def _environment(text: str, opener: re.Match[str]) -> TextSpan | None:
    name = re.escape(opener["begin"])
    depth = 0
    for edge in re.finditer(rf"\\(begin|end)\{{{name}\}}", text[opener.start() : opener.start() + MAX_FORMULA]):
        depth += 1 if edge[1] == "begin" else -1
        if depth == 0:
            start, end = opener.start(), opener.start() + edge.end()
            alone = text[:start].rpartition("\n")[2].strip() == "" and text[end:].partition("\n")[0].strip() == ""
            return TextSpan(start, end, text[start:end], display=alone)
    return None


def _matching_braces(text: str) -> dict[int, int]:
    """Where each opening brace closes; an escaped brace is no brace."""
    stack: list[int] = []
    matches: dict[int, int] = {}
    for brace in re.finditer(r"\\[\\{}]|[{}]", text):
        if brace[0] == "{":
            stack.append(brace.start())
        elif brace[0] == "}" and stack:
            matches[stack.pop()] = brace.start()
    return matches


def _bare(text: str, marked: list[TextSpan], braces: dict[int, int]) -> Iterator[TextSpan]:
    position = 0
    for span in [*marked, TextSpan(len(text), len(text), "")]:
        for start, end in bare_formulas(text, position, span.start, braces):
            if 0 < end - start <= MAX_FORMULA:
                yield TextSpan(start, end, text[start:end], bare=True)
        position = span.end
