"""Statistics of a dataset, counted per question and stored as `statistics.json`.

Contract: the same rows give the same bytes. A question is measured once, in however many tables it is stored. Missing
values are "not stated".
"""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Page, Question
from livek12.dataset_builders.base import IMAGE_ONLY, PAGES, PageKey
from livek12.dataset_builders.duplicates import Stem
from livek12.dataset_builders.reading.built import stored, tables_of
from livek12.dataset_builders.writing.counting import Compared, PartCounts
from livek12.dataset_builders.writing.measures import Block
from livek12.dataset_builders.writing.repeats import near, repeated, stem_of_compared

FILE = "statistics.json"
NEAR_LIMIT = 50_000
"""The largest dataset searched for near-duplicates (0.15 ms and 2 KB per question); `livek12 dedup` has no limit."""
NEAR_BYTES = 64 << 20
"""Pictures in memory until the limit decides: decoding them takes most of the time."""
Key = tuple[tuple[str, ...], str]
"""The tables of questions, and their split."""


class Statistics:
    """The statistics of a dataset, counted while it is written or read."""

    def __init__(self) -> None:
        self._counted: dict[Key, PartCounts] = {}
        self._pages: dict[PageKey, int] = {}
        self._page_splits: Counter[str] = Counter()
        self._unshared = 0
        self._compared: list[tuple[Compared | Stem, str]] | None = []
        self._held = 0

    def add_page(self, page: Page, split: str) -> None:
        """Counts one page."""
        self._pages[page.paper_id, page.page_number] = len(page.image.bytes or b"")
        self._page_splits[split] += 1

    def add(self, question: Question, tables: Collection[str], split: str) -> None:
        """Counts one question, stored in `split` of each of `tables`."""
        self.take(PartCounts.of([question], tuple(tables)), tuple(tables), split)

    def take(self, counted: PartCounts, tables: tuple[str, ...], split: str) -> None:
        """Adds the counts of questions stored in exactly these tables."""
        self._merge((tables, split), counted)
        self._unshared += sum(count * self._pages.get(page, 0) for page, count in counted.pages.items())
        if self._compared is not None:
            self._compared += ((self._kept(compared), split) for compared in counted.compared)
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

    def _kept(self, question: Compared) -> Compared | Stem:
        size = sum(len(picture) for picture in question.pictures if isinstance(picture, bytes))
        self._held += size
        return stem_of_compared(question) if size and self._held > NEAR_BYTES else question

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
        counts = (counted.block.numbers["images"].counts for counted in self._counted.values())
        return sum(int(value) * number for count in counts for value, number in count.items())

    @property
    def pages(self) -> int:
        """Page images."""
        return sum(self._page_splits.values())

    @property
    def points(self) -> float:
        """Points of all questions that state theirs."""
        counts = (counted.block.numbers["points"].counts for counted in self._counted.values())
        return math.fsum(value * number for count in counts for value, number in count.items())

    def summary(self, name: str, configs: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
        """The statistics as JSON; `name` is the dataset's template in `hub_cards`, `configs` their tables."""
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
    (folder / FILE).write_text(as_json(summary), encoding="utf-8")


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


def as_json(value: Mapping[str, Any]) -> str:
    """A summary as deterministic text."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def differences(stated: Any, counted: Any, place: str = "") -> Iterator[str]:
    """The figures in which `statistics.json` differs from the data, one line each."""
    if isinstance(stated, Mapping) and isinstance(counted, Mapping):
        for key in sorted({*stated, *counted}):
            yield from differences(stated.get(key), counted.get(key), f"{place}.{key}" if place else key)
    elif stated != counted:
        yield f"{FILE}: {place} is {json.dumps(stated)}, the data has {json.dumps(counted)}"
