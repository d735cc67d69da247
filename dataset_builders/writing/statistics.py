"""Statistics of a dataset, counted per question and stored as `statistics.json`.

Contract: exact, and mergeable in any order from counts of any process: the same rows give the same bytes. A question is
measured once, in however many tables it is stored. Missing values are "not stated".
"""

from __future__ import annotations

import json
import math
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from livek12.core.errors import UserError
from livek12.core.records import Image, Page, Question
from livek12.core.text import folded
from livek12.dataset_builders.base import IMAGE_ONLY, PAGES, PageKey, page_keys
from livek12.dataset_builders.duplicates.finding import find_pairs
from livek12.dataset_builders.duplicates.library import Library, Stem, stem_of
from livek12.dataset_builders.duplicates.search import add_questions
from livek12.dataset_builders.reading.built import stored, tables_of
from livek12.dataset_builders.reading.images import Look, look_of, opened, picture_of

NOT_STATED = "not stated"
QUANTILES = (5, 25, 50, 75, 95)
_BETWEEN = "\1"
_SPACES, _RARE_SPACES = b" \t\n\v\f\r\x1c\x1d\x1e\x1f", "\x85\u1680\u2028\u2029"
"""All white space of a text in normal form NFKC, in which wide and narrow ones are plain spaces."""


def distribution(counts: Counter[float]) -> dict[str, Any]:
    """Number, mean, standard deviation (of the sample), extremes and quantiles (nearest rank)."""
    values, total = sorted(counts), counts.total()
    ranks = list(accumulate(counts[value] for value in values))
    mean = math.fsum(value * counts[value] for value in values) / total
    spread = math.fsum((value - mean) ** 2 * counts[value] for value in values)
    return {
        "n": total,
        "mean": round(mean, 4),
        "std": round(math.sqrt(spread / (total - 1)), 4) if total > 1 else None,
        "min": values[0],
        "max": values[-1],
        "quantiles": {str(share): values[bisect_left(ranks, math.ceil(total * share / 100))] for share in QUANTILES},
    }


class Block:
    """Figures of a set of questions."""

    def __init__(self) -> None:
        self.questions = 0
        self.by: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.numbers: defaultdict[str, Counter[float]] = defaultdict(Counter)

    def add(self, questions: Sequence[Question], looks: Sequence[Sequence[Look]]) -> None:
        """Counts questions, with the measurements of their figures."""
        self.questions += len(questions)
        for axis, values in _axes(questions).items():
            self.by[axis].update(values)
        for name, numbers in _measures(questions, looks).items():
            self.numbers[name].update(numbers)

    def merge(self, other: Block) -> None:
        """Adds another block."""
        self.questions += other.questions
        for axis, counts in other.by.items():
            self.by[axis].update(counts)
        for name, numbers in other.numbers.items():
            self.numbers[name].update(numbers)

    def summary(self) -> dict[str, Any]:
        """The block as JSON."""
        return {
            "questions": self.questions,
            "by": {axis: dict(sorted(counts.items())) for axis, counts in sorted(self.by.items())},
            "numbers": {name: distribution(counts) for name, counts in sorted(self.numbers.items()) if counts},
        }


def _axes(questions: Sequence[Question]) -> dict[str, list[str]]:
    licences = [question.source.licence or NOT_STATED for question in questions]
    publishers = [question.review.by if question.review.state == "upstream" else None for question in questions]
    return {
        "benchmark": [question.benchmark for question in questions],
        "release": [question.release or NOT_STATED for question in questions],
        "language": [question.language for question in questions],
        "subject": [question.subject or NOT_STATED for question in questions],
        "question_type": [question.question_type for question in questions],
        "difficulty": [question.difficulty or NOT_STATED for question in questions],
        "modality": ["text_image" if question.images else "text_only" for question in questions],
        "subset": [subset for question in questions for subset in question.subsets or ("none",)],
        "year": [NOT_STATED if question.year is None else str(question.year) for question in questions],
        "licence": licences,
        "review": [question.review.state for question in questions],
        "withdrawn": [question.removed_in or "no" for question in questions],
        "attribution": [f"{by or NOT_STATED}: {licence}" for by, licence in zip(publishers, licences, strict=True)],
        "site": [_host(question.source.url) if question.source.url else NOT_STATED for question in questions],
    }


