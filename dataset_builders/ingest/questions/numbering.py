"""Numbers of questions: the best consistent run of numbers.

Contract: numbers go up by one; a gap, a step back or an indented line costs, so that a list of statements within a
question does not look like questions. Dynamic programming over all candidates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.pages.blocks import Line
from livek12.dataset_builders.ingest.questions.headings import is_section
from livek12.dataset_builders.ingest.questions.kinds import asks, section_type
from livek12.dataset_builders.ingest.questions.points import says_worth
from livek12.dataset_builders.ingest.questions.stream import Item

MAX_CANDIDATES = 2500
"""Looked at, a style; the search is quadratic in them."""
MAX_NUMBER = 200
_NUMERAL = "(?:[一二三四五六七八九]|[一二三]?十[一二三四五六七八九]?)"
_ENTRY = r"[^\W\d_][\w-]{0,15}?(?:\s[^\W\d_][\w-]{0,15}?)?"
_AFTER = r"[.．、。](?![\d~～])|[．、](?=\d)|\.(?=(?:19|20)\d\d\s*[年년])"
"""A separator behind a number, which is not that of a decimal."""
_FORMS: dict[str, tuple[re.Pattern[str], ...]] = {
    "word": (
        re.compile(
            r"\s*[(（\[【]?(?:Ques(?:ti|□)on|Problem|Exercise|Q|문항|문제|문|题目)\s*(?:[.#]|No\.)?\s?[A-Z]?(\d{1,3})(?!\.?\d)\s*[.:．：)）\]】]*(?![\d~～-])\s*",
            re.I,
        ),
        re.compile(
            r"\s*(?:[A-Z][\w-]*\s){1,2}(?:[Qq]uestion|[Pp]roblem|[Ee]xercise)\s*#?\s?(\d{1,2})\s*(?:[.:：]|$|(?=[(\[]))\s*"
        ),
        re.compile(rf"\s*第\s*(\d{{1,3}}|{_NUMERAL})\s*[题題]\s*[.:．：、，,—–-]*\s*"),
    ),
    "chapter": (re.compile(rf"\s*(?:{_ENTRY})?\s?\d{{1,2}}\s?[.．]\s?(\d{{1,3}})(?![\d%])\s*[.:：．)]?\s+(?=\S)"),),
    "dot": (
        re.compile(
            rf"\s*(?:[(（]\s*[)）]\s*|_+\s{{4,}})?[*＊]?\s*(\d{{1,3}})(?:\s?(?P<dotted>{_AFTER})\s*"
            r"|(?P<near>\s*(?=[(（][\d.]+\s*(?:分|points?|marks?|pts?)[)）])|(?=a\s+[A-Z])|(?=\s?[-–]\s?1\s?[.．)）]\s*[^\s\d]))"
            r"|(?P<comma>\s?[,，](?=\s*[一-鿿가-힣“（(A-Z□]|\s*\$)\s*)|(?P<gap>(?:\s{4,}|\t)(?=[^\s\d.]))"
            r"|(?P<bare>\s*$|\s+(?=[\$A-Z“‘\"•]|[가-힣]{2}|\((?:[a-z]|iv|i{1,3})\)\s|[(（]1[)）])"
            r"|\s*(?=[一-鿿][一-鿿$])(?![年月日时分秒个名人只条次种所座倍级元位道小题])))"
        ),
        re.compile(r"\s*[【〖\[［]\s*第?\s*(\d{1,3})\s*题?\s*(?P<dotted>[】〗\]］])\s*[.．、:：]?\s*"),
    ),
    "paren": (re.compile(r"\s*(?:[(（]\s*[)）]\s*)?(\d{1,3})\s?(?P<closed>[)）])\s*"),),
    "round": (re.compile(r"\s*(?:[(（]\s*[)）]\s*)?[(（]\s*(\d{1,2})\s*(?P<round>[)）])\s*(?=\S)"),),
    "any": (re.compile(rf"\s*{_ENTRY}[\s-]?(\d{{1,3}})(?![\d.])(?P<round>)\s*[.:：)]?\s*"),),
    "han": (
        re.compile(rf"\s*题?\s*({_NUMERAL})(?:\s*[、．.]\s*(?=\S)|\s*(?=选择|填空|判断|简答)|(?<=题.)\s*(?=[(（]|$))"),
    ),
}
"""Heads of lines: by a word, with a separator or alone, closed, in brackets, and by Chinese numerals."""
_WEIGHTS = {"dotted": 1.0, "near": 0.8, "comma": 0.7, "closed": 0.7, "round": 0.6, "gap": 0.5, "bare": 0.2}
"""By what stands behind the number."""
_HEADED = re.compile(r"\s*(\d{1,3})\s*(?:[.．、)번]\s*)?$")
"""A heading of a source that is a number alone."""
_OF_HEADINGS = {"word": (_HEADED,), "dot": (_HEADED, *_FORMS["word"])}
_BRACKETED = re.compile(r"\s*[(（]\s*(\d{1,3})\s*[)）]\s*(?=\S)")
_HAN = "零一二三四五六七八九"
_UNSIGNED = re.compile(r"\s*\d{1,3}\s*")
_ASKS = re.compile(r"[?？]|=\s*$|_{3}|____")
_POINTS = re.compile(r"^[\s，,、:：]*[(（]?[^()（）]{0,8}\d+\s*分[)）]?")
_SEVERAL = re.compile(r"(?:每|各|\d\s*[)）]?\s*)小?题|下列各题|^\s*[一二三四五六七八九十]{1,2}\s*(?:选择|填空|判断)")
_GIVES = re.compile(r"设|已知|[求试]|证明|[?？]|[。.]\s*$")
_TO_FILL = re.compile(r"_{3}|[(（]\s*[)）]")
_ANNOUNCES = re.compile(r"(?:[:：]|following|下列.{0,8}|以下.{0,8}|다음.{0,8})\s*$", re.IGNORECASE)
"""The end of a line before a list."""
_LIST_HEAD = re.compile(rf"{_ANNOUNCES.pattern}|^\s*[\[【<][^\[\]]{{2,12}}[\]】>]\s*$", re.IGNORECASE)
"""A line before a list, or its name in brackets."""
_BONUS = re.compile(r"\s*(?:[A-Z]\$?1\W{1,6}?[.．:]\s|Bonus\b|Extra[- ]Credit\b|附加题|加分题|보너스)", re.IGNORECASE)
_FEWEST_ALIKE = 3
"""Heads that make a form."""
_SPREAD = 3
"""Items between two heads, on average."""
_LISTED = 6
"""Neighbouring lines that go up by one with a bare number each: those of a listing."""
_AGAIN = 0.25
"""Weight against a column of numbers for each that comes again in it."""
_LEVEL = 0.012
"""Largest distance of numbers in one column, of the page's width."""
_ENDED = re.compile(r"(?:[.。．!?！？;；:：)）\]】_]|____)\s*$")
_OPTION = re.compile(r"(?:^|\s)[(（]?(?:[A-H][.．、)）]|[①-⑩])|\s{3,}[A-H]\s|^\s*[A-D]\s")
"""A line of options is no sentence."""
_MARK = re.compile(r"\s*[\[(（【]\s*\d{1,3}\s*[\])）】]\s*")
_RIGHT = 0.3
"""Of the page's width from the left edge of its column: a number in brackets that stands there alone is a mark."""
_WRAPPED, _FULL = 0.3, 0.2
"""Remaining weight of a number that may be part of a sentence; share of a paragraph's width that its full
lines may lack."""
_COLUMN = 0.25
"""Of the page's width: narrower paragraphs are short lines, as keys have them, not full ones."""
_SURE = 1.0
"""Least weight of a number that is almost surely a question's."""
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
        stray: its number does not go on from the last.
    """

    place: int
    number: int
    end: int
    run: int = 0
    stray: bool = False


@dataclass(frozen=True)
class _Candidate:
    place: int
    number: int
    end: int
    weight: float
    stray: bool = False
    announced: bool = False


def anchors(
    items: Sequence[Item],
    starts: Sequence[int] = (),
    without: Collection[int] = (),
    sections: Sequence[int] = (),
    strays: bool = False,
) -> list[Anchor]:
    """The lines that begin questions.

    Args:
        items: the paper in reading order.
        starts: places of parts, where numbers may go back.
        without: places whose numbers are none of questions.
        sections: places of titles: a 1 behind one may begin anew.
        strays: also those whose numbers do not go on.
    """
    words = _candidates(items, "word", without)
    headings = [candidate for candidate in words if items[candidate.place].is_heading]
    words = headings if len(headings) > 1 else words
    others = [(_best_run(series, starts, sections), series) for series in _by_word(items, without)]
    best, of_best = _best_run(words, starts, sections), words
    for (_, run), series in ((best, words), *others):
        by_points = series is words or _worth(items, run)
        if by_points and _heads(items, run) and not _preceded(items, without, run):
            return _with_runs(_completed(items, run, series) if strays else run)  # numbers below them are of parts
    for style in ("dot", "paren", "round", "chapter"):
        candidates = _candidates(items, style, without)
        chapters = {re.findall(r"\d+", items[each.place].text)[0] for each in candidates if style == "chapter"}
        if len(chapters) > 1 or (chapters and 2 * len(best[1]) >= len(candidates)):
            continue  # parts of questions
        chosen = _best_run(candidates, starts, sections)
        parts = style == "round" and best[1] and len(chosen[1]) < max(_FEWEST_ROUND, _STRAY * len(best[1]) + 1)
        if chosen[0] > best[0] and not parts:
            best, of_best = chosen, candidates
    if strays and len(best[1]) < 2:
        best, of_best = max(((best, of_best), *others), key=lambda pair: pair[0][0])
    if not (run := _titles_that_ask(items, without, best[1])):
        run = _continued(items, best[1], sorted(sections))
        run = _completed(items, run, of_best) if strays else run
    return _with_runs(_behind(run, words))


def _by_word(items: Sequence[Item], without: Collection[int]) -> list[list[_Candidate]]:
    """Heads by each word that is no name of a section."""
    series: dict[str, list[_Candidate]] = {}
    for candidate in _candidates(items, "any", without):
        text = items[candidate.place].text
        word = "".join(re.findall(r"[^\W\d_]+", text[: candidate.end])).casefold()
        if not is_section(text):
            series.setdefault(word, []).append(candidate)
    return list(series.values())


def _completed(items: Sequence[Item], run: Sequence[_Candidate], candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The run, and the heads that its numbers leave over: misprinted, repeated, or begun anew for a few.

    They have the form and the place of the others, and the text behind each asks.
    """
    shapes = Counter(_shape(items, head) for head in run)
    shape, many = shapes.most_common(1)[0] if run else ("", 0)
    if many < _FEWEST_ALIKE or 5 * many < 4 * len(run):
        return [*run]
    tops = {item.box.page: place for place, item in reversed([*enumerate(items)])}
    lefts = {_column(items[head.place]): items[head.place].box.left for head in run}
    complete: list[_Candidate] = []
    for head, end in pairwise([*run, _Candidate(len(items), 0, 0, 0.0)]):
        own = [
            other
            for other in candidates
            if head.place < other.place < end.place
            and _shape(items, other) == shape
            and (
                tops[items[other.place].box.page] == other.place
                or abs(items[other.place].box.left - lefts.get(_column(items[other.place]), 2.0)) < _LEVEL / 2
            )
        ]
        pieces = [items[a.place : b.place] for a, b in pairwise([head, *own, end])]
        if all(map(_asks_something, pieces)) and _are_strays(items, head, own):
            complete += [head, *(replace(other, stray=True) for other in own)]
        else:
            complete.append(head)
    return [*complete, *_extra(items, complete)]


