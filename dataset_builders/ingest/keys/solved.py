"""Keys that repeat the paper: what they print beyond it.

Contract: questions are found by their words, in any order and under any number; a question has a key only if most of
its text is there. What fills a blank or an empty bracket is the answer; what stands elsewhere, mostly below, is the
solution, by parts if there are several.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from livek12.core.records import IMAGE_MARK
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.entries import Entry, entries_of_items, split_answered
from livek12.dataset_builders.ingest.keys.words import COPIED, TOKEN, PaperWords, plain, runs, tokens
from livek12.dataset_builders.ingest.pages.atoms import ideographic
from livek12.dataset_builders.ingest.pages.blocks import CHOICE, PICTURE, TICKED, PageBlocks
from livek12.dataset_builders.ingest.pages.formulas import BLANK
from livek12.dataset_builders.ingest.questions.headings import SOLUTION_HEAD, is_section
from livek12.dataset_builders.ingest.questions.options import begins_option
from livek12.dataset_builders.ingest.questions.stream import Item, flatten
from livek12.dataset_builders.ingest.questions.texts import compose

_MOST, _FEWEST_TOKENS = 0.5, 5
"""Share of the questions of a solved paper; tokens of a question."""
_LONGEST: Final = 5000
"""Tokens compared: beyond these a question is none."""
_HEAD, _FEWEST_RUNS = 40, 3
"""Tokens of a question's beginning; how many runs of them at one distance are no chance."""
_NUMBER: Final = both_scripts(
    r"\s*(?:第|Q|Question|Problem|문제|문항)?\s*[(（\[]?\d{1,3}\s*[题번]?\s*[.．、:：)）\]]?\s*", re.IGNORECASE
)
_BEGIN, _LABEL = 20, 4
"""Letters of an option that are compared, and of the label before them."""
_DRIFT: Final = 20
"""Tokens that a copy has more or fewer before those that are compared."""
_REMARK, _WORK = 2, 24
"""Tokens of another wording, which is no solution; tokens before an answer that make it work, not a head."""
_FORMULA: Final = re.compile(r"[\\^]|_\{?\w|[=<>+]")
_OPEN, _CLOSED = "(（", ")）"
_BRACKETED: Final = re.compile(r"[(（]?\s*((?<=[(（ ])[A-H]+|[A-HTF]|[√×✓✗]|(?<=[(（ ])[xX]|\$\\sqrt\$)\s*[)）]?")
"""An answer that is all of a line or bracket."""
_SAID: Final = re.compile(
    r"\A\s*(?:(?:(?:Sample|Suggested|Model)\s+)?(?:Answers?|Solutions?|Ans)\b|풀이|답(?=\s))[ \t]*"
    r"(?:\d{1,2}(?=[.:：]))?[:：.]?\s*",
    re.IGNORECASE,
)
"""The head of what is new, with or without its colon."""
_PART: Final = re.compile(r"[ \t]*([(（]?([a-z]|[ivx]{1,4}|\d{1,2})\s?[)）.．])(?!\d)")
_SERIES: Final = ("abcdefghijklmnop", "i ii iii iv v vi vii viii ix x xi xii".split(), [*map(str, range(1, 21))])
"""Labels of parts: where one begins, only the next of the same series is another part."""


