"""Text of questions, answers and judges as HTML that is safe to put into a page.

Contract: everything that comes in is data. It is escaped; of Markdown only bold, lists, tables, headings,
quotes and code are read; links, images and HTML are not; formulas become MathML, or their source where they
cannot. Characters that could reorder or hide text are made visible. Size is bounded: what is cut is said.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from livek12.core.records import IMAGE_MARK
from livek12.core.visible import visible
from livek12.report.latex import to_mathml
from livek12.report.spans import TEXT_ARGUMENT, TextSpan, find_spans

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MAX_CHARACTERS = 30_000
MAX_FORMULAS = 1500
MAX_NESTING = 20
LONG_FORMULA, WIDE_FORMULA = 16, 60
"""Signs from which a formula on a line may be wider than a phone's page, and than any."""
# Private-use characters stand for what Markdown must not touch; they are taken out of the text first.
INLINE, BLOCK, END = "\ue000", "\ue001", "\ue002"
PLACE = re.compile(f"[{INLINE}{BLOCK}](\\d+){END}")
ALONE = re.compile(f"(?:<br>\\s*)*({BLOCK}\\d+{END})(?:\\s*<br>)*")
OURS = re.compile(f"[{INLINE}{BLOCK}{END}]")
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
    """The text as `visible` shows it, with commands of LaTeX that a careless reader of JSON damaged written out."""
    text = DAMAGED.sub(lambda found: LETTERS[found[0]], text.replace("\r\n", "\n")).replace("\r", "\n")
    return visible(OURS.sub(lambda found: f"[U+{ord(found[0]):04X}]", text))


def render(text: str, pictures: Sequence[Markup] = ()) -> Markup:
    """A whole text; the pictures stand at its image marks, and those left over after it."""
    return Markup("").join(render_blocks(text, pictures))


def render_blocks(text: str, pictures: Sequence[Markup] = ()) -> list[Markup]:
    """The same, one piece a paragraph, list or table."""
    shown, cut = text[:MAX_CHARACTERS], len(text) - MAX_CHARACTERS
    page = _Places()
    marked = page.keep_pictures(clean(shown), pictures)
    source = _tabulars(page.keep_formulas(marked))
    blocks = [page.put_back(block) for block in _markdown_blocks(source, page)]
    if page.left_over:
        blocks.append(Markup('<p class="figures">{}</p>').format(Markup("").join(page.left_over)))
    if cut > 0:
        blocks.append(Markup(f'<p class="cut">… {cut:,} more characters are in the run folder.</p>'))
    return blocks


@lru_cache(512)  # keys, and reasons that judges word alike, come again with every trial
def render_answer(text: str) -> Markup:
    """A key or an extracted answer, on one line; a bare formula is read as one."""
    shown = clean(text[:MAX_FORMULAS].strip())
    if _looks_like_formula(shown) and (mathml := to_mathml(shown)):
        return _inline_formula(mathml)
    page = _Places()
    source = re.sub(r"\s*\n\s*", " ", page.keep_formulas(shown, display=False))
    inline = page.put_back(_parser().renderInline(source, {"page": page}))
    return inline + Markup(" …") if len(text) > MAX_FORMULAS else inline


def excerpt(text: str, most: int) -> str:
    """The first so many characters; where they end in a formula, those before it or, where these are few, it too.

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
    """Browsers break no formula over lines; one that may be wider than the page scrolls."""
    signs = len(Markup(mathml).striptags())
    size = " wide" if signs > WIDE_FORMULA else " long" if signs > LONG_FORMULA else ""
    return Markup(f'<span class="formula{size}">{mathml}</span>')


def _looks_like_formula(text: str) -> bool:
    if not re.search(r"[\\^_]", text) or re.search(r"[$\n]|\\[(\[]|[^\x00-\u2fff]", text):
        return False
    words = re.sub(r"\\(?:text\w*|mathrm|operatorname)\s*\{[^{}]*\}|\\[A-Za-z]+", " ", text)
    return re.search(r"[A-Za-z]{3}|_{2}", words) is None


class _Places:
    """What was taken out of a text, to be put back into its HTML."""

    def __init__(self) -> None:
        self.kept: list[Markup] = []
        self.sources: list[str] = []
        self.left_over: Sequence[Markup] = ()

    def keep_pictures(self, text: str, pictures: Sequence[Markup]) -> str:
        pieces = text.split(IMAGE_MARK)
        self.left_over = pictures[len(pieces) - 1 :]
        marks = [self._keep(picture, IMAGE_MARK, BLOCK) for picture in pictures[: len(pieces) - 1]]
        marks += [IMAGE_MARK] * (len(pieces) - 1 - len(marks))
        return "".join(a + b for a, b in zip(pieces, [*marks, ""], strict=True))

    def keep_formulas(self, text: str, display: bool = True) -> str:
        pieces, position = [], 0
        for number, span in enumerate(find_spans(text)):
            pieces.append(_plain_latex(text[position : span.start]))
            pieces.append(self._formula(text, span, display, number))
            position = span.end
        return "".join([*pieces, _plain_latex(text[position:])])

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
        """Words in a box, which may break over lines as no formula does."""
        inside = self.put_back(html.escape(self.keep_formulas(text, display=False)))
        return self._keep(Markup(f'<span class="box">{inside}</span>'), source)

    def _keep(self, html_: Markup, source: str, kind: str = INLINE) -> str:
        self.kept.append(html_)
        self.sources.append(source)
        return f"{kind}{len(self.kept) - 1}{END}"

    def put_back(self, rendered: str) -> Markup:
        return Markup(PLACE.sub(lambda place: self.kept[int(place[1])], ALONE.sub(r"\1", rendered)))

    def restore(self, text: str) -> str:
        """The source again, for what turns out to be code."""
        return PLACE.sub(lambda place: self.sources[int(place[1])], text)


def _plain_latex(text: str) -> str:
    for pattern, replacement in PLAIN_LATEX:
        text = pattern.sub(replacement, text)
    return text


def _tabulars(text: str) -> str:
    """LaTeX tables, whose formulas are out already, as pipe tables."""
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
    """Leaves of a token's attributes only those we write ourselves."""
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
    """Whether a line right behind a table is none of its rows.

    GitHub's Markdown draws any line into the table, and drops the cells of a row that has too many.
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
