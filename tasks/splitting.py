"""Splits the reply to a sheet: the part of each question, by JSON, tables and lists of answers, and headings.

Contract: a text between two headings belongs to the first; lists and tables of answers are the last word. A label
without a part is unanswered only if no line begins with it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby, pairwise
from typing import Any, Final, NamedTuple

from livek12.core.patterns import late

LONGEST_VALUE: Final = 40
"""Characters of an answer in JSON or a table that is taken for a value alone."""
_WIDE = str.maketrans("０１２３４５６７８９：（）［］", "0123456789:()[]")
_OPEN = r"(?:[^\w\n\\]|_|\\(?:(?:sub)*section|paragraph|textbf|noindent|item)\b)*"
_PARENS = r"(?:[ \t]*[(（][^()（）\n]{0,24}[)）])?"
_REVISED = (
    r"(?:(?:(?:correction|revision)s?(?:[ \t]+(?:to|for|of))?|corrected|revised|on|对|更正|修正|订正|정정|수정)"
    r"[ \t:：,]*)?"
)
_BEHIND = (
    rf"(?={_PARENS}[ \t]*(?:[*_#|】\]}})）」』:：.．、,，—–-]|$|answer|solution|correct|,|的?(?:答案|解|更正|修正|订正)"
    r"|[(（][^()（）\n]*(?:revis|correct|修正|更正|订正|수정|정정)"
    r"|의?[ \t]*(?:정답|답|풀이|해설|정정|수정)))"
)
_NAMED = late(
    "^" + _OPEN + _REVISED + r"(?:(?:(?:answer|solution)[ \t]+(?:to[ \t]+)?(?:question|problem|no\.?)?"
    r"|question|problem|item|ques|q)[ \t]*(?:no\.?|number)?[ \t:#]*(\d{1,3})(?!\d)"
    r"|第?[ \t]*(\d{1,3})[ \t]*[小大]?[题題问問]"
    r"|第[ \t]*([一二三四五六七八九十]{1,3})[ \t]*[题題]|[题題](?:号|目)?[ \t]*(\d{1,3})(?!\d)"
    r"|(?:문제|문항|문)[ \t]*(\d{1,3})(?!\d)[ \t]*번?|제?[ \t]*(\d{1,3})[ \t]*(?:번(?:[ \t]*문제)?|문제|문항|문(?!\w)))"
    + _BEHIND,
    re.MULTILINE | re.IGNORECASE,
)
"""A number that a sentence goes on behind ("Question 3 asks for …") is a reference, no heading."""
_BARE = late(
    r"^(?P<open>[ \t]*(?:\\[a-z]+\*?[\[{]?)*[*_#>|【\[(№-]*[ \t]*)(?P<label>\d{1,3})"
    r"(?P<close>(?:\(\d{1,2}\))?[*_ \t]*(?:[)\]】:、．|]|\.(?!\d)|$)[*_]*)",
    re.MULTILINE,
)
_WORD = late(
    r"^[^\w\n]*(?!step|case|part|option|method|stage|phase|方法|步骤|情况|情形|단계|경우|방법|선지|보기)"
    r"(?P<open>[^\W\d_]{1,12})[ \t]*(?P<label>\d{1,3})(?P<close>[^\w\n]*)$",
    re.MULTILINE | re.IGNORECASE,
)
"""A line of its own that holds a word and a number."""
_AFTER_HEADING = late(rf"\A{_PARENS}[ \t*_#|】\]}})）」』:：.．、,，]*")
_MARK = r"[A-Z]{1,6}|[①-⑩]+|[√×✓✗]|true|false|对|错|正确|错误|-?\d+(?:\.\d+)?(?:/\d+)?|[ㄱ-ㅎ](?:[,、 ]*[ㄱ-ㅎ])*"
_ENTRY = late(
    r"(?<![\w.])第?(?P<label>\d{1,3})(?:[ \t]*(?:[.):、=|-]|[题번][ \t]*[:.)]?|(?=[ \t]+[A-H①-⑩]))[ \t]*(?P<value>"
    + _MARK
    + r")|(?P<short>[A-H①-⑩]+))(?![\w.])",
    re.IGNORECASE,
)
_RANGE = late(
    r"(?<![\w.])(?P<first>\d{1,3})[ \t]*(?:-|–|—|~|～|至|to)[ \t]*(?P<last>\d{1,3})[题번]?[ \t.:：、)]*"
    r"(?P<letters>(?:[A-H①-⑩][ \t,，、;；]*){2,})(?![\w.])"
)
_BEGUN = late(r"^(?:(?!\\boxed)\D){0,16}?(\d{1,3})(?![\d.,])", re.MULTILINE)
"""A number at the begin of a line: an answer may begin there whose heading was not recognised."""
_SEPARATORS = late(r"[\s,，;；、|*_.。:：-]|第|题|번")
_CELL_LABEL = late(r"[\s*_]*(?:第|문제|question|q|no\.?)?[ \t]*(\d{1,3})[ \t]*(?:[题번]|\.)?[\s*_]*", re.IGNORECASE)
_RULE = late(r"[\s|:-]+")
_ANSWER_COLUMN = late(r"答案|answer|정답|답", re.IGNORECASE)
_NUMBER_FIELD = late(r"number|question|id$|^no|^q|题|문제|번호", re.IGNORECASE)
_DIGITS = {numeral: value for value, numeral in enumerate("一二三四五六七八九", 1)}


@dataclass
class SplitSheet:
    """A sheet's text by label.

    Attributes:
        parts: text of each answered label.
        unclear: labels whose part cannot be told.
    """

    parts: dict[str, str] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)


class Heading(NamedTuple):
    """A heading from `start` to `end` in the text."""

    start: int
    end: int
    label: str


def split(text: str, labels: Sequence[str]) -> SplitSheet:
    """Splits the text of a sheet among these labels."""
    text = text.replace("\r\n", "\n")
    result = SplitSheet(parts=_from_json(text, labels))
    if result.parts:
        return result
    values: dict[str, list[str]] = {}
    text = _without_lists(_without_tables(text, labels, values), labels, values)
    headings, unclear = _headings(text.translate(_WIDE), labels)
    sections: dict[str, list[str]] = {}
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    for heading, end in zip(headings, ends[: len(headings)], strict=True):
        sections.setdefault(heading.label, []).append(_AFTER_HEADING.sub("", text[heading.end : end]).strip())
    for label in labels:
        pieces = sections.get(label, [])
        pieces += [value for value in values.get(label, []) if not (pieces and pieces[-1].endswith(value))]
        if label in unclear:
            result.unclear.add(label)
        elif any(pieces):
            result.parts[label] = "\n\n".join(filter(None, pieces))
    if not result.parts and not result.unclear and text[: headings[0].start if headings else None].strip():
        result.unclear.update(labels)
    begun = {str(int(number)) for number in _BEGUN.findall(text.translate(_WIDE))}
    result.unclear |= {label for label in labels if label in begun and label not in sections and label not in values}
    return result


def _from_json(text: str, labels: Sequence[str]) -> dict[str, str]:
    start = min((place for sign in "{[" if (place := text.find(sign)) >= 0), default=-1)
    if start < 0 or not re.search(r'\{\s*"', text):
        return {}
    body = text[start : 1 + max(text.rfind("}"), text.rfind("]"))]
    for lines in ([body], body.splitlines()):
        try:
            values = [_loaded(line) for line in lines if line.strip()]
        except (ValueError, RecursionError):
            continue
        by_label = dict(_labelled(values if len(values) != 1 else values[0]))
        if parts := {label: by_label[label] for label in labels if by_label.get(label)}:
            return parts
    return {}


def _loaded(text: str) -> Any:
    r"""JSON whose LaTeX may have single backslashes: `"\frac"` holds no form feed."""
    single = r"(?<!\\)(?:\\\\)*\\(?!n(?![a-z])|[\"\\/])"
    if re.search(single + r"(?:[a-zA-Z]{3,}|[^bfrtun])", text):
        text = re.sub(single, lambda match: match[0] + "\\", text)
    return json.loads(text, strict=False)


def _labelled(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and len(value) == 1:
        ((name, inner),) = value.items()
        value = inner if isinstance(inner, dict | list) and not re.search(r"\d", name) else value
    if isinstance(value, list) and all(isinstance(row, dict) and len(row) == 1 for row in value):
        value = {name: answer for row in value for name, answer in row.items()}
    if isinstance(value, list):
        for row in (row for row in value if isinstance(row, dict)):
            name = next((name for name in row if _NUMBER_FIELD.search(name) and re.search(r"\d", str(row[name]))), "")
            yield _number(row.get(name)), _as_text({key: each for key, each in row.items() if key != name})
    elif isinstance(value, dict):
        yield from ((_number(name), _as_text(answer)) for name, answer in value.items())


def _number(name: object) -> str:
    digits = re.search(r"\d+", str(name))
    return digits[0] if digits else str(name)


def _as_text(value: object) -> str:
    """Reasoning first, as it comes, then the answer."""
    if isinstance(value, dict):
        answer = [name for name in value if _ANSWER_COLUMN.search(str(name))]
        order = [*(name for name in value if name not in answer), *answer]
        value = [value[name] if name in answer or isinstance(value[name], str) else "" for name in order]
    if isinstance(value, list):
        return "\n".join(filter(None, map(_as_text, value)))
    return "" if value is None else _boxed(str(value))


def _boxed(value: str) -> str:
    value = value.strip().strip("*").strip()
    bare = value[1:-1] if len(value) > 2 and value[0] == value[-1] == "$" and "$" not in value[1:-1] else value
    return value if "\\boxed" in value or len(value) > LONGEST_VALUE or not value else f"\\boxed{{{bare}}}"


def _without_tables(text: str, labels: Sequence[str], values: dict[str, list[str]]) -> str:
    """Text without tables that map labels to answers, which go to `values`."""
    kept: list[str] = []
    table: list[str] = []
    for line in [*text.splitlines(keepends=True), ""]:
        if line.lstrip().startswith("|"):
            table.append(line)
            continue
        if table:
            entries = dict(_table_entries([_cells(row) for row in table if not _RULE.fullmatch(row)], labels))
            for label, value in entries.items():
                values.setdefault(label, []).append(value)
            kept += [] if entries else table
            table = []
        kept.append(line)
    return "".join(kept)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _label(cell: str, labels: Sequence[str]) -> str | None:
    match = _CELL_LABEL.fullmatch(cell.translate(_WIDE))
    return match[1] if match and match[1] in labels else None


def _table_entries(rows: list[list[str]], labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Labels with their answers: across, in pairs of rows, or down, in groups of columns."""
    for upper, lower in pairwise(rows):
        yield from _across(upper, lower, labels, rows[0][0])
    header = rows[0] if rows and not any(_label(cell, labels) for cell in rows[0]) else []
    yield from _down(header, rows[1:] if header else rows, labels)


