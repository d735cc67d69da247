"""Options of questions, told from their parts and statements.

Contract: a list is the question's options if something says so: its section, what the question asks, how the list is
set, or the options of its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.core.languages import language_of
from livek12.core.records import IMAGE_MARK, Language, Option
from livek12.core.scripts import both_scripts
from livek12.dataset_builders.ingest.pages.blocks import CHOICE
from livek12.dataset_builders.ingest.questions.kinds import VERBS
from livek12.dataset_builders.ingest.questions.labels import OPPOSITE, LabelList, are_several, first_label, label_lists
from livek12.dataset_builders.reading.options import plain_label
from livek12.dataset_builders.reading.text import plain_width, split_options

_PART = both_scripts(r"\n\s*(?:[(（]\s*(?:1|一|i|a|b)\s*[)）]|i[.)．]\s)")
"""Parts behind or within the "options": these are a list of instruments or statements, or parts themselves."""
_NAMES = "ABCDEFGH"
"""Of options that have circles and no letters."""
_FOR_EACH = re.compile(
    r"\beach of the following\b|\bfor each (?:statement|element|item|sentence|case|row)\b"
    r"|^\W*(?:define|explain|describe|simplify|evaluate|calculate|compute|solve|find|convert|state|factor\w*|differentiate"
    r"|integrate|sketch|prove|draw|determine|expand|give)\b[^.?!]{0,40}\bfollowing\b"
    r"|(?<!\S)[(（]?각\s*\d{1,2}\s*점|\d\s*(?:points?|marks?)\s+each\b|\n\s*Part\s+[A-H1-9]\b",
    re.IGNORECASE,
)
_DEMANDS = both_scripts(
    r"[?？]\s*(?:$|\n)|\n```|_{4}|(?:시오|하라)\s*[.。]?\s*(?:$|\n)|^\s*(?:求|证明|说明|计算|写出|画出|简述)"
    rf"|(?:^|[.?!]\s)\s*(?:{VERBS})\b",
    re.IGNORECASE,
)
"""A demand of its own, or room for its answer: a part, no option."""
_COMMANDS = both_scripts(
    rf"(?:^|[.:;,]\$?\s+|\n[^\S\n]*)(?:{VERBS})\b[^?]*$"
    r"|(?:^|[。；，：\n])[^\S\n]*(?:试|求|计算|写出|证明|说明|判断)[^?？]*$|(?:시오|하라)[.。]?\s*$",
    re.IGNORECASE,
)
"""Ends in a command: a list behind it has its parts, unless it is set as options are."""
_TO_WRITE = re.compile(r"\s*_+[\s_.．]*")
_WORTH = re.compile(r"\S\s*\[\d{1,2}(?:\s*marks?)?\]\s*$")
"""Asks something of each of the "options"; a line to write on in place of one; the marks of a part."""
_TASK = both_scripts(
    rf"[?？]|[\[(]\s*\d+\s*(?:marks?|points?)?\s*[\])]|^\s*(?:{VERBS}|hence|use|what)\b"
    r"|求|证明|说明|计算|写出|구하|_{2}|[;；]\s*$",
    re.IGNORECASE,
)
"""Words of a question's part, never of an option."""
_A_LATER_PART = both_scripts(r"[(（]\s*(?:ii|2|b|二)\s*[)）]")
_LATER_PART = re.compile(rf"(?:^|\n)\s*{_A_LATER_PART.pattern}")
_LEADS = re.compile(r"(?:[?？:：]|_{2}[.。]?)\s*$")
"""Ends what asks, before a list."""
_LONGEST_SMALL, _FEWEST_SMALL, _USUAL = 80, 3, (4, 5)
_BARE = re.compile(r"(?:^|\s{3,})([A-H])\s+(?=\S)")
_FEWEST_BARE = 4
_SELECT = re.compile(
    r"\b(?:select|choose|circle|tick|check) (?:only )?one(?: or more)?\s?\)?\s?[:：]?[ \t]*\n", re.IGNORECASE
)
_CIRCLES = re.compile(r"\bCircle (?:the|your|one)\b")


def split(text: str, language: Language, choice: bool | None, usual: Sequence[str] = ()) -> tuple[str, list[Option]]:
    """Stem and options of a text; `choice`: its section's questions have some; `usual`: labels of the others'."""
    if circled := _circled(text):
        return circled
    if are_several(text):
        return text, []
    lists = label_lists(text)
    stem, options = _labelled(text, lists, language_of(language).numbered or bool(choice), choice, usual)
    if not options:
        stem, options = _unsigned(text) or _unlabelled(text) or (text, [])
    if not options or _are_parts(stem, options, lists, choice, usual):
        return text, []
    named = ((plain_width(plain_label(option.label)), option.text) for option in options)
    return _closed(stem), [Option(label=name, text=_closed(own)) for name, own in named]


