"""Alignment of a key with its paper: where the key of each question begins.

Contract: the places go up in the order of the questions; only a question that the key repeats may be out of order. A
number counts by how well the numbers of its style cover the paper, so that a list within a solution is no key.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Final

from livek12.core.scripts import both_scripts, chinese_number
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.answers import in_form, is_choice, split_text
from livek12.dataset_builders.ingest.keys.entries import APART, Entry, column_of
from livek12.dataset_builders.ingest.keys.words import RUN, TOKEN, plain, runs, tokens
from livek12.dataset_builders.ingest.questions.headings import begins_answer, is_section, numeral
from livek12.dataset_builders.ingest.questions.stream import Item

NUMBER: Final = both_scripts(
    r"\s*(?:[(（]\s{0,40}(?P<filled>[A-J√×✓✗OX]{0,6})\s{0,40}[)）]\s*)?"
    r"(?P<before>[\[【]?(?:[^\W\d_]{1,20}[\s.:：#]{1,3}|[문항제]{1,2}\s?){0,4}[A-Z#]?[(（\[【〖]?第?)\s{0,9}(?P<number>\d{1,3}(?:[.．]\d{1,2})?)"
    r"(?P<after>\s*[题題번]?\s*(?:\.(?!\d)|．|[、,)）\]】〗:：][.．:：]?|(?<=[题題번])(?:答案[】\]])?|(?=[\s(（【]|$)))\s*"
)
"""The number of an entry, perhaps behind a filled bracket and a few words: how well they cover the paper tells."""
_NUMERAL: Final = both_scripts(
    r"\s*(?:第\s*([一二三四五六七八九十]{1,3})\s*大?题|([一二三四五六七八九十])\s*[、．.])\s*"
)
_HEAD, _FEWEST_RUNS, _DRIFT = 40, 3, 20
"""Tokens of a question's beginning that are compared; runs of them at one distance that are no chance; tokens that a
copy has more or fewer before those that are compared."""
_WORDS: Final = 3.0
"""Weight of all words of a question's beginning, or of their share; its number has 1."""
_SECTION, _SURE, _FEW, _ANEW, _WITHIN = 0.5, 1.5, 0.3, 0.5, 0.3
"""Weights of a section's title, of words that tell a copy, without and with its number, and of a number within its
section; of words in a line without a number, which a solution has too."""
MOST_ALIKE: Final = 200
"""Numbers alike that are compared with one question."""
_ROUND, _INNER, _BARE, _BRACKETS = 0.3, 0.8, 0.95, re.compile(r"~?[(\[]0?[)\]]?[!>]*")
"""Weight of numbers in brackets, further in, and without a word: (1) is a part where others number the questions."""
_PART = 3.0
"""A style counts in full if so many of it have the weight of that which follows most of the paper."""
_LABELLED, _LONGEST_FORM = 1.0, 200
"""Weight of an answer in the form of its question's type, and characters in which it is looked for."""
_INDENTED: Final = 0.02
"""Of the page's width: numbers further in are of another style."""


@dataclass(frozen=True)
class KeyPlace:
    """The line at which the key of a question begins.

    Attributes:
        item: index of the line.
        end: of the number in it.
        words: weight of the question's words that are there.
        style: of the number; "" without one.
        worth: of the number, less where it is that within a section.
        number: as printed; "#2/5" is the second of the five in its section.
        nth: among the places of its line or table.
        entry: what stands in its row or piece of a line; None for all up to the next place.
    """

    item: int
    end: int
    words: float = 0.0
    style: str = ""
    worth: float = 1.0
    number: str = ""
    nth: int = 0
    entry: Entry | None = None

    @property
    def order(self) -> tuple[int, int]:
        """Its place among all others."""
        return self.item, self.nth

    @property
    def is_copy(self) -> bool:
        """True if the question itself begins there."""
        return self.words >= (_FEW if self.style else _SURE)


