"""The options of a question, split off its text.

Contract: `split` gives the stem and the options, whose labels are A, B, C … or 1, 2, 3 …; an option whose text stands
in the picture only is empty. Labels within a passage (underlined words to choose from) are left where they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.core.records import Language, Option
from livek12.core.text import CIRCLED
from livek12.dataset_builders.reading.choice_keys import plain_label
from livek12.dataset_builders.reading.text import plain_width, split_options

_CIRCLED = CIRCLED[:10]
_PART = re.compile(r"\n\s*[(（]\s*(?:1|一|i|a)\s*[)）]")
"""What has parts behind its "options" has a list of instruments or statements."""
_RUNS = (
    (re.compile(r"(?:^|(?<=\s))([A-HＡ-Ｈ])\s?[.．、]"), "ABCDEFGH"),
    (re.compile(r"(?:^|(?<=\s))[(（]\s?([A-H])\s?[)）]"), "ABCDEFGH"),
    (re.compile(rf"([{_CIRCLED}])"), _CIRCLED),
)


_SMALL = (
    re.compile(r"(?:^|(?<=\s))([a-h])\s?[.．、)）]\s?(?=\S)"),
    re.compile(r"(?:^|(?<=\s))[(（]\s?([a-h])\s?[)）]"),
    re.compile(r"(?:^|(?<=\s))[(（]\s?([1-8])\s?[)）]"),
)
_TASK = re.compile(
    r"[?？]|[\[(]\s*\d+\s*(?:marks?|points?)?\s*[\])]|^\s*(?:find|show|prove|explain|state|calculate|determine|describe|write"
    r"|sketch|solve|hence|give|use|draw|evaluate|estimate|justify|identify|discuss|how|what|why)\b|求|证明|说明|计算|写出|구하"
    r"|_{2}|[;；]\s*$",
    re.IGNORECASE,
)
"""What a part of a question has, and an option has not."""
_LONGEST_SMALL = 80
_BARE = re.compile(r"(?:^|\s{3,})([A-H])\s+(?=\S)")
_FEWEST_BARE = 4


def split(text: str, language: Language, choice: bool) -> tuple[str, list[Option]]:
    """The stem and the options of a text.

    Args:
        text: of the question.
        language: Korean papers label options with ①; elsewhere ① labels statements.
        choice: whether the section says that its questions have options.
    """
    stem, options = split_options(text)
    if not options and (language == "ko" or choice):
        stem, options = split_options(text, {"①"})
        if options and not _begins_line(text, len(stem)):
            return text, []
    if not options and (found := _with_empty(text, language) or _small(text, choice) or _unsigned(text)):
        stem, options = found
    if any(_PART.search(option.text) for option in options):
        return text, []
    return stem, [Option(label=plain_width(plain_label(option.label)), text=option.text) for option in options]


def labels_within(text: str) -> list[str]:
    """The labels ① to ⑤ (or A to D) that stand within a text once each and in order, where four at least do."""
    for pattern, labels in _RUNS:
        found = [plain_width(match[1]) for match in pattern.finditer(text)]
        if len(found) >= 4 and found == list(labels[: len(found)]):
            return found
    return []


def _with_empty(text: str, language: Language) -> tuple[str, list[Option]] | None:
    """Options of which some are empty, at the end of a text: the last complete run that begins a line."""
    for pattern, labels in _RUNS:
        if labels == _CIRCLED and language != "ko":
            continue
        found = list(pattern.finditer(text))
        firsts = [i for i, match in enumerate(found) if plain_width(match[1]) == labels[0]]
        if not firsts or not _begins_line(text, found[firsts[-1]].start()):
            continue
        run = found[firsts[-1] :]
        names = [plain_width(match[1]) for match in run]
        if len(run) >= 4 and names == list(labels[: len(run)]):
            ends = [*(match.start() for match in run[1:]), len(text)]
            options = [
                Option(label=name, text=text[match.end() : end].strip(" \n.．"))
                for name, match, end in zip(names, run, ends, strict=True)
            ]
            return text[: run[0].start()].rstrip(), options
    return None


def _small(text: str, choice: bool) -> tuple[str, list[Option]] | None:
    """Options labelled a, b, c … or (1), (2), (3) …: the last complete run.

    Where the section does not say so, each has to be short and no part of a question.
    """
    for pattern in _SMALL:
        found = list(pattern.finditer(text))
        firsts = [at for at, match in enumerate(found) if match[1] in "a1"]
        if not firsts or not _begins_line(text, found[firsts[-1]].start()):
            continue
        run = found[firsts[-1] :]
        names = "".join(match[1] for match in run)
        fewest = _FEWEST_BARE if names[0].isdigit() else 3
        if len(run) < fewest or not ("abcdefgh".startswith(names) or "12345678".startswith(names)):
            continue
        ends = [*(match.start() for match in run[1:]), len(text)]
        texts = [text[match.end() : end].strip(" \n") for match, end in zip(run, ends, strict=True)]
        asks = any(_TASK.search(one) or len(one) > _LONGEST_SMALL for one in texts)
        if all(texts) and (choice or not asks):
            labels = (match[1].upper() for match in run)
            options = [Option(label=label, text=one) for label, one in zip(labels, texts, strict=True)]
            return text[: run[0].start()].rstrip(), options
    return None


def bare_labels(lines: Sequence[str]) -> list[tuple[int, re.Match[str]]]:
    """Labels without a sign (A text): the last run from A on that begins lines, each line with as many as the first.

    Args:
        lines: of a question, as printed.

    Returns:
        For each label the index of its line and its match; empty where they are fewer than four.
    """
    rows = [(at, found) for at, line in enumerate(lines) if (found := _row(line))]
    firsts = [place for place, (_, row) in enumerate(rows) if row[0][1] == "A"]
    if not firsts:
        return []
    run = rows[firsts[-1] :]
    names = "".join(match[1] for _, row in run for match in row)
    even = all(len(row) == len(run[0][1]) for _, row in run[:-1]) and len(run[-1][1]) <= len(run[0][1])
    if len(names) < _FEWEST_BARE or not even or names != "ABCDEFGH"[: len(names)]:
        return []
    return [(at, match) for at, row in run for match in row]


def _row(line: str) -> list[re.Match[str]]:
    """The labels of a line that begins with one."""
    found = list(_BARE.finditer(line.lstrip()))
    return found if found and found[0].start() == 0 else []


def _unsigned(text: str) -> tuple[str, list[Option]] | None:
    """Options whose labels have no sign behind them, at the end of a text; their lines may go on below."""
    lines = [line.lstrip() for line in text.split("\n")]
    run = bare_labels(lines)
    options = []
    for place, (at, match) in enumerate(run):
        last, end = (run[place + 1][0], run[place + 1][1].start()) if place + 1 < len(run) else (len(lines), 0)
        pieces = [lines[at][match.end() : end if last == at else None], *lines[at + 1 : last]]
        options.append(Option(label=match[1], text="\n".join(pieces).strip()))
    return ("\n".join(lines[: run[0][0]]).rstrip(), options) if run else None


def _begins_line(text: str, place: int) -> bool:
    """Whether what comes at a place, or next after it, begins a line."""
    rest = text[place:]
    start = place + len(rest) - len(rest.lstrip())
    return not text[text.rfind("\n", 0, start) + 1 : start].strip()
