"""Counts repeated questions of a dataset: identical, and near-duplicates.

Contract: independent of the order of the questions and of the process that makes their stems.
"""

from __future__ import annotations

import marshal
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from livek12.core.process import cores
from livek12.core.records import Image, Option
from livek12.dataset_builders.duplicates import Library, Stem, find_pairs, stem_of
from livek12.dataset_builders.duplicates.search import add_questions
from livek12.dataset_builders.reading.images import opened
from livek12.dataset_builders.reading.workers import Workers
from livek12.dataset_builders.writing.counting import Compared

FEWEST_STEMS = 4_096
"""Up to so many stems are made here; starting processes takes half a second."""
STEMS_AT_ONCE = 512


def repeated(splits: Sequence[Sequence[array[int]]]) -> dict[str, int]:
    """Repetitions within a split, and questions whose content another split has."""
    import numpy as np

    counted = [np.unique(np.concatenate(contents), return_counts=True) for contents in splits]
    if not counted:
        return {"within_splits": 0, "across_splits": 0}
    contents, times = (np.concatenate(parts) for parts in zip(*counted, strict=True))
    _, places, in_splits = np.unique(contents, return_inverse=True, return_counts=True)
    return {"within_splits": int((times - 1).sum()), "across_splits": int(times[in_splits[places] > 1].sum())}


def near(kept: Iterable[tuple[Compared | Stem, str]]) -> dict[str, int]:
    """Questions with a near-duplicate earlier in the order of ids, in their own split or in another.

    Questions with equal compared content form one group, compared once.
    """
    entries = sorted(kept, key=lambda entry: (entry[0].benchmark, entry[0].id))
    stems = _stems([entry for entry, _ in entries])
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, stem in enumerate(stems):
        content = (stem.language, stem.text, stem.numbers, stem.key, stem.figures)
        groups.setdefault(content, []).append(number)
    splits = [split for _, split in entries]
    first = {members[0]: _first_of_each(splits, members) for members in groups.values()}
    firsts = list(first)
    library = Library()
    add_questions(library, [stems[number] for number in firsts], pictures=False)
    near: dict[int, list[int]] = defaultdict(list)
    variants: dict[int, list[int]] = defaultdict(list)
    for former, other, _, difference in find_pairs(library):
        for number, neighbour in ((firsts[former], firsts[other]), (firsts[other], firsts[former])):
            (variants if difference else near)[number].append(neighbour)
    counts = {"within_splits": 0, "across_splits": 0, "variants": 0}
    for members in groups.values():
        others = [first[number] for number in near[members[0]]]
        for number in members:
            earlier = {
                split for group in [first[members[0]], *others] for split, before in group.items() if before < number
            }
            counts["within_splits"] += splits[number] in earlier
            counts["across_splits"] += bool(earlier - {splits[number]})
            counts["variants"] += not earlier and any(before < number for before in variants[members[0]])
    return counts


def stem_of_compared(one: Compared) -> Stem:
    """The stem of a question."""
    language, text, options, answer = marshal.loads(one.content)
    listed = [Option.model_construct(label=label, text=text) for label, text in options]
    images = [Image(bytes=opened(picture)) for picture in one.pictures]
    return stem_of(one.id, one.benchmark, language, None, text, listed, answer, images)


def _stems(entries: Sequence[Compared | Stem]) -> list[Stem]:
    waiting = {(entry.content, entry.pictures): entry for entry in entries if isinstance(entry, Compared)}
    made = dict(zip(waiting, _made(list(waiting.values())), strict=True))
    return [entry if isinstance(entry, Stem) else made[entry.content, entry.pictures] for entry in entries]


def _made(waiting: Sequence[Compared]) -> Iterator[Stem]:
    if len(waiting) <= FEWEST_STEMS or cores() == 1:
        yield from map(stem_of_compared, waiting)
        return
    pieces = ((None, waiting[start : start + STEMS_AT_ONCE]) for start in range(0, len(waiting), STEMS_AT_ONCE))
    with Workers(_stems_of, None, cores()) as workers:
        for _, answer in workers.answers(pieces):
            yield from answer


def _stems_of(_: None, some: Sequence[Compared]) -> list[Stem]:
    return list(map(stem_of_compared, some))


def _first_of_each(splits: list[str], members: Iterable[int]) -> dict[str, int]:
    first: dict[str, int] = {}
    for number in members:
        first.setdefault(splits[number], number)
    return first
