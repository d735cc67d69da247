"""Invariants of papers that were read right.

Contract: `checked` gives each breach as an error of the paper or a doubt of questions; some refuse their keys.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from statistics import median
from typing import Final

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest import ownership, printed_counts
from livek12.dataset_builders.ingest.doubts import doubts_of, goes_on, whole_text
from livek12.dataset_builders.ingest.drafting import usual_labels
from livek12.dataset_builders.ingest.drafts import DoubtKind, Draft
from livek12.dataset_builders.ingest.keys.matching import with_doubt
from livek12.dataset_builders.ingest.pages.blocks import PICTURE
from livek12.dataset_builders.ingest.paper_reading import Breach, PaperReading, unknown_language
from livek12.dataset_builders.ingest.questions import headings
from livek12.dataset_builders.ingest.questions.kinds import asks, solves
from livek12.dataset_builders.ingest.questions.labels import label_lists
from livek12.dataset_builders.ingest.questions.options import asks_to_choose
from livek12.dataset_builders.ingest.questions.points import each_blank, marks
from livek12.dataset_builders.ingest.questions.segment import Segment, missing_numbers
from livek12.dataset_builders.ingest.questions.stream import Item


def checked(reading: PaperReading) -> tuple[list[Draft], list[str]]:
    """Questions and errors by all invariants, those of keys first: the others do not count a refused key."""
    drafts = list(reading.drafts)
    errors: list[str] = []
    for check in INVARIANTS:
        for breach in check(replace(reading, drafts=drafts)):
            for place in breach.places:
                draft = drafts[place]
                if breach.refuse:
                    draft = reading.unkeyed[place].model_copy(update={"doubts": draft.doubts})
                drafts[place] = with_doubt(draft, breach.kind, breach.text, breach.confidence)
            errors += [breach.text] if breach.error else []
    return drafts, list(dict.fromkeys(errors))


def _numbers_follow(reading: PaperReading) -> Iterator[Breach]:
    """Numbers go up by one; missing ones are in the question before if it names one, or is long."""
    for line in missing_numbers(reading.body.segments):
        yield Breach(line, error=True)
    usual = median([len(draft.markdown) for draft in reading.unkeyed] or [0])
    for (place, each, draft), (_, after, _) in pairwise(reading.pairs):
        lost = range(each.number + 1, after.number if after.elective == each.elective else 0)[:_MOST]
        text = _MATH.sub("", draft.markdown)
        named = {number for number in lost if re.search(rf"(?<![\d.]){number}(?!\d)", text)}
        if lost and (named or len(text) > 2 * usual) and not (each.stray or after.stray):
            yield Breach("the numbers behind it were not found: they may stand in it", (place,), "number", 0.3)


def _numbers_come_once(reading: PaperReading) -> Iterator[Breach]:
    """A number comes again behind a title, or in a run that is surely one of questions."""
    segments = reading.body.segments
    steady = [(place, each) for place, each, _ in reading.pairs if not (each.stray or each.label)]
    many = Counter((each.elective, each.number) for _, each in steady)
    named = {each.number for _, each in steady if each.elective and not segments[0].elective}
    runs: list[list[int]] = []
    for place, each in steady:
        last = segments[runs[-1][-1]] if runs else None
        if last is None or each.number <= last.number or each.elective != last.elective:
            runs.append([])
        runs[-1].append(place)
    doubted: set[int] = set()
    for before, run in pairwise([[], *runs]):
        own = [(segments[place].elective, segments[place].number) for place in run]
        again = any(many[key] > 1 or (not key[0] and key[1] in named) for key in own)
        if again and not _is_sound(run, reading):
            doubted |= {*run, *before[-1:]}
    if doubted:
        numbers = ", ".join(dict.fromkeys(reading.drafts[place].number for place in sorted(doubted)))
        text = f"numbers come again where no part of the paper begins: {one_line(numbers, 60)}"
        yield Breach(text, tuple(sorted(doubted)), "number", 0.1, error=True)


def _is_sound(run: Sequence[int], reading: PaperReading) -> bool:
    """Checks for numbers that skip none, from 1 behind a title of their own, or of questions with options or points."""
    own = [reading.body.segments[place] for place in run]
    behind = run[0] == 0 or reading.body.segments[run[0] - 1].section is not own[0].section
    drafts = [reading.drafts[place] for place in run]
    sure = [
        draft.options
        or _WORTHY.search(draft.markdown)
        or (draft.points is not None and (each.section.title or marks(draft.markdown)))
        for draft, each in zip(drafts, own, strict=True)
    ]
    titled = behind and bool(own[0].section.title) and own[0].number == 1
    whole = all(b.number == a.number + 1 or b.section is not a.section for a, b in pairwise(own))
    return whole and (titled or ((behind or own[0].number == 1) and 5 * sum(map(bool, sure)) >= 4 * len(run)))


_SHARES, _MOST = 3, 20
"""Questions that have the same are no chance; missing numbers that are looked for."""
_COMMON = 4
"""Share of a section's questions, one in so many, whose shorter lists of options, side by side, are no mistake."""
_LONG, _LONG_CHARACTERS, _MOST_PAGES = 5, 900, 3
"""Medians, characters and pages: a question that has more is two, or has what is not its own."""
_FEWEST_QUESTIONS = 4
_SAYS_SOLVED: Final = both_scripts(
    r"[^•.。，,]{0,30}(?:答案|\b(?:solutions?|answers?|answer key)|정답)\s*", re.IGNORECASE
)
_MATH: Final = re.compile(r"\$[^$]*\$")
_FORMULA: Final = re.compile(r"\$|[A-Za-z]\s?[=<>≤≥^]|[a-z]\d|\d[a-z]|√")
_OF_CHOICE, _LETTER = both_scripts(r"选择|选题|선다|객관|choice", re.IGNORECASE), re.compile(r"[A-H1-5①-⑤]")
_SOLUTION_HEAD: Final = both_scripts(
    r"[ \t]*(?:\d{1,3}[.)] ?)?[【\[［(（〔]?(?:(?:解|解答|解析|详解|(?:参考)?答案(?:[与及和]解析)?|풀\s*이|정답)"
    r"(?=[】\]］)）〕:：.．\s]|\Z)|Solutions?(?=[\])>:]|\Z))"
    r"[】\]］)）〕>:：.．]?(?![ \t]*[_＿…])"
)
"""A label of a solution that begins a line, with whatever sign behind it."""
_WORTHY: Final = both_scripts(
    r"(?<![\d.])\d{1,3}(?:\.\d)?\s*(?:%\s*$|分(?![钟之别为析布])|점\b|(?:points?|marks?|pts)\b)", re.MULTILINE
)
_CLAUSE: Final = re.compile(r"[\n。；;,，()（）\[\]]|\.\s")
_EACH: Final = both_scripts(r"每|各|[×xX*+＋]|\b(?:each|per|every|apiece)\b|당", re.IGNORECASE)
_HEAD_SIGNS: Final = 8
"""Signs at the beginning of a line that tell if a text has it."""
_BRACKET: Final = re.compile(r"[(（]\s*[)）]")
_FILLED_BRACKET: Final = re.compile(r"[(（]\s*[A-H]+\s*[)）]")
_HEAD: Final = both_scripts(
    r"\s*(?:Question|Problem|Exercise|문제|第)\s*(?:#|No\.)?\s*\d{1,2}\s*题?\s*"
    r"(?:[.:：]|[(（\[]\s*\d[\d/.]*\s*(?:p|points?|marks?|점|分)|$)"
    rf"|\s*{PICTURE}\s?[(（\[]\s?\d{{1,3}}\s?(?:{PICTURE}|[分점]\s?[)）\]])\s?[^\W\d_]{{2}}"  # its number is a picture
)
_LEVEL: Final = 0.0075
"""Of the page: heads differ by less from their left edge."""
_OCR_LINE: Final = 0.8
"""Confidence of a page read by OCR, its mean: below it nothing of the page can be relied on."""


