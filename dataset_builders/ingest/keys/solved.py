"""Keys of solved papers: what a paper with its answers prints beyond the paper itself.

Contract: a question has a key only if most of its text is in the solved paper. What fills a blank or an empty bracket
is the answer; what stands elsewhere, mostly below, is the solution.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from livek12.core.records import IMAGE_MARK
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.entries import Entry, split_answered
from livek12.dataset_builders.ingest.pages.atoms import ideographic
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks
from livek12.dataset_builders.ingest.pages.formulas import BLANK
from livek12.dataset_builders.ingest.questions.headings import SOLUTION_HEAD
from livek12.dataset_builders.ingest.questions.segment import Segment, segment
from livek12.dataset_builders.ingest.questions.stream import flatten
from livek12.dataset_builders.ingest.questions.texts import Text, compose

_TOKEN: Final = re.compile(r"__+|\\[A-Za-z]+|[A-Za-z]+|\d+(?:\.\d+)?|[^\s$]")
_COPIED, _MOST, _FEWEST_TOKENS = 0.8, 0.5, 5
"""Share of a question's tokens that its copy has; share of the questions of a solved paper; tokens of a question."""
_LONGEST: Final = 5000
"""Tokens compared: beyond these a question is none."""
_REMARK: Final = 2
"""Tokens of another wording, which is no solution."""
_FORMULA: Final = re.compile(r"[\\^]|_\{?\w|[=<>+]")
_OPEN, _CLOSED = "(（", ")）"
_BRACKETED: Final = re.compile(r"[(（]?\s*((?<=[(（ ])[A-H]+|[A-HTF]|[√×✓✗]|(?<=[(（ ])[xX]|\$\\sqrt\$)\s*[)）]?")
"""An answer that is all of a line or bracket."""


def solved_entries(drafts: Sequence[Draft], pages: Sequence[PageBlocks], name: str) -> list[Entry]:
    """Keys of a paper's questions; none if the pages are no copy of it."""
    stream = flatten(pages)
    texts = _by_number([(s, compose(s.items, stream.columns, s.end)) for s in segment(stream).segments])
    entries = []
    for draft in drafts:
        copy = texts.get((draft.elective, draft.number)) or texts.get(("", draft.number))
        if copy and (parts := _difference(draft.markdown, copy.text)):
            answer, solution = parts
            entry = Entry(int(draft.number), answer, solution=solution or None, elective=draft.elective, where=name)
            drawn = bool(solution) and copy.text.count(IMAGE_MARK) > draft.markdown.count(IMAGE_MARK)
            entries.append(replace(entry, unread=drawn or (copy.unread and bool(_FORMULA.search(answer)))))
    return entries if len(entries) > max(1, _MOST * len(drafts)) else []


def _by_number(copies: Sequence[tuple[Segment, Text]]) -> Mapping[tuple[str, str], Text]:
    """A doubled number has none."""
    keys = [(copy.elective, str(copy.number)) for copy, _ in copies]
    return {key: text for key, (_, text) in zip(keys, copies, strict=True) if keys.count(key) == 1}


def _difference(question: str, copy: str) -> tuple[str, str] | None:
    """Answer and solution that a copy has beyond its question; None for no copy."""
    ours, theirs = list(_TOKEN.finditer(question)), list(_TOKEN.finditer(copy))
    words, others = ([_plain(match[0]) for match in matches] for matches in (ours, theirs))
    if not _FEWEST_TOKENS <= len(words) <= _LONGEST or len(others) > _LONGEST:
        return None
    compared = SequenceMatcher(None, words, others, autojunk=False)
    words_asked = sum(word != BLANK for word in words)
    if sum(block.size for block in compared.get_matching_blocks()) < _COPIED * words_asked:
        return None
    answers: list[str] = []
    new: set[int] = set()
    for place, end, begin, stop in _additions(compared, words):
        text = copy[theirs[begin].start() : theirs[stop - 1].end()].replace(IMAGE_MARK, "").strip()
        fills = BLANK in words[max(0, place - 1) : end + 1] or _in_bracket(words, place, end)
        if label := _BRACKETED.fullmatch(text.strip("_ ")):
            answers.append(label[1])
        elif fills and (end < len(words) or "\n" not in text):
            answers.append(_as_formula(text.strip("_ \n")))
        else:
            new.update(range(begin, stop))
    for block in compared.get_matching_blocks():  # a few words in a solution that the question has too, by chance
        if block.size < _FEWEST_TOKENS and {block.b - 1, block.b + block.size} <= new:
            new.update(range(block.b, block.b + block.size))
    worked = []
    for text in _new_lines(copy, theirs, new):
        if label := _BRACKETED.fullmatch(text):
            answers.append(label[1])
            continue
        _, answer, solution = split_answered(f"\n{text}")
        answers += [answer] if answer else []
        worked.append((solution or "") if answer else SOLUTION_HEAD.sub("", f"\n{text}", count=1).strip())
    if any(answer.count("\n") > 1 or SOLUTION_HEAD.search(answer) for answer in answers):
        answers, worked = [], [*answers, *worked]  # the solution repeats the question's end
    return "; ".join(filter(None, answers)), "\n".join(filter(None, worked))


def _new_lines(copy: str, tokens: Sequence[re.Match[str]], new: Set[int]) -> list[str]:
    """Runs of lines that are mostly new, whole, and what is new at the ends of others."""
    runs: list[str] = []
    follows = False
    for line in re.finditer(r"[^\n]+", copy):
        own = [place for place, token in enumerate(tokens) if line.start() <= token.start() < line.end()]
        old = [place for place in own if place not in new]
        tail = [place for place in own if not old or place > old[-1]]
        if 2 * len(old) < len(own):
            text = line[0].replace(IMAGE_MARK, "").rstrip()
        elif len(tail) > _REMARK:
            text = copy[tokens[tail[0]].start() : line.end()].strip()
            text = f"${text}" if text.count("$") % 2 else text
        else:
            follows = follows and not own
            continue
        runs[len(runs) - follows :] = [f"{runs[-1]}\n{text}" if follows else text]
        follows = True
    return runs


def _additions(compared: SequenceMatcher[str], words: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Places and ends of what is added to a question, or fills its blanks: there and in the copy."""
    for kind, place, end, begin, stop in compared.get_opcodes():
        if kind == "insert" or (
            kind == "replace" and (set(words[place:end]) <= {BLANK} or stop - begin > 2 * (end - place))
        ):
            yield place, end, begin, stop


def _plain(token: str) -> str:
    return BLANK if token.startswith("__") else token


def _in_bracket(words: Sequence[str], place: int, end: int) -> bool:
    return place > 0 and end < len(words) and words[place - 1] in _OPEN and words[end] in _CLOSED and place == end


def _as_formula(text: str) -> str:
    """A piece of a formula between its dollars."""
    bare = " ".join(text.replace("$", " ").split())
    if _FORMULA.search(bare) and not any(map(ideographic, bare)):
        return f"${bare}$"
    return bare if text.count("$") % 2 else text.strip()
