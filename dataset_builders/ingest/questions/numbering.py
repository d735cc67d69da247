"""Numbers of questions: the best consistent run of numbers.

Contract: numbers go up by one; a gap, a step back or an indented line costs, so that a list of statements within a
question does not look like questions. Dynamic programming over all candidates.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from livek12.core.scripts import both_scripts, chinese_number
from livek12.core.text import squeezed
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.questions.headings import CONTINUED, begins_answer, is_section
from livek12.dataset_builders.ingest.questions.kinds import asks, section_type
from livek12.dataset_builders.ingest.questions.points import all_each, says_worth
from livek12.dataset_builders.ingest.questions.stream import OF_OPTIONS, Item

MAX_CANDIDATES = 2500
"""Looked at, a style; the search is quadratic in them."""
MAX_NUMBER = 200
_NUMERAL = "(?:[一二三四五六七八九]|[一二三]?十[一二三四五六七八九]?)"
_HEAD = (
    r"\s*+(?:[(（]\s*+[)）]\s*+|(?:_++|[^\w\s])\s{3,}+)?(?P<open>[^\w\s$]{0,2}?\s*+)(?P<word>第|题|문\s+제|"
    r"(?:(?:[^\W\d_①-⓿❶-➓]|□){1,15}[\s.#-]{0,2}){0,3}?)\s*+(?P<number>%s)(?!\d)(?:\sof\s\d{1,3}\b)?(?P<close>\s?[题번]\s?[.．:：、，,）)—–-]{0,2}"
    r"|\s?[^\w\s$(（\[【“‘\"'□_+=*/<>\\–—-]{0,2})(?!\s*[~～%%]|(?<![.．、])\s?[-–—]\s?\d|[-–—]\s?\d|%s)(?P<next>\s*)"
)
_FORMS = [
    both_scripts(_HEAD % (number, CONTINUED))
    for number in (r"\d{1,3}", r"(?:[A-Z](?![a-z])|\d{1,2}(?:[.．]|\s?-\s?))\d{1,3}", _NUMERAL)
]
"""A number at the beginning of a line, alone or behind its level; signs and words before, and signs behind it."""
_OPENS = re.compile(r"[^(（\[【〖〔]")
_CLOSE = both_scripts(r"^[\s.．、。,，:：;；)）\]】〗〕»›†‡*’'题번]*")
_LABELLED = re.compile(r"[A-Ha-h]\.\s|Answers? (?:of|to|for)\s", re.IGNORECASE)
"""Words before a number that is an option's, or that of a question that has begun."""
_NAME = re.compile(r"[a-z]{2,15}")
"""The name of a variable before its number, temp1, has no space behind it."""
_SHORT_NAME = re.compile(r"\W*[A-Z]{1,3}\d")
"""The name of a type before its number, MC1."""
_GRID = re.compile(r"(?:[\s\d.．、)）]*(?:[A-HＡ-ＨⒶ-Ⓗ①-⑩○◯□](?![\w.．、)）]))){3,}[\s\d.．、)）]*")
"""Behind the number of a row to tick; options that are pictures have signs behind their letters."""
_OF_TITLES = ("", "", True, False)
_UNDELIMITED, _LEAST, _SIGNED = 0.7, 0.2, 0.8
"""Remaining weight of a number with nothing behind it, and of a form that counts nothing, without and with a sign."""
_NAMED = both_scripts(r"ques(?:ti|□)on|problem|문\s*[제항]|(?<!命)[題题問问]", re.IGNORECASE)
"""A word that names a question."""
_POINTS = re.compile(r"^[\s，,、:：]*[(（]?[^()（）]{0,8}\d+\s*分[)）]?")
_SEVERAL = both_scripts(r"(?:每|各|\d\s*[)）]?\s*)小?题|下列各题|^\s*[一二三四五六七八九十]{1,2}\s*(?:选择|填空|判断)")
_OF_ONE = both_scripts("本题|(?:解答|计算|证明|应用|分析|作图|论述)题")
_GIVES = both_scripts(r"设|已知|[求试]|证明|[?？]|[。.]\s*$")
_TO_FILL = re.compile(r"_{3}|[(（]\s*[)）]")
_ANNOUNCES = re.compile(r"(?:[:：]|following|下列.{0,8}|以下.{0,8}|다음.{0,8})\s*$", re.IGNORECASE)
"""The end of a line before a list."""
_LIST_HEAD = re.compile(rf"{_ANNOUNCES.pattern}|^\s*[\[【<][^\[\]]{{2,12}}[\]】>]\s*$", re.IGNORECASE)
"""A line before a list, or its name in brackets."""
_BONUS = both_scripts(r"\s*(?:[A-Z]\$?1\W{1,6}?[.．:]\s|Bonus\b|Extra[- ]Credit\b|附加题|加分题|보너스)", re.IGNORECASE)
_FEWEST_ALIKE = 3
"""Heads that make a form."""
_LISTED, _MOST_LISTED = 6, 0.6
"""Neighbouring lines that go up by one, and the share of them that is bare or code: those of a listing."""
_CODE = re.compile(r"[;{}]\s*$|^\W?\d+\W*(?:#include\b.*)?$")
"""A line of a program, or an empty one with its number."""
_AGAIN = 0.25
"""Weight against a column of numbers for each that comes again in it."""
_ALL_PAGES = 2
_LEVEL = 0.012
"""Largest distance of numbers in one column, of the page's width."""
_ENDED = re.compile(r"(?:[.。．!?！？;；:：)）\]】_]|____)\s*$")
_RIGHT, _SHORT = 0.3, 12
"""Of the page's width from the left edge of its column: a number that begins there is a mark, in a line so short."""
_WRAPPED, _FULL = 0.3, 0.2
"""Remaining weight of a number that may be part of a sentence; share of a paragraph's width that its full
lines may lack."""
_COLUMN = 0.25
"""Of the page's width: narrower paragraphs are short lines, as keys have them, not full ones."""
_SURE = 1.0
"""Least weight of a number that is almost surely a question's."""
_LETTERED = re.compile(r"\s*(?:(?:Problem|Task|Question)\s+([A-Z])\b\s?[:：.．]?|([A-Z])\s?[:：.．](?=\s+\S))")
"""The letter of a question that has its own pages: "A: Title", "Problem A"."""
_STRAY, _FEWEST_ROUND = 2, 8
"""Numbers in brackets, (3), are parts where others number the questions, unless a run of them is so much longer."""
_RESTART = 4.5
"""Cost of going back: more than a short list of statements brings."""
_GAP, _WIDEST, _FAR = 0.5, 1.2, 12
"""Largest cost of a missing number, and how many may be missing: less than a question at the margin weighs."""


