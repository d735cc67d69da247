"""Matching of keys to questions by number and part of the paper.

Contract: a question gets an answer only if exactly one key can be meant; a missing, doubled or left-over number is one
line, and an answer that does not fit is kept with a doubt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, takewhile

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.schemes import marks_in_solution
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.drafts import Doubt, Draft
from livek12.dataset_builders.ingest.keys.alignment import MOST_ALIKE, KeyPlace, chain, ranks_in_sections
from livek12.dataset_builders.ingest.keys.entries import NO_HEAD, Entry
from livek12.dataset_builders.ingest.keys.words import RUN, PaperWords, QuestionWords, tokens, without_question
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, UNREAD
from livek12.dataset_builders.ingest.questions.kinds import asks as asks_for
from livek12.dataset_builders.ingest.questions.kinds import settled, subject_of
from livek12.dataset_builders.ingest.questions.points import says_worth
from livek12.dataset_builders.reading.options import plain_label
from livek12.dataset_builders.reading.text import count_blanks, plain_width, split_blanks, split_parts
from livek12.judges.rules.true_false import read_truth

_LETTERS = re.compile(r"[\s(（]*(?:Option\s)?([A-J](?:[\s,，、]*[A-J])*)[\s)）.．。]*")
_SMALL_LABEL = re.compile(r"[\s(（]*(?=[a-h])a?b?c?d?e?f?g?h?[\s)）.．。]*")
_LETTER = re.compile(r"[A-Ha-h](?:\s*[,，、]\s*[A-Ha-h])*|[A-H]{2,6}")
_RINGED = re.compile(r"[①-⑩](?:[\s,，、]*[①-⑩])*")
LABEL_FIRST = re.compile(r"(?:[B-H](?=\s+[a-z]|\s*[:：]|\s*\Z)|A(?=\s*[:：]|\s*\Z))")
"""A letter at the beginning of a line that is not a word."""
_REASONED = re.compile(
    r"(?P<label>[①-⑩](?!.*\n\s*[①-⑩])|[(（]?[A-Ja-j][)）](?!\s*[,，、])|[A-H](?:\s*[,，、]\s*[A-H])*(?=[.．。](?!.*\n\s*[A-H][.．、]))"
    rf"|{LABEL_FIRST.pattern})(?:[.．。:：]\s*|(?=\s*[(（,，\s]))(?P<reason>.+)",
    re.DOTALL,
)
_LETTER_FIRST = re.compile(r"\s*([A-H])(?:[ \t]{3,}|[ \t]+(?=[一-鿿“]))(?=\S)(?![项点])")
"""A letter that stands apart from what follows."""
_STATED = both_scripts(
    r"(?:정답은?|答案[为是]?)\s*[:：]?\s*(?P<label>[①-⑩]|[A-H])(?=[.．。(（])[.．。]?\s*(?P<reason>.+)", re.DOTALL
)
"""A solution that begins with its answer."""
_JUDGED = both_scripts(r"[-–—\s]*(正确|错误|[对错]|True|False|[TF](?=[.．]))(?:[。.．，,:：;；\s].*)?", re.DOTALL)
"""A solution that begins with the judgement."""
_CHOSEN = both_scripts(
    r"(?:(?:^|,)\s*or|answers?(?:\s+is)?|[故应]选|答案[为是选]?)\s*[:：]?\s*\$?[(（]?([A-H]{1,4})[)）]?\$?\s*[.．。]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of a solution that ends in the label of an option."""
