"""Shared passages: text before questions that is theirs, and not of the question that it stands behind.

Contract: a passage that names its questions, or has a title set apart, is theirs; another begins where the question
before has ended, and says that this is a guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, starmap, takewhile
from statistics import median

from livek12.core.scripts import both_scripts
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.pages.blocks import CHOICE, PICTURE, is_caption
from livek12.dataset_builders.ingest.questions.headings import (
    ASKED,
    INSTRUCTS,
    SOLVED,
    begins_answer,
    begins_answers,
    counts_questions,
    is_running,
    is_section,
    named_questions,
    passage_range,
    speaks_of_exam,
    width,
)
from livek12.dataset_builders.ingest.questions.kinds import asks
from livek12.dataset_builders.ingest.questions.labels import first_label, label_lists
from livek12.dataset_builders.ingest.questions.numbering import Anchor, asks_something
from livek12.dataset_builders.ingest.questions.options import CHOOSES, begins_option
from livek12.dataset_builders.ingest.questions.points import marks, says_worth
from livek12.dataset_builders.ingest.questions.stream import Item, shape_of
from livek12.dataset_builders.ingest.questions.texts import wraps

_TITLE = re.compile(r"(?:\d{1,2}\.?\s+)?(?=.*[^\W\d_]{3})[A-Z가-힣一-鿿][^$=|\[\]()（），。.;；?？!！_]{2,60}")
_BRACKET = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]\s*$")
_ENDED, _LAST = re.compile(r"[。．.?？!！]\W{0,2}$|다$|\d\s*(?:\w+\s*)?[)\]）]$"), 4
"""The end of a sentence or of points; lines of a question in which its last demand is."""
_LABELLED = re.compile(rf"\s*(?:{CHOICE}|[(（]\s*(?:[a-z]|[ivx]+|\d{{1,2}})\s*[)）]|[ivx]{{1,4}}[.．)]\s)")
"""Begins an option or a part."""
_ANNOUNCES = both_scripts(
    r"(?:아래|다음)의?\s*(?:문제|물음|작업|질문)|\b(?:following|below)\b.{0,30}(?:questions?|problems?|tasks?)\b"
    r"|(?:下列|以下|下面)(?:各|问|的?)?(?:小?题|问题)|\b(?:questions?|problems?) (?:below|that follow)\b",
    re.IGNORECASE,
)
_NEXT_FEW = both_scripts(
    r"\bnext\b[^.]{0,20}\b(?:questions|problems)\b|(?:接下来|以下|下面)的?几[个道]?小?题", re.IGNORECASE
)
_FEW = 4
"""Questions that "the next few" are."""
_LARGER = 1.2
"""Size of a title's letters, of those of text."""
_FEWEST_LABELS = 3
_OUT = 0.012
"""Of the page's width: text that stands so far left of all of a question's is not its own."""
_BARE = 20
"""Letters of a line of points alone."""
_INNER = 0.08
"""Of the page's width: a line that begins so far right of all others is centred or at the edge."""
_OF_PART = re.compile(
    r"\s*(?:(?:q|question|problem|exercise)\s*(\d{1,3})\s?[(.]?[a-z]\b|(\d{1,3})\s?\([a-h]\))", re.IGNORECASE
)
"""The head of a part that repeats its question's number."""
_OF_EXAM = re.compile(rf"{INSTRUCTS.pattern}|\b(?:open|stuck|confused|credit|version)\b", re.IGNORECASE)
"""Words of rules for candidates, and of their help."""
_MOST_ALIKE = 2
"""Lines of one title: more are of each question, as "Answer"."""
_WORD = re.compile(r"[^\W\d_]{2}")
_GLOSS = re.compile(r"\s*[*＊]{1,3}\s*[A-Za-z][A-Za-z’' -]{1,40}\s?[:：]")
"""A word of a passage, explained below it."""
_IN_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_MOST_FORM, _FEWEST_FORMS, _MOST_RULES = 4, 3, 40
"""Lines at the end of a question that may be those of the form, how often they come again, and those of rules."""
_BRIEF = 2
"""Lines of a title, a foot or a note."""
_LEAST = 100
"""Letters of a passage that nothing names, one of Chinese or Korean counting two: fewer are none."""
Columns = Mapping[tuple[int, int], tuple[float, float]]
"""Left and right edges, by page and column."""


