"""Drafts of questions: text, options, figures, points, type, key printed on the page, doubts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK, Image, Language, Option
from livek12.dataset_builders.base import UniqueIds, one_line
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.answers import LONGEST_ANSWER, in_form, split_answered, take_topics
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.keys.ink import (
    inks_of,
    is_guessed,
    segment_solved,
    solution_of,
    take_ink,
    unanswered,
)
from livek12.dataset_builders.ingest.keys.matching import READ_KEY, keyed, with_doubt
from livek12.dataset_builders.ingest.keys.pictures import figures_of
from livek12.dataset_builders.ingest.pages.blocks import CHOICE, UNREAD, Block, Box
from livek12.dataset_builders.ingest.questions import kinds, points
from livek12.dataset_builders.ingest.questions.headings import begins_answer
from livek12.dataset_builders.ingest.questions.kinds import subject_of
from livek12.dataset_builders.ingest.questions.labels import label_lists
from livek12.dataset_builders.ingest.questions.options import are_in_rows, figures_to_stem, split
from livek12.dataset_builders.ingest.questions.segment import Body, Segment, boxes, by_column
from livek12.dataset_builders.ingest.questions.stream import Item, Stream
from livek12.dataset_builders.ingest.questions.texts import ASKS_OF_LINED, Text, compose
from livek12.dataset_builders.ingest.templates import Template
from livek12.dataset_builders.reading.text import count_blanks

_SURE = 0.75
"""Text read with less confidence is a doubt."""
_LONGEST_TEXT = 60_000
_CIRCLES = re.compile(rf"^\s*{CHOICE}\s+[^\s{CHOICE}][^\n{CHOICE}]*{CHOICE}\s", re.MULTILINE)
"""Choices of a part beside each other."""
_SHARES = 3
"""Questions that make labels of options usual."""


@dataclass
class Drafts:
    """The questions of a paper, and their pictures by file name."""

    drafts: list[Draft] = field(default_factory=list)
    pictures: dict[str, Image] = field(default_factory=dict)


def safe_name(text: str) -> str:
    """A text as a safe part of ids and file names: letters, digits, - and _."""
    return re.sub(r"[^\w-]+", "-", text).strip("-_")[:80] or "paper"


def draft_all(
    body: Body, stream: Stream, paper_id: str, language: Language, subject: str, template: Template
) -> Drafts:
    """A draft of every question of a paper."""
    made = Drafts()
    ids, columns = UniqueIds(), by_column(stream)
    sections = body.by_section
    names = []
    for segment in body.segments:
        part = f"{safe_name(segment.elective)}-" if segment.elective else ""
        names.append(ids.claim(f"{paper_id}-{part}q{segment.number}"))

    def draft_of(place: int, usual: Sequence[str] = ()) -> Draft:
        segment = body.segments[place]
        at = boxes(segment, stream, columns)
        draft = _draft(segment, stream, names[place], language, subject, template, at, made.pictures, usual)
        if draft.points is not None:
            return draft
        text = "\n".join([*(item.text for item in (*segment.passage[:1], *segment.passage[-1:])), segment.section.text])
        worth = points.section_points(text, segment.number, len(sections[id(segment.section)]), bool(draft.options))
        return draft.model_copy(update={"points": worth})

    made.drafts = [*map(draft_of, range(len(names)))]
    for own in sections.values():
        usual = usual_labels([made.drafts[place] for place in own])
        for place in own if usual else ():
            if "".join(option.label for option in made.drafts[place].options) != usual:
                made.drafts[place] = draft_of(place, usual)
    made.drafts = _with_leading_points(made.drafts)
    for own in sections.values():
        _set_blank_points(made.drafts, {place: body.segments[place] for place in own})
    made.drafts = _with_unowned_readings(made.drafts, stream, body)
    return made


def take_answers(stream: Stream, body: Body, language: Language) -> Body:
    """A body whose answers, told from its questions by how they are set, are `printed` with these."""

    def read(each: Segment) -> tuple[list[Item], int, list[Option]]:
        text = compose(each.items, stream.columns, each.end).text
        return each.items, each.end, split(text, language, kinds.says_choice(each.section.own))[1]

    inks = inks_of([read(each) for each in body.segments if not each.inline])
    if inks:
        body = segment_solved(stream, body, inks)
    for each in body.segments if inks else ():
        all_taken = []
        for ink in inks:
            taken = take_ink(*read(each), ink)
            if taken.is_answer(ink):
                each.items, each.filled = taken.rest, each.filled or taken.chosen or "; ".join(taken.fills)
                each.guessed |= is_guessed(ink, taken)
                all_taken.append(taken)
        each.printed, each.unanswered = solution_of(all_taken), unanswered(all_taken)
    return body


def usual_labels(drafts: Sequence[Draft]) -> str:
    """Labels of the options of most questions of a section; else of as long lists in rows, no parts."""
    labels = Counter("".join(option.label for option in draft.options) for draft in drafts if draft.options)
    if not labels:
        lists = (next(filter(are_in_rows, label_lists(draft.question)), None) for draft in drafts)
        labels = Counter("".join(own.names) if own else "" for own in lists)
    usual, many = labels.most_common(1)[0] if labels else ("", 0)
    return usual if many >= _SHARES and 3 * many >= 2 * labels.total() else ""


def _with_leading_points(drafts: list[Draft]) -> list[Draft]:
    """Takes bare numbers that begin most questions or their parts, [4], as points."""
    names = "question", "points", "part_points"
    led = [dict(zip(names, points.split_points(draft.question, leading=True), strict=True)) for draft in drafts]
    open_ = [draft.points is None for draft in drafts]
    most = 2 * sum(own["points"] is not None for own, bare in zip(led, open_, strict=True) if bare) > len(drafts)
    every = zip(drafts, led, open_, strict=True)
    return [draft.model_copy(update=own) if most and bare else draft for draft, own, bare in every]


def _set_blank_points(drafts: list[Draft], segments: Mapping[int, Segment]) -> None:
    """Sets the points of a section whose title has those of each blank, perhaps by numbers, if the blanks add up."""
    worth = {}
    for at, segment in segments.items():
        title = segment.section.own
        blanks = 1 if drafts[at].options else count_blanks(drafts[at].question)
        worth[at] = blanks * (points.each_blank(points.said_of(title, segment.number)) or 0)
    total = points.each_and_total(title)[1]
    if all(worth.values()) and total in (None, sum(worth.values())):
        for at, value in worth.items():
            drafts[at] = drafts[at].model_copy(update={"points": value})


def _draft(
    segment: Segment,
    stream: Stream,
    id: str,
    language: Language,
    subject: str,
    template: Template,
    places: list[Box],
    pictures: dict[str, Image],
    usual: Sequence[str] = (),
) -> Draft:
    lined = any(ASKS_OF_LINED.search(item.text) for item in (*segment.passage, *segment.items))
    own = compose(segment.items, stream.columns, segment.end, lined=lined)
    shared = compose(segment.passage, stream.columns, lined=lined)
    body, topics = take_topics(own.text[:_LONGEST_TEXT])
    printed = compose(segment.printed, stream.columns)
    if printed.text:
        is_answer = len(printed.text) <= LONGEST_ANSWER and not segment.filled
        head = "" if begins_answer(printed.text) else "【答案】" if is_answer else "【解析】"
        body = f"{body}\n{head}{printed.text}"
    body, answer, solution = split_answered(body)
    answer = segment.filled or answer
    text, worth, part_points = points.split_points(body)
    if worth is None:
        text, worth = points.split_percent(text, segment.section.title)
    section = points.said_of(segment.section.text, segment.number)
    of_choice = kinds.says_choice(section)
    stem, choices = figures_to_stem(*split(text, language, of_choice, usual))
    if segment.inline:
        shared.text, choices = split(shared.text, language, of_choice)
    named = section if segment.section.title else shared.text if "\n" not in shared.text else ""
    kind, raw, sure = kinds.type_of(stem, bool(choices), named, language, template)
    if segment.inline and not choices:
        kind = "fill_in_blank"
    if shared.text and not stem:
        stem = f"{segment.number}."  # the number in the passage is all that asks
    question = f"{shared.text}\n{stem}" if shared.text else stem
    draft = Draft(
        id=id,
        number=segment.label or str(segment.number),
        language=language,
        subject=subject_of(segment.section.title) or subject,
        question_type=kinds.settled(kind, []),
        question_type_raw=raw,
        question=question,
        options=choices,
        boxes=places,
        page_numbers=sorted({item.box.page for item in (*segment.passage, *segment.items)}),
        section=segment.section.title,
        elective=segment.elective,
        solution=solution,
        points=worth,
        part_points=part_points,
        knowledge_points=topics,
        markdown=own.text,
    )
    draft = _with_figures(draft, answer or "", [*shared.pictures, *own.pictures, *printed.pictures], pictures)
    draft = _doubted(draft, segment, [shared, own], kind, sure)
    if worth == sum(mark.points for mark in points.marks(body)) and points.of_some_parts(body):
        draft = with_doubt(draft, "points", "some of its parts have no points: they may be elsewhere", 0.3)
    if segment.unanswered and not draft.options:
        draft = with_doubt(draft, "answer", f"no answer to {segment.unanswered} was told from its text", 0.3)
    if draft.solution and not (answer or draft.options) and _CIRCLES.search(draft.question):
        draft = with_doubt(draft, "answer", "which of its circles are filled was not read", 0.3)
    entry = Entry(segment.number, (answer or "").replace(IMAGE_MARK, UNREAD), solution=draft.solution)
    if not answer and not (draft.options and in_form(draft, "", entry.solution or "").answer):
        return draft
    own_figures = {"solution_figures": draft.solution_figures}
    draft = keyed(draft.model_copy(update={"solution": None}), entry, "the paper").model_copy(update=own_figures)
    if segment.guessed:
        draft = with_doubt(draft, "answer", "its key is told from how it is set: compare it", READ_KEY)
    if own.by_ocr and draft.question_type not in CHOICE_TYPES:
        draft = with_doubt(draft, "answer", "the key was read from a picture: compare it with the page", READ_KEY)
    return draft


def _with_figures(draft: Draft, answer: str, blocks: Sequence[Block], pictures: dict[str, Image]) -> Draft:
    """Names pictures by the order of the marks: those of the question, of its answer, which has none, and solution."""
    marks = draft.question.count(IMAGE_MARK) + sum(option.text.count(IMAGE_MARK) for option in draft.options)
    solved = marks + answer.count(IMAGE_MARK)
    end = solved + (draft.solution or "").count(IMAGE_MARK)
    own = figures_of(blocks[:marks], draft.id, pictures)
    of_solution = figures_of(blocks[solved:end], f"{draft.id}-solution", pictures, placed=False)
    return draft.model_copy(update={"figures": own, "solution_figures": of_solution})


def _doubted(draft: Draft, segment: Segment, texts: Sequence[Text], kind: str, sure: float) -> Draft:
    if segment.inline:
        draft = with_doubt(draft, "number", f"the number {draft.number} was found within the passage", 0.4)
    if sure < 0.8:
        draft = with_doubt(draft, "type", f"nothing on the paper says that this is {draft.question_type}", sure)
    if draft.question_type in CHOICE_TYPES and not draft.options:
        draft = with_doubt(draft, "options", "no options were found", 0.2)
    elif empty := [option.label for option in draft.options if not option.text.strip()]:
        draft = with_doubt(draft, "options", f"options {', '.join(empty)} stand in the picture only", 0.2)
    elif len(read_as := [o.text for o in draft.options if IMAGE_MARK not in o.text]) > len({*read_as}):
        draft = with_doubt(draft, "options", "two options read alike", 0.3)
    if len(draft.markdown) > _LONGEST_TEXT:
        draft = with_doubt(draft, "text", f"only the first {_LONGEST_TEXT} characters of it were taken", 0.1)
    if any(text.unread for text in texts):
        where = "; ".join(place for text in texts for place in text.unread_at[:3])
        how = "are pictures" if IMAGE_MARK in where else "stand in the picture only"
        how = how if segment.items[0].block.origin != "source" else "were not read (□)"
        gap = f"pieces of the text (formulas) {how}: {where}"
        draft = with_doubt(draft, "text", gap, 0.2)
    elif (confidence := min(text.confidence for text in texts)) < _SURE:
        draft = with_doubt(draft, "text", f"a line was read with confidence {confidence:.2f}", max(confidence, 0.05))
    if others := ", ".join(word for text in texts for word in text.others):
        draft = with_doubt(draft, "text", f"another reading of the page does not have: {one_line(others, 60)}", 0.3)
    return _read_otherwise(draft, [pair for text in texts for pair in text.readings], "it")


def _read_otherwise(draft: Draft, readings: Sequence[tuple[str, str]], where: str) -> Draft:
    """A draft with a doubt if the rules and a model have different readings."""
    if not readings:
        return draft
    rules, model = ("\n".join(own).strip() for own in zip(*dict.fromkeys(readings), strict=True))
    return with_doubt(draft, "parse", f"the rules and the model read {where} differently", 0.2, (rules, model))


def _with_unowned_readings(drafts: Sequence[Draft], stream: Stream, body: Body) -> list[Draft]:
    """The drafts with doubts on lines before them that are in no question and that a model reads otherwise."""
    owners, place = body.owners, len(drafts) - 1
    before = [list[tuple[str, str]]() for _ in drafts]
    for item in reversed(stream.items if drafts else ()):
        if (owner := owners.get(id(item), -1)) >= 0:
            place = owner
        elif item.line and item.line.readings:
            before[place].insert(0, item.line.readings)
    return [_read_otherwise(draft, own, "what is before it") for draft, own in zip(drafts, before, strict=True)]
