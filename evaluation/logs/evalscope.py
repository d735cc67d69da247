"""EvalScope's logs: `reviews/MODEL/BENCHMARK_SUBSET.jsonl` below a work folder.

Contract: a review holds the conversation, the accepted targets and the marks of one sample. Generations of one sample
are trials. A sample of ours names its question in its metadata. EvalScope logs neither an answer's ending nor its
limit. Two different reviews of one question are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.logs import Fields, LogEntry
from livek12.evaluation.logs.lines import BAD_ENTRY, log_files, numbers, objects
from livek12.evaluation.logs.paths import at
from livek12.tasks.plugins.evalscope import SUBSET
from livek12.tasks.plugins.harness_task import harness_name

FIELDS: Final = Fields(
    question=("question",),
    gold=("target",),
    type=("sample_score.sample_metadata.question_type",),
    options=("sample_score.sample_metadata.choices",),
)


def entries(path: Path) -> Iterator[LogEntry]:
    """Reviews of a work folder, or of one file."""
    for review in reviews(path):
        group, answer = review.score.get("group_id"), review.answer
        yield LogEntry(
            place=review.place,
            task=review.benchmark,
            id=str(review.raw.get("index") if group is None else group),
            raw={**review.raw, "question": [turn for turn in review.turns if turn.get("role") != "assistant"]},
            answers=() if answer is None else (answer,),
            trial=review.trial,
            scores=numbers(at(review.score, "score.value")),
            model=review.model,
        )


FOLDER: Final = "reviews"
COUNTS: Final = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "seconds": "latency"}
Json = dict[str, Any]


@dataclass(frozen=True)
class LoggedReview:
    """One sample in EvalScope's log; `benchmark` with its subset, `raw` the whole line."""

    place: str
    model: str
    benchmark: str
    raw: Json
    turns: list[Json]
    score: Json

    @property
    def trial(self) -> int:
        """Number of the generation, from 0."""
        number = self.score.get("generation_index")
        return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else 0

    @property
    def answer(self) -> Json | None:
        """Model's last turn; the prediction, if the conversation is not kept."""
        own = [turn for turn in self.turns if turn.get("role") == "assistant"]
        score = self.score.get("score")
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


def reviews(path: Path) -> Iterator[LoggedReview]:
    """Reviews of a work folder of EvalScope, or of one file."""
    for file in log_files(path, (f"{FOLDER}/*/*.jsonl",), f"a work folder of EvalScope, or a file of its {FOLDER}/"):
        if file.parent.name == "predictions" or file.parent.parent.name == "predictions":
            raise UserError(f"{file}: holds predictions without targets; give the file of that name in {FOLDER}/")
        for place, raw in objects(file):
            score, turns = raw.get("sample_score"), raw.get("messages")
            if not isinstance(score, dict) or not isinstance(turns, list):
                warn(f"{place}: is no review of EvalScope; passed over", kind=BAD_ENTRY)
                continue
            turns = [turn for turn in turns if isinstance(turn, dict)]
            yield LoggedReview(place, file.parent.name, file.stem, raw, turns, score)


def rows(path: Path, tasks: Collection[str]) -> Iterator[Json]:
    """Responses to the wanted tasks."""
    names = {f"{harness_name(task)}_{SUBSET}": task for task in tasks}
    answers: dict[tuple[str, str, int], tuple[str, Json]] = {}
    for review in reviews(path):
        if review.benchmark not in names:
            continue
        metadata, answer = review.score.get("sample_metadata"), review.answer
        question = metadata.get("id") if isinstance(metadata, dict) else None
        if not isinstance(question, str) or answer is None:
            warn(f"{review.place}: no answer to a question of livek12; passed over", kind=BAD_ENTRY)
            continue
        task = names[review.benchmark]
        row = {"task": task, "question_id": question, "trial": review.trial, "model": review.model, **answer}
        place, first = answers.setdefault((task, question, review.trial), (review.place, row))
        if first is row:
            yield row
        elif first != row:
            raise UserError(f"question {question} of {task} is answered in {place} and {review.place}; give one")
    if not answers:
        raise UserError(f"{path}: no reviews of {', '.join(sorted(tasks))}; give the work folder of `evalscope eval`")