@dataclass(frozen=True)
class SharedText:
    """A shared text.

    Attributes:
        numbers: first and last of its questions; None for a title alone or a cover.
        guess: a line for a person where nothing printed says whose it is.
        is_title: it begins a section below that of its question.
        is_own: it stays in its question, which is doubted.
    """

    numbers: tuple[int, int] | None
    guess: str = ""
    is_title: bool = False
    is_own: bool = False


def find_passages(
    items: Sequence[Item],
    heads: Mapping[int, Anchor],
    titles: Collection[int],
    columns: Columns,
) -> dict[int, SharedText]:
    """The passages of a paper with its heads and titles, by the place of their first item."""
    passages = _set_apart(items, heads)
    bounds = sorted({*heads, *titles, len(items)})
    guesses: dict[int, int] = {}
    usual = median([0.0, *(_gap(items[at - 1], items[at]) for at in heads if at)])
    forms = _form_ends(items, bounds, heads)
    passages |= dict.fromkeys(forms.values(), SharedText(None))
    for begin, end in pairwise([-1, *bounds]):
        parted = _parted(items, begin, end, heads)
        if end in heads:
            own = begin if begin in heads else begin + 1
            passages |= _named(items, own, range(parted + 1, end), heads[end], columns)
        stop = forms.get(end, end)
        if begin not in heads or any(begin < place < stop for place in passages):
            continue
        following = items[end] if end in heads else None
        announced = next((at for at in range(begin + 1, stop) if _NEXT_FEW.search(items[at].text)), begin)
        rest = announced - begin or _own_end(items[begin:stop], following, usual, columns)
        lead = begin + rest
        if not rest or lead <= parted:
            continue
        above, below = items[begin:lead], items[lead:stop]
        shown = one_line(items[lead].text or items[lead].block.kind, 40)
        text = f"text behind question {heads[begin].number} may not be its own: {shown!r}"
        if _is_of_form(below, above):
            passages[lead] = SharedText(None, text, is_own=True)
        elif end in titles:
            continue
        elif _is_brief(below, above):
            titled = _is_set_apart(items[lead], above)
            sure = titled or (not following and speaks_of_exam("\n".join(item.text for item in below)))
            numbers = (heads[end].number, _last_part(heads, end)) if following else None
            passages[lead] = SharedText(numbers, "" if sure else text, is_title=titled)
        elif following:
            guesses[lead] = end
        else:
            passages[lead] = SharedText(None, text, is_own=True)
    ends = sorted({*passages, *guesses, *titles, len(items)} - {*forms.values()})
    for place, first in guesses.items():
        end = next(bound for bound in ends if bound > first)
        passages[place] = _guessed(items, place, range(first, end), heads, bounds, columns)
    return passages | _titles(items, heads, titles)


def _guessed(
    items: Sequence[Item],
    place: int,
    run: range,
    heads: Mapping[int, Anchor],
    bounds: Sequence[int],
    columns: Columns,
) -> SharedText:
    """The passage of a run's questions: those on the first's page, or all with options or below a title."""
    before, first = max(at for at in heads if at < place), run.start
    behind = next(bound for bound in bounds if bound > first)
    titled = _is_set_apart(items[place], items[before:place])
    choices = items[place].line and _options_end(items[before:place], columns)
    choices = choices and _options_end(items[first:behind], columns)
    here = [at for at in heads if at in run]
    here = [at for at in here if titled or choices or items[at].box.page == items[first].box.page]
    here = here[:_FEW] if _NEXT_FEW.search(items[place].text) else here
    last = max(_last_part(heads, first), *(heads[at].number for at in here))
    text = f"text between questions {heads[before].number} and {heads[first].number} may be of either"
    guess = "" if titled else f"{text}: {one_line(items[place].text or items[place].block.kind, 40)!r}"
    return SharedText((heads[first].number, last), guess)


