"""Keys that list answers: rows of tables, lines with numbers, several in a line, or letters of a section in order.

Contract: each is a candidate of the alignment, which knows the questions. A second series for the same questions is
joined if it has their solutions, and a rival if it has other answers.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import count, groupby, takewhile
from typing import Final

from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.alignment import (
    KeyPlace,
    align,
    numbered_lines,
    places_by_words,
    text_of,
    title_of,
)
from livek12.dataset_builders.ingest.keys.answers import (
    AT_ONCE,
    BEGUN,
    HEAD_OF_CELLS,
    LONGEST_ANSWER,
    SOLVES,
    WORTH,
    Reading,
    in_form,
    is_choice,
    labels,
    split_text,
)
from livek12.dataset_builders.ingest.keys.entries import APART, Entry, of_mark_schemes, of_span, of_tables, printed
from livek12.dataset_builders.ingest.keys.matching import labels_of_paper
from livek12.dataset_builders.ingest.keys.words import PaperWords
from livek12.dataset_builders.ingest.questions.headings import (
    ANSWER_HEAD,
    SOLUTION_HEAD,
    begins_answer,
    is_section,
    numeral,
)
from livek12.dataset_builders.ingest.questions.points import marks, says_worth
from livek12.dataset_builders.ingest.questions.stream import Item, Stream

_LONGEST_TITLE: Final = 40
"""Characters between the numeral of a section and its first answer."""
_LONGEST_LISTED: Final = 120
"""Characters of an answer in a line of several, formulas as LaTeX."""
_CIRCLED: Final = "①②③④⑤⑥⑦⑧⑨⑩"
_SHORT: Final = rf"[{_CIRCLED}√×✓✗对错]|[A-J]{{1,6}}(?=[\s,，;；。.]|$)"
_ENTRY: Final = both_scripts(
    r"(?:(?<![\w.．,，$\\^{/+=<>*−-])|(?<=[A-J①-⑩√×✓✗对错]))"
    r"(?:[(（\[【〖]\s*第?\s*(?P<boxed>\d{1,3})\s*题?\s*[)）\]】〗]|第?\s*(?P<bare>(?:[Il](?=\d))?\d{1,3})\s*"
    rf"(?:[)）]\s*[-–:：.]?|\.(?!\d)|[．、:：]|[题번]|(?:[,，]\s*)?(?={_SHORT}))"
    r"|(?:(?<=\s{3})|(?<![\s\S]))(?P<cell>\d{1,3})(?=\s))\s*"
)
"""The number of an answer in a line of several: behind a gap it begins a cell."""
_SPAN: Final = both_scripts(
    r"(?<![^\s题])(\d{1,3})\s*[-—–~～∼至]\s*(\d{1,3})\s*[.．:：、题]?\s*((?:[(（]?[A-J①-⑩√×✓✗][)）]?[\s,，、]*)+)(?![A-Za-z])"
)
_LETTER_ROW: Final = re.compile(r"[A-J](?:[\s,，、;；]*[A-J]){3,}\s*[.。]?|[TF√×✓✗](?:[\s,，、;；]*[TF√×✓✗]){3,}")
"""Answers of a section in order, without numbers."""
_NEXT_CELL: Final = re.compile(r"(?<= {3})(\d{1,3}) {3,}\S")
"""A number and an answer, in cells behind another."""
_BESIDE: Final = 0.02
"""Of the page's width: the lines of a row begin so far behind its number."""
_MOST_LETTERS: Final = 10_000
"""Letters of all rows that are read."""
_BLANK_NUMBER: Final = both_scripts(r"[(（]\s*(\d{1,2})\s*[)）]")
_MATERIAL: Final = re.compile(r"\s*(?:Text|Passage|Conversation|Dialogue|Recording)\s*\d", re.IGNORECASE)
"""The number of what is heard or read, which is no question's."""
_SURELY_SHORT: Final = 3
"""Characters of an answer that any line may have."""
_LONGEST_GRID: Final = 20
"""Lines of rows, whose entries are all at the first."""
_MOST_SERIES, _FEWEST = 3, 3
"""Series of candidates that are looked at, and candidates that make one."""