def _are_strays(items: Sequence[Item], head: _Candidate, own: Sequence[_Candidate]) -> bool:
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


def _extra(items: Sequence[Item], run: Sequence[_Candidate]) -> list[_Candidate]:
    """A head without a number behind the last: of a bonus, or set as all others and as no text."""
    first, last = run[0], run[-1]
    lines = {place: item.line for place, item in enumerate(items) if place >= first.place and item.line}
    looks = {_look(items[head.place].line) for head in run}
    text = Counter(_look(line) for place, line in lines.items() if place <= last.place)
    set_apart = len(looks) == 1 and text[next(iter(looks))] == len(run) > _FEWEST_ALIKE and text.total() > 2 * len(run)
    for place, line in lines.items():
        if _BONUS.match(line.text) and place < last.place:
            return []
        if place > last.place and (_BONUS.match(line.text) or (set_apart and _look(line) in looks)):
            rest = items[place:]
            return [_Candidate(place, last.number + 1, 0, 0.0, stray=True)] if _asks_something(rest) else []
    return []


def _look(line: Line | None) -> tuple[bool, float]:
    return (line.bold, round(line.size, 3)) if line else (False, 0.0)


def _shape(items: Sequence[Item], candidate: _Candidate) -> str:
    """The printed form of a number."""
    return re.sub(r"\d+", "#", squeezed(items[candidate.place].text[: candidate.end]))


