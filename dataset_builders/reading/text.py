"""Reads structure out of question texts (options, sub-questions, groups, blanks, lists), and repairs damaged LaTeX.

Contract: pure functions; each changes a text only where its rule is certain; nothing is evaluated.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from livek12.core.records import Option
from livek12.core.text import CIRCLED

_DELIMITER = re.compile(r"[\\$](?:(?<=\\).|(?<=\$)\$?)", re.DOTALL)
_DOLLARS = re.compile(r"\$\$?")
_CLOSING = {r"\(": r"\)", r"\[": r"\]", "$": "$", "$$": "$$"}
_LETTERS, _CIRCLED = "ABCDEFGHIJ", CIRCLED[:10]
_JAMO, _SYLLABLES, _RINGED = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊ", "가나다라마바사아자차", "㉠㉡㉢㉣㉤㉥㉦㉧㉨㉩"
_NUMBERS = [str(number) for number in range(1, 21)]
# Faster with a set of characters first than with a lookbehind.
_OPTION_LABELS = [
    *(
        (re.compile(rf"([A-JＡ-Ｊ])(?<![A-Za-z0-9\\][A-J])\s?{mark}"), list(_LETTERS))
        for mark in ("[.．]", "、", "[:：]")
    ),
    (re.compile(r"([A-JＡ-Ｊ])(?<![A-Za-z0-9\\][A-J])(?<![(（].)(?<![(（]\s.)\s?[)）]"), list(_LETTERS)),
    (re.compile(r"[(（]\s?([A-JＡ-Ｊ])\s?[)）]"), list(_LETTERS)),
    # After a digit only if nothing else matches: "A. 6B. 9C. 12".
    (re.compile(r"([A-J])(?<![A-Za-z\\][A-J])[.．、]"), list(_LETTERS)),
    (re.compile(rf"([{_CIRCLED}])"), list(_CIRCLED)),
    (re.compile(r"([⑴-⒇])"), [chr(code) for code in range(ord("⑴"), ord("⒇") + 1)]),
    (re.compile(r"[(（](\d{1,2})[)）]"), _NUMBERS),
    (re.compile(r"(?:^|(?<=\n))[ \t]*(\d{1,2})[.)](?!\d)"), _NUMBERS),
    (re.compile(r"(?:^|(?<=\s))([ㄱ-ㅎ])\s?[.．)]"), list(_JAMO)),
    (re.compile(r"(?:^|(?<=\s))([가나다라마바사아자차])\s?[.．)](?=\s)"), list(_SYLLABLES)),
]
_NUMBERED_LABELS = [(pattern, labels) for pattern, labels in _OPTION_LABELS if labels[0] in "①⑴1"]
_STATEMENTS = re.compile(r"[<＜〈《\[【(（]\s*(?:보\s*기|자\s*료|조\s*건)\s*[>＞〉》\]】)）]")
"""Heads statements in a Korean question: ㄱ, 가 and 1) behind it number those, not options."""
_PART_LABELS = [
    (re.compile(r"[(（]\s?(\d{1,2})\s?[)）]"), _NUMBERS),
    (re.compile(rf"([{_CIRCLED}])"), list(_CIRCLED)),
    (re.compile(r"[(（]\s?([a-j])\s?[)）]"), list(_LETTERS.lower())),
]
_KEY_LABELS = [
    *((re.compile(pattern.pattern + r"(?:\s*[:：=])?"), labels) for pattern, labels in _PART_LABELS),
    (re.compile(r"[(（\[]\s?([A-J])\s?[)）\]](?:\s*[:：=])?"), list(_LETTERS)),
    (re.compile(r"[(（]\s?([가나다라마바사아자차])\s?[)）](?:\s*[:：=])?"), list(_SYLLABLES)),
    (re.compile(rf"([{_RINGED}])(?:\s*[:：=])?"), list(_RINGED)),
    (re.compile(r"(?:^|(?<=[\s,，;；]))([ㄱ-ㅎ])\s?[.．):：=]"), list(_JAMO)),
]
"""Labels of the entries of a key, and of the parts of the question they answer."""
_ENTRY_LABELS = [*_KEY_LABELS, (re.compile(r"(\d{1,2})\s?(?:[.．、](?!\d)|[)）])"), _NUMBERS)]
_NUMBERED_LINE = re.compile(r"^[ \t]*(\d{1,3})\s?[.．、](?!\d)", re.MULTILINE)
_LETTERED_LINE = re.compile(r"^[ \t]*[(（]?\s?([A-Ja-jＡ-Ｊ])\s?[.．、:：)）]", re.MULTILINE)
_ASKS = re.compile(r"[?？]|[(（]\s*[)）]|[是为：:]\s*$")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF10, 0xFF5B) if chr(code).isalnum()}
"""Full-width digits and letters to plain ones."""
_WIDE = {chr(plain): chr(wide) for wide, plain in _FULL_WIDTH.items()}
_TRAILING = "；;，,、。 \t\r\n"
_MAX_LABELS = 400
"""Texts with more label-like marks than this are not split: the search is quadratic in them."""
_BLANK = re.compile(
    r"(?:\\?_){2,}(?:\s?\d{1,3}\s?(?:\\?_){2,})?"
    r"|\\underline\s*\{(?:\s|~|\\[,;:!> ]|\\q?quad|\\hspace\*?\{[^{}]*\}|\\h?phantom\{[^{}]*\}|(?:\\?_))*\}"
)
_ENTRY_NUMBER = re.compile(r"(?<![\d.])(\d{1,3})[.．](?=\s|[^\d\s])")
_KEY_HEAD = re.compile(r"\s*(?:[【\[]?(?:答案|정답|answers?)[】\]]?)?\s*[:：]?\s*", re.IGNORECASE)
_NUMBERED_GAP = re.compile(r"(?<=\s{2})(\d{1,3})(?=\s{2})")
"""A gap that contains only the number of its question."""
_FEWEST_GAPS = 5
_PARSE_LIMIT = 100_000
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\U000e0000-\U000e007f]|(?<![^\x00-\x7f])[\u200c\u200d\ufe00-\ufe0f]|[\u200c\u200d](?![^\x00-\x7f])"
)
"""A joiner or a variation selector within an emoji or a word of another script belongs to it."""
_MAY_BE_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_FILE_NAME = re.compile(r"\.(?:png|jpe?g|webp|gif|bmp)\s*$", re.IGNORECASE)
_QUOTED = re.compile(r"""\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*,?""")


def without_invisible(value: Any) -> Any:
    """A value without invisible characters; the same object if it has none."""
    if isinstance(value, str):
        if value.isascii() or not _MAY_BE_INVISIBLE.search(value) or _FILE_NAME.search(value):
            return value
        return _INVISIBLE.sub("", value)
    if isinstance(value, list):
        shown = [without_invisible(item) for item in value]
        return value if all(map(operator.is_, shown, value)) else shown
    if isinstance(value, dict):
        shown_items = {without_invisible(key): without_invisible(item) for key, item in value.items()}
        return value if all(map(operator.is_, shown_items.values(), value.values())) else shown_items
    return value


def split_options(text: str, chosen: Collection[str] = ()) -> tuple[str, list[Option]]:
    """Splits the options off a question text; returns the text unchanged and no options if uncertain.

    A run of labels counts when it is complete (A, B, C, ... in order, in one style, outside formulas), has at least
    three members (two, when each begins a line), leaves no option empty, and contains the `chosen` labels of the key;
    no line in them begins with the next label, and no table or environment is open where one begins. Letters take
    precedence over ① and (1), which count only when the key names them. A text with a second complete run before it is
    not split.
    """
    for pattern, labels in _OPTION_LABELS:
        marks = _marks(text, pattern, labels)
        run = _run(marks, labels)
        if len(run) < 2 or (marks[0] is not run[0] and len(_run(marks[: marks.index(run[0])], labels)) >= len(run)):
            continue
        names, pieces = [name for name, _, _ in run], _pieces(text, run)
        lettered = labels[0] == "A"
        allowed = set(names) if lettered or labels[0] in "ㄱ가" else {*names, *_NUMBERS[: len(run)]}
        if not allowed.issuperset(chosen) or not (lettered or chosen) or not all(pieces):
            continue
        if len(run) == 2 and not all(_begins_line(text, start) for _, start, _ in run):
            continue
        stem = text[: run[0][1]].rstrip()
        if _goes_on(pieces, labels) or not (_has_no_parts(text) or all(map(_is_closed, [stem, *pieces]))):
            continue
        if lettered or not _are_statements(text, run, labels):
            return stem, [Option(label=name, text=piece) for name, piece in zip(names, pieces, strict=True)]
    return text, []


def split_parts(question: str, answer: str) -> list[str]:
    """Answers to the numbered sub-questions of a question.

    The answer is split if it begins with (1) and numbers as many parts, in the same style, as the question; otherwise
    it is one answer.
    """
    for pattern, labels in _KEY_LABELS:
        run = _labels(answer, pattern, labels)
        if len(run) < 2 or answer[: run[0][1]].strip():
            continue
        pieces = [trim_part(piece) for piece in _pieces(answer, run)]
        if len(_labels(question, pattern, labels)) == len(run) and all(pieces):
            return pieces
    return [answer]


def unlabelled(entries: Sequence[str]) -> list[str]:
    """Entries of a key without labels, if these number all entries from 1 in one style."""
    for pattern, labels in _ENTRY_LABELS if len(entries) > 1 else ():
        matches = [pattern.match(entry) for entry in entries]
        if [plain_width(match[1]) for match in matches if match] != list(labels[: len(entries)]):
            continue
        bare = [entry[match.end() :].strip() for entry, match in zip(entries, matches, strict=True) if match]
        if all(bare):
            return bare
    return list(entries)


def plain_width(text: str) -> str:
    """Replaces full-width digits and letters by plain ones; the length is unchanged."""
    return text if text.isascii() else text.translate(_FULL_WIDTH)


def trim_part(part: str) -> str:
    r"""A part of a key without trailing separators or full stop; LaTeX's spaces `\,` and `\;` are kept."""
    bare = part.rstrip(_TRAILING)
    return part[: len(bare) + 1] if bare.endswith("\\") else bare


