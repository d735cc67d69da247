"""Reads structure out of question texts: line breaks, options, sub-questions, blanks, image marks.

Contract: pure functions of text. Each changes a text only where its rule is certain, and gives it back as it
was otherwise; nothing is evaluated.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from livek12.core.records import IMAGE_MARK, Image, Option

T = TypeVar("T")

# LaTeX's own commands, amsmath's and siunitx's that begin with n.
_N_COMMAND_NAMES = """
    nabla natural ncong ne nearrow needspace neg negmedspace negthickspace negthinspace neq newcommand
    newenvironment newline newpage newtheorem nexists ngeq ngeqq ngeqslant ngtr ni nicefrac nleftarrow
    nLeftarrow nleftrightarrow nLeftrightarrow nleq nleqq nleqslant nless nmid noalign nobreak nobreakdash
    nobreakspace nocite nocorr node noexpand noindent nointerlineskip nolimits nolinebreak nonfrenchspacing
    nonumber nonscript nopagebreak norm normalcolor normalfont normalmarginpar normalsize not notag notin notni
    nparallel nplus nprec npreceq npreccurlyeq nrightarrow nRightarrow nshortmid nshortparallel nsim nsimeq
    nsubset nsubseteq nsubseteqq nsucc nsucceq nsucccurlyeq nsupset nsupseteq nsupseteqq ntriangleleft
    ntrianglelefteq ntriangleright ntrianglerighteq nu nuclide nulldelimiterspace num numberline numberwithin
    numlist numproduct numrange nvdash nvDash nVdash nVDash nwarrow
"""
_N_COMMANDS = frozenset(_N_COMMAND_NAMES.split())
_SEPARATOR = re.compile(r"\\\\|\\(n[A-Za-z]*)(\s?[).．、:）：])?")
_RELATIONS = frozenset({"ne", "ni"})
_DELIMITER = re.compile(r"\\.|\$\$?", re.DOTALL)
_CLOSING = {r"\(": r"\)", r"\[": r"\]", "$": "$", "$$": "$$"}
_LETTERS, _CIRCLED = "ABCDEFGHIJ", "①②③④⑤⑥⑦⑧⑨⑩"
_NUMBERS = [str(number) for number in range(1, 21)]
_OPTION_LABELS = [
    *(
        (re.compile(rf"((?<![A-Za-z0-9\\])[A-J]|[Ａ-Ｊ])\s?{mark}"), list(_LETTERS))
        for mark in ("[.．]", "、", "[:：]")
    ),
    (re.compile(r"(?<![(（])(?<![(（]\s)((?<![A-Za-z0-9\\])[A-J]|[Ａ-Ｊ])\s?[)）]"), list(_LETTERS)),
    (re.compile(r"[(（]\s?([A-JＡ-Ｊ])\s?[)）]"), list(_LETTERS)),
    (re.compile(rf"([{_CIRCLED}])"), list(_CIRCLED)),
    (re.compile(r"[(（](\d{1,2})[)）]"), _NUMBERS),
]
_PART_LABELS = [
    (re.compile(r"[(（]\s?(\d{1,2})\s?[)）]"), _NUMBERS),
    (re.compile(rf"([{_CIRCLED}])"), list(_CIRCLED)),
    (re.compile(r"[(（]\s?([a-j])\s?[)）]"), list(_LETTERS.lower())),
]
_NUMBERED_LINE = re.compile(r"^[ \t]*(\d{1,3})\s?[.．、](?!\d)", re.MULTILINE)
_ASKS = re.compile(r"[?？]|[(（]\s*[)）]|[是为：:]\s*$")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF10, 0xFF5B) if chr(code).isalnum()}
"""Full-width digits and letters to plain ones."""
_TRAILING = "；;，,、。 \t\r\n"
_MAX_LABELS = 400
"""Texts with more label-like marks than this are not taken apart: the search is quadratic in them."""
_BLANK = re.compile(
    r"(?:\\?_){2,}"
    r"|\\underline\s*\{(?:\s|~|\\[,;:!> ]|\\q?quad|\\hspace\*?\{[^{}]*\}|\\h?phantom\{[^{}]*\}|(?:\\?_))*\}"
)
_PARSE_LIMIT = 100_000


def restore_newlines(text: str) -> str:
    r"""Turns a literal backslash-n that separates lines into a line break.

    TeX reads a command as the longest run of letters after the backslash. Where that run is a known command
    (`\neq`, `\nu`, `\nabla`) it stays; any other run cannot be a command, so the `\n` in it is a separator.
    A relation has a right side, so `\ne)` and `\ni.` are the labels e) and i. of a new line. A double
    backslash is TeX's own line break and does not start a command.
    """

    def replace(match: re.Match[str]) -> str:
        letters, label_end = match[1], match[2]
        is_command = letters in _N_COMMANDS and not (label_end and letters in _RELATIONS)
        if letters is None or is_command:
            return match[0]
        return "\n" + match[0][2:]

    return _SEPARATOR.sub(replace, text)


def split_options(text: str, chosen: Collection[str] = ()) -> tuple[str, list[Option]]:
    """Takes the options out of a question text.

    A run of labels counts when it is complete (A, B, C, ... in order, all in one style, outside formulas),
    has at least three members (two, when each begins a line), leaves no option empty, and contains the
    `chosen` labels of the key. Letters go before ① and (1), which often number statements: those count only
    when the key names them. A text with a second complete run before it asks several things, and stays whole.

    Returns:
        The text before the options, and the options; or the text as it was and no options.
    """
    for pattern, labels in _OPTION_LABELS:
        run = _labels(text, pattern, labels)
        if len(run) < 2 or len(_labels(text[: run[0][1]], pattern, labels)) >= len(run):
            continue
        names = [name for name, _, _ in run]
        options = [Option(label=name, text=piece) for name, piece in zip(names, _pieces(text, run), strict=True)]
        enough = len(run) > 2 or all(_begins_line(text, start) for _, start, _ in run)
        lettered = labels[0] == "A"
        known = set(names) if lettered else {*names, *_NUMBERS[: len(run)]}
        fits = known.issuperset(chosen) and (lettered or bool(chosen))
        if enough and fits and all(option.text for option in options):
            return text[: run[0][1]].rstrip(), options
    return text, []


def split_parts(question: str, answer: str) -> list[str]:
    """The answers to the numbered sub-questions of a question.

    The answer is taken apart where it begins with (1) and numbers as many parts, in the same style, as the
    question does; otherwise it is one answer.
    """
    for pattern, labels in _PART_LABELS:
        run = _labels(answer, pattern, labels)
        if len(run) < 2 or answer[: run[0][1]].strip():
            continue
        pieces = [trim_part(piece) for piece in _pieces(answer, run)]
        if len(_labels(question, pattern, labels)) == len(run) and all(pieces):
            return pieces
    return [answer]


def plain_width(text: str) -> str:
    """The text with its full-width digits and letters as plain ones; as long as it was."""
    return text.translate(_FULL_WIDTH)


def trim_part(part: str) -> str:
    r"""A part of a key without the separators or the full stop it ends in; LaTeX's spaces `\,` and `\;` stay."""
    bare = part.rstrip(_TRAILING)
    return part[: len(bare) + 1] if bare.endswith("\\") else bare


