"""Option labels that a response commits to.

All commitments of a text are found on one cleaned copy of it, in which an answer tag is 〖…〗 and a box 〘…〙, so that
the last one can win whatever its form. Strong ones say that they are the answer; weak ones (a concluding sentence, a
line that is only labels) count when there is no strong one and they agree. A bare letter in prose is nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from livek12.core.records import Question
from livek12.judges.rules.labels import labelled_option, read_labels
from livek12.judges.rules.text import normal_form
from livek12.tasks.extraction.choice_forms import (
    CORRECTED,
    DIGIT_FORMS,
    EXPLICIT,
    FILLED,
    FINAL,
    FINALLY,
    FORMS,
    LOOSE,
    MARKED,
    NOUN_ZH,
    RIGHT_ONES_KO,
    WEAK,
)
from livek12.tasks.extraction.labelled import tabled_values
from livek12.tasks.extraction.regions import TextRegion, answer_tags, boxes, outside_of, tail
from livek12.tasks.extraction.remarks import (
    denied,
    doubted,
    is_correction,
    is_remark,
    retraction,
    settled,
    supposed,
)
from livek12.tasks.extraction.values import NOTHING, final_run, find_values

Found = tuple[list[str], str]
Labels = frozenset[str]
_TAIL_CHARS = 30_000

_REFUSAL = re.compile(
    r"(?:错误|不正确|不符|不成立|排除|不是|不对|不可能|不一定|不能|并非|incorrect|wrong|not|false|틀린|오답|않은)"
    r"[^。.．\n；;，,]{0,5}$",
    re.IGNORECASE,
)
_ASKS_WRONG = re.compile(
    r"错误|不正确|不符|不属于|不可能|不能|不合理|不是|不包括|不认同|为假|不宜|incorrect|not\b|false|except|wrong"
    r"|않|틀린|없는",
    re.IGNORECASE,
)
_ONLY_BLANKS = re.compile(r"[A-J](?:[^\S\n][A-J])+")
_OPEN_LIST = re.compile(r"(?:[\s,，、;；和与及&]|\band\b)+\Z")
_OPEN_CHARS = 80
_AMONG = re.compile(r"\s?(?:번\s?)?(?:중|가운데)|\s?(?:选项|项)?(?:之间|之中|中(?![点线位心]))")
_ASKED = re.compile(r"[^。.！!？?\n]{0,6}[？?]|\s*(?:呢|吗)")
_LIST_SIGN = re.compile(r"(?<=[A-J])\.(?=[A-J])|\s*[ㆍ・]\s*")
_LIST_GAP = re.compile(r"[$\s*.。,，、;；]*(?:[-•]|[(（]?\d{1,2}[.．、)）])?[$\s*]*")
_ABOUT_SOMETHING = re.compile(rf"\s*[A-J](?:\s+[a-z]{{2,}}|\s?[{NOUN_ZH}])")
_JUDGED = re.compile(
    r"(?<![A-Za-z])(?P<label>[A-J](?:(?>\s?[,，、和与及]?\s?)[A-J]){0,9})\s?(?:[.．、:：]\s?|选项|项)?\s?(?:的?说法|叙述)?\s?(?:是|为|均|都)?\s?"
    r"(?P<word>不正确|不符合题意|不对|错误|正确|符合题意|错|对)(?![应称])"
)
_WRONG_WORDS = frozenset(["不正确", "不符合题意", "不对", "错误", "错"])
_JUDGED_CHARS = 4_000
_ARTICLE = re.compile(r"\s+(?!(?:and|or|because|since|as|is|for|with|which|due|so|given|from|by)\b)[a-z]{2,}")
_MARKUP = re.compile(
    r"\\(?:text|textbf|textrm|mathrm|mathbf|mathit|boldsymbol|bm|rm|bf|displaystyle|quad|qquad|left|right)(?![a-zA-Z])"
    r"|\\[,;:! ()\[\]]|[{}$*`~\"“”「」]"
)
_JOINED = re.compile(r"\b((?i:options?|choices?|answers?))(?:\\?_){1,3}([A-J](?![A-Za-z0-9]))_{0,3}")
_BULLET = re.compile(r"(?<=\n)[^\S\n]{0,8}[-•+]\s(?=[(（]?[A-J](?![A-Za-z]))")
_QUOTED = re.compile(r"['‘’]([A-J①-⑩](?:번)?|[1-9]번?)['‘’]")
_NARROW = str.maketrans({chr(ord("Ａ") + index): chr(ord("A") + index) for index in range(26)})
_CIRCLED_OPTION = re.compile(r"[①-⑩]\s*[^\s①-⑩][^①-⑩]{0,200}")
_OPTION_LINE = re.compile(r"\s*[(（]?([A-J])[)）]?\s*(?:[.．:：]|、(?!\s*[A-J]))\s*\S[^\n]*(?:\n|$)")


def find_choice(text: str, question: Question, truncated: bool) -> Found:
    """The labels of the last commitment; else a value that it states, which the judges may match to an option."""
    known = known_labels(question)
    several = question.question_type == "multiple_choice"
    cleaned = settled(cleaned_text(text, several))
    found = _strong(cleaned, known, several, _asks_for_wrong(question))
    if found is not None and (quoted := _with_other_text(text, found[0], question)):
        return [quoted], found[1]
    if found is None and not truncated:
        asked_for_wrong = not several and (not question.question or _asks_for_wrong(question))
        found = (_judged(cleaned, question) if several else None) or _weak(cleaned, known, asked_for_wrong, several)
        found = found or _judged(cleaned, question)
    if found is not None and several and truncated and found[1] == "phrase":
        found = (
            None if _OPEN_LIST.sub("", cleaned[-_OPEN_CHARS:]).endswith(found[0]) else found
        )  # the next letter may be cut off
    if found is not None:
        return [found[0]], found[1]
    if (tabled := tabled_values(tail(text), 1)) and read_labels(tabled[0]):
        return tabled, "labelled"
    values, method = find_values(text, question, truncated, committed_only=not any(o.text for o in question.options))
    if values and _ABOUT_SOMETHING.match(values[0]) and values[0].strip() not in {o.text for o in question.options}:
        return NOTHING
    return [_option_in(value) for value in values], method


def _option_in(value: str) -> str:
    r"""An option quoted with its label, without mark-up ("\text{C) } 7"); any other value as it is."""
    plain = " ".join(_MARKUP.sub("", value).split())
    return plain if "\\" in value and len(value) <= 400 and labelled_option(plain) else value


def _with_other_text(text: str, label: str, question: Question) -> str | None:
    """Label and text where one of the last lines writes another option's text behind the label; else None."""
    texts = {normal_form(option.text): option.label for option in question.options if option.text.strip()}
    if len(texts) < 2 or len(label) != 1:
        return None
    for line in [line for line in tail(text).splitlines() if line.strip()][-_LAST_LINES:]:
        quoted = list(re.finditer(rf"(?<![A-Za-z]){re.escape(label)}\s*[.．、:：)）]\s*(?=\S)", line))
        behind = line[quoted[-1].end() :][:400] if quoted else ""
        if texts.get(normal_form(behind), label) != label:
            return f"{label}. {behind.strip()}"
    return None