def _parted(items: Sequence[Item], begin: int, end: int, heads: Mapping[int, Anchor]) -> int:
    """Place of the last head of a part with its question's number, 10C or 10(c)."""
    number = heads[begin].number if begin in heads else 0
    named = ((at, _OF_PART.match(items[at].text)) for at in range(begin + 1, end))
    return max((at for at, part in named if part and int(part[1] or part[2]) == number), default=begin)


def _last_part(heads: Mapping[int, Anchor], first: int) -> int:
    """Number of the last part, 7-5, of a question; else its own."""
    level = heads[first].label.rpartition("-")[0]
    if not level or heads[first].number > 1:
        return heads[first].number
    return max(each.number for at, each in heads.items() if at >= first and each.label.startswith(f"{level}-"))


def _titles(items: Sequence[Item], heads: Mapping[int, Anchor], bounds: Collection[int]) -> dict[int, SharedText]:
    """Titles in a look that only lines right before questions have, the first one among them; those of empty pages."""
    looks: dict[tuple[bool, float, str], list[int]] = {}
    above, ends = min(heads, default=0) - 1, {*heads, *bounds, len(items)}
    for place, item in enumerate(items):
        if item.line and item.line.place >= 0 and place >= above and place not in ends:
            sign = item.text[:1] if _BRACKET.fullmatch(item.text) else ""
            looks.setdefault((item.line.bold, round(item.line.size, 3), sign), []).append(place)
    own = next((places for places in looks.values() if places[0] == above and len(places) > 1), [])
    names = {at: _BRACKET.sub("", items[at].text) or items[at].text.strip("[(（）)] 0123456789") for at in own}
    leads = all(at + 1 in (*heads, *bounds, *own) and _is_title(name) for at, name in names.items())
    many = Counter(item.box.page for item in items)
    alone = (at for at, item in enumerate(items) if many[item.box.page] == 1 and at > above + 1 and item.line)
    bare = [at for at in alone if at + 1 in ends and at not in ends and _is_title(items[at].text)]
    return dict.fromkeys(bare, SharedText(None)) | dict.fromkeys(own if leads else [], SharedText(None, is_title=True))


def _is_of_question(text: str) -> bool:
    """Checks for points, a question mark or an option."""
    return says_worth(text) or "?" in text or "？" in text or begins_option(text)


def _named(items: Sequence[Item], own: int, run: range, following: Anchor, columns: Columns) -> dict[int, SharedText]:
    """Passages of a run that name later questions, or the one behind it, once that from `own` on has demanded."""
    passages = {}
    for place in run:
        before, below = items[own:place], items[place + 1].text if place + 1 < run.stop else ""
        line = items[place].text
        line = "" if is_caption(line) or counts_questions(line) else line
        numbers = named_questions(line, below, following.number)
        if not numbers or numbers[1] < following.number or (not own and numbers[0] > following.number):
            continue
        if (
            numbers[0] < numbers[1]
            or own == run.start
            or str(following.number) in re.findall(r"\d+", f"{line} {below}")
            or any(asks(item.text) for item in before)
            or _options_end(before, columns)
        ):
            passages[place] = SharedText(numbers)
    return passages


