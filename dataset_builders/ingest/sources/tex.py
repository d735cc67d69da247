r"""LaTeX papers: the classes exam, exam-zh and BHCexam, and plain lists.

Contract: a source is read, never compiled; no other file is opened. Macros that it defines itself are expanded within
bounds. A command that is not known keeps the text of its arguments, with a doubt. Answers that a class hides go behind
【答案】 and 【解析】 at the end of their question.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from livek12.core.errors import UserError
from livek12.core.languages import HANGUL
from livek12.dataset_builders.ingest.sources.web import decoded
from livek12.dataset_builders.ingest.sources.word import MAX_DEPTH, numeral
from livek12.dataset_builders.ingest.sources.writer import BLANK, MAX_TEXT, Cell, Paragraph, Writer, joined

MAX_EXPANSIONS: Final = 20_000
_OPTION: Final = 1000  # characters of the longest option
_QUESTIONS: Final = frozenset("questions question problem problems exercise exercises".split())
_ITEMS: Final = frozenset("question qs titledquestion bonusquestion subquestion part subpart subsubpart".split())
_CHOICES: Final = frozenset("choices oneparchoices checkboxes oneparcheckboxes".split())
_DISPLAYS: Final = frozenset(
    "equation displaymath math align aligned gather eqnarray multline flalign alignat split cases array matrix pmatrix"
    " bmatrix vmatrix".split()
)
_TITLES: Final = frozenset("title subtitle subject".split())
_OWN_LINES: Final = _TITLES | frozenset("paragraph subsubsection uplevel fullwidth centerline".split())
_TABLES: Final = frozenset("tabular tabularx tabu longtable tblr longtblr".split())
_DRAWN: Final = frozenset("tikzpicture pspicture picture circuitikz asy".split())
_VERBATIM: Final = frozenset("verbatim lstlisting minted Verbatim".split())
_ENDS: Final = frozenset("par newpage clearpage smallskip medskip bigskip maketitle vfill method".split())
_SWITCHES: Final = frozenset(
    "par method left right bf it em rm tt sf displaystyle large Large LARGE huge Huge small tiny hfill indent noindent"
    " centering raggedright bfseries itshape normalsize footnotesize scriptsize kaishu songti heiti fangsong hline"
    " hdashline".split()
)  # commands without arguments: a group behind one is text
_DROPPED: Final = frozenset(
    "label selectfont documentclass graphicspath pagenumbering geometry score tableofcontents draftpaper item"
    " cline protect relax fillwithlines fillwithdottedlines makeemptybox secret raggedbottom sloppy null strut"
    " phantom hphantom vphantom listoffigures boldmath everymath qquadtable ctexset flushleft unskip kern ref"
    " ignorespaces tabcolsep date author numberwithin newtheorem CorrectChoiceEmphasis eqref cite usepackage".split()
).union(_ENDS, _SWITCHES)
_SETTING: Final = re.compile(
    r"[Ss]et[A-Za-z]+|(?:[lcr]|fancy|first\w+|running\w+)?(?:head|foot)(?:er)?|fancyhf|(?:no)?printanswers|marksnotpoints"
    r"|(?:add|drop|bracketed)points|(?:no)?point(?:s\w+|name)|\w+(?:setup|style|skip|space|rule|stretch|spread|indent"
    r"|break|size|counter|length|width|height|family|series|shape|format)"
)  # names of commands that set something and print nothing
_SET: Final = re.compile(r"\s*[\w/ -]+=")
_LENGTH: Final = re.compile(
    r"\s*=?\s*-?[\d.]+(?:\s*(?:[a-z]{2}\b|\\[a-z]+))?(?:\s*(?:plus|minus)\s*-?[\d.]+\s*[a-z]+)*"
)
_BREAK: Final = re.compile(r"\*?(?:\[\s*-?[\d.][^\]]{0,40}\])?")
"""Pieces of a setting: the begin of an argument, a length, and the room behind a line's end."""
_BEFORE_TEXT: Final = {"resizebox": 2, "multicolumn": 2, "multirow": 2} | dict.fromkeys(
    ("color", "textcolor", "colorbox", "scalebox", "rotatebox", "raisebox", "parbox", "href", "zihao"), 1
)  # arguments before the one that is printed
_KEPT_TEXT: Final = frozenset(
    "emph mbox hbox fbox makebox framebox uline uwave dotuline underline minipage url caption SetCell information"
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
    "thepage": "", "numpages": "", "numquestions": "", "numpoints": "",
}  # fmt: skip
_FILES: Final = re.compile(r"(?:include|input|import|subfile)\w*|\w*(?:input|inputlisting|psfig|epsfig)")
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
    r"\\(?:(?:re|provide)?(?:newcommand|DeclareMathOperator|NewDocumentCommand)|providecommand)\*?\s*\{?\\(\w+)\}?\s*"
    r"|\\def\s*\\(\w+)\s*((?:#\d)*)"
)
_NAME: Final = re.compile(r"\\([A-Za-z@]{1,99})\*?[ \t]*\n?[ \t]*|\\(.)", re.DOTALL)
_ROOM: Final = re.compile(r"\A\s*(?:\[[^\]]*\]|\{[^{}]{0,8}\})*")
"""Options of an environment, such as the room that it leaves."""
_COMMENT: Final = re.compile(
    rf"\\begin\{{({'|'.join(_VERBATIM)})\}}|\\verb\*?([^\sA-Za-z*])|(\\iffalse\b)|(?<!\\)((?:\\\\)*)%[^\n]*\n?[ \t]*"
)  # a comment, and what has none: a listing
_WRAPPED: Final = re.compile(r"(?<=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])[ \t]*\n[ \t]*")
"""The end of a line behind a Chinese character, which is no space."""
_TOKENS: Final = re.compile(rf"\\begin|\\end|\\\\{_BREAK.pattern}|\\.|[{{}}&\]$]", re.DOTALL)
_UNPRINTED: Final = re.compile(r"\\(?:label|tag|score)\*?\{[^{}]*\}|\\(?:nonumber|notag|kaishu|songti|heiti)\b")
_SPACE: Final = re.compile(r"(?:[ \t]|\n(?!\n))*")
_ANY_CASE: Final = re.compile(r"(alph|Alph|arabic|roman|Roman|chinese|circled|zhnum)")
_LABELS: Final = {
    "alph": "lowerLetter", "Alph": "upperLetter", "arabic": "decimal", "roman": "lowerRoman", "Roman": "upperRoman",
    "chinese": "chineseCounting", "zhnum": "chineseCounting", "circled": "decimalEnclosedCircle",
    "a": "lowerLetter", "A": "upperLetter", "1": "decimal", "i": "lowerRoman", "I": "upperRoman",
}  # fmt: skip
_MARKUP: Final = re.compile(r"\\(?:textbf|bfseries|protect|zhnum|circled)?\s*|\\[A-Za-z]+\*?\{?|[{}*]")
_NUMBERS: Final = {
    "questions": "decimal.", "parts": "(lowerLetter)", "subparts": "lowerRoman.", "subsubparts": "upperLetter.",
    "subquestions": "(decimal)", "problems": "decimal.", "exercises": "decimal.", "tasks": "(lowerLetter)",
}  # fmt: skip
_LEVELS: Final = ("decimal.", "(lowerLetter)", "lowerRoman.", "upperLetter.")
_WORTH: Final = re.compile(r"(?:points?|score)?\s*=?\s*(\d{1,3}(?:\.\d)?|\\half)")


