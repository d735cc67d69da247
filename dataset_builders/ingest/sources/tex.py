r"""LaTeX papers: the classes exam, exam-zh and BHCexam, and plain lists.

Contract: a source is read, never compiled; no file is opened but those of its own folder that it inputs, its class and
packages included, each once. Macros that these define are expanded within bounds. A command that is not known keeps
the text of its arguments, with a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from os.path import realpath
from pathlib import Path
from typing import Final

from livek12.core.errors import UserError
from livek12.core.languages import HANGUL
from livek12.dataset_builders.ingest.sources.word import MAX_DEPTH, NUMBER_FORMS, Numbering, numeral
from livek12.dataset_builders.ingest.sources.writer import BLANK, MAX_TEXT, Cell, Paragraph, Writer, decoded, joined

MAX_EXPANSIONS: Final = 20_000
MAX_FILES: Final = 50  # that a paper inputs
MAX_COUNTERS: Final = 200
_MOST: Final = 99_999  # that a counter counts to
_OPTION: Final = 1000  # characters of the longest option
_QUESTIONS: Final = frozenset("questions question problem problems exercise exercises".split())
_ITEMS: Final = frozenset("question qs titledquestion bonusquestion subquestion part subpart subsubpart".split())
_COUNTED: Final = _ITEMS | {"enum"}  # counters of lists
_CHOICES: Final = frozenset("choices oneparchoices checkboxes oneparcheckboxes".split())
_DISPLAYS: Final = {
    **dict.fromkeys(("equation", "displaymath", "math"), "math"), "gather": "gathered", "multline": "gathered",
    **dict.fromkeys(("align", "alignat", "eqnarray", "flalign"), "aligned"),
    **{name: name for name in "aligned split cases array matrix pmatrix bmatrix vmatrix".split()},
}  # fmt: skip
"""Names of environments of formulas, and of what each is within a formula."""
_TITLES: Final = ("title", "subtitle", "subject", "author", "date", "notice")
"""Names of commands for what \\maketitle prints, in its order; the first three are headings."""
_HEADINGS: Final = frozenset("biaoti fubiaoti".split())
_OWN_LINES: Final = _HEADINGS | frozenset(
    "paragraph subsubsection uplevel fullwidth centerline rightline leftline".split()
)
_TABLES: Final = frozenset("tabular tabularx tabu longtable tblr longtblr".split())
_DRAWN: Final = frozenset("tikzpicture pspicture picture circuitikz asy".split())
_VERBATIM: Final = frozenset("verbatim lstlisting minted Verbatim BVerbatim alltt python".split())
_ENDS: Final = frozenset("par newpage clearpage smallskip medskip bigskip vfil vfill method".split())
_SWITCHES: Final = frozenset(
    "par method left right bf it em rm tt sf sc sl displaystyle large Large LARGE huge Huge small tiny hfill indent"
    " noindent centering raggedright bfseries itshape normalsize footnotesize scriptsize kaishu songti heiti fangsong"
    " hline hdashline".split()
)  # commands without arguments: a group behind one is text
_DROPPED: Final = frozenset(
    "label selectfont documentclass graphicspath pagenumbering geometry score tableofcontents draftpaper item"
    " cline protect relax fillwithlines fillwithdottedlines makeemptybox raggedbottom sloppy null strut index thanks"
    " phantom hphantom vphantom listoffigures boldmath everymath qquadtable flushleft kern"
    " ignorespaces addcontentsline numberwithin CorrectChoiceEmphasis cite usepackage gradetable pointtable".split()
).union(_ENDS, _SWITCHES)
_SETTING: Final = re.compile(
    r"[Ss]et[A-Za-z]+|(?:[lcr]|fancy|first\w*|running\w*)?(?:head|foot)(?:er)?|fancyhf|(?:no)?printanswers|marksnotpoints"
    r"|(?:add|drop|bracketed)points|(?:no)?point(?:s\w+|name)|\w+(?:setup|style|skip|space|rule|stretch|spread|indent"
    r"|break|size|counter|length|width|height|family|series|shape|format)"
    r"|(?:tabcol|arraycol|multicol|column|label|item|top|partop|par|fbox|head|foot\w*)sep"
    r"|(?:ctex|lst|tcb|pgf\w*|tikz|tblr|ql|thm|float|ps)set"
)  # names of commands that set something and print nothing
_SET: Final = re.compile(r"\s*[\w/ -]+=")
_LENGTH: Final = re.compile(
    r"\s*=?\s*-?[\d.]+(?:\s*(?:[a-z]{2}\b|\\[a-z]+))?(?:\s*(?:plus|minus)\s*-?[\d.]+\s*[a-z]+)*"
)
_SETS_ROOM: Final = re.compile(r"\s*(?:width|depth|height|length|type|(?:no|show|hide|text|line)-[\w-]+)\s*=")
_ROOM_FOR: Final = re.compile(r"\s*[\d.]+\s*(?:em|ex|in|[cm]m|pt|\\\w+)\s*$")
_BREAK: Final = re.compile(r"\*?(?:\[\s*-?[\d.][^\]]{0,40}\])?")
"""Pieces of a setting: the begin of an argument, a length, and the room behind a line's end."""
_BEFORE_TEXT: Final = {"resizebox": 2, "multicolumn": 2, "multirow": 2} | dict.fromkeys(
    ("color", "hypertarget", "textcolor", "colorbox", "scalebox", "rotatebox", "raisebox", "parbox", "href", "zihao"), 1
)  # arguments before the one that is printed
_KEPT_TEXT: Final = frozenset(
    "emph boxed mbox hbox fbox makebox framebox uline uwave dotuline underline minipage url caption SetCell information"
    " warning notice lower raise smash mathrm ensuremath".split()
).union(_OWN_LINES, _BEFORE_TEXT)
_SIGNS: Final = {
    "%": "%", "$": "\\$", "&": "&", "#": "#", "_": "_", "{": "{", "}": "}", " ": " ", ",": " ", ";": " ", ":": " ",
    "!": "", "/": "", "-": "", "@": "", "quad": "    ", "qquad": "        ", "enspace": "  ", "thinspace": " ",
    "ldots": "…", "dots": "…", "cdots": "…", "textellipsis": "…", "textquotedblleft": "“", "textquotedblright": "”",
    "xspace": " ", "textquotesingle": "'", "textquoteright": "’", "textquoteleft": "‘", "textbackslash": "\\", "S": "§",
    "textasciitilde": "~", "textasciicircum": "^", "textdegree": "°", "LaTeX": "LaTeX", "pounds": "£", "euro": "€",
    "copyright": "©", "textperiodcentered": "·", "textbullet": "•", "today": "", "ss": "ß", "o": "ø", "ae": "æ",
    "aa": "å", "textless": "<", "textgreater": ">", "textbar": "|", "slash": "/",
    "newline": "\n", "\\": "\n", "hrulefill": BLANK, "dotfill": BLANK, "answerline": BLANK, "hfil": " ", "space": " ",
    "thepage": "", "numpages": "", "numquestions": "", "numpoints": "", "and": "    ", "secret": "绝密★启用前",
}  # fmt: skip
_READ: Final = re.compile(
    rf"{'|'.join(map(re.escape, (*_SIGNS, *_DROPPED, *_KEPT_TEXT, *_ITEMS, *_TITLES)))}|text\w+|begin|end"
    rf"|(?:sub)?section|maketitle|{_SETTING.pattern}|arabic|[aA]lph|[rR]oman|zhnum|chinese"
)
"""Names of commands that need no macro."""
_INPUT: Final = re.compile(
    r"\\(?:input|include|subfile|(documentclass|LoadClass)|(usepackage|RequirePackage))\s*(?:\[[^\]]{0,999}\]\s*)?"
    r"\{([\w\s,./-]{1,999})\}"
)
_ELSEWHERE: Final = re.compile(r"(?:include|input|import|subfile)\w*|\w*(?:input|inputlisting|psfig|epsfig)|[^h]*ref")
_QUANTITIES: Final = frozenset("ce SI si qty unit num ang qtyproduct numrange qtyrange".split())
_OPTIONS: Final = 4  # arguments of an unknown command in a question that are options
_EMPTY: Final = re.compile(r"\\(?:hspace|[hv]?phantom|q?quad|rule|[,; ])\*?(?:\{[^{}]*\})*|[\s~]")
_NUMBERED: Final = re.compile(r"\s*(?:[一二三四五六七八九十]+\s*[、.．]|第|\d|[IVX]+\.|part|section)", re.IGNORECASE)
_LISTED: Final = re.compile(r"\s*\\begin\{(?:enumerate|questions|problems)\}(?!\s*\[)")  # right below a title
_GLYPHS: Final = dict(zip("'`\"^~=c", "\u0301\u0300\u0308\u0302\u0303\u0304\u0327", strict=True))
"""Accents, which Unicode puts behind their letter."""
_HIDES: Final = re.compile(r"ans(?:wer(?!.*(?:points|info))|$)|^key$|fillin|tiankong|^tk$", re.IGNORECASE)
_SOLVES: Final = re.compile(r"solution|memo|jiexi|analysis|^jie$|^proof$", re.IGNORECASE)
_PAREN: Final = re.compile(r"paren|xzanswer|kuohao", re.IGNORECASE)
_DEFINES: Final = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareMathOperator|(?P<form>New|Renew|Provide|Declare)DocumentCommand)"
    r"\*?\s*\{?\\(?P<name>\w+)\s*\}?\s*"
    r"|\\def\s*\\(?P<short>\w+)\s*(?P<many>(?:#\d)*)"
    r"|\\(?P<counter>(?:(?:ref)?step|addto|set|new)counter)(?=\s*\{)"
    r"|\\(?:re)?new(?P<kind>environment|tcolorbox|theorem\*?)\s*(?:\[[^\]]{0,99}\]\s*)?\{(?P<environment>[\w*]+)\}\s*"
)
_FORM: Final = re.compile(r"(?:(o)|O\s*\{([^{}]*)\})?((?:\s*m)*)\s*")  # of arguments: an optional one, and others
_LATEX3: Final = re.compile(r"\\[a-z]+_\w*:")  # a function of LaTeX3
_COLUMNS: Final = re.compile(r"\s*\(\d{1,2}\)")  # of a list of tasks
_FLAG: Final = re.compile(
    r"\\newif\s*\\if(?P<new>[A-Za-z@]{1,99})|\\(?P<makes>new|provide)?(?:set)?(?:toggle|bool(?:ean)?)"
    r"(?P<to>true|false)?\s*\{(?P<name>\w{1,99})\}(?:\s*\{(?P<set>true|false)\})?"
    r"|\\(?P<prefix>[A-Za-z@]{1,99}?)(?P<value>true|false)(?![A-Za-z@])"
)
"""What makes or sets a flag of conditions."""
_SOLVED: Final = re.compile(
    r"(no)?(?:show|print|with|has)?(?:sol(?:n|ution)?s?|ans(?:wer)?s?|(?:answer)?key)", re.IGNORECASE
)
"""A flag that prints the solutions, or hides them."""
_ASKS: Final = re.compile(
    rf"\A\s*\\item\b|\\(?:question|qs|titledquestion)\b|\\begin\s*\{{(?:{'|'.join(_QUESTIONS)})\}}"
)
"""Begins of questions, which stand in no solution."""
_COUNTS: Final = re.compile(r"\\(?:the[A-Za-z]|arabic|[aA]lph|[rR]oman|(?:ref)?stepcounter)")
_BRANCH: Final = re.compile(
    r"\\(if(?!toggle|bool|thenelse|str|blank|cs|undef|def(?!ined)|num[a-z]|dim[a-z]|f(?![A-Za-z@]))"
    r"|(?:else|fi)(?![A-Za-z@]))"
)
"""Begin, middle and end of a condition of TeX; those of packages have their branches as arguments."""
_BRANCHES: Final = re.compile(
    rf"\\(?:newif|let\s{{0,9}}\\[A-Za-z@]{{1,99}}\s{{0,9}}=?)\s{{0,9}}\\if[A-Za-z@]*|{_BRANCH.pattern}[A-Za-z@]*"
)
"""Pieces of conditions; the names that \\newif and \\let make begin none."""
_COMPARED: Final = re.compile(r"\s*\\([A-Za-z@]+)\s*\\([A-Za-z@]+)\s*")
_TITLE: Final = re.compile(r"\btitle\s*=\s*(\{[^{}]*\}|[^,{}]*)")  # of a box
_NAME: Final = re.compile(r"\\([A-Za-z@]{1,99})\*?[ \t]*\n?[ \t]*|\\(.)", re.DOTALL)
_ROOM: Final = re.compile(r"\A\s*(?:\[[^\]]*\]|\{[^{}]{0,8}\})*")
"""Options of an environment, such as the room that it leaves."""
_COMMENT: Final = re.compile(
    rf"\\begin\{{({'|'.join(_VERBATIM)})\}}|\\verb\*?([^\sA-Za-z*])|(?<!\\)((?:\\\\)*)%[^\n]*\n?[ \t]*"
)  # a comment, and what has none: a listing
_WRAPPED: Final = re.compile(r"(?<=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])[ \t]*\n[ \t]*")
"""The end of a line behind a Chinese character, which is no space."""
_TOKENS: Final = re.compile(rf"\\begin|\\end|\\\\{_BREAK.pattern}|\\.|[{{}}&\]$]", re.DOTALL)
_UNPRINTED: Final = re.compile(r"\\(?:label|score)\*?\{[^{}]*\}|\\(?:nonumber|notag|kaishu|songti|heiti)\b")
_TAG: Final = re.compile(r"\\tag\*?\s*\{")  # a remark beside a formula
_SPACE: Final = re.compile(r"(?:[ \t]|\n(?!\n))*")
_ANY_CASE: Final = re.compile(r"(alph|Alph|arabic|roman|Roman|chinese|circled|zhnum)")
_MARKUP: Final = re.compile(r"\\(?:textbf|bfseries|protect|zhnum|circled)?\s*|\\[A-Za-z]+\*?\{?|[{}*]")
_LEVELS: Final = {
    "questions": "decimal.", "parts": "(lowerLetter)", "subparts": "lowerRoman.", "subsubparts": "upperLetter."
}  # fmt: skip
_NUMBERS: Final = _LEVELS | {
    "subquestions": "(decimal)", "problems": "decimal.", "exercises": "decimal.", "tasks": "(lowerLetter)"
}  # fmt: skip
_WORTH: Final = re.compile(r"(?:points?|score)?\s*=?\s*(\d{1,3}(?:\.\d)?|\\half)")


