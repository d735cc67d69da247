"""Built datasets: reading questions, page images and selection facts, and their fingerprint.

Contract: a dataset is a folder with a card (README.md whose YAML names configs, splits and Parquet files), or
ORG/NAME[@REVISION] on the Hub, of which one commit and only the wanted configs are fetched. Rows are streamed with the
image bytes as stored. Columns that an older dataset lacks count as empty.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from itertools import chain, compress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.exams import EXAMS, Exam, read_built
from livek12.core.features import from_row, is_flat
from livek12.core.files import pointer_note_of
from livek12.core.lazy import pa, pq, yaml
from livek12.core.records import BenchmarkName, Image, Language, Page, Question, Record, canonical_json
from livek12.core.text import one_line


class Facts(NamedTuple):
    """Fields of a `Question` for selections; of `images` and `knowledge_points` only the length."""

    benchmark: str | None
    language: str | None
    release: str | None
    subject: str | None
    question_type: str | None
    difficulty: str | None
    removed_in: str | None
    subsets: tuple[str, ...]
    images: Sized
    knowledge_points: Sized


_WORDS = ("benchmark", "language", "release", "subject", "question_type", "difficulty", "removed_in")


def facts_of(parquet: pq.ParquetFile, group: int) -> list[Facts]:
    """Facts of the questions of one row group, in order."""
    table = parquet.read_row_group(group, columns=_leaves(parquet))
    rows = table.num_rows
    words = [_values(table, name, rows) for name in _WORDS]
    subsets = [tuple(value or ()) for value in _values(table, "subsets", rows)]
    images, points = (
        [range(len(value or ())) for value in _values(table, name, rows)] for name in ("images", "knowledge_points")
    )
    return [Facts(*row) for row in zip(*words, subsets, images, points, strict=True)]


def _values(table: pa.Table, name: str, rows: int) -> list[Any]:
    return table.column(name).to_pylist() if name in table.column_names else [None] * rows


def _leaves(parquet: pq.ParquetFile) -> list[str]:
    """Pictures' names, where they have names, not their bytes."""
    paths = [parquet.schema.column(index).path for index in range(len(parquet.schema))]
    wanted = {*_WORDS, "subsets", "knowledge_points"}
    leaves = [path for path in paths if path.split(".")[0] in wanted]
    pictures = [path for path in paths if path.split(".")[0] == "images"]
    return leaves + ([path for path in pictures if path.endswith(".path")] or pictures)


Pages = Mapping[tuple[str, int], Any]
"""Page images by paper and page number (from 1)."""
Q = TypeVar("Q", Question, Mapping[str, Any])


def join_pages(questions: Iterable[Q], pages: Pages | Iterable[Any]) -> Iterator[tuple[Q, list[Any]]]:
    """Each question with the images of its pages, in page order.

    Takes records, or rows of `datasets`; `pages` also as a dict of splits.
    """
    images = page_index(pages)
    for question in questions:
        yield question, pages_of(question, images)


def pages_of(question: Question | Mapping[str, Any], pages: Pages) -> list[Any]:
    """Images of a question's pages, in page order; UserError if a page is missing."""
    id, paper, numbers = (_field(question, name) for name in ("id", "paper_id", "page_numbers"))
    if not paper or not numbers:
        raise UserError(f"question {id} names no paper or pages; it cannot be asked from page images")
    for number in numbers:
        if (paper, number) not in pages:
            raise UserError(f"question {id}: page {number} of paper {paper} is missing")
    return [pages[paper, number] for number in sorted(numbers)]


def paper_order(question: Question) -> tuple[Any, ...]:
    """Sort key by paper, then number (2, 10, 10a); questions without either come last."""
    return (_natural(question.paper_id), _natural(question.number))


def _natural(name: str | None) -> tuple[bool, list[tuple[int, int, str]]]:
    pieces = re.findall(r"([0-9]{1,18})|([^0-9]+)", name or "")
    return not name, [(0, int(digits), "") if digits else (1, 0, text) for digits, text in pieces]


def page_index(pages: Pages | Iterable[Any]) -> Pages:
    """Page images by paper and page number."""
    if isinstance(pages, Mapping):
        if all(isinstance(key, tuple) for key in pages):
            return pages
        pages = chain.from_iterable(pages.values())
    return {(_field(page, "paper_id"), _field(page, "page_number")): _field(page, "image") for page in pages}