@dataclass(frozen=True)
class Anchor:
    """A line that begins a question.

    Attributes:
        place: index of the item.
        end: of the number in the line's text.
        run: from 0, one more each time the numbers go back.
        stray: its number does not go on from the last, in its form.
        label: of several levels, 2-1.
        part: the type that it counts, 서답형.
        guess: why it may be no head.
    """

    place: int
    number: int
    end: int
    run: int = 0
    stray: bool = False
    label: str = ""
    part: str = ""
    guess: str = ""


@dataclass(frozen=True)
class _Candidate(Anchor):
    weight: float = 0.0
    announced: bool = False
    level: int = 0
    shape: str = ""


_Heads = Sequence[_Candidate]
_Kind = tuple[str, str, bool, bool]
"""Brackets, word, Chinese numerals, levels."""


@dataclass(frozen=True)
class _Series:
    """Numbers of one form and the best run of them, and its value as the questions of the paper."""

    kind: _Kind
    candidates: list[_Candidate]
    run: list[_Candidate] = field(default_factory=list)
    value: float = 0.0
    question: bool = False
    section: bool = False


def anchors(
    items: Sequence[Item],
    starts: Sequence[int] = (),
    without: Collection[int] = (),
    sections: Sequence[int] = (),
    strays: bool = False,
) -> list[Anchor]:
    """The lines that begin questions; `starts` begin parts, and `strays` are also those whose numbers do not go on."""
    forms = _candidates(items, without)
    every = [_valued(items, _Series(kind, some), starts, sections) for kind, some in forms.items()]
    series = sorted((each for each in every if each.kind != _OF_TITLES), key=lambda each: -each.value)
    best = series[0] if series else _Series(_OF_TITLES, [])
    best = next((each for each in series if each.value > 0 and not each.section and _is_below(best, each)), best)
    others = [each for each in series if each is not best]
    if not (run := _titles_that_ask(items, forms.get(_OF_TITLES, []), best.run)):
        alike = [head for each in others if each.kind[:3] == best.kind[:3] for head in each.candidates]
        tops = {place for place, (a, b) in enumerate(pairwise(items), 1) if a.box.page < b.box.page}
        alike += [head for head in best.candidates if head.place in tops]
        run = _with_others(best.run, [head for head in alike if head.number == 1 or not head.level])
        run = _completed(items, run, best.candidates) if strays else run
    weak = best.kind[0] or (best.kind[1] and not best.question) or len(run) < _FEWEST_ALIKE
    run = (_unnumbered(items, run, sections) if weak else []) or run
    more = [*_of_own_form(items, run, sections, gaps=strays), *_of_types(items, run, others)]
    return _with_runs(sorted([*run, *more], key=lambda head: head.place))


