"""Counts what a data set holds, question by question, and keeps it beside the data as `statistics.json`.

Contract: every figure is computed from the rows; the same rows give the same bytes. A question is measured once
whatever the number of tables it is stored in; the figures of a config are the merged ones of its tables. Values that
a source does not give are counted as "not stated", never guessed.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Page, Question
from livek12.dataset_builders.base import IMAGE_ONLY, PAGES, PageKey, page_keys
from livek12.dataset_builders.duplicates import SHORT, Library, Stem, find_pairs, stem
from livek12.dataset_builders.reading.built import stored, tables_of
from livek12.dataset_builders.writing.measures import NOT_STATED, Block, content_of

FILE = "statistics.json"
NEAR_LIMIT = 50_000
"""Near-duplicates are searched in data sets of at most so many questions: 0.15 milliseconds and 2 KB each. `livek12
dedup` has no limit."""
NEAR_BYTES = 64 << 20
"""Pictures are held so long as it is open whether that will be: decoding them is the most of it."""


class Statistics:
    """What a data set holds, counted while it is written or read."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[tuple[str, ...], str], Block] = {}
        self._pages: dict[PageKey, int] = {}
        self._page_splits: Counter[str] = Counter()
        self._unshared = [0, 0]
        self._texts: Counter[tuple[int, str]] = Counter()
        self._stems: list[tuple[Stem | Question, str]] | None = []
        self._held = 0
        self._added: Counter[tuple[str, str, str]] = Counter()
        self._withdrawn: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    def add_page(self, page: Page, split: str) -> None:
        """Counts one page."""
        self._pages[page.paper_id, page.page_number] = len(page.image.bytes or b"")
        self._page_splits[split] += 1

    def add(self, question: Question, tables: Collection[str], split: str) -> None:
        """Counts one question, with its figures.

        Args:
            question: the question.
            tables: every table it is stored in.
            split: the split of each of them that holds it.
        """
        key = (tuple(tables), split)
        if key not in self._blocks:
            self._blocks[key] = Block()
        self._blocks[key].add(question)
        if IMAGE_ONLY in tables:
            self._unshared[0] += 1
            self._unshared[1] += sum(self._pages.get(page, 0) for page in page_keys(question))
        self._texts[content_of(question), split] += 1
        self._added[question.benchmark, question.release or NOT_STATED, question.language] += 1
        if question.removed_in:
            self._withdrawn[question.benchmark, question.removed_in].append(question.id)
        if self._stems is not None:
            kept = _for_stem(question)
            if isinstance(kept, Question):
                self._held += sum(len(image.bytes or b"") for image in kept.images)
                kept = stem(kept) if kept.images and self._held > NEAR_BYTES else kept
            self._stems.append((kept, split))
            if len(self._stems) > NEAR_LIMIT:
                self._stems = None

    def merge(self, other: Statistics) -> None:
        """Takes in what another part of the data set holds; no question may be in both."""
        for key, block in other._blocks.items():
            self._blocks.setdefault(key, Block()).merge(block)
        self._pages.update(other._pages)
        self._page_splits.update(other._page_splits)
        self._unshared = [mine + theirs for mine, theirs in zip(self._unshared, other._unshared, strict=True)]
        self._texts.update(other._texts)
        stems = None if self._stems is None or other._stems is None else self._stems + other._stems
        self._stems = None if stems is None or len(stems) > NEAR_LIMIT else stems
        self._added.update(other._added)
        for release, ids in other._withdrawn.items():
            self._withdrawn[release] += ids

    @property
    def questions(self) -> int:
        """Questions, each counted once."""
        return sum(block.questions for block in self._blocks.values())

    @property
    def images(self) -> int:
        """Figures of the questions."""
        counts = (block.numbers["images"].counts for block in self._blocks.values())
        return sum(int(value) * number for count in counts for value, number in count.items())

    @property
    def pages(self) -> int:
        """Page images."""
        return sum(self._page_splits.values())

    @property
    def points(self) -> float:
        """Points of all questions that state theirs."""
        counts = (block.numbers["points"].counts for block in self._blocks.values())
        return math.fsum(value * number for count in counts for value, number in count.items())

    def summary(self, name: str, configs: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
        """Everything as JSON.

        Args:
            name: the data set's template in `hub_cards`.
            configs: the tables of each config.
        """
        return {
            "data_set": name,
            "all": self._merged(lambda _tables, _split: True).summary(),
            "configs": {config: self._config(set(tables)) for config, tables in configs.items()},
            "pages": self._page_summary(),
            "duplicates": self._duplicates(),
            "releases": self._releases(),
        }

    def _config(self, tables: set[str]) -> dict[str, Any]:
        keys = [key for key in self._blocks if tables & set(key[0])]
        splits: Counter[str] = Counter()
        for key in keys:
            splits[key[1]] += self._blocks[key].questions
        if PAGES in tables:
            splits = self._page_splits
        merged = self._merged(lambda held, _split: bool(tables & set(held)))
        return {"splits": dict(sorted(splits.items())), **(merged.summary() if keys else {})}

    def _merged(self, wanted: Any) -> Block:
        block = Block()
        for (tables, split), part in self._blocks.items():
            if wanted(tables, split):
                block.merge(part)
        return block

    def _page_summary(self) -> dict[str, Any]:
        stored, (questions, unshared) = sum(self._pages.values()), self._unshared
        return {
            "pages": self.pages,
            "bytes": stored,
            "image_only_questions": questions,
            "bytes_if_stored_with_each_question": unshared,
            "bytes_saved": unshared - stored if questions else 0,
        }

    def _duplicates(self) -> dict[str, Any]:
        """Questions beyond the first of each text, in one split, and those whose text an other split has."""
        splits = Counter(text for text, _ in self._texts)
        exact = {
            "within_splits": sum(count - 1 for count in self._texts.values()),
            "across_splits": sum(count for (text, _), count in self._texts.items() if splits[text] > 1),
        }
        return {"exact": exact, "near": None if self._stems is None else _near(self._stems)}

    def _releases(self) -> list[dict[str, Any]]:
        """What each release added, and withdrew."""
        names = sorted({key[:2] for key in self._added} | set(self._withdrawn))
        return [
            {
                "benchmark": benchmark,
                "release": release,
                "added": {
                    language: count
                    for (*name, language), count in sorted(self._added.items())
                    if tuple(name) == (benchmark, release)
                },
                "withdrawn": sorted(self._withdrawn.get((benchmark, release), [])),
            }
            for benchmark, release in names
        ]


def recount(folder: Path, name: str) -> dict[str, Any]:
    """The figures of a built data set, counted again from its files.

    Args:
        folder: the data set.
        name: its template in `hub_cards`, as `statistics.json` has it.

    Raises:
        UserError: there is no card, or a file is damaged.
    """
    configs, tables = tables_of(folder, missing_ok=True)
    statistics = Statistics()
    for record, held, split in stored(tables):
        if isinstance(record, Page):
            statistics.add_page(record, split)
        else:
            statistics.add(record, held, split)
    return statistics.summary(name, configs)


def write_statistics(folder: Path, summary: Mapping[str, Any]) -> None:
    """Writes `statistics.json` beside the data."""
    (folder / FILE).write_text(as_json(summary), encoding="utf-8")


def read_statistics(folder: Path) -> dict[str, Any]:
    """What `statistics.json` of a data set says.

    Raises:
        UserError: it is not there or not readable.
    """
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
        reason = "not an object"
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
    raise UserError(f"{folder / FILE}: {reason}; build the data set again")


def as_json(value: Mapping[str, Any]) -> str:
    """A summary as text, the same for the same summary."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def differences(stated: Any, counted: Any, place: str = "") -> Iterator[str]:
    """One line a figure that `statistics.json` gives otherwise than the data."""
    if isinstance(stated, Mapping) and isinstance(counted, Mapping):
        for key in sorted({*stated, *counted}):
            yield from differences(stated.get(key), counted.get(key), f"{place}.{key}" if place else key)
    elif stated != counted:
        yield f"{FILE}: {place} is {json.dumps(stated)}, the data has {json.dumps(counted)}"


def _for_stem(question: Question) -> Stem | Question:
    """What is compared, or all that it is made of at the end, if at all: pictures only where they count."""
    kept: dict[str, Any] = {"answer_images": [], "solution_images": [], "solution": None}
    plain = question.model_copy(update={"images": [], **kept})
    if sum(map(len, [question.question, *(option.text for option in question.options)])) >= 10 * SHORT:
        return plain
    found = stem(plain)
    return question.model_copy(update=kept) if found.short and question.images else found


def _near(kept: Iterable[tuple[Stem | Question, str]]) -> dict[str, int]:
    """Questions that have a near-duplicate before them (in the order of ids), in their own split or in another.

    Questions of which all that is compared is the same make one group, which is compared once.
    """
    stems = ((stem(entry) if isinstance(entry, Question) else entry, split) for entry, split in kept)
    entries = sorted(stems, key=lambda entry: (entry[0].benchmark, entry[0].id))
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, (entry, _) in enumerate(entries):
        content = (entry.language, entry.text, entry.numbers, entry.key, entry.figures)
        groups.setdefault(content, []).append(number)
    splits = [split for _, split in entries]
    first = {members[0]: _first_of_each(splits, members) for members in groups.values()}
    firsts = list(first)
    library = Library()
    library.add_stems([entries[number][0] for number in firsts])
    near: dict[int, list[int]] = defaultdict(list)
    variants: dict[int, list[int]] = defaultdict(list)
    for one, other, _, difference in find_pairs(library):
        for number, neighbour in ((firsts[one], firsts[other]), (firsts[other], firsts[one])):
            (variants if difference else near)[number].append(neighbour)
    found = {"within_splits": 0, "across_splits": 0, "variants": 0}
    for members in groups.values():
        others = [first[number] for number in near[members[0]]]
        for number in members:
            earlier = {
                split for group in [first[members[0]], *others] for split, before in group.items() if before < number
            }
            found["within_splits"] += splits[number] in earlier
            found["across_splits"] += bool(earlier - {splits[number]})
            found["variants"] += not earlier and any(before < number for before in variants[members[0]])
    return found


def _first_of_each(splits: list[str], members: Iterable[int]) -> dict[str, int]:
    """The first member in each split."""
    first: dict[str, int] = {}
    for number in members:
        first.setdefault(splits[number], number)
    return first