def _field(row: Any, name: str) -> Any:
    return row[name] if isinstance(row, Mapping) else getattr(row, name)


CARD = "README.md"
PAGES_CONFIG = "pages"
BATCH_ROWS = 32
Configs = dict[str, dict[str, list[str]]]
"""Config → split → patterns of its files, relative to the data set."""
Wanted = Callable[[Facts], bool]
R = TypeVar("R", bound=Record)
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*(@[\w./-]+)?")


class NoConfig(UserError):
    """Dataset has none of the requested configs."""


_lent: dict[str, _Lent] = {}


def lend(questions: Iterable[Question]) -> str:
    """Makes questions a dataset of this process, without pages."""
    kept = list(questions)
    name = f"python:{fingerprint(kept)[:16]}"
    _lent[name] = _Lent(kept)
    return name


def _open(data: str | Path) -> _Opened | _Lent:
    return _lent.get(str(data)) or _Opened(data)


def load_questions(
    data: str | Path,
    configs: Sequence[str],
    benchmark: BenchmarkName,
    language: Language | None = None,
    releases: Collection[str] | None = None,
    wanted: Wanted | None = None,
) -> list[Question]:
    """Questions of the first of `configs` that the dataset has with this benchmark.

    Args:
        data: a folder of `livek12 build`, or ORG/NAME[@REVISION] on the Hub.
        configs: best first; merged datasets prefix them with the benchmark. `A+B` concatenates two.
        wanted: filter by `Facts`; other questions are not read any further.
    """

    def takes(facts: Facts) -> bool:
        right = language in (None, facts.language) and (releases is None or facts.release in releases)
        return right and (wanted is None or wanted(facts))

    return list(iter_questions(data, configs, benchmark, takes))


def iter_questions(
    data: str | Path, configs: Sequence[str], benchmark: BenchmarkName, wanted: Wanted | None = None
) -> Iterator[Question]:
    """Streams the questions of `load_questions`."""
    opened = _open(data)
    yield from opened.records(Question, opened.config_of(configs, benchmark), wanted)


def iter_facts(data: str | Path, configs: Sequence[str], benchmark: BenchmarkName) -> Iterator[Facts]:
    """Facts of the questions of `iter_questions`, from their columns alone."""
    opened = _open(data)
    yield from opened.facts(opened.config_of(configs, benchmark))


def load_pages(data: str | Path, keys: Collection[tuple[str, int]] | None = None) -> dict[tuple[str, int], Image]:
    """Page images by paper and page number; none if the dataset has no pages."""
    opened = _open(data)
    if PAGES_CONFIG not in opened.configs:
        return {}
    pages = opened.records(Page, PAGES_CONFIG)
    images = (((page.paper_id, page.page_number), page.image) for page in pages)
    return {key: image for key, image in images if keys is None or key in keys}


def load_exams(data: str | Path) -> list[Exam]:
    """Exams of a dataset."""
    return _Opened(data).exams()


def with_answers(questions: Iterable[Question], held: Iterable[Question]) -> list[Question]:
    """Questions, with missing answers from the rows of the same id in `held`.

    UserError if a row is another question than that of its id.
    """
    rows = {question.id: question for question in held}
    filled = []
    for question in questions:
        row = rows.get(question.id)
        if row is not None and not _is_same(question, row):
            raise UserError(
                f"question {question.id}: the held answer is of another text; give the answers of this data set"
            )
        has_key = bool(question.answer or any(variable.value for variable in question.variables))
        filled.append(question if row is None or has_key else _answered(question, row))
    return filled


def fingerprint(questions: Iterable[Question], pages: Iterable[Image] = ()) -> str:
    """SHA-256 of the content of questions and pages in any order.

    Pictures count by their bytes; empty fields and the boxes of questions on pages do not.
    """
    dumped = (question.model_dump(exclude_defaults=True, exclude={"boxes"}) for question in questions)
    digests = [hashlib.sha256(canonical_json(_content(fields)).encode()) for fields in dumped]
    parts = [*(digest.hexdigest() for digest in digests), *(f"page {image.sha256}" for image in pages)]
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def read_card(folder: Path) -> Configs:
    """Configs in a dataset's card; UserError for files outside the folder."""
    card = folder / CARD
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "no such folder"
        raise UserError(f"{folder}: {what}; build a data set with `livek12 build`")
    if not card.is_file():
        raise UserError(f"{folder} has no {CARD}: not a data set; build one with `livek12 build`")
    return configs_of(card.read_text(encoding="utf-8", errors="replace"), str(card))


