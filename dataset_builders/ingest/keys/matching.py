"""Matching of keys to questions by number and part of the paper.

Contract: a question gets an answer only if exactly one key can be meant; a missing, doubled or left-over number is one
line, and an answer that does not fit is kept with a doubt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count, takewhile

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.schemes import marks_in_solution
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.drafts import Doubt, Draft
from livek12.dataset_builders.ingest.keys.answers import LETTER_FIRST, NO_HEAD, in_form, is_choice, labels
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.keys.words import (
    LETTER,
    RUN,
    PaperWords,
    QuestionWords,
    tokens,
    without_question,
)
from livek12.dataset_builders.ingest.pages.blocks import UNREAD
from livek12.dataset_builders.ingest.questions.kinds import asks as asks_for
from livek12.dataset_builders.ingest.questions.kinds import settled, subject_of
from livek12.dataset_builders.ingest.questions.points import says_worth
from livek12.dataset_builders.reading.text import count_blanks

_PIECE = re.compile(r"\$?\s*(?:\\[a-z]+|[a-z](?=\$)|[()（）\[\]{}|+=−-]{1,2}|[\d.]+(?:\s{3,}[\d.]+)+)\s*\$?[,，.。]?")
_BREAKS_OFF = both_scripts(
    r"(?:[，,:：=]|如下图?|如图|所示)[:：]?\s*\$?\s*\Z|(?:如下?|见|下)图(?:所示)?\s*[:：]\s*$", re.MULTILINE
)
"""Ends before a formula or picture."""
_MARK_CODE = re.compile(r"\b[MAB][1-9]\b")
_BRACED = r"\{(?:[^{}]|\{[^{}]*\})*\}"
_SCRIPT = re.compile(
    rf"\{{\}}[_^]\{{?[^}}]{{2}}|\\sqrt\\|\\(?:sum|int|prod)\^{_BRACED}\{{\}}|\\frac{_BRACED}{_BRACED}\^\{{\\frac"
    r"|[=+<>≤≥]\s*\$?\s{3,}\$?\s*(?:[=+<>]|\\(?:ge|le|frac|sqrt))"
)
"""A script before its letter, a sum without its body, a gap behind a relation."""
_SIGN = re.compile("[√×✓✗TF]")
_SURE = 0.85
"""A label that OCR read with less confidence is a doubt."""
READ_KEY = 0.45
"""A fraction's lines that are taken for words of their own turn 3/2 into 2, and no rule can see it."""
_FORMS = ("홀수형", "짝수형")
NO_ANSWER = "no answer was read"
"""Begins the line of a paper whose key is there and says nothing."""
_SHARED = "several questions have its number"
_NEXT_WITHIN = "the next question has no key: it may stand within this one's"
_LIKE_QUESTION = "lines of its key that read like its question were left out"
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
    own = labels_of_paper({entry.label for entry in entries}, drafts, headings)
    read, entries = entries, [entry for entry in entries if entry.label in own]
    if not entries:
        theirs = sorted({_subject(entry.label) for entry in read})
        return list(drafts), [f"{source} is a key for {', '.join(theirs)}, not for this paper; none of it was taken"]
    paper = paper or PaperWords()
    words = QuestionWords({draft.id: draft.markdown for draft in drafts})
    matched, lines = [], []
    by_draft = {
        draft.id: [at for at, entry in enumerate(entries) if _fits(entry, draft, drafts, entries, headings)]
        for draft in drafts
    }
    shared = Counter(at for own in by_draft.values() for at in own)
    texts = {id: f"{entries[own[0]].answer}\n{entries[own[0]].solution}" for id, own in by_draft.items() if own}
    foreign = words.are_of_others(texts)
    lettered = _letters_first(drafts, {id: entries[own[0]] for id, own in by_draft.items() if own})
    owners = {at for own in by_draft.values() for at in own}
    if _are_other_questions([entries[at] for at in owners], paper):
        return list(drafts), [f"{NO_ANSWER} from {source}: it has other questions than the paper"]
    bare = {at for at in owners if entries[at].copied and not (entries[at].answer or entries[at].solution)}
    if unsolved := 2 * len(bare) > len(owners):
        lines.append(
            f"{NO_ANSWER} to {len(bare)} questions from {source}: they may stand there in pictures, or by hand"
        )
    for draft, following in zip(drafts, [*drafts[1:], None], strict=True):
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
            keys = " and ".join(
                sorted((entries[index].answer or entries[index].solution or "")[:20] for index in candidates)
            )
            lines.append(f"question {name}: {source} has several keys ({keys}); none was taken")
            matched.append(with_doubt(draft, "answer", f"{source} has several keys: {keys}", 0.1))
        else:
            entry = entries[candidates[0]]
            if not entry.copied:
                likely = words.likeliest(texts, draft.id)
                ended = _ended(_explained(entry, draft, lettered), draft, paper)
                doubts = (
                    _NEXT_WITHIN if following and ended.solution and not by_draft[following.id] else "",
                    ended.unsure,
                    _SHARED if shared[candidates[0]] > 1 else _foreign(entry, draft, paper),
                    _OF_OTHERS if foreign and entry.solution else "",
                    f"its key has the words of question {likely}" if likely else "",
                )
                entry = replace(ended, unsure=next(filter(None, doubts), ""))
            matched.append(_compared(keyed(draft, entry, entry.source or source), entry, paper))
    left = [entry for index, entry in enumerate(entries) if index not in owners]
    lost = _behind_the_last(matched, left)
    for entry in left:
        if entry.number in lost:
            lines.append(f"question {entry.number}, whose key stands in {entry.where}, was not found")
        else:
            lines.append(f"key {entry.number} ({entry.where}): no question has this number")
    return matched, lines