def _own_end(own: Sequence[Item], below: Item | None, usual: float, columns: Columns) -> int:
    """The place from which the lines behind a question's head are not its own; 0 if all are.

    They are behind its last option, or behind a sentence on a new page, left of all its text or at a distance that its
    own lines do not have; `below` is the next head, and `usual` the distance of heads from what is above them.
    """
    options = _options_end(own, columns)
    if options:
        place = next((at for at in range(options, len(own)) if own[at].line), len(own))
        near = below and place < len(own) and 0 < 2 * _gap(own[place - 1], own[place]) < _gap(own[-1], below)
        if not near and _leads(own[place:], own[:place], closed=True):
            return place
    worth = {id(each) for each in own if len(each.text) <= _BARE and marks(each.text)}  # lines of points alone
    for place in range(max(options, 1), len(own)):
        item, before, rest = own[place], own[:place], own[place:]
        texts = [each for each in before if each.text]
        lines = [each.text for each in texts[-_LAST:]]
        closed = place > 1 and bool(texts) and id(texts[-1]) in worth
        demanded = lines and _ENDED.search(lines[-1]) and (closed or any(map(asks, lines)))
        wrapped = own[place - 1].line and wraps(own[place - 1], columns)
        out = _is_out(item, before) and not wrapped and any(asks(each.text) for each in before)
        sides = own[max(0, place - 3) : place], own[place : place + 2]  # a line of code may be set as text
        listed = not is_running(item.text) and all(
            any(each.line and each.line.pitch for each in some) for some in sides
        )
        if place != options and (item.line is None or listed or not (demanded or out)):
            continue
        same = [each for each in before if (each.box.page, each.column) == (item.box.page, item.column)]
        edges = [each.box.left for each in same if id(each) not in worth]
        left = not same or item.box.left < min(each.box.left for each in same) - _OUT
        steps = [0.3 * min(each.line.size for each in before if each.line), *starmap(_gap, pairwise(before))]
        above = _gap(own[place - 1], item)
        under = _gap(rest[-1], below) if below else 1.0
        nearer = above > 1.2 * under and (item.line or under > 0)
        far = above > 1.5 * max(steps) and (nearer or (item.line and above > 1.5 * usual))
        if (
            left
            and item.line
            and (_leads(rest, before, closed=out) or (out and not any(_is_kept(each.text) for each in rest)))
        ):
            return place
        right = not left and above > 0 and item.box.left > max(edges, default=1.0) + _INNER
        ends = below is None and speaks_of_exam("\n".join(each.text for each in rest[:_BRIEF]))
        apart = ends or left or far or right or _ANNOUNCES.search(rest[-1].text)
        if (len(rest) <= _BRIEF and apart and _is_brief(rest, before)) or (far and not any(each.line for each in rest)):
            return place
        if _is_of_form(rest, before):
            return place
    return 0


def _is_out(item: Item, before: Sequence[Item]) -> bool:
    """Checks for the first line of a page, left of lines that hang behind a number."""
    if item.box.page <= before[-1].box.page or not _WORD.search(item.text):
        return False
    head = before[0].box.page, item.column
    lefts = [each.box.left for each in before if each.line and (each.box.page, each.column) == head]
    return len(lefts) > 2 and max(lefts[0], item.block.box.left) < min(lefts[1:]) - _OUT


def _gap(above: Item, below: Item) -> float:
    """White between two items of a column; 0 for others."""
    level = (above.box.page, above.column) == (below.box.page, below.column)
    return max(0.0, below.box.top - above.box.bottom) if level else 0.0


def _form_ends(items: Sequence[Item], bounds: Sequence[int], heads: Collection[int]) -> dict[int, int]:
    """Begins of the form's lines, those on the exam that come again, but for numbers, behind most questions."""
    ends = [(max(begin + 1, end - _MOST_FORM), end) for begin, end in pairwise(bounds) if begin in heads]
    lines = {
        at: shape_of(item.text)
        for span in ends
        for at, item in zip(range(*span), items[slice(*span)], strict=True)
        if not (_asks(item) or PICTURE in item.text or (item.line and item.line.pitch))
    }
    many = Counter(shape for span in ends for shape in {lines.get(at, "") for at in range(*span)})
    forms = {}
    for begin, end in ends:
        run = [*takewhile(lambda at: at in lines and many[lines[at]] >= _FEWEST_FORMS, range(end - 1, begin - 1, -1))]
        if speaks_of_exam("\n".join(items[at].text for at in run if 2 * many[lines[at]] >= len(ends))):
            forms[end] = run[-1]
    return forms


