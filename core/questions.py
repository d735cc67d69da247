"""Reads a built data set back: questions of a config, page images, and a fingerprint of what was read.

Contract: a data set is a folder with a card (README.md whose YAML names configs, splits and Parquet files), or
ORG/NAME[@REVISION] on the Hub, of which only the files of the wanted configs are fetched. Both are read the same
way, row by row, with the image bytes as they were stored.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.features import from_row
from livek12.core.records import Benchmark, Image, Language, Page, Question, Record, canonical_json

if TYPE_CHECKING:
    import pyarrow as pa

CARD = "README.md"
PAGES_CONFIG = "pages"
BATCH_ROWS = 32
Configs = dict[str, dict[str, list[str]]]
"""Config → split → patterns of its files, relative to the data set."""
R = TypeVar("R", bound=Record)
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*(@[\w./-]+)?")


def load_questions(
    data: str | Path, configs: Sequence[str], benchmark: Benchmark, language: Language | None = None
) -> list[Question]:
    """The questions of the first of `configs` that the data set has and that holds this benchmark.

    Args:
        data: a folder made by `livek12 build`, or ORG/NAME[@REVISION] on the Hub.
        configs: names to look for, best first; a merged data set prefixes them with the benchmark.
        benchmark: whose questions are wanted.
        language: only questions in this language; None for all.

    Raises:
        UserError: there is no such data set or config, a file is damaged, or a row is not a question.
    """
    return list(iter_questions(data, configs, benchmark, language))


def iter_questions(
    data: str | Path, configs: Sequence[str], benchmark: Benchmark, language: Language | None = None
) -> Iterator[Question]:
    """The same as `load_questions`, one at a time."""
    opened = _Opened(data)
    for config in configs:
        rows = opened.records(Question, config) if config in opened.configs else iter(())
        first = next(rows, None)
        if first is None or first.benchmark != benchmark:
            continue
        yield from (q for q in _chain(first, rows) if language in (None, q.language))
        return
    raise UserError(
        f"{data} has no {benchmark} config {' or '.join(configs)}; it has: {', '.join(opened.configs) or 'none'};"
        " `livek12 build` makes data sets"
    )


def load_pages(data: str | Path, keys: Collection[tuple[str, int]] | None = None) -> dict[tuple[str, int], Image]:
    """Page images by paper and page number; a data set without pages gives none.

    Args:
        data: as for `load_questions`.
        keys: only these pages; None for all.

    Raises:
        UserError: there is no such data set, or a file is damaged.
    """
    opened = _Opened(data)
    if PAGES_CONFIG not in opened.configs:
        return {}
    pages = opened.records(Page, PAGES_CONFIG)
    found = (((page.paper_id, page.page_number), page.image) for page in pages)
    return {key: image for key, image in found if keys is None or key in keys}


def fingerprint(questions: Iterable[Question], pages: Iterable[Image] = ()) -> str:
    """SHA-256 of the content of questions and pages, whatever their order.

    Pictures count by their bytes, not by their names; empty fields do not count, so that a field added later does
    not change it.
    """
    digests = [
        hashlib.sha256(canonical_json(_content(q.model_dump(exclude_defaults=True))).encode()) for q in questions
    ]
    parts = [*(digest.hexdigest() for digest in digests), *(f"page {image.sha256}" for image in pages)]
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def read_card(folder: Path) -> Configs:
    """The configs that the card of a data set names.

    Raises:
        UserError: there is no card, it is not readable, or it names files outside the folder.
    """
    import yaml

    card = folder / CARD
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; build a data set with `livek12 build`")
    if not card.is_file():
        raise UserError(f"{folder} has no {CARD}: not a data set; build one with `livek12 build`")
    text = card.read_text(encoding="utf-8", errors="replace")
    front = re.match(r"---\s*\n(.*?)\n---\s*(?:\n|$)", text, re.DOTALL)
    try:
        listed = yaml.safe_load(front[1] if front else "")["configs"]
        return {str(entry["config_name"]): _splits(entry["data_files"]) for entry in listed}
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{card}: its YAML names no readable configs ({_line(error)}); build the data set again"
        ) from None


def data_files(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """The files of a split: those that match the patterns, in the order of the patterns and of their names."""
    return [file for pattern in patterns for file in sorted(folder.glob(pattern))]


class _Opened:
    """A data set whose card is read; files come from the folder, or from the Hub when they are asked for."""

    def __init__(self, data: str | Path) -> None:
        self._data = data
        self._on_hub = not Path(data).exists() and bool(_HUB_NAME.fullmatch(str(data)))
        self._folder = self._fetch([CARD]) if self._on_hub else Path(data)
        self.configs = read_card(self._folder)

    def records(self, record: type[R], config: str) -> Iterator[R]:
        splits = self.configs[config]
        if self._on_hub:
            self._folder = self._fetch([pattern for patterns in splits.values() for pattern in patterns])
        for split, patterns in splits.items():
            files = data_files(self._folder, patterns)
            if not files:
                raise UserError(f"{self._data}: no file of config {config}, split {split}; build or fetch it again")
            for file in files:
                yield from read_records(record, file)

    def _fetch(self, patterns: list[str]) -> Path:
        from huggingface_hub import snapshot_download

        name, _, revision = str(self._data).partition("@")
        try:
            folder = snapshot_download(name, repo_type="dataset", revision=revision or None, allow_patterns=patterns)
        except Exception as error:  # the Hub's client raises its own, httpx's and OSErrors
            raise UserError(f"{self._data}: no such folder, and not to be had from the Hub ({_line(error)})") from None
        return Path(folder)


def read_records(record: type[R], file: Path) -> Iterator[R]:
    """The records of one Parquet file.

    Raises:
        UserError: the file is damaged, or a row does not make a record.
    """
    for number, row in enumerate(read_rows(record, file), start=1):
        try:
            yield from_row(record, row)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise UserError(f"{file}: row {number} ({row.get('id')}): {place}: {_line(first['msg'])}") from None


def read_rows(record: type[Record], file: Path) -> Iterator[dict[str, Any]]:
    """The rows of one Parquet file, only the columns the record has.

    Raises:
        UserError: the file is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as parquet:
            columns = _known_columns(record, parquet.schema_arrow)
            for batch in parquet.iter_batches(batch_size=BATCH_ROWS, columns=columns):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file}: damaged or not Parquet ({_line(error)}); build or fetch it again") from None


def _known_columns(record: type[Record], columns: pa.Schema) -> list[str]:
    return [name for name in record.model_fields if name in columns.names]


def _splits(listed: Any) -> dict[str, list[str]]:
    """`data_files` in any of the forms the Hub knows."""
    if isinstance(listed, str) or (isinstance(listed, list) and all(isinstance(item, str) for item in listed)):
        listed = [{"split": "train", "path": listed}]
    splits = {}
    for entry in listed:
        paths = [entry["path"]] if isinstance(entry["path"], str) else list(entry["path"])
        for path in paths:
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                raise ValueError(f"{path!r} lies outside the data set")
        splits[str(entry["split"])] = paths
    return splits


def _content(value: Any) -> Any:
    """A dumped record with every picture replaced by its hash."""
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, Mapping):
        named = {"path"} if "bytes" in value else set()
        return {key: _content(item) for key, item in value.items() if key not in named}
    if isinstance(value, list):
        return [_content(item) for item in value]
    return value


def _chain(first: Question, rest: Iterator[Question]) -> Iterator[Question]:
    yield first
    yield from rest


def _line(error: object) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:199] + "…"
