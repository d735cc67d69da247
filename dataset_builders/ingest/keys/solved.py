"""Keys that repeat the paper: what they print beyond it.

Contract: questions are found by their words, under any number; one has a key only if most of its text is there. What
fills a blank or bracket is its answer, the rest, by parts, its solution.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from livek12.core.records import IMAGE_MARK
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.alignment import NUMBER, KeyPlace, align, places_by_words
from livek12.dataset_builders.ingest.keys.answers import BEGUN, PART, WORTH, is_label, split_answered
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.keys.ink import NEW, Inked, inks_of, solution_of, take_ink
from livek12.dataset_builders.ingest.keys.listed import ends_of, listed_entries, number_of, numbers_first, of_lines
from livek12.dataset_builders.ingest.keys.words import (
    COPIED,
    LETTER,
    TOKEN,
    PaperWords,
    plain,
    tokens,
    without_question,
)
from livek12.dataset_builders.ingest.pages.atoms import ideographic
from livek12.dataset_builders.ingest.pages.blocks import TICKED, UNREAD, Block, Box, Line
from livek12.dataset_builders.ingest.pages.formulas import BLANK
from livek12.dataset_builders.ingest.questions.headings import SOLUTION_HEAD, begins_answer
from livek12.dataset_builders.ingest.questions.options import split
from livek12.dataset_builders.ingest.questions.stream import Item, Stream
from livek12.dataset_builders.ingest.questions.texts import compose

_MOST, _FEWEST_TOKENS, _LONGEST = 0.5, 5, 5000
"""Share of the questions of a solved paper; tokens of a question, and beyond which it is none."""
_RUN, _FEWEST_RUNS = 3, 3
"""Tokens of a question in a row that are no chance; questions that make a habit."""
_REWORDED: Final = "its question reads otherwise in the key: what is not its answer may stand in it"
_ALIKE, _SIGNED = 0.02, 0.5
"""Of the page, by which sizes of one picture differ; confidence of a sign behind an option in a picture of a page."""
_REMARK, _WORK = 2, 24
"""Tokens of another wording, which is no solution; tokens before an answer that make it work, not a head."""
_FORMULA: Final = re.compile(r"[\\^]|_\{?\w|[=<>+]")
_TICK: Final = re.compile(r"(?:[√✓✔☑xX×+*★◀←]|\$\\sqrt\$)?")
"""Behind an option: a number or letter may be the page's."""
_CELL: Final = re.compile(r"[^\W_]|[√×✓✗]")
"""Of what fills a table."""
_NOWHERE: Final = Box(page=1, left=0.0, top=0.0, right=1.0, bottom=1.0)
_COPY: Final = Block(kind="text", box=_NOWHERE)
"""Of the lines of a copy's text."""
_BRACKETED: Final = re.compile(r"[(（]?\s*((?<=[(（ ])[A-H]+|[A-HTF]|[√×✓✗]|(?<=[(（ ])[xX]|\$\\sqrt\$)\s*[)）]?")
"""An answer that is all of a line or bracket."""
_SAID: Final = re.compile(
    r"\A\s*(?:(?:(?:Sample|Suggested|Model)\s+)?(?:Answers?|Solutions?|Ans)\b|풀이|답(?=\s))[ \t]*"
    r"(?:to (?:Question|Problem) )?(?:\d{1,2}(?=[.:：\s]))?[:：.]?\s*",
    re.IGNORECASE,
)
"""The head of what is new, with or without its colon."""


