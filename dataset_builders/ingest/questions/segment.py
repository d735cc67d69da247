"""Segmentation: the items of each question, sections, shared passages, parts; the place of each question.

Contract: every item of the body goes to one question, passage, section's title or the front; only notices and the key
go elsewhere.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby, pairwise, takewhile
from statistics import median

from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.ingest.questions.cells import rejoin_columns
from livek12.dataset_builders.ingest.questions.examples import heads_like
from livek12.dataset_builders.ingest.questions.headings import (
    END,
    INSTRUCTS,
    NUMBERED_TYPE,
    RULES,
    begins_answers,
    follows,
    is_notice,
    is_part_of_section,
    is_running,
    is_section,
    is_type_name,
    names_answers,
    numeral,
    passage_range,
    rank_by_name,
    rank_in_series,
    rank_of,
    short_titles,
    speaks_of_exam,
    title_answered,
    width,
)
from livek12.dataset_builders.ingest.questions.kinds import asks, section_type
from livek12.dataset_builders.ingest.questions.numbering import (
    Anchor,
    anchors,
    asks_something,
    on_own_pages,
    without_number,
)
from livek12.dataset_builders.ingest.questions.passages import SharedText, find_passages
from livek12.dataset_builders.ingest.questions.points import all_each, marks, says_worth
from livek12.dataset_builders.ingest.questions.stream import Item, Stream
from livek12.dataset_builders.reading.text import mask_formulas

_PART_NAME = re.compile(r"[(（〔]\s*([^()（）〔〕]{2,24}?)\s*[)）〕]")
_NO_NAME = both_scripts(
    r"[홀짝]수형?|[A-Z가나]형|제?\d*교시|[AB]卷|共.*|.*[:：?？].*|\d.*|.*\d+(?:분|점|分|p)|.{0,2}回忆版|[A-Za-z]{1,4}|[가나다라마]"
)
_FORM = re.compile(r"(?<![가-힣])(홀수|짝수)\s*형|[(（]\s*([AB])\s*[)）]?\s*(?:형|卷)")
_TITLE_PAGE = re.compile(r"교시|영역|문제지|시험|卷|部分|\bpaper\b|\bsection\b", re.IGNORECASE)
_LONGEST_HEADING = 50
TOP = 0.2
"""The part of a page, from above, in which its part of the paper is named."""


def parts(stream: Stream) -> Mapping[int, str]:
    """Name of the part of the paper for each page, "" for none.

    An elective part is named in brackets at the top of its pages, or of its title page, and goes on to the next. A
    paper's only name is its subject. The name of one of several forms (홀수형, 짝수형) goes first.
    """
    forms = _forms(stream)
    several = len({*forms.values()}) > 1
    begins = _begins(stream)
    pages = sorted(stream.headings)
    if len({*begins.values()}) == 1 and begins.get(pages[0]):
        begins = {}
    by_page, name = {}, ""
    for place, page in enumerate(pages):
        if place and forms[page] != forms[pages[place - 1]]:
            name = ""
        name = begins.get(page, name)
        by_page[page] = " ".join(word for word in (forms[page] if several else "", name) if word)
    return by_page


def _begins(stream: Stream) -> dict[int, str]:
    """Pages that name a part: on a title line, or on two pages running."""
    pages = sorted(stream.headings)
    named = {page: _names(stream, page) for page in pages}
    lines = [line for page in pages for line in stream.headings[page]]
    lines += [item.text or item.block.text for item in (*stream.titles, *stream.items)]
    everything = squeezed("".join(lines))
    by_page: dict[int, str] = {}
    for page in pages:
        titled = {name for name, _ in named[page]} if any(title for _, title in named[page]) else set()
        near = {name for other in (page - 1, page + 1) for name, _ in named.get(other, ())}
        running = {name for name, _ in named[page]} & near
        if names := titled or running:  # a title printed over another line reads as no name that comes again
            by_page[page] = max(sorted(names), key=lambda name: (everything.count(f"({squeezed(name)})"), -len(name)))
    return by_page


def _forms(stream: Stream) -> dict[int, str]:
    """The form of each page; by default that of the page before."""
    by_page: dict[int, str] = {}
    last = ""
    for page in sorted(stream.headings):
        names = [match for text in _headings(stream, page) for match in _FORM.finditer(text)]
        if names:
            last = f"{names[0][1]}형" if names[0][1] else names[0][2]
        by_page[page] = last
    return by_page


def _headings(stream: Stream, page: int) -> list[str]:
    items = [*stream.titles, *stream.items]
    top = [item.text or item.block.text for item in items if item.box.page == page and item.box.bottom < TOP]
    lines = [line for text in (*stream.headings[page], *top) for line in text.split("\n")]
    return [line for line in lines if len(line) <= _LONGEST_HEADING]


def _names(stream: Stream, page: int) -> set[tuple[str, bool]]:
    """Names in brackets at the top of a page; true for the line of a title page."""
    names = set()
    for text in _headings(stream, page):
        for match in _PART_NAME.finditer(text):
            name = " ".join(match[1].split())
            if name[:1].isalpha() and not _NO_NAME.fullmatch(squeezed(name)):
                names.add((name, bool(_TITLE_PAGE.search(text))))
    return names


_LONGEST_RULES, _LONGEST_PASSAGE = 40, 250
"""Lines."""
_ONE = both_scripts(
    r"\s*(?:(?:Question|Problem|Q|第|문제)\s*\.?\s?)?1\s*(?:[.．、)）:：题]|\s)|\s*(?:第一题|一\s*[、．.])",
    re.IGNORECASE,
)
"""Begins a list: of the rules, and behind it of the questions."""
_ENDS_SENTENCE = re.compile(r"[.。!?！？]\s*$")
_AGAIN, _HEAD_SIGNS, _MOST_AGAIN = 3, 30, 0.7
"""Heads that come again, their signs that do, and the share of heads: a scan does not read all alike."""
_SURELY_OWN = 12
"""Width of a text that comes again by no chance."""
_ANSWERED = both_scripts(
    r"정답\s{0,4}[:：]?\s{0,4}[^\s:：_＿]|(?:^|[【\[])(?:\d+题)?答案\s*[】\]:：](?!\s*[_＿])|【(?:解析|详解)】|\[(?:해설|해석)\]"
)
"""A line of an answer."""
_MORE, _LEAST_TITLE = 5, 3
"""How much more lines of answers are behind the begin of the key; letters of a line of the front."""
_BRACKETS = re.compile(r"[\[(（]")
_DIGITS = re.compile(r"\s*(\d{1,2})(?!\.?\d)")
_NUMBERED = re.compile(r"\s*[(（【]?(?:문제|Question|Problem)?\s*\d{1,3}\s*[.．、)）】](?!\d)")
_ANSWER_LINE = re.compile(r"(?:(\d{1,3})\s*[.)]\s*_+|Answers? (?:of|to|for) (?:Problem|Question) (\d{1,3})\s*[:：]?)")
"""A line to write on with the number of a question that has begun."""
_NUMERALS = {*"ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩ"}
"""Set in a letter of their own, they count nothing but sections."""
_INDENTED, _OFF, _MOST_BELOW = 0.25, 0.08, 0.7
"""Least left edge of a centred head, and twice its distance from the middle, of the page; share with numbers below."""
_LARGER = 1.2
"""Size of a head's letters, of those of text."""
_PADDING = 1.0
"""Heights of a letter that a question's box leaves around it."""