def has_parts(stem: str, options: Sequence[Option], count: int) -> bool:
    """True if a choice question has `count` numbered sub-questions or sets of options.

    Before one common set of options, numbers count only if every piece asks something: a list of statements or steps
    does not.
    """
    masked = mask_formulas(stem)
    lettered = (pattern.finditer(masked) for pattern, labels in _OPTION_LABELS if labels[0] == "A")
    sets = ["".join(plain_width(match[1]) for match in matches).count("ABC") for matches in lettered]
    if count in sets:
        return True
    for run in (*(_labels(stem, pattern, labels) for pattern, labels in _PART_LABELS), _numbered_lines(stem)):
        if len(run) == count and (not options or all(map(_asks, _pieces(stem, run)))):
            return True
    return False


def count_blanks(text: str) -> int:
    r"""Number of blanks: runs of underscores (with or without a number inside), or `\underline` around space.

    Without these, five or more gaps that contain only consecutive numbers count.
    """
    if blanks := len(_BLANK.findall(text)):
        return blanks
    numbers = [int(number) for number in _NUMBERED_GAP.findall(text)]
    follow = numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else False
    return len(numbers) if follow and len(numbers) >= _FEWEST_GAPS else 0


def split_blanks(answer: str, blanks: int) -> list[str]:
    """Answers to `blanks` blanks if the text splits cleanly into that many, else the text alone.

    Numbered pieces are tried first (from 1, or by the numbers of the blanks), then line breaks, semicolons and commas
    outside brackets and formulas; commas that group thousands do not separate.
    """
    if blanks < 2:
        return [answer]
    for pattern, labels in _KEY_LABELS:
        run = _labels(answer, pattern, labels)
        pieces = [trim_part(piece) for piece in _pieces(answer, run)]
        if len(run) == blanks and not answer[: run[0][1]].strip() and all(pieces):
            return pieces
    if numbered := _by_number(answer, blanks):
        return numbered
    for separators in ("\n", ";；", "，", "、", ","):
        pieces = [trim_part(piece.strip()) for piece in _split_top_level(answer, separators)]
        if len(pieces) == blanks and all(pieces):
            return pieces
    return [answer]