def aligned_entries(
    drafts: Sequence[Draft], paper: PaperWords, stream: Stream, name: str, headings: str = ""
) -> list[Entry]:
    """Entries of a key for the questions of a paper: what a copy has beyond it, or those of a list of answers."""
    stream = replace(stream, items=numbers_first(stream.items))
    by_words = places_by_words(drafts, stream.items)
    places = align(drafts, stream.items, by_words)
    ends = ends_of(stream.items, [places], (), drafts, paper)
    forms = Counter(line for draft in drafts for line in {*draft.markdown.split("\n")})  # "Select one:"
    copies: dict[int, Entry] = {}
    spans: dict[int, list[Item]] = {}
    for index, place in sorted(places.items()):
        spans[index] = stream.items[place.item : ends[place.order]]
        if entry := _copied(drafts[index], spans[index], place, stream, forms):
            copies[index] = replace(entry, where=name)
    are_copies = len(copies) > max(1, _MOST * len(drafts))
    words = Counter(places[at].style for at in copies if places[at].style[:1].isalpha())
    heads = ("answer", *(style for style, _ in words.most_common(1))) if are_copies else ()
    for index in [at for at in spans if at not in copies and places[at].style.startswith(heads)]:
        entry = of_lines(drafts[index], spans[index], places[index].end, name)
        repeats = any(map(PaperWords([drafts[index].markdown]).has, (entry.solution or "").split("\n")))
        unsure = _REWORDED if repeats else entry.unsure
        copies[index] = replace(entry, number=number_of(drafts[index]), of=drafts[index].id, unsure=unsure)
    for index, (label, ticked) in _chosen(drafts, places, spans, stream).items():
        entry = copies.get(index, Entry(0, "-"))
        if index in copies and label and not is_label(_TICK.sub("", entry.answer)):
            copies[index] = replace(entry, answer=label)
        elif not (label or entry.answer or entry.solution):
            copies[index] = replace(entry, solution=ticked or None)
    solved = {index: entry for index, entry in copies.items() if entry.answer or entry.solution}
    used = {id(item) for index in solved for item in spans[index] if index != max(copies)}
    used = used if 2 * len(solved) > len(copies) else set()
    others = [item for item in stream.items if not (id(item) in used or paper.has(item.text))]
    if are_copies:  # a list before them, or behind the last
        listed = listed_entries(drafts, paper, replace(stream, items=others), name)
    else:
        listed = listed_entries(drafts, paper, stream, name, headings, by_words)
    answered = {entry.of for entry in listed if entry.of and (entry.answer or entry.solution)}
    if are_copies and (used or len(answered) <= len(solved)):
        return [*copies.values()]
    copied = [entry for entry in solved.values() if entry.of not in answered or not (are_copies or entry.unsure)]
    return [*copied, *(entry for entry in listed if entry.of not in {own.of for own in copied})]


def _copied(
    draft: Draft, own: Sequence[Item], place: KeyPlace, stream: Stream, forms: Mapping[str, int]
) -> Entry | None:
    """The entry of a copy of a question; None for no copy."""
    copy = compose(own, stream.columns, place.end)
    stem = "\n".join(line for line in draft.markdown.split("\n") if forms[line] < _FEWEST_RUNS)
    parts = _difference(draft.markdown, copy.text, stem, bool(place.words))
    if (parts is None and not place.is_copy) or begins_answer(copy.text) or BEGUN.match(copy.text):
        return None
    answer, solution, unsure = (*parts, "") if parts else _below(draft, copy.text)
    number = NUMBER.match(own[0].text)
    answer = answer or (number["filled"] if number and number["filled"] else "")
    signed = "" if answer else _signed(draft, copy.text)
    rows = [re.findall(r"(?m)^\|.*\w.*", text) for text in (draft.markdown, copy.text)]
    filled = [sum(len(tokens(cells)) for cells in each) for each in rows]
    drawn = _has_drawn(draft, own) and not (draft.options or LETTER.search(solution))
    lacks_cells = filled[0] < filled[1] and not re.search(r"(?m)^\|", solution)
    return Entry(
        number_of(draft),
        answer or signed,
        confidence=_SIGNED if signed else 1.0,
        solution=solution or None,
        unread=(bool(solution) and (drawn or lacks_cells)) or (copy.unread and bool(_FORMULA.search(answer))),
        by_ocr=any(item.block.origin == "ocr" for item in own),
        elective=draft.elective,
        of=draft.id,
        copied=True,
        unsure=unsure,
        printed="\n".join(item.text for item in own),
    )


def _has_drawn(draft: Draft, items: Sequence[Item]) -> bool:
    """Checks for a picture of a copy that has not the size of one of its question's."""
    sizes = [figure.box for figure in draft.figures if figure.box]
    return not all(
        any(
            abs((own.right - own.left) - (box.right - box.left)) + abs((own.bottom - own.top) - (box.bottom - box.top))
            < _ALIKE
            for own in sizes
        )
        for box in (item.box for item in items if LETTER.search(item.text))
    )