def read(path: Path) -> Writer:
    """The paragraphs and tables of a paper.

    Raises:
        UserError: its macros expand without end.
    """
    text = _uncommented(decoded(path).replace("\r\n", "\n"))
    reader = _Reader()
    preamble, begin, body = text.partition("\\begin{document}")
    for definition in _DEFINES.finditer(preamble if begin else ""):
        reader.define(preamble, definition)
    reader.counts_sections = not re.search(r"\{secnumdepth\}\s*\{-", preamble)
    body = (body if begin else text).partition("\\end{document}")[0]
    reader.east_asian, reader.korean = (bool(re.search(f"[{letters}]", body)) for letters in ("一-鿿", HANGUL))
    for head in ("title", "subtitle", "subject"):
        if match := re.search(rf"\\{head}\s*(?=\{{)", preamble):
            reader.inline(_group(preamble, match.end())[0] + "\n\n", heading=True)
    reader.run(body)
    reader.end_question()
    return reader.writer


def _uncommented(text: str) -> str:
    """A text without its comments; a listing is kept as it is."""
    pieces, place = [], 0
    while match := _COMMENT.search(text, place):
        pieces += [text[place : match.start()], match[4] or ""]
        place = match.end()
        if closing := f"\\end{{{match[1]}}}" if match[1] else match[2] or (match[3] and "\\fi"):
            end = text.find(closing, place)
            place = end + len(closing) if end >= 0 else len(text)
            pieces.append("" if match[3] else text[match.start() : place])
    return "".join([*pieces, text[place:]])