@dataclass
class Section:
    """A titled part of a paper, with instructions; a part （一） has those of its 一、 above it."""

    title: str = ""
    items: list[Item] = field(default_factory=list)
    above: str = ""

    @property
    def own(self) -> str:
        """Title and instructions."""
        return "\n".join(item.text for item in self.items)

    @property
    def text(self) -> str:
        """Title and instructions, then those of its parent section."""
        return f"{self.own}\n{self.above}" if self.above else self.own


@dataclass
class Segment:
    """A question.

    Attributes:
        number: as printed.
        end: of the number in the first line.
        items: lines, tables and pictures, in reading order.
        elective: name of the elective part, "" outside.
        passage: shared with its neighbours, before its own text.
        inline: its number stands within the passage.
        printed: its answer or solution, told from its text by how it is set.
        filled: the answers of its blanks, or the labels of its options, told so; `unanswered`: the other parts.
        guessed: nothing else says that these are answers.
        guess: a line on text that may be of this question or of its neighbour.
        stray: its number does not go on from the last, in its form, or it has none.
        label: the letter that is its number, or its number with its level.
    """

    number: int
    end: int
    items: list[Item]
    section: Section
    elective: str = ""
    passage: list[Item] = field(default_factory=list)
    inline: bool = False
    printed: list[Item] = field(default_factory=list)
    filled: str = ""
    unanswered: str = ""
    guessed: bool = False
    guess: str = ""
    stray: bool = False
    label: str = ""


@dataclass
class Body:
    """A segmented paper.

    Attributes:
        front: before the first question.
        answers: behind their title.
        part_heads: titles of parts of questions.
        named: numbered lines that name a type, 6. 选择题, and are titles.
    """

    front: list[Item] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    answers: list[Item] = field(default_factory=list)
    part_heads: list[Item] = field(default_factory=list)
    named: list[Item] = field(default_factory=list)

    @property
    def by_section(self) -> dict[int, list[int]]:
        """Places of the questions by the id of their section."""
        places: dict[int, list[int]] = {}
        for place, each in enumerate(self.segments):
            places.setdefault(id(each.section), []).append(place)
        return places

    @property
    def owners(self) -> dict[int, int]:
        """Place of each item's question, by the item's id; -1 for sections and the key."""
        others = [*self.answers, *(item for section in self.sections for item in section.items)]
        owners = dict.fromkeys(map(id, others), -1)
        for place, each in enumerate(self.segments):
            owners |= dict.fromkeys(map(id, (*each.passage, *each.items, *each.printed)), place)
        return owners