def _measures(questions: Sequence[Question], looks: Sequence[Sequence[Look]]) -> dict[str, list[float]]:
    figures = [look for some in looks for look in some]
    sizes = [look.pixels for look in figures if look.pixels]
    return {
        "question_characters": [len(question.question) for question in questions],
        "solution_characters": [len(question.solution) for question in questions if question.solution],
        "answer_characters": [len(answer) for question in questions for answer in question.answer],
        "options": [len(question.options) for question in questions if question.options],
        "images": [len(question.images) for question in questions],
        "image_bytes": [look.size for look in figures],
        "image_width": [width for width, _ in sizes],
        "image_height": [height for _, height in sizes],
        "parts": [len(question.answer) for question in questions if question.answer],
        "points": [question.points for question in questions if question.points is not None],
        "reasoning_flow_steps": [len(question.reasoning_flow) for question in questions if question.reasoning_flow],
        "criteria": [sum(map(len, question.scheme)) for question in questions if question.scheme],
        "variables": [len(question.variables) for question in questions if question.variables],
        "knowledge_points": [len(question.knowledge_points) for question in questions if question.knowledge_points],
        "pages": [len(question.page_numbers) for question in questions if question.page_numbers],
    }


def _host(url: str | None) -> str:
    try:
        return urlsplit(url or "").hostname or NOT_STATED
    except ValueError:
        return NOT_STATED


def contents_of(questions: Sequence[Question], looks: Sequence[Sequence[Look]]) -> array[int]:
    """Hash of each question's texts (ignoring case, width and spaces) and figures' bytes."""
    texts = ["\0".join([q.language, q.question, *(option.text for option in q.options)]) for q in questions]
    plain = _squeezed(_BETWEEN.join(texts)).split(_BETWEEN.encode())  # once for all is half the time
    if len(plain) > len(texts):  # a text with such characters of its own
        plain = list(map(_squeezed, texts))
    figures = ("".join([f"\0{look.outline}" for look in some]).encode() for some in looks)
    digests = (blake2b(text + figure, digest_size=8).digest() for text, figure in zip(plain, figures, strict=True))
    return array("Q", map(int.from_bytes, digests))


def _squeezed(text: str) -> bytes:
    plain = folded(text)
    for space in _RARE_SPACES:
        plain = plain.replace(space, "")
    return plain.encode().translate(None, _SPACES)


@dataclass
class PartCounts:
    """Counts of some questions of the same tables and split.

    Attributes:
        contents: identity of each question's content, see `contents_of`.
        withdrawn: benchmark, withdrawing release and id, by position.
        pages: image-only questions on each page.
        compared: stems for the near-duplicate search.
    """

    block: Block = field(default_factory=Block)
    contents: array[int] = field(default_factory=lambda: array("Q"))
    added: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    withdrawn: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    pages: Counter[PageKey] = field(default_factory=Counter)
    compared: list[Stem] = field(default_factory=list)

    @classmethod
    def of(cls, questions: Sequence[Question], tables: Sequence[str], *, compares: bool = True) -> PartCounts:
        """Counts questions stored in these tables; `compares` includes the near-duplicate search."""
        looks = [list(map(look_of, question.images)) for question in questions]
        counted = cls(
            contents=contents_of(questions, looks),
            added=Counter((entry.benchmark, entry.release or NOT_STATED, entry.language) for entry in questions),
            withdrawn={
                n: (entry.benchmark, entry.removed_in, entry.id)
                for n, entry in enumerate(questions)
                if entry.removed_in
            },
            pages=Counter(key for entry in questions if IMAGE_ONLY in tables for key in page_keys(entry)),
            compared=list(map(_stem, questions)) if compares else [],
        )
        counted.block.add(questions, looks)
        return counted

    def rename(self, number: int, id: str) -> None:
        """Changes the id of the question at position `number` (from 0); only before any merge."""
        if self.compared:
            self.compared[number] = replace(self.compared[number], id=id)
        if (withdrawn := self.withdrawn.get(number)) is not None:
            self.withdrawn[number] = (*withdrawn[:2], id)

    def merge(self, other: PartCounts) -> None:
        """Adds other counts of these tables and split, except `compared`."""
        first = self.block.questions
        self.withdrawn.update((first + place, entry) for place, entry in other.withdrawn.items())
        self.block.merge(other.block)
        self.contents += other.contents
        self.added.update(other.added)
        self.pages.update(other.pages)


