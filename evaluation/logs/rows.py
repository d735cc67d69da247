"""Log entries as questions with keys, answers and the harness's marks.

Contract: read as a row of `livek12 judge-pairs`, so that both are judged alike. Any listed key is right; in plain JSON
lines a list has one entry a part. A missing key is never guessed: its answers are undecided.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from livek12.core.question_types import kind_of
from livek12.core.records import Failure, Key, Question, Response
from livek12.core.text import clean
from livek12.engines.replay import ending, told_of
from livek12.engines.thinking import Thinking
from livek12.evaluation.logs import Fields, LogEntry
from livek12.evaluation.logs.lines import MISSING, first_at, number, text_of
from livek12.evaluation.pairs import BadPair, read_pair
from livek12.tasks.registry import BENCHMARK

ANY_OF: Final = " ## "
"""Between keys of which any one is right (`judges.grade`)."""
MOST_TRIALS: Final = 10_000
NO_ANSWER: Final = "the log has no answer"
_OF_PAIRS: Final = ("scheme", "part_points", "solution")
"""Fields of `judge-pairs` that plain JSON lines may have."""
_thinking = Thinking()


@dataclass(frozen=True)
class LoggedQuestion:
    """Question from a log, an outcome for each trial, and the harness's own marks by name."""

    question: Question
    outcomes: tuple[Response | Failure, ...]
    scores: Mapping[str, float]
    has_key: bool


def asked(entry: LogEntry, fields: Fields, task: str, model: str, parts: bool) -> LoggedQuestion:
    """Entry as a question with its key and answers; with `parts` a list of keys has one a part."""
    given = _answers(entry, fields)
    options = _options(first_at(entry.raw, fields.options))
    gold = first_at(entry.raw, fields.gold)
    row: dict[str, Any] = {
        "id": entry.id,
        "question": text_of(first_at(entry.raw, fields.question)),
        "question_type": _type(entry.raw, fields.type),
        "gold": "" if gold is MISSING else _gold(gold, options, parts),
        "options": options,
        "response": next((answer["response"] for answer in given if answer), ""),
    }
    row |= {name: entry.raw[name] for name in _OF_PAIRS if parts and entry.raw.get(name)}
    question = _read(row)
    if entry.trial + len(given) > MOST_TRIALS:
        raise BadPair(f"is of a later trial than a run may have ({MOST_TRIALS:,})")
    outcomes = tuple(
        _outcome(Key(task=task, question_id=entry.id, trial=entry.trial + count), answer, model)
        for count, answer in enumerate(given or ({},))
    )
    has_key = bool(question.scheme) or any(key.strip() for key in question.answer)
    return LoggedQuestion(question, outcomes, _scores(entry, fields), has_key)


def _read(row: dict[str, Any]) -> Question:
    try:
        question = _question(row)
    except BadPair:
        if not row["options"]:
            raise
        question = _question(
            {**row, "options": None}
        )  # options of a form that we do not know, of a question that we do
    return question.model_copy(update={"benchmark": BENCHMARK, "subject": question.subject or "unknown"})


def _question(row: dict[str, Any]) -> Question:
    try:
        line = json.dumps(row).encode()
    except (TypeError, ValueError, RecursionError):
        raise BadPair("holds what JSON cannot spell") from None
    return read_pair(line, None).question


def _answers(entry: LogEntry, fields: Fields) -> tuple[Mapping[str, Any], ...]:
    if not fields.response:
        return entry.answers
    value = first_at(entry.raw, fields.response)
    beside = entry.answers[0] if len(entry.answers) == 1 else (entry.raw if not entry.answers else {})
    if value is MISSING:
        return ({},)
    if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
        return tuple({**beside, "response": text} for text in value)
    return ({**beside, "response": text_of(value)},)


def _outcome(key: Key, answer: Mapping[str, Any], model: str) -> Response | Failure:
    text = answer.get("response")
    if not isinstance(text, str):
        return Failure(key=key, state="failed", reason=NO_ANSWER, final=True)
    values = told_of({name: value for name, value in answer.items() if name != "model"})
    limit, _ = values.pop("max_tokens", None), values.pop("last_token", None)
    if limit and values.get("completion_tokens") and not values.get("finish_reason"):
        values["finish_reason"] = ending(values["completion_tokens"], limit)
    split = _thinking.split(clean(text))
    values["reasoning"] = "\n".join(filter(None, (values.pop("reasoning", None), split.reasoning))) or None
    return Response(key=key, text=split.text, engine="replay", model=model, **values)


def _scores(entry: LogEntry, fields: Fields) -> Mapping[str, float]:
    mark = first_at(entry.raw, fields.score)
    value = None if mark is MISSING else number(mark)
    return entry.scores if value is None else {"score": value}


def _type(raw: Mapping[str, Any], paths: Sequence[str]) -> str | None:
    """A single "path" may be a type itself."""
    kind = first_at(raw, paths)
    if kind is MISSING and len(paths) == 1 and kind_of(paths[0]) is not None:
        return paths[0]
    return kind if isinstance(kind, str) and kind_of(kind) is not None else None


def _options(value: Any) -> Any:
    """As `judge-pairs` takes them; also labels and texts in two lists."""
    if value is MISSING or isinstance(value, str):
        return None
    if isinstance(value, Mapping) and isinstance(value.get("text"), list):
        texts, labels = value["text"], value.get("label")
        if not isinstance(labels, list) or len(labels) != len(texts):
            return texts
        return [{"label": str(label), "text": str(text)} for label, text in zip(labels, texts, strict=True)]
    return [text if isinstance(text, dict) else str(text) for text in value] if isinstance(value, list) else value


def _gold(value: Any, options: Any, parts: bool) -> Any:
    if isinstance(value, Mapping):
        inner = next((value[name] for name in ("text", "value", "answer", "normalized_value") if name in value), None)
        if inner is None:
            raise BadPair("its key is an object without text, value or answer: name the field with --gold")
        return _gold(inner, options, parts)
    if isinstance(value, list):
        keys = [_gold(listed, options, parts) for listed in dict.fromkeys(map(_hashable, value))]
        keys = [key for key in keys if str(key).strip()]
        if parts or len(keys) < 2:
            return keys if parts and keys else (keys[0] if keys else "")
        return ANY_OF.join(map(str, keys))
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and isinstance(options, list)
        and 0 <= value < len(options)
    ):
        texts = [listed.get("text") if isinstance(listed, dict) else listed for listed in options]
        if str(value) not in texts:
            return chr(65 + value) if not isinstance(options[value], dict) else options[value].get("label", value)
    return value


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else json.dumps(value, default=str)