def parse_list(value: Any) -> list[Any]:
    """A list unchanged; a text that spells a list of texts or objects (JSON or Python) as that list.

    Other values become a list of one, also "[1, 2]", which is an interval; None and "" the empty list. Python literals
    are parsed, never evaluated, up to a bounded length.
    """
    if value is None or value == "":
        return []
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str) and value.lstrip().startswith("[") and value.rstrip().endswith("]"):
        if (texts := _quoted(value.strip()[1:-1])) is not None:
            return list(texts)
        for parse in (json.loads, _parse_python):
            try:
                parsed = parse(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(parsed, list) and all(isinstance(item, str | dict) for item in parsed):
                return parsed
    return [value]


def parse_object(value: Any) -> Any:
    """Object spelled by a text (JSON or Python, never evaluated); other values unchanged."""
    if isinstance(value, str) and value.lstrip().startswith("{") and value.rstrip().endswith("}"):
        for parse in (json.loads, _parse_python):
            try:
                parsed = parse(value.strip())
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(parsed, dict):
                return parsed
    return value


def _quoted(inside: str) -> list[str] | None:
    texts, position = [], 0
    while match := _QUOTED.match(inside, position):
        texts.append(match[1] if match[1] is not None else match[2])
        position = match.end()
    return texts if texts and not inside[position:].strip() else None


def _parse_python(text: str) -> object:
    return ast.literal_eval(text) if len(text) <= _PARSE_LIMIT else None


def _labels(text: str, pattern: re.Pattern[str], labels: Sequence[str]) -> list[tuple[str, int, int]]:
    return _run(_marks(text, pattern, labels), labels)


def _marks(text: str, pattern: re.Pattern[str], labels: Sequence[str]) -> list[tuple[str, int, int]]:
    if labels[0] not in text and _WIDE.get(labels[0], labels[0]) not in text:
        return []
    return [(plain_width(m[1]), m.start(), m.end()) for m in pattern.finditer(mask_formulas(text))]


def _run(marks: Sequence[tuple[str, int, int]], labels: Sequence[str]) -> list[tuple[str, int, int]]:
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


def _are_statements(text: str, run: Sequence[tuple[str, int, int]], labels: Sequence[str]) -> bool:
    """True if a run without letters numbers statements under their heading.

    ㄱ and 가 after such a heading do, numbers directly after it, and a run whose last piece holds three or more labels
    of another style: the options.
    """
    headings = list(_STATEMENTS.finditer(text, 0, run[0][1]))
    if headings and (labels[0] in "ㄱ가" or not text[headings[-1].end() : run[0][1]].strip()):
        return True
    rest = text[run[-1][2] :]
    return any(len(_labels(rest, pattern, other)) > 2 for pattern, other in _NUMBERED_LABELS if other != labels)


def _goes_on(options: Sequence[str], labels: Sequence[str]) -> bool:
    later = labels[len(options) :]
    if later and later[0] in options[-1] and re.search(rf"\d{re.escape(later[0])}[.．、]", options[-1]):
        return True
    lines = [plain_width(match[1]) for option in options for match in _lettered_lines(option)]
    return bool(lines) and not {form for label in later for form in (label, label.lower())}.isdisjoint(lines)


def _lettered_lines(text: str) -> Iterable[re.Match[str]]:
    if "\n" in text:
        return _LETTERED_LINE.finditer(text)
    match = _LETTERED_LINE.match(text)
    return (match,) if match else ()


def _has_no_parts(text: str) -> bool:
    return not ("\\begin{" in text or "\\end{" in text or "<table" in text or "</table" in text)


def _is_closed(piece: str) -> bool:
    return piece.count("\\begin{") == piece.count("\\end{") and piece.count("<table") == piece.count("</table")


def _numbered_lines(text: str) -> list[tuple[str, int, int]]:
    marks = [(m[1], m.start(), m.end()) for m in _NUMBERED_LINE.finditer(mask_formulas(text))]
    follow = all(int(mark[0]) == int(marks[0][0]) + place for place, mark in enumerate(marks))
    return marks if follow else []


def _asks(piece: str) -> bool:
    return bool(_ASKS.search(piece) or count_blanks(piece))


@lru_cache(maxsize=4)  # one text is looked through for several kinds of labels
def mask_formulas(text: str) -> str:
    """Text with every closed formula blanked out, at unchanged offsets. One pass."""
    escaped = "\\(" in text or "\\[" in text or "\\$" in text
    if not escaped and "$" not in text:
        return text
    tokens = [(m[0], m.start(), m.end()) for m in (_DELIMITER if escaped else _DOLLARS).finditer(text)]
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


def _by_number(answer: str, blanks: int) -> list[str]:
    marks = list(_ENTRY_NUMBER.finditer(answer))
    follow = all(int(mark[1]) == int(marks[0][1]) + place for place, mark in enumerate(marks))
    if len(marks) != blanks or not follow or not _KEY_HEAD.fullmatch(answer[: marks[0].start()]):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(answer)]
    pieces = [trim_part(answer[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    return pieces if all(pieces) else []


def _split_top_level(text: str, separators: str) -> list[str]:
    masked = mask_formulas(text)
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


_MEMBER_NUMBERS = (
    re.compile(r"(?<![\d.．])(\d{1,3})\s?[.．、](?!\d)"),
    re.compile(r"[(（]\s?(\d{1,2})\s?[)）]"),
    re.compile(r"(?:(?<![\d.．])(?=\d{1,3}\s?[.．、](?!\d))|(?:^|(?<=\n))[ \t]*(?=\d{1,3}\s))(\d{1,3})\s?[.．、]?"),
)
_GAP = re.compile(
    r"(?:(?:_+|\s{2,}|[(（])\s*(?=\d{1,3}\s*(?:_|\s{2,}|[)）]))|(?<!\d)(?=\d{1,3}\s?[.．]?\s?_{2,})"
    r"|(?:^|(?<=\n))\s*(?=\d{1,3}\s*(?:\n|$)))(\d{1,3})"
)
_LOOSE = re.compile(r"(?:^|(?<=\s))([A-H])\s?[.．、]?\s")
_MOST_MARKS, _MOST_RUNS = 400, 20
_FEWEST_MEMBERS = 2


@dataclass(frozen=True)
class GroupMember:
    """Question of a group: its printed number, its text with the shared passage, and its options."""

    number: str
    text: str
    options: list[Option]


def split_group(text: str, key: Sequence[str]) -> list[GroupMember]:
    """Questions of a text, given the correct letters of each in order; none if uncertain."""
    masked = mask_formulas(text)
    runs = []
    for pattern in _MEMBER_NUMBERS:
        marks = [(int(plain_width(m[1])), m.start(), m.end()) for m in pattern.finditer(masked)]
        runs += list(islice(_runs(marks, len(key)), _MOST_RUNS))
    groups = (parts for run in runs if (parts := _members(text, run, key, bare=0)))
    mended = (parts for run in runs if len(key) > _FEWEST_MEMBERS and (parts := _members(text, run, key, bare=1)))
    return next(groups, None) or _gaps(text, key) or next(mended, [])


def _runs(marks: Sequence[tuple[int, int, int]], length: int) -> Iterator[list[tuple[int, int, int]]]:
    for last in range(len(marks) - 1, -1, -1) if len(marks) <= _MOST_MARKS else ():
        run = [marks[last]]
        for mark in reversed(marks[:last]):
            if len(run) < length and mark[0] == run[0][0] - 1:
                run.insert(0, mark)
        if len(run) == length:
            yield run


def _members(text: str, run: Sequence[tuple[int, int, int]], key: Sequence[str], *, bare: int) -> list[GroupMember]:
    passage = text[: run[0][1]].rstrip()
    ends = [*(start for _, start, _ in run[1:]), len(text)]
    parts: list[GroupMember] = []
    for (number, start, behind), end, letters in zip(run, ends, key, strict=True):
        stem, options = _member_options(text[behind:end].strip(), letters)
        bare -= not options
        if bare < 0:
            return []
        gap = "" if text[behind : behind + 1].strip() else " "
        prompt = f"{text[start:behind].strip()}{gap}{stem}".strip()
        parts.append(GroupMember(str(number), "\n\n".join(filter(None, (passage, prompt))), options))
    return parts


def _member_options(text: str, letters: str) -> tuple[str, list[Option]]:
    stem, options = split_options(text, set(letters))
    marks = list(_LOOSE.finditer(text))
    if options or not marks or marks[0].start() or [m[1] for m in marks] != list("ABCDEFGH"[: max(len(marks), 3)]):
        return stem, options
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return "", [Option(label=m[1], text=text[m.end() : end].strip()) for m, end in zip(marks, ends, strict=True)]


def _gaps(text: str, key: Sequence[str]) -> list[GroupMember]:
    stem, options = split_options(text, set("".join(key)))
    if len(options) <= len(key):
        return []
    marks = [(int(m[1]), m.start(), m.end()) for m in _GAP.finditer(stem)]
    for run in _runs(marks, len(key)):
        return [GroupMember(str(number), f"{stem}\n\n{number}.", options) for number, _, _ in run]
    return []


# Commands of LaTeX, amsmath and siunitx that begin with n.
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
_BOXED = r"\boxed{"
_RELATIONS = frozenset({"ne", "ni"})
_CONTROLS = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r"}
_DAMAGED = re.compile(r"([\a\b\v\f\t\n\r])([A-Za-z]+)|[\v\f](?!\n)")
_SURE = {
    "a": frozenset("lpha ngle pprox rc rccos rcsin rctan rray st symp ligned lign leph cute bs malg".split()),
    "b": frozenset(
        "ar eta egin inom igcap igcup igoplus igotimes igl igr igg iggl iggr ig igtriangleup igtriangledown igcirc f ot"
        " oldsymbol oxed owtie ullet ecause mod m reve ackslash lacksquare lacktriangle oxplus oxtimes umpeq race"
        " egingroup rack".split()
    ),
    "f": frozenset("rac orall lat rown box ootnotesize ootnote".split()),
    "v": frozenset(
        "ec ert ee dots arphi arepsilon artheta arnothing arrho arsigma arpi arkappa arpropto artriangle space skip"
        " phantom center dash Dash Vdash eebar erb".split()
    ),
    "t": frozenset(
        "heta ilde imes ext extstyle extrm extsf extit extbf exttt extnormal hinspace au anh frac binom"
        " herefore riangle riangleq riangleleft riangleright hickapprox hicksim woheadrightarrow".split()
    ),
    "r": frozenset("ight ightarrow ightharpoonup ightleftharpoons ho ceil vert".split()),
    "n": frozenset("abla eq otin exists earrow warrow leq geq subseteq onumber leftarrow rightarrow".split()),
}
"""Remainders of commands whose first letter became a control character, and that are no words."""
_IN_FORMULAS = {
    "t": frozenset("o op an ag iny".split()),
    "r": frozenset("angle floor m brace brack".split()),
    "n": frozenset("u e eg ot i mid parallel sim cong".split()),
}
"""Remainders that could also be a word or a symbol."""
_SUSPECTS = "\a\b\v\f\t\r"
_SUSPECT_BREAK = re.compile(r"\n(?:" + "|".join(_SURE["n"]) + r")(?![A-Za-z])")
"""Quick test: texts without a match are undamaged."""


def restore(text: str) -> str:
    """Restores the commands and line breaks of a text."""
    return restore_newlines(restore_commands(text))


def restore_commands(text: str) -> str:
    r"""Turns control characters back into the beginning of a command.

    Unescaping `\frac` leaves a form feed and "rac". A control character is restored if the letters after it are the
    rest of a command and no word. Remainders that could be words ("an", "to", "u…") count only inside a formula, or,
    except for tabs, in a text that is certainly damaged; inside a formula a bell or a backspace before letters always
    counts.
    """
    if not _may_be_damaged(text):
        return text
    damaged = any(map(_is_sure, _DAMAGED.finditer(text)))
    masked = mask_formulas(text)

    def replace(match: re.Match[str]) -> str:
        letter = _CONTROLS[match[0][0]]
        inside = masked[match.start()] == "\0"
        could_be = letter in "ab" or ((damaged or letter == "t") and match[2] in _IN_FORMULAS.get(letter, ()))
        if _is_sure(match) or (inside and match[2] and could_be):
            return f"\\{letter}{match[2]}"
        return f"\n{match[2] or ''}" if letter in "vf" else match[0]

    return _DAMAGED.sub(replace, text)


def _may_be_damaged(text: str) -> bool:
    for suspect in _SUSPECTS:  # in half the time of `any`
        if suspect in text:
            return True
    return "\n" in text and _SUSPECT_BREAK.search(text) is not None


def _is_sure(match: re.Match[str]) -> bool:
    return match[2] is not None and match[2] in _SURE[_CONTROLS[match[1]]]


def restore_newlines(text: str) -> str:
    r"""Turns a literal backslash-n that separates lines into a line break.

    TeX reads the longest run of letters after a backslash as the command. A known command (`\neq`, `\nu`, `\nabla`) is
    kept; for any other run the `\n` is a separator. A relation has a right side, so `\ne)` and `\ni.` are the labels
    e) and i. of a new line. A double backslash is TeX's own line break.
    """
    if "\\n" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        letters, label_end = match[1], match[2]
        is_command = letters in _N_COMMANDS and not (label_end and letters in _RELATIONS)
        if letters is None or is_command:
            return match[0]
        return "\n" + match[0][2:]

    return _SEPARATOR.sub(replace, text)


def unboxed(text: str) -> str:
    r"""Content of a `\boxed{…}` that is the whole text; other texts unchanged."""
    begin = text.strip().removeprefix(_BOXED)
    if begin == text.strip() or not begin.endswith("}"):
        return text
    depth = 1
    for position, character in enumerate(begin):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return begin[:-1].strip() if position == len(begin) - 1 else text
    return text