def read(path: Path) -> Writer:
    """The paragraphs and tables of a paper; UserError if its macros expand without end."""
    styles = list[str]()
    reader = Reader()
    text = _whole(path, set(), styles)
    preamble, begin, body = text.partition("\\begin{document}")
    for style in styles:
        reader.define_all(style)
    reader.offered, reader.macros = reader.macros, {}
    reader.define_all(preamble if begin else "")
    reader.set_flags(preamble if begin else "")
    reader.is_exam = "{exam}" in preamble
    reader.counts_sections = not re.search(r"\{secnumdepth\}\s*\{-", preamble)
    body = (body if begin else text).partition("\\end{document}")[0]
    reader.east_asian, reader.korean = (bool(re.search(f"[{letters}]", body)) for letters in ("一-鿿", HANGUL))
    for match in re.finditer(rf"\\({'|'.join((*_TITLES, *_HEADINGS))})\s*(?=\{{)", preamble):
        reader.titles[match[1]] = _group(preamble, match.end())[0]
    reader.makes_title = bool(re.search(r"\\maketitle(?![A-Za-z])", body))
    if not reader.makes_title:
        reader.print_titles(3)
    reader.run(body)
    reader.end_question()
    return reader.writer


def opened_by(path: Path) -> set[Path]:
    """A paper with the files of its folder that it inputs."""
    opened = set[Path]()
    with suppress(UserError, OSError):  # raised again, and reported, when the paper is read
        _whole(path, opened, [])
    return opened