def _across(upper: list[str], lower: list[str], labels: Sequence[str], head: str) -> Iterator[tuple[str, str]]:
    """Labels above answers; a single label behind the table's first head."""
    cells = [(_label(cell, labels), value) for cell, value in zip(upper[1:], lower[1:], strict=False) if cell]
    if _label(upper[0], labels) or not all(label for label, _ in cells) or (len(cells) < 2 and upper[0] != head):
        return
    yield from ((label, _boxed(value)) for label, value in cells if label and value)


def _down(header: list[str], rows: list[list[str]], labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Rows of a label, reasons and an answer; under a header, several such groups."""
    places = sorted({place for row in rows for place, cell in enumerate(row) if _label(cell, labels)})
    if header:  # the columns of labels are named alike
        starts = [place for place in places if place < len(header) and header[place] == header[places[0]]]
    else:
        starts = [place for place in places if place == 0]
    answers = {place for place, name in enumerate(header) if _ANSWER_COLUMN.search(name)}
    for row in rows:
        for start, end in pairwise([*starts, len(row)]):
            label = _label(row[start], labels) if start < len(row) else None
            order = sorted(range(start + 1, min(end, len(row))), key=lambda place: place in answers)
            if label and any(row[place] for place in order):
                yield label, "\n".join(_boxed(row[place]) if place == order[-1] else row[place] for place in order)


def _without_lists(text: str, labels: Sequence[str], values: dict[str, list[str]]) -> str:
    """Text without lines that hold nothing but labels and their answers, which go to `values`."""
    kept = []
    for line in text.splitlines(keepends=True):
        entries = list(_line_entries(line.translate(_WIDE)))
        if len(entries) < 2 or not all(label in labels for label, _ in entries):
            kept.append(line)
            continue
        for label, value in entries:
            values.setdefault(label, []).append(_boxed(value))
    return "".join(kept)


def _line_entries(line: str) -> Iterator[tuple[str, str]]:
    entries: list[tuple[str, str]] = []

    def of_range(match: re.Match[str]) -> str:
        numbers = range(int(match["first"]), int(match["last"]) + 1)
        letters = re.findall(r"[A-H①-⑩]", match["letters"])
        if len(letters) != len(numbers):
            return match[0]
        entries.extend(zip(map(str, numbers), letters, strict=True))
        return ""

    def of_entry(match: re.Match[str]) -> str:
        entries.append((match["label"], match["value"] or match["short"]))
        return ""

    rest = _ENTRY.sub(of_entry, _RANGE.sub(of_range, line))
    return iter([] if _SEPARATORS.sub("", rest) else entries)


def _headings(text: str, labels: Sequence[str]) -> tuple[list[Heading], set[str]]:
    """Headings in text order, and the labels that they leave unclear.

    Named headings ("Question 3") may repeat, in any order. Bare numbers ("3.", "(3)") serve the other labels, a style
    at a time; a number that is doubled or steps back makes the labels beside it unclear.
    """
    headings = [
        Heading(match.start(), match.end(), label)
        for match in _NAMED.finditer(text)
        if (label := _arabic(next(filter(None, match.groups())))) in labels
    ]
    headings += _items(text, labels) if not headings else []
    unclear: set[str] = set()
    styles: dict[tuple[str, str], list[Heading]] = {}
    for match in [*_BARE.finditer(text), *_WORD.finditer(text)]:
        style = (match["open"].replace(" ", "_"), re.sub(r"\d+|\s", "", match["close"]))
        styles.setdefault(style, []).append(Heading(match.start(), match.end("label"), match["label"]))
    order = {label: place for place, label in enumerate(labels)}
    while missing := [label for label in labels if label not in {heading.label for heading in headings} | unclear]:
        fitting = [[each for each in style if each.label in missing] for style in styles.values()]
        best = max(fitting, key=lambda style: len({each.label for each in style}), default=[])
        if not best or (len({each.label for each in best}) < 2 < len(missing) and headings):
            break
        if {text[each.end : each.end + 1] for each in best} == {"("}:  # 17(1), 17(2): parts of one
            best = [next(parts) for _, parts in groupby(best, key=lambda each: each.label)]
        places = [order[each.label] for each in best]
        unclear |= _beside_descents(places, labels) | _out_of_place(best, headings, order)
        headings = sorted([*headings, *best])
    return sorted(headings), unclear


def _arabic(number: str) -> str:
    if number.isdecimal():
        return str(int(number))
    tens, ten, ones = number.rpartition("十")
    return str((_DIGITS.get(tens, 1) * 10 if ten else 0) + _DIGITS.get(ones, 0))


def _items(text: str, labels: Sequence[str]) -> list[Heading]:
    r"""Items of an outer LaTeX list, if there are as many as labels."""
    depth, items = 0, []
    for match in re.finditer(r"\\(begin|end)\{(?:enumerate|itemize)\}(?:\[[^\]\n]*\])?|\\item\b(?!\[)", text):
        depth += {"begin": 1, "end": -1}.get(match[1] or "", 0)
        if match[1] is None and depth == 1:
            items.append(match)
    if len(items) != len(labels):
        return []
    return [Heading(item.start(), item.end(), label) for item, label in zip(items, labels, strict=True)]


def _beside_descents(places: Sequence[int], labels: Sequence[str]) -> set[str]:
    """Labels on both sides of each step back, and of each repeated place."""
    repeated = {labels[place] for place, times in Counter(places).items() if times > 1}
    beside = {labels[place] for pair in pairwise(places) if pair[1] < pair[0] for place in pair}
    return repeated | beside


def _out_of_place(bare: Iterable[Heading], headings: Sequence[Heading], order: dict[str, int]) -> set[str]:
    """Labels of bare numbers that do not stand between the headings of their neighbours."""
    headings = sorted(headings)
    places = [order[heading.label] for heading in headings]
    highest = list(accumulate(places, max, initial=-1))
    lowest = list(accumulate(reversed(places), min, initial=len(order)))[::-1]
    strays = set()
    for each in bare:
        before = bisect_left(headings, each)
        if not highest[before] < order[each.label] < lowest[before]:
            strays.add(each.label)
    return strays
