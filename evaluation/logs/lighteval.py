"""lighteval's logs: `details_*.parquet`, with `--save-details --output-dir OUT`.

Contract: each answer to a document is a trial; a document of ours names task and question in `doc.specific`. lighteval
logs no finish reason, and pads the logged tokens to the longest answer of a batch: they are not counted, but their last
one tells an ended answer from a cut one. Two logs of one task of ours are refused.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.logs import Fields, LogEntry
from livek12.evaluation.logs.lines import BAD_ENTRY, numbers

FIELDS: Final = Fields(
    question=("doc.specific.question", "doc.query"), gold=("gold",), type=("doc.specific.question_type",)
)


def entries(path: Path) -> Iterator[LogEntry]:
    """Entries of a log."""
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give {DETAILS}*.parquet, or the folder of it")
    for file in logs_of(path):
        model = model_of(file).get("model", "")
        for number, raw in enumerate(entries_of(file), 1):
            place, doc = f"{file}: entry {number}", raw.get("doc")
            texts = (raw.get("model_response") or {}).get("text")
            texts = [texts] if isinstance(texts, str) else texts
            if not isinstance(doc, dict) or not isinstance(texts, list) or not texts:
                warn(f"{place}: is no entry with answers; passed over", kind=BAD_ENTRY)
                continue
            thoughts = (raw["model_response"].get("reasonings") or [])[: len(texts)]
            yield LogEntry(
                place=place,
                task=str(doc.get("task_name") or file.stem.removeprefix(DETAILS)),
                id=str(doc.get("id") or number - 1),
                raw={**raw, "gold": _gold(doc)},
                answers=tuple(_answers(texts, thoughts)),
                scores=numbers(raw.get("metric")),
                model=model,
            )


def _answers(texts: list[Any], thoughts: list[Any]) -> Iterator[dict[str, Any]]:
    for text, thought in zip_longest(texts, thoughts):
        yield {"response": text, **({"reasoning": thought} if thought else {})} if isinstance(text, str) else {}


def _gold(doc: Mapping[str, Any]) -> list[str]:
    choices, index = doc.get("choices") or [], doc.get("gold_index")
    places = [index] if isinstance(index, int) else index or []
    return [str(choices[place]) for place in places if isinstance(place, int) and 0 <= place < len(choices)]


_log = logging.getLogger(__name__)
DETAILS = "details_"
COLUMNS = ("doc.specific", *(f"model_response.{name}" for name in ("text", "reasonings", "output_tokens")))
BATCH_ROWS = 64


def rows(path: Path, tasks: Collection[str]) -> Iterator[dict[str, Any]]:
    """Responses to the wanted tasks."""
    logs: dict[str, Path] = {}
    for log in logs_of(path):
        model = model_of(log)
        for number, entry in enumerate(entries_of(log, COLUMNS), 1):
            ours = _answers_of_ours(entry, f"{log}: entry {number}")
            if ours is None or ours[0] not in tasks:
                continue
            task, question, answers = ours
            if logs.setdefault(task, log) != log:
                raise UserError(f"{path} has two logs of task {task}: {logs[task]} and {log}; give one of the two")
            for trial, answer in enumerate(answers):
                yield {"task": task, "question_id": question, "trial": trial, **answer, **model}
    if not logs:
        raise UserError(f"{path}: no answers to {', '.join(sorted(tasks))}; was lighteval called with --save-details?")


def logs_of(path: Path) -> list[Path]:
    """Logs: the file itself, or all below a folder."""
    if path.is_file():
        return [path]
    logs = sorted(file for file in path.rglob(f"{DETAILS}*.parquet") if file.is_file())
    if not logs:
        raise UserError(f"{path} holds no {DETAILS}*.parquet; call lighteval with --save-details --output-dir")
    return logs


def entries_of(log: Path, columns: Collection[str] | None = None) -> Iterator[Mapping[str, Any]]:
    """Entries of a log, one at a time; `columns` None for all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(log) as parquet:
            for batch in parquet.iter_batches(BATCH_ROWS, columns=None if columns is None else list(columns)):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{log}: damaged or not Parquet ({' '.join(str(error).split())[:200]})") from None


def _answers_of_ours(entry: Mapping[str, Any], place: str) -> tuple[str, str, list[dict[str, Any]]] | None:
    """None, with a warning, if the entry is none of ours."""
    try:
        about, output = entry["doc"]["specific"], entry["model_response"]
        task, question, texts = about["task"], about["question_id"], output["text"]
        # Its vision models log one text, the others a list.
        texts = [texts] if isinstance(texts, str) else [text or "" for text in texts]
        if not (isinstance(task, str) and isinstance(question, str) and texts):
            raise TypeError
    except (KeyError, TypeError):
        _log.warning("%s is no answer to a livek12 task, passed over", place)
        return None
    thoughts, tokens = (output.get("reasonings") or [])[: len(texts)], tokens_of(output)[: len(texts)]
    answers = [
        {
            "response": text,
            **({"reasoning": thought} if thought else {}),
            **({"last_token": of_text[-1]} if of_text else {}),
        }
        for text, thought, of_text in zip_longest(texts, thoughts, tokens)
    ]
    return task, question, answers


def tokens_of(output: Mapping[str, Any]) -> list[list[int]]:
    """Each answer's tokens; vision models log those of one, the others a list."""
    tokens = output.get("output_tokens") or []
    return [tokens] if tokens and isinstance(tokens[0], int) else tokens


def model_of(log: Path) -> dict[str, str]:
    """Model's name: the folders between `details` and the date."""
    folders = log.resolve().parts[:-2]
    if "details" not in folders:
        return {}
    last = len(folders) - 1 - folders[::-1].index("details")
    return {"model": "/".join(folders[last + 1 :])} if folders[last + 1 :] else {}