def _whole(path: Path, opened: set[Path], styles: list[str]) -> str:
    """The text of a file with those of its folder that it inputs, without comments; classes and packages apart."""
    paper, tried = Path(realpath(path)), set[str]()
    folder = paper.parent
    opened.add(paper)

    def text_of(file: Path) -> str:
        return _INPUT.sub(body, _uncommented(decoded(file).replace("\r\n", "\n")))

    def body(match: re.Match[str]) -> str:
        suffix = ".cls" if match[1] else ".sty" if match[2] else ".tex"
        names = [match[3]] if suffix == ".tex" else match[3].split(",")
        texts = [text_of(file) for name in names if (file := own_file(name.strip(), suffix))]
        if suffix == ".tex" and texts:
            return (texts[0].partition("\\begin{document}")[2] or texts[0]).partition("\\end{document}")[0]
        styles.extend(texts)
        return match[0]

    def own_file(name: str, suffix: str) -> Path | None:
        """A file of the paper's folder that is not opened yet."""
        name = f"{name.removesuffix(suffix)}{suffix}"
        if name in tried or len(tried) > 20 * MAX_FILES:
            return None
        tried.add(name)
        try:
            file = (folder / name).resolve()
            is_own = file.is_relative_to(folder) and file not in opened and file.is_file()
            size = sum(each.stat().st_size for each in (*opened, file)) if is_own else 0
        except (OSError, RuntimeError):  # links in a ring
            return None
        if not is_own or len(opened) > MAX_FILES or size > MAX_TEXT:
            return None
        opened.add(file)
        return file

    return text_of(path)


def _uncommented(text: str) -> str:
    """A text without its comments; a listing is kept as it is."""
    pieces, plain, place = list[str](), list[str](), 0  # those of plain have spaces for listings
    while match := _COMMENT.search(text, place):
        pieces += [text[place : match.start()], match[3] or ""]
        plain += pieces[-2:]
        place = match.end()
        if closing := f"\\end{{{match[1]}}}" if match[1] else match[2]:
            end = text.find(closing, place)
            place = end + len(closing) if end >= 0 else len(text)
            pieces.append(text[match.start() : place])
            plain.append(" " * len(pieces[-1]))
    return _without_false(*("".join([*each, text[place:]]) for each in (pieces, plain)))