def _is_of_form(rest: Sequence[Item], before: Sequence[Item]) -> bool:
    """Checks for lines on the exam, the first centred, in brackets or in capitals."""
    if len(rest) > _MOST_RULES or _asks(rest[0]):
        return False
    lines = [item.text for item in rest if item.line and not (item.line.pitch or _is_kept(item.text))]
    if len(lines) < len(rest) or not speaks_of_exam("\n".join(lines)):
        return False
    right = max(item.box.left for item in before) + _INNER
    apart = rest[0].box.left > right or _IN_BRACKETS.fullmatch(lines[0]) or lines[0].isupper()
    return bool(apart) and 2 * sum(map(bool, map(INSTRUCTS.search, lines))) > len(lines)


def _asks(item: Item) -> bool:
    """Checks for a picture, or a line of a question."""
    return item.line is None or item.text[:1].islower() or asks(item.text) or _is_kept(item.text)


def _is_kept(text: str) -> bool:
    """Checks for a label, a note of the source or on a word, points, a blank, or an answer."""
    labelled = text.startswith(("[", "【")) or first_label(text) or _LABELLED.match(text)
    answered = begins_answer(text) or SOLVED.match(text) or _GLOSS.match(text)
    return bool(labelled or answered or marks(text) or says_worth(text) or "__" in text)


def _is_brief(rest: Sequence[Item], before: Sequence[Item] = ()) -> bool:
    """Checks for lines that ask nothing or announce questions, unlike those of questions, and new in theirs."""
    text = "\n".join(item.text for item in rest)
    own = any(_is_kept(item.text) for item in rest) or {item.text for item in rest} & {item.text for item in before}
    words = all(
        item.line and not (item.line.pitch or item.line.look) and re.search(r"[^\W\d_]", item.text) for item in rest
    )
    if not words or own or "$" in text or is_caption(rest[0].text) or text[:1].islower():
        return False
    return bool(_ANNOUNCES.search(text)) or (width(text) < _LEAST and not (asks(text) or CHOOSES.search(text)))


def _is_set_apart(item: Item, others: Sequence[Item]) -> bool:
    """Checks for a title: bold or larger as no line of others."""
    lines = [other.line for other in others if other.line]
    line = item.line
    if line is None or line.place < 0 or not lines or not _is_title(line.text.strip()):
        return False
    return line.bold > any(other.bold for other in lines) or line.size > _LARGER * max(other.size for other in lines)


def _leads(rest: Sequence[Item], before: Sequence[Item], closed: bool) -> bool:
    """Checks that lines behind a question may lead others: prose without parts, answers, points or code."""
    lines = [item.text for item in rest if item.line]
    prose = sum(width(line) for line in lines if is_running(line))
    if prose < _LEAST or 2 * prose < sum(map(width, lines)):
        return False
    own = (marks(line) or _LABELLED.match(line) or (not closed and first_label(line)) for line in lines)
    solved = any(begins_answer(item.text) or SOLVED.match(item.text) for item in (*before, *rest))
    return not any(own) and not solved and not begins_answers(lines[0]) and not ASKED.match(lines[0])


