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
from livek12.dataset_builders.ingest.keys.answers import BEGUN, PART, SERIES, is_label, split_answered
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.keys.ink import Inked, inks_of, solution_of, take_ink
from livek12.dataset_builders.ingest.keys.listed import ends_of, listed_entries, number_of, of_lines
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
from livek12.dataset_builders.ingest.pages.blocks import UNREAD
from livek12.dataset_builders.ingest.pages.formulas import BLANK
from livek12.dataset_builders.ingest.questions.headings import SOLUTION_HEAD, begins_answer
from livek12.dataset_builders.ingest.questions.options import split
from livek12.dataset_builders.ingest.questions.stream import Item, Stream
from livek12.dataset_builders.ingest.questions.texts import compose

_MOST, _FEWEST_TOKENS = 0.5, 5
"""Share of the questions of a solved paper; tokens of a question."""
_LONGEST: Final = 5000
"""Tokens compared: beyond these a question is none."""
_RUN: Final = 3
"""Tokens of a question in a row that are no chance."""
_FEWEST_RUNS = 3
"""Questions that make a habit."""
_REWORDED: Final = "its question reads otherwise in the key: what is not its answer may stand in it"
_BEGIN, _LABEL = 20, 4
"""Letters of an option that are compared, and of the label before them."""
_REMARK, _WORK = 2, 24
"""Tokens of another wording, which is no solution; tokens before an answer that make it work, not a head."""
_FORMULA: Final = re.compile(r"[\\^]|_\{?\w|[=<>+]")
_OPEN, _CLOSED = "(（", ")）"
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
    if len(copies) > max(1, _MOST * len(drafts)):
        words = Counter(places[at].style for at in copies if places[at].style[:1].isalpha())
        heads = ("answer", *(style for style, _ in words.most_common(1)))
        for index in [at for at in spans if at not in copies and places[at].style.startswith(heads)]:
            entry = of_lines(drafts[index], spans[index], places[index].end, name)
            repeats = any(map(PaperWords([drafts[index].markdown]).has, (entry.solution or "").split("\n")))
            unsure = _REWORDED if repeats else entry.unsure
            copies[index] = replace(entry, number=number_of(drafts[index]), of=drafts[index].id, unsure=unsure)
        for index, entry in _inked(drafts, paper, stream, places, spans, forms).items():
            read_so = copies.get(index, Entry(0, ""))
            lacks = bool(drafts[index].options) and not is_label(read_so.answer)
            if (lacks and is_label(entry.answer)) or not (read_so.answer or read_so.solution or drafts[index].options):
                copies[index] = replace(entry, where=name)
        return _of_copies(drafts, paper, stream, name, copies, spans)
    listed = listed_entries(drafts, paper, stream, name, headings, by_words)
    answered = {entry.of for entry in listed if entry.answer or entry.solution}
    solved = [copy for copy in copies.values() if copy.answer or copy.solution]
    kept = {copy.of: copy for copy in solved if not (copy.unsure and copy.of in answered)}
    return [*kept.values(), *(entry for entry in listed if entry.of not in kept)]


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
    rows = [re.findall(r"(?m)^\|.*\w.*", text) for text in (draft.markdown, copy.text)]
    filled = [sum(len(tokens(cells)) for cells in each) for each in rows]
    drawn = bool(LETTER.search(copy.text)) and not (draft.options or LETTER.search(solution))
    return Entry(
        number_of(draft),
        answer,
        solution=solution or None,
        unread=(bool(solution) and (drawn or filled[0] < filled[1])) or (copy.unread and bool(_FORMULA.search(answer))),
        by_ocr=any(item.block.origin == "ocr" for item in own),
        elective=draft.elective,
        of=draft.id,
        copied=True,
        unsure=unsure,
        printed="\n".join(item.text for item in own),
    )