def configs_of(text: str, where: str) -> Configs:
    """Configs of questions and pages in the text of a card."""
    front = re.match(r"---\s*\n(.*?)\n---\s*(?:\n|$)", text, re.DOTALL)
    try:
        listed = yaml.load(front[1] if front else "", getattr(yaml, "CSafeLoader", yaml.SafeLoader))["configs"]
        named = {str(entry["config_name"]): _splits(entry["data_files"]) for entry in listed}
        return {config: splits for config, splits in named.items() if not is_flat(config)}
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{where}: its YAML names no readable configs ({one_line(error, 200)}); build the data set again"
        ) from None


def open_card(data: str | Path) -> tuple[str, Configs]:
    """Stable address of a dataset (ORG/NAME@COMMIT, or an absolute path), and the configs in its card."""
    opened = _Opened(data)
    return opened.place, opened.configs


def data_files(folder: Path, patterns: Iterable[str], *, missing_ok: bool = False) -> list[Path]:
    """Files of a split by pattern and name; each pattern must match unless `missing_ok`."""
    matches = []
    for pattern in patterns:
        files = sorted(folder.glob(pattern))
        if not files and not missing_ok:
            raise UserError(f"{folder}: no file matches {pattern}, which its card names; build or fetch it again")
        matches += files
    return matches


def parts_of(config: str) -> list[str]:
    """Configs in a task's config name (`A+B`)."""
    return config.split("+")


def is_on_hub(data: str | Path) -> bool:
    """True for a dataset on the Hub."""
    return not Path(data).exists() and bool(_HUB_NAME.fullmatch(str(data)))


class _Lent:
    """Questions of this process, by benchmark instead of config."""

    configs: Configs = {}

    def __init__(self, questions: list[Question]) -> None:
        self._questions = questions

    def config_of(self, configs: Sequence[str], benchmark: BenchmarkName) -> str:
        return benchmark

    def records(self, record: type[R], config: str, wanted: Wanted | None = None) -> Iterator[R]:
        own = (question for question in self._questions if question.benchmark == config)
        yield from (each for each in own if isinstance(each, record) and (wanted is None or wanted(_facts(each))))

    def facts(self, config: str) -> Iterator[Facts]:
        yield from (_facts(question) for question in self._questions if question.benchmark == config)


def _facts(question: Question) -> Facts:
    fields = {name: getattr(question, name) for name in Facts._fields}
    return Facts(**fields | {"subsets": tuple(question.subsets)})


class _Opened:
    """Files come from the folder, or on demand from the Hub."""

    def __init__(self, data: str | Path) -> None:
        self._data = data
        self._on_hub = is_on_hub(data)
        name, _, revision = str(data).partition("@")
        self._name, self._revision = name, revision or None
        self._fetched: set[str] = set()
        self._folder = self._fetch([CARD]) if self._on_hub else Path(data)
        self.configs = read_card(self._folder)

    @property
    def place(self) -> str:
        return f"{self._name}@{self._revision}" if self._on_hub else str(self._folder.resolve())

    def config_of(self, configs: Sequence[str], benchmark: BenchmarkName) -> str:
        """First of `configs` that holds this benchmark in each of its parts."""
        for config in configs:
            if all(self._holds(part, benchmark) for part in parts_of(config)):
                return config
        raise NoConfig(
            f"{self._data} has no {benchmark} config {' or '.join(configs)}; it has: "
            f"{', '.join(self.configs) or 'none'}; `livek12 build` makes data sets"
        )

    def _holds(self, part: str, benchmark: BenchmarkName) -> bool:
        first = next(self.facts(part), None) if part in self.configs else None
        return first is not None and first.benchmark == benchmark

    def records(self, record: type[R], config: str, wanted: Wanted | None = None) -> Iterator[R]:
        for file in self._files(config):
            yield from read_records(record, file, wanted)

    def exams(self) -> list[Exam]:
        if self._on_hub:
            self._folder = self._fetch([EXAMS])
        return read_built(self._folder / EXAMS)

    def facts(self, config: str) -> Iterator[Facts]:
        for file in self._files(config):
            with _parquet(file) as parquet:
                for group in range(parquet.num_row_groups):
                    yield from facts_of(parquet, group)

    def _files(self, config: str) -> Iterator[Path]:
        for part in parts_of(config):
            yield from self._part_files(part)

    def _part_files(self, config: str) -> Iterator[Path]:
        splits = self.configs[config]
        if self._on_hub and config not in self._fetched:
            self._folder = self._fetch([pattern for patterns in splits.values() for pattern in patterns])
            self._fetched.add(config)
        for patterns in splits.values():
            yield from data_files(self._folder, patterns)

    def _fetch(self, patterns: list[str]) -> Path:
        from livek12.core.hub import NotFetched, fetch

        try:
            folder = fetch(self._name, self._revision, patterns)
        except NotFetched as error:
            raise UserError(f"{self._data}: no such folder, and it cannot be fetched from the Hub ({error})") from None
        self._revision = folder.name  # a snapshot is named by its commit: later files come from the same one
        return folder


