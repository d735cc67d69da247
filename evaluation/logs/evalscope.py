"""EvalScope's logs: `reviews/MODEL/BENCHMARK_SUBSET.jsonl` below a work folder.

Contract: generations of one sample are trials. EvalScope logs neither an answer's ending nor its limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.logs import BAD_ENTRY, Fields, LogEntry, at, log_files, numbers, objects
from livek12.tasks.plugins.evalscope import SUBSET
from livek12.tasks.plugins.harness_task import harness_name

FIELDS: Final = Fields(
    question=("question",),
    gold=("target",),
    type=("sample_score.sample_metadata.question_type",),
    options=("sample_score.sample_metadata.choices",),
)


ABSENT: Final = "no reviews of {}; give the work folder of `evalscope eval`"
FOLDER: Final = "reviews"
COUNTS: Final = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "seconds": "latency"}


def entries(path: Path, tasks: Collection[str] = ()) -> Iterator[LogEntry]:
    """Reviews of a work folder, or of one file."""
    ours = {f"{harness_name(task)}_{SUBSET}": task for task in tasks}
    for file in log_files(path, (f"{FOLDER}/*/*.jsonl",), f"a work folder of EvalScope, or a file of its {FOLDER}/"):
        if file.parent.name == "predictions" or file.parent.parent.name == "predictions":
            raise UserError(f"{file}: holds predictions without targets; give the file of that name in {FOLDER}/")
        for place, raw in objects(file) if not tasks or file.stem in ours else ():
            score, turns = raw.get("sample_score"), raw.get("messages")
            if not isinstance(score, dict) or not isinstance(turns, list):
                warn(f"{place}: is no review of EvalScope; passed over", kind=BAD_ENTRY)
                continue
            turns = [turn for turn in turns if isinstance(turn, dict)]
            group, number = score.get("group_id"), score.get("generation_index")
            id, answer = raw.get("index") if group is None else group, _answer(turns, score)
            if tasks and not isinstance(id := at(score, "sample_metadata.id"), str):
                warn(f"{place}: no answer to a question of livek12; passed over", kind=BAD_ENTRY)
                continue
            yield LogEntry(
                place=place,
                task=ours.get(file.stem, file.stem),
                id=str(id),
                raw={**raw, "question": [turn for turn in turns if turn.get("role") != "assistant"]},
                answers=() if answer is None else (answer,),
                trial=number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else 0,
                scores=numbers(at(score, "score.value")),
                model=file.parent.name,
            )


def _answer(turns: list[dict[str, Any]], marks: dict[str, Any]) -> dict[str, Any] | None:
    own = [turn for turn in turns if turn.get("role") == "assistant"]
    score = marks.get("score")
    content = own[-1].get("content") if own else score.get("prediction") if isinstance(score, dict) else None
    counts = own[-1].get("perf_metrics") if own else None
    values = {ours: counts.get(theirs) for ours, theirs in COUNTS.items()} if isinstance(counts, dict) else {}
    stated = {name: value for name, value in values.items() if value is not None}
    if isinstance(content, str):
        return {"response": content, **stated}
    if not isinstance(content, list):
        return None
    parts = [part for part in content if isinstance(part, dict)]
    texts = [str(part.get("text") or "") for part in parts if part.get("type") == "text"]
    thoughts = [str(part.get("reasoning") or "") for part in parts if part.get("type") == "reasoning"]
    thinking = {"reasoning": "\n".join(thoughts)} if any(thoughts) else {}
    return {"response": "".join(texts), **stated, **thinking}