def on_own_pages(items: Sequence[Item], run: Sequence[Anchor]) -> list[Anchor]:
    """Questions A, B, C … that begin pages, if each asks, and below most of them no number of the run does."""
    heads: list[Anchor] = []
    for place, item in enumerate(items):
        match = _LETTERED.match(item.text) if not place or items[place - 1].box.page < item.box.page else None
        letter = (match[1] or match[2]) if match else ""
        if match and letter == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(heads) :][:1]:
            guess = f"its letter, {letter}, was taken for a number, as it begins a page: compare its end and tables"
            heads.append(Anchor(place, len(heads) + 1, match.end(), label=letter, guess=guess))
    pieces = [*pairwise([*(head.place for head in heads), len(items)])]
    below = [[*pairwise([*(a.place for a in run if start < a.place < end), end])] for start, end in pieces]
    numbered = sum(any(asks_something(items[start:end]) for start, end in own) for own in below)
    asking = all(asks_something(items[start:end]) for start, end in pieces)
    return heads if len(heads) >= _FEWEST_ALIKE and asking and 2 * numbered < len(heads) else []


def _of_types(items: Sequence[Item], run: _Heads, others: Sequence[_Series]) -> Iterator[_Candidate]:
    """Heads that name a type, 서답형 1, counted from 1 on behind one of the run, each of which asks.

    Heads of a short name with points, MC1 (2pts), are some too if that one of the run asks nothing.
    """
    places = [head.place for head in run]
    for each in others:
        short = each.question and _SHORT_NAME.match(items[each.candidates[0].place].text)
        own = each.candidates if short or section_type(each.kind[1]) else []
        if not (run and own and [head.number for head in own] == [*range(1, len(own) + 1)]):
            continue
        at = bisect(places, own[0].place)
        if (
            at
            and not section_type(each.kind[1])
            and any(asks(item.text) for item in items[places[at - 1] : own[0].place])
        ):
            continue
        pieces = [items[a:b] for a, b in pairwise([*(head.place for head in own), [*places, len(items)][at]])]
        if at and len(own) > 1 and at == bisect(places, own[-1].place) and all(map(asks_something, pieces)):
            yield from (replace(head, part=each.kind[1]) for head in own)
            places = sorted([*places, *(head.place for head in own)])


def _of_own_form(items: Sequence[Item], run: _Heads, sections: Sequence[int], gaps: bool) -> Iterator[_Candidate]:
    """Heads of another form, each of which asks, in a section without heads, a gap of the run, or below one of several.

    Numbers in brackets, (1) or 1), are parts, unless the section's title speaks of several.
    """
    places = [head.place for head in run]
    titles = [place for place in sections if not _NAMED.match(items[place].text)]  # a question may have a heading
    stretches = [
        (title, end, 1, MAX_NUMBER)
        for title, end in pairwise([*titles, len(items)])
        if run and bisect_left(places, title) == bisect_left(places, end)
    ]
    stretches += [
        (a.place, b.place, a.number + 1, b.number - 1)
        for a, b in pairwise(run if gaps else ())
        if not (a.label or b.label) and 1 < b.number - a.number <= _FAR
    ]
    ends = [*places[1:], len(items)]
    typed = [
        _is_of_several(items[head.place].text[head.end :]) and section_type(items[head.place].text) for head in run
    ]
    stretches += [(a, b, 1, MAX_NUMBER) for a, b, own in zip(places, ends, typed, strict=bool(run)) if own]
    for begin, end, first, last in stretches:
        own = [replace(head, place=head.place + begin + 1) for head in anchors(items[begin + 1 : end])]
        pieces = [items[a:b] for a, b in pairwise([*(head.place for head in own), end])]
        counted = [head.number for head in own] == [*range(first, first + len(own))]
        several = first == 1 and (_is_of_several(items[begin].text) or all_each(items[begin].text))
        parts = own and re.match(r"[(（]|\d+\s?[)）]", items[own[0].place].text) and not several
        whole = len(own) == last - first + 1 if first > 1 else len(own) > 1
        if whole and counted and not parts and all(map(asks_something, pieces)):
            yield from (_Candidate(head.place, head.number, head.end, stray=first > 1) for head in own)