def listed_entries(
    drafts: Sequence[Draft],
    paper: PaperWords,
    stream: Stream,
    name: str,
    headings: str = "",
    by_words: Mapping[int, Sequence[KeyPlace]] | None = None,
) -> list[Entry]:
    """Entries of a list of answers, each with its question, and those that go on behind the last."""
    items = stream.items
    every = candidates(items, name)
    if blanks := _counted_blanks(drafts, {place.number for place in every if "(" in place.style}):
        parts = [part for draft in drafts for part in _parts(draft, blanks.get(draft.id, ()))]
        listed = listed_entries(parts, paper, stream, name, headings)
        of_blanks = {part for id, numbers in blanks.items() for part in (f"{id} {n}" for n in numbers)}
        joined = [_of_blanks(draft, blanks[draft.id], listed, name) for draft in drafts if draft.id in blanks]
        return [*filter(None, joined), *(entry for entry in listed if entry.of not in of_blanks)]
    by_words = places_by_words(drafts, items) if by_words is None else by_words
    prints = _above(stream, every)
    own = labels_of_paper({*prints.values()}, drafts, headings)
    free = [place for place in every if prints.get(items[place.item].box.page, "") in {"", *own}]
    if every and not free:
        return [replace(place.entry, label=min(prints.values())) for place in every if place.entry]
    series: list[dict[int, KeyPlace]] = []
    unsure = ""
    while free:
        chosen = align(drafts, items, by_words, free)
        if series and not _is_series(chosen, series, drafts, items):
            break
        if len(series) == _MOST_SERIES:
            unsure = f"the key lists its answers more than {_MOST_SERIES} times: the others were not compared"
            break
        series.append(chosen)
        taken = {(place.item, place.number) for own in series for place in own.values()}
        ends = ends_of(items, series, free, drafts, paper)
        within = {at for start, _ in [*ends][:-1] for at in range(start, ends[start, _])}
        within |= {at for at, item in enumerate(items) if item.line and item.line.pitch}
        free = [place for place in free if not (place.item in within or (place.item, place.number) in taken)]
    if not series:
        return []
    ends = ends_of(items, series, free, drafts, paper)
    entries = []
    for index, draft in enumerate(drafts):
        given = [_entry(draft, chosen[index], items, ends, name) for chosen in series if index in chosen]
        entries += [replace(entry, unsure=entry.unsure or unsure) for entry in _joined(draft, given)]
    entries = _contradicted(drafts, entries, items, series, free)
    lacking = {draft.number for draft in drafts} - {str(entry.number) for entry in entries}
    entries = [
        replace(entry, unsure=f"the key of question {other[1]} stands behind its own")
        if (other := _NEXT_CELL.search(entry.answer or entry.solution or "")) and other[1] in lacking
        else entry
        for entry in entries
    ]
    usual = Counter(place.style for place in series[0].values()).most_common(1)
    last = max(map(number_of, drafts), default=0)
    behind = {place.number for place in free if usual and place.style == usual[0][0]}
    return [*entries, *(Entry(n, "", where=name) for n in takewhile(lambda n: str(n) in behind, count(last + 1)))]


def numbers_first(items: Sequence[Item]) -> list[Item]:
    """Items with the number of a row before its lines, where it stands level with their middle, perhaps with marks."""
    rows: list[Item] = []
    for item, below in zip(items, [*items[1:], None], strict=True):
        above = rows[-1] if rows else None
        cells = APART.split(item.text)
        if (
            (above and above.line and below and below.line and len(cells) < 3 and all(map(str.isdecimal, cells)))
            and above.box.page == item.box.page == below.box.page
            and above.box.top < item.box.top < above.box.bottom
            and item.box.top < below.box.top < item.box.bottom
            and min(above.box.left, below.box.left) > item.box.left + _BESIDE
        ):
            text = "    ".join((cells[0], above.text, *cells[1:]))
            box = replace(above.box, left=item.box.left)
            rows[-1] = replace(above, line=replace(above.line, text=text, box=box, inks=()), box=box)
        else:
            rows.append(item)
    return rows