def _one_head_a_question(reading: PaperReading) -> Iterator[Breach]:
    """No head of a question or section stands in a question."""
    heads = [segment.items[0] for segment in reading.body.segments]
    form = _usual_head(reading.body.segments)
    numbers = {segment.number for segment in reading.body.segments}
    for place, segment, draft in reading.pairs:
        lines = [item for item in segment.items[1:] if item.line and item not in reading.body.part_heads]
        other = next((line for line in lines if _is_another_head(line, segment, form, heads)), None)
        if other:
            text = f"the head of another question or section stands in it: {one_line(other.text, 40)!r}"
            yield Breach(text, (place,), "number", 0.1)
        ranges = filter(None, map(headings.passage_range, draft.question.split("\n")))
        if any(segment.number < low < high and numbers.issuperset((low, high)) for low, high in ranges):
            yield Breach("it names questions behind it: a text of theirs may be in it", (place,))
    lost = next((item.text for item in reading.body.front if _HEAD.match(item.text)), "")
    if lost and reading.body.segments[0].number > 1:
        text = f"a question's head stands before the first question: {one_line(lost, 40)!r}"
        yield Breach(text, (0,), "number", 0.1)


def _is_another_head(line: Item, segment: Segment, form: re.Pattern[str] | None, heads: Sequence[Item]) -> bool:
    """A number in the usual form, level with the others' if it has no word; a section's title; or "Question 5:"."""
    if headings.is_section(line.text) and not headings.is_part_of_section(line.text):
        return True
    if form and (number := form.match(line.text)):
        level = (abs(head.box.left - line.box.left) < _LEVEL for head in heads if head.column == line.column)
        return bool(re.search(r"[^\W\d_]", number[0])) or any(level)
    return headings.follows(line.text, segment.section.title) or bool(_HEAD.match(line.text))


