"""Text of questions, answers and judges as HTML that is safe to put into a page.

All input is data: it is escaped; of Markdown only bold, lists, tables, headings, quotes and code are read; formulas
become MathML, or their source. Reordering and hidden characters are made visible. Size and time are bounded.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from markupsafe import Markup

from livek12.core.records import IMAGE_MARK
from livek12.core.schemes import quoted_span
from livek12.core.visible import visible
from livek12.report.latex import to_mathml

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


NOT_MATHS = "begin|end|item|section|par|hline|cline|multirow|multicolumn|uline|emph|textbf|textit|textquotesingle|n|t"
COMMAND = re.compile(rf"\\(?!(?:{NOT_MATHS})(?![A-Za-z]))[A-Za-z]{{2,}}|[_^]\{{")
WAITING = re.compile(r"\\[A-Za-z]+$")
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
    """Formulas without delimiters in text[start:end]; `braces` maps each brace to its closing one.

    They grow from a command over operators, never over prose: a wrong guess is too short, not prose in italics.
    """
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
    r"""Pieces between spaces, tags and East Asian writing; braces and \left…\right keep a piece together."""
    position = start
    while position < end:
        if gap := BREAK.match(text, position, end):
            position = gap.end()
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


MAX_FORMULA = 4000
"""Longest formula, in characters."""

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
    """Formula, or with `code` a piece of code to leave alone; `bare` without delimiters."""

    start: int
    end: int
    latex: str
    display: bool = False
    code: bool = False
    bare: bool = False


def find_spans(text: str) -> list[TextSpan]:
    r"""Formulas and code pieces of a text, in order and without overlap.

    $…$, $$…$$, \(…\), \[…\], environments, \boxed, \ce and \pu, and bare LaTeX; not code and amounts of money ("$5 and
    $6").
    """
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
    """Position of the closer that no backslash escapes, or -1."""
    position = text.find(closer, start, start + MAX_FORMULA)
    while position >= 0:
        before = text[max(start, position - 40) : position]
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return position
        position = text.find(closer, position + 1, start + MAX_FORMULA)
    return -1


def _is_inline(latex: str, following: str) -> bool:
    """Text between two dollar signs is a formula, not prose between two others or two prices."""
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
    """Closing position of each opening brace; escaped braces do not count."""
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


MAX_CHARACTERS = 30_000
MAX_FORMULAS = 1500
MAX_NESTING = 20
LONG_FORMULA, WIDE_FORMULA = 16, 60
"""Signs from which a formula may be wider than a phone's page, and than any."""
RELATIONS = frozenset("=<>≤≥≈≡≠∼≃≅∝→⇒⇔⟹⟺⟶")
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
# Private-use characters for what Markdown must not touch, removed from the text first.
INLINE, BLOCK, END, OPENS, CLOSES = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004"
HEIGHT = re.compile(r' height="(\d+)"')
HIGHEST_INLINE = 160
"""Pixels of a formula cut from a page (200 dpi), which stands in its line."""
PLACE = re.compile(f"[{INLINE}{BLOCK}](\\d+){END}")
ALONE = re.compile(f"(?:<br>\\s*)*({BLOCK}\\d+{END})(?:\\s*<br>)*")
OURS = re.compile(f"[{INLINE}{BLOCK}{END}{OPENS}{CLOSES}]")
PIECES = re.compile(f"(<[^>]*>|[{OPENS}{CLOSES}]\\d+{END})")
QUOTED = re.compile(r'<mark class="quoted [^>]*>|</mark>|<sup class="quoted-by [^>]*>[^<]*</sup>')
LINE_SIGNS = re.compile(r"(?:(?<![^\n])(?:[ \t]|[-+>#]+(?=[ \t]|$)|\d+[.)](?=[ \t]))*)?[\s*`>|]*")
"""Signs that make a line a heading, a list, a quotation or a row, or a text bold."""
MARKDOWN_SIGNS = " \t\n*`|"
# "\frac" and "\right" read by a careless JSON reader begin with a form feed and a carriage return.
DAMAGED = re.compile(
    "\x0c|\x08|\r(?=ight|ho|angle|ceil|floor|brace|m )|\t(?=heta|imes|ilde|ext|au|frac|herefore|riangle|an|o )"
)
LETTERS = {"\x0c": "\\f", "\x08": "\\b", "\r": "\\r", "\t": "\\t"}
TABULAR = re.compile(r"\\begin\{tabular\}(?:\[\w\])?\s*\{(?:[^{}]|\{[^{}]*\})*\}(.*?)\\end\{tabular\}", re.S)
BOX = re.compile(r"\\boxed\s*\{(.*)\}", re.S)
# Words that LaTeX would run together: a formula marked in them, East Asian writing, three English words in a row.
WORDS = re.compile(r"(?<!\\)\$|[\u2e80-\u9fff\uac00-\ud7af]{2}|[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}")
SPANNED = re.compile(
    r"\\multicolumn\s*\{(\d)\}\s*\{[^{}]*\}\s*\{([^{}]*)\}|\\multirow(?:\[\w\])?\s*\{[^{}]*\}\s*\{[^{}]*\}\s*\{([^{}]*)\}"
)
PLAIN_LATEX: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\\(?:uline|underline)\s*\{[\s~]*\}"), "________"),
    (re.compile(r"\\(?:uline|emph|textit|textrm)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\textbf\s*\{([^{}]*)\}"), r"**\1**"),
    (re.compile(r"\\textquotesingle(?:\{\}|\s)?"), "'"),
)