def _labelled(
    text: str, lists: Sequence[LabelList], numbered: bool, choice: bool | None, usual: Sequence[str]
) -> tuple[str, list[Option]]:
    """Options with the labels of the others', with capital letters, with circles, or with others that fit."""
    stem, options = split_options(text)
    if usual and [option.label for option in options] != [*usual]:
        own = [each for each in lists if each.names == [*usual] and (each.begins_line or not options)]
        stem, options = _options_of(text, own[0]) if own else (stem, options)
    if not options and numbered:
        stem, options = split_options(text, {"①"})
        gap = text[len(stem) :]
        if options and stem and "\n" not in gap[: len(gap) - len(gap.lstrip())]:
            return text, []
    own = [] if options else [each for each in lists if _may_be_options(text, each, choice, numbered)]
    return _options_of(text, own[0]) if own else (stem, options)


def _are_parts(
    stem: str, options: Sequence[Option], lists: Sequence[LabelList], choice: bool | None, usual: Sequence[str]
) -> bool:
    """Checks for a list of parts, of lines to write on, or of what something is asked of."""
    labels = [plain_width(plain_label(option.label)) for option in options]
    capitals = [each.names for each in lists if each.is_capital]
    chosen = bool(choice) or asks_to_choose(stem) or all(OPPOSITE.fullmatch(option.text) for option in options)
    set_so = labels == [*usual] or (labels in capitals and len(labels) in _USUAL)
    worth, demands = (sum(bool(sign.search(option.text)) for option in options) for sign in (_WORTH, _DEMANDS))
    return (
        all(_TO_WRITE.fullmatch(option.text) for option in options)
        or worth > 1
        or (2 * demands > len(options) and not chosen)
        or (bool(_FOR_EACH.search(stem)) and not (asks_to_choose(stem) or [*usual] in capitals))
        or (bool(_COMMANDS.search(stem, 1 + stem.rfind("?"))) and not (chosen or set_so))
        or any(_PART.search(option.text) for option in options)
    )


def _circled(text: str) -> tuple[str, list[Option]] | None:
    """Options behind circles to tick, without letters."""
    stem, *ringed = text.split(f"\n{CHOICE} ")
    nested = "●" in text or "•" in text  # circles of the second level of a list
    if nested or not 1 < len(ringed) <= len(_NAMES) or any("\n(" in option or CHOICE in option for option in ringed):
        return None
    return stem.rstrip(), [Option(label=name, text=text) for name, text in zip(_NAMES, ringed, strict=False)]


def _unlabelled(text: str) -> tuple[str, list[Option]] | None:
    """Lines below what says to select one, or the cells of the last, one of which is to be circled: without labels."""
    match = _SELECT.search(text)
    end = match.end() if match else text.rstrip().rfind("\n") + 1
    stem = text[:end].rstrip()
    pieces = [piece.strip() for piece in re.split(r"\n|\s{3,}", text[end:].strip())]
    fewest = 2 if match else _FEWEST_SMALL
    if not (match or _CIRCLES.search(stem)) or not fewest <= len(pieces) <= len(_NAMES) or IMAGE_MARK in pieces:
        return None
    if _A_LATER_PART.search(stem) or any(piece.endswith(("?", "？", "_")) for piece in pieces):
        return None
    return stem, [Option(label=name, text=piece) for name, piece in zip(_NAMES, pieces, strict=False)]


def _closed(text: str) -> str:
    """A text without the fence of a listing that its options part."""
    return text.removesuffix("\n```").removeprefix("```\n") if text.count("```") == 1 else text


def figures_to_stem(stem: str, options: list[Option]) -> tuple[str, list[Option]]:
    """Moves pictures below an option's text to the stem if no other option has one: they are the question's."""
    own = [place for place, option in enumerate(options) if IMAGE_MARK in option.text]
    text, *marks = options[own[0]].text.split(f"\n{IMAGE_MARK}") if len(own) == 1 else [""]
    if not marks or not text.strip() or any(map(str.strip, marks)):
        return stem, options
    without = Option(label=options[own[0]].label, text=text)
    return "\n".join([stem, *[IMAGE_MARK] * len(marks)]), [*options[: own[0]], without, *options[own[0] + 1 :]]


def _options_of(text: str, own: LabelList) -> tuple[str, list[Option]]:
    texts = (option.strip(" \n.．") if not all(own.texts) else option for option in own.texts)
    options = [Option(label=name, text=option) for name, option in zip(own.names, texts, strict=True)]
    stem = text[: own.start].rstrip()
    if not own.begins_line:  # a list within a line ends with it
        last, _, below = options[-1].text.partition("\n")
        options[-1] = Option(label=options[-1].label, text=last)
        stem = "\n".join(filter(None, (stem, below)))
    return stem, options