def _column(item: Item) -> tuple[int, int]:
    return item.box.page % 2, item.column


def _asks_something(piece: Sequence[Item]) -> bool:
    """Checks a question's lines for a demand, points, a blank, a bracket, or options."""
    text = "\n".join(item.text for item in piece)
    return asks(text) or says_worth(text) or bool(_TO_FILL.search(text)) or any(map(_OPTION.search, text.split("\n")))


def _behind(run: list[_Candidate], words: Sequence[_Candidate]) -> list[_Candidate]:
    """The run up to heads by words that count from 1 behind it; numbers below these are parts."""
    first = next((word for word in words if word.number == 1 and word.weight >= _SURE), None)
    heads = [word for word in words if first and word.place >= first.place]
    before = [candidate for candidate in run if first and candidate.place < first.place]
    counted = [head.number for head in heads] == list(range(1, len(heads) + 1))
    return [*before, *heads] if before and counted and len(heads) > 1 else run


def _continued(items: Sequence[Item], chosen: Sequence[_Candidate], sections: Sequence[int]) -> list[_Candidate]:
    """The run, and the next number in brackets right below a section's title that has no other number below it."""
    run = list(chosen)
    for title, end in pairwise([*sections, len(items)]):
        above = [candidate for candidate in run if candidate.place < title]
        below = any(title <= candidate.place < end for candidate in run)
        match = _BRACKETED.match(items[title + 1].text) if above and not below and title + 1 < end else None
        if match and int(match[1]) == above[-1].number + 1:
            run.insert(len(above), _Candidate(title + 1, int(match[1]), match.end(), _SURE))
    return run