def _letters_first(drafts: Sequence[Draft], entries: Mapping[str, Entry]) -> bool:
    """Checks for a letter of an option that begins most reasons of choices, and not always the same."""
    worked = [draft for draft in drafts if draft.options and draft.id in entries]
    texts = [f"{entries[draft.id].answer}\n{entries[draft.id].solution or ''}".strip() for draft in worked]
    own = [LETTER_FIRST.match(text) for text in texts if not labels(text.partition("\n")[0])]
    usual = Counter(match["label"] for match in own if match)
    return 2 * usual.total() > max(len(own), 2 * max(usual.values(), default=0))


def _are_other_questions(entries: Sequence[Entry], paper: PaperWords) -> bool:
    """Checks for entries of which most begin with a question that is not the paper's."""
    begins = [f"{entry.answer}\n{entry.solution or ''}"[:_QUESTION] for entry in entries if not entry.copied]
    asking = [begin for begin in begins if re.search("[?？]", begin) and asks_for(begin)]
    return 2 * sum(not any(map(paper.has, begin.split("\n"))) for begin in asking) > len(entries)


def _ended(entry: Entry, draft: Draft, paper: PaperWords) -> Entry:
    """An entry whose solution is neither the question nor what the paper prints behind it."""
    lines = (entry.solution or "").split("\n")
    own = without_question(lines, draft.markdown) if entry.listed and not entry.answer else lines
    repeated = squeezed("".join(lines[: len(lines) - len(own)]))
    unsure = entry.unsure or (_LIKE_QUESTION if repeated not in squeezed(draft.markdown) else "")
    ended = "\n".join(own[: paper.end(own, draft.markdown)]).strip()
    return replace(entry, solution=ended or None, unsure=unsure if ended else entry.unsure)


def _compared(draft: Draft, entry: Entry, paper: PaperWords) -> Draft:
    """The draft with a doubt if more than a little of its entry is neither in its key nor in the paper."""
    there = re.sub(r"\W", "", "".join((draft.markdown, *draft.answer, draft.solution or "")))
    lines = [line for line in entry.printed.split("\n") if not paper.has(line)]
    letters = [re.sub(r"\W", "", line) for line in lines]
    kept = [own[:_END] in there or own[-_END:] in there for own in letters]
    lost = [line for line, is_kept in zip(lines, kept, strict=True) if not is_kept]
    if sum(len(tokens(_TAG.sub("", line))) for line in lost) <= _LITTLE:
        return draft
    return with_doubt(draft, "answer", f"a line of its key was left out: {lost[0][:40]!r}", 0.3)