def _counted_blanks(drafts: Sequence[Draft], bracketed: Set[str]) -> dict[str, range]:
    """Numbers of the blanks of each question, by its id, in sections whose questions go on counting them.

    The key has at least half of them, `bracketed`.
    """
    counted: dict[str, range] = {}
    for _, group in groupby(drafts, key=lambda draft: (draft.elective, draft.section)):
        own: dict[str, range] = {}
        due = 1
        for draft in group:
            first = due
            numbers = [int(match[1]) for match in _BLANK_NUMBER.finditer(draft.question)]
            for number in () if first > 1 and {1, 2} <= {*numbers} else numbers:  # but while (1)
                due = number + 1 if number in (due, due + 1) else due
            own[draft.id] = range(first, due)
        in_key = 2 * len(bracketed & {*map(str, range(1, due))}) >= due
        if in_key and len(own) > 1 and all(len(numbers) > 1 for numbers in own.values()):
            counted |= own
    return counted


def _parts(draft: Draft, numbers: Sequence[int]) -> list[Draft]:
    """A question of its own for each numbered blank; the whole question without one."""
    blank = {"question": "____", "question_type": "fill_in_blank", "options": []}
    ids = ({"id": f"{draft.id} {number}", "number": str(number)} for number in numbers)
    return [draft.model_copy(update=blank | own) for own in ids] or [draft]


def _of_blanks(draft: Draft, numbers: Sequence[int], entries: Sequence[Entry], name: str) -> Entry | None:
    """The entry of a question of the entries of its numbered blanks; None without any."""
    own = {number: [entry for entry in entries if entry.of == f"{draft.id} {number}"] for number in numbers}
    lines = [f"({n}) {each.answer} {each.solution or ''}".strip() for n, every in own.items() for each in every]
    unsure = "" if all(len(every) == 1 for every in own.values()) else "its key has not one answer for each blank"
    unsure = next((entry.unsure for every in own.values() for entry in every if entry.unsure), unsure)
    whole = Entry(number_of(draft), "", solution="\n".join(lines), where=name, of=draft.id, elective=draft.elective)
    return replace(whole, unsure=unsure) if lines else None


def _above(stream: Stream, places: Sequence[KeyPlace]) -> dict[int, str]:
    """The print of each page above its rows, without spaces: its subject and form."""
    above = {page: [*lines] for page, lines in stream.headings.items()}
    rows = {place.item for place in places if place.style == "table"}
    done: set[int] = set()
    for at, item in enumerate(stream.items):
        done |= {item.box.page} if at in rows else set()
        if item.box.page not in done:
            above.setdefault(item.box.page, []).append(item.text)
    return {page: squeezed("".join(above.get(page, ()))) for page in done}


def candidates(items: Sequence[Item], name: str) -> list[KeyPlace]:
    """Places where an answer may be: rows, pieces of lines, and lines with a number."""
    rows = [(at, "scheme", str(entry.number), entry) for at, entry in of_mark_schemes(items, name)]
    heads: list[KeyPlace] = []
    if not rows:
        tables = [*of_tables(items, name)]
        rows = [(own.start, "table", str(entry.number), entry) for own, entry in tables]
        tabled = {at for own, _ in tables for at in own}
        rows += [own for own in _of_lines(items, name) if own[0] not in tabled]
        heads = [place for place in numbered_lines(items) if place.item not in tabled]
        heads = [place for place in heads if not _MATERIAL.match(items[place.item].text)]
    places = [KeyPlace(at, 0, style=style, number=number, entry=entry) for at, style, number, entry in rows]
    return [replace(place, nth=nth) for nth, place in enumerate([*places, *heads])]