def has_parts(stem: str, options: Sequence[Option], count: int) -> bool:
    """Whether a choice question asks `count` things: as many numbered sub-questions, or sets of options.

    Before one common set of options, numbers count only where every piece asks something: a list of statements
    or steps does not.
    """
    sets = ["".join(_found(stem, pattern)).count("ABC") for pattern, labels in _OPTION_LABELS if labels[0] == "A"]
    if count in sets:
        return True
    for run in (*(_labels(stem, pattern, labels) for pattern, labels in _PART_LABELS), _numbered_lines(stem)):
        if len(run) == count and (not options or all(map(_asks, _pieces(stem, run)))):
            return True
    return False


def count_blanks(text: str) -> int:
    r"""How many blanks a text has: runs of underscores, or `\underline` around nothing but space."""
    return len(_BLANK.findall(text))


def split_blanks(answer: str, blanks: int) -> list[str]:
    """The answers to `blanks` blanks when the text splits cleanly into that many, else the text alone.

    Numbered pieces are tried first, then line breaks, semicolons and commas outside brackets and formulas;
    a comma between digits that groups thousands does not separate.
    """
    if blanks < 2:
        return [answer]
    for pattern, labels in _PART_LABELS:
        run = _labels(answer, pattern, labels)
        pieces = [trim_part(piece) for piece in _pieces(answer, run)]
        if len(run) == blanks and not answer[: run[0][1]].strip() and all(pieces):
            return pieces
    for separators in ("\n", ";；", "，", "、", ","):
        pieces = [trim_part(piece.strip()) for piece in _split_top_level(answer, separators)]
        if len(pieces) == blanks and all(pieces):
            return pieces
    return [answer]