def clean(text: str) -> str:
    """Text made `visible`, with LaTeX commands repaired that a careless JSON reader damaged."""
    text = DAMAGED.sub(lambda match: LETTERS[match[0]], text.replace("\r\n", "\n")).replace("\r", "\n")
    return visible(OURS.sub(lambda match: f"[U+{ord(match[0]):04X}]", text))


def render(text: str, pictures: Sequence[Markup] = ()) -> Markup:
    """A whole text; pictures are at its image marks, leftover ones after it."""
    return Markup("").join(render_blocks(text, pictures))


class Highlight(NamedTuple):
    """A quotation, the kind of its mark, and a name behind it."""

    quote: str
    kind: str
    name: str


def render_blocks(text: str, pictures: Sequence[Markup] = (), highlights: Sequence[Highlight] = ()) -> list[Markup]:
    """`render`, one piece a paragraph, list or table.

    Missing highlights, and those that would change the layout, are left out.
    """
    if not text and not pictures:
        return []
    plain = _blocks(text, pictures, ())

    def blocks_with(chosen: Sequence[Highlight]) -> list[Markup]:
        blocks = _blocks(text, pictures, chosen) if chosen else []
        return blocks if QUOTED.sub("", "".join(blocks)) == "".join(plain) else []

    return blocks_with(highlights) or blocks_with([own for own in highlights if blocks_with([own])]) or plain


def _blocks(text: str, pictures: Sequence[Markup], highlights: Sequence[Highlight]) -> list[Markup]:
    shown, cut = text[:MAX_CHARACTERS], len(text) - MAX_CHARACTERS
    page = _Places()
    marked = page.keep_pictures(clean(shown), pictures)
    source = _tabulars(page.keep_formulas(marked, places=list(_places_of(marked, highlights))))
    blocks = [page.put_back(block) for block in _highlighted(_markdown_blocks(source, page), highlights)]
    if page.left_over:
        blocks.append(Markup('<p class="figures">{}</p>').format(Markup("").join(page.left_over)))
    if cut > 0:
        blocks.append(Markup(f'<p class="cut">… {cut:,} more characters are in the run folder.</p>'))
    return blocks


def _places_of(text: str, highlights: Sequence[Highlight]) -> Iterator[tuple[int, int, int]]:
    for number, highlight in enumerate(highlights):
        if (quote := clean(highlight.quote).strip()) and (span := quoted_span(text, quote)):
            start, end = span[0], span[0] + len(text[slice(*span)].rstrip(MARKDOWN_SIGNS))
            if (signs := LINE_SIGNS.match(text, start)) and signs.end() < end:
                start = signs.end()
            yield start, end, number


