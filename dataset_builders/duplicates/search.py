"""The duplicate search: reads sources, finds pairs, writes them to a file for human decisions, marks drafts.

Contract: only stems stay in memory. Sources are compared with each other and with earlier releases. The pair file is
JSONL or CSV by its name; the reviewer sets `decision` (and `by`, `at`, `reason`). A decision belongs to two exact
texts: a change reopens the pair with a warning. Decided pairs that no longer match go last. Drafts get a "duplicate"
doubt for each pair that is open or decided the same; older such doubts are removed.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.process import cores
from livek12.core.records import Image, Question
from livek12.core.tables import csv_rows, csv_text
from livek12.dataset_builders import builder
from livek12.dataset_builders.base import Log, one_line
from livek12.dataset_builders.duplicates.finding import LOOSE, THRESHOLD, Pairs, find_pairs
from livek12.dataset_builders.duplicates.library import (
    BATCH,
    Library,
    Sketch,
    Stem,
    distance,
    hash_of,
    sketch,
    stem,
    stem_of,
)
from livek12.dataset_builders.reading.built import open_data_set, questions_of
from livek12.dataset_builders.reading.making import Workers
from livek12.dataset_builders.registry import builder_of

FEWEST = 4_096
"""Questions sketched in this process before workers start."""
Parts = Question | Stem
DECISIONS = ("same", "different", "newer wins")
COLUMNS = (
    *("id", "other", "kind", "why", "similarity", "figures", "text", "other_text", "release", "other_release"),
    *("texts", "decision", "by", "at", "reason"),
)
_REVIEWED = ("decision", "by", "at", "reason")
Key = tuple[str, ...]
PAIRS = "duplicates.jsonl"
IN_FOLDER = Path(".ingest") / PAIRS
"""Pair file of an ingested folder, where `build` reads no rows."""
_DOUBTS = {"duplicate": 0.3, "variant": 0.6}


def _is_ingested(place: str) -> bool:
    return (Path(place) / ".ingest").is_dir()


def read_source(place: str, log: Log, *, pictures: bool) -> Iterator[Parts]:
    """Yields the questions of a source, without withdrawn ones.

    `place` is an ingested folder, a built dataset, ORG/NAME[@REVISION], or a file or folder of rows. The log gets a
    line for each skipped row.
    """
    if _is_ingested(place):
        yield from _drafts(Path(place), log, pictures=pictures)
        return
    path = Path(place)
    records: Iterator[Any]
    if path.is_file() or (path.is_dir() and not (path / "README.md").is_file()):
        records = builder.read(builder_of("livek12"), path, log)
    elif not path.is_dir() and (path.is_absolute() or place.count("/") != 1):
        raise UserError(f"{place}: no such file or folder; give an ingested folder, a data set, or a file of rows")
    else:
        records = questions_of(open_data_set(place))
    for record in records:
        if isinstance(record, Question) and record.removed_in is None:
            yield record if pictures else record.model_copy(update={"images": []})


def add_questions(
    library: Library, questions: Iterable[Parts], *, pictures: bool, step: Callable[[], None] = lambda: None
) -> None:
    """Adds questions in order, beyond `FEWEST` with worker processes."""
    rest = iter(questions)
    first = list(islice(rest, FEWEST))
    for batch in _batches(first):
        library.add(_sketched(pictures, batch))
    _steps(step, len(first))
    more = list(islice(rest, 1))
    if not more:
        return
    pieces = ((len(batch), batch) for batch in _batches(chain(more, rest)))
    with Workers(_sketched, pictures, max(1, cores() - 1)) as workers:
        for size, made in workers.answers(pieces):
            library.add(made)
            _steps(step, size)


def _batches(questions: Iterable[Parts]) -> Iterator[list[Parts]]:
    rest = iter(questions)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _steps(step: Callable[[], None], count: int) -> None:
    for _ in range(count):
        step()


def _sketched(pictures: bool, batch: Iterable[Parts]) -> Sketch:
    return sketch([part if isinstance(part, Stem) else stem(part, pictures=pictures) for part in batch])


def _drafts(root: Path, log: Log, *, pictures: bool) -> Iterator[Stem]:
    from livek12.dataset_builders.ingest.folder import Folder

    for paper in Folder(root).papers():
        for draft in paper.drafts:
            log.read += 1
            yield stem_of(
                draft.id,
                "livek12",
                draft.language,
                paper.release,
                draft.question,
                draft.options,
                draft.answer,
                [_picture(root, figure.name, draft.id, log) for figure in draft.figures] if pictures else [],
                pictures=pictures,
            )


def _picture(root: Path, name: str, id: str, log: Log) -> Image:
    try:
        return Image(bytes=(root / "images" / Path(name).name).read_bytes())
    except OSError as error:
        log.skip(root.name, id, f"figure {Path(name).name} cannot be read ({error.strerror}): not compared")
        return Image()


@dataclass(frozen=True)
class Decided:
    """Recorded decisions by ids, releases and texts, and a line for each invalid one."""

    rows: dict[Key, dict[str, Any]]
    problems: list[str]

    def on(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """Decision on a pair with these exact texts, if any."""
        return self.rows.get(_key(row))

    def outdated(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """Decision on other texts of the pair, if none is on these."""
        *pair, _ = key = _key(row)
        return None if key in self.rows else self._pairs.get(tuple(pair))

    @cached_property
    def _pairs(self) -> dict[Key, dict[str, Any]]:
        return {key[:-1]: row for key, row in self.rows.items()}


def _read_decisions(file: Path) -> Decided:
    decided = Decided({}, [])
    if not file.is_file():
        return decided
    try:
        rows = list(_rows(file))
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{file}: cannot be read as pairs ({one_line(error, 120)}); mend it or give another") from None
    for number, row in enumerate(rows, start=1):
        decision = " ".join(str(row.get("decision") or "").split()).lower()
        if not decision:
            continue
        shown = f"{file}: row {number} ({one_line(row.get('id'), 60)}, {one_line(row.get('other'), 60)})"
        if decision not in DECISIONS:
            decided.problems.append(f"{shown}: decision {one_line(decision, 40)!r} is none of {', '.join(DECISIONS)}")
        else:
            decided.rows[_key(row)] = {**row, "decision": decision}
    return decided


def _pair_rows(library: Library, pairs: Pairs, decided: Decided) -> Iterator[dict[str, Any]]:
    """The later question comes first."""
    for place, other_place, similarity, difference in pairs:
        later, earlier = library.stem(other_place), library.stem(place)
        apart = distance(later.figures, earlier.figures)
        same = "same text" if later.text == earlier.text else f"{similarity:.0%} of the text is the same"
        row = {
            "id": later.id,
            "other": earlier.id,
            "kind": "variant" if difference else "duplicate",
            "why": difference or same,
            "similarity": round(similarity, 4),
            "figures": None if apart is None else round(apart, 4),
            "text": later.shown,
            "other_text": earlier.shown,
            "release": later.release or "",
            "other_release": earlier.release or "",
            "texts": f"{hash_of(later.text):016x}{hash_of(earlier.text):016x}",
            **dict.fromkeys(_REVIEWED, ""),
        }
        before = decided.on(row)
        yield {**row, **{name: before.get(name) or "" for name in _REVIEWED}} if before else row


def _write_pairs(file: Path, library: Library, pairs: Pairs, decided: Decided) -> dict[str, int]:
    """Writes the pairs, then decided pairs that no longer match; returns their numbers."""
    counts = {"duplicates": 0, "variants": 0, "open": 0, "decided": 0}
    unmatched = dict(decided.rows)

    def lines() -> Iterator[str]:
        as_csv = file.suffix.lower() == ".csv"
        if as_csv:
            yield _csv_line(dict(zip(COLUMNS, COLUMNS, strict=True)))
        for row in _pair_rows(library, pairs, decided):
            unmatched.pop(_key(row), None)
            if (old := decided.outdated(row)) is not None:
                shown = f"{one_line(row['id'], 60)}, {one_line(row['other'], 60)}"
                decided.problems.append(f"{shown}: {old['decision']!r} was decided on other texts; decide again")
            counts["variants" if row["kind"] == "variant" else "duplicates"] += 1
            counts["decided"] += bool(row["decision"])
            counts["open"] += row["kind"] == "duplicate" and not row["decision"]
            yield _csv_line(row) if as_csv else json.dumps(row, ensure_ascii=False) + "\n"
        for row in unmatched.values():
            yield _csv_line(row) if as_csv else json.dumps(row, ensure_ascii=False) + "\n"

    _write(file, lines())
    return counts


def _write(file: Path, lines: Iterator[str]) -> None:
    if file.suffix.lower() not in (".jsonl", ".csv"):
        raise UserError(f"{file}: give a name that ends in .jsonl or .csv")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror}); choose another place") from None
    write_atomically(file, lines)


def _key(row: Mapping[str, Any]) -> Key:
    return tuple(str(row.get(name) or "") for name in ("id", "release", "other", "other_release", "texts"))


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    text = file.read_text(encoding="utf-8-sig")
    if file.suffix.lower() == ".csv":
        yield from csv_rows(text)
        return
    for line in text.splitlines():
        if line.strip():
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("a line is no object")
            yield row


def _csv_line(row: Mapping[str, Any]) -> str:
    return csv_text([[row.get(name) for name in COLUMNS]])


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
        """Result as JSON values."""
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

    Sources: see `read_source`. The default file is in the one ingested folder, else `duplicates.jsonl` here.
    """
    single = len(sources) == 1 and _is_ingested(sources[0])
    file = out or (Path(sources[0]) / IN_FOLDER if single else Path(PAIRS))
    decided = _read_decisions(file)
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
    counts = _write_pairs(file, library, pairs, decided)
    for place in sources:
        if _is_ingested(place):
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
    for (place, *_), row in zip(pairs, _pair_rows(library, pairs, decided), strict=True):
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