def place_marks(
    question: str, options: Sequence[Option], images: Sequence[Image]
) -> tuple[str, list[Option], list[Image], str | None]:
    """Makes the image marks of a question and its options agree with its images.

    Images without a mark are put at the end of the question; marks without an image are taken out, the last
    ones first.

    Returns:
        Question, options, images in the order of their marks, and what did not agree (None: nothing; a text
        without any mark does not disagree).
    """
    in_question = question.count(IMAGE_MARK)
    marks = in_question + sum(option.text.count(IMAGE_MARK) for option in options)
    if marks < len(images):
        unmarked = len(images) - marks
        text = "\n".join([*([question] if question else []), *[IMAGE_MARK] * unmarked])
        ordered = [*images[:in_question], *images[marks:], *images[in_question:marks]]
        change = f"{unmarked} of {len(images)} images had no mark: put at the end of the question"
        return text, list(options), ordered, change if marks else None
    if marks == len(images):
        return question, list(options), list(images), None
    kept = max(0, len(images) - in_question)
    trimmed = []
    for option in options:
        text = _keep_marks(option.text, kept)
        kept -= text.count(IMAGE_MARK)
        trimmed.append(Option(label=option.label, text=text))
    change = f"{marks} image marks for {len(images)} images: the last {marks - len(images)} taken out"
    return _keep_marks(question, len(images)), trimmed, list(images), change


def parse_list(value: Any) -> list[Any]:
    """A list as such; a text that spells a list of texts or objects (JSON or Python) as that list.

    Anything else is a list of one, also "[1, 2]", which is an interval. None and an empty text are the empty
    list. Python's spelling is read as data, never evaluated, and only up to a bounded length.
    """
    if value is None or value == "":
        return []
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str) and value.lstrip().startswith("[") and value.rstrip().endswith("]"):
        for parse in (json.loads, _parse_python):
            try:
                found = parse(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(found, list) and all(isinstance(item, str | dict) for item in found):
                return found
    return [value]


def _parse_python(text: str) -> object:
    return ast.literal_eval(text) if len(text) <= _PARSE_LIMIT else None


def _labels(text: str, pattern: re.Pattern[str], labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """The longest run of consecutive labels from the first on, the last such run when several are as long."""
    masked = _mask_formulas(text)
    marks = [(plain_width(m[1]), m.start(), m.end()) for m in pattern.finditer(masked)]
    best: list[tuple[str, int, int]] = []
    if len(marks) > _MAX_LABELS:
        return best
    for first, mark in enumerate(marks):
        if mark[0] != labels[0]:
            continue
        run = [mark]
        for following in marks[first + 1 :]:
            if len(run) < len(labels) and following[0] == labels[len(run)]:
                run.append(following)
        if len(run) >= len(best):
            best = run
    return best


def _found(text: str, pattern: re.Pattern[str]) -> list[str]:
    return [plain_width(match[1]) for match in pattern.finditer(_mask_formulas(text))]


def _numbered_lines(text: str) -> list[tuple[str, int, int]]:
    """The lines that begin with a number, when each is one more than the one before; the first may be any."""
    marks = [(m[1], m.start(), m.end()) for m in _NUMBERED_LINE.finditer(_mask_formulas(text))]
    follow = all(int(mark[0]) == int(marks[0][0]) + place for place, mark in enumerate(marks))
    return marks if follow else []


def _asks(piece: str) -> bool:
    return bool(_ASKS.search(piece) or count_blanks(piece))


def _mask_formulas(text: str) -> str:
    """The text with every closed formula blanked out, all else where it was. One pass, whatever the text."""
    tokens = [(m[0], m.start(), m.end()) for m in _DELIMITER.finditer(text)]
    last = {token: start for token, start, _ in tokens}
    pieces, done = [], 0
    closing, begin = "", 0
    for token, start, end in tokens:
        if not closing and last.get(_CLOSING.get(token, ""), -1) > start:
            closing, begin = _CLOSING[token], start
        elif closing and token == closing:
            pieces += [text[done:begin], "\0" * (end - begin)]
            closing, done = "", end
    return "".join([*pieces, text[done:]])


def _pieces(text: str, run: Sequence[tuple[str, int, int]]) -> list[str]:
    ends = [start for _, start, _ in run[1:]] + [len(text)]
    return [text[begin:end].strip() for (_, _, begin), end in zip(run, ends, strict=False)]


def _begins_line(text: str, start: int) -> bool:
    return not text[text.rfind("\n", 0, start) + 1 : start].strip()


def _split_top_level(text: str, separators: str) -> list[str]:
    masked = _mask_formulas(text)
    pieces, depth, begin = [], 0, 0
    for position, character in enumerate(masked):
        if character in "([{（【《":
            depth += 1
        elif character in ")]}）】》":
            depth = max(0, depth - 1)
        elif character in separators and depth == 0 and not _groups_thousands(masked, position):
            pieces.append(text[begin:position])
            begin = position + 1
    return [*pieces, text[begin:]]


def _groups_thousands(text: str, position: int) -> bool:
    before, after = text[max(0, position - 1) : position], text[position + 1 : position + 5]
    return text[position] == "," and before.isdigit() and bool(re.match(r"\d{3}(?!\d)", after))


def _keep_marks(text: str, count: int) -> str:
    pieces = text.split(IMAGE_MARK)
    return IMAGE_MARK.join(pieces[: count + 1]) + "".join(pieces[count + 1 :])