def _unnumbered(items: Sequence[Item], run: _Heads, sections: Sequence[int]) -> list[_Candidate]:
    """Questions that stand between the answers of a paper: almost all ask, and few have numbers of the run."""
    places = [place for place, item in enumerate(items) if begins_answer(item.text)]
    above = max((place for place in sections if place < min(places, default=0)), default=-1)
    between = [(a, b) for a, b in pairwise([above, *places]) if a + 1 < b]
    near, apart = [a + 1 for a, _ in between], [_apart(items, a, b) for a, b in between]
    begins = near if 2 * sum(map(int.__eq__, near, apart)) > len(near) else apart  # answers of one line
    begins[:1] = apart[:1]
    heads = [head.place for head in run]
    bare = sum(bisect_left(heads, a) == bisect_left(heads, b) for a, b in pairwise([*begins, len(items)]))
    asking = sum(asks_something(items[begin:end]) for begin, (_, end) in zip(begins, between, strict=True))
    if len(begins) <= _FEWEST_ALIKE or 10 * asking <= 9 * len(begins) or 20 * bare <= 9 * len(begins):
        return []
    return [_Candidate(at, number, 0, guess=without_number(items[at])) for number, at in enumerate(begins, 1)]


def _apart(items: Sequence[Item], above: int, below: int) -> int:
    """The line behind the widest white between two places, or at the top of a page, before the last that asks."""
    asking = max((at for at in range(above + 1, below) if asks(items[at].text)), default=above + 1)

    def white(at: int) -> float:
        last, box = items[at - 1].box, items[at].box
        return (round(box.top - last.bottom, 3) if box.page == last.page else 1.0) if at else 0.0

    return max(range(above + 1, asking + 1), key=white)


def without_number(item: Item) -> str:
    """A guess that a question begins with this line."""
    return f"it has no number: {one_line(item.text, 40)!r}"


def _valued(items: Sequence[Item], series: _Series, starts: Sequence[int], sections: Sequence[int]) -> _Series:
    """The best run of a form, valued by its numbers, how much of the paper is below them, and what that asks."""
    total, run = _best_run(series.candidates, starts, sections)
    asks = [asks_something(items[head.place : end]) for head, end in _pieces(items, run)]
    heads = [items[head.place].text for head in run]
    named = all(_NAMED.search(text[: head.end]) for head, text in zip(run, heads, strict=True))
    many = len(run)
    if many < 2:
        return replace(series, run=run, value=0.1 * total) if named or not any(series.kind[1:]) else series
    worth = sum(map(says_worth, heads)) / many
    titles = [is_section(text) or _SEVERAL.search(text[head.end :]) for head, text in zip(run, heads, strict=True)]
    section = sum(map(bool, titles)) / many
    spread = (run[-1].place - run[0].place) / len(items) * many / (many - 1)
    value = total * min(1.0, spread) * (0.2 + sum(asks) / many) * (1 - 0.8 * section)
    return _Series(series.kind, series.candidates, run, value, named or worth > 0.5, section > 0.5)


def _pieces(items: Sequence[Item], run: _Heads) -> list[tuple[_Candidate, int]]:
    """The heads and the end of what is below each."""
    return [*zip(run, [*(head.place for head in run[1:]), len(items)], strict=False)]


def _with_others(run: _Heads, others: _Heads) -> list[_Candidate]:
    """The run, and heads that fill a gap: 3. or 3-1 between 2. and 4-1, or (3) below the title of a section."""
    run = list(run)
    for each in others:
        levels = [head.level or head.number for head in run]
        at, level = bisect([head.place for head in run], each.place), each.level or each.number
        if run and [0, *levels[:at]][-1] == level - 1 and level < min(levels[at:], default=MAX_NUMBER):
            run.insert(at, each)
    return run