def _inked(
    drafts: Sequence[Draft],
    paper: PaperWords,
    stream: Stream,
    places: Mapping[int, KeyPlace],
    spans: Mapping[int, Sequence[Item]],
    forms: Mapping[str, int],
) -> dict[int, Entry]:
    """Entries of copies whose answers are set in an ink that the paper does not have."""
    questions = [squeezed(drafts[index].markdown) for index in spans]
    inks = inks_of(
        [(own, places[index].end, drafts[index].options) for index, own in spans.items()],
        lambda at, text: not (paper.has(text) or squeezed(text) in questions[at]),
    )
    entries = {}
    for index, own in spans.items() if inks else ():
        rest, all_taken, answer = [*map(replace, own)], list[Inked](), ""
        for ink in inks:
            taken = take_ink(rest, places[index].end, drafts[index].options, ink)
            rest, all_taken = taken.rest, [*all_taken, taken]
            answer = answer or taken.chosen or "; ".join(taken.fills)
        if entry := _copied(drafts[index], rest, places[index], stream, forms):
            text, value, worked = _answered(compose(solution_of(all_taken), stream.columns).text)
            solution = "\n".join(filter(None, (text, worked, entry.solution)))
            entries[index] = replace(entry, answer=answer or value or entry.answer, solution=solution or None)
    return entries


def _of_copies(
    drafts: Sequence[Draft],
    paper: PaperWords,
    stream: Stream,
    name: str,
    copies: Mapping[int, Entry],
    spans: Mapping[int, Sequence[Item]],
) -> list[Entry]:
    """Entries of copies, with the labels of a list beside them or of signed options."""
    entries = [*copies.values()]
    answered = [index for index, entry in copies.items() if entry.answer or entry.solution]
    used = {id(item) for index in answered for item in spans[index] if index != max(copies)}
    few = 2 * len(answered) <= len(entries)
    others = [item for item in stream.items if not (paper.has(item.text) or (id(item) in used and not few))]
    listed = listed_entries(drafts, paper, replace(stream, items=others), name)  # before the copies, or behind the last
    served = {entry.of for entry in listed if entry.of}
    if few and len(served) > len(answered):
        return [*(copies[index] for index in answered if drafts[index].id not in served), *listed]
    signed = {drafts[index].id: _signed(drafts[index], own) for index, own in spans.items() if index in copies}
    return _with_labels(entries, drafts, listed, signed)


def _with_labels(
    entries: Sequence[Entry], drafts: Sequence[Draft], listed: Sequence[Entry], signed: Mapping[str, str]
) -> list[Entry]:
    """Entries with the labels of a list, else of `signed` options, for choices without one."""
    by_id = {entry.of: entry for entry in entries}
    bare = [draft for draft in drafts if draft.options and not (draft.id in by_id and by_id[draft.id].answer)]
    rows = {row.of: row.answer.strip("()（）. ") for row in listed if is_label(row.answer)}
    whole = {draft.id for draft in bare} <= {*rows}
    labels = {draft.id: rows[draft.id] if whole else signed.get(draft.id, "") for draft in bare}
    if len(bare) < _FEWEST_RUNS or 2 * sum(map(bool, labels.values())) <= len(bare):
        return [*entries]
    for draft in bare:
        entry = by_id.get(draft.id, Entry(number_of(draft), "", of=draft.id, elective=draft.elective))
        by_id[draft.id] = replace(entry, answer=labels[draft.id])
    return [entry for entry in by_id.values() if entry.answer or entry.solution or entry.of not in labels]


def _signed(draft: Draft, items: Sequence[Item]) -> str:
    """Labels of the options that a copy has with a sign behind them, if fewer than half are."""
    theirs = split(LETTER.sub(IMAGE_MARK, "\n".join(item.text for item in items)), draft.language, True)[1]
    texts = {option.label: squeezed(option.text) for option in theirs}
    signs = {own.label: texts.get(own.label, "").partition(squeezed(own.text) or UNREAD) for own in draft.options}
    whole = all(own and len(sign) <= _REMARK for _, own, sign in signs.values())
    signed = [label for label, (_, _, sign) in signs.items() if sign]
    return "".join(signed) if whole and 2 * len(signed) < len(signs) else ""