_PIECE = re.compile(r"\$?\s*(?:\\[a-z]+|[a-z](?=\$)|[()（）\[\]{}|+=−-]{1,2}|[\d.]+(?:\s{3,}[\d.]+)+)\s*\$?[,，.。]?")
_BREAKS_OFF = both_scripts(
    r"(?:[，,:：=]|如下图?|如图|所示)[:：]?\s*\$?\s*\Z|(?:如下?|见|下)图(?:所示)?\s*[:：]\s*$", re.MULTILINE
)
"""Ends before a formula or picture."""
_MARK_CODE = re.compile(r"\b[MAB][1-9]\b")
_BRACED = r"\{(?:[^{}]|\{[^{}]*\})*\}"
_SCRIPT = re.compile(
    rf"\{{\}}[_^]\{{?[^}}]{{2}}|\\(?:sum|int|prod)\^{_BRACED}\{{\}}|\\frac{_BRACED}{_BRACED}\^\{{\\frac"
    r"|[=+<>≤≥]\s*\$?\s{3,}\$?\s*(?:[=+<>]|\\(?:ge|le|frac|sqrt))"
)
"""A script before its letter, a sum without its body, a gap behind a relation."""
_SIGN = re.compile("[√×✓✗TF]")
_BLANK = re.compile(r"\s*【\d{1,2}】\s*")
"""A label of a blank in its key."""
_GROUND = re.compile(r"[\s$,，、]")
_LABEL = 8
"""Signs of an answer that is no copy of the question if they stand in it."""
_SURE = 0.85
"""A label that OCR read with less confidence is a doubt."""
READ_KEY = 0.45
"""A fraction's lines that are taken for words of their own turn 3/2 into 2, and no rule can see it."""
_FORMS = ("홀수형", "짝수형")
NO_ANSWER = "no answer was read"
"""Begins the line of a paper whose key is there and says nothing."""
_SHARED = "several questions have its number"
_OF_OTHERS = "the keys have no more words of their questions than of others: they may be another paper's"


def match(
    drafts: Sequence[Draft],
    entries: Sequence[Entry],
    source: str,
    headings: str,
    paper: PaperWords | None = None,
) -> tuple[list[Draft], list[str]]:
    """Drafts with their keys, and a line for each number that does not match.

    `headings` are the print around the questions, without spaces; no solution ends with lines of `paper` between them.
    """
    if not entries:
        return list(drafts), []
    read, entries = entries, _of_this_paper(entries, headings, next((draft.subject for draft in drafts), ""))
    if not entries:
        theirs = sorted({_subject(entry) for entry in read})
        return list(drafts), [f"{source} is a key for {', '.join(theirs)}, not for this paper; none of it was taken"]
    forms = {_form(draft, headings) for draft in drafts} - {""}
    entries = [entry for entry in entries if not forms or _form_of(entry) in ("", *forms)]
    rows = {} if forms else _aligned(drafts, entries)
    electives = list(dict.fromkeys(_part(draft) for draft in drafts if _part(draft)))
    used: set[int] = set()
    paper = paper or PaperWords()
    words = QuestionWords({draft.id: draft.markdown for draft in drafts})
    matched, lines = [], []
    by_draft = _candidates(drafts, entries, electives, headings, rows, used)
    shared = Counter(at for own in by_draft.values() for at in own)
    texts = {id: f"{entries[own[0]].answer}\n{entries[own[0]].solution}" for id, own in by_draft.items() if own}
    foreign = words.are_of_others(texts)
    labels = _first_letters(drafts, {id: entries[own[0]] for id, own in by_draft.items() if own})
    owners = {at for own in by_draft.values() for at in own}
    if _are_other_questions([entries[at] for at in owners], paper):
        return list(drafts), [f"{NO_ANSWER} from {source}: it has other questions than the paper"]
    bare = {at for at in owners if entries[at].copied and not (entries[at].answer or entries[at].solution)}
    if unsolved := 2 * len(bare) > len(owners):
        lines.append(
            f"{NO_ANSWER} to {len(bare)} questions from {source}: they may stand there in pictures, or by hand"
        )
    for draft in drafts:
        candidates = by_draft[draft.id]
        answers = {
            squeezed(own.answer).upper() or squeezed(own.solution or "") for own in map(entries.__getitem__, candidates)
        }
        name = f"{draft.elective} {draft.number}".strip()
        if unsolved and {*candidates} <= bare:
            matched.append(draft)
        elif not candidates:
            lines.append(f"question {name}: no key in {source}")
            matched.append(with_doubt(draft, "answer", f"{source} has no key for question {name}", 0.3))
        elif len(answers) > 1:
            keys = " and ".join(sorted(entries[index].answer[:20] for index in candidates))
            lines.append(f"question {name}: {source} has several keys ({keys}); none was taken")
            matched.append(with_doubt(draft, "answer", f"{source} has several keys: {keys}", 0.1))
        else:
            if len(candidates) > 1:
                lines.append(f"question {name}: {source} has its key {len(candidates)} times, the same each time")
            entry = labels.get(draft.id, entries[candidates[0]])
            if not entry.copied:
                likely = words.likeliest(texts, draft.id)
                doubts = (
                    entry.unsure,
                    _SHARED if shared[candidates[0]] > 1 else _foreign(entry, draft, paper),
                    _OF_OTHERS if foreign and entry.solution else "",
                    f"its key has the words of question {likely}" if likely else "",
                )
                entry = replace(_ended(entry, draft, paper), unsure=next(filter(None, doubts), ""))
            matched.append(_compared(keyed(draft, entry, entry.source or source), entry, paper))
    left = [entry for index, entry in enumerate(entries) if index not in used]
    lost = _behind_the_last(matched, left)
    for entry in left:
        if entry.number in lost:
            lines.append(f"question {entry.number}, whose key stands in {entry.where}, was not found")
        else:
            lines.append(f"key {entry.number} ({entry.where}): no question has this number")
    return matched, lines


