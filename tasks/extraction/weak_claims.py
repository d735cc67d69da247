"""Weaker claims, which count where nothing commits in words, a box or a tag.

A concluding sentence, a text that judges every option, a line that is only labels or quotes the one option.
"""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.judges.rules.labels import read_labels
from livek12.tasks.extraction.choice_forms import CONCLUDED, JUDGED, ONLY_LABELS, UNSURE, WEAK
from livek12.tasks.extraction.claims import (
    NO_LABELS,
    OPTION_LINE,
    QUOTED_BEHIND,
    Asked,
    Claim,
    Labels,
    labels_in_prose,
    of_truth,
)
from livek12.tasks.extraction.denials import quoted
from livek12.tasks.extraction.label_lists import as_list, written_plainly
from livek12.tasks.extraction.substance import lists_options, quoted_options
from livek12.tasks.extraction.verdicts import label_verdicts


def plain_claims(cleaned: str, asked: Asked) -> list[Claim]:
    """Those of a concluding sentence, of a text that judges every option, and of a line that is only labels."""
    lines = [line.strip() for line in cleaned.splitlines() if line.strip()]
    return [*_concluded(cleaned, lines, asked), *_judged(cleaned, asked), *_alone(cleaned, lines, asked)]


def _concluded(cleaned: str, lines: list[str], asked: Asked) -> list[Claim]:
    """Those of the last line, else of the last two, else of the first."""
    for text in dict.fromkeys("\n".join(ending) for ending in (lines[-1:], lines[-2:], lines[:1])):
        at = max(0, cleaned.find(text))
        found = [_conclusion(text, match, at, asked) for pattern in WEAK for match in pattern.finditer(text)]
        known = [claim for claim in found if claim is not None and (not asked.known or claim.labels <= asked.known)]
        if known:
            return known
    return []


def _conclusion(text: str, match: re.Match[str], at: int, asked: Asked) -> Claim | None:
    """What a concluding sentence claims; "the wrong one is C" too, where that may be what is asked for."""
    may_be_wrong = asked.wrong is not False and not asked.several
    plain = may_be_wrong and not match["or"] and not (asked.wrong and of_truth(text, match))
    labels = read_labels(written_plainly(match["run"])) if plain else labels_in_prose(text, match, asked)
    if labels is None or _NOT_THOUGHT.search(text[: match.start("run")]):
        return None
    said = (
        written_plainly(match["run"]).strip() if labels else quoted(text[match.start() : match.end() + QUOTED_BEHIND])
    )
    return Claim(at + match.start(), at + match.end(), CONCLUDED, said, "conclusion", labels)


_NOT_THOUGHT = late(
    r"(?:(?:\bnot|n['’]t)\s(?:really\s)?(?:think|believe|say|agree)|\bdoubt\b|\bno\sway\b|不(?:认为|觉得|相信|同意))[^.,，。；;\n]{0,20}\Z",
    re.IGNORECASE,
)
_JUDGED_CHARS = 4_000


def _judged(cleaned: str, asked: Asked) -> list[Claim]:
    """The options that a text makes the answer by calling every one right or wrong, each in one way."""
    said = label_verdicts(cleaned[-_JUDGED_CHARS:])
    judged: dict[str, set[bool]] = {}
    for verdict in said:
        for label in verdict.labels:
            judged.setdefault(label, set()).add(verdict.right)
    if set(judged) != (asked.known if asked.known and asked.known < _TEN else set("ABCD")):
        return []
    if any(len(values) > 1 for values in judged.values()):
        return []
    chosen = _odd_ones(judged, asked)
    text = ", ".join(sorted(chosen)) or "；".join(cleaned[-_JUDGED_CHARS:][one.start : one.end] for one in said)
    end = max(0, len(cleaned) - _JUDGED_CHARS) + said[-1].end
    return [Claim(0, end, JUDGED if chosen else UNSURE, text if chosen else quoted(text), "conclusion", chosen)]


_TEN = frozenset("ABCDEFGHIJ")


def _odd_ones(judged: dict[str, set[bool]], asked: Asked) -> Labels:
    """The right ones, or the wrong ones where these are asked for; of a single choice that one, if it is one."""
    right = frozenset(label for label, values in judged.items() if values == {True})
    wrong = frozenset(judged) - right
    if asked.several:
        return wrong if asked.wrong else right
    if asked.wrong is None and len(judged) > 2:
        return right if len(right) == 1 else wrong if len(wrong) == 1 else NO_LABELS
    chosen = wrong if asked.wrong else right
    return chosen if len(chosen) == 1 else NO_LABELS


_CIRCLED_OPTION = late(r"[①-⑩]\s*[^\s①-⑩][^①-⑩]{0,200}")
_QUOTED_LABEL = late(r"\s*[(（]?[A-J1-9①-⑩](?:\s?번)?[)）]?")
_NUMBERED_OPTION = late(r"([1-9])(?:\s?번\s?(?:[.．:：,，)）]|[-–—])|[.．)）])\s?\S[^\n]*")


def _is_label(line: str, asked: Asked) -> bool:
    """Whether a line is labels, be it of no option; numbers are values where options have letters."""
    labels = read_labels(line)
    return labels is not None and (asked.digits or not any(label.isdigit() for label in labels))


def _alone(cleaned: str, lines: list[str], asked: Asked) -> list[Claim]:
    """A line that is only labels, or the one option that is quoted on a line of its own; where all such lines agree."""
    method = "whole" if len(lines) == 1 else "line"

    def claim(said: str, labels: Labels, line: str = "") -> list[Claim]:
        start = max(0, cleaned.find(line or said))
        quoted_to = _QUOTED_LABEL.match(cleaned, start)
        end = quoted_to.end() if quoted_to and len(labels) == 1 else start + len(said)
        return [Claim(start, end, ONLY_LABELS, said, method, labels)]

    alone: dict[Labels, str] = {}
    for line in lines:
        labels = read_labels(as_list(line))
        if labels and (not asked.known or labels <= asked.known):
            alone.setdefault(labels, line)
    if len(alone) == 1:
        labels, line = next(iter(alone.items()))
        return claim(as_list(line), labels, line)
    if alone:
        return []
    if len(lines) == 1 and (_is_label(lines[0], asked) or (_CIRCLED_OPTION.fullmatch(lines[0]) and asked.digits)):
        return claim(lines[0], NO_LABELS)
    if len(lines) == 1 and (several := quoted_options(lines[0])) and not lists_options(lines[0]):
        return claim(", ".join(several), frozenset(several)) if frozenset(several) < asked.known else []
    form = OPTION_LINE if asked.known else _NUMBERED_OPTION
    quoted = {option[1]: line for line in lines if (option := form.fullmatch(line)) and not lists_options(line)}
    if asked.several and 1 < len(quoted) == len(lines) < len(asked.known) and asked.known >= set(quoted):
        return claim(", ".join(quoted), frozenset(quoted))
    if len(quoted) == 1 and (not asked.known or asked.known >= set(quoted)):
        label, line = quoted.popitem()
        return claim(line if len(lines) == 1 and label.isalpha() else label, frozenset(label), line)
    return []