def _usual_head(segments: Sequence[Segment]) -> re.Pattern[str] | None:
    """The forms of numbers that come often; of bare ones and brackets those of most."""
    shapes = Counter(re.sub(r"\d+", "#", squeezed(each.items[0].text[: each.end])) for each in segments)
    often = {shape: 5 * many >= 4 * len(segments) for shape, many in shapes.items() if "#" in shape and many >= _SHARES}
    usual = [shape for shape, most in often.items() if most or (len(shape) > 1 and shape[0] not in "(（[")]
    forms = (r"\s*".join(r"\d{1,3}" if sign == "#" else re.escape(sign) for sign in shape) for shape in usual)
    return re.compile(rf"\s*(?:{'|'.join(forms)})(?![\d.,])") if usual else None


def _points_are_read(reading: PaperReading) -> Iterator[Breach]:
    """Points printed at a question, for each one, or at most others, are read."""
    by_section = reading.body.by_section
    most = 2 * sum(draft.points is not None for draft in reading.drafts) > len(reading.drafts)
    empty = [section.own for section in reading.body.sections if id(section) not in by_section]  # its parts have them
    outside = (clause for text in (*reading.outside, *empty) for clause in _CLAUSE.split(text) if _EACH.search(clause))
    stated = next(filter(None, map(_WORTHY.search, outside)), None)
    for place, segment, draft in reading.pairs:
        lines = draft.question.strip().split("\n")
        title = segment.section.own if not segment.section.above else ""
        others = [reading.drafts[at] for at in by_section[id(segment.section)]] if draft.points is None else []
        own = (clause for clause in _CLAUSE.split(title) if _EACH.search(clause) or len(others) == 1)
        match = _WORTHY.search("\n".join((lines[0], lines[-1])))
        match = match or next(filter(None, map(_WORTHY.search, own)), stated)
        usual = most and (len(others) < _SHARES or any(other.points is not None for other in others))
        if draft.points is None and (match or usual):
            why = f"{match[0].strip()!r} may be some" if match else "most others have them"
            why = "the blanks of its section do not add up" if each_blank(title) else why
            yield Breach(f"no points were found, and {why}", (place,), "points", 0.4)


def _no_question_is_too_long(reading: PaperReading) -> Iterator[Breach]:
    """None has five medians, or more than three pages."""
    lengths = [len(squeezed(draft.markdown)) for draft in reading.unkeyed]
    if not sum(lengths):
        return
    usual = median(lengths) if len(lengths) >= _FEWEST_QUESTIONS else max(lengths)
    worth = median(draft.points or 0 for draft in reading.drafts)
    for place, segment, draft in reading.pairs:
        pages = len({item.box.page for item in segment.items})
        if pages > _MOST_PAGES or (
            lengths[place] > max(_LONG * usual, _LONG_CHARACTERS) and not 0 < 2 * worth <= (draft.points or 0)
        ):
            text = f"it is much longer than the others ({pages} pages): it may have what is not its own"
            yield Breach(text, (place,), "text", 0.4, error=len(lengths) < _FEWEST_QUESTIONS)