def _of_lines(items: Sequence[Item], name: str) -> Iterator[tuple[int, str, str, Entry]]:
    """Items, styles, numbers and entries of spans, of several answers in a line, and of rows of letters."""
    lines = [
        (at, line.text.strip())
        for at, item in enumerate(items)
        for line in ([item.line] if item.line else item.block.lines)
    ]
    grids, most = _grids([text for _, text in lines]), _MOST_LETTERS
    for place, (at, text) in enumerate(lines):
        counted = numeral(text)
        row = text[counted[1] :].strip() if counted else text
        letters = re.findall("[A-JT√×✓✗]", row) if _LETTER_ROW.fullmatch(row) else []
        answers = [entry for span in _SPAN.finditer(text) for entry in of_span(int(span[1]), int(span[2]), span[3])]
        rest = " ".join(_SPAN.sub(" ", text).split()) if answers else text
        series = series_in(rest)
        answers += grids.get(place, series if len(series) > 1 or answers else [])
        style = "~(" if rest.startswith(("(", "（")) else "~"
        yield from ((at, style, str(number), Entry(number, answer, where=name)) for number, answer in answers)
        most -= len(letters)
        if most >= 0 and letters != sorted({*letters}):  # those of one answer go up
            of = len(letters)
            yield from ((at, "~", f"#{n}/{of}", Entry(n, label, where=name)) for n, label in enumerate(letters, 1))


def _grids(texts: Sequence[str]) -> dict[int, list[tuple[int, str]]]:
    """Entries of blocks of lines in columns, all of them at the first line, in order."""
    rows = [[series_in(cell) for cell in APART.split(text)] for text in texts]
    grids: dict[int, list[tuple[int, str]]] = {}
    for is_grid, run in groupby(range(len(texts)), key=lambda place: all(len(cell) == 1 for cell in rows[place])):
        places = [*run]
        cells = sorted(cell[0] for place in places for cell in rows[place]) if is_grid else []
        numbers = [*dict(cells)]
        wide = 2 * sum(len(rows[place]) > 1 for place in places) > len(places)
        if wide and len(numbers) == len(cells) > 3 and numbers[-1] - numbers[0] <= 1.1 * len(cells):
            grids |= {place: cells if place == places[0] else [] for place in places}
    return grids


def series_in(text: str) -> list[tuple[int, str]]:
    """Entries of a line that begins with one, or has one soon behind a numeral, and counts on within."""
    firsts, counted = [_ENTRY.match(text)], numeral(text)
    if not firsts[0] and counted:
        firsts += _ENTRY.finditer(text, counted[1], counted[1] + _LONGEST_TITLE)
    heads = max((_counted_on(text, first) for first in firsts), key=len)
    ends = [*(head.start() for head in heads[1:]), len(text)][: len(heads)]
    entries = [(_value(head), text[head.end() : end].strip(" ;；,，")) for head, end in zip(heads, ends, strict=True)]
    return entries if all(number and 0 < len(answer) <= _LONGEST_LISTED for number, answer in entries) else []


def _counted_on(text: str, match: re.Match[str] | None) -> list[re.Match[str]]:
    """The first entry of a line, and those behind it that count on."""
    heads: list[re.Match[str]] = []
    while match:
        heads.append(match)
        following = _ENTRY.finditer(text, match.end())
        due = _value(match) + 1, _bracket(match)
        bare = match[0].strip().isdecimal()
        alike = (
            each for each in following if not (text.count("$", 0, each.start()) % 2 or (each["cell"] and not bare))
        )
        match = next((each for each in alike if (_value(each), _bracket(each)) == due), None)
    return heads


def _bracket(head: re.Match[str]) -> str:
    return head[0][0].translate(str.maketrans("（", "(")) if head["boxed"] else ""


_ONE: Final = str.maketrans("Il", "11")
"""Letters for which OCR takes the digit at the beginning of a number."""


def _value(head: re.Match[str]) -> int:
    return int((head["boxed"] or head["bare"] or head["cell"]).translate(_ONE))


def _is_series(
    chosen: Mapping[int, KeyPlace],
    before: Sequence[Mapping[int, KeyPlace]],
    drafts: Sequence[Draft],
    items: Sequence[Item],
) -> bool:
    """Checks for solutions of labels, or most in the style of the first series."""
    texts = {
        at: own.entry.answer if own.entry else text_of(items[own.item])[own.end :] for at, own in before[0].items()
    }
    labelled = {at for at, text in texts.items() if is_choice(drafts[at]) and labels(text)}
    solved = len(labelled & {*chosen})
    if solved >= _FEWEST and 2 * solved > len(labelled):
        return True
    usual = Counter(place.style for place in before[0].values()).most_common(1)
    alike = sum(place.style == usual[0][0] for place in chosen.values()) if usual else 0
    return alike >= _FEWEST and 2 * alike >= len(before[0])