def _is_below(inner: _Series, outer: _Series) -> bool:
    """Checks that numbers begin anew, or at its own, below heads of another series."""
    if outer is inner or not (outer.run and inner.run):
        return False
    parts = inner.kind[0] == "()" and not any(outer.kind) and outer.run[0].place < inner.run[0].place
    if parts and len(inner.run) < max(_FEWEST_ROUND, _STRAY * len(outer.run) + 1):
        return True
    ends = [*(head.place for head in outer.run[1:]), inner.run[-1].place + 1]
    below = ([c for c in inner.candidates if a.place <= c.place < b] for a, b in zip(outer.run, ends, strict=True))
    firsts = [(own[0], head) for own, head in zip(below, outer.run, strict=True) if own]
    early = sum(head.place < outer.run[0].place for head in inner.run)
    if 2 * early > len(inner.run) or {first.number for first, _ in firsts} != {1}:
        return False
    if inner.kind[-1]:
        return inner.kind[:3] == outer.kind[:3] and any(
            first.level == head.number and first.place > head.place for first, head in firsts
        )
    return len(firsts) > 1 and (outer.question or 4 * outer.value > inner.value)


def _completed(items: Sequence[Item], run: _Heads, candidates: _Heads) -> list[_Candidate]:
    """The run, and the heads that its numbers leave over: misprinted, repeated, or begun anew for a few.

    They have the form and the place of the others, and the text behind each asks.
    """
    shapes = Counter(head.shape for head in run)
    shape, many = shapes.most_common(1)[0] if run else ("", 0)
    if many < _FEWEST_ALIKE or 5 * many < 4 * len(run):
        return [*run]
    tops = {item.box.page: place for place, item in reversed([*enumerate(items)])}
    lefts = {_column(items[head.place]): items[head.place].box.left for head in run}

    def is_placed(other: _Candidate, head: _Candidate) -> bool:
        item, first = items[other.place], items[head.place]
        level = abs(item.box.top - first.box.top) < _LEVEL and item.box.page > first.box.page
        running = level and item.text == first.text
        off = item.box.left - lefts.get(_column(item), 2.0)
        return not running and (tops[item.box.page] == other.place or abs(off) < _LEVEL / 2)

    complete: list[_Candidate] = []
    for head, end in _pieces(items, run):
        own = [other for other in candidates if head.place < other.place < end and other.shape == shape]
        own = [other for other in own if is_placed(other, head)]
        pieces = [items[a:b] for a, b in pairwise([head.place, *(other.place for other in own), end])]
        if all(map(asks_something, pieces)) and _are_strays(items, head, own):
            complete += [head, *(replace(other, stray=True) for other in own)]
        else:
            complete.append(head)
    bonus = next((at for at in range(complete[-1].place + 1, len(items)) if _BONUS.match(items[at].text)), len(items))
    extra = [_Candidate(bonus, complete[-1].number + 1, 0, stray=True)] if asks_something(items[bonus:]) else []
    return [*complete, *extra]


def _are_strays(items: Sequence[Item], head: _Candidate, own: _Heads) -> bool:
    """Checks for one misprinted number, and for runs from 1 that nothing announces: an announced one is of parts."""
    last = head
    for other in own:
        if other.number == 1:
            if (own == [other] and head.number == 1) or _ANNOUNCES.search(items[other.place - 1].text):
                return False
        elif last is head:
            if len(own) > 1 and own[1].number != 1:
                return False
        elif other.number != last.number + 1:
            return False
        last = other
    return True


def _column(item: Item) -> tuple[int, int]:
    return item.box.page % 2, item.column


def asks_something(piece: Sequence[Item]) -> bool:
    """Checks a question's lines for a demand, points, a blank, a bracket, or options."""
    text = "\n".join(item.text for item in piece)
    return asks(text) or says_worth(text) or bool(_TO_FILL.search(text) or OF_OPTIONS.search(text))


