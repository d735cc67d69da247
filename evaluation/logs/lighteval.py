"""The logs of lighteval for any task that generates: `details_*.parquet`, with `--save-details`.

Contract: each answer to a document is a trial; a document is known by its place in the log, for lighteval names none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.imports.lighteval import DETAILS, entries_of, logs_of, model_of
from livek12.evaluation.imports.lines import BAD_ENTRY
from livek12.evaluation.logs import Fields, LogEntry
from livek12.evaluation.logs.lines import numbers

FIELDS: Final = Fields(
    question=("doc.specific.question", "doc.query"), gold=("gold",), type=("doc.specific.question_type",)
)


def entries(path: Path) -> Iterator[LogEntry]:
    """The entries of a log.

    Raises:
        UserError: there is no such log, or it is damaged.
    """
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
    """The right ones of its choices, which for an open question are the reference answers."""
    choices, index = doc.get("choices") or [], doc.get("gold_index")
    places = [index] if isinstance(index, int) else index or []
    return [str(choices[place]) for place in places if isinstance(place, int) and 0 <= place < len(choices)]