def align(
    drafts: Sequence[Draft],
    items: Sequence[Item],
    by_words: Mapping[int, Sequence[KeyPlace]],
    listed: Sequence[KeyPlace] | None = None,
) -> dict[int, KeyPlace]:
    """The place of each question's key, by the question's index; `by_words` are its `places_by_words`.

    Candidates are lines with a number or the words of a question, or instead `listed` ones: in the form of a question's
    type they count more.
    """
    heads: dict[str, list[KeyPlace]] = defaultdict(list)
    for place in numbered_lines(items) if listed is None else listed:
        heads[place.number].append(place)
    titles = [title_of(draft.section) for draft in drafts]
    sections = _sections(items, {*titles})
    ranks = [str(rank) for rank, _ in _ranks(drafts)]
    rows = [f"#{rank}/{size}" for rank, size in _ranks(drafts, of_kind=True)]
    alone = {title for title, many in Counter(titles).items() if title and many == 1 < len(drafts)}
    for at, item in enumerate(items):
        if item.line and (title := title_of(item.text)) in alone:
            heads[title].append(KeyPlace(at, len(item.text), style="title", number=title, nth=-1))
    candidates: list[tuple[int, KeyPlace]] = []
    for index, draft in enumerate(drafts):
        own = {place.order: place for place in by_words.get(index, ())} if listed is None else {}
        likely = {place.item: place.words for place in by_words.get(index, ())}
        others = {ranks[index], str(index + 1)} - {draft.number}
        anew = [replace(place, worth=_ANEW) for other in sorted(others) for place in heads[other][:MOST_ALIKE]]
        names = draft.number, rows[index], *{titles[index]} & alone
        for place in [*anew, *(place for name in names for place in heads[name][:MOST_ALIKE])]:
            if title_of(items[place.item].text) == titles[index] and titles[index] not in {*alone, ""}:
                continue
            words = likely.get(place.item) if place.entry is None else 0.0
            words = _short(draft, text_of(items[place.item])[place.end :]) if words is None else words
            own[place.order] = replace(place, words=words)
        candidates += [(index, place) for place in own.values()]
    candidates.sort(key=lambda pair: (pair[1].order, pair[0]))
    likeness = [_likeness(sections[place.item], titles[at], {*titles}) for at, place in candidates]
    alike = [(draft.question_type, *(option.label for option in draft.options)) for draft in drafts]
    firsts = {(alike[at], place.order): (at, place) for at, place in reversed(candidates)} if listed is not None else {}
    fits = {key: _form(drafts[at], place, items) for key, (at, place) in firsts.items()}
    forms = [fits.get((alike[at], place.order), 0.0) for at, place in candidates]
    apart = {*titles} if len({draft.number for draft in drafts}) < len(drafts) else {""}
    local = [bool(_NAMED.match(own.style)) and sections[own.item] in apart for _, own in candidates]
    kinds = [(own.style, sections[own.item] * is_local) for (_, own), is_local in zip(candidates, local, strict=True)]
    covers = {kind: _cover(kind, kinds, candidates) for kind in {*kinds} if kind[0]}
    best = max((total for total, _ in covers.values()), default=0.0) or 1.0
    shares = {kind: precise * min(1.0, _PART * total / best) for kind, (total, precise) in covers.items()}
    numbered = {place.item for own in heads.values() for place in own}
    weights = [
        own.worth * shares[kind] ** 2 + own.words + form + (like * shares[kind] if like > 0 else like)
        if own.style
        else own.words * (1.0 if own.item in numbered else _WITHIN)
        for (_, own), kind, like, form in zip(candidates, kinds, likeness, forms, strict=True)
    ]
    chosen = dict(candidates[at] for at in chain(candidates, weights)[0])
    taken = {place.order for place in chosen.values()}
    for index, place in sorted(candidates, key=lambda pair: -pair[1].words):
        if index not in chosen and place.words >= _SURE and place.order not in taken:
            chosen[index] = place
            taken.add(place.order)
    return chosen


def _form(draft: Draft, place: KeyPlace, items: Sequence[Item]) -> float:
    """The weight of an answer in the form of a question's type, at its place."""
    lines = "\n".join(map(text_of, items[place.item : place.item + 2]))[place.end :].strip()
    text = place.entry.answer or place.entry.solution or "" if place.entry else lines.partition("\n")[0]
    reading = in_form(draft, *split_text(text[:_LONGEST_FORM], draft)[:2])
    if is_choice(draft):
        return _LABELLED * bool(reading.answer and not reading.problem)
    return -_LABELLED / 8 * bool(reading.problem)