def _group(text: str, place: int) -> tuple[str, int]:
    """The text of a group in braces that begins at a place, up to the end if it is not closed, and the place behind."""
    end = _closing("}", text, place, len(text))
    return (text[place + 1 : end], end + 1) if end else (text[place + 1 :], len(text))


def _closing(sign: str, text: str, place: int, limit: int) -> int:
    """The place of the sign that closes the group that begins at a place; 0 if none does before the limit."""
    depth = 0
    for token in _TOKENS.finditer(text, place, limit):
        depth += (token[0] == "{") - (token[0] == "}")
        if depth > MAX_DEPTH:
            raise UserError(f"its groups are nested more than {MAX_DEPTH} times: save it as PDF")
        if token[0] == sign and depth <= 0:
            return token.start()
        if depth < 0:
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


def _groups(opening: str, text: str, place: int) -> tuple[list[str], int]:
    """The texts of all groups that begin so, one behind the other, and the place behind them."""
    values: list[str] = []
    value, place = _group_if(opening, text, place)
    while value is not None:
        values.append(value)
        value, place = _group_if(opening, text, place)
    return values, place


class _List:
    """An open list: its kind, the form of its numbers, the number of the last item."""

    def __init__(self, kind: str, form: str, last: int = 0) -> None:
        self.kind, self.form, self.last = kind, form, last

    def next(self) -> str:
        """The number of the next item."""
        self.last += 1
        form = re.search(r"[A-Za-z]{4,}", self.form)
        return self.form.replace(form[0], numeral(self.last, form[0])) if form else self.form


