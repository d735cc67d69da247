"""The duplicate search: reads sources, finds pairs, writes them for decision, marks drafts.

Contract: sources are compared with each other and with earlier releases, those not among themselves. Decisions are
kept. Drafts get a "duplicate" doubt for each pair that is open or decided the same; older such doubts are removed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.duplicates.comparing import LOOSE, THRESHOLD
from livek12.dataset_builders.duplicates.finding import Pairs, find_pairs
from livek12.dataset_builders.duplicates.library import Library
from livek12.dataset_builders.duplicates.pair_file import Decided, pair_rows, read_decisions, write_pairs
from livek12.dataset_builders.duplicates.sources import add_questions, is_ingested, read_source

PAIRS = "duplicates.jsonl"
IN_FOLDER = Path(".ingest") / PAIRS
"""Pair file of an ingested folder, where `build` reads no rows."""
_DOUBTS = {"duplicate": 0.3, "variant": 0.6}


class _Log(Log):
    """Log of skipped rows only; the build reports the rest."""

    def note(self, where: str, id: str | None, text: object) -> None:
        pass

    def add(self, other: Log) -> None:
        self.skipped += other.skipped


@dataclass(frozen=True)
class Found:
    """Result of a search; `failed` if rows were skipped.

    `questions` counts the sources', `against` the earlier releases'.
    """

    questions: int
    against: int
    compared: int
    counts: dict[str, int]
    out: Path
    failed: bool
    lines: list[str]

    def summary(self) -> dict[str, Any]:
        """The result as JSON values."""
        sizes = {"questions": self.questions, "against": self.against, "compared": self.compared}
        return {**sizes, **self.counts, "out": str(self.out), "lines": self.lines}


def search(
    sources: Sequence[str],
    against: Sequence[str],
    out: Path | None,
    *,
    pictures: bool = True,
    variants: bool = True,
    step: Callable[[], None] = lambda: None,
) -> Found:
    """Finds the pairs of some sources, and of sources with earlier releases (`against`).

    Sources: see `sources.read_source`. The default file is in the one ingested folder, else `duplicates.jsonl` here.
    """
    single = len(sources) == 1 and is_ingested(sources[0])
    file = out or (Path(sources[0]) / IN_FOLDER if single else Path(PAIRS))
    decided = read_decisions(file)
    library, log = Library(), _Log()
    for place in against:
        add_questions(library, read_source(place, log, pictures=pictures), pictures=pictures, step=step)
    first = len(library)
    for place in sources:
        add_questions(library, read_source(place, log, pictures=pictures), pictures=pictures, step=step)
    if len(library) == first:
        raise UserError(f"{', '.join(sources)}: no question to compare{_first(log.skipped)}")
    pairs = find_pairs(library, first, LOOSE if variants else THRESHOLD)
    if not variants:
        pairs = _duplicates(pairs)
    counts = write_pairs(file, library, pairs, decided)
    for place in sources:
        if is_ingested(place):
            _mark(Path(place), library, pairs, decided, first)
    lines = [*log.skipped, *decided.problems]
    return Found(len(library) - first, first, pairs.looked_at, counts, file, bool(log.skipped), lines)


def _first(lines: list[str]) -> str:
    return f" ({len(lines)} left out; the first: {lines[0]})" if lines else ""


def _duplicates(pairs: Pairs) -> Pairs:
    keep = (pairs.difference == 0).nonzero()[0]
    return Pairs(pairs.one[keep], pairs.other[keep], pairs.similarity[keep], pairs.difference[keep], pairs.looked_at)


def _mark(root: Path, library: Library, pairs: Pairs, decided: Decided, first: int) -> None:
    from livek12.dataset_builders.ingest.drafts import Doubt
    from livek12.dataset_builders.ingest.folder import Folder

    doubts: defaultdict[str, list[Doubt]] = defaultdict(list)
    for (place, *_), row in zip(pairs, pair_rows(library, pairs, decided), strict=True):
        if row["decision"] == "different":
            continue
        decision = f", decided: {row['decision']}" if row["decision"] else ""
        sides = [("id", "other", "other_text"), ("other", "id", "text")]
        for id, other, text in sides if place >= first else sides[:1]:
            shown = f"{row['kind']} of {row[other]} ({row['why']}{decision}): {row[text]}"
            doubts[row[id]].append(Doubt(kind="duplicate", text=shown, confidence=_DOUBTS[row["kind"]]))
    folder = Folder(root)
    with folder.alone():
        for paper in folder.papers():
            drafts = [
                draft.model_copy(
                    update={"doubts": [doubt for doubt in draft.doubts if doubt.kind != "duplicate"] + doubts[draft.id]}
                )
                for draft in paper.drafts
            ]
            if drafts != paper.drafts:
                folder.save(paper.model_copy(update={"drafts": drafts}), {})