def _highlighted(blocks: Sequence[str], highlights: Sequence[Highlight]) -> Iterator[str]:
    """Blocks with each text of a highlight in its own mark: marks may not hold blocks."""
    whole, current = "".join(blocks), list[int]()
    for block in blocks:
        pieces = list[str]()
        for piece in PIECES.split(ALONE.sub(r"\1", block)) if highlights else [block]:
            if piece[:1] == OPENS:
                current += [int(piece[1:-1])] if CLOSES + piece[1:] in whole else []
            elif piece[:1] == CLOSES:
                number = int(piece[1:-1])
                current = [other for other in current if other != number]
                pieces.append(Markup('<sup class="quoted-by {}">{}</sup>').format(*highlights[number][1:]))
            elif current and piece.strip() and piece[:1] != "<":
                pieces.append(f'<mark class="quoted {html.escape(highlights[current[-1]].kind)}">{piece}</mark>')
            else:
                pieces.append(piece)
        yield "".join(pieces)


@lru_cache(512)  # keys, and reasons that judges word alike, come again with every trial
def render_answer(text: str) -> Markup:
    """A key or extracted answer on one line; a bare formula is read as one."""
    shown = clean(text[:MAX_FORMULAS].strip())
    if _looks_like_formula(shown) and (mathml := to_mathml(shown)):
        return _inline_formula(mathml)
    page = _Places()
    source = re.sub(r"\s*\n\s*", " ", page.keep_formulas(shown, display=False))
    inline = page.put_back(_parser().renderInline(source, {"page": page}))
    return inline + Markup(" …") if len(text) > MAX_FORMULAS else inline


def excerpt(text: str, most: int) -> str:
    """The first characters; a cut inside a formula is before it or, if that leaves little, after it.

    A formula that reaches beyond four times as many is cut.
    """
    if len(text) <= most:
        return text
    spans = find_spans(text[: 4 * most])
    end = next(
        (span.start if 2 * span.start >= most else span.end for span in spans if span.start < most < span.end), most
    )
    return f"{text[:end].rstrip()} …"


def _inline_formula(mathml: str) -> Markup:
    """A formula in a line; a long one breaks before its relations, and wide parts scroll."""
    signs = len(Markup(mathml).striptags())
    parts = _at_relations(mathml) if signs > LONG_FORMULA else [mathml]
    if len(parts) > 1:
        return Markup("<wbr>").join(map(_inline_formula, parts))
    size = " wide" if signs > WIDE_FORMULA else " long" if signs > LONG_FORMULA else ""
    return Markup(f'<span class="formula{size}">{mathml}</span>')


def _at_relations(mathml: str) -> list[str]:
    """A formula as one formula for each side of its outermost relations; browsers break none over lines."""
    root = ElementTree.fromstring(mathml)
    parts: list[list[ElementTree.Element]] = [[]]
    depth = 0
    for element in root[0] if len(root) == 1 and root[0].tag == "mrow" else ():
        sign = (element.text or "") if element.tag == "mo" else ""
        depth += (sign in OPENING) - (sign in CLOSING)
        if sign in RELATIONS and depth == 0 and parts[-1]:
            parts.append([])
        parts[-1].append(element)
    if len(parts) == 1:
        return [mathml]
    return [
        "".join(("<math><mrow>", *(ElementTree.tostring(element, "unicode") for element in part), "</mrow></math>"))
        for part in parts
    ]


def _looks_like_formula(text: str) -> bool:
    if not re.search(r"[\\^_]", text) or re.search(r"[$\n]|\\[(\[]|[^\x00-\u2fff]", text):
        return False
    words = re.sub(r"\\(?:text\w*|mathrm|operatorname)\s*\{[^{}]*\}|\\[A-Za-z]+", " ", text)
    return re.search(r"[A-Za-z]{3}|_{2}", words) is None