def _below(draft: Draft, copy: str) -> tuple[str, str, str]:
    """Answer and solution in a copy of another wording: below their head, else the other lines."""
    _, answer, solution = split_answered(copy)
    if answer or solution:
        return answer or "", solution or "", ""
    lines = without_question(copy.split("\n"), draft.markdown)
    return "", "\n".join(lines), _REWORDED


def _difference(question: str, copy: str, stem: str = "", worded: bool = True) -> tuple[str, str] | None:
    """Answer and solution that a copy has beyond its question; None for no copy of the `stem`."""
    ours, theirs = list(TOKEN.finditer(question)), list(TOKEN.finditer(copy))
    words, others = ([plain(match[0]) for match in matches] for matches in (ours, theirs))
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
        text = copy[theirs[begin].start() : theirs[stop - 1].end()].strip()
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
    for listing in re.finditer(r"```(.*?)```", copy, re.DOTALL):  # whole, if the question goes on in it
        within = [at for at, token in enumerate(theirs) if listing.start(1) <= token.start() < listing.end(1)]
        behind = within[next((n for n, at in enumerate(within) if at in new), len(within)) :]
        new |= {*within} if not new.issuperset(behind) else set()
    pieces = _new_lines(copy, theirs, new)
    parted = len(pieces) > 1 and all(part for part, _ in pieces)
    worked = []
    for part, text in pieces:
        if label := _BRACKETED.fullmatch(NUMBER.sub("", text, count=1) or text):
            own, answer, solution = "", str(label[1]), ""
        else:
            own, answer, solution = _answered(text)
        if parted:
            worked.append(f"{part} {own or answer}\n{solution}".rstrip())
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


def _new_lines(copy: str, tokens: Sequence[re.Match[str]], new: Set[int]) -> list[tuple[str, str]]:
    """Parts' labels, and runs of lines that are mostly new or what is new at the ends of others."""
    pieces: list[tuple[str, str]] = []
    follows, part = False, ""
    due: list[str] = []
    for line in re.finditer(r"[^\n]+", copy):
        own = [place for place, token in enumerate(tokens) if line.start() <= token.start() < line.end()]
        old = [place for place in own if place not in new]
        tail = [place for place in own if not old or place > old[-1]]
        if old and (match := PART.match(line[0])):
            due = due or next((series for series in SERIES if series[0] == match[2]), [])
            if match[2] == next(iter(due), ""):
                part, due = match[1], due[1:]
        if 2 * len(old) < len(own):
            begun = next((n for n, place in enumerate(own) if place in new), 0)  # the end of the question's own line
            cut = (
                tokens[own[begun]].start()
                if (begun >= _FEWEST_TOKENS or not line.start()) and not follows
                else line.start()
            )
            text = copy[cut : line.end()].rstrip()
        elif len(tail) > _REMARK:
            follows = False
            text = copy[tokens[tail[0]].start() : line.end()].strip()
            text = f"${text}" if text.count("$") % 2 else text
        else:
            follows = follows and not own
            continue
        pieces[len(pieces) - follows :] = [(part, f"{pieces[-1][1]}\n{text}" if follows else text)]
        follows = True
    return [piece for piece in pieces if re.search(r"\w|[√×✓✗]", piece[1])]


def _additions(compared: SequenceMatcher[str], words: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Places and ends of what is added to a question, or fills its blanks: there and in the copy."""
    for kind, place, end, begin, stop in compared.get_opcodes():
        headed = bool(_SAID.fullmatch(" ".join(words[max(0, place - 2) : place])))
        if kind == "insert" or (
            kind == "replace" and (headed or set(words[place:end]) <= {BLANK} or stop - begin > 2 * (end - place))
        ):
            yield place, end, begin, stop


def _in_bracket(words: Sequence[str], place: int, end: int) -> bool:
    return place > 0 and end < len(words) and words[place - 1] in _OPEN and words[end] in _CLOSED and place == end


def _as_formula(text: str) -> str:
    """A piece of a formula between its dollars."""
    bare = " ".join(text.replace("$", " ").split())
    if _FORMULA.search(bare) and not any(map(ideographic, bare)):
        return f"${bare}$"
    return bare if text.count("$") % 2 else text.strip()