def _heads(items: Sequence[Item], chosen: Sequence[_Candidate]) -> bool:
    """Numbers by words that are headings of a source, or count from 1 with text or points behind them."""
    places = [candidate.place for candidate in chosen]
    counted = [candidate.number for candidate in chosen] == list(range(1, len(chosen) + 1))
    if any(_SEVERAL.search(items[place].text) for place in places):
        return False
    spread = bool(places) and ((places[-1] - places[0]) > _SPREAD * len(places) or _worth(items, chosen))
    return len(places) > 1 and (all(items[place].is_heading for place in places) or (counted and spread))


def _worth(items: Sequence[Item], heads: Sequence[_Candidate]) -> bool:
    return all(says_worth(items[head.place].text) for head in heads)


def _preceded(items: Sequence[Item], without: Collection[int], heads: Sequence[_Candidate]) -> bool:
    """More questions are numbered above the first head than by heads, unless all of these have points."""
    if _worth(items, heads):
        return False
    above = _candidates(items[: heads[0].place], "dot", without)
    return len(_best_run(above, (), ())[1]) > len(heads)


def _titles_that_ask(items: Sequence[Item], without: Collection[int], others: Sequence[_Candidate]) -> list[_Candidate]:
    """Chinese numerals, if most have no other numbers below and name no types of questions.

    Behind titles that do, 一、选择题, the others are questions too.
    """
    _, chosen = _best_run(_candidates(items, "han", without), (), ())
    named = sum(bool(section_type(items[candidate.place].text)) for candidate in chosen)
    ends = [*(candidate.place for candidate in chosen[1:]), len(items)]
    below = [
        [other.number for other in others if title.place < other.place < end]
        for title, end in zip(chosen, ends, strict=False)
    ]
    bare = sum(not numbers for numbers in below)
    if mixed := _behind_sections(items, chosen, below, others):
        return mixed
    anew = all(numbers[0] == 1 for numbers in below if numbers) and _ask(items, chosen) and not named
    return chosen if len(chosen) > 1 and (2 * named < len(chosen) < 2 * bare or anew) else []