def _stem(question: Question) -> Stem:
    images = (Image(bytes=opened(picture_of(image))) for image in question.images)  # read if the text is too short
    parts = question.question, question.options, question.answer
    return stem_of(question.id, question.benchmark, question.language, None, *parts, images)


def repeated(splits: Sequence[Sequence[array[int]]]) -> dict[str, int]:
    """Repetitions within a split, and questions with content in another split."""
    counted = [np.unique(np.concatenate(contents), return_counts=True) for contents in splits]
    if not counted:
        return {"within_splits": 0, "across_splits": 0}
    contents, times = (np.concatenate(parts) for parts in zip(*counted, strict=True))
    _, places, in_splits = np.unique(contents, return_inverse=True, return_counts=True)
    return {"within_splits": int((times - 1).sum()), "across_splits": int(times[in_splits[places] > 1].sum())}


def near(kept: Iterable[tuple[Stem, str]]) -> dict[str, int]:
    """Questions with a near-duplicate earlier by id, in their own split or another.

    Questions with equal compared content form one group, compared once.
    """
    entries = sorted(kept, key=lambda entry: (entry[0].benchmark, entry[0].id))
    stems = [stem for stem, _ in entries]
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


def _first_of_each(splits: list[str], members: Iterable[int]) -> dict[str, int]:
    first: dict[str, int] = {}
    for number in members:
        first.setdefault(splits[number], number)
    return first


FILE = "statistics.json"
NEAR_LIMIT = 50_000
"""The largest dataset searched for near-duplicates (0.15 ms and 2 KB per question); `livek12 dedup` has no limit."""
Key = tuple[tuple[str, ...], str]
"""The tables of questions, and their split."""


