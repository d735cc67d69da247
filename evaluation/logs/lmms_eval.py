"""The logs of lmms-eval for any task that generates: `DATE_samples_TASK.jsonl`, with `--log_samples`.

Contract: each repeat is a trial; a text that lmms-eval put in place of an answer is none. Its logs hold the prompt and
the target, not the row of the data set, nor pictures: what an answer says of a picture is judged by its key alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from livek12.core.progress import warn
from livek12.evaluation.imports.lines import BAD_ENTRY, log_files, objects, results_of
from livek12.evaluation.imports.lmms_eval import RESULTS, SAMPLES, config_of, counts_of, limit_of, model_of
from livek12.evaluation.logs import Fields, LogEntry
from livek12.evaluation.logs.lines import numbers
from livek12.tasks.plugins.lmms_eval import GAVE_UP

FIELDS: Final = Fields(question=("input",), gold=("target",))
_KNOWN: Final = frozenset(
    "doc_id doc target arguments resps filtered_resps token_counts doc_hash input input_media prompt_hash".split()
)
_LIST: Final = re.compile(r"\[\s*(?:(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\s*,?\s*){1,100}\]")
"""How it writes a list of texts: as Python does."""


def entries(path: Path) -> Iterator[LogEntry]:
    """The samples of a log.

    Raises:
        UserError: there is no such log.
    """
    for file in log_files(path, (f"*{SAMPLES}*.jsonl",), "what lmms-eval writes with --log_samples"):
        date, _, task = file.stem.partition(SAMPLES)
        results = results_of(file.with_name(f"{date}{RESULTS}"))
        model = model_of(results).get("model", "")
        limit = limit_of(results, task)
        batched = str(config_of(results).get("batch_size", 1)) != "1"
        for place, raw in objects(file):
            texts = raw.get("resps", raw.get("filtered_resps"))
            texts = [texts] if isinstance(texts, str) else texts
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts) or "doc_id" not in raw:
                warn(f"{place}: is no sample of lmms-eval with answers; passed over", kind=BAD_ENTRY)
                continue
            yield LogEntry(
                place=place,
                task=task or file.stem,
                id=str(raw["doc_id"]),
                raw={**raw, "target": _target(raw.get("target"))},
                answers=tuple(_answers(raw, texts, limit, batched)),
                scores=_scores(raw),
                model=model,
            )


def _answers(
    raw: dict[str, Any], texts: list[str], limit: Mapping[str, int], batched: bool
) -> Iterator[dict[str, Any]]:
    for trial, text in enumerate(texts):
        if text.startswith(GAVE_UP):
            yield {}
        else:
            yield {"response": text, **limit, **(counts_of(raw, text, batched) if trial == 0 else {})}


def _scores(raw: Mapping[str, Any]) -> dict[str, float]:
    """What is beside the fields that every line has; of a mark with parts, those that are numbers."""
    found = numbers(raw, but=_KNOWN)
    for name, value in raw.items():
        if name not in _KNOWN and isinstance(value, dict):
            found |= {f"{name}.{part}": mark for part, mark in numbers(value).items()}
    return found


def _target(said: Any) -> Any:
    """A target; several of them where it is a list of texts that was printed."""
    if isinstance(said, str) and len(said) < 10_000 and _LIST.fullmatch(said):
        try:
            return list(ast.literal_eval(said))
        except (ValueError, SyntaxError):
            return said
    return said