def _first_letters(drafts: Sequence[Draft], entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Entries that begin with a letter, as most reasons of choices do, each with another: it is the answer."""
    lettered = {}
    worked = [draft for draft in drafts if draft.options and draft.id in entries and not _is_short(entries[draft.id])]
    for draft in worked:
        entry = entries[draft.id]
        match = _LETTER_FIRST.match("\n".join(filter(None, (entry.answer, entry.solution))))
        ends = {*_CHOSEN.findall(entry.solution or entry.answer)} - {match[1] if match else ""}
        if match and not ends and match[1] in {option.label for option in draft.options}:
            lettered[draft.id] = replace(
                entry, answer=match[1], solution=match.string[match.end() :].strip(), unsure=""
            )
    usual = Counter(entry.answer for entry in lettered.values()).most_common(1)
    return lettered if usual and 2 * len(lettered) > max(len(worked), 2 * usual[0][1]) else {}


def _is_short(entry: Entry) -> bool:
    return bool(_labels(explained(entry).answer))


def _are_other_questions(entries: Sequence[Entry], paper: PaperWords) -> bool:
    """Checks for entries of which most begin with a question that is not the paper's."""
    begins = [f"{entry.answer}\n{entry.solution or ''}"[:_QUESTION] for entry in entries if not entry.copied]
    asking = [begin for begin in begins if re.search("[?？]", begin) and asks_for(begin)]
    return 2 * sum(not any(map(paper.has, begin.split("\n"))) for begin in asking) > len(entries)


def _ended(entry: Entry, draft: Draft, paper: PaperWords) -> Entry:
    """An entry whose solution is neither the question nor what the paper prints behind it."""
    entry = explained(entry) if draft.options else entry
    solution = (entry.solution or "").split("\n")
    solution = solution if entry.answer else without_question(solution, draft.markdown)
    return replace(entry, solution="\n".join(solution[: paper.end(solution, draft.markdown)]).strip() or None)


def _compared(draft: Draft, entry: Entry, paper: PaperWords) -> Draft:
    """The draft with a doubt if more than a little of its entry is neither in its key nor in the paper."""
    there = re.sub(r"\W", "", "".join((draft.markdown, *draft.answer, draft.solution or "")))
    lines = [line for line in entry.printed.split("\n") if not paper.has(line)]
    letters = [re.sub(r"\W", "", line) for line in lines]
    kept = [own[:_END] in there or own[-_END:] in there for own in letters]
    lost = [line for line, is_kept in zip(lines, kept, strict=True) if not is_kept]
    if sum(len(tokens(line)) for line in lost) <= _LITTLE:
        return draft
    return with_doubt(draft, "answer", f"a line of its key was left out: {lost[0][:40]!r}", 0.3)


def _candidates(
    drafts: Sequence[Draft],
    entries: Sequence[Entry],
    electives: Sequence[str],
    headings: str,
    rows: Mapping[str, list[int]],
    used: set[int],
) -> dict[str, list[int]]:
    """Places of the entries of each question; those of its number and part are `used`."""
    by_draft: dict[str, list[int]] = {}
    placed = {at for own in rows.values() for at in own}
    for draft in drafts:
        fitting = (at for at, entry in enumerate(entries) if _fits(entry, draft, electives, entries, headings))
        named = (at for at in fitting if not rows or (entries[at].elective and at not in placed))
        own = rows.get(draft.id) or [*named]
        used.update(own)
        by_draft[draft.id] = [at for at in own if rows or _serves(entries[at], draft, drafts)]
    return by_draft


def _foreign(entry: Entry, draft: Draft, paper: PaperWords) -> str:
    """The reason to doubt a key that begins with a question other than its own; "" for none."""
    first = _head(entry)
    of_table = entry.points is not None and not (entry.listed or entry.title)
    own = of_table or len(tokens(first)) < RUN or squeezed(first) in squeezed(draft.markdown)
    own = own or bool(entry.title and PaperWords([draft.markdown]).has(first))
    asks = says_worth(first[:_WORTH_FIRST]) or (says_worth(first[-_WORTH_FIRST:]) and asks_for(first))
    return "its key begins with the text of another question" if not own and (asks or paper.has(first)) else ""


def _head(entry: Entry) -> str:
    """The first line of an entry."""
    return entry.title or (entry.answer or entry.solution or "").partition("\n")[0]


def _aligned(drafts: Sequence[Draft], entries: Sequence[Entry]) -> dict[str, list[int]]:
    """Entries of each question where numbers come again in the key, in order; empty if numbers alone tell.

    Another entry that fits as well, and is no other question's, is a rival if it has an answer or most have one.
    """
    single = len({entry.number for entry in entries}) == len(entries) or any(entry.of for entry in entries)
    if single or not all(draft.number.isdigit() for draft in drafts):
        return {}
    ranks = ranks_in_sections(drafts)
    named: dict[str, list[int]] = {}
    for index, draft in enumerate(drafts):
        for number in {draft.number, ranks[index]}:
            named.setdefault(number, []).append(index)
    pairs = [
        (index, KeyPlace(at, 0))
        for at, entry in enumerate(entries)
        for index in named.get(str(entry.number), ())[:MOST_ALIKE]
    ]
    parts = {squeezed(f"{draft.elective} {draft.section}") for draft in drafts}
    titled = {
        at
        for at, entry in enumerate(entries)
        if entry.elective and any(squeezed(entry.elective) in part for part in parts)
    }
    pairs = [(at, own) for at, own in pairs if own.item not in titled or _is_titled(drafts[at], entries[own.item])]
    fits = {(index, place.item): _fit(drafts[index], entries[place.item]) for index, place in pairs}
    chosen = {index: place.item for index, place in (pairs[at] for at in chain(pairs, [*fits.values()])[0])}
    free = {*range(len(entries))} - {*chosen.values()}
    rivals = {
        index: [other for other in free if fits.get((index, other), 0.0) >= fits[index, at]]
        for index, at in chosen.items()
    }
    several = 2 * sum(map(bool, rivals.values())) > len(chosen)
    aligned = {
        drafts[index].id: [at, *(other for other in rivals[index] if several or entries[other].answer.strip(PICTURE))]
        for index, at in chosen.items()
    }
    return aligned if 2 * sum(map(len, aligned.values())) > len(entries) else {}


def _fit(draft: Draft, entry: Entry) -> float:
    """The weight of an entry for a question of its number: the form of its type, and its section's title."""
    return (
        0.5
        + 0.5 * (str(entry.number) == draft.number)
        + 0.5 * (bool(_labels(entry.answer)) == bool(draft.options))
        + _is_titled(draft, entry)
    )


def _is_titled(draft: Draft, entry: Entry) -> bool:
    return bool(entry.elective) and squeezed(entry.elective) in squeezed(f"{draft.elective} {draft.section}")


_QUESTION = 300
"""Characters at the beginning of an entry in which a question is another paper's."""
_END, _LITTLE = 12, 24
"""Letters of a line's beginning or end by which it is found; tokens of heads and points, which are no answer."""
_WORTH_FIRST = 12
"""Characters at an end of a line in which points make it a question's."""


def _behind_the_last(drafts: Sequence[Draft], left: Sequence[Entry]) -> set[int]:
    """Numbers of keys beyond the last question of a paper of one part, if most questions have their key."""
    numbers = {draft.number for draft in drafts}
    others = Counter(entry.number for entry in left)
    parts = {draft.elective for draft in drafts} | {entry.elective for entry in left}
    most = 2 * sum(bool(draft.answer or draft.solution) for draft in drafts) >= len(drafts)
    last = max((int(number) for number in numbers if number.isdigit()), default=0)
    sure = last and most and parts == {""} and len(numbers) == len(drafts)
    return set(takewhile(lambda number: others[number] == 1, count(last + 1))) if sure else set()


def _serves(entry: Entry, draft: Draft, drafts: Sequence[Draft]) -> bool:
    """A letter without a part serves the only question of its number that has options."""
    same = (other for other in drafts if other.number == draft.number)
    choices = [other.id for other in same if other.options or other.question_type in CHOICE_TYPES]
    return bool(entry.elective) or not _labels(entry.answer) or len(choices) != 1 or choices == [draft.id]


_REMARKS = re.compile(r"^(?:\s*[\[【][^\[\]【】]*[一-鿿][^\[\]【】]*[\]】])+\s*")
"""Behind a number, of the teacher: [三基类] [答题时间：3分钟]."""


def keyed(draft: Draft, entry: Entry, source: str) -> Draft:
    """The draft with an answer in the form of its type, or a doubt; an answer has no pictures."""
    printed = [(text or "").replace(PICTURE, UNREAD) for text in (entry.answer, entry.solution)]
    if not printed[0].strip(f"{UNREAD}\n"):  # a picture is no answer
        printed = ["", "\n".join(filter(None, printed))]
    entry = replace(entry, answer=printed[0].replace("$\\sqrt$", "√"), solution=printed[1] or None)
    is_open = draft.question_type not in ("fill_in_blank", "true_false")
    if draft.question_type in {*CHOICE_TYPES, "true_false"}:
        entry = _concluded(draft, explained(entry))
        sign = {"x": "×", "X": "×"}.get(entry.answer.strip(), entry.answer.strip())
        if not draft.options and _SIGN.fullmatch(sign):
            doubts = [doubt for doubt in draft.doubts if doubt.kind not in ("type", "options")]
            draft = draft.model_copy(update={"question_type": "true_false", "doubts": doubts})
            entry = replace(entry, answer=sign)
    elif (
        entry.solution
        and len(given := _GROUND.sub("", entry.answer)) > _LABEL
        and (given in _GROUND.sub("", draft.question) or (is_open and entry.unsure == NO_HEAD and not entry.by_ocr))
    ):
        entry = replace(entry, answer="", solution=f"{entry.answer}\n{entry.solution}")
    elif entry.unsure == NO_HEAD and 1 < count_blanks(draft.question) == len((entry.solution or "").split("\n")) + 1:
        entry = replace(entry, answer=f"{entry.answer}\n{entry.solution}", solution=None, unsure="")
    remarks = _REMARKS.match(entry.answer) if entry.solution else None  # what stands below them is the solution's
    answer, problem = _answer(draft, "" if remarks else entry.answer)
    changes: dict[str, object] = {"answer": answer, "answer_from": source, "solution": entry.solution or draft.solution}
    kind = draft.question_type
    if answer and kind in ("single_choice", "multiple_choice") and not problem:
        several = len(answer) == 1 and settled("choice", answer) == "multiple_choice"
        if several and kind == "single_choice" and "单" in (draft.question_type_raw or ""):
            problem = f"the key {entry.answer!r} has several letters, the section asks for one"
        elif several:
            changes["question_type"] = "multiple_choice"
    if answer and kind == "open_ended":
        changes["question_type"] = "short_answer"
    if entry.points is not None and draft.points is None:
        changes["points"] = entry.points
    with_key = draft.model_copy(update=changes)
    scheme = entry.scheme or marks_in_solution(with_key.solution or "", with_key.points)
    if scheme and sum(criterion.points for criterion in scheme[0]) == with_key.points:
        with_key = with_key.model_copy(update={"scheme": scheme})
    if problem:
        with_key = with_doubt(with_key, "answer", problem, 0.2)
    has_key = bool(answer or entry.solution or entry.scheme)
    if entry.by_ocr and has_key and not problem and (unsure := _misread(with_key, entry)):
        with_key = with_doubt(with_key, "answer", unsure, min(entry.confidence, READ_KEY))
    behind = bool(entry.solution and (draft.options or (answer and is_open)))
    if entry.unsure and (behind if entry.unsure == NO_HEAD else answer or entry.solution):
        with_key = with_doubt(with_key, "answer", entry.unsure, 0.3)
    if entry.unread and not (draft.options and answer and not problem and not entry.solution):
        with_key = with_doubt(with_key, "answer", "pieces of its key stand in the picture only", 0.2)
    if not answer and not entry.solution:
        with_key = with_doubt(with_key, "answer", f"the key of {source} is empty", 0.3)
    if entry.points is not None and draft.points is not None and entry.points != draft.points:
        text = f"the paper prints {draft.points:g} points, the key {entry.points:g}"
        with_key = with_doubt(with_key, "points", text, 0.2)
    return with_key


def _concluded(draft: Draft, entry: Entry) -> Entry:
    """An entry that begins with its judgement and a reason, or whose solution ends in the label of an option."""
    judged = None if draft.options else _JUDGED.fullmatch(entry.answer or entry.solution or "")
    ends = {*judged.groups()} if judged else {*_CHOSEN.findall(entry.solution or "")} if draft.options else set()
    if len(ends) != 1 or (entry.answer and not judged):
        return entry
    answer = ends.pop()
    reason = "\n".join(filter(None, (entry.answer.removeprefix(answer), entry.solution)))
    return replace(entry, answer=answer, solution=reason.lstrip(" .．。") or None)


def explained(entry: Entry) -> Entry:
    """An entry whose answer, or whole solution, is a label with its reason: the reason is its solution."""
    text = (entry.solution or "").strip()
    if not entry.answer and (_labels(text) or read_truth(text, signs=True) is not None):
        return replace(entry, answer=text, solution=None)
    stated = None if entry.answer else _STATED.fullmatch(text)
    ringed = bool(not entry.answer and _RINGED.match(text))
    match = stated or _REASONED.fullmatch(f"{text[0]} {text[1:]}" if ringed else entry.answer.strip())
    rest = "" if ringed or stated else entry.solution
    reason = "\n".join(filter(None, (match["reason"].strip(), rest))) if match else ""
    return replace(entry, answer=match["label"], solution=reason or None) if match else entry


def is_torn(text: str) -> bool:
    """Checks for pieces of formulas that are lines of their own, or scripts of nothing."""
    lines = [line.strip() for line in text.split("\n") if "```" not in text]
    digits = not _MARK_CODE.search(text) and any(map(str.isdecimal, lines))
    return digits or bool(_SCRIPT.search(text) or _BREAKS_OFF.search(text)) or any(map(_PIECE.fullmatch, lines))


def _misread(draft: Draft, entry: Entry) -> str:
    """The reason to doubt a key read from a picture; "" for a label that was read for sure."""
    if draft.question_type not in CHOICE_TYPES:
        return "the key was read from a picture: compare it with the page"
    if not draft.options:
        return f"the key {entry.answer[:40]!r} was read from a picture, and no options are there to hold it against"
    if entry.confidence < _SURE:
        return f"the key {entry.answer[:40]!r} was read from a picture with confidence {entry.confidence:.2f}"
    return ""


def with_doubt(draft: Draft, kind: str, text: str, confidence: float, readings: tuple[str, str] | None = None) -> Draft:
    """The draft with one more doubt; half a character (a lone surrogate) of a model's reply becomes a question mark."""
    text, *both = (each.encode(errors="replace").decode() for each in (text, *(readings or ())))
    doubt = Doubt.model_validate({"kind": kind, "text": text, "confidence": confidence, "readings": both or None})
    return draft.model_copy(update={"doubts": [*draft.doubts, doubt]})


def _part(draft: Draft) -> str:
    """The elective without the form of the paper."""
    return " ".join(word for word in draft.elective.split(" ") if word not in _FORMS)


def _form(draft: Draft, headings: str) -> str:
    """The form of the draft's part, or the only one of its paper."""
    named = [form for form in _FORMS if form in draft.elective] or [form for form in _FORMS if form in headings]
    return named[0] if len(named) == 1 else ""


def _form_of(entry: Entry) -> str:
    """The form that an entry's table names, "" for none or both."""
    bare = re.sub(r"[()（）]", "", entry.label)
    named = [form for form in _FORMS if form in bare]
    return named[0] if len(named) == 1 else ""


def _of_this_paper(entries: Sequence[Entry], headings: str, subject: str) -> list[Entry]:
    """Entries of tables of this subject, and of those that name this paper if any does."""
    entries = [entry for entry in entries if not (subject and _subject(entry) and _subject(entry) != subject)]
    labels = {entry.label for entry in entries}
    if len(labels) < 2:
        return entries
    ours = {label for label in labels if any(name in headings for name in _subjects(label))}
    return [entry for entry in entries if not ours or entry.label in ours]


def _subject(entry: Entry) -> str:
    """The subject that an entry's table names in brackets, else anywhere."""
    return subject_of(" ".join(_subjects(entry.label))) or subject_of(entry.label)


def _subjects(label: str) -> list[str]:
    return [name for name in re.findall(r"[(（]([^()（）]{2,20})[)）]", label) if not re.search(r"[홀짝]수", name)]


def _fits(entry: Entry, draft: Draft, electives: Sequence[str], entries: Sequence[Entry], headings: str) -> bool:
    if entry.of or str(entry.number) != draft.number:
        return entry.of == draft.id
    form = _form(draft, headings)
    if form and _form_of(entry) not in ("", form):
        return False
    part = squeezed(_part(draft))
    if entry.elective:
        return _is_named(entry, draft.elective) or _is_named(entry, part)
    if part and any(other.elective and _is_named(other, part) for other in entries):
        return False  # its part has a list of its own
    order = sorted((name for name in map(squeezed, electives) if name in entry.label), key=entry.label.find)
    same = [other for other in entries if other.number == entry.number and other.label == entry.label]
    if part and part in order and len(same) == len(order):
        return order[entry.rank] == part
    return True


def _is_named(entry: Entry, part: str) -> bool:
    """Checks the name of an entry's part against that of a question's, 单选 and 单选题."""
    names = squeezed(entry.elective).removesuffix("题"), squeezed(part).removesuffix("题")
    return names[0] == names[1] or (min(map(len, names)) > 1 and (names[0] in names[1] or names[1] in names[0]))


def _answer(draft: Draft, printed: str) -> tuple[list[str], str]:
    """The answer in the form of its type, and the problem ("" for none)."""
    printed = printed.strip()
    if not printed:
        return [], ""
    if draft.question_type == "true_false":
        judges = read_truth(printed, signs=True, reasoned=True) is not None
        return [printed], "" if judges else f"the key {printed[:40]!r} is neither true nor false"
    if draft.question_type in CHOICE_TYPES:
        labels = _labels(printed) or _labels(printed.split("\n")[0])
        options = [option.label for option in draft.options]
        if not labels:
            return [printed], f"the key {printed[:40]!r} is no label of an option"
        missing = [label for label in labels if options and label not in options]
        return ["".join(labels)], f"the key {printed[:40]!r} names an option that is not there" if missing else ""
    if _RINGED.fullmatch(printed) or _LETTER.fullmatch(printed):
        return [printed], f"the key {printed!r} is a label, but the question has no options"
    if draft.question_type == "fill_in_blank":
        blanks = count_blanks(draft.question)
        numbered = _BLANK.split(printed)
        answer = split_blanks(printed, blanks) if numbered[0] else numbered[1:]
        wrong = blanks > 1 and len(answer) != blanks
        return answer, f"{blanks} blanks, and a key that is one answer" if wrong else ""
    if draft.question_type in ("short_answer", "open_ended"):
        return split_parts(draft.question, printed), ""
    return [printed], ""


def _labels(text: str) -> list[str]:
    plain = plain_width(text)
    if _RINGED.fullmatch(plain):
        return [plain_label(character) for character in plain if character in "①②③④⑤⑥⑦⑧⑨⑩"]
    if letters := _LETTERS.fullmatch(plain.upper() if _SMALL_LABEL.fullmatch(plain) else plain):
        return re.findall(r"[A-J]", letters[1])
    return [number[1]] if (number := re.fullmatch(r"[(（]?([1-9])[)）]?번?", plain)) else []