def _without_false(text: str, plain: str) -> str:
    r"""A text without what \iffalse hides, if it ends; its commands are those of the plain text."""
    pieces, place, hidden = list[str](), 0, 0  # depth of what hides
    opened: list[re.Match[str]] = []
    for token in _BRANCHES.finditer(plain):
        if token[1] == "if":
            opened.append(token)
            hidden = hidden or (len(opened) if token[0] == "\\iffalse" else 0)
        elif token[1] and opened:
            if hidden == len(opened):
                pieces.append(text[place : opened[-1].start()])
                place, hidden = token.end(), 0
            elif token[1] == "fi" and opened[-1][0] == "\\iffalse" and not hidden:
                pieces.append(text[place : token.start()])
                place = token.end()
            if token[1] == "fi":
                opened.pop()
    return "".join([*pieces, text[place:]])


def _group(text: str, place: int) -> tuple[str, int]:
    """The text of a group in braces at a place, all there is if it is not closed, and the place behind."""
    end = _closing("}", text, place, len(text)) or len(text)
    return text[place + 1 : end], end + 1


def _closing(sign: str, text: str, place: int, limit: int) -> int:
    """The place of the sign that closes a group or a formula; 0 if none does so far."""
    depth = 0
    for token in _TOKENS.finditer(text, place, limit):
        depth += (token[0] == "{") - (token[0] == "}")
        if depth > MAX_DEPTH:
            raise UserError(f"its groups are nested more than {MAX_DEPTH} times: save it as PDF")
        if depth <= 0 and text.startswith(sign, token.start()):
            return token.start()
        if depth < 0 and sign == "]":
            break
    return 0