_SENTENCE: Final = re.compile(r"(?<=[.?!。？！])\s+")
_SET_APART: Final = re.compile(r"```[^`]*```|\|[^\n]*")
_FEWEST_BEHIND, _LONG_BEHIND = 5, 400
"""Sentences and their characters behind the task, which may answer it."""


def _questions_end_in_what_they_ask(reading: PaperReading) -> Iterator[Breach]:
    """Most open questions without a key have little text behind what they ask."""
    bare = [
        (place, draft) for place, _, draft in reading.pairs if not (draft.options or draft.answer or draft.solution)
    ]
    places = tuple(place for place, draft in bare if _goes_on_behind(draft.question))
    if len(places) >= _SHARES and 3 * len(places) >= 2 * len(bare):
        yield Breach("much text stands behind what it asks: an answer may stand in it", places, "answer", 0.2)


def _goes_on_behind(text: str) -> bool:
    """Checks for several sentences behind the last that asks."""
    sentences = _SENTENCE.split(_SET_APART.sub("", text).replace("\n", " "))
    behind = [*takewhile(lambda sentence: not asks(sentence), reversed(sentences))]
    long = len(behind) >= _FEWEST_BEHIND and sum(map(len, behind)) >= _LONG_BEHIND
    return long and len(behind) < len(sentences)


def _no_solution_in_the_question(reading: PaperReading) -> Iterator[Breach]:
    """No head of an answer or solution stands in a question, and no letter where others have an empty bracket."""
    empty = sum(bool(_BRACKET.search(draft.question)) for draft in reading.drafts)
    for place, segment, draft in reading.pairs:
        filled = _FILLED_BRACKET.search(draft.question) if draft.options and not draft.answer else None
        if filled and 2 * empty > len(reading.drafts):
            yield Breach(f"{filled[0]!r} stands where others have an empty bracket: the key?", (place,), "answer", 0.2)
        own = whole_text(draft)
        whole = squeezed(own)
        lines = [item.text.replace(PICTURE, IMAGE_MARK) for item in segment.items[1:]]
        lines = [line for line in lines if line and squeezed(line)[:_HEAD_SIGNS] in whole]
        if lines and _SOLUTION_HEAD.fullmatch(lines[-1]):
            lines.pop()  # a place to write
        solved = next(filter(solves, headings.SOLVED.finditer(own)), None)
        if match := next(filter(None, map(_SOLUTION_HEAD.match, lines)), solved):
            head = one_line(match[0].strip(), 20)
            line = f"{head!r} in the text: an answer or solution stands in the question"
            yield Breach(line, (place,), "text" if match[0] in draft.question else "options", 0.2)


def _answers_are_told_from_all(reading: PaperReading) -> Iterator[Breach]:
    """If a paper's title or most questions have answers, none stands behind what a question asks."""
    answered = [bool(draft.answer or draft.solution) for draft in reading.unkeyed]
    front = reading.front
    title = next((line for line in front if _SAYS_SOLVED.fullmatch(line) and (len(line) > 2 or line == front[0])), "")
    why = f"the paper is one with answers ({one_line(title, 40)!r})" if title and not reading.body.answers else ""
    why = "the others have answers with them" if sum(answered) >= max(_SHARES, len(answered) / 2) else why
    for place, own in enumerate(answered) if why else ():
        if not own:
            kind: DoubtKind = "text" if goes_on(reading.drafts[place].question) else "answer"
            yield Breach(f"{why}, and it has none: it may stand in it", (place,), kind, 0.3)


def _each_is_sound(reading: PaperReading) -> Iterator[Breach]:
    """No question has a doubt of its own."""
    passages = Counter(id(segment.passage[0]) for segment in reading.body.segments if segment.passage)
    for place, segment, draft in reading.pairs:
        shared = bool(segment.passage) and passages[id(segment.passage[0])] > 1
        for doubt in doubts_of(segment, draft, shared):
            yield Breach(doubt.text, (place,), doubt.kind, doubt.confidence)


def _lists_are_read(reading: PaperReading) -> Iterator[Breach]:
    """Lists are options where most questions have some."""
    most = 2 * sum(bool(draft.options) for draft in reading.drafts) >= len(reading.drafts)
    for place, draft in enumerate(reading.drafts):
        lists = [each for each in label_lists(draft.question) if each.begins_line and not each.is_number]
        listed = any(sum(not asks(text) for text in each.texts) >= _SHARES for each in lists)
        if most and listed and not draft.options:
            yield Breach("lines of its text begin as options do: they may be some", (place,), "options", 0.3)