class Statistics:
    """Statistics of a dataset, counted while it is written or read."""

    def __init__(self) -> None:
        self._counted: dict[Key, PartCounts] = {}
        self._pages: dict[PageKey, int] = {}
        self._page_splits: Counter[str] = Counter()
        self._unshared = 0
        self._compared: list[tuple[Stem, str]] | None = []

    def add_page(self, page: Page, split: str) -> None:
        """Counts one page."""
        self._pages[page.paper_id, page.page_number] = len(page.image.bytes or b"")
        self._page_splits[split] += 1

    def add(self, question: Question, tables: Collection[str], split: str) -> None:
        """Counts one question, stored in `split` of `tables`."""
        self.take(PartCounts.of([question], tuple(tables)), tuple(tables), split)

    def take(self, counted: PartCounts, tables: tuple[str, ...], split: str) -> None:
        """Adds counts of questions in exactly these tables."""
        self._merge((tables, split), counted)
        self._unshared += sum(count * self._pages.get(page, 0) for page, count in counted.pages.items())
        if self._compared is not None:
            self._compared += ((stem, split) for stem in counted.compared)
            self._check_limit()

    def merge(self, other: Statistics) -> None:
        """Adds another part of the dataset; no question may be in both."""
        for key, counted in other._counted.items():
            self._merge(key, counted)
        self._pages.update(other._pages)
        self._page_splits.update(other._page_splits)
        self._unshared += other._unshared
        both = self._compared is not None and other._compared is not None
        self._compared = [*(self._compared or ()), *(other._compared or ())] if both else None
        self._check_limit()

    def _merge(self, key: Key, counted: PartCounts) -> None:
        self._counted.setdefault(key, PartCounts()).merge(counted)

    def _check_limit(self) -> None:
        if self._compared is not None and len(self._compared) > NEAR_LIMIT:
            self._compared = None

    @property
    def compares(self) -> bool:
        """True as long as near-duplicates may be searched."""
        return self._compared is not None

    @property
    def questions(self) -> int:
        """Distinct questions."""
        return sum(counted.block.questions for counted in self._counted.values())

    @property
    def images(self) -> int:
        """Figures of the questions."""
        counts = (counted.block.numbers["images"] for counted in self._counted.values())
        return sum(int(value) * number for count in counts for value, number in count.items())

    @property
    def pages(self) -> int:
        """Page images."""
        return sum(self._page_splits.values())

    @property
    def points(self) -> float:
        """Points of all questions that state theirs."""
        counts = (counted.block.numbers["points"] for counted in self._counted.values())
        return math.fsum(value * number for count in counts for value, number in count.items())

    def summary(self, name: str, configs: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
        """Statistics as JSON; `name` is the dataset's template in `hub_cards`, `configs` their tables."""
        return {
            "data_set": name,
            "all": self._merged(lambda _tables, _split: True).summary(),
            "configs": {config: self._config(set(tables)) for config, tables in configs.items()},
            "pages": self._page_summary(),
            "duplicates": self._duplicates(),
            "releases": self._releases(),
        }

    def _config(self, tables: set[str]) -> dict[str, Any]:
        keys = [key for key in self._counted if tables & set(key[0])]
        splits: Counter[str] = Counter()
        for key in keys:
            splits[key[1]] += self._counted[key].block.questions
        if PAGES in tables:
            splits = self._page_splits
        merged = self._merged(lambda names, _split: bool(tables & set(names)))
        return {"splits": dict(sorted(splits.items())), **(merged.summary() if keys else {})}

    def _merged(self, wanted: Any) -> Block:
        block = Block()
        for (tables, split), part in self._counted.items():
            if wanted(tables, split):
                block.merge(part.block)
        return block

    def _page_summary(self) -> dict[str, Any]:
        stored, unshared = sum(self._pages.values()), self._unshared
        questions = sum(part.block.questions for (tables, _), part in self._counted.items() if IMAGE_ONLY in tables)
        return {
            "pages": self.pages,
            "bytes": stored,
            "image_only_questions": questions,
            "bytes_if_stored_with_each_question": unshared,
            "bytes_saved": unshared - stored if questions else 0,
        }

    def _duplicates(self) -> dict[str, Any]:
        contents: defaultdict[str, list[array[int]]] = defaultdict(list)
        for (_, split), counted in self._counted.items():
            contents[split].append(counted.contents)
        exact = repeated(list(contents.values()))
        return {"exact": exact, "near": None if self._compared is None else near(self._compared)}

    def _releases(self) -> list[dict[str, Any]]:
        added: Counter[tuple[str, str, str]] = Counter()
        withdrawn: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for counted in self._counted.values():
            added.update(counted.added)
            for benchmark, release, id in counted.withdrawn.values():
                withdrawn[benchmark, release].append(id)
        names = sorted({key[:2] for key in added} | set(withdrawn))
        return [
            {
                "benchmark": benchmark,
                "release": release,
                "added": {
                    language: count
                    for (*name, language), count in sorted(added.items())
                    if tuple(name) == (benchmark, release)
                },
                "withdrawn": sorted(withdrawn.get((benchmark, release), [])),
            }
            for benchmark, release in names
        ]


def recount(folder: Path, name: str) -> dict[str, Any]:
    """Recounts a built dataset from its files; `name` is its template in `hub_cards`."""
    configs, tables = tables_of(folder, missing_ok=True)
    statistics = Statistics()
    for record, names, split in stored(tables):
        if isinstance(record, Page):
            statistics.add_page(record, split)
        else:
            statistics.add(record, names, split)
    return statistics.summary(name, configs)


def write_statistics(folder: Path, summary: Mapping[str, Any]) -> None:
    """Writes `statistics.json` beside the data."""
    (folder / FILE).write_text(json.dumps(summary, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_statistics(folder: Path) -> dict[str, Any]:
    """Reads `statistics.json` of a dataset."""
    try:
        summary = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if isinstance(summary, dict):
            return summary
        reason = "not an object"
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
    raise UserError(f"{folder / FILE}: {reason}; build the data set again")


def differences(stated: Any, counted: Any, place: str = "") -> Iterator[str]:
    """Figures in which `statistics.json` differs from the data, one line each."""
    if isinstance(stated, Mapping) and isinstance(counted, Mapping):
        for key in sorted({*stated, *counted}):
            yield from differences(stated.get(key), counted.get(key), f"{place}.{key}" if place else key)
    elif stated != counted:
        yield f"{FILE}: {place} is {json.dumps(stated)}, the data has {json.dumps(counted)}"
