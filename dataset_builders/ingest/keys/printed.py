"""Answers printed in a paper, known by how they are set: in a frame or colour of their own, or in the blank.

Contract: an answer is taken only where most questions of the paper print one so, each another; the rest is left to the
heads of answers and to the invariants.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import dropwhile, groupby, pairwise
from typing import Final

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import Option
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.answers import LABEL_FIRST
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.keys.matching import keyed
from livek12.dataset_builders.ingest.questions.options import begins_option
from livek12.dataset_builders.ingest.questions.points import says_worth
from livek12.dataset_builders.ingest.questions.segment import Segment
from livek12.dataset_builders.ingest.questions.stream import Item

_FEWEST: Final = 3
"""Questions that make a habit."""
_WORD: Final = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3}|[一-鿿가-힣]")
_PART: Final = re.compile(r"\s*[(（]?(?:[a-h]|[ivx]{1,4}|\d)[)）.]\s")
_FILLED: Final = re.compile(r"[(（]\s*([A-H]{1,4})\s*[)）]|_{2,}\s*([A-H]{1,4})\s*_{2,}")

_TICK: Final = re.compile(r"\s*(?:\$\\sqrt\$|[√✓✔☑])(?![\w(（])\s*")
"""A root of nothing is one, too."""


def take_set_apart(segments: Sequence[Segment]) -> None:
    """Moves what ends most questions in a look of its own to their `printed` answers, in place."""
    looks = {item.line.look for segment in segments for item in segment.items if item.line} - {""}
    for look in ("", *sorted(looks)):
        ends = [(segment, _end(segment, look)) for segment in segments if not segment.inline]
        answered = [(segment, end) for segment, end in ends if end]
        texts = Counter(" ".join(item.text for item in end) for _, end in answered)
        usual = max(texts.values(), default=0)
        if len(answered) >= max(_FEWEST, len(segments) / 2) and 2 * usual < len(answered):
            for segment, end in answered:
                printed = [*(_of_parts(segment, look) if look else []), *end]
                own = set(map(id, printed))
                segment.items = [item for item in segment.items if id(item) not in own]
                segment.printed = printed


def _end(segment: Segment, look: str) -> list[Item]:
    """The last lines of a question that are set so, or without a look begin with a letter behind its options.

    Pictures and their labels are the question's.
    """
    first, *lines = [item for item in segment.items if item.line] or segment.items
    end: list[Item] = []
    if not look:
        options = [at for at, item in enumerate(lines) if begins_option(item.text)]
        behind = lines[options[-1] + 1 :] if options else []
        return [*dropwhile(lambda item: not LABEL_FIRST.match(item.text), behind)]
    for item in reversed(lines):
        if begins_option(item.text) or "://" in item.text:
            break
        if _is_set_so(item, look):
            end.insert(0, item)
        elif _WORD.search(item.text):
            break
    alike = not first.line or first.line.look == look
    return [] if alike or all(says_worth(item.text) for item in end) else end


def _of_parts(segment: Segment, look: str) -> list[Item]:
    """The lines that are set so before the next part."""
    runs = [(is_so, [*own]) for is_so, own in groupby(segment.items, key=lambda item: _is_set_so(item, look))]
    return [
        item
        for (is_so, own), (_, below) in pairwise(runs)
        if is_so and own[0] is not segment.items[0] and _PART.match(below[0].text)
        for item in own
    ]


def _is_set_so(item: Item, look: str) -> bool:
    return bool(item.line and item.line.look == look and not item.line.pitch)


def take_filled(drafts: Sequence[Draft]) -> list[Draft]:
    """Drafts whose key is the letter in their blank, or as with most in their bracket; it is emptied."""
    choices = [draft for draft in drafts if draft.question_type in CHOICE_TYPES and draft.options]
    places = {draft.id: match for draft in choices if not draft.answer and (match := _filled(draft))}
    if len(places) < max(_FEWEST, len(choices) / 2):
        places = {id: match for id, match in places.items() if match[2]}
    return [_emptied(draft, places[draft.id]) if draft.id in places else draft for draft in drafts]


def take_ticked(drafts: Sequence[Draft]) -> list[Draft]:
    """Drafts whose key is the one option with a tick, as with most; what stands behind the tick is their solution."""
    choices = [draft for draft in drafts if draft.options]
    ticked = {draft.id: own[0] for draft in choices if len(own := [*filter(_has_tick, draft.options)]) == 1}
    if len(ticked) < max(_FEWEST, len(choices) / 2):
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