def _pages_were_read(reading: PaperReading) -> Iterator[Breach]:
    """No rule failed on a page; a scan is read with some confidence, and OCR reads roots and exponents flat."""
    if text := unknown_language(reading.stream):
        yield Breach(text, tuple(range(len(reading.drafts))), "text", 0.2, error=True)
    for page in reading.pages:
        lines = [line for block in page.blocks if block.origin == "ocr" for line in block.lines if line.text.strip()]
        mean = sum(line.confidence for line in lines) / len(lines) if lines else 1.0
        if page.lost:
            yield Breach(f"page {page.number} was not read ({page.lost}); please report this paper", error=True)
        elif mean < _OCR_LINE:
            places = [place for place, draft in enumerate(reading.drafts) if page.number in draft.page_numbers]
            text = f"page {page.number} was read with a mean confidence of {mean:.2f}: compare all of it with the page"
            yield Breach(text, tuple(places), "text", 0.1, error=True)
    by_ocr = [any(item.block.origin == "ocr" for item in (*each.passage, *each.items)) for _, each, _ in reading.pairs]
    places = [place for place, own in enumerate(by_ocr) if own]
    if any(_FORMULA.search(f"{reading.drafts[place].question}\n{reading.drafts[place].options}") for place in places):
        text = "formulas were read from a picture: compare them with the page"
        yield Breach(text, tuple(places), "text", 0.5)


def _few_have_options(reading: PaperReading) -> Iterator[Breach]:
    """Options of few questions are said to be some."""
    chosen = sum(bool(draft.options) for draft in reading.drafts)
    for place, draft in enumerate(reading.drafts) if 4 * chosen <= len(reading.drafts) else ():
        named = bool(_OF_CHOICE.search(draft.section) or _LETTER.fullmatch("".join(draft.answer)))
        chooses = asks_to_choose(draft.question) or draft.question.rstrip().endswith(("?", "？"))
        if draft.options and not (named or chooses):
            text = "few questions have options, and it does not ask to choose: they may be parts"
            yield Breach(text, (place,), "type", 0.3)


def _options_are_alike(reading: PaperReading) -> Iterator[Breach]:
    """The questions of a section have equally many options of one alphabet, and labels of one form in a paper."""
    for places in reading.body.by_section.values():
        usual = usual_labels([reading.drafts[place] for place in places])
        most = 4 * sum(bool(reading.drafts[place].options) for place in places) >= 3 * len(places)
        last = max((place for place in places if reading.drafts[place].options), default=0)
        labels = ["".join(option.label for option in reading.drafts[place].options) for place in places]
        times = Counter(labels)
        for at, (place, own) in enumerate(zip(places, labels, strict=True)) if usual else ():
            beside = own in (*labels[max(0, at - 1) : at], *labels[at + 1 : at + 2])
            steady = own and beside and times[own] > _SHARES and _COMMON * times[own] >= len(places)
            if not (own.startswith(usual) or steady) and (own or (most and place < last)):
                text = f"its options are {own or 'none'}, those of most others of its section {usual}"
                yield Breach(text, (place,), "options", 0.3)
    named = [(draft.markdown, [option.label for option in draft.options]) for draft in reading.drafts]
    styles = [next((e.style for e in label_lists(text) if e.names == names), "") for text, names in named]
    (usual, many), *_ = Counter(filter(None, styles)).most_common(1) or [("", 0)]
    for place, own in enumerate(styles):
        if own not in ("", usual) and many >= max(_SHARES, 4 * styles.count(own)):
            text = "the labels of its options have another form than those of most others: they may be parts"
            yield Breach(text, (place,), "options", 0.3)


_DOUBTED: Final = 0.25
"""Share of questions with doubts above which none is sure: 39 of 380 others were wrong there, else 17 of 1,014."""
_READ: Final = {"number", "type", "options", "figure", "text"}
"""Doubts about a question's own print."""