class _Places:
    """Pieces taken out of a text, to be restored in its HTML."""

    def __init__(self) -> None:
        self.kept: list[Markup] = []
        self.sources: list[str] = []
        self.left_over: Sequence[Markup] = ()

    def keep_pictures(self, text: str, pictures: Sequence[Markup]) -> str:
        pieces = text.split(IMAGE_MARK)
        self.left_over = pictures[len(pieces) - 1 :]
        marks = []
        for before, picture, after in zip(pieces, pictures, pieces[1:], strict=False):
            height = HEIGHT.search(picture)
            alone = not (before.rpartition("\n")[2].strip() or after.partition("\n")[0].strip())
            if alone or height is None or int(height[1]) > HIGHEST_INLINE:
                marks.append(self._keep(picture, IMAGE_MARK, BLOCK))
            else:
                marks.append(self._keep(Markup('<span class="in-line">{}</span>').format(picture), IMAGE_MARK))
        marks += [IMAGE_MARK] * (len(pieces) - 1 - len(marks))
        return "".join(a + b for a, b in zip(pieces, [*marks, ""], strict=True))

    def keep_formulas(self, text: str, display: bool = True, places: Sequence[tuple[int, int, int]] = ()) -> str:
        """Text with a place for each formula, and signs where highlights begin and end."""
        spans, pieces, position = find_spans(text), list[str](), 0
        edges = sorted(_edges(text, places, spans))
        for number, span in enumerate(spans):
            pieces.append(_with_edges(text, position, span.start, edges))
            pieces.append(self._formula(text, span, display, number))
            position = span.end
        return "".join([*pieces, _with_edges(text, position, len(text), edges)])

    def _formula(self, text: str, span: TextSpan, display: bool, number: int) -> str:
        source = text[span.start : span.end]
        if span.code:
            return source
        boxed = BOX.fullmatch(span.latex)
        if boxed and WORDS.search(TEXT_ARGUMENT.sub("", boxed[1])):
            return self._box(boxed[1], source)
        block = span.display and display
        mathml = to_mathml(self.restore(span.latex), block) if number < MAX_FORMULAS else None
        if mathml is None:
            return source if span.bare else self._keep(Markup("<code class='tex'>{}</code>").format(source), source)
        if block:
            return self._keep(Markup(f'<span class="display">{mathml}</span>'), source, BLOCK)
        return self._keep(_inline_formula(mathml), source)

    def _box(self, text: str, source: str) -> str:
        """A box of words, which may break over lines."""
        inside = self.put_back(html.escape(self.keep_formulas(text, display=False)))
        return self._keep(Markup(f'<span class="box">{inside}</span>'), source)

    def _keep(self, html_: Markup, source: str, kind: str = INLINE) -> str:
        self.kept.append(html_)
        self.sources.append(source)
        return f"{kind}{len(self.kept) - 1}{END}"

    def put_back(self, rendered: str) -> Markup:
        return Markup(PLACE.sub(lambda place: self.kept[int(place[1])], ALONE.sub(r"\1", rendered)))

    def restore(self, text: str) -> str:
        return PLACE.sub(lambda place: self.sources[int(place[1])], text)


def _edges(text: str, places: Sequence[tuple[int, int, int]], spans: Sequence[TextSpan]) -> Iterator[tuple[int, str]]:
    """Both ends of highlights, around cut formulas."""
    for start, end, number in places:
        cut = [span for span in spans if span.start < start < span.end or span.start < end < span.end]
        if not any(text.startswith("```", span.start) for span in cut):
            yield min([start, *(span.start for span in cut)]), f"{OPENS}{number}{END}"
            yield max([end, *(span.end for span in cut)]), f"{CLOSES}{number}{END}"


def _with_edges(text: str, start: int, end: int, edges: list[tuple[int, str]]) -> str:
    pieces, position = list[str](), start
    while edges and edges[0][0] <= end:
        place, sign = edges.pop(0)
        pieces += [_plain_latex(text[position:place]), sign]
        position = place
    return "".join([*pieces, _plain_latex(text[position:end])])


def _plain_latex(text: str) -> str:
    for pattern, replacement in PLAIN_LATEX:
        text = pattern.sub(replacement, text)
    return text


def _tabulars(text: str) -> str:
    """LaTeX tables (formulas already taken out) as pipe tables."""
    return TABULAR.sub(lambda table: _pipe_table(table[1]), text)