def _chosen(
    drafts: Sequence[Draft], places: Mapping[int, KeyPlace], spans: Mapping[int, Sequence[Item]], stream: Stream
) -> dict[int, tuple[str, str]]:
    """Labels of the options that copies set otherwise; what is ticked where the paper has no options."""
    questions = [(own, places[index].end, drafts[index].options) for index, own in spans.items()]
    chosen: dict[int, tuple[str, str]] = {}
    for ink in inks_of(questions):
        for index, (own, end, options) in zip(spans, questions, strict=True):
            taken = take_ink([*map(replace, own)], end, options, ink)
            ticked = solution_of([taken]) if ink == TICKED and not options else []
            if taken.chosen or ticked:
                chosen[index] = taken.chosen, compose(ticked, stream.columns).text
    return chosen


def _signed(draft: Draft, copy: str) -> str:
    """Labels of the options that a copy has with a sign behind them, if fewer than half are."""
    theirs = split(LETTER.sub(IMAGE_MARK, copy), draft.language, True)[1] if draft.options else []
    texts = {option.label: squeezed(option.text) for option in theirs}
    signs = {own.label: texts.get(own.label, "").partition(squeezed(own.text) or UNREAD) for own in draft.options}
    whole = all(own and _TICK.fullmatch(sign) for _, own, sign in signs.values())
    signed = [label for label, (_, _, sign) in signs.items() if sign]
    return "".join(signed) if whole and 2 * len(signed) < len(signs) else ""


def _below(draft: Draft, copy: str) -> tuple[str, str, str]:
    """Answer and solution in a copy of another wording: below their head, else the other lines."""
    _, answer, solution = split_answered(copy)
    if answer or solution:
        return answer or "", solution or "", ""
    lines = without_question(copy.split("\n"), draft.markdown)
    return "", "\n".join(lines), _REWORDED


def _difference(question: str, copy: str, stem: str, worded: bool) -> tuple[str, str] | None:
    """Answer and solution that a copy has beyond its question; None for no copy of the `stem`."""
    theirs = list(TOKEN.finditer(copy))
    words, others = tokens(question), [plain(match[0]) for match in theirs]
    if not (1 if worded else _FEWEST_TOKENS) <= len(words) <= _LONGEST or len(others) > _LONGEST:
        return None
    needed = [word for word in tokens(stem or question) if word != BLANK]
    if (Counter(needed) & Counter(others)).total() < COPIED * len(needed):
        return None
    compared = SequenceMatcher(None, words, others, autojunk=False)
    copied = SequenceMatcher(None, needed, others, autojunk=False).get_matching_blocks()
    if sum(block.size for block in copied if block.size >= min(_RUN, len(needed))) < COPIED * len(needed):
        return None
    answers: list[str] = []
    new: set[int] = set()
    for place, end, begin, stop in _additions(compared, words):
        text = copy[theirs[begin].start() : theirs[stop - 1].end()].strip("_ \n")
        bracketed = (
            place == end and words[place - 1 : place] in (["("], ["["]) and words[end : end + 1] in ([")"], ["]"])
        )
        if label := _BRACKETED.fullmatch(text):
            answers.append(label[1])
        elif (bracketed or BLANK in words[max(0, place - 1) : end + 1]) and (end < len(words) or "\n" not in text):
            answers.append(_as_formula(text))
        else:
            new.update(range(begin, stop))
    for block in compared.get_matching_blocks():  # a few words in a solution that the question has too, by chance
        if block.size < _FEWEST_TOKENS and {block.b - 1, block.b + block.size} <= new:
            new.update(range(block.b, block.b + block.size))
    for whole in re.finditer(r"```.*?```|(?:^\|[^\n]*\n?){2,}", copy, re.DOTALL | re.MULTILINE):
        within = [at for at, token in enumerate(theirs) if whole.start() <= token.start() < whole.end()]
        filled = [at for at in within if at in new and _CELL.match(others[at])]
        goes_on = filled and not new.issuperset(range(filled[0], within[-3]))
        if len(filled) > _REMARK if copy[whole.start()] == "|" else goes_on:
            new.update(within)
    taken = take_ink(_looking_new(copy, theirs, new), 0, (), NEW)
    lines = [(_part_of(part, taken), item.line) for part, item in taken.lines if item.line]
    return _parted([*answers, *taken.fills], lines)


def _part_of(part: str, taken: Inked) -> str:
    """The part of an answer; if it is the only one that has one, that around it."""
    around = part.rpartition(" ")[0]
    others = {other for other in taken.parts if other.rpartition(" ")[0] == around} - {part}
    return around if others and others.isdisjoint(taken.answered) else part