_LAST_LINES = 3


def known_labels(question: Question) -> Labels:
    """The labels that count; empty where all do (a Korean question whose options stand in its text)."""
    known = frozenset(label for option in question.options for label in read_labels(option.label) or ())
    return known or (frozenset() if question.language == "ko" else frozenset("ABCDEFGHIJ"))


def _asks_for_wrong(question: Question) -> bool:
    return bool(_ASKS_WRONG.search(question.question))


def cleaned_text(text: str, several: bool) -> str:
    """The end of the text without mark-up, with its boxes and answer tags marked."""
    tags = answer_tags(text)
    outside = outside_of(tags, boxes(text))
    listed = _listed(text, outside) if several else []
    run = listed or final_run(text, outside)
    if len(run) > 1 and all(read_labels(box.content) for box in run):
        together = "".join((", " if listed else text[a.end : b.start]) + b.content for a, b in pairwise(run))
        outside[-len(run) :] = [TextRegion(run[0].start, run[-1].end, run[0].content + " " + together)]
    pieces: list[str] = []
    tagged = {tag.start for tag in tags}
    position = 0
    for region in sorted([*tags, *outside], key=lambda region: region.start):
        inner = boxes(region.content)
        content = (inner[-1].content if inner else region.content)[:400].replace("\n", " ")
        pieces += [text[position : region.start], f"〖{content}〗" if region.start in tagged else f"〘{content}〙"]
        position = max(position, region.end)
    pieces.append(text[position:])
    plain = _MARKUP.sub("", _JOINED.sub(r"\1 \2", "".join(pieces)[-_TAIL_CHARS:])).translate(_NARROW)
    plain = _BULLET.sub("", plain)
    return _squeezed(tail(_QUOTED.sub(r"\1", plain)))