def _pipe_table(body: str) -> str:
    body = re.sub(r"\\hline|\\cline\s*\{[^{}]*\}", "", SPANNED.sub(_unspanned, body)).replace("|", "\\|")
    rows = [[" ".join(cell.split()) for cell in re.split(r"(?<!\\)&", row)] for row in re.split(r"\\\\", body)]
    rows = [row for row in rows if any(row)]
    if not rows:
        return ""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    columns = max(map(len, rows))
    lines[0] = "| " + " | ".join(rows[0] + [""] * (columns - len(rows[0]))) + " |"
    return "\n\n" + "\n".join([lines[0], "|" + "---|" * columns, *lines[1:]]) + "\n\n"


def _unspanned(cell: re.Match[str]) -> str:
    return cell[2] + " & " * (int(cell[1]) - 1) if cell[1] else cell[3]


def _markdown_blocks(source: str, page: _Places) -> list[str]:
    parser = _parser()
    tokens = parser.parse(source, {"page": page})
    if any(token.level >= MAX_NESTING - 2 for token in tokens):  # the parser drops what nests deeper
        return ["<p>" + html.escape(source).replace("\n", "<br>") + "</p>"]
    blocks: list[str] = []
    current: list[Token] = []
    for token in tokens:
        _tame(token)
        current.append(token)
        if token.level == 0 and token.nesting != 1 and token.type != "inline":
            blocks.append(parser.renderer.render(current, parser.options, {"page": page}))
            current = []
    return blocks


def _tame(token: Token) -> None:
    aligned = re.search(r"text-align:(right|center)", str(token.attrs.get("style", "")))
    token.attrs = {}
    if aligned:
        token.attrs = {"class": aligned[1]}
    elif token.type == "list_item_open" and token.info.isdigit():
        token.attrs = {"value": int(token.info[:9])}
    elif token.type == "heading_open":
        token.tag, token.attrs = "p", {"class": "heading"}
    elif token.type == "heading_close":
        token.tag = "p"


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"breaks": True, "maxNesting": MAX_NESTING})
    parser.enable(["table", "fence", "blockquote", "hr", "list", "heading", "newline", "escape", "backticks"])
    parser.block.ruler.push("behind_table", _behind_table, {"alt": ["blockquote"]})  # what ends a quote ends a table
    parser.inline.ruler.before("backticks", "bold", _bold)
    parser.add_render_rule("fence", _code_block)
    parser.add_render_rule("code_inline", _code)
    return parser


def _behind_table(state: StateBlock, line: int, _: int, silent: bool) -> bool:
    """A line right behind a table is none of its rows.

    GitHub's Markdown draws any line into the table, and drops surplus cells.
    """
    if not silent or state.parentType != "table":
        return False
    before, text = (_without_escapes(state.getLines(number, number + 1, 0, False)) for number in (line - 1, line))
    if set(before) <= set("|-: "):  # the line below the head
        state.env["columns"] = _columns(before)
    return (
        "|" not in text
        or (before.startswith("|") and not text.startswith("|"))
        or _columns(text) > state.env["columns"]
    )


def _without_escapes(row: str) -> str:
    return row.replace("\\|", "").strip()


def _columns(row: str) -> int:
    return row.removeprefix("|").removesuffix("|").count("|") + 1


def _code_block(_: Any, tokens: Sequence[Token], index: int, options: Any, env: dict[str, _Places]) -> str:
    return f"<pre><code>{html.escape(env['page'].restore(tokens[index].content))}</code></pre>\n"


def _code(_: Any, tokens: Sequence[Token], index: int, options: Any, env: dict[str, _Places]) -> str:
    return f"<code>{html.escape(env['page'].restore(tokens[index].content))}</code>"


def _bold(state: StateInline, silent: bool) -> bool:
    """**…** as people write it: CommonMark closes no "**结论：**所以", because of the punctuation before it."""
    if not state.src.startswith("**", state.pos) or state.src[state.pos + 2 : state.pos + 3].strip() == "":
        return False
    start = state.pos + 2
    end = state.src.find("**", start + 1, state.posMax)
    if end < 0 or state.src[end - 1].isspace():
        return False
    if not silent:
        outer = state.posMax
        state.push("strong_open", "strong", 1)
        state.pos, state.posMax = start, end
        state.md.inline.tokenize(state)
        state.posMax = outer
        state.push("strong_close", "strong", -1)
    state.pos = end + 2
    return True