_TAG = re.compile(r"【[^【】]{0,40}】")
"""A head, or the source of a question."""


def _explained(entry: Entry, draft: Draft, lettered: bool) -> Entry:
    """An entry of a choice whose answer is its label alone, and the reason its solution."""
    reading = in_form(draft, entry.answer, entry.solution or "", lettered)
    if not draft.options or len(reading.answer) > 1:
        return entry
    return replace(entry, answer="".join(reading.answer), solution=reading.solution or None)


def _foreign(entry: Entry, draft: Draft, paper: PaperWords) -> str:
    """The reason to doubt a key that begins with a question other than its own; "" for none."""
    first = entry.title or (entry.answer or entry.solution or "").partition("\n")[0]
    of_table = entry.points is not None and not (entry.listed or entry.title)
    own = of_table or len(tokens(first)) < RUN or squeezed(first) in squeezed(draft.markdown)
    own = own or PaperWords([draft.markdown]).has(first)
    asks = says_worth(first[:_WORTH_FIRST]) or (says_worth(first[-_WORTH_FIRST:]) and asks_for(first))
    return "its key begins with the text of another question" if not own and (asks or paper.has(first)) else ""


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


def keyed(draft: Draft, entry: Entry, source: str) -> Draft:
    """The draft with an answer in the form of its type, or a doubt; an answer has no pictures."""
    answer, solution = entry.answer.replace("$\\sqrt$", "√"), entry.solution or ""
    drawn = LETTER.search(answer) and draft.question_type in ("short_answer", "open_ended")
    if drawn or not LETTER.sub("", answer).strip(f"{UNREAD}\n"):  # a picture is no answer
        answer, solution = "", "\n".join(filter(None, (answer, solution)))
    sign = {"x": "×", "X": "×"}.get(answer.strip(), answer.strip())
    if not draft.options and is_choice(draft) and _SIGN.fullmatch(sign):
        doubts = [doubt for doubt in draft.doubts if doubt.kind not in ("type", "options")]
        draft = draft.model_copy(update={"question_type": "true_false", "doubts": doubts})
        answer = sign
    elif not draft.options and is_choice(draft) and count_blanks(draft.question) == 1 and not labels(answer):
        draft = draft.model_copy(update={"question_type": "fill_in_blank"} if answer else {})
    reading = in_form(draft, answer, solution)
    key, problem = [*reading.answer], reading.problem
    entry = replace(entry, answer="".join(key), solution=reading.solution or None)
    changes: dict[str, object] = {"answer": key, "answer_from": source, "solution": entry.solution or draft.solution}
    changes["solution_figures"] = [] if entry.solution else draft.solution_figures
    kind = draft.question_type
    if key and kind in ("single_choice", "multiple_choice") and not problem:
        several = len(key) == 1 and settled("choice", key) == "multiple_choice"
        if several and kind == "single_choice" and "单" in (draft.question_type_raw or ""):
            problem = f"the key {entry.answer!r} has several letters, the section asks for one"
        elif several or len(key) > 1:
            changes["question_type"] = "multiple_choice" if several else "fill_in_blank"
    if key and kind == "open_ended":
        changes["question_type"] = "short_answer"
    if entry.points is not None and draft.points is None:
        changes["points"] = entry.points
    with_key = draft.model_copy(update=changes)
    scheme = entry.scheme or marks_in_solution(with_key.solution or "", with_key.points)
    if scheme and sum(criterion.points for criterion in scheme[0]) == with_key.points:
        with_key = with_key.model_copy(update={"scheme": scheme})
    if problem:
        with_key = with_doubt(with_key, "answer", problem, 0.2)
    has_key = bool(key or entry.solution or entry.scheme)
    if entry.by_ocr and has_key and not problem and (unsure := _misread(with_key, entry)):
        with_key = with_doubt(with_key, "answer", unsure, min(entry.confidence, READ_KEY))
    behind = bool(entry.solution and draft.options)
    if entry.unsure and (behind if entry.unsure == NO_HEAD else key or entry.solution):
        with_key = with_doubt(with_key, "answer", entry.unsure, 0.3)
    unread = entry.unread or bool(LETTER.search(entry.answer))
    if unread and not (draft.options and key and not problem and not entry.solution):
        with_key = with_doubt(with_key, "answer", "pieces of its key stand in the picture only", 0.2)
    if not key and not entry.solution:
        with_key = with_doubt(with_key, "answer", f"the key of {source} is empty", 0.3)
    agreed = entry.points == draft.points or with_key.scheme  # a scheme's points are the paper's
    if entry.points is not None and draft.points is not None and not agreed:
        text = f"the paper prints {draft.points:g} points, the key {entry.points:g}"
        with_key = with_doubt(with_key, "points", text, 0.2)
    return with_key


