"""Web pages and Markdown.

Contract: scripts do not run, nothing is fetched, and only pictures within the page are taken. Invisible text is left
out. Markdown is made HTML first, with its formulas kept aside.
"""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import TreeBuilder

from livek12.core.errors import UserError
from livek12.core.languages import HANGUL
from livek12.core.lazy import yaml
from livek12.dataset_builders.ingest.pages.blocks import UNREAD
from livek12.dataset_builders.ingest.sources.mathml import latex
from livek12.dataset_builders.ingest.sources.tex import Reader, behind
from livek12.dataset_builders.ingest.sources.word import NUMBER_FORMS, Numbering
from livek12.dataset_builders.ingest.sources.writer import BLANK, OPTION, Cell, Paragraph, Writer, decoded, joined

_BLOCKS: Final = frozenset(
    "address article aside blockquote body center dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6"
    " header hr li main ol p pre section ul caption legend details summary".split()
)
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_VOID: Final = frozenset("area base br col embed hr img input link meta param softbreak source track wbr".split())
_UNSEEN: Final = frozenset("script style title template noscript head textarea select button mjx-math".split())
_DRAWN: Final = frozenset("svg canvas object iframe video audio applet".split())
_RENDERED: Final = frozenset("katex-html MathJax_Preview MathJax MathJax_Display MathJax_SVG MathJax_CHTML".split())
"""Classes of formulas as they are drawn, beside their source."""
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])", re.IGNORECASE)
_COUNTED: Final = re.compile(r"list-style(?:-type)?\s*:[^;]*\b(decimal|(?:upper|lower)-(?:alpha|latin|roman))")
_OWN_LINES: Final = _BLOCKS | {"table", "tr", "td", "th"}
_INNER: Final = r"((?:[^\\]|\\[^(\[])+?)"
_MATH: Final = re.compile(
    rf"\\\({_INNER}\\\)|\\\[{_INNER}\\\]|\$\$(.+?)\$\$"
    r"|(?<![\\$])(\$(?=[^\s$])(?:[^$\\\n]|\\.|\n(?!\s*\n))+(?<=\S)\$(?!\d))",
    re.DOTALL,
)
_FENCED: Final = (
    r"(?m:^[ >]*(?:(?:\d{1,9}[.)]|[-*+]) +)*)(`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,}).*?(?:\n[ >]*\1|\Z)"  # code of Markdown
)
_LATEX: Final = re.compile(
    rf"{_FENCED}|`[^`\n]*`|{_MATH.pattern}"
    r"|(?<![\w:\\])(\\[A-Za-z]{3,}\*?(?=[\[{]|[ \t]*(?:\n|\\[A-Za-z])))",
    re.DOTALL,
)  # formulas, commands and code of Markdown
_DATA: Final = re.compile(r"data:image/[\w.+-]+;base64,(.*)", re.DOTALL)
_LABELLED: Final = re.compile(r"(?m)^([> ]*)(\w{1,12} ?[:：].*)\n(?=\1\w{1,12} ?[:：])")
"""A labelled line of Markdown, "answer: 2", above another."""
_NUMBERED: Final = re.compile(r"\D{0,10}\d{1,3}\D{0,3}")  # a heading that numbers a question
_SOLUTION: Final = re.compile(r"\s*solutions?\s*[:.]?\s*", re.IGNORECASE)
_LINES: Final = re.compile(rf"{_FENCED}|(?P<lines>(?m:^(?![ >]*(?:```|~~~))[^\n]*\S[^\n]*\n)+)", re.DOTALL)
"""Code, or lines of Markdown without an empty one between two."""
_BULLET: Final = re.compile(r"\A {0,6}[-*+] ")
_TICK, _STAR = re.compile(r"\A\[[xX]\] "), re.compile(r"\s*\(\*\)\Z")
_STARRED: Final = re.compile(r"[^$\\\ue000]{1,80}")  # an item of a list whose options are marked by (*)
_RIGHT: Final = "\ue003"  # in an option that is ticked
_CHOICE: Final = "\ue002"  # behind the letter of a button's text
_FRONT: Final = re.compile(r"\s*---\n(?![ \t]*\n)(.{1,10000}?)\n(?:---|\.\.\.)\n", re.DOTALL)
_ELSEWHERE: Final = re.compile(r"!\[\[[^\[\]\n]{0,300}\]\]|\[@[^\[\]\n]{1,300}\]")
"""Pictures by their names, and books by their keys."""
_ATTRIBUTES: Final = re.compile(r"(?m)^(#{1,6} .*\S)[ \t]*\{[#.][\w.#=\" -]{0,200}\}[ \t]*$")  # of a heading of Pandoc
_AUTHORS, _TITLE = 20, 1000  # of a file at most, and characters of a title
MAX_COMMAND: Final = 100_000  # characters of a command of LaTeX with its arguments
MAX_UNCLOSED: Final = 99  # commands whose arguments no bracket closes
MAX_OPTIONS: Final = 8  # of a ticked list
_KEPT: Final = re.compile("\ue000(\\d+)\ue001")