def segment(stream: Stream) -> Body:
    """Segments a paper."""
    end = _answers_begin(stream)
    body = Body(answers=stream.items[end:])
    items = stream.items[:end]
    part_of = parts(stream)
    titles = [place for place, item in enumerate(items) if item.is_heading or (item.line and is_section(item.text))]
    rules = _rules(items)
    shown = heads_like(stream, items, rules)
    heads = _section_heads(items, {anchor.place for anchor in shown})
    titles = sorted({*titles, *heads})
    names = ["", *(part_of.get(item.box.page, "") for item in items)]
    starts = [place for place, (last, name) in enumerate(pairwise(names)) if name != last]
    others = rules | heads
    chosen = shown or anchors(items, starts, others, titles, strays=True)
    if shown:
        places = {anchor.place for anchor in shown}
        heads, titles = heads - places, [place for place in titles if place not in places]
    elif lettered := on_own_pages(items, chosen):
        heads, titles, chosen = set(), [], lettered
    elif listed := _listed_rules(items, chosen):
        rules |= {*listed}
        others = rules | heads
        chosen = anchors(items, starts, others, titles, strays=True)
    if (end := _second_time(items, chosen, _forms(stream))) < len(items):
        first = segment(replace(stream, items=items[:end]))
        return replace(first, answers=[*first.answers, *stream.items[end:]])
    inner = set() if shown else _part_heads(items, chosen, heads)
    pairs = pairwise(() if shown else chosen)
    typed = [
        (a, b)
        for a, b in pairs
        if b.number == 1
        and (
            section_type(items[a.place].text)
            or (b.part and not any(asks(item.text) for item in items[a.place : b.place]))
        )
    ]
    ends = [place for place in titles if not is_part_of_section(items[place].text)]
    named = {a.place for a, b in typed if not any(a.place < place < b.place for place in ends)}
    named |= heads - inner
    chosen = [anchor for anchor in chosen if anchor.place not in named]
    body.named = [items[place] for place in sorted(named)]
    if inner:
        chosen = anchors(items, starts, others, [place for place in titles if place not in inner], strays=True)
        body.part_heads = [items[place] for place in sorted(inner)]
    ruled = [items[place] for place in sorted(rules) if chosen and place > chosen[0].place]
    order = rejoin_columns(items, [anchor.place for anchor in chosen])
    if order != list(range(len(items))):
        items = [items[place] for place in order]
        chosen = [replace(anchor, place=order.index(anchor.place)) for anchor in chosen]
    masthead = [*_masthead(items, chosen, part_of), *ruled]
    before = items[: chosen[0].place if chosen else 0]
    body.front = [*{id(item): item for item in (*before, *masthead)}.values()]
    above = {id(item) for item in masthead}
    _distribute(items, {anchor.place: anchor for anchor in chosen}, part_of, body, above, stream.columns)
    _share_texts(body)
    _add_inline(body)
    _add_unnumbered(body)
    _name_sections(body.segments)
    return body


def _section_heads(items: Sequence[Item], shown: Collection[int] = ()) -> set[int]:
    """Places of heads set apart, bold, centred or larger, that count up from I, A or 1, with numbers behind them.

    Names of questions, 第二题, are among them where a person has `shown` others.
    """
    lines = {place: item.line for place, item in enumerate(items) if item.line and item.line.place >= 0}
    usual = median(line.size for line in lines.values()) if lines else 0.0
    few = 3 * sum(line.bold for line in lines.values()) < len(lines)
    series: dict[str, list[int]] = {}
    for place, line in lines.items():
        centred = line.box.left > _INDENTED and abs(line.box.left + line.box.right - 1) < _OFF
        set_apart = (line.bold and few) or centred or line.size > _LARGER * usual
        named = rank_by_name(line.text) if shown and place not in shown else []
        ranked = set_apart or line.text.strip()[:1] in _NUMERALS
        for name, rank in named or (rank_in_series(line.text) if ranked else []):
            places = series.setdefault(name, [])
            if rank == len(places):
                places.append(place)
    numbered = [(place, int(match[1])) for place, line in lines.items() if (match := _DIGITS.match(line.text))]
    heads = {at for (at, a), (_, b) in pairwise(numbered) if b != a + 1 and NUMBERED_TYPE.fullmatch(lines[at].text)}
    for places in series.values():
        runs = [items[a + 1 : b] for a, b in pairwise([*places, len(items)])]
        below = [any(_NUMBERED.match(item.text) for item in run) for run in runs]
        larger = all(lines[place].size > _LARGER * usual for place in places)
        asking = larger and any(below) and all(map(asks_something, runs))  # some have a question each
        if len(places) > 1 and (sum(below) > _MOST_BELOW * len(runs) or asking):
            heads |= {*places}
    return heads


def _listed_rules(items: Sequence[Item], chosen: Sequence[Anchor]) -> range:
    """A first run of rules without a title, which speak of the exam, or of contents: lines that are heads again."""
    runs = [list(run) for _, run in groupby(chosen, key=lambda anchor: anchor.run)]
    if (
        len(runs) < 2
        or section_type(items[chosen[0].place].text)
        or any(is_section(item.text) for item in items[: runs[0][0].place])
    ):
        return range(0)
    first, later = runs[0], [anchor for run in runs[1:] for anchor in run]
    texts = [[items[anchor.place].text for anchor in some] for some in (first, later)]
    names = [{re.sub(r"[\W\d]+", "", _BRACKETS.split(text)[0]) for text in some} for some in texts]
    if len(first) > 1 and first[-1].place - first[0].place < len(first) and names[0] <= names[1]:
        return range(first[0].place, first[-1].place + 1)
    spoken = [sum(bool(INSTRUCTS.search(text)) and not says_worth(text) for text in some) for some in texts]
    rules = range(first[0].place, later[0].place)
    end = next((place for place in rules if is_section(items[place].text)), rules.stop)
    return rules[: end - rules.start] if 2 * spoken[0] > len(first) and 3 * spoken[1] < len(later) else range(0)