def _ranks(drafts: Sequence[Draft], of_kind: bool = False) -> list[tuple[int, int]]:
    """The number of each question in its section, or among those `of_kind` there, and how many these are."""
    sections = [(draft.elective, draft.section, of_kind and is_choice(draft)) for draft in drafts]
    sizes, seen = Counter(sections), Counter[tuple[str, str, bool]]()
    ranks = []
    for section in sections:
        seen[section] += 1
        ranks.append((seen[section], sizes[section]))
    return ranks


def _cover(
    kind: tuple[str, str], kinds: Sequence[tuple[str, str]], candidates: Sequence[tuple[int, KeyPlace]]
) -> tuple[float, float]:
    """The weight of the numbers of a style, in its section, that follow the paper, and their share of all of it."""
    alike, style = [other == kind for other in kinds], kind[0]
    weights = [own.worth * is_alike + own.words for (_, own), is_alike in zip(candidates, alike, strict=True)]
    followed, total = chain(candidates, weights)
    used = [candidates[at][1].number for at in followed if alike[at]]
    places = {(place.order, place.number) for (_, place), is_alike in zip(candidates, alike, strict=True) if is_alike}
    own = [number for _, number in sorted(places)]
    many, there = (sum(1 for _ in groupby(numbers)) for numbers in (used, own))  # 1(a) and 1(b) are one
    likely = (_ROUND if _BRACKETS.fullmatch(style) else 1.0) * (_INNER if ">" in style else 1.0)
    likely *= 1.0 if style[0].isalpha() else _BARE
    return total, many / (there + (not kind[1])) * likely


def chain(candidates: Sequence[tuple[int, KeyPlace]], weights: Sequence[float]) -> tuple[list[int], float]:
    """Indices of the candidates of most weight whose lines and questions both go up, and the weight."""
    size = 1 + max((index for index, _ in candidates), default=0)
    tree = [(0.0, 1)] * (size + 1)  # of equal ones the first: its place is negated
    before = [-1] * len(candidates)
    waiting: list[tuple[int, tuple[float, int]]] = []
    for at, ((index, place), weight) in enumerate(zip(candidates, weights, strict=True)):
        if at and place.order > candidates[at - 1][1].order:
            _update(tree, waiting)
        if weight > 0:
            total, last = max((tree[node] for node in _below(index)), default=(0.0, 1))
            before[at] = -last
            waiting.append((index, (total + weight, -at)))
    _update(tree, waiting)
    total, last = max(tree)
    at = -last
    places = []
    while at >= 0:
        places.append(at)
        at = before[at]
    return places[::-1], total


def _below(index: int) -> Iterable[int]:
    """Nodes of a Fenwick tree that cover all before an index."""
    while index > 0:
        yield index
        index -= index & -index


def _update(tree: list[tuple[float, int]], waiting: list[tuple[int, tuple[float, int]]]) -> None:
    for index, value in waiting:
        node = index + 1
        while node < len(tree):
            tree[node] = max(tree[node], value)
            node += node & -node
    waiting.clear()


def numbered_lines(items: Sequence[Item]) -> list[KeyPlace]:
    """Lines that begin with a number."""
    lefts: dict[tuple[int, int], float] = {}
    for item in items:
        key = item.box.page, item.column
        lefts[key] = min(item.box.left, lefts.get(key, 1.0))
    places = []
    for at, item in enumerate(items):
        match = NUMBER.match(text_of(item))
        if (item.line is None or item.line.pitch) and not (match and match["after"].strip()):
            continue  # a table, a listing
        if match:
            before = squeezed(match["before"]).casefold()
            style = f"{before}0{squeezed(match['after']) * (not before.isalpha())}".translate(_WIDE)
            number, end = unicodedata.normalize("NFKC", match["number"]), match.end()
        elif item.line and (counted := _NUMERAL.match(item.text)):
            style, number = "第0" if counted[1] else "numeral", str(chinese_number(counted[1] or counted[2]))
            end = counted.end()
        else:
            continue
        style += "!" * begins_answer(text_of(item)[end:])
        style += ">" * (item.box.left - lefts[item.box.page, item.column] > _INDENTED)
        places.append(KeyPlace(at, end, style=style, number=number))
        whole, dot, _ = number.partition(".")
        if dot and match:  # 4．2, the answer 2 of 4
            places.append(KeyPlace(at, match.start("number") + len(whole) + 1, style="0.", number=whole))
    return places