class _Reader:
    def __init__(self) -> None:
        self.writer = Writer()
        self.paragraph = Paragraph()
        self.lists: list[_List] = []
        self.macros: dict[str, tuple[int, str | None, str]] = {}
        self.answers: list[str] = []
        self.solutions: list[str] = []
        self.question = self.sections = self.expansions = 0
        self.cells: list[Cell] | None = None
        self.east_asian = self.korean = False
        self.counts_sections = True

    def flush(self) -> None:
        """Ends the paragraph."""
        last, self.paragraph = self.paragraph, Paragraph(level=max(0, len(self.lists) - 1))
        last.text = re.sub(r"(?<![ \t])[ \t]*\n[ \t]*", "\n", last.text).strip("\n")
        if last.text.strip():
            if self.cells is not None:
                self.cells[-1].append(last)
            else:
                self.writer.add(last)

    def inline(self, text: str, heading: bool = False) -> None:
        """Reads a piece as a paragraph of its own."""
        self.flush()
        self.paragraph.heading = self.paragraph.bold = heading
        self.run(text)
        self.flush()

    def taken(self, text: str) -> str:
        """The text of a piece that does not stand where it is written."""
        outer, cells = (self.paragraph, self.lists), self.cells
        self.paragraph, self.lists, self.cells = Paragraph(), [], [[]]
        self.run(text)
        self.flush()
        paragraphs = self.cells[0]
        (self.paragraph, self.lists), self.cells = outer, cells
        self.paragraph.unread |= any(paragraph.unread for paragraph in paragraphs)
        return "\n".join(paragraph.text for paragraph in paragraphs).strip()

    def end_question(self) -> None:
        """Adds what the paper hides of the question before."""
        self.flush()
        self.writer.reveal(self.answers, self.solutions)

    def define(self, text: str, match: re.Match[str]) -> int:
        """Takes a macro that a text defines, or an operator's; the place behind it."""
        place, many, default = match.end(), len(match[3] or "") // 2, None
        number, place = _group_if("[", text, place)
        if number is not None:
            many = int(number) if number.isdecimal() else 0
            default, place = _group_if("[", text, place)
        if "NewDocument" in match[0]:
            given, place = _group(text, place)
            many = given.count("m") if not given.strip("m ") else 10
        body, place = _group_if("{", text, place)
        if body is not None and many < 10:
            body = f"\\operatorname{{{body}}}" if "MathOperator" in match[0] else body
            self.macros[match[1] or match[2]] = (many, default, body)
        return place

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
            if match.start() < place or match[1] not in self.macros or depth > 20:
                continue
            body, end = self.expanded(text, match.end(), match[1])
            pieces += [text[place : match.start()], "{}" if not body else self.formula(body, depth + 1)]
            pieces += [" "] if body[-1:].isalpha() and text[end : end + 1].isalpha() else []
            place = end
        made = "".join([*pieces, text[place:]])
        return made if depth else _UNPRINTED.sub("", made)

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
        depth = 0
        for token in _TOKENS.finditer(text, place):
            depth += (token[0] == "{") - (token[0] == "}")
            if depth <= 0 and text.startswith(mark, token.start()):
                end = token.start()
                break
        else:
            end = len(text)
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
        if name in self.macros:
            body, place = self.expanded(text, place, name)
            if name in re.findall(r"\\([A-Za-z]+)", body):
                raise UserError(f"its macro \\{name} calls itself: save it without it, or as PDF")
            self.run(body)
            return place
        if name == "begin":
            return self._environment(text, place)
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
        options, arguments, end = self._arguments(text, place)
        if name in _GLYPHS and not (match[1] and name == "c" and not arguments):
            letter = arguments[0] if arguments else text[place : place + 1]
            self.paragraph.text += letter[:1] + _GLYPHS[name] + letter[1:]
            return end if arguments else place + 1
        return self._known(name, text, place, (options, arguments, end))

    @staticmethod
    def _arguments(text: str, place: int) -> tuple[list[str], list[str], int]:
        options, place = _groups("[", text, place)
        arguments, place = _groups("{", text, place)
        return options, arguments, place

    def _known(self, name: str, text: str, place: int, given: tuple[list[str], list[str], int]) -> int:
        options, arguments, end = given
        if name == "item" or name in _ITEMS:
            if name == "part" and (not self.lists or self.lists[-1].kind not in ("parts", "questions", "groups")):
                return self._section(arguments, end)
            return self._item(text, place, name)
        if name in ("choice", "CorrectChoice", "correctchoice", "wrongchoice"):
            label = self._choice()
            self.answers += [label.strip(". ")] if name.lower() == "correctchoice" else []
            return place
        if "choice" in name.lower() and len(arguments) > 1:
            self._choices(options, arguments)
        elif name in ("section", "subsection", "chapter", "group"):
            is_title = not self.east_asian and _LISTED.match(text, end)
            return self._section(arguments, end, numbered="*" not in text[place - 3 : place] and not is_title)
        elif _FILES.fullmatch(name):
            self.paragraph.gap()
            self.writer.notes["other files that the source names were not opened"] = None
        elif (
            _PAREN.search(name)
            or name in ("rule", "blank")
            or (
                _HIDES.search(name)
                and (options or arguments or self.paragraph.text.strip() or text[place - 1 : place] != "\n")
            )
        ):
            self._hidden(name, options, arguments)
        elif _SOLVES.search(name) and arguments:
            self.solutions.append(self.taken(arguments[-1]))
        elif name != "end":
            return self._inline(name, text, place, given)
        return end

    def _inline(self, name: str, text: str, place: int, given: tuple[list[str], list[str], int]) -> int:
        """Reads a command within a paragraph; the place behind what it takes, its text excepted."""
        options, arguments, end = given
        if name == "underline" and arguments and not _EMPTY.sub("", arguments[0]):
            self.paragraph.text += BLANK
        elif name in ("textsuperscript", "textsubscript") and arguments:
            self.paragraph.script("^" if name == "textsuperscript" else "_", self.taken(arguments[0]))
        elif name in _QUANTITIES and arguments:
            many = 2 if name in ("SI", "qty", "qtyproduct", "numrange") else 1
            self.paragraph.formula(f"\\{name}" + "".join(f"{{{value}}}" for value in arguments[:many]))
            return self._skip(text, place, many)
        elif name in ("ding", "textcircled", "circled") and (number := re.sub(r"\D", "", "".join(arguments))[:3]):
            self.paragraph.text += _sign(int(number), name == "ding")
        elif name in _KEPT_TEXT or (name.startswith("text") and arguments):
            if name in _OWN_LINES:
                self.flush()
                self.paragraph.heading = name in _TITLES
            return self._skip(text, place, _BEFORE_TEXT.get(name, 0))
        elif name == "footnote" and arguments:
            self.paragraph.text += f" ({self.taken(arguments[0])})"
        elif name in _DROPPED or _SETTING.fullmatch(name) or text[place : place + 1] == "=":
            if name in _ENDS:
                self.flush()
            length = (
                _LENGTH.match(text, place)
                if name in ("vskip", "hskip", "kern") or text[place : place + 1] == "="
                else None
            )
            takes = not (length or name in _SWITCHES or text[place - 1].isspace())
            while takes and text[place : place + 1] in ("[", "{"):
                value, place = _group_if(text[place], text, place)
                takes = value is not None
            return length.end() if length else place
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
            return self._skip(text, place, 0)
        return self._skip(text, place, 1)

    def _skip(self, text: str, place: int, many: int) -> int:
        """The place behind options and so many arguments."""
        _, place = _groups("[", text, place)
        for _ in range(many):
            _, place = _group_if("{", text, place)
        return place

    def _section(self, titles: list[str], end: int, numbered: bool = True) -> int:
        self.end_question()
        self.sections += 1
        title, number = " ".join(titles), ""
        if numbered and self.counts_sections and not _NUMBERED.match(title):
            number = f"{numeral(self.sections, 'chineseCounting')}、" if self.east_asian else f"{self.sections}. "
        self.inline(f"{number}{title}", heading=True)
        return end

    def _hidden(self, name: str, options: list[str], arguments: list[str]) -> None:
        value = arguments[-1] if arguments else options[-1] if options else ""
        if self.paragraph.text.strip() or not arguments:
            self.paragraph.text += "（  ）" if _PAREN.search(name) else BLANK
        if value and name != "rule" and (answer := self.taken(value)) not in self.answers:
            self.answers.append(answer)

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
        self.lists.append(_List("choices", "upperLetter."))
        for argument in arguments:
            self._choice()
            self.run(argument)
        self.flush()
        self.lists.pop()
        if answer := re.search(r"answer\s*=\s*\{?([A-H]+)", ",".join(options)):
            self.answers += [answer[1]] if answer[1] not in self.answers else []

    def _item(self, text: str, place: int, name: str) -> int:
        outer = self.lists[-1] if self.lists else None
        if outer is None:
            self.lists.append(outer := _List("questions", "decimal."))
        own, place = _group_if("[", text, place)
        if outer.kind in _CHOICES:
            self._choice()
            return place
        if len(self.lists) == 1:
            self.end_question()
        self.flush()
        self.paragraph.level = len(self.lists) - 1
        label = self.taken(own) if name == "item" and own else outer.next()
        worth = self._worth(own or "") if name != "item" else ""
        if name == "titledquestion":
            title, place = _group(text, _spaces(text, place))
            label = f"{label} {self.taken(title)}"
        self.paragraph.text = f"{label} {worth}" if label else worth
        return place

    def _worth(self, given: str) -> str:
        points = _WORTH.search(given)
        if not points or not given.strip():
            return ""
        number = points[1].replace("\\half", "0.5")
        return f"[{number}점] " if self.korean else f"（{number}分）" if self.east_asian else f"[{number} points] "

    def _environment(self, text: str, place: int) -> int:
        name, place = _group(text, _spaces(text, place))
        end = self._end_of(text, place, name)
        closing = re.compile(r"\\end\s*\{" + re.escape(name) + r"\}").match(text, end)
        body, behind = text[place:end], closing.end() if closing else end
        plain = name.rstrip("*")
        if plain in _DISPLAYS:
            self.paragraph.formula(self.formula(self._displayed(plain, body)))
        elif plain in _DRAWN:
            self.paragraph.gap()
        elif plain in _VERBATIM:
            self.flush()
            listing = Paragraph(re.sub(r"\A(?:\[[^\]]*\]|\{[^}]*\})*\n?", "", body), verbatim=True)
            (self.writer.add if self.cells is None else self.cells[-1].append)(listing)
        elif plain in _TABLES:
            self._table(body)
        elif _SOLVES.search(plain) or _HIDES.search(plain):
            into = self.solutions if _SOLVES.search(plain) else self.answers
            into.append(self.taken(_ROOM.sub("", body)))
        elif plain != "comment":
            self._list(plain, body)
        return behind

    @staticmethod
    def _end_of(text: str, place: int, name: str) -> int:
        depth = 1
        for match in re.compile(r"\\(begin|end)\s*\{" + re.escape(name) + r"\}").finditer(text, place):
            depth += 1 if match[1] == "begin" else -1
            if not depth:
                return match.start()
        return len(text)

    @staticmethod
    def _displayed(name: str, body: str) -> str:
        if name in ("equation", "displaymath", "math"):
            return body
        if name in ("cases", "split", "aligned", "matrix", "pmatrix", "bmatrix", "vmatrix", "array"):
            return f"\\begin{{{name}}}{body}\\end{{{name}}}"
        body = re.sub(r"\A\s*\{\d+\}", "", body) if name == "alignat" else body
        inner = "gathered" if name in ("gather", "multline") else "aligned"
        return f"\\begin{{{inner}}}{body}\\end{{{inner}}}" if "\\\\" in body or "&" in body else body

    def _list(self, name: str, body: str) -> None:
        """An environment; one that is none of a list is read as if it were not there."""
        opened = len(self.lists)
        if name in ("question", "problem") and not re.search(r"\\question\b", body[:200]):
            if not self.lists:
                self.lists.append(_List("questions", "decimal.", self.question))
            skip = self._skip(body, 0, 0)
            self._item("", 0, "item")
            self.question = self.lists[-1].last
            self.paragraph.text += self._worth(body[:skip].strip(" []\n")) if skip else ""
            self.run(body[skip:])
            self.end_question()
            self.lists = self.lists[:opened]
            return
        options, _, after = self._arguments(body, 0) if body.lstrip()[:1] in "[{" else ([], [], 0)
        form = self._form(name, options)
        self.flush()
        if form is not None:
            resumed = self.question if name in _QUESTIONS and not opened else 0
            begin = re.search(r"start\s*=\s*(\d+)", ",".join(options))
            self.lists.append(_List(name, form, int(begin[1]) - 1 if begin else resumed))
            self.run(body[after:])
            if name in _QUESTIONS and not opened:
                self.question = self.lists[opened].last
                self.end_question()
            self.flush()
            self.lists = self.lists[:opened]
        else:
            self.run(body[after:])
            self.flush()

    def _form(self, name: str, options: list[str]) -> str | None:
        """The form of the numbers of a list; "" for one without, None for no list."""
        given = ",".join(options)
        if name in _CHOICES:
            return "upperLetter."
        if name in ("itemize", "description", "notice"):
            return ""
        if name in _NUMBERS:
            return _NUMBERS[name]
        if name not in ("enumerate", "enumerate*", "inparaenum", "compactenum"):
            return None
        if label := re.search(r"label\s*=\s*(\{(?:[^{}]|\{[^{}]*\})*\}|[^,]*)", given):
            match = _ANY_CASE.search(label[1])
            text = _MARKUP.sub("", label[1].replace(match[0], "@")) if match else self.taken(label[1])
            return re.sub("@+", _LABELS[match[1]], text.strip()) or f"{_LABELS[match[1]]}." if match else text
        short = re.fullmatch(r"\s*\{?([^aA1iI]*)([aA1iI])\}?([^aA1iI]*)", given)
        if short and "=" not in given:
            return f"{short[1]}{_LABELS[short[2]]}{short[3]}".strip()
        depth = sum(item.form in _LEVELS or item.kind.startswith("enum") for item in self.lists)
        if self.lists and self.lists[0].kind == "questions" and self.east_asian:
            return "(decimal)"
        return _LEVELS[min(depth, 3)]

    def _table(self, body: str) -> None:
        self.flush()
        _, _, after = self._arguments(body, 0)
        outer, rows = self.cells, []
        for line in _split(body[after:], "\\\\"):
            self.cells = []
            for cell in _split(line, "&"):
                self.cells.append([])
                self.run(cell.strip())
                self.flush()
            rows.append(self.cells)
        self.cells = outer
        rows = [row for row in rows if any(row)]
        if outer is not None:
            self.paragraph = joined([[joined(row, "    ")] for row in rows], "\n")
        else:
            self.writer.table(rows)


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