def _titles_that_ask(items: Sequence[Item], titles: _Heads, others: _Heads) -> list[_Candidate]:
    """Chinese numerals, if most have no other numbers below and name no types of questions.

    Behind titles that do, 一、选择题, the others are questions too.
    """
    _, chosen = _best_run(titles, (), ())
    named = sum(bool(section_type(items[candidate.place].text)) for candidate in chosen)
    pieces = _pieces(items, chosen)
    below = [[other.number for other in others if title.place < other.place < end] for title, end in pieces]
    bare = sum(not numbers for numbers in below)
    if mixed := _behind_sections(items, chosen, below, others):
        return mixed
    several = any(_is_of_several(items[title.place].text) for title in chosen)
    alone = [items[title.place : end] for (title, end), own in zip(pieces, below, strict=True) if not own]
    own = all(numbers[0] == 1 for numbers in below if numbers) or (alone and all(map(asks_something, alone)))
    asking = own and _ask(items, chosen) and not (named or several)
    return chosen if len(chosen) > 1 and (2 * named < len(chosen) < 2 * bare or asking) else []


def _behind_sections(
    items: Sequence[Item], titles: _Heads, below: Sequence[Sequence[int]], others: _Heads
) -> list[_Candidate]:
    """Numbers below the first titles, which name types, and the other titles; empty if a title is something else."""
    several = [_is_of_several(items[title.place].text) for title in titles]
    starts = [at for at, title in enumerate(titles) if not at or title.number <= titles[at - 1].number]
    run: list[_Candidate] = []
    for start, end in pairwise([*starts, len(titles)]):
        first = next((at for at in range(start, end) if not (below[at] and several[at])), end)
        bare = sum(not numbers for numbers in below[first:end])
        if first == start or end - first < 2 or any(several[first:end]) or 2 * bare <= end - first:
            return []
        low, high = titles[start].place, titles[first].place
        run += [*(other for other in others if low < other.place < high), *titles[first:end]]
    return run


def _is_of_several(title: str) -> bool:
    """Checks for a title of several questions."""
    if _SEVERAL.search(title):
        return True
    return bool(section_type(title)) and not _OF_ONE.search(title)


def _ask(items: Sequence[Item], chosen: _Heads) -> bool:
    """Most titles have points, or say what is given: the numbers below them are parts."""
    texts = [items[candidate.place].text for candidate in chosen]
    rests = [_POINTS.sub("", text[head.end :]).strip() for text, head in zip(texts, chosen, strict=True)]
    asking = [not rest or "$" in rest or _GIVES.search(rest) for rest in rests]
    return 2 * sum(map(bool, asking)) > len(rests) or all(map(says_worth, texts))


def _candidates(items: Sequence[Item], without: Collection[int]) -> dict[_Kind, list[_Candidate]]:
    """Numbers at the beginning of lines, by the words, brackets and levels that they have."""
    begins: dict[tuple[int, int], float] = {}
    for item in items:
        key = item.box.page, item.column
        begins[key] = min(item.box.left, begins.get(key, 1.0))
    forms: dict[_Kind, list[_Candidate]] = {}
    for place, item in enumerate(items):
        right = item.box.left > begins[item.box.page, item.column] + _RIGHT and not _NAMED.match(item.text)
        if not item.line or place in without or (right and len(item.text) < _SHORT):
            continue
        for kind, candidate in _heads(item.line.text):
            announced = candidate.number == 1 and place > 0 and bool(_LIST_HEAD.search(items[place - 1].text))
            forms.setdefault(kind, []).append(replace(candidate, place=place, announced=announced))
    return {kind: _weighed(items, some[:MAX_CANDIDATES]) for kind, some in forms.items()}


def _heads(text: str) -> Iterator[tuple[_Kind, _Candidate]]:
    """The number that a line begins with, as a head of each kind that it may be."""
    for pattern in _FORMS:
        if not (match := pattern.match(text)):
            continue
        *levels, last = re.findall(r"\d+|[A-Z]|[^\W\da-zA-Z]+", match["number"])
        number, level = _value(last), _value(levels[0]) if levels else 0
        if not 0 < number <= MAX_NUMBER or _LABELLED.match(match["word"]) or _GRID.fullmatch(text, match.end()):
            continue
        if _NAME.fullmatch(text, match.start("word"), match.start("number")):
            continue
        words = re.findall(r"[^\W\d_]+", match["word"].casefold())
        close = match["close"][: len(match["close"]) - len(_CLOSE.sub("", match["close"]))]
        end = match.end() if close == match["close"] else match.start("close") + len(close)
        behind = text[end : end + 1]
        decimal = close in tuple(".,") and not match["next"] and behind.isdecimal()
        if (levels and not (words or close or levels[0].isdecimal())) or (words and decimal):
            continue
        opening = match["open"] if match["open"][-1:].isspace() else _OPENS.sub("", match["open"])
        shape = squeezed(unicodedata.normalize("NFKC", opening + re.sub(r"\w+", "#", match["number"]) + close))
        brackets = re.sub(r"#.*?([)\]】〗〕]|$).*", r"\1", shape)
        if brackets and not _OPENS.match(brackets[-1]):  # "(Total for Question 5 is 7 marks)"
            continue
        if shape[-1:] == "#" or decimal:
            shape += f" {bool(match['next'])}{unicodedata.category(behind or ' ')}"
        weight = 1.0 if " " not in shape or match["next"] or not behind else _UNDELIMITED
        label = squeezed(match["number"]) if levels and levels[0].isdecimal() else ""
        kind = ("" if words else brackets, "".join(words[-1:]), not last.isdecimal(), bool(label))
        yield kind, _Candidate(0, number, end, weight=weight, level=level, shape=shape, label=label)