_NAMED: Final = re.compile(r"question|problem|문[제항]|第")
"""Of styles that are no list's within a solution: they count by their own section."""
_WIDE: Final = str.maketrans("（）．：【】", "().:[]")


def text_of(item: Item) -> str:
    """A line, or the rows of a table below its names of columns."""
    rows = [line.text.replace("\t", "    ") for line in item.block.lines]
    return item.text if item.line else "\n".join(rows[1 if rows and all(map(column_of, APART.split(rows[0]))) else 0 :])


_tokens = lru_cache(maxsize=4096)(tokens)
"""Tokens of questions, which are compared with many lines."""


def _short(draft: Draft, text: str) -> float:
    """The weight of a title of few words that an entry repeats."""
    own = _tokens(draft.markdown)
    return _WORDS * (0 < len(own) < RUN + _FEWEST_RUNS and tokens(text)[: len(own)] == own)


def title_of(text: str) -> str:
    """The title of a section up to its points, without spaces and signs."""
    return re.sub(r"[^\w.．、]", "", re.split(r"[(（\[:：,，]", text)[0])


def _sections(items: Sequence[Item], own: Set[str]) -> list[str]:
    """The title of each line's section, of which the paper has its `own`."""
    titles, last = [], ""
    for item in items:
        if item.line and (is_section(item.text) or numeral(item.text) or title_of(item.text) in own):
            last = title_of(item.text) or last
        titles.append(last)
    return titles


def _likeness(title: str, section: str, sections: Set[str]) -> float:
    """The weight of a key's section for a question of the paper's: its title or numeral is the same, or another's."""
    numerals = [match[0] if (match := numeral(text)) else 0 for text in (title, section)]
    if all(numerals):
        return _SECTION if numerals[0] == numerals[1] else -1.0
    return -1.0 if title in sections - {section, ""} else _SECTION * bool(title and section and title in section)


def places_by_words(drafts: Sequence[Draft], items: Sequence[Item]) -> dict[int, list[KeyPlace]]:
    """Places where most words of each question's beginning stand."""
    words, owners = [], []
    for place, item in enumerate(items):
        for match in TOKEN.finditer(item.line.text if item.line else item.block.text):
            words.append(plain(match[0]))
            owners.append((place, match.start()))
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, run in enumerate(runs(words)):
        places[run].append(at)
    begins: dict[int, list[KeyPlace]] = {}
    for index, draft in enumerate(drafts):
        own = runs(_tokens(draft.markdown)[:_HEAD])
        hits = [(at - place, at) for place, run in enumerate(own) for at in places.get(run, ()) if at >= place]
        votes = Counter(begin for begin, _ in hits)
        if not votes or (most := max(votes.values())) < min(_FEWEST_RUNS, len(own)):
            continue
        best = {begin for begin, many in votes.items() if many >= most - 1}
        alike = {next(hit for hit in hits if abs(hit[0] - begin) < _DRIFT) for begin in best}  # by the earliest words
        starts = {_start(*hit, owners, items) for hit in sorted(alike)}
        begins[index] = [KeyPlace(item, end, _WORDS * most / len(own)) for item, end in sorted(starts)]
    return begins


def _start(begin: int, hit: int, owners: Sequence[tuple[int, int]], items: Sequence[Item]) -> tuple[int, int]:
    """The item, and the place in it, of a question's first token; a copy that lacks some begins at its number."""
    place, skip = owners[begin]
    if owners[hit][0] > place and NUMBER.match(items[owners[hit][0]].text):
        place, skip = owners[hit]
    line = items[place].line
    number = NUMBER.match(line.text) if line else None
    return place, min(skip, number.end()) if number else 0