def read(path: Path) -> Writer:
    """The paragraphs, tables and pictures of a page."""
    text = decoded(path)
    is_markdown = path.suffix.lower().startswith((".md", ".markdown"))
    text, kept = _of_markdown(text) if is_markdown else (text, {})
    reader = _Reader(kept, bool(re.search(f"[{HANGUL}]", text)))
    reader.feed(text)
    reader.close()
    reader.flush()
    reader.writer.reveal()
    return reader.writer


def _of_markdown(text: str) -> tuple[str, dict[str, str]]:
    """HTML of Markdown with numbers for its LaTeX, and how that reads."""
    from markdown_it import MarkdownIt

    text = text.replace("\r\n", "\n")
    front = _FRONT.match(text)
    titles = _titles(front[1]) if front else None
    text = text[front.end() :] if front and titles is not None else text
    text = re.sub(r"(?m)^( {0,12})#\.(?= )", r"\g<1>1.", text)  # lists that Pandoc numbers
    text = _LABELLED.sub(r"\1\2  \n", re.sub(r"(?m)^ {0,12}:{3,}.*$", "", text))  # with no fences of Pandoc
    reader, pieces, kept, place, unclosed = Reader(), list[str](), dict[str, str](), 0, 0
    reader.taken("\n".join(re.findall(r"\\\w*command.*", front[1] if front else "")))
    text = _ATTRIBUTES.sub(r"\1", _ELSEWHERE.sub(UNREAD, "\n\n".join([*(titles or []), text])))
    text = _LINES.sub(_lettered, f"{text}\n")
    while match := _LATEX.search(text, place):
        pieces.append(text[place : match.start()])
        place = match.end()
        piece = text[match.start() : match.start() + MAX_COMMAND] if match[6] else match[0]
        end = behind(piece, len(match[0]), match[6])
        is_text = match[1] or match[0][0] == "`" or (match[3] and not re.search(r"[\\^_=]", match[3]))
        if is_text or end > len(piece):
            pieces.append(match[0])  # code, brackets that are escaped, a command that nothing closes
            if (unclosed := unclosed + (end > len(piece))) > MAX_UNCLOSED:
                raise UserError(f"nothing closes more than {MAX_UNCLOSED} commands of LaTeX in it: save it as PDF")
            continue
        place = match.start() + end
        reader.paragraph = Paragraph()
        latex = reader.taken(piece[:end])
        hidden = [*reader.writer.answers, *reader.writer.solutions]  # a key that is not taken is said
        reader.writer.answers, reader.writer.solutions = [], []
        latex += UNREAD if (hidden or reader.paragraph.unread) and UNREAD not in latex else ""
        if latex:
            pieces.append(f"\ue000{len(kept)}\ue001")
            kept[str(len(kept))] = latex
    markdown = MarkdownIt("commonmark").enable("table")
    markdown.add_render_rule("softbreak", lambda *_: "<softbreak>")
    return str(markdown.render("".join([*pieces, text[place:]]))), kept