def read_records(record: type[R], file: Path, wanted: Wanted | None = None) -> Iterator[R]:
    """Records of one Parquet file; of questions, only the wanted ones."""
    for number, row in _read_rows(record, file, wanted):
        try:
            yield from_row(record, row)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise UserError(f"{file}: row {number} ({row.get('id')}): {place}: {one_line(first['msg'], 200)}") from None


def _read_rows(record: type[Record], file: Path, wanted: Wanted | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows with their numbers (from 1), only the columns of the record."""
    with _parquet(file) as parquet:
        columns, end = [name for name in record.model_fields if name in parquet.schema_arrow.names], 0
        for group in range(parquet.num_row_groups):
            begin, end = end, end + parquet.metadata.row_group(group).num_rows
            keep = [True] * (end - begin) if wanted is None else [wanted(row) for row in facts_of(parquet, group)]
            numbers = compress(range(begin + 1, end + 1), keep)
            for batch in parquet.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns) if any(keep) else ():
                here, keep = keep[: batch.num_rows], keep[batch.num_rows :]
                for row in _filtered(batch, here).to_pylist():
                    yield next(numbers), row


def _filtered(batch: pa.RecordBatch, keep: list[bool]) -> pa.RecordBatch:
    """Packs the mask, since `pyarrow.array` imports pandas."""
    bits = sum(bit << place for place, bit in enumerate(keep)).to_bytes((len(keep) + 7) // 8, "little")
    return batch.filter(pa.BooleanArray.from_buffers(pa.bool_(), len(keep), [None, pa.py_buffer(bits)]))


@contextmanager
def _parquet(file: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(file) as parquet:
            yield parquet
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise UserError(unread_parquet(file, error)) from None


def unread_parquet(file: Path, error: Exception) -> str:
    """Error for an unreadable Parquet file, with its remedy."""
    if note := pointer_note_of(file):
        return f"{file}: is {note}"
    return f"{file}: damaged or not Parquet ({one_line(error, 200)}); build or fetch it again"


def iter_batches(parquet: pq.ParquetFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches by row group, since pyarrow would otherwise keep all until the last."""
    for group in range(parquet.num_row_groups):
        yield from parquet.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns)


def _splits(listed: Any) -> dict[str, list[str]]:
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
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, Mapping):
        named = {"path"} if "bytes" in value else set()
        return {key: _content(item) for key, item in value.items() if key not in named}
    if isinstance(value, list):
        return [_content(item) for item in value]
    return value


def _is_same(question: Question, row: Question) -> bool:
    """Options of one may stand in the text of the other."""
    apart = bool(question.options) and not row.options and row.question.startswith(question.question)
    return row.benchmark == question.benchmark and (apart or row.question == question.question)


def _answered(question: Question, row: Question) -> Question:
    names = (
        "answer",
        "answer_images",
        "solution",
        "solution_images",
        "variables",
        "reasoning_flow",
        "scheme",
        "part_units",
    )
    settled = ("question", "options", "question_type", "question_type_raw")  # the key may have had a part in these
    return question.model_copy(update={name: getattr(row, name) for name in (*names, *settled)})