def is_torn(text: str) -> bool:
    """Checks for pieces of formulas that are lines of their own, or scripts of nothing."""
    lines = [line.strip() for line in text.split("\n") if "```" not in text]
    digits = not _MARK_CODE.search(text) and any(map(str.isdecimal, lines))
    return digits or bool(_SCRIPT.search(text) or _BREAKS_OFF.search(text)) or any(map(_PIECE.fullmatch, lines))


def _misread(draft: Draft, entry: Entry) -> str:
    """The reason to doubt a key read from a picture; "" for a sure label."""
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


def _form(*texts: str) -> str:
    """The only form of the paper that the first of the texts with one names, "" for none or both."""
    named = [[form for form in _FORMS if form in re.sub(r"[()（）]", "", text)] for text in texts]
    first = next(filter(None, named), [])
    return first[0] if len(first) == 1 else ""


def labels_of_paper(names: Collection[str], drafts: Sequence[Draft], headings: str) -> set[str]:
    """Labels of tables of this subject and form, and of those that name this paper if any does."""
    subject = next((draft.subject for draft in drafts), "")
    forms = {_form(draft.elective, headings) for draft in drafts} - {""}
    own = {name for name in names if not (subject and _subject(name)) or _subject(name) == subject}
    own = {name for name in own if not forms or _form(name) in ("", *forms)}
    ours = {name for name in own if any(title in headings for title in _subjects(name))}
    return ours if ours and len(own) > 1 else own


def _subject(label: str) -> str:
    """The subject that a table's label names in brackets, else anywhere."""
    return subject_of(" ".join(_subjects(label))) or subject_of(label)


def _subjects(label: str) -> list[str]:
    return [name for name in re.findall(r"[(（]([^()（）]{2,20})[)）]", label) if not re.search(r"[홀짝]수", name)]


def _fits(entry: Entry, draft: Draft, drafts: Sequence[Draft], entries: Sequence[Entry], headings: str) -> bool:
    """Checks for an entry of a question, or of its number and part; a letter is of the only choice of its number."""
    if entry.of or str(entry.number) != draft.number:
        return entry.of == draft.id
    form = _form(draft.elective, headings)
    part = squeezed(" ".join(word for word in draft.elective.split(" ") if word not in _FORMS))
    if form and _form(entry.label) not in ("", form):
        return False
    if entry.elective:
        return _is_named(entry, draft.elective) or _is_named(entry, part)
    if part and any(other.elective and _is_named(other, part) for other in entries):
        return False
    choices = [other.id for other in drafts if other.number == draft.number and is_choice(other)]
    return not labels(entry.answer) or len(choices) != 1 or choices == [draft.id]


def _is_named(entry: Entry, part: str) -> bool:
    """Checks the name of an entry's part against that of a question's, 单选 and 单选题."""
    names = squeezed(entry.elective).removesuffix("题"), squeezed(part).removesuffix("题")
    return names[0] == names[1] or (min(map(len, names)) > 1 and (names[0] in names[1] or names[1] in names[0]))