def _titles(front: str) -> list[str] | None:
    """The titles that Pandoc prints of a file's front matter; None for other text between two rules."""
    try:
        fields = yaml.load(front, yaml.BaseLoader)  # texts as they are written
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    is_named = all(re.fullmatch(r"(?:[a-z]|CJK)[\w-]*", str(name)) for name in fields)
    fields = {str(name).lower(): value for name, value in fields.items()}
    if not (is_named or "title" in fields):
        return None
    named = [fields.get(name, "") for name in ("title", "subtitle", "author", "date")]
    lists = [(value if isinstance(value, list) else [value])[:_AUTHORS] for value in named]
    texts = [", ".join(each[:_TITLE] for each in own if isinstance(each, str)) for own in lists]
    return [" ".join(line.rstrip("\\ ") for line in text.split("\n")).strip() for text in texts]


def _lettered(match: re.Match[str]) -> str:
    """Lines of Markdown with the options of a list at their end lettered, if some of them are ticked."""
    lines = (match["lines"] or "").splitlines()
    first = next((n for n, line in enumerate(lines) if _BULLET.match(line)), len(lines))
    bullets = [bullet[0] if (bullet := _BULLET.match(line)) else "" for line in lines[first:]]
    items = [_BULLET.sub("", line, count=1).strip().removeprefix("[ ] ") for line in lines[first:]]
    sign = _TICK if any(map(_TICK.search, items)) or not all(map(_STARRED.fullmatch, items)) else _STAR
    marks = [bool(sign.search(item)) for item in items]
    texts = [sign.sub("", item) for item in items]
    if "" in bullets or len(set(bullets)) != 1 or not 0 < sum(marks) < len(items) <= MAX_OPTIONS:
        return match[0]
    letters = ["" if all(map(OPTION.match, texts)) else f"{chr(ord('A') + n)}. " for n in range(len(items))]
    ends = [f" {_RIGHT}" if mark else "" for mark in marks]
    made = ["".join(pieces) for pieces in zip(bullets, letters, texts, ends, strict=True)]
    return "\n".join([*lines[:first], *made, ""])


def _number(given: dict[str, str], name: str, default: int) -> int:
    value = given.get(name, "")
    return int(value) if re.fullmatch(r"\d{1,4}", value) else default