def ends_of(
    items: Sequence[Item],
    series: Sequence[Mapping[int, KeyPlace]],
    free: Sequence[KeyPlace],
    drafts: Sequence[Draft],
    paper: PaperWords,
) -> dict[tuple[int, int], int]:
    """The item behind each chosen line, in order: that of the next place, of the number that is due, or of a title."""
    places = {place.order: (place, index) for chosen in series for index, place in chosen.items()}
    starts = sorted({item for item, _ in places})
    due = {(place.style, place.number): place.item for place in reversed(free)}
    sections = {title_of(draft.section) for draft in drafts} - {""}
    ends = {}
    for order, (place, index) in sorted(places.items(), key=lambda pair: pair[0]):
        if place.entry:
            continue
        following = bisect_right(starts, place.item)
        end = starts[following] if following < len(starts) else len(items)
        after = due.get((place.style, str(int(place.number) + 1))) if place.number.isdecimal() else None
        end = after if after is not None and place.item < after < end else end
        own = items[place.item : end]
        question = squeezed(drafts[index].markdown)
        titles = ((at, squeezed(item.text)) for at, item in enumerate(own) if at and _is_head(item.text, sections))
        heads = (at for at, title in titles if title not in question)
        ends[order] = place.item + min([1 + paper.end([item.text for item in own[1:]]), *heads])
    return ends


def _is_head(text: str, sections: Set[str]) -> bool:
    """Checks for the title of a section, its numeral alone, or one of the paper's `sections`."""
    counted = numeral(text)
    return is_section(text) or title_of(text) in sections or bool(counted and not text[counted[1] :].strip())


def _entry(
    draft: Draft, place: KeyPlace, items: Sequence[Item], ends: Mapping[tuple[int, int], int], name: str
) -> Entry:
    """The entry of a question at its place."""
    own = items[place.item : ends.get(place.order, place.item + _LONGEST_GRID)]
    entry = place.entry or of_lines(draft, own, place.end, name)
    if place.entry and not (entry.scheme or entry.solution):
        answer, solution, unsure = split_text(entry.answer, draft)
        entry = replace(entry, answer=answer, solution=solution or None, unsure=unsure)
    return _weighed(replace(entry, number=number_of(draft), of=draft.id, elective=draft.elective), own)


def number_of(draft: Draft) -> int:
    """The number of a question; 0 for another label."""
    return int(draft.number) if draft.number.isdecimal() else 0


def of_lines(draft: Draft, items: Sequence[Item], end: int, where: str) -> Entry:
    """The entry of a question in lines, of which the first has its number up to `end`."""
    first = re.sub(r"\A\s*(?:[–—：]|[:.]\s)\s*", "", text_of(items[0])[end:])
    first, _, stated = HEAD_OF_CELLS.sub(r"\1\n정답: ", first).partition("\n")
    worth = marks(first) if says_worth(first) else []
    titled = bool(worth) and (items[0].text[:1].isalpha() or bool(WORTH.fullmatch(first)))
    question = squeezed(draft.markdown)
    repeats = any(squeezed(printed(item)) in question for item in items[1:2])
    titled |= title_of(first) == title_of(draft.markdown.partition("\n")[0]) != "" and not repeats
    lines = ["" if titled else first, stated, *map(printed, items[1:])]
    text = AT_ONCE.sub("\n", "\n".join(line for line in lines if line).strip())
    whole = titled and "\n" in text and not begins_answer(text)
    key, solution, unsure = ("", text, "") if whole else split_text(text, draft)
    listed = not any(head.search(text) for head in (ANSWER_HEAD, SOLUTION_HEAD)) and not (
        SOLVES.match(text) or BEGUN.match(text)
    )
    points = worth[0].points if worth else None
    entry = Entry(0, key, points, solution or None, where=where, listed=listed, unsure=unsure, printed=text)
    return replace(entry, title=first) if titled else entry