def _spaces(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _group_if(opening: str, text: str, place: int) -> tuple[str | None, int]:
    """The text of a group that begins so, and the place behind it; None and the place if there is none."""
    start = _spaces(text, place)
    if text[start : start + 1] != opening:
        return None, place
    if opening == "{":
        return _group(text, start)
    end = _closing("]", text, start, start + _OPTION)
    return (text[start + 1 : end], end + 1) if end else (None, place)


def _arguments(text: str, place: int, many: int = MAX_DEPTH) -> tuple[list[str], list[str], int]:
    """Options and so many arguments, one behind the other, and the place behind them."""
    groups: dict[str, list[str]] = {"[": [], "{": []}
    for opening, limit in (("[", MAX_DEPTH), ("{", many)):
        while len(groups[opening]) < limit and (group := _group_if(opening, text, place))[0] is not None:
            groups[opening].append(group[0])
            place = group[1]
    return groups["["], groups["{"], place


def _end_of(text: str, place: int, name: str) -> tuple[int, int]:
    """The begin and the end of what closes an open environment."""
    depth = 1
    for match in re.compile(r"\\(begin|end)\s*\{" + re.escape(name) + r"\}").finditer(text, place):
        depth += 1 if match[1] == "begin" else -1
        if not depth:
            return match.span()
    return len(text), len(text) + 1


def behind(text: str, place: int, command: str = "") -> int:
    """The place behind all groups right behind a command, or behind the environment that it begins."""
    if command == "\\begin" and text.startswith("{", place):
        name, place = _group(text, place)
        return _end_of(text, place, name)[1]
    value: str | None = ""
    while value is not None and text[place : place + 1] in ("[", "{"):
        value, place = _group_if(text[place], text, place)
    return place


class Reader:
    """Reads pieces of LaTeX, with the macros that they define."""

    def __init__(self) -> None:
        self.writer = Writer()
        self.paragraph = Paragraph()
        self.lists: list[Numbering] = []
        self.macros: dict[str, tuple[int, str | None, str]] = {}
        self.offered: dict[str, tuple[int, str | None, str]] = {}  # macros of the paper's class and packages
        self.own: dict[str, bool] = {}  # environments, and which of them the paper itself defines
        self.counters = {"section": 0}
        self.within: dict[str, set[str]] = {}  # counters that begin again with another
        self.titles: dict[str, str] = {}  # that \\maketitle prints, if there is one
        self.makes_title = False
        self.flags: dict[str, bool | None] = {"true": True}  # of conditions; None for one that is not surely known
        self.question = self.expansions = 0
        self.put: Callable[[Paragraph], None] = self.writer.add  # takes what is read
        self.east_asian = self.korean = False
        self.counts_sections, self.is_exam = True, False  # of the class exam, whose sections are no questions

    def flush(self) -> None:
        """Ends the paragraph."""
        last, self.paragraph = self.paragraph, Paragraph(level=max(0, len(self.lists) - 1))
        last.text = re.sub(r"(?<![ \t])[ \t]*\n[ \t]*", "\n", last.text).strip("\n")
        if last.text.strip():
            self.put(last)

    def heading(self, text: str, is_one: bool = True) -> None:
        """Reads a piece as a heading, or as a paragraph."""
        self.flush()
        self.paragraph.heading = self.paragraph.bold = is_one
        self.run(text)
        self.flush()

    def print_titles(self, many: int = len(_TITLES)) -> None:
        """Reads the first of the titles, some of which are headings."""
        for name in (*_HEADINGS, *_TITLES[:many]):
            self.heading(self.titles.pop(name, ""), name not in _TITLES[3:])

    def set_flags(self, preamble: str) -> None:
        """Sets the flags of a preamble; within a group or a condition they are not known."""
        depth = 0
        for token in re.finditer(rf"{_BRANCH.pattern}|{_FLAG.pattern}|\\.|[{{}}]", preamble, re.DOTALL):
            depth += token[0] == "{" or (token[1] or "").startswith("if")
            depth -= token[0] == "}" or token[1] == "fi"
            if flag := _FLAG.match(preamble, token.start()):
                self.sets_flag(flag, is_known=depth <= 0)

    def sets_flag(self, match: re.Match[str], is_known: bool = False) -> bool:
        """Makes or sets a flag; false for a command that does not."""
        name: str = match["new"] or match["name"] or match["prefix"]
        if match["prefix"] and name not in self.flags:
            return False
        value = "false" if match["new"] or match["makes"] else match["to"] or match["set"] or match["value"]
        self.flags[name] = value == "true" if value and is_known else None
        return True

    def _condition(self, text: str, place: int, flag: str) -> int:
        r"""Reads the branches of \if, \else and \fi; the place behind them."""
        if flag == "x":
            names = _COMPARED.match(text, place)
            is_defined = names and names[2] == "undefined" and (names[1] in self.macros or names[1] in self.offered)
            self.flags["x"] = False if is_defined else None
            place = names.end() if names else place
        depth, begin, branches = 0, place, list[str]()
        for match in _BRANCH.finditer(text, place) if self.expansions < MAX_EXPANSIONS else ():
            depth += (match[1] == "if") - (match[1] == "fi")
            if depth < 0 or (match[1] == "else" and not depth):
                branches.append(text[begin : match.start()])
                begin = match.end()
            if depth < 0:
                self.expansions += (begin - place) // 200
                self._branch(flag, branches)
                return begin
        self.expansions += 200 + (len(text) - place) // 200  # each looks through all that follows
        self.paragraph.gap()
        return place

    def _branch(self, flag: str, branches: Sequence[str]) -> None:
        """Reads the branch that is printed, both if that is not known, and one of solutions as such."""
        name = flag.removeprefix("\\not")
        solves, is_set = _SOLVED.fullmatch(name), self.flags.get(name)
        branch, other = [*branches, "", ""][:2]
        if (name != flag) != bool(solves and solves[1]):
            branch, other = other, branch
        if solves:
            is_set = None if _ASKS.search(branch) else False
            self.writer.solutions += [] if is_set is None else [self.taken(branch)]
        self.run("" if is_set is False else branch)
        self.run("" if is_set else other)
        if is_set is None:
            self.paragraph.gap()

    def taken(self, text: str) -> str:
        """The text of a piece that does not stand where it is written."""
        paragraphs, outer = Cell(), (self.paragraph, self.lists, self.put)
        self.paragraph, self.lists, self.put = Paragraph(), [], paragraphs.append
        self.run(text)
        self.flush()
        self.paragraph, self.lists, self.put = outer
        self.paragraph.unread |= any(paragraph.unread for paragraph in paragraphs)
        return "\n".join(paragraph.text for paragraph in paragraphs).strip()

    def end_question(self) -> None:
        """Adds what the paper hides of the question before."""
        self.flush()
        self.writer.reveal()

    def define_all(self, text: str) -> None:
        """Takes what a preamble defines."""
        place = 0
        while match := _DEFINES.search(text, place):
            place = self.define(text, match)

    def define(self, text: str, match: re.Match[str]) -> int:
        """Takes a macro, an environment or a counter that a text defines; the place behind it."""
        place, many, default = match.end(), len(match["many"] or "") // 2, None
        if match["counter"]:
            _, arguments, place = _arguments(text, place, 1 + (match["counter"] in ("setcounter", "addtocounter")))
            outer, place = _group_if("[", text, place)
            self._count(match["counter"], arguments or [""], outer)
            return place
        if match["form"]:
            form, place = _group_if("{", text, place)
            if not (given := _FORM.fullmatch(form or "")):
                return _group_if("{", text, place)[1]
            default = "" if given[1] else given[2]
            many = given[3].count("m") + (default is not None)
        options, bodies, place = _arguments(text, place, 1 + (match["kind"] == "environment"))
        if options:
            many = int(options[0]) if options[0].isdecimal() else 0
            default = options[1] if len(options) > 1 else None
        if not bodies or many > 9 or _LATEX3.search(bodies[0]):
            return place
        body, ending = [*bodies, ""][:2]
        if "MathOperator" in match[0]:
            body = f"\\operatorname{{{body}}}"
        elif match["kind"] == "tcolorbox":
            title = _TITLE.search(body)
            body = f"\\par {title[1].strip('{} ')}\\par " if title else "\\par "
        elif match["kind"] in ("theorem", "theorem*"):
            outer, place = _group_if("[", text, place)
            counter = options[0] if options else match["environment"]
            many, default, ending = 1, "", "\\par "
            if match["kind"] == "theorem":
                if counter == match["environment"]:
                    self._count("newcounter", [counter], outer)
                self.counters.setdefault(counter, 0)
                shown = f"\\the{counter}" if re.fullmatch("[A-Za-z]+", counter) else f"\\arabic{{{counter}}}"
                body = f"\\stepcounter{{{counter}}}{body} {shown}"
            body = f"\\par {body}{{}} (#1). "
        name = match["name"] or match["short"] or f"begin {match['environment']}"
        self.own.pop(name, None)
        self.macros[name] = (many, default, f"{body}\0{ending}" if match["kind"] else body)
        return place

    def _count(self, name: str, arguments: list[str], outer: str | None = None) -> None:
        """Sets, steps or makes a counter, which may be that of the innermost list."""
        counter, kind = arguments[0], arguments[0].rstrip("iv")
        amount = re.sub(r"\s", "", arguments[1]) if len(arguments) > 1 else "1"
        if name == "newcounter":
            if len(self.counters) > MAX_COUNTERS:
                raise UserError(f"it has more than {MAX_COUNTERS} counters: save it without them, or as PDF")
            self.counters[counter] = 0
            if outer:
                self.within.setdefault(outer, set()).add(counter)
        elif not re.fullmatch(r"-?\d{1,5}", amount):
            if counter in self.counters or kind in _COUNTED:
                self.writer.notes[f"the counter {counter} was not set: its value is no number"] = None
        elif self.lists and kind in _COUNTED and re.match(f"(?:compact|inpara)?{kind}", self.lists[-1].kind):
            self.lists[-1].last = _sum(0 if name == "setcounter" else self.lists[-1].last, amount)
        elif counter in self.counters or kind not in _COUNTED:
            self.counters[counter] = _sum(0 if name == "setcounter" else self.counters.get(counter, 0), amount)
            for inner in self.within.get(counter, ()) if "step" in name else ():
                self.counters[inner] = 0

    def _reads(self, name: str, depth: int = 0) -> bool:
        """Checks for a known command, or takes a macro of a class or package if all commands in it are known."""
        if name in self.offered and depth < MAX_DEPTH:
            many, default, body = self.offered.pop(name)
            if all(self._reads(inner, depth + 1) for inner in re.findall(r"\\([A-Za-z@]+)", body)):
                self.macros.setdefault(name, (many, default, body))
        is_number = name.startswith("the") and name[3:] in self.counters
        return name in self.macros or bool(_READ.fullmatch(name)) or is_number

    def _defines(self, environment: str) -> bool:
        """Checks for an environment that the paper defines by known commands; one for questions prints its number."""
        name = f"begin {environment}"
        if name not in self.own:
            body = self.macros[name][2] if name in self.macros and name not in self.offered else ""
            inner = dict.fromkeys(re.findall(r"\\([A-Za-z]+)", body))
            is_read = all(map(self._reads, inner))
            bodies = [body, *(self.macros[each][2] for each in inner if each in self.macros)]
            counts = environment not in ("question", "problem") or any(map(_COUNTS.search, bodies))
            self.own[name] = bool(body) and "@" not in body and counts and is_read
        return self.own[name]

    def _is_macro(self, name: str) -> bool:
        """Checks for a macro of the paper, or for one of its class or packages that is understood."""
        is_offered = name in self.offered and not _READ.fullmatch(name)
        return (name in self.macros or (is_offered and self._reads(name))) and name in self.macros

    def expanded(self, text: str, place: int, name: str) -> tuple[str, int]:
        """A macro of the paper with its arguments put in, and the place behind them."""
        self.expansions += 1
        many, default, body = self.macros[name]
        if self.expansions > MAX_EXPANSIONS or len(body) > MAX_TEXT:
            raise UserError("its macros expand without end: save it without them, or as PDF")
        given = []
        if default is not None:
            optional, place = _group_if("[", text, place)
            given.append(default if optional is None else optional)
        while len(given) < many:
            value, end = _group_if("{", text, place)
            start = _spaces(text, place)
            given.append(text[start : start + 1] if value is None else value)
            place = start + 1 if value is None else end
        body = re.sub(r"#([1-9])", lambda match: given[int(match[1]) - 1] if int(match[1]) <= len(given) else "", body)
        self.expansions += len(body) // 1000
        return body, place

    def formula(self, text: str, depth: int = 0) -> str:
        """LaTeX of a formula with the paper's own macros expanded."""
        pieces, place = [], 0
        for match in _NAME.finditer(text):
            offered = self.offered.get(match[1] or "")
            if offered and "@" not in offered[2] and not _READ.fullmatch(match[1]):  # a formula keeps unknown commands
                self.macros.setdefault(match[1], offered)
            if match.start() < place or match[1] not in self.macros or depth > 20:
                continue
            body, end = self.expanded(text, match.end(), match[1])
            pieces += [text[place : match.start()], "{}" if not body else self.formula(body, depth + 1)]
            pieces += [" "] if body[-1:].isalpha() and text[end : end + 1].isalpha() else []
            place = end
        made = "".join([*pieces, text[place:]])
        return made if depth else _TAG.sub(r"\\quad\\text{", _UNPRINTED.sub("", made))

    def run(self, text: str) -> None:
        """Reads a piece of the paper."""
        place = 0
        while place < len(text):
            sign = text[place]
            if sign == "\\":
                place = self._command(text, place)
            elif sign == "$":
                mark = "$$" if text.startswith("$$", place) else "$"
                place = self._formula_to(text, place + len(mark), mark)
            elif sign == "\n" and (blank := re.compile(r"\n[ \t]*\n\s*").match(text, place)):
                self.flush()
                place = blank.end()
            elif sign in "{}":
                place += 1
            else:
                place = self._letters(text, place)

    def _letters(self, text: str, place: int) -> int:
        end = re.compile(r"[^\\${}\n]*\n?").match(text, place)
        plain = text[place : end.end() if end and end.end() > place else place + 1]
        if plain.endswith("\n") and re.compile(r"[ \t]*\n").match(text, place + len(plain)):
            plain = plain[:-1]
        made = plain.replace("~", " ").replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”")
        made = re.sub(r"\s+", " ", _WRAPPED.sub("", made))
        if not self.paragraph.text or self.paragraph.text[-1:] in "\n ":
            made = made.lstrip(" ") if not self.paragraph.text.endswith("    ") else made
        self.paragraph.text += made
        return place + len(plain)

    def _formula_to(self, text: str, place: int, mark: str) -> int:
        end = _closing(mark, text, place, len(text)) or len(text)
        if end == len(text):
            self.paragraph.gap()
        self.paragraph.formula(self.formula(text[place:end]))
        return end + len(mark)

    def _command(self, text: str, place: int) -> int:
        match = _NAME.match(text, place)
        if match is None:
            return place + 1
        name, place = match[1] or match[2], match.end()
        if name in ("(", "["):
            return self._formula_to(text, place, "\\)" if name == "(" else "\\]")
        if self._is_macro(name):
            body, place = self.expanded(text, place, name)
            if name in re.findall(r"\\([A-Za-z]+)", body):
                raise UserError(f"its macro \\{name} calls itself: save it without it, or as PDF")
            self.run(body)
            return place
        if name == "begin":
            return self._environment(text, place)
        if (flag := _FLAG.match(text, match.start())) and self.sets_flag(flag):
            return flag.end()
        if name.startswith("if") and _BRANCH.match(text, match.start()):
            return self._condition(text, place, name[2:])
        if name == "verb":
            end = text.find(text[place : place + 1], place + 1)
            self.paragraph.text += text[place + 1 : end]
            return end + 1 if end > 0 else len(text)
        if definition := _DEFINES.match(text, match.start()):
            return self.define(text, definition)
        if name in _SIGNS:
            self.paragraph.text += _SIGNS[name]
            room = _BREAK.match(text, place) if name == "\\" else None
            return room.end() if room else place
        options, arguments, end = _arguments(text, place)
        if name in _GLYPHS and not (match[1] and name == "c" and not arguments):
            letter = arguments[0] if arguments else text[place : place + 1]
            self.paragraph.text += letter[:1] + _GLYPHS[name] + letter[1:]
            return end if arguments else place + 1
        return self._known(name, text, place, (options, arguments, end))

    def _known(self, name: str, text: str, place: int, given: tuple[list[str], list[str], int]) -> int:
        options, arguments, end = given
        is_alone = not (options or arguments or self.paragraph.text[:99].strip()) and text[place - 1 : place] == "\n"
        if name == "maketitle" or (name in _TITLES and arguments):
            self.titles |= {name: arguments[-1]} if arguments else {}
            if name == "maketitle" or not self.makes_title:
                self.print_titles()
            return end if arguments else place
        if name in ("iftoggle", "ifbool", "ifthenelse") and arguments:
            self._branch(re.sub(r"\\boolean|[{}\s]", "", arguments[0]), arguments[1:3])
            return _arguments(text, place, 3)[2]
        if name == "item" or name in _ITEMS or (name == "task" and self.lists and self.lists[-1].kind == "tasks"):
            if name == "part" and (not self.lists or self.lists[-1].kind not in ("parts", "questions", "groups")):
                return self._section(arguments, end)
            return self._item(text, place, name)
        if name in ("choice", "CorrectChoice", "correctchoice", "wrongchoice"):
            label = self._choice()
            self.writer.answers += [label.strip(". ")] if name.lower() == "correctchoice" else []
            return place
        if name in ("section", "subsection", "chapter", "group"):
            is_title = name == "chapter" or (not self.east_asian and _LISTED.match(text, end))
            end = self._section(arguments, end, numbered="*" not in text[place - 3 : place] and not is_title)
            self.counters["section"] *= name != "chapter"
            return end
        if _ELSEWHERE.fullmatch(name):
            self.paragraph.gap()
            self.writer.notes["other files and numbers that the source names were not looked up"] = None
        elif _PAREN.search(name) or name in ("rule", "blank") or (_HIDES.search(name) and not is_alone):
            self._hidden(name, options, arguments)
        elif _SOLVES.search(name) and arguments:
            self.writer.solutions.append(self.taken(arguments[-1]))
        elif name != "end":
            return self._inline(name, text, place, given)
        return end

    def _inline(self, name: str, text: str, place: int, given: tuple[list[str], list[str], int]) -> int:
        """Reads a command within a paragraph; the place behind it, or where its text begins."""
        options, arguments, end = given
        if name.startswith("the") and name[3:] in self.counters:
            self.paragraph.text += str(self.counters[name[3:]])
            return place
        if arguments and _ANY_CASE.fullmatch(name) and arguments[0] in self.counters:
            self.paragraph.text += numeral(self.counters[arguments[0]], name)
        elif name == "underline" and arguments and not _EMPTY.sub("", arguments[0]):
            self.paragraph.text += BLANK
        elif name in ("textsuperscript", "textsubscript") and arguments:
            self.paragraph.script("^" if name == "textsuperscript" else "_", self.taken(arguments[0]))
        elif name in _QUANTITIES and arguments:
            many = 2 if name in ("SI", "qty", "qtyproduct", "numrange") else 1
            self.paragraph.formula(f"\\{name}" + "".join(f"{{{value}}}" for value in arguments[:many]))
            return _arguments(text, place, many)[2]
        elif name in ("ding", "textcircled", "circled") and (number := re.sub(r"\D", "", "".join(arguments))[:3]):
            self.paragraph.text += _sign(int(number), name == "ding")
        elif name in _KEPT_TEXT or (name.startswith("text") and arguments):
            if name in _OWN_LINES:
                self.flush()
                self.paragraph.heading = name in _HEADINGS
            return _arguments(text, place, _BEFORE_TEXT.get(name, 0))[2]
        elif name == "footnote" and arguments:
            self.paragraph.text += f" ({self.taken(arguments[0])})"
        elif name in _DROPPED or _SETTING.fullmatch(name) or text[place : place + 1] == "=":
            if name in _ENDS:
                self.flush()
            sets = name in ("vskip", "hskip", "kern") or text[place : place + 1] == "="
            length = _LENGTH.match(text, place) if sets else None
            takes = not (length or name in _SWITCHES or text[place - 1].isspace())
            return length.end() if length else behind(text, place) if takes else place
        else:
            self.writer.notes[f"the command \\{name} is not known: what it prints may be missing"] = None
            if len(arguments) >= _OPTIONS and self.lists:
                self._choices(options, arguments)
                return end
            if arguments and _SET.match(arguments[0]):
                return end
            if arguments:
                self.paragraph.unread = True
            else:
                self.paragraph.gap()
            return _arguments(text, place, 0)[2]
        return _arguments(text, place, 1)[2]

    def _section(self, titles: list[str], end: int, numbered: bool = True) -> int:
        self.end_question()
        self._count("stepcounter", ["section"])
        title, number = " ".join(titles), ""
        if numbered and self.counts_sections and not _NUMBERED.match(title):
            dot, count = " " if self.is_exam else ". ", self.counters["section"]
            number = f"{numeral(count, 'chineseCounting')}、" if self.east_asian else f"{count}{dot}"
        self.heading(f"{number}{title}")
        return end

    def _hidden(self, name: str, options: list[str], arguments: list[str]) -> None:
        values = [value for value in options if not _SETS_ROOM.match(value)]
        texts = [value for value in values if not _ROOM_FOR.match(value)]
        value = next(iter((*arguments[-1:], *texts, *values)), "")
        if self.paragraph.text.strip() or not arguments:
            self.paragraph.text += "（  ）" if _PAREN.search(name) else BLANK
        if value and name != "rule" and (answer := self.taken(value)) not in self.writer.answers:
            self.writer.answers.append(answer)

    def _choice(self) -> str:
        if self.lists and self.lists[-1].kind.startswith("onepar"):
            self.paragraph.text += "    "
        else:
            self.flush()
        label = f"{self.lists[-1].next()} " if self.lists else ""
        self.paragraph.text += label
        return label

    def _choices(self, options: list[str], arguments: list[str]) -> None:
        self.flush()
        self.lists.append(Numbering("upperLetter.", kind="choices"))
        for argument in arguments:
            self._choice()
            self.run(argument)
        self.flush()
        self.lists.pop()
        answer = re.search(r"answer\s*=\s*\{?([A-H]+)", ",".join(options))
        self.writer.answers += [answer[1]] if answer and answer[1] not in self.writer.answers else []

    def _item(self, text: str, place: int, name: str) -> int:
        outer = self.lists[-1] if self.lists else None
        if outer is None:
            self.lists.append(outer := Numbering("decimal.", kind="questions"))
        title, place = _group_if("{", text, place) if name.startswith(("titled", "bonustitled")) else ("", place)
        own, place = _group_if("[", text, place)
        if outer.kind in _CHOICES:
            self._choice()
            return place
        if len(self.lists) == 1:
            self.end_question()
        self.flush()
        self.paragraph.level = len(self.lists) - 1
        is_item = name in ("item", "task")
        label = self.taken(own) if is_item and own else outer.next()
        worth = "" if is_item else self._worth(own or "")
        self.paragraph.text = f"{label} {worth}" if label else worth
        self.run(f"{title}\\par " if title else "")
        return place

    def _worth(self, given: str) -> str:
        points = _WORTH.search(given)
        if not points or not given.strip():
            return ""
        number = points[1].replace("\\half", "0.5")
        if self.korean or self.east_asian:
            return f"[{number}점] " if self.korean else f"（{number}分）"
        return f"[{number} point{'s' if number != '1' else ''}] "

    def _environment(self, text: str, place: int) -> int:
        name, place = _group(text, _spaces(text, place))
        end, behind = _end_of(text, place, name)
        body, plain = text[place:end], name.rstrip("*")
        if inner := _DISPLAYS.get(plain):
            body = re.sub(r"\A\s*\{\d+\}", "", body) if plain == "alignat" else body
            is_array = inner == plain or (inner != "math" and re.search(r"\\\\|&", body))
            self.paragraph.formula(self.formula(f"\\begin{{{inner}}}{body}\\end{{{inner}}}" if is_array else body))
        elif plain in _DRAWN:
            self.paragraph.gap()
        elif plain in _VERBATIM:
            self.flush()
            self.put(Paragraph(re.sub(r"\A(?:\[[^\]]*\]|\{[^}]*\})*\n?", "", body), verbatim=True))
        elif plain in _TABLES:
            self._table(body)
        elif _SOLVES.search(plain) or _HIDES.search(plain):
            into = self.writer.solutions if _SOLVES.search(plain) else self.writer.answers
            into.append(self.taken(_ROOM.sub("", body)))
        elif plain != "comment":
            self._list(plain, body)
        return behind

    def _list(self, name: str, body: str) -> None:
        """Reads a list, or another environment as if it were not there."""
        opened, is_own = len(self.lists), self._defines(name)
        if name in ("question", "problem") and not is_own and not re.search(r"\\question\b", body[:200]):
            name, body = "" if opened else "questions", f"\\qs {body}"
        options, _, after = _arguments(body, 0) if body.lstrip()[:1] in "[{" else ([], [], 0)
        form = self._form(name, options)
        if is_own or (form is None and self._is_macro(f"begin {name}")):
            around, after = self.expanded(body, 0, f"begin {name}")
            if name in _QUESTIONS:
                self.end_question()
            head, _, last = around.replace(" ()", "").partition("\0")
            room = " " if head[-1:].isascii() and head[-1:].isalpha() else ""  # behind a command
            self.run(f"{head}{room}{body[after:]}{last}")
            return
        if name == "tasks" and (columns := _COLUMNS.match(body, after)):
            after = columns.end()
        self.flush()
        if form is not None:
            resumed = self.question if name in _QUESTIONS and not opened else 0
            begin = re.search(r"start\s*=\s*(\d+)", ",".join(options))
            self.lists.append(Numbering(form, int(begin[1]) - 1 if begin else resumed, name))
        self.run(body[after:])
        if form is not None and name in _QUESTIONS and not opened:
            self.question = self.lists[opened].last
            self.end_question()
        self.flush()
        self.lists = self.lists if form is None else self.lists[:opened]

    def _form(self, name: str, options: list[str]) -> str | None:
        """The form of the numbers of a list; "" for one without, None for no list."""
        given = ",".join(options)
        if name in _CHOICES:
            return "upperLetter."
        if name in ("itemize", "description", "notice"):
            return ""
        if name not in (*_NUMBERS, "enumerate", "enumerate*", "inparaenum", "compactenum"):
            return None
        if label := re.search(r"label\s*=\s*(\{(?:[^{}]|\{[^{}]*\})*\}|[^,]*)", given):
            match = _ANY_CASE.search(label[1])
            text = _MARKUP.sub("", label[1].replace(match[0], "@")) if match else self.taken(label[1])
            return re.sub("@+", match[1], text.strip()) or f"{match[1]}." if match else text
        if name in _NUMBERS:
            return "(decimal)" if name == "parts" and self.east_asian and not self.is_exam else _NUMBERS[name]
        short = re.fullmatch(r"\s*\{?([^aA1iI]*)([aA1iI])\}?([^aA1iI]*)", given)
        if short and "=" not in given:
            return f"{short[1]}{NUMBER_FORMS[short[2]]}{short[3]}".strip()
        depth = sum("enum" in item.kind for item in self.lists)
        return "(decimal)" if self.lists and not depth else [*_LEVELS.values()][min(depth, 3)]

    def _table(self, body: str) -> None:
        self.flush()
        outer, rows = self.put, list[list[Cell]]()
        for line in _split(body[_arguments(body, 0)[2] :].replace("\\tabularnewline", "\\\\"), "\\\\"):
            rows.append([])
            for cell in _split(line, "&"):
                rows[-1].append([])
                self.put = rows[-1][-1].append
                self.run(cell.strip())
                self.flush()
        self.put = outer
        rows = [row for row in rows if any(row)]
        if outer == self.writer.add:
            self.writer.table(rows)
        else:
            self.paragraph = joined([[joined(row, "    ")] for row in rows], "\n")


def _sum(before: int, amount: str) -> int:
    return max(-_MOST, min(_MOST, before + int(amount)))


def _sign(number: int, is_dingbat: bool) -> str:
    if is_dingbat and not 172 <= number <= 211:
        return chr(0x2700 + number - (32 if number < 161 else 64))
    return numeral((number - 172) % 10 + 1 if is_dingbat else number, "decimalEnclosedCircle")


def _split(text: str, mark: str) -> list[str]:
    """A text at a mark that stands in no group, formula or environment."""
    pieces, begin, depth, formula = [], 0, 0, False
    for token in _TOKENS.finditer(text):
        depth += (token[0] in ("{", "\\begin")) - (token[0] in ("}", "\\end"))
        formula ^= token[0] == "$"
        if token[0].startswith(mark) and not depth and not formula:
            pieces.append(text[begin : token.start()])
            begin = token.end()
    return [*pieces, text[begin:]]