class _Reader(HTMLParser):
    def __init__(self, kept: dict[str, str], korean: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.writer = Writer()
        self.kept = kept
        self.paragraph = Paragraph()
        self.number = ""  # of the last item
        self.lists: list[Numbering] = []  # the open ones
        self.unseen: list[str] = []  # open elements of one name that are not read
        self.solving: list[str] = []  # open elements of one name in a solution
        self.depth = 0  # of lists and tables around it
        self.item: Paragraph | None = None  # the last item, as it begins
        self.is_right = False  # of the item that is read: it is marked as the solution
        self.tables: list[list[list[Cell]]] = []
        self.marks: list[tuple[str, int]] = []  # elements with a meaning of their own, and where their text begins
        self.formula: TreeBuilder | None = None
        self.formulas = self.choices = 0  # buttons right above
        self.math = False  # right behind the begin of an element that holds LaTeX alone
        self.is_numbered = False  # below a heading that numbers a question
        self.below = "decimalEnclosedCircle" if korean else "(decimal)"  # numbers of the lists there

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        is_script = tag == "script" and given.get("type", "").startswith("math/tex")
        self.math = is_script or (tag == "span" and "math" in given.get("class", "").split())
        if self.unseen:
            self.unseen += [tag] if tag == self.unseen[0] else []
        elif self.formula is not None:
            self.formula.start(tag, given)
        elif tag == "math":
            self.formula = TreeBuilder()
            self.formula.start(tag, given)
        elif tag not in _VOID and not is_script and (tag in _UNSEEN or self._is_hidden(given)):
            self.paragraph.text += BLANK if tag in ("textarea", "select") else ""
            self.unseen = [tag]
        elif tag in _DRAWN:
            if not any(name == "mjx-container" for name, _ in self.marks):
                self.paragraph.gap()
            self.unseen = [tag]
        else:
            self._begin(tag, given)

    def _is_hidden(self, given: dict[str, str]) -> bool:
        classes = {*given.get("class", "").split()}
        hidden = "hidden" in given or "collapse" in classes or bool(_HIDDEN.search(given.get("style", "")))
        self.writer.notes.update({"hidden text was left out": None} if hidden else {})
        return hidden or bool(_RENDERED & classes)

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        if self._ends_solution(tag):
            self._end_solution()
        is_solution = not self.solving and tag not in _VOID and "solution" in given.get("class", "").lower().split()
        if is_solution and self.paragraph is self.item and self.paragraph.text.strip() == self.number.strip():
            self.is_right = True
        elif self.solving[:1] == [tag] or (is_solution and tag not in ("li", "td", "th", "tr")):
            self.flush()
            self.depth = self.depth if self.solving else len(self.lists) + len(self.tables)
            self.solving.append(tag)
        if tag in _OWN_LINES and not (tag in ("p", "div") and self.paragraph.text.strip() == self.number.strip()):
            self.flush()
        if tag in ("ol", "ul"):
            styled = _COUNTED.search(given.get("style", ""))
            form = styled[1] if styled else NUMBER_FORMS.get(given.get("type", ""), "decimal")
            form = f"{form}." if tag == "ol" else ""
            is_below = form == "decimal." and (self.is_numbered or any(outer.form for outer in self.lists))
            self.lists.append(Numbering(self.below if is_below else form, _number(given, "start", 1) - 1))
        elif tag == "li" and self.lists:
            self.lists[-1].last = _number(given, "value", self.lists[-1].last + 1) - 1
            self.number = f"{self.lists[-1].next()} ".lstrip()
            self.paragraph = self.item = Paragraph(self.number, len(self.lists) - 1)
            self.is_right = is_solution
        elif tag in _HEADINGS:
            self.paragraph.heading, self.paragraph.bold = 7 - int(tag[1]), True
        elif tag == "br":
            self.paragraph.text += "\n"
        elif tag == "softbreak":
            self.paragraph.wraps = True
            self.flush(inside=True)
        elif tag == "pre":
            self.paragraph.verbatim = True
        elif tag == "img":
            self._picture(given)
        elif tag == "input":
            kind = given.get("type", "text")
            self.paragraph.text += BLANK if kind in ("text", "number", "") else ""
            if kind in ("radio", "checkbox") and "name" in given:
                self.flush(inside=True)
                self.paragraph.text = f"{chr(ord('A') + self.choices % 26)}{_CHOICE}"
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables:
            self.tables[-1] = self.tables[-1] or [[]]
            self.tables[-1][-1] += [[] for _ in range(min(99, max(1, _number(given, "colspan", 1))))]
        elif tag in ("sup", "sub", "u", "ins", "mjx-container"):
            self.marks.append((tag, self.formulas if tag == "mjx-container" else len(self.paragraph.text)))

    def handle_endtag(self, tag: str) -> None:
        self.math = False
        if self.unseen:
            if tag == self.unseen[0]:
                self.unseen.pop()
        elif self.formula is not None:
            self.formula.end(tag)
            if tag == "math":
                self.paragraph.formula(latex(self.formula.close()))
                self.formula, self.formulas = None, self.formulas + 1
        else:
            self._end(tag)

    def _end(self, tag: str) -> None:
        if tag in _HEADINGS:
            self.is_numbered = bool(_NUMBERED.fullmatch(self.paragraph.text.strip()))
        if tag in _OWN_LINES:
            self.flush()
        if tag in ("li", "ol", "ul"):
            self.is_right, self.number = False, ""
        if self._ends_solution(tag, closes=True) or self.solving == [tag]:
            self._end_solution()
        elif self.solving[:1] == [tag]:
            self.flush()
            self.solving.pop()
        elif tag in ("ol", "ul") and not self.solving:
            self.writer.reveal(self._put)
        if tag in ("ol", "ul") and self.lists:
            self.lists.pop()
        elif tag == "table" and self.tables:
            rows = self.tables.pop()
            if not (self.tables or self.solving):
                self.writer.table(rows)
                return
            for row in rows:  # within a cell: a line
                self._put(joined(row, "    "))
        elif self.marks and self.marks[-1][0] == tag:
            self._marked(*self.marks.pop())

    def _ends_solution(self, tag: str, closes: bool = False) -> bool:
        """Checks for the begin or end of an element that ends a solution whose own element is open."""
        if self.solving[:1] == ["p"]:
            return tag in _OWN_LINES
        if self.solving[:1] in (["dt"], ["dd"]):
            return tag in ("dt", "dd", "dl")
        is_outer = closes and tag in ("li", "td", "ol", "ul", "table")
        return bool(self.solving) and is_outer and len(self.lists) + len(self.tables) <= self.depth

    def _end_solution(self) -> None:
        self.flush()
        self.solving.clear()
        self.writer.reveal(self._put)

    def _marked(self, tag: str, begin: int) -> None:
        inner = self.paragraph.text[begin:]
        if tag == "mjx-container":
            if self.formulas == begin:
                self.paragraph.gap()
        elif tag in ("sup", "sub") and "$" not in inner:
            self.paragraph.text = self.paragraph.text[:begin]
            self.paragraph.script("^" if tag == "sup" else "_", inner)
        elif tag in ("u", "ins") and inner and not inner.strip():
            self.paragraph.text = self.paragraph.text[:begin] + BLANK

    def handle_data(self, data: str) -> None:
        if self.formula is not None:
            self.formula.data(data)
        elif self.math and not self.unseen and not re.match(r"\s*(?:\$|\\[(\[])", data):
            self.paragraph.formula(data)
        elif not self.unseen:
            text = data if self.paragraph.verbatim else re.sub(r"[ \t\r\n\f]+", " ", data)
            text = _KEPT.sub(lambda match: self.kept.pop(match[1], ""), text)  # once, so that no text can grow by it
            begins = self.paragraph.text[-1:] in ("", "\n", " ")
            self.paragraph.text += (text.lstrip(" ") if begins else text).replace("\xa0", " ").replace("\u200b", "")

    def _picture(self, given: dict[str, str]) -> None:
        data, words = _DATA.match(given.get("src", "")), given.get("alt", "").strip()
        try:
            drawn = bool(data) and self.paragraph.picture(base64.b64decode(data[1] if data else ""))
        except ValueError:
            drawn = False
        is_formula = re.search(r"math|tex|formula", given.get("class", "")) or re.match(r"\$|\\[a-z(\[]", words)
        if not drawn and words and is_formula:
            self.paragraph.formula(words.strip("$ ").removeprefix("\\(").removesuffix("\\)"))
        elif not drawn:
            self.paragraph.gap()

    def flush(self, inside: bool = False) -> None:
        """Ends the paragraph; one that goes on stays as it is but for its text."""
        last = self.paragraph
        last.text = _MATH.sub(lambda match: match[4] or f"${next(filter(None, match.groups())).strip()}$", last.text)
        self.paragraph = Paragraph(level=last.level if inside else 0)
        self.marks = [mark for mark in self.marks if mark[0] == "mjx-container"]
        label, choice, text = last.text.partition(_CHOICE)
        if choice:
            last.text = text if OPTION.match(text) else f"{label}. {text}" if text.strip() else ""
        if last.text.strip():
            last.unread |= UNREAD in last.text
            self.choices = self.choices + 1 if choice else 0
            key = OPTION.match(last.text) if self.is_right or _RIGHT in last.text else None
            last.text = last.text.replace(f" {_RIGHT}", "")
            self.writer.answers += [re.sub(r"\W", "", key[0])] if key else []
            self.is_right = False
            self._put(last)

    def _put(self, paragraph: Paragraph) -> None:
        if self.tables and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1].append(paragraph)
        elif self.solving:
            self.writer.solutions += [] if _SOLUTION.fullmatch(paragraph.text) else [paragraph.text]
        else:
            self.writer.add(paragraph)