def _squeezed(text: str) -> str:
    """The text with single spaces and without empty lines: no pattern has to try the ways to split a wide gap."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if not line.isspace() and line)


def _listed(text: str, found: Sequence[TextRegion]) -> list[TextRegion]:
    """The last boxes where each holds one other letter and only numbers of a list stand between them."""
    run = list(found[-1:])
    for after, before in pairwise(reversed(found)):
        if not _LIST_GAP.fullmatch(text[before.end : after.start]):
            break
        run.insert(0, before)
    labels = [read_labels(box.content) for box in run]
    singles = [next(iter(label)) for label in labels if label is not None and len(label) == 1]
    return run if len(run) > 1 and len(set(singles)) == len(run) else []


@dataclass(frozen=True)
class Commitment:
    """Where a text commits to labels, how strongly, in which words; no labels where it offers several."""

    start: int
    end: int
    rank: int
    said: str
    method: str
    labels: Labels


def _strong(cleaned: str, known: Labels, several: bool, asked_for_wrong: bool) -> tuple[str, str] | None:
    """Text and method of the explicit commitment that holds: the last one that is no weaker and no remark."""
    digits = not known or any(label.isdigit() for label in known)
    best: Commitment | None = None
    for new in sorted(commitments(cleaned, known, several, digits, asked_for_wrong), key=lambda found: found.end):
        if best is None or (new.labels == best.labels and new.rank > best.rank):
            best = new
        elif new.rank < MARKED and is_remark(cleaned, new.start, new.end):
            continue
        elif new.rank >= best.rank or is_correction(cleaned[best.end : new.start]):
            best = new
    if best is None:
        return None
    if best.rank < CORRECTED and (taken_back := retraction(cleaned, best.end)) is not None:
        return cleaned[best.start : taken_back + 100].strip(), best.method
    if doubted(cleaned, best.end):
        return cleaned[best.start : best.end + 100].strip(), best.method
    return best.said, best.method


def commitments(
    cleaned: str, known: Labels, several: bool, digits: bool, asked_for_wrong: bool
) -> Iterator[Commitment]:
    """All explicit commitments to known labels, or to none of those offered ("A or B")."""
    right_ones = [(LOOSE, RIGHT_ONES_KO)] if digits and not asked_for_wrong else []
    for rank, pattern in [*FORMS, *(DIGIT_FORMS if digits else []), *right_ones]:
        for match in pattern.finditer(cleaned):
            groups = match.groupdict()
            if "content" in groups:
                said, method = match["content"], "answer_tag" if match["open"] == "〖" else "boxed"
                labels = frozenset() if _offers_several(said) else read_labels(said)
                if supposed(cleaned, match.start(), match.end()):
                    continue
            else:
                said, method = _LIST_SIGN.sub(", ", match["run"]) + (match["or"] or ""), "phrase"
                labels = _labels_in_prose(cleaned, match)
                if several and labels:
                    said = _with_following_lines(cleaned, match.start("run"), said)
                elif labels and len(labels) > 1 and _ONLY_BLANKS.fullmatch(said):
                    said, labels = cleaned[match.start() : match.end() + 20], frozenset()
            if labels is None or (known and not labels <= known):
                continue
            final = rank == EXPLICIT and FINALLY.search(cleaned[max(0, match.start() - 10) : match.start("run")][:10])
            strength = FINAL if final else rank
            yield Commitment(match.start(), match.end(), strength, said.strip(), method, labels)


def _labels_in_prose(cleaned: str, match: re.Match[str]) -> Labels | None:
    """The labels of a match in running text; None when refused, asked or an article, none after "or"."""
    if match.re not in FILLED and _REFUSAL.search(cleaned[max(0, match.start() - 12) : match.start("run")]):
        return None
    if match["run"].strip() == "A" and _ARTICLE.match(cleaned, match.start("run") + len(match["run"].rstrip())):
        return None
    if _AMONG.match(cleaned, match.end()) or _lists_options(cleaned, match.start("run")):
        return None
    if _ASKED.match(cleaned, match.end()) or denied(cleaned, match.start("run"), match.end()):
        return None
    return frozenset() if match["or"] else read_labels(_LIST_SIGN.sub(", ", match["run"]))


def _lists_options(cleaned: str, start: int) -> bool:
    """Whether the options are listed from there on, each with its text ("A) 3, B) 5"): they are told, not chosen."""
    return _OPTIONS.match(cleaned, start) is not None


_OPTIONS = re.compile(
    r"[(（]?A[)）.．:：、]\s?(?![A-J](?:[,，、.。\s]|\Z))[^\n]{1,200}?[ ,，;；]"
    r"(?:and\s|(?:option|choice)\s)?[(（]?B[)）.．:：、]\s?\S"
    r"|[(（]?A[)）.．:：、]\s?[^\n]{1,300}\n(?:option\s|choice\s|选项\s?)?[(（]?B[)）.．:：、]\s?[^\n]{1,300}\n(?:option\s|choice\s|选项\s?)?[(（]?C[)）.．:：、]",
    re.IGNORECASE,
)


def _offers_several(said: str) -> bool:
    """Whether a committed text offers labels to choose from ("A or B")."""
    pieces = re.split(r"或者?|\bor\b|또는", said)
    return len(pieces) > 1 and all(read_labels(piece) for piece in pieces)


def _with_following_lines(cleaned: str, position: int, said: str) -> str:
    """With the labels of directly following lines "C. …", "D. …" where the commitment began such a list."""
    labels: list[str] = []
    while line := _OPTION_LINE.match(cleaned, position):
        labels.append(line[1])
        position = line.end()
    return ", ".join(labels) if len(labels) > 1 and len(set(labels)) == len(labels) else said


def _judged(cleaned: str, question: Question) -> tuple[str, str] | None:
    """The right ones where every option is called right or wrong, once; all of it where that is not what is asked."""
    verdicts: dict[str, set[bool]] = {}
    said = list(_JUDGED.finditer(cleaned[-_JUDGED_CHARS:]))
    for match in said:
        for label in read_labels(match["label"]) or ():
            verdicts.setdefault(label, set()).add(match["word"] not in _WRONG_WORDS)
    known = {label for option in question.options for label in read_labels(option.label) or ()}
    if set(verdicts) != (known or set("ABCD")) or any(len(values) > 1 for values in verdicts.values()):
        return None
    right = sorted(label for label, values in verdicts.items() if values == {True})
    several = question.question_type == "multiple_choice"
    if _asks_for_wrong(question) or not right or (len(right) > 1 and not several):
        return "；".join(match[0] for match in said), "conclusion"
    return ", ".join(right), "conclusion"


def _weak(cleaned: str, known: Labels, asked_for_wrong: bool, several: bool) -> tuple[str, str] | None:
    """Labels of a concluding sentence, of label-only lines, or of the one option quoted on a line of its own.

    Only when all of a kind agree. Where the question asks for the wrong option, "the wrong one is C" concludes too.
    """
    lines = [line.strip() for line in cleaned.splitlines() if line.strip()]
    for ending in (lines[-1:], lines[-2:], lines[:1]):
        concluded = _agreed(_concluded("\n".join(ending), asked_for_wrong), known)
        if concluded:
            return (concluded[0][0], "conclusion") if len(concluded) == 1 else None
    method = "whole" if len(lines) == 1 else "line"
    alone = _agreed(((read_labels(line), line) for line in lines), known)
    if len(lines) == 1 and not alone and read_labels(lines[0]):
        return lines[0], method
    if len(lines) == 1 and _CIRCLED_OPTION.fullmatch(lines[0]) and (not known or known & set("12345")):
        return lines[0], method
    quoted = {option[1]: line for line in lines if (option := _OPTION_LINE.fullmatch(line))}
    if several and 1 < len(quoted) == len(lines) < len(known) and known >= set(quoted):
        return ", ".join(quoted), method
    if not alone and len(quoted) == 1 and known >= set(quoted):
        label, line = quoted.popitem()
        return (line if len(lines) == 1 else label), method
    return (alone[0][0], method) if len(alone) == 1 else None


def _concluded(ending: str, asked_for_wrong: bool) -> Iterator[tuple[Labels | None, str]]:
    for match in (match for pattern in WEAK for match in pattern.finditer(ending)):
        plain = asked_for_wrong and not match["or"]
        yield read_labels(match["run"]) if plain else _labels_in_prose(ending, match), match["run"].strip()


def _agreed(said: Iterable[tuple[Labels | None, str]], known: Labels) -> list[tuple[str, Labels]]:
    """The different sets of known labels among what is said, each with its first text."""
    found: dict[Labels, str] = {}
    for labels, text in said:
        if labels and (not known or labels <= known):
            found.setdefault(labels, text)
    return [(text, labels) for labels, text in found.items()]