def solved_entries(drafts: Sequence[Draft], paper: PaperWords, pages: Sequence[PageBlocks], name: str) -> list[Entry]:
    """Keys of a paper's questions; none if the pages of the key are no copy of it."""
    stream = flatten(pages)
    places = _locate([draft.markdown for draft in drafts], stream.items)
    if len(places) <= max(1, _MOST * len(drafts)):
        return []
    starts = sorted(item for item, _ in places.values())
    forms = Counter(line for draft in drafts for line in {*draft.markdown.split("\n")})  # "Select one:"
    entries: list[Entry] = []
    used: set[int] = set()
    chosen: dict[str, str] = {}
    for index, (start, skip) in sorted(places.items()):
        draft = drafts[index]
        following = bisect_right(starts, start)
        end = starts[following] if following < len(starts) else len(stream.items)
        own = stream.items[start:end]
        printed = "\n".join(item.text for item in own)
        end = 1 + paper.end([item.text for item in own[1:]])
        question = squeezed(draft.markdown)
        heads = (
            at for at, item in enumerate(own) if at and is_section(item.text) and squeezed(item.text) not in question
        )
        own = own[: min([end, *heads])]
        copy = compose(own, stream.columns, skip)
        stem = "\n".join(line for line in draft.markdown.split("\n") if forms[line] < _FEWEST_RUNS)
        if parts := _difference(draft.markdown, copy.text, stem):
            answer, solution = parts
            used.update(map(id, own if (answer or solution) and following < len(starts) else ()))
            rows = [re.findall(r"(?m)^\|.*\w.*", text) for text in (draft.markdown, copy.text)]
            filled = [sum(len(tokens(cells)) for cells in each) for each in rows]
            drawn = bool(solution) and (filled[0] < filled[1] or (IMAGE_MARK in copy.text and not draft.options))
            unread = drawn or (copy.unread and bool(_FORMULA.search(answer)))
            number = int(draft.number) if draft.number.isdigit() else 0
            by_ocr = any(item.block.origin == "ocr" for item in own)
            entry = Entry(number, answer, solution=solution or None, where=name, unread=unread, by_ocr=by_ocr)
            entries.append(replace(entry, elective=draft.elective, of=draft.id, printed=printed))
            chosen |= {draft.id: labels} if (labels := _chosen(draft, own)) else {}
    if len(entries) <= max(1, _MOST * len(drafts)):
        return []
    answered = sum(bool(entry.answer or entry.solution) for entry in entries)
    few = 2 * answered <= len(entries)
    others = [item for item in stream.items if not (paper.has(item.text) or (id(item) in used and not few))]
    listed = entries_of_items(others, name)  # before the copies, or behind the last
    numbers = {entry.number for entry in listed}
    if few and len(numbers) > answered:
        return listed
    choices = {draft.id for draft in drafts if draft.options}
    bare = [entry for entry in entries if entry.of in choices and not entry.answer]
    by_number = {row.number: label[1] for row in listed if (label := _BRACKETED.fullmatch(row.answer))}
    of_rows = len(numbers) == len(listed) and {entry.number for entry in bare} <= {*by_number}
    letters = {entry.of: by_number[entry.number] for entry in bare} if of_rows else chosen
    if len(bare) >= _FEWEST_RUNS and 2 * sum(entry.of in letters for entry in bare) > len(bare):
        return [replace(entry, answer=entry.answer or letters.get(entry.of, "")) for entry in entries]
    return entries


def _chosen(draft: Draft, items: Sequence[Item]) -> str:
    """Labels of the options in a copy that are ticked, or set as fewer than half of them are."""
    lines = [item for item in items[1:] if begins_option(item.text) or item.text.startswith(CHOICE)]
    looks, rest = {}, [(squeezed(item.text), item.line) for item in lines if item.line]
    for option in draft.options:
        if not (begin := squeezed(option.text.partition("\n")[0])[:_BEGIN]):
            return ""
        at = next((at for at, (text, _) in enumerate(rest) if 0 <= text.find(begin) <= _LABEL), None)
        if at is not None:
            looks[option.label] = rest[at][1].look or rest[at][1].bold
            rest = rest[at + 1 :]
    usual = max(looks.values(), key=[*looks.values()].count, default="")
    apart = [label for label, look in looks.items() if look == TICKED or (look != usual != TICKED)]
    return "".join(apart) if len(looks) == len(draft.options) and 2 * len(apart) < len(looks) else ""


