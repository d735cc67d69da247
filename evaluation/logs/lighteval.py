"""lighteval's logs: `details_*.parquet`, with `--save-details --output-dir OUT`.

Contract: each answer to a document is a trial. No finish reason is logged; tokens are padded to the longest answer of a
batch: the last one tells whether it was cut. Two logs of one task of ours are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.lazy import pa, pq
from livek12.core.progress import warn
from livek12.evaluation.logs import BAD_ENTRY, Fields, LogEntry, numbers

FIELDS: Final = Fields(
    question=("doc.specific.question", "doc.query"), gold=("gold",), type=("doc.specific.question_type",)
)


def entries(path: Path, tasks: Collection[str] = ()) -> Iterator[LogEntry]:
    """Entries of a log."""
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give {DETAILS}*.parquet, or the folder of it")
    logs: dict[str, Path] = {}
    for file in _logs_of(path):
        for number, raw in enumerate(_entries_of(file, COLUMNS if tasks else None), 1):
            doc, output = (
                value if isinstance(value, dict) else {} for value in map(raw.get, ("doc", "model_response"))
            )
            place, texts = f"{file}: entry {number}", output.get("text")
            texts = [texts] if isinstance(texts, str) else texts  # as its vision models log it
            task, id = _name(doc, bool(tasks), file.stem.removeprefix(DETAILS), number - 1)
            if not task or not isinstance(texts, list) or not texts:
                warn(f"{place}: is no entry with answers; passed over", kind=BAD_ENTRY)
                continue
            if tasks and task not in tasks:
                continue
            if tasks and logs.setdefault(task, file) != file:
                raise UserError(f"{path} has two logs of task {task}: {logs[task]} and {file}; give one of the two")
            yield LogEntry(
                place=place,
                task=task,
                id=id,
                raw={**raw, "gold": _gold(doc)},
                answers=tuple(_answers(texts, output)),
                scores=numbers(raw.get("metric")),
                model=model_of(file),
            )


def _name(doc: Mapping[str, Any], ours: bool, task: str, number: int) -> tuple[str, str]:
    if not ours:
        return str(doc.get("task_name") or task) if doc else "", str(doc.get("id") or number)
    about = doc.get("specific")
    name, question = (about.get("task"), about.get("question_id")) if isinstance(about, dict) else (None, None)
    return (name, question) if isinstance(name, str) and isinstance(question, str) else ("", "")


def _answers(texts: list[Any], output: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    thoughts, tokens = (output.get("reasonings") or [])[: len(texts)], tokens_of(output)[: len(texts)]
    for text, thought, numbers_of_text in zip_longest(texts, thoughts, tokens):
        more = {"reasoning": thought} if thought else {}
        more |= {"last_token": numbers_of_text[-1]} if numbers_of_text else {}
        yield {"response": text, **more} if isinstance(text, str) else {}


def _gold(doc: Mapping[str, Any]) -> list[str]:
    choices, index = doc.get("choices") or [], doc.get("gold_index")
    places = [index] if isinstance(index, int) else index or []
    return [str(choices[place]) for place in places if isinstance(place, int) and 0 <= place < len(choices)]


ABSENT: Final = "no answers to {}; was lighteval called with --save-details?"
DETAILS = "details_"
COLUMNS = ("doc.specific", *(f"model_response.{name}" for name in ("text", "reasonings", "output_tokens")))
BATCH_ROWS = 64


def _logs_of(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    logs = sorted(file for file in path.rglob(f"{DETAILS}*.parquet") if file.is_file())
    if not logs:
        raise UserError(f"{path} holds no {DETAILS}*.parquet; call lighteval with --save-details --output-dir")
    return logs


def _entries_of(log: Path, columns: Collection[str] | None = None) -> Iterator[Mapping[str, Any]]:
    try:
        with pq.ParquetFile(log) as parquet:
            for batch in parquet.iter_batches(BATCH_ROWS, columns=None if columns is None else list(columns)):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise UserError(f"{log}: damaged or not Parquet ({' '.join(str(error).split())[:200]})") from None


def tokens_of(output: Mapping[str, Any]) -> list[list[int]]:
    """Each answer's tokens; vision models log those of one, the others a list."""
    tokens = output.get("output_tokens") or []
    return [tokens] if tokens and isinstance(tokens[0], int) else tokens


def model_of(log: Path) -> str:
    """Model's name: the folders between `details` and the date."""
    folders = log.resolve().parts[:-2]
    if "details" not in folders:
        return ""
    last = len(folders) - 1 - folders[::-1].index("details")
    return "/".join(folders[last + 1 :])