def _part_heads(items: Sequence[Item], chosen: Sequence[Anchor], ranked: Collection[int]) -> set[int]:
    """Places of titles, Part A to Part C or of those `ranked`, that are those of parts of questions.

    They begin behind a question's number, and the numbers go on behind them.
    """
    titles = [
        (place, name, rank)
        for place, item in enumerate(items)
        for name, rank in (rank_in_series(item.text) if place in ranked else filter(None, [rank_of(item.text)]))
    ]
    begun = [anchor.place for anchor in chosen]
    behind = {place: bisect(begun, place) for place, *_ in titles}
    heads: set[int] = set()
    for word in {name for _, name, _ in titles}:
        runs: list[list[int]] = []
        last = 0
        for place, name, rank in titles:
            if name == word:
                if not runs or rank <= last:
                    runs.append([])
                runs[-1].append(place)
                last = rank
        firsts = [(run, chosen[max(0, behind[run[0]] - 1) :][:2]) for run in runs if behind[run[0]]]
        within = [run for run, near in firsts if len(near) == 1 or near[1].number == near[0].number + 1]
        bare = [run for run in within if any(behind[a] == behind[b] for a, b in pairwise(run))]
        heads.update(place for run in (within if len(within) > 1 else bare) for place in run)
    return heads


def _answers_begin(stream: Stream) -> int:
    """Begin of the key: its title, alone or in the head of a page; one that comes again heads each answer."""
    items = stream.items
    many = Counter(_head_of(item.text) for item in items if begins_answers(item.text))
    heads = [(page, re.sub(r"\d", "", text)) for page, own in stream.headings.items() for text in own]
    usual = Counter(text for _, text in heads)
    titles = {text for text, times in usual.items() if times == 1 and begins_answers(text)}
    opened = {page for page, text in heads if text in titles and not _ENDS_SENTENCE.search(text)}
    earlier = {re.sub(r"\W+", "", text) for _, text in heads}
    first = next((at for at, item in enumerate(items) if _ONE.match(item.text)), len(items))
    clear = False  # of numbers, so far, is the page
    for place, item in enumerate(items):
        is_first = place > 0 and items[place - 1].box.page < item.box.page
        below = items[place + 1] if place + 1 < len(items) else item
        named = begins_answers(item.text, below.text or below.block.text) or title_answered(item.text) in earlier
        earlier.add(re.sub(r"\W+", "", item.text))
        clear = (clear or is_first) and not _NUMBERED.match(items[place - 1].text if not is_first else "")
        late = place > (first if clear else len(items) // 5)
        title = named and late
        once = bool(item.line) and title and many[_head_of(item.text)] < _AGAIN
        if not (once or (is_first and item.box.page in opened)):
            continue
        across = [b for a, b in pairwise(anchors(items)) if a.place < place <= b.place and a.run == b.run]
        apart = is_first and not (once and _ENDS_SENTENCE.search(item.text))
        if not across or (apart and any(_ONE.match(each.text) for each in items[place : across[0].place + 1])):
            return place  # numbers of a key begin anew
    return len(items)


def _second_time(items: Sequence[Item], chosen: Sequence[Anchor], forms: Mapping[int, str]) -> int:
    """Begin of what is printed again, solved: of the page if no question of before is on it.

    There most heads from a run on have come before in their form, or the texts of most before it come again, or all
    numbers behind a title for answers, or the numbers or the front of the paper, and answers with them.
    """
    lines = [items[each.place :][: 1 + (len(items[each.place].text) <= each.end)] for each in chosen]
    signs = [re.sub(r"\W+", "", "".join(item.text for item in line))[:_HEAD_SIGNS] for line in lines]
    heads = [(forms.get(line[0].box.page), text) for line, text in zip(lines, signs, strict=True)]
    firsts = {head: at for at, head in reversed([*enumerate(heads)])}
    begins = [at for at in range(1, len(heads) - _AGAIN + 1) if chosen[at].run > chosen[at - 1].run]
    sections = _new_sections(items)
    above = {at: max((title for title in sections if title < chosen[at].place), default=-1) for at in begins}
    new = {at for at in begins if above[at] > chosen[at - 1].place and sections[above[at]]}
    begins = [at for at in begins if chosen[at].part == chosen[at - 1].part and at not in new]
    shares = (sum(firsts[head] < at for head in heads[at:]) / len(heads[at:]) for at in begins)
    again = [chosen[at].place for at, share in zip(begins, shares, strict=True) if share > _MOST_AGAIN]
    again += _come_again(items, chosen[: begins[0]] if begins else chosen, forms)
    numbers = [each.number for each in chosen]
    counted = [at for at in begins if len({*numbers[at:]} - {*numbers[:at]}) < (1 - _MOST_AGAIN) * len({*numbers[at:]})]
    alike = [at for at in begins if numbers[at:] == numbers[:at] and at > 1]
    again += [chosen[at].place for at in alike if names_answers(items[chosen[at].place - 1].text)]
    front = {item.text for item in items[: chosen[0].place if chosen else 0] if len(item.text) > _LEAST_TITLE}
    tops = [at for at, (a, b) in enumerate(pairwise(items), 1) if a.box.page < b.box.page and b.text in front]
    answered = [0, *accumulate(bool(_ANSWERED.search(item.text)) for item in items)]
    for place in (*tops, *(chosen[at].place for at in counted)):
        before, after = answered[place], answered[-1] - answered[place]
        if after >= _AGAIN and after * place > _MORE * before * (len(items) - place):
            again.append(place)
    place = min(again, default=len(items))
    if not {item.text for item in items[place:]} - {item.text for item in items[:place]}:
        return len(items)  # it has no line of its own
    page = items[place].box.page
    first = next(at for at, item in enumerate(items) if item.box.page == page)
    return place if any(first <= each.place < place for each in chosen) else first


def _come_again(items: Sequence[Item], heads: Sequence[Anchor], forms: Mapping[int, str]) -> list[int]:
    """Place behind the heads at which the text of most of them begins to come again, in order, in whatever form."""
    below = range(heads[-1].place + 1 if heads else len(items), len(items))
    lines = [re.sub(r"\W+", "", items[place].text or items[place].block.text) for place in below]
    texts = [re.sub(r"\W+", "", items[head.place].text[head.end :]) for head in heads]
    whole, at, places = "".join(lines), 0, list[int]()
    for text in (text for text in texts if width(text) >= _SURELY_OWN):
        if (place := whole.find(text, at)) >= 0:
            at = place + len(text)
            places.append(place)
    if len(places) < _AGAIN or len(places) <= _MOST_AGAIN * len(texts):
        return []
    place = below[bisect([*accumulate(map(len, lines))], places[0])]
    first = items[heads[0].place].box.page
    return [place] if forms.get(items[place].box.page) == forms.get(first) else []


def _new_sections(items: Sequence[Item]) -> dict[int, bool]:
    """Places of titles; true if no title before has the number or name."""
    titles = [place for place, item in enumerate(items) if item.line and is_section(item.text)]
    names = [(numeral(text := items[place].text) or [0])[0] or rank_of(text) or _head_of(text) for place in titles]
    firsts = dict(zip(reversed(names), reversed(titles), strict=True))
    return {place: firsts[name] == place for place, name in zip(titles, names, strict=True)}


def _head_of(title: str) -> str:
    return re.split("[:：]", re.sub(r"\d+", "", squeezed(title)))[0]


def _masthead(items: Sequence[Item], chosen: Sequence[Anchor], part_of: Mapping[int, str]) -> list[Item]:
    """Items above all questions, sections and passages, in any column, of pages that begin the paper or a part."""
    begun = [items[anchor.place] for anchor in chosen]
    pages = {item.box.page for item in begun[:1]}
    pages |= {page for last, page in pairwise(sorted(part_of)) if part_of[page] != part_of[last]}
    begun += [item for item in items if is_section(item.text) or passage_range(item.text)]
    tops = {page: min((item.box.top for item in begun if item.box.page == page), default=0.0) for page in pages}
    return [item for item in items if item.box.bottom <= tops.get(item.box.page, 0.0)]


def _rules(items: Sequence[Item]) -> set[int]:
    """Rules for candidates, from each title early in the paper to a section's title or another 1.

    Later the title is the first line of a page. Behind a numbered line most of those below it speak of the exam.
    """
    rules: set[int] = set()
    begun = False
    for place, (last, item) in enumerate(pairwise([items[0], *items]) if items else ()):
        early = 3 * place < len(items)
        begun = begun or (place - 1 not in rules and bool(_NUMBERED.match(last.text)))
        if item.line and (early or last.box.page < item.box.page) and RULES.match(item.text):
            after = range(place + 1, min(len(items), place + _LONGEST_RULES))
            ones = [at for at in after if _ONE.match(items[at].text)]
            own = [at for at in ones[:1] if at < place + 3 and INSTRUCTS.search(items[at].text)]
            sections = [at for at in after if at not in own and is_section(items[at].text)]
            if own and items[own[0]].text[0] == "一":  # so have their lines
                sections = [] if ones[1:] else [at for at in sections if at > place + 2]
            end = min([*ones[len(own) :], *sections], default=place)
            listed = [items[at].text for at in range(place, end) if _NUMBERED.match(items[at].text)]
            if (early and not begun) or (
                own and 2 * sum(bool(INSTRUCTS.search(text)) for text in listed) > len(listed)
            ):
                rules |= {*range(place, end)}
    return rules


class _Sorter:
    """Hands items out to whatever has begun last."""

    def __init__(self, body: Body, part_of: Mapping[int, str]) -> None:
        self.body, self.part_of = body, part_of
        each = (item.text for item in body.front if all_each(item.text))
        self.section = Section(above="\n".join(each))
        self.passages: list[tuple[SharedText, list[Item]]] = []
        self.target: list[Item] = []
        self.numbers: set[int] = set()
        self.earlier = 0
        self.part = ""

    def title(self, item: Item, within: bool = False) -> None:
        """Begins a section."""
        within = (within or is_part_of_section(item.text)) and bool(self.section.title)
        above = (self.section.above or self.section.own) if within else ""
        self.section = Section(item.text, [item], above)
        self.body.sections.append(self.section)
        self.target, self.passages, self.earlier = self.section.items, [], 0

    def shared(self, item: Item, passage: SharedText) -> None:
        """Begins a passage; a guess doubts the question before it too."""
        self.passages += [(passage, [])] if passage.numbers else []
        if not passage.is_own:
            self.target = self.passages[-1][1] if passage.numbers else self.body.front
        self.target.append(item)
        if self.body.segments:
            self.body.segments[-1].guess = passage.guess or self.body.segments[-1].guess

    def question(self, anchor: Anchor, item: Item) -> None:
        """Begins a question; where numbers begin again, the passages before it are of others."""
        if self.body.segments and anchor.number <= self.body.segments[-1].number:
            del self.passages[: self.earlier]
        self.earlier = len(self.passages)
        own = [each for each in self.passages if (to := each[0].numbers) and to[0] <= anchor.number <= to[1]]
        shared = [line for _, lines in own for line in lines]
        part = " ".join(filter(None, (self.part_of.get(item.box.page), anchor.part)))
        ended = self.part and not (anchor.part or section_type(self.part))  # 2., where MC1 to MC8 were those of 1.
        if ended or follows(item.text, self.section.title):  # 三、 is a question, and 二、 was a title
            self.section = Section()
        self.part = anchor.part
        guess = anchor.guess or next((passage.guess for passage, _ in own if passage.guess), "")
        if anchor.stray:
            guess = f"its number, {anchor.number}, does not go on from the last in its form: it may be of that before"
            self.body.segments[-1].guess = self.body.segments[-1].guess or guess.replace("its number", "a number in it")
        question = Segment(anchor.number, anchor.end, [item], self.section, part, shared, guess=guess)
        question = replace(question, stray=anchor.stray, label=anchor.label)
        self.body.segments.append(question)
        self.target = question.items
        self.numbers.add(anchor.number)


def _distribute(
    items: Sequence[Item],
    chosen: Mapping[int, Anchor],
    part_of: Mapping[int, str],
    body: Body,
    head: Container[int],
    columns: Mapping[tuple[int, int], tuple[float, float]],
) -> None:
    sorter = _Sorter(body, part_of)
    silent: tuple[int, int] | None = None
    inner, named = ({id(item) for item in some} for some in (body.part_heads, body.named))
    bounds = [
        place
        for place, item in enumerate(items)
        if item.line
        and id(item) not in inner
        and (is_notice(item.text) or id(item) in named or _begins_section(items, place, chosen))
    ]
    own_pages = any(anchor.label.isalpha() for anchor in chosen.values())
    passages = {} if own_pages else find_passages(items, chosen, bounds, columns)
    for place, item in enumerate(items):
        column = item.box.page, item.column
        if body.segments and id(item) in head:
            if place in passages:
                passages.setdefault(place + 1, passages[place])
            continue
        if column != silent:
            silent = None
        if place in chosen:
            sorter.question(chosen[place], item)
            silent = None
        elif id(item) in named:
            sorter.title(item)
        elif item.line and is_notice(item.text) and body.segments:
            silent = column
        elif silent or (item is items[-1] and item.line and not item.line.pitch and END.fullmatch(item.text)):
            continue
        elif id(item) not in inner and _begins_section(items, place, chosen, sorter.section.title):
            sorter.title(item)
        elif (answered := _ANSWER_LINE.fullmatch(item.text)) and int(answered[1] or answered[2]) in sorter.numbers:
            if answered[2] and place + 1 < len(items) and place + 1 not in chosen:
                sorter.target.append(item)  # an answer stands below
        elif place in passages and passages[place].is_title:
            sorter.title(item, within=True)
        elif place in passages:
            sorter.shared(item, passages[place])
        else:
            sorter.target.append(item)


def _begins_section(items: Sequence[Item], place: int, chosen: Mapping[int, Anchor], last: str = "") -> bool:
    """A section's title: it goes on from the last, or has questions soon after it (else it is an indented "(一)")."""
    text = items[place].text
    if not items[place].line or not (is_section(text) or _heads(items, place, chosen)):
        return False
    following = range(place + 1, min(len(items), place + _LONGEST_PASSAGE))
    return follows(text, last) or is_type_name(text) or any(later in chosen for later in following)


def _heads(items: Sequence[Item], place: int, chosen: Container[int]) -> bool:
    """A heading of a source, not the first, right before a question; below its rank: a part."""
    if not (items[place].is_heading and any(item.is_heading for item in items[:place])):
        return False
    following = (later for later in range(place + 1, len(items)) if later in chosen or items[later].is_heading)
    after = next(following, place)
    return after in chosen and items[after].rank <= items[place].rank


def _name_sections(segments: Sequence[Segment]) -> None:
    """If numbers begin anew with each section, its title names the part; the paper's only part says nothing."""
    names = short_titles([question.section.title for question in segments])
    parts = [question.elective for question in segments]
    several = len({*parts} - {""}) > 1
    named = [" ".join(filter(None, (part * several, name))) for part, name in zip(parts, names, strict=True)]
    steady = [(name, each) for name, each in zip(named, segments, strict=True) if not (each.stray or each.label)]
    again = len({(each.elective, each.number) for _, each in steady}) < len(steady)
    if again and len({(name, each.number) for name, each in steady}) == len(steady):
        for question, name in zip(segments, named, strict=True):
            question.elective = name


MISSING = re.compile(r"questions? (?:\D.* )?(\d+)(?: to (\d+))?(?: of (.+) w(?:as|ere))?.* not found$")
"""A line on missing numbers: the first, the last, and their part."""


def missing_numbers(segments: Sequence[Segment], others: Collection[str] = ()) -> list[str]:
    """A line for each run of missing numbers, in each part of the paper; `others` were read elsewhere."""
    lines = []
    for part in dict.fromkeys(question.elective for question in segments):
        numbers = sorted({_level(question) for question in segments if question.elective == part})
        first = 1 if not part and not segments[0].elective else numbers[0]
        absent = sorted(
            set(range(first, numbers[-1] + 1)) - {*numbers, *(int(each) for each in others if each.isdecimal())}
        )
        where = f" of {part}" if part else ""
        for _, pairs in groupby(enumerate(absent), key=lambda pair: pair[1] - pair[0]):
            run = [number for _, number in pairs]
            single = len(run) == 1
            named = f"question {run[0]}" if single else f"questions {run[0]} to {run[-1]}"
            lines.append(f"{named}{where} {'was' if single else 'were'} not found")
    return lines


def _level(question: Segment) -> int:
    """The number of a question, or of that whose part it is: 6 of 6-2."""
    level = re.match(r"\d+", question.label)
    return int(level[0]) if level else question.number


def boxes(question: Segment, stream: Stream, all_items: Mapping[tuple[int, int], Sequence[Item]]) -> list[Box]:
    """Boxes of a question: one a column and page, as wide as the column, clear of the neighbours in `all_items`."""
    groups = by_column(question).items()
    return [_box(items, stream.columns.get(key), all_items.get(key, ())) for key, items in groups]


def by_column(source: Stream | Segment) -> dict[tuple[int, int], list[Item]]:
    """The items of each column of each page, of a paper or a question."""
    columns: dict[tuple[int, int], list[Item]] = {}
    for item in source.items:
        columns.setdefault((item.box.page, item.column), []).append(item)
    return columns


def _box(items: Sequence[Item], edges: tuple[float, float] | None, neighbours: Sequence[Item]) -> Box:
    box = items[0].box
    for item in items[1:]:
        box = box.joined(item.box)
    sizes = [item.line.size for item in items if item.line and item.line.size > 0]
    white = _PADDING * (sorted(sizes)[len(sizes) // 2] if sizes else 0.01)
    left, right = (min(box.left, edges[0]), max(box.right, edges[1])) if edges else (box.left, box.right)
    own = set(map(id, items))
    others = [item.box for item in neighbours if id(item) not in own]
    above = max((other.bottom for other in others if other.bottom <= box.top + white / 4), default=0.0)
    below = min((other.top for other in others if other.top >= box.bottom - white / 4), default=1.0)
    return Box(
        page=box.page,
        left=max(0.0, left - white / 2),
        right=min(1.0, right + white / 2),
        top=max(box.top - white, min(box.top, (above + box.top) / 2)),
        bottom=min(box.bottom + white, max(box.bottom, (below + box.bottom) / 2)),
    )


_FIRST_LABEL = re.compile(r"(?:^|\s)(?:[AＡ]\s?[.．、]|[(（]A[)）]|①)")
_WORTH = re.compile(r"\d\s*(?:pts?|points?|marks?|分|점)(?![一-鿿a-z])", re.IGNORECASE)
_LONGEST_INSTRUCTIONS = 400
"""Characters of a section's title and instructions; more than these are a passage."""
_LEVEL = 0.012
"""Of the page's width: by less differ the edges of a list."""
_LETTER = re.compile(r"\s*(?:[(（]([a-z])|([A-Z]))[)）]\s*")
_ALONE = r"(?<![^\W_])(?<![.,:$]){}(?![^\W_]|%|[.,:]\d)"
_FEWEST, _MOST = 3, 20
"""Numbers that a passage holds: two may be any."""


def _share_texts(body: Body) -> None:
    """Gives the text below a section's title to its questions: a passage, or the task of those that ask nothing."""
    above = [item for item in body.front[-1:] if item.line and is_running(item.text)]
    for _, group in groupby(body.segments, key=lambda question: id(question.section)):
        own = [*group]
        titled = own[0].section.items
        first, whole = own[0].items[0].text[own[0].end :], " ".join(item.text for item in titled)
        running = bool(titled) and is_running(titled[0].text) and not speaks_of_exam(whole)
        leads = running and not (section_type(whole) or _WORTH.search(whole))
        below = titled[0 if leads else 1 :] if titled else above
        text, guess = " ".join(item.text for item in below), ""
        labelled = titled and _FIRST_LABEL.match(first.strip())
        long = leads or (titled and len(own[0].section.own) > _LONGEST_INSTRUCTIONS)
        is_task = not (labelled or long)
        if is_task and (
            not asks(text) or (speaks_of_exam if titled else INSTRUCTS.search)(text) or any(map(_asks_itself, own))
        ):
            continue
        if long and not (labelled or passage_range(own[0].section.title)):
            shown = one_line(own[0].section.title, 40)
            guess = f"text below its section's title stands in each of its questions: {shown!r}"
        elif not titled:
            guess = f"the line above the first question is taken for the task of each: {one_line(text, 40)!r}"
        for question in own if is_task else takewhile(lambda each: not each.passage, own):
            question.passage, question.guess = question.passage or below, question.guess or guess


def _asks_itself(question: Segment) -> bool:
    """Checks for a demand, a blank or options outside of code."""
    text = "\n".join(item.text for item in question.items if not (item.line and item.line.pitch))
    return asks(text) or "__" in text or bool(_FIRST_LABEL.search(text))


def _add_inline(body: Body) -> None:
    """Adds questions that stand within passages (blanks to fill, or to choose a sentence for), in place.

    Their section has no question of its own, and its text has the numbers due there, each alone and in order.
    """
    begun = {id(question.section) for question in body.segments}
    for section, following in zip(body.sections, [*body.sections[1:], None], strict=False):
        if id(section) in begun or not section.items:
            continue
        more = following is not None and id(following) not in begun  # it may have the remaining numbers
        place = _place(body, section)
        before = body.segments[place - 1] if place else None
        after = body.segments[place] if place < len(body.segments) else None
        first = before.number + 1 if before else 1
        end = after.number if after and after.number > first else first + _MOST
        numbers = _numbers(section.items, first, end)
        listed = 2 * sum(bool(_DIGITS.match(item.text)) for _, item in numbers) > len(numbers)  # lines of a program
        if len(numbers) >= _FEWEST and not listed and (numbers[-1][0] == end - 1 or after is None or more):
            part = before.elective if before else ""
            body.segments[place:place] = [
                Segment(number, len(item.text), [item], section, part, section.items[1:], inline=True)
                for number, item in numbers
            ]


def _add_unnumbered(body: Body) -> None:
    """Adds the questions of sections without numbers: those of a list (a), (b), …, or all that asks."""
    for section in body.sections:
        place = _place(body, section)
        if any(question.section is section for question in body.segments):
            continue
        whole = is_running(section.title) and asks(section.title) and not speaks_of_exam(section.title)
        items = section.items if whole else section.items[1:]
        part = body.segments[place - 1].elective if place else ""
        alone = "\n".join(item.text for item in items if not INSTRUCTS.search(item.text))
        if listed := _listed(items):
            own = [
                Segment(number, end, some, section, part, label=label)
                for number, (label, end, some) in enumerate(listed, 1)
            ]
        elif place and items and (whole or asks(alone)):
            steady = all(a.number < b.number for a, b in pairwise(body.segments))
            number = body.segments[place - 1].number + 1 if steady else 1
            once = sum(asks(item.text) for item in items) < 2 and marks(section.title, leading=True)
            guess = "" if once else without_number(items[0])  # its title has its points
            own = [Segment(number, 0, list(items), section, part, guess=guess, stray=True)]
        else:
            continue
        body.segments[place:place] = own
        section.items = section.items[: section.items.index(own[0].items[0])]


def _listed(items: Sequence[Item]) -> list[tuple[str, int, list[Item]]]:
    """Letters, ends and lines of a list (a), (b), …, each of which asks or has a list further in."""
    heads = [(place, match) for place, item in enumerate(items) if (match := _LETTER.match(item.text))]
    edge = min((items[place].box.left for place, _ in heads), default=0.0)
    outer = [(place, match) for place, match in heads if items[place].box.left - edge < _LEVEL]
    letters = [match[1] or match[2] for _, match in outer]
    if len(outer) < _FEWEST or not "abcdefghijklmnopqrstuvwxyz".startswith("".join(letters).lower()):
        return []
    pieces = []
    for letter, (at, match), end in zip(letters, outer, [*(place for place, _ in outer[1:]), len(items)], strict=True):
        inner = sum(at < place < end for place, _ in heads) > 1
        if not (inner or asks_something(items[at:end])):
            return []
        pieces.append((letter, match.end(), [*items[at:end]]))
    return pieces


def _place(body: Body, section: Section) -> int:
    later = {id(other) for other in body.sections[body.sections.index(section) :]}
    return sum(id(question.section) not in later for question in body.segments)


def _numbers(items: Sequence[Item], first: int, end: int) -> list[tuple[int, Item]]:
    """Consecutive numbers that stand alone in the lines behind the title."""
    numbers: list[tuple[int, Item]] = []
    number = first
    for item in items[1:]:
        at = 0
        text = mask_formulas(item.text)
        while number < end and (match := re.compile(_ALONE.format(number)).search(text, at)):
            numbers.append((number, item))
            number, at = number + 1, match.end()
    return numbers
