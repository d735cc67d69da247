"""The logs of EvalScope for any benchmark: `reviews/MODEL/BENCHMARK_SUBSET.jsonl` below a work folder.

Contract: a review holds the conversation, the accepted targets and the marks of one sample; its answer is what the
model said last, with the thinking and the counts beside it. Generations of one sample are trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.logs import Fields, LogEntry
from livek12.evaluation.logs.lines import BAD_ENTRY, log_files, numbers, objects
from livek12.evaluation.logs.paths import MISSING, at

FIELDS: Final = Fields(
    question=("question",),
    gold=("target",),
    type=("sample_score.sample_metadata.question_type",),
    options=("sample_score.sample_metadata.choices",),
)
FOLDER: Final = "reviews"
COUNTS: Final = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "seconds": "latency"}


def entries(path: Path) -> Iterator[LogEntry]:
    """The reviews of a work folder of EvalScope, or of one file.

    Raises:
        UserError: there is none.
    """
    for file in log_files(path, (f"{FOLDER}/*/*.jsonl",), f"a work folder of EvalScope, or a file of its {FOLDER}/"):
        if file.parent.name == "predictions" or file.parent.parent.name == "predictions":
            raise UserError(f"{file}: holds predictions without targets; give the file of that name in {FOLDER}/")
        model = file.parent.name
        for place, raw in objects(file):
            score, turns = raw.get("sample_score"), raw.get("messages")
            if not isinstance(score, dict) or not isinstance(turns, list):
                warn(f"{place}: is no review of EvalScope; passed over", kind=BAD_ENTRY)
                continue
            turns = [turn for turn in turns if isinstance(turn, dict)]
            trial, group = score.get("generation_index"), score.get("group_id")
            yield LogEntry(
                place=place,
                task=file.stem,
                id=str(raw.get("index") if group is None else group),
                raw={**raw, "question": [turn for turn in turns if turn.get("role") != "assistant"]},
                answers=tuple(_answers(turns, score)),
                trial=trial if isinstance(trial, int) and not isinstance(trial, bool) and trial >= 0 else 0,
                scores=_scores(score),
                model=model,
            )


def _answers(turns: list[dict[str, Any]], score: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The last thing that the model said; the prediction, where the conversation is not kept."""
    said = [turn for turn in turns if turn.get("role") == "assistant"]
    content = said[-1].get("content") if said else at(score, "score.prediction")
    counts = {ours: at(said[-1], f"perf_metrics.{theirs}") for ours, theirs in COUNTS.items()} if said else {}
    known = {name: value for name, value in counts.items() if value is not MISSING and value is not None}
    if isinstance(content, str):
        yield {"response": content, **known}
    elif isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        texts = [str(part.get("text") or "") for part in parts if part.get("type") == "text"]
        thoughts = [str(part.get("reasoning") or "") for part in parts if part.get("type") == "reasoning"]
        yield {"response": "".join(texts), **known, **({"reasoning": "\n".join(thoughts)} if any(thoughts) else {})}


def _scores(score: Mapping[str, Any]) -> dict[str, float]:
    found = at(score, "score.value")
    return {} if found is MISSING else numbers(found)