def _weighed(entry: Entry, items: Sequence[Item]) -> Entry:
    """An entry with the confidence of the lines that begin it."""
    lines = [line for item in items for line in ([item.line] if item.line else item.block.lines)]
    beginning = squeezed(entry.answer or entry.solution or "")[:20]
    own = [line for line in lines if beginning in squeezed(line.text)]
    own = [line for line in own if str(entry.number) in line.text] or own
    by_ocr = any(item.block.origin == "ocr" for item in items)
    sure = min((line.confidence for line in own), default=0.0) if by_ocr else entry.confidence
    unread = entry.unread or (len(entry.answer) > _SURELY_SHORT and any(line.unread for line in own))
    return replace(entry, confidence=sure, by_ocr=by_ocr, unread=unread)


def _joined(draft: Draft, entries: Sequence[Entry]) -> list[Entry]:
    """One entry of those that go together: an answer and its solution; others are rivals."""
    if len(entries) < 2:
        return [*entries]
    readings = [in_form(draft, entry.answer, entry.solution or "") for entry in entries]
    answered = [at for at, own in enumerate(readings) if _answers(own)]
    solved = [at for at, own in enumerate(readings) if own.solution]
    if len({squeezed("".join(readings[at].answer)) for at in answered}) > 1:
        return [entries[at] for at in answered]
    if not answered and len({squeezed(readings[at].solution) for at in solved}) > 1:
        return [replace(entries[solved[0]], unsure="another solution of its number stands in the key")]
    first = [*answered, *solved, 0][0]
    texts = [
        own.solution if _answers(own) or not own.answer else "\n".join(filter(None, (entry.answer, entry.solution)))
        for entry, own in zip(entries, readings, strict=True)
    ]
    others = [at for at, text in enumerate(texts) if text and at != first]
    if not others or not readings[first].answer or readings[first].solution:
        return [entries[first]]
    unsure = entries[first].unsure or entries[others[0]].unsure
    return [replace(entries[first], solution=texts[others[0]], unsure=unsure)]


def _answers(reading: Reading) -> bool:
    """Checks for an answer in the form of its question, or a label, be it of no option."""
    return bool(reading.answer and (not reading.problem or labels(reading.answer[0])))


def _contradicted(
    drafts: Sequence[Draft],
    entries: Sequence[Entry],
    items: Sequence[Item],
    series: Sequence[Mapping[int, KeyPlace]],
    free: Sequence[KeyPlace],
) -> list[Entry]:
    """Entries with a doubt where their number has another answer, and the last, whose solution may hold it.

    The other is a label, or behind the list, as in errata, any short text in the form of its question.
    """
    styles = {place.order: place.style for chosen in series for place in chosen.values()}
    last = max(styles, default=(0, 0))
    texts: dict[str, list[str]] = {}
    for place in free:
        text = "" if place.entry else text_of(items[place.item])[place.end :].strip()
        behind = place.order > last and place.style in styles.values() and len(text) <= LONGEST_ANSWER
        if text and (labels(text) or behind):
            texts.setdefault(place.number, []).append(text)
    numbers = Counter(draft.number for draft in drafts)
    own = {draft.id: draft for draft in drafts if numbers[draft.number] == 1 and draft.number in texts}
    doubts = {}
    for entry in entries:
        if (draft := own.get(entry.of)) and (answer := in_form(draft, entry.answer, entry.solution or "").answer):
            for text in texts[draft.number]:
                reading = in_form(draft, *split_text(text, draft)[:2])
                if reading.answer not in ((), answer) and (is_choice(draft) or not reading.problem):
                    doubts[entry.of] = f"its number comes again: {text[:20]!r}"
    if doubts and entries[-1].solution:
        doubts.setdefault(entries[-1].of, entries[-1].unsure or "other answers stand behind it")
    return [replace(entry, unsure=doubts.get(entry.of, entry.unsure)) for entry in entries]
