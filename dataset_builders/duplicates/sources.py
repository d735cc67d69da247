"""Sources of compared questions: an ingested folder, a built data set, or rows.

Contract: readers and messages are those of `build` and `ingest`. Only stems stay in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.process import cores
from livek12.core.records import Image, Question
from livek12.dataset_builders import builder
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.duplicates.library import BATCH, Library, Sketch, sketch
from livek12.dataset_builders.duplicates.stems import Stem, stem, stem_of
from livek12.dataset_builders.reading.built import open_data_set, stored, tables_of
from livek12.dataset_builders.reading.making import Workers
from livek12.dataset_builders.registry import builder_of

FEWEST = 4_096
"""Questions sketched in this process before workers start."""
Parts = Question | Stem


def is_ingested(place: str) -> bool:
    """Test for a folder made by `livek12 ingest`."""
    return (Path(place) / ".ingest").is_dir()


def read_source(place: str, log: Log, *, pictures: bool) -> Iterator[Parts]:
    """Yields the questions of a source, without withdrawn ones.

    `place` is an ingested folder, a built data set, ORG/NAME[@REVISION], or a file or folder of rows. The log gets a
    line for each skipped row.
    """
    if is_ingested(place):
        yield from _drafts(Path(place), log, pictures=pictures)
        return
    path = Path(place)
    if path.is_file() or (path.is_dir() and not (path / "README.md").is_file()):
        records = builder.read(builder_of("livek12"), path, log)
    elif not path.is_dir() and (path.is_absolute() or place.count("/") != 1):
        raise UserError(f"{place}: no such file or folder; give an ingested folder, a data set, or a file of rows")
    else:
        records = (record for record, _, _ in stored(tables_of(open_data_set(place))[1]))
    for record in records:
        if isinstance(record, Question) and record.removed_in is None:
            yield record if pictures else record.model_copy(update={"images": []})


def add_questions(
    library: Library,
    questions: Iterable[Parts],
    *,
    pictures: bool,
    step: Callable[[], None] = lambda: None,
) -> None:
    """Adds questions to a library in their order, beyond `FEWEST` with worker processes."""
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