def _locate(texts: Sequence[str], items: Sequence[Item]) -> dict[int, tuple[int, int]]:
    """The item, and the place within it, where each text begins; equal texts are taken in order."""
    words, owners = [], []
    for place, item in enumerate(items):
        for match in TOKEN.finditer(item.line.text.replace(PICTURE, IMAGE_MARK) if item.line else item.block.text):
            words.append(plain(match[0]))
            owners.append((place, match.start()))
    places: dict[tuple[str, ...], list[int]] = {}
    for at, run in enumerate(runs(words)):
        places.setdefault(run, []).append(at)
    begins: dict[int, tuple[int, int]] = {}
    taken: set[int] = set()
    last = (-1, 0)
    for index, text in enumerate(texts):
        own = runs(tokens(text)[:_HEAD])
        hits = [(at - place, at) for place, run in enumerate(own) for at in places.get(run, ()) if at >= place]
        votes = Counter(begin for begin, _ in hits)
        if not votes or (most := max(votes.values())) < min(_FEWEST_RUNS, len(own)):
            continue
        best = {begin for begin, many in votes.items() if many >= most - 1}
        alike = {next(hit for hit in hits if abs(hit[0] - begin) < _DRIFT) for begin in best}  # by the earliest words
        starts = [start for hit in sorted(alike) if (start := _start(*hit, owners, items))[0] not in taken]
        if starts:
            begins[index] = last = next((start for start in starts if start > last), starts[0])
            taken.add(last[0])
    return begins


def _start(begin: int, hit: int, owners: Sequence[tuple[int, int]], items: Sequence[Item]) -> tuple[int, int]:
    """The item, and the place in it, of a question's first token; a copy that lacks some begins at its number."""
    place, skip = owners[begin]
    if owners[hit][0] > place and _NUMBER.match(items[owners[hit][0]].text):
        place, skip = owners[hit]
    line = items[place].line
    number = _NUMBER.match(line.text) if line else None
    return place, min(skip, number.end()) if number else 0


def _difference(question: str, copy: str, stem: str = "") -> tuple[str, str] | None:
    """Answer and solution that a copy has beyond its question; None for no copy of the `stem`."""
    ours, theirs = list(TOKEN.finditer(question)), list(TOKEN.finditer(copy))
    words, others = ([plain(match[0]) for match in matches] for matches in (ours, theirs))
    if not _FEWEST_TOKENS <= len(words) <= _LONGEST or len(others) > _LONGEST:
        return None
    compared = SequenceMatcher(None, words, others, autojunk=False)
    needed = [word for word in tokens(stem or question) if word != BLANK]
    copied = SequenceMatcher(None, needed, others, autojunk=False).get_matching_blocks()
    if sum(block.size for block in copied) < COPIED * len(needed):
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
    pieces = _new_lines(copy, theirs, new)
    parted = len(pieces) > 1 and all(part for part, _ in pieces)
    worked = []
    for part, text in pieces:
        if label := _BRACKETED.fullmatch(_NUMBER.sub("", text, count=1) or text):
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
    """Runs of lines that are mostly new, whole, and what is new at the ends of others; before each, its part's head."""
    pieces: list[tuple[str, str]] = []
    follows, part = False, ""
    due: list[str] = []
    for line in re.finditer(r"[^\n]+", copy):
        own = [place for place, token in enumerate(tokens) if line.start() <= token.start() < line.end()]
        old = [place for place in own if place not in new]
        tail = [place for place in own if not old or place > old[-1]]
        if old and (match := _PART.match(line[0])):
            due = due or next(([*series] for series in _SERIES if series[0] == match[2]), [])
            if match[2] == next(iter(due), ""):
                part, due = match[1], due[1:]
        if 2 * len(old) < len(own):
            begun = next((n for n, place in enumerate(own) if place in new), 0)  # the end of the question's own line
            cut = tokens[own[begun]].start() if begun >= _FEWEST_TOKENS and not follows else line.start()
            text = copy[cut : line.end()].replace(IMAGE_MARK, "").rstrip()
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