def _weighed(items: Sequence[Item], candidates: _Heads) -> list[_Candidate]:
    """Weighs each by how many numbers of its shape go on from another, its place, its letters and points."""
    shapes: dict[str, list[_Candidate]] = {}
    for candidate in candidates:
        shapes.setdefault(candidate.shape, []).append(candidate)
    weights = {}
    for shape, some in shapes.items():
        steps = [_step(a, b, False) == 0 for a, b in pairwise(some)]
        going = sum(map(any, zip([False, *steps], [*steps, False], strict=True)))
        weights[shape] = max(_LEAST if " " in shape else _SIGNED, going / len(some))
    own = [replace(c, weight=c.weight * weights[c.shape] * _share(items, c.place)) for c in candidates]
    own = _without_listings(own, items)
    lefts = _margins(items, own)
    return [_placed(candidate, items[candidate.place], lefts) for candidate in own]


def _value(number: str) -> int:
    """Of digits, a letter, or Chinese numerals."""
    if number.isdecimal() or number.isascii():
        return int(number) if number.isdecimal() else ord(number) - ord("A") + 1
    return chinese_number(number)


def _without_listings(candidates: _Heads, items: Sequence[Item]) -> list[_Candidate]:
    """Drops numbers line after line that are bare or those of lines of code, but for a few."""
    lines = [0, *accumulate(item.line is not None for item in items)]
    runs: list[list[_Candidate]] = [[]]
    for candidate in candidates:
        last = runs[-1][-1] if runs[-1] else candidate
        alike = candidate.shape.split()[0] == last.shape.split()[0] and candidate.number - last.number <= 1
        if not alike or lines[candidate.place] - lines[last.place] > 1:
            runs.append([])
        runs[-1].append(candidate)
    return [
        candidate
        for run in runs
        if len(run) < _LISTED or sum(_is_listed(each, items) for each in run) < _MOST_LISTED * len(run)
        for candidate in run
    ]


def _is_listed(candidate: _Candidate, items: Sequence[Item]) -> bool:
    item = items[candidate.place]
    if candidate.shape[-1] in ".．、" and item.text[candidate.end :].strip():
        return False
    if (item.line is not None and item.line.pitch > 0) or _CODE.search(item.text):
        return True
    says = item.text[-1:] == "=" or asks_something([item])
    return item.text[: candidate.end].strip().isdecimal() and not says


def _share(items: Sequence[Item], place: int) -> float:
    """Remaining weight of the number of a line that may continue the sentence of the one before."""
    last, item = items[place - 1], items[place]
    if not place or last.line is None or last.block is not item.block:
        return 1.0
    width = item.block.box.right - item.block.box.left
    ended = _ENDED.search(last.text) or OF_OPTIONS.search(last.text) or width <= _COLUMN
    return 1.0 if ended or last.box.right <= item.block.box.right - _FULL * width else _WRAPPED


def _margins(items: Sequence[Item], candidates: _Heads) -> dict[tuple[int, int], float]:
    """Left edges of most different numbers by column, or by parity of the page too if that moves them (bound books)."""
    lefts: dict[tuple[int, int], list[tuple[float, _Candidate]]] = {}
    for candidate, item in ((candidate, items[candidate.place]) for candidate in candidates):
        for parity in (item.box.page % 2, _ALL_PAGES):
            lefts.setdefault((parity, item.column), []).append((item.box.left, candidate))
    edges = {key: _margin(sorted(values, key=lambda value: value[0])) for key, values in lefts.items()}
    for key, values in lefts.items():
        both = edges[_ALL_PAGES, key[1]]
        if both < edges[key] and any(abs(left - both) < _LEVEL / 2 for left, _ in values):
            edges[key] = both
    return edges


