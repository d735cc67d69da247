"""Answers printed in a paper without a head: letters below the options or in the blank, ticks.

Contract: an answer is taken only where most questions print one so, each another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import dropwhile
from typing import Final

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import Option
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.answers import LABEL_FIRST
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.keys.ink import FEWEST
from livek12.dataset_builders.ingest.keys.matching import keyed
from livek12.dataset_builders.ingest.questions.options import begins_option
from livek12.dataset_builders.ingest.questions.segment import Segment
from livek12.dataset_builders.ingest.questions.stream import Item

_FILLED: Final = re.compile(r"[(（]\s*([A-H]{1,4})\s*[)）]|_{2,}\s*([A-H]{1,4})\s*_{2,}")

_TICK: Final = re.compile(r"\s*(?:\$\\sqrt\$|[√✓✔☑])(?![\w(（])\s*")
"""A root of nothing is one, too."""


def take_letters(segments: Sequence[Segment]) -> None:
    """Moves the lines behind the options of most questions that begin with a letter, each another, to `printed`."""
    ends = {id(each): _end(each) for each in segments if not each.inline}
    answered = [each for each in segments if ends.get(id(each))]
    texts = Counter(" ".join(item.text for item in ends[id(each)]) for each in answered)
    if len(answered) >= max(FEWEST, len(segments) / 2) and 2 * max(texts.values()) < len(answered):
        for each in answered:
            each.printed = ends[id(each)]
            each.items = each.items[: -len(each.printed)]


def _end(segment: Segment) -> list[Item]:
    """The last lines of a question, from a letter behind its options on."""
    options = [at for at, item in enumerate(segment.items) if at and begins_option(item.text)]
    behind = segment.items[options[-1] + 1 :] if options else []
    return [*dropwhile(lambda item: not LABEL_FIRST.match(item.text), behind)]


def take_filled(drafts: Sequence[Draft]) -> list[Draft]:
    """Drafts whose key is the letter in their blank, or as with most in their bracket; it is emptied."""
    choices = [draft for draft in drafts if draft.question_type in CHOICE_TYPES and draft.options]
    places = {draft.id: match for draft in choices if not draft.answer and (match := _filled(draft))}
    if len(places) < max(FEWEST, len(choices) / 2):
        places = {id: match for id, match in places.items() if match[2]}
    return [_emptied(draft, places[draft.id]) if draft.id in places else draft for draft in drafts]


def take_ticked(drafts: Sequence[Draft]) -> list[Draft]:
    """Drafts whose key is the one option with a tick, as with most; what stands behind the tick is their solution."""
    choices = [draft for draft in drafts if draft.options]
    ticked = {draft.id: own[0] for draft in choices if len(own := [*filter(_has_tick, draft.options)]) == 1}
    if len(ticked) < max(FEWEST, len(choices) / 2):
        return [*drafts]
    return [_unticked(draft, ticked[draft.id]) if draft.id in ticked else draft for draft in drafts]


def _has_tick(option: Option) -> bool:
    return bool(_TICK.search(option.text))


def _unticked(draft: Draft, ticked: Option) -> Draft:
    text, remark = _TICK.split(ticked.text, maxsplit=1)
    options = [option.model_copy(update={"text": text}) if option is ticked else option for option in draft.options]
    return keyed(
        draft.model_copy(update={"options": options}),
        Entry(0, ticked.label, solution=remark.strip() or None),
        "the paper",
    )


def _filled(draft: Draft) -> re.Match[str] | None:
    labels = {option.label for option in draft.options}
    matches = [m for m in _FILLED.finditer(draft.question) if set(m[1] or m[2]) <= labels]
    return matches[0] if len(matches) == 1 else None


def _emptied(draft: Draft, match: re.Match[str]) -> Draft:
    letter = match[1] or match[2]
    blank = match[0].replace(letter, "") if match[1] else "____"
    question = f"{draft.question[: match.start()]}{blank}{draft.question[match.end() :]}"
    return keyed(draft.model_copy(update={"question": question}), Entry(0, letter), "the paper")
