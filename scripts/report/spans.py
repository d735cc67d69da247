"""Finds the formulas in a text: `find_spans(text)` gives them in order, without overlap.

Contract: nothing of the text is changed or lost; a span names the piece `text[start:end]`, the LaTeX in it
and whether it stands on a line of its own. Understood are $…$, $$…$$, \\(…\\), \\[…\\], environments and
\\boxed{…}, \\ce{…}, \\pu{…} outside any delimiter, and bare LaTeX between other writing ("得 \\frac{1}{2}。").
Code (`…`, ```…```) and amounts of money ("$5 and $6") are left alone. Time is bounded by the length of the
text, except for a factor of at most `MAX_FORMULA`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
CLOSERS = {
    "bracket": re.compile(r"(?<!\\)(?:\\\\)*(\\\])"),
    "paren": re.compile(r"(?<!\\)(?:\\\\)*(\\\))"),
    "double": re.compile(r"(?<!\\)(?:\\\\)*(\$\$)"),
    "single": re.compile(r"(?<!\\)(?:\\\\)*(\$)"),
}
BLANK_LINE = re.compile(r"\n[ \t]*\n")
MONEY = re.compile(r"\s*\d[\d.,]*(?:\s*(?:[-–—]|to|and|or|per)\s*|[^\\^_=+*/<>{}|]*(?:[A-Za-z]{3}|[^\x00-\u02ff]).*)", re.S)
RUN = re.compile(r"[\x20-\x22\x25-\x29\x2b-\x5f\x61-\x7e°±²³·×÷\u0391-\u03c9\u2032\u2070-\u22ff]+")
COMMAND = re.compile(r"\\(?:[A-Za-z]+|[{}|,;:! %])")
KNOWN = re.compile(
    r"\\(?:[dtc]?frac|sqrt|pi|theta|alpha|beta|gamma|lambda|mu|omega|times|cdot|pm|mp|leq?|geq?|neq?|infty|vec|sum|int"
    r"|in|cup|cap|sin|cos|tan|ln|log|lim|left|overline|overrightarrow|text|mathrm|mathbb|approx|circ|Delta|rightarrow)"
    r"(?![A-Za-z])"
)
TEXT_ARGUMENT = re.compile(r"\\(?:text\w*|mathrm|operatorname|mbox)\s*\{[^{}]*\}")
LINE_START = re.compile(r"[ \t]*(?:(?:[-+>]|\d{1,3}[.)]|[A-H][.)])[ \t]+)*")
TAG = re.compile(r"</?[A-Za-z]{1,20}>")


@dataclass(frozen=True)
class Span:
    """One formula (or, with `code`, one piece of code to leave alone)."""

    start: int
    end: int
    latex: str
    display: bool = False
    code: bool = False


def find_spans(text: str) -> list[Span]:
    """All formulas and code pieces of a text, in order."""
    marked = list(_delimited(text))
    return sorted([*marked, *_bare(text, marked)], key=lambda span: span.start)


def _delimited(text: str) -> Iterator[Span]:
    braces = _matching_braces(text)
    position = 0
    while opener := OPENER.search(text, position):
        span = _span_at(text, opener, braces)
        if span is not None:
            yield span
        position = span.end if span is not None else opener.end()


def _span_at(text: str, opener: re.Match[str], braces: dict[int, int]) -> Span | None:
    kind, start = opener.lastgroup, opener.start()
    if kind == "fence":
        closing = text.find("```", opener.end())
        end = closing + 3 if closing >= 0 else len(text)
        return Span(start, end, "", code=True)
    if kind == "code":
        return Span(start, opener.end(), "", code=True)
    if kind == "macro":
        closing = braces.get(opener.end() - 1, -1)
        return Span(start, closing + 1, text[start : closing + 1]) if 0 <= closing - start < MAX_FORMULA else None
    if kind == "begin":
        return _environment(text, opener)
    if kind in CLOSERS:
        return _between(text, opener, kind)
    return None


def _between(text: str, opener: re.Match[str], kind: str) -> Span | None:
    closer = CLOSERS[kind].search(text, opener.end(), opener.end() + MAX_FORMULA)
    if closer is None:
        return None
    latex = text[opener.end() : closer.start(1)]
    if not latex.strip() or (kind == "single" and not _is_inline(latex, text[closer.end() : closer.end() + 1])):
        return None
    return Span(opener.start(), closer.end(), latex.strip(), display=kind in ("bracket", "double"))


def _is_inline(latex: str, following: str) -> bool:
    """Whether what stands between two dollar signs is a formula and not prose between two prices."""
    if BLANK_LINE.search(latex) or MONEY.fullmatch(latex):
        return False
    return not (following.isdigit() and latex.lstrip()[:1].isdigit())


def _environment(text: str, opener: re.Match[str]) -> Span | None:
    name = re.escape(opener["begin"])
    depth = 0
    for edge in re.finditer(rf"\\(begin|end)\{{{name}\}}", text[opener.start() : opener.start() + MAX_FORMULA]):
        depth += 1 if edge[1] == "begin" else -1
        if depth == 0:
            start, end = opener.start(), opener.start() + edge.end()
            alone = text[:start].rpartition("\n")[2].strip() == "" and text[end:].partition("\n")[0].strip() == ""
            return Span(start, end, text[start:end], display=alone)
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


def _bare(text: str, marked: list[Span]) -> Iterator[Span]:
    """LaTeX without delimiters: a run of signs with a known command and without words."""
    position = 0
    for span in [*marked, Span(len(text), len(text), "")]:
        for line in re.finditer(r"[^\n]+", text[position : span.start]):
            if KNOWN.search(line[0]) and not line[0].lstrip().startswith("|"):
                at_start = position + line.start() == 0 or text[position + line.start() - 1] == "\n"
                yield from _bare_in_line(line[0], position + line.start(), at_start)
        position = span.end


def _bare_in_line(line: str, offset: int, at_start: bool) -> Iterator[Span]:
    prefix = LINE_START.match(line) if at_start else None
    cursor = prefix.end() if prefix else 0
    for edge in [*TAG.finditer(line, cursor), None]:
        for run in RUN.finditer(line, cursor, edge.start() if edge else len(line)):
            latex = run[0].strip(" ,.;:")
            if len(latex) <= MAX_FORMULA and _is_bare(latex):
                start = offset + run.start() + run[0].index(latex)
                yield Span(start, start + len(latex), latex)
        cursor = edge.end() if edge else cursor


def _is_bare(latex: str) -> bool:
    if not KNOWN.search(latex) or latex.count("{") != latex.count("}"):
        return False
    words = COMMAND.sub(" ", TEXT_ARGUMENT.sub(" ", latex))
    return re.search(r"[A-Za-z]{3}|[A-Za-z]{2}\s+[A-Za-z]{2}", words) is None