def _margin(values: Sequence[tuple[float, _Candidate]]) -> float:
    """The leftmost value, of sorted ones, with most weight of different numbers around: a list within repeats them."""
    sums, first, last = [], 0, 0
    around: dict[int, list[float]] = {}
    for at, _ in values:
        while last < len(values) and values[last][0] <= at + _LEVEL:
            around.setdefault(values[last][1].number, []).append(values[last][1].weight)
            last += 1
        while values[first][0] < at - _LEVEL:
            around[values[first][1].number].pop(0)
            first += 1
        own = [weights for weights in around.values() if weights]
        sums.append(sum(map(max, own)) - _AGAIN * sum(len(weights) - 1 for weights in own))
    return values[max(range(len(sums)), key=sums.__getitem__)][0]


def _placed(candidate: _Candidate, item: Item, lefts: dict[tuple[int, int], float]) -> _Candidate:
    """Weighs a candidate by its distance from the others of its column, its letters and its points."""
    off = abs(item.box.left - lefts.get(_column(item), item.box.left))
    bonus = 0.5 if off < _LEVEL else 0.0 if off < 0.03 else -0.6
    scale = candidate.weight if bonus > 0 and " " in candidate.shape else 1.0
    sure = 0.2 * (item.line is not None and item.line.bold) + 0.3 * says_worth(item.text[candidate.end :])
    return replace(candidate, weight=candidate.weight + bonus * scale + sure)


def _best_run(candidates: _Heads, starts: Sequence[int], sections: Sequence[int]) -> tuple[float, list[_Candidate]]:
    scores: list[float] = []
    before: list[int] = []
    parts, titles = ([bisect(sorted(some), each.place) for each in candidates] for some in (starts, sections))
    for index, candidate in enumerate(candidates):
        score, previous = candidate.weight - 0.5 * (candidate.number != 1), -1
        since = _since_title(candidates, titles, index)
        for earlier in range(index):
            last = candidates[earlier].number
            new_part = parts[index] > parts[earlier] or (since <= last and titles[index] > titles[earlier])
            step = _step(candidates[earlier], candidate, new_part)
            step += 0.5 * (new_part and (" " in candidates[earlier].shape) != (" " in candidate.shape))
            step += _RESTART * (candidate.announced and last >= candidate.number and not new_part)
            if candidates[earlier].place < candidate.place and scores[earlier] - step + candidate.weight > score:
                score, previous = scores[earlier] - step + candidate.weight, earlier
        scores.append(score)
        before.append(previous)
    if not scores:
        return 0.0, []
    place = max(range(len(scores)), key=scores.__getitem__)
    total, run = scores[place], []
    while place >= 0:
        run.append(candidates[place])
        place = before[place]
    return total, run[::-1]


def _since_title(candidates: _Heads, titles: Sequence[int], index: int) -> int:
    """The largest reliable number between the last section's title and a 1; if others are to be 1, more than any."""
    own = candidates[bisect_left(titles, titles[index]) : index]
    if candidates[index].number != 1 or any(each.number == 1 for each in own):
        return MAX_NUMBER + 1
    return max((each.number for each in own if each.weight >= _SURE), default=0)


def _step(last: _Candidate, following: _Candidate, new_part: bool) -> float:
    by, number = following.number - last.number, following.number
    if following.level != last.level:
        up = following.level - last.level
        by = (up if following.label else min(up, 1)) if number == 1 or (by == 1 and following.label) else -1
    if by == 1:
        return 0.0
    if by > 0:
        return min(_GAP * (by - 1), _WIDEST) if by <= _FAR else _RESTART
    return 0.5 if new_part else _RESTART + (0 if number == 1 else 1.5)


def _with_runs(chosen: _Heads) -> list[Anchor]:
    several = len({head.level for head in chosen if head.label}) > 1
    runs = [0, *accumulate((b.level, b.number) <= (a.level, a.number) for a, b in pairwise(chosen))]
    heads = zip(chosen, runs, strict=False)
    return [replace(head, run=run, label=head.label if several else "") for head, run in heads]