def _may_be_options(text: str, own: LabelList, choice: bool | None, numbered: bool) -> bool:
    """Checks a list for options: it begins a line or follows what asks, or the stem's sentence goes on in each."""
    if len(own.labels) < _FEWEST_SMALL:  # True, False
        return True
    stem = text[: own.start]
    completed = stem.rstrip()[-1:].islower() and all(option[:1].islower() for option in own.texts)
    asking = completed or bool(_LEADS.search(stem)) or asks_to_choose(stem)
    if own.is_capital:
        return own.begins_line and len(own.labels) > _FEWEST_SMALL and (numbered or not own.is_ring)
    if not all(own.texts) or (own.is_number and len(own.labels) <= _FEWEST_SMALL):
        return False
    if not own.begins_line and (not asking or any("\n" in option for option in own.texts[:-1])):
        return False
    if own.is_step and not asking:
        return False  # a list of steps
    parts = bool(_LATER_PART.search(stem)) or any(
        _TASK.search(option if own.begins_line else option.partition("\n")[0])
        or (len(option) > _LONGEST_SMALL and not (completed or stem.rstrip().endswith("?")))
        for option in own.texts
    )
    return bool(choice) or (not parts and (choice is None or asks_to_choose(stem)))


def are_in_rows(own: LabelList) -> bool:
    """Checks for a list of four or five short texts that demand nothing, several in a line."""
    begun = sum(label.apart for label in own.labels)
    short = all(text and len(text) <= _LONGEST_SMALL and not _TASK.search(text) for text in own.texts[:-1])
    rows = sum("\n" in text for text in own.texts[:-1]) + 1
    return own.begins_line and len(own.labels) in _USUAL and short and rows <= len(own.labels) / 2 and begun >= rows


CHOOSES = both_scripts(
    r"\bwhich (?:one )?(?:of the following|(?:\w+ ){0,2}(?:below|best))\b"
    r"|\b(?:(?:select|choose) which|(?:select|choose|circle|tick) (?:all|one|the (?:best|correct)))\b"
    r"(?! (?:from|of the (?:\w+ )?(?:questions|problems)|set))"
    r"|下列[^。？?]{0,20}(?:的是|的有)|고른 것은|(?:고르|선택하)시오|것은\s*[?？]",
    re.IGNORECASE,
)


def asks_to_choose(stem: str) -> bool:
    """Checks for words that ask to choose, or a blank or an empty bracket at the end."""
    says = CHOOSES.search(stem) or _CIRCLES.search(stem)
    return bool(says or re.search(r"(?:[(（]\s*[)）]|_{2}|…|\.{3})\s*[。．.]?\s*$", stem))


def bare_labels(lines: Sequence[str]) -> list[tuple[int, re.Match[str]]]:
    """Labels without a sign (A text): index of the line and match of each; empty for fewer than four.

    The last run from A that begins lines, each with as many labels as the first.
    """
    matches = ((at, [*_BARE.finditer(line.lstrip())]) for at, line in enumerate(lines))
    rows = [(at, labels) for at, labels in matches if labels and not labels[0].start()]
    firsts = [place for place, (_, row) in enumerate(rows) if row[0][1] == "A"]
    if not firsts:
        return []
    run = rows[firsts[-1] :]
    names = "".join(match[1] for _, row in run for match in row)
    even = all(len(row) == len(run[0][1]) for _, row in run[:-1]) and len(run[-1][1]) <= len(run[0][1])
    if len(names) < _FEWEST_BARE or not even or names != "ABCDEFGH"[: len(names)]:
        return []
    return [(at, match) for at, row in run for match in row]


def _unsigned(text: str) -> tuple[str, list[Option]] | None:
    """Options whose labels have no sign, at the end of a text; their lines may go on below."""
    lines = [line.lstrip() for line in text.split("\n")]
    run = bare_labels(lines)
    options = []
    for place, (at, match) in enumerate(run):
        last, end = (run[place + 1][0], run[place + 1][1].start()) if place + 1 < len(run) else (len(lines), 0)
        pieces = [lines[at][match.end() : end if last == at else None], *lines[at + 1 : last]]
        options.append(Option(label=match[1], text="\n".join(pieces).strip()))
    return ("\n".join(lines[: run[0][0]]).rstrip(), options) if run else None


def begins_option(text: str) -> bool:
    """Checks for the label of an option at the beginning."""
    label = first_label(text)
    return label is not None and not label.is_number