def _looking_new(copy: str, tokens: Sequence[re.Match[str]], new: Set[int]) -> list[Item]:
    """The lines of a copy; what is mostly new looks so, or what is new at the end of a line."""
    items = []
    follows = False
    for place, line in enumerate(re.finditer(r"[^\n]+", copy)):
        own = [at for at, token in enumerate(tokens) if line.start() <= token.start() < line.end()]
        tail = next((n for n, at in enumerate(reversed(own)) if at not in new), len(own))
        start = len(line[0])
        if 2 * len(new & {*own}) > len(own):
            begun = next(n for n, at in enumerate(own) if at in new)  # behind the end of the question's own line
            at_once = follows or not (begun >= _FEWEST_TOKENS or not line.start())
            start = 0 if at_once or not begun else tokens[own[begun]].start() - line.start()
        elif tail > _REMARK:
            start = tokens[own[-tail]].start() - line.start()
        follows = start < len(line[0]) or (follows and not own)
        cut = "$" * (line[0].count("$", 0, start) % 2 and line[0].count("$", start) % 2)  # within a formula
        inks = ("", line[0][:start] + cut), (NEW, cut + line[0][start:])
        text = "".join(piece for _, piece in inks)
        items.append(
            Item(line=Line(text=text, box=_NOWHERE, place=place, inks=inks), block=_COPY, box=_NOWHERE, column=0)
        )
    return items


def _parted(answers: list[str], lines: Sequence[tuple[str, Line]]) -> tuple[str, str]:
    """Answer and solution of new lines and the labels of their parts."""
    pieces: list[tuple[str, str]] = []
    for at, (part, line) in enumerate(lines):
        goes_on = at and lines[at - 1][0] == part and lines[at - 1][1].place == line.place - 1
        pieces[len(pieces) - bool(goes_on) :] = [(part, f"{pieces[-1][1]}\n{line.text}" if goes_on else line.text)]
    if pieces and (worth := WORTH.match(pieces[0][1])) and worth[0].rstrip().endswith((")", "）")):
        pieces[0] = pieces[0][0], pieces[0][1][worth.end() :].lstrip("\n")  # of the question's own line
    pieces = [piece for piece in pieces if re.search(r"\w|[√×✓✗]", piece[1])]
    parted = len(pieces) > 1 and all(part for part, _ in pieces)
    worked, last = [], ""
    for part, text in pieces:
        signed = _BRACKETED.fullmatch(NUMBER.sub("", text, count=1) or text)
        own, answer, solution = ("", str(signed[1]), "") if signed else _answered(text)
        if parted:
            label = "" if part == last or PART.match(text) else part
            gap = "\n" if own[:1] in ("`", "|") else " "
            worked.append(f"{label}{gap}{own or answer}\n{solution}".strip())
            last = part
            continue
        answers += [answer] if answer else []
        worked.append(own or solution)
    if any(answer.count("\n") > 1 or SOLUTION_HEAD.search(answer) for answer in answers):
        answers, worked = [], [*answers, *worked]  # the solution repeats the question's end
    return "; ".join(filter(None, answers)), "\n".join(filter(None, worked))


def _answered(text: str) -> tuple[str, str, str]:
    """Text without a head, answer and solution of what is new."""
    work, answer, solution = split_answered(f"\n{text}")
    if answer:
        worked = work.strip("\n") if len(tokens(work)) > _WORK else ""
        return "", answer, "\n".join(filter(None, (worked, solution)))
    headed, heads = SOLUTION_HEAD.subn("", f"\n{text}", count=1)
    return (headed if heads else _SAID.sub("", headed, count=1)).strip("\n"), "", ""


def _additions(compared: SequenceMatcher[str], words: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Places and ends of what is added to a question, or fills its blanks: there and in the copy."""
    for kind, place, end, begin, stop in compared.get_opcodes():
        headed = bool(_SAID.fullmatch(" ".join(words[max(0, place - 2) : place])))
        if kind == "insert" or (
            kind == "replace" and (headed or set(words[place:end]) <= {BLANK} or stop - begin > 2 * (end - place))
        ):
            yield place, end, begin, stop


def _as_formula(text: str) -> str:
    """A piece of a formula between its dollars."""
    bare = " ".join(text.replace("$", " ").split())
    if _FORMULA.search(bare) and not any(map(ideographic, bare)):
        return f"${bare}$"
    return bare if text.count("$") % 2 else text.strip()