def _behind_sections(
    items: Sequence[Item], titles: Sequence[_Candidate], below: Sequence[Sequence[int]], others: Sequence[_Candidate]
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
    return bool(section_type(title)) and "本题" not in title and not re.search(r"解答题|计算题|证明题", title)


def _ask(items: Sequence[Item], chosen: Sequence[_Candidate]) -> bool:
    """Titles that have points alone, or say what is given: the numbers below them are parts."""
    rests = [_POINTS.sub("", items[candidate.place].text[candidate.end :]).strip() for candidate in chosen]
    return all(not rest or "$" in rest or _GIVES.search(rest) for rest in rests)


def _candidates(items: Sequence[Item], style: str, without: Collection[int]) -> list[_Candidate]:
    candidates = []
    begins: dict[tuple[int, int], float] = {}
    for item in items:
        column = item.box.page, item.column
        begins[column] = min(item.box.left, begins.get(column, 1.0))
    for place, item in enumerate(items):
        if item.line is None or place in without:
            continue
        if _MARK.fullmatch(item.text) and item.box.left > begins[item.box.page, item.column] + _RIGHT:
            continue
        headed = _OF_HEADINGS.get(style, ()) if item.is_heading else ()
        for pattern in (*headed, *_FORMS[style]):
            match = pattern.match(item.line.text)
            if match and 0 < (number := _value(match[1])) <= MAX_NUMBER:
                weight = _WEIGHTS.get(match.lastgroup or "", 1.2 if pattern in _OF_HEADINGS["dot"] else 1.0)
                if match.lastgroup == "bare" and match[1].startswith("0"):
                    weight = _WEIGHTS["near"]
                share = _WRAPPED if _wrapped(items, place) else 1.0
                announced = number == 1 and place > 0 and bool(_LIST_HEAD.search(items[place - 1].text))
                candidates.append(_Candidate(place, number, match.end(), share * weight, announced=announced))
                break
    candidates = _without_listings(candidates, items)
    lefts = _margins(items, candidates)
    return [_placed(candidate, items[candidate.place], lefts) for candidate in candidates[:MAX_CANDIDATES]]


def _value(number: str) -> int:
    tens, ten, ones = number.rpartition("十")
    return (
        int(number)
        if number.isdecimal()
        else 10 * (_HAN.find(tens or "一") if ten else 0) + max(0, _HAN.find(ones or "零"))
    )


def _without_listings(candidates: Sequence[_Candidate], items: Sequence[Item]) -> list[_Candidate]:
    """Drops bare numbers line after line."""
    runs: list[list[_Candidate]] = [[]]
    for candidate in candidates:
        last = runs[-1][-1] if runs[-1] else candidate
        item = items[candidate.place]
        set_as_code = item.line is not None and item.line.pitch > 0
        says = _ASKS.search(item.text) or (asks(item.text) and not set_as_code)
        bare = _UNSIGNED.fullmatch(item.text[: candidate.end]) and not says
        if not bare or candidate.place - last.place > 1 or candidate.number - last.number > 1:
            runs.append([])
        runs[-1].append(candidate)
    return [candidate for run in runs if len(run) < _LISTED for candidate in run]


def _wrapped(items: Sequence[Item], place: int) -> bool:
    """A line that may continue the sentence of the one before."""
    if not place:
        return False
    last, item = items[place - 1], items[place]
    if last.line is None or last.block is not item.block or _ENDED.search(last.text) or _OPTION.search(last.text):
        return False
    width = item.block.box.right - item.block.box.left
    return width > _COLUMN and last.box.right > item.block.box.right - _FULL * width


def _margins(items: Sequence[Item], candidates: Sequence[_Candidate]) -> dict[tuple[int, int], float]:
    """Left edges of most different numbers, by parity of the page (bound books) and column."""
    lefts: dict[tuple[int, int], list[tuple[float, _Candidate]]] = {}
    for candidate in candidates[:MAX_CANDIDATES]:
        item = items[candidate.place]
        lefts.setdefault(_column(item), []).append((item.box.left, candidate))
    return {key: _margin(sorted(values, key=lambda value: value[0])) for key, values in lefts.items()}


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
    sure = 0.2 * (item.line is not None and item.line.bold) + 0.3 * says_worth(item.text)
    return replace(candidate, weight=candidate.weight + bonus + sure)


def _best_run(
    candidates: Sequence[_Candidate], starts: Sequence[int], sections: Sequence[int]
) -> tuple[float, list[_Candidate]]:
    scores: list[float] = []
    before: list[int] = []
    parts, titles = _parts(candidates, starts), _parts(candidates, sections)
    for index, candidate in enumerate(candidates):
        score, previous = candidate.weight - 0.5 * (candidate.number != 1), -1
        since = _since_title(candidates, titles, index)
        for earlier in range(index):
            last = candidates[earlier].number
            goes_on = any(number == 1 or number > last for number in since)
            anew = candidate.number == 1 and titles[index] > titles[earlier] and not goes_on
            new_part = anew or parts[index] > parts[earlier]
            step = _step(last, candidate.number, new_part)
            step += _RESTART * (candidate.announced and last >= candidate.number and not new_part)
            if scores[earlier] - step + candidate.weight > score:
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


def _since_title(candidates: Sequence[_Candidate], titles: Sequence[int], index: int) -> set[int]:
    """Reliable numbers between the last section's title and a candidate."""
    numbers: set[int] = set()
    if candidates[index].number == 1:
        place = index - 1
        while place >= 0 and titles[place] == titles[index]:
            if candidates[place].weight >= _SURE or candidates[place].number == 1:
                numbers.add(candidates[place].number)
            place -= 1
    return numbers


def _parts(candidates: Sequence[_Candidate], starts: Sequence[int]) -> list[int]:
    return [sum(start <= candidate.place for start in starts) for candidate in candidates]


def _step(last: int, next_: int, new_part: bool) -> float:
    if next_ == last + 1:
        return 0.0
    if next_ > last:
        return min(_GAP * (next_ - last - 1), _WIDEST) if next_ - last <= _FAR else _RESTART
    return 0.5 if new_part else _RESTART + (0 if next_ == 1 else 1.5)


def _with_runs(chosen: Sequence[_Candidate]) -> list[Anchor]:
    anchored: list[Anchor] = []
    for candidate in chosen:
        run = anchored[-1].run + (candidate.number <= anchored[-1].number) if anchored else 0
        anchored.append(Anchor(candidate.place, candidate.number, candidate.end, run, candidate.stray))
    return anchored
