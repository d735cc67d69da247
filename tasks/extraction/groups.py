"""The choices of several sub-questions in one response: one label each, in their order, or the whole text."""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.core.records import Question
from livek12.judges.rules.labels import label_sequence
from livek12.tasks.extraction.choices import find_choice
from livek12.tasks.extraction.claims import Asked, Claim, marked_claims
from livek12.tasks.extraction.cleaned import cleaned_text
from livek12.tasks.extraction.labelled import labelled_parts, tabled_values
from livek12.tasks.extraction.regions import tail
from livek12.tasks.extraction.remarks import is_remark, settled
from livek12.tasks.extraction.stated import NOTHING, Found
from livek12.tasks.extraction.substance import says_nothing


def find_choices(text: str, question: Question, truncated: bool, count: int) -> Found:
    """One choice for each of several sub-questions: by their numbers or labels, or as many commitments as there are.

    Else the whole text, for a reader.

    Args:
        text: the response without its thinking.
        question: its options are used; its key is not.
        truncated: whether the response was cut off.
        count: how many sub-questions there are.
    """
    if numbered := _numbered(cleaned_text(text, False), count):
        return numbered, "labelled"
    if (tabled := tabled_values(tail(text), count)) and all(len(label_sequence(value)) == 1 for value in tabled):
        return tabled, "labelled"
    one = question.model_copy(update={"answer": question.answer[:1]})
    commitment = _last_commitment(text)
    for parts in (labelled_parts(tail(commitment), count), labelled_parts(tail(text), count), _sections(text, count)):
        listed = [find_choice(part, one, truncated or len(part) > _SHORT)[0] for part in parts]
        if listed and all(listed):
            return [found[0] for found in listed], "labelled"
    said = _strong_ones(settled(cleaned_text(text, False)), Asked.of(question))
    single = [label_sequence(found.said)[0] for found in said if len(found.labels) == 1]
    sums = [labels for found in said if len(labels := label_sequence(found.said)) == count]
    if len(single) == count or (not single and sums):
        chosen = single or sums[-1]
        if not sums or sums[-1] == chosen:
            return chosen, "phrase"
    return ([text.strip()], "whole") if text.strip() and not says_nothing(text, question) else NOTHING


_NUMBERED = late(
    r"(?<![\d.])(?P<first>\d{1,3})\s?"
    r"(?:[-—–~～至]\s?(?P<last>\d{1,3})\s?[.、．:：)]?\s?(?P<row>[A-J](?:[ ,，、]?[A-J])+)"
    r"|(?:[.、．:：)]\s?(?:故?选|答案[为是:：]?)?|\s?答案[为是:：]?)\s?(?P<one>[A-J]))(?![A-Za-z])"
    r"(?!\s?(?:选项|项)?\s?(?:是|为)?(?:错|不正确|正确|不对|对|wrong|incorrect|correct|false|true))"
)


def _numbered(cleaned: str, count: int) -> list[str]:
    """The letters behind as many numbers in a row ("21. B 22. C", "36-40 EBACD"), whatever the first; else none."""
    letters: list[str] = []
    expected = 0
    for match in _NUMBERED.finditer(cleaned):
        found = [char for char in match["one"] or match["row"] if char.isalpha()]
        first, last = int(match["first"]), int(match["last"] or match["first"])
        if last - first + 1 != len(found):
            continue
        letters = letters + found if first == expected else found
        expected = last + 1
    return letters if len(letters) == count else []


def _sections(text: str, count: int) -> list[str]:
    """What stands behind the last headings numbered in a row ("【32题详解】 … 【33题详解】 …"), whatever the first."""
    marks = list(_SECTION.finditer(text))[-count:]
    numbers = [int(mark[1] or mark[2]) for mark in marks]
    if len(marks) < count or numbers != list(range(numbers[0], numbers[0] + count)):
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]


_SECTION = late(
    r"【\s?(?:第\s?)?(\d{1,3})\s?(?:小?题)[^】\n]{0,6}】"
    r"|^[#* ]{0,6}(?:第|问题|(?i:question)\s)?\s?(\d{1,3})\s?(?:题|[.．、:：])",
    re.MULTILINE,
)
_SHORT = 80
"""In a longer text on one sub-question only explicit commitments count."""


def _last_commitment(text: str) -> str:
    """What follows the last "the answers are"."""
    said = list(_ANSWERS.finditer(text))
    return text[said[-1].end() :] if said else ""


def _strong_ones(cleaned: str, asked: Asked) -> list[Claim]:
    """The explicit claims in their order, each once."""
    kept: list[Claim] = []
    for found in sorted(marked_claims(cleaned, asked), key=lambda claim: claim.end):
        if kept and found.start < kept[-1].end:
            kept[-1] = max(kept[-1], found, key=lambda one: one.strength)
        elif not is_remark(cleaned, found.start, found.end):
            kept.append(found)
    return kept


_ANSWERS = late(r"答案(?:分别|依次)?(?:为|是|如下)?[:：]|(?i:answers?(?:\s+are)?\s*:)|정답(?:은)?\s*[:：]?")