def _options_end(own: Sequence[Item], columns: Columns) -> int:
    """End of the last option's paragraph; 0 without options: a list whose texts ask nothing."""
    text = "\n".join(item.text for item in own)
    lists = [each for each in label_lists(text) if not (marks(text[each.start :]) or "?" in text[each.start :])]
    if not lists:
        return 0
    last = max(lists, key=lambda each: each.labels[-1].start)
    if last.is_number and (len(last.labels) == _FEWEST_LABELS or any(map(asks, last.texts[:-1]))):
        return 0  # parts
    end = 1 + sum(place <= last.labels[-1].start for place in accumulate(len(item.text) + 1 for item in own))
    at = own[end - 1]
    while end < len(own) and own[end].line:
        level = (own[end].box.page, own[end].column) == (at.box.page, at.column)
        hangs = (
            level
            and own[end].box.left > at.box.left + _OUT
            and own[end].box.top - own[end - 1].box.bottom < (own[end].box.bottom - own[end].box.top)
        )
        if (not hangs and not wraps(own[end - 1], columns)) or _is_set_apart(own[end], own[:end]):
            break
        end += 1
    return end


def _set_apart(items: Sequence[Item], chosen: Mapping[int, Anchor]) -> dict[int, SharedText]:
    """Titles, and the numbers that they lead, if text stands between; before the first question with others like it.

    They are larger than text, up to the next, or bold at the top of a page, for it and those that "continue" it.
    """
    lines = {place: item.line for place, item in enumerate(items) if item.line and item.line.place >= 0}
    usual = median(line.size for line in lines.values()) if lines else 0.0
    tops = {items[place].box.page: place for place in sorted(lines, reverse=True)}
    many = Counter(line.text.strip() for line in lines.values())
    heads = sorted(chosen)
    titles: dict[int, set[int]] = {}
    for place, line in lines.items():
        after = [at for at in heads if at > place]
        if place in chosen or not after or not _is_title(line.text.strip()) or many[line.text.strip()] > _MOST_ALIKE:
            continue
        if any(_is_of_question(item.text) for item in items[place + 1 : after[0]]):
            continue
        if place - 1 in chosen and not asks_something(items[place - 1 : place]):
            continue  # its own title, or its text
        page = items[place].box.page
        below = [lines[at].bold for at in lines if at > place and items[at].box.page == page]
        if line.size > _LARGER * usual:
            titles[place] = {items[at].box.page for at in after} | {0}
        elif tops[page] == place and line.bold and 2 * sum(below) < len(below) and items[after[0]].box.page == page:
            titles[place] = {page}
            first = next((at for at in titles if line.text.startswith(f"{items[at].text}, ")), place)
            titles[first].add(page)
    later = {round(lines[place].size, 3) for place, pages in titles.items() if place > heads[0] and 0 in pages}
    front = [at for at in titles if at < heads[0] and items[at].box.page > items[0].box.page and 0 in titles[at]]
    texts = [item.text for item in items[front[0] + 1 : heads[0]]] if front else []
    prose = sum(width(text) for text in texts if is_running(text))
    if prose < _LEAST or "•" in "".join(texts) or 4 * sum(map(bool, map(_OF_EXAM.search, texts))) > len(texts):
        front = []  # rules behind the cover
    titles = {
        at: pages for at, pages in titles.items() if at > heads[0] or at in front or round(lines[at].size, 3) in later
    }
    passages: dict[int, SharedText] = {}
    for place, pages in titles.items():
        end = min((at for at in titles if at > place and 0 in titles[at] and 0 in pages), default=len(items))
        own = [chosen[at].number for at in heads if place < at < end and items[at].box.page in pages]
        first = next((at for at in heads if at > place), place)
        leads = any(item.line is None or is_running(item.text) for item in items[place + 1 : first])
        guess = f"text behind the cover stands in each question: {lines[place].text!r}" if place in front else ""
        passages[place] = SharedText((own[0], own[-1]) if own and leads else None, guess)
    return passages


def _is_title(text: str) -> bool:
    return (
        bool(_TITLE.fullmatch(text))
        and text[-1] not in ":："
        and not (begins_answers(text) or begins_answer(text) or is_section(text) or passage_range(text))
    )