def _most_are_sure(reading: PaperReading) -> Iterator[Breach]:
    """Few questions have doubts, or all: a paper that gave many was not understood."""
    doubted = [any(doubt.kind in _READ for doubt in draft.doubts) for draft in reading.drafts]
    if sum(doubted) > max(1, _DOUBTED * len(doubted)):
        text = f"{sum(doubted)} of {len(doubted)} questions of this paper have doubts: compare the others, too"
        yield Breach(text, tuple(place for place, own in enumerate(doubted) if not own), "paper", 0.9)


_REPEATED, _FEWEST, _COPIED = 24, 12, 30
"""Letters at the beginning of a question that its key may not repeat, one of Chinese or Korean counting two; of a key
that is shorter; and characters anywhere in it."""
_SOLVED_COPY: Final = 0.4
"""Share of the keys of a file that repeat their questions: above it the file is the paper with its answers."""


def _keys_are_no_copies(reading: PaperReading) -> Iterator[Breach]:
    """A key that repeats its question is a solved paper's: none of the file is taken."""
    for source, places in _keyed(reading).items():
        copies = [place for place in places if _repeats(reading.drafts[place])]
        if len(copies) > 1 and len(copies) > _SOLVED_COPY * len(places):
            text = f"{source} repeats the questions: it is the paper with its answers, and none was taken from it"
            yield Breach(text, tuple(places), "answer", 0.3, error=source != "the paper", refuse=True)
        else:
            text = f"its key in {source} repeats the question; it was not taken"
            yield Breach(text, tuple(copies), "answer", 0.3, refuse=True)


def _keys_cover_the_paper(reading: PaperReading) -> Iterator[Breach]:
    """A numbered list with the numbers of only a few questions is no key; a table may be. A solved copy has no list."""
    numbers = {draft.number for draft in reading.drafts}
    for source, places in _keyed(reading).items():
        entries = [entry for entry in reading.entries if (entry.source or reading.key_name) == source]
        listed_numbers = {str(entry.number) for entry in entries}
        covered = len(listed_numbers & numbers | {reading.drafts[place].number for place in places})
        few = bool(entries) and 2 * covered < len(numbers)
        if few and all(entry.listed for entry in entries):
            text = f"{source} has a numbered list, and it is no key: {covered} of {len(numbers)} questions"
            yield Breach(text, tuple(places), "answer", 0.3, error=True, refuse=True)
        elif few or 2 * len(listed_numbers & numbers) < len(listed_numbers):
            text = f"{source} has {len(listed_numbers)} keys, for {covered} of {len(numbers)} questions: compare them"
            yield Breach(text, error=True)


def _keyed(reading: PaperReading) -> dict[str, list[int]]:
    sources: dict[str, list[int]] = {}
    for place, draft in enumerate(reading.drafts):
        if draft.answer_from and (draft.answer or draft.solution):
            sources.setdefault(draft.answer_from, []).append(place)
    return sources


def _repeats(draft: Draft) -> bool:
    """Checks whether a key begins as its question, or repeats a sentence of it."""
    if draft.question_type in CHOICE_TYPES and draft.answer:
        return False
    key = _plain("".join(draft.answer) + (draft.solution or ""))
    answer = _plain("".join(draft.answer))
    question = _plain(draft.question)
    beginning = next((key[:end] for end in range(len(key)) if headings.width(key[:end]) >= _REPEATED), key)
    begins = headings.width(beginning) >= _FEWEST and question.startswith(beginning)
    begins = begins or (headings.width(question) >= _FEWEST and key.startswith(question))
    return begins or (len(answer) >= _COPIED and answer in question)


def _plain(text: str) -> str:
    return re.sub(r"[\s$，,。.；;_]", "", text)


INVARIANTS: Final = (
    _pages_were_read,
    _keys_cover_the_paper,
    _keys_are_no_copies,
    _numbers_follow,
    _numbers_come_once,
    printed_counts.counts_are_met,
    ownership.ink_has_an_owner,
    ownership.sections_have_questions,
    _one_head_a_question,
    _points_are_read,
    _lists_are_read,
    _each_is_sound,
    _no_question_is_too_long,
    _no_solution_in_the_question,
    _questions_end_in_what_they_ask,
    _answers_are_told_from_all,
    ownership.pictures_have_one_question,
    ownership.pictures_are_used,
    _few_have_options,
    _options_are_alike,
    _most_are_sure,
)
"""In the order in which they are checked."""
