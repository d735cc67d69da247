"""From an entry of a log to a question with its key, the answers to it, and the harness's own marks.

Contract: read as a row of `livek12 judge-pairs` is (`evaluation.pairs`), so that one judge says one thing to both. Of
the keys that a log lists any one is right; in plain JSON lines a list has one entry a part, as there. A key that is
missing stays missing: the answers are then left to nobody and say so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from livek12.core.question_types import kind_of
from livek12.core.records import Failure, Key, Question, Response
from livek12.core.text import clean
from livek12.engines.endings import ending
from livek12.engines.replay import told_of
from livek12.engines.thinking import Thinking
from livek12.evaluation.logs import Fields, LogEntry
from livek12.evaluation.logs.lines import number
from livek12.evaluation.logs.paths import MISSING, first_at, text_of
from livek12.evaluation.pairs import BadPair, read_pair
from livek12.tasks.registry import BENCHMARK

ANY_OF: Final = " ## "
"""Between keys of which any one is right (`judges.grade`)."""
MOST_TRIALS: Final = 10_000
NO_ANSWER: Final = "the log has no answer"
_thinking = Thinking()


@dataclass(frozen=True)
class LoggedQuestion:
    """An entry as we take it.

    Attributes:
        question: with its key; no benchmark has it.
        outcomes: a response, or a failure, for each trial.
        scores: the harness's own marks by name.
        has_key: whether the log says what is right.
    """

    question: Question
    outcomes: tuple[Response | Failure, ...]
    scores: Mapping[str, float]
    has_key: bool


def asked(entry: LogEntry, fields: Fields, task: str, model: str, parts: bool) -> LoggedQuestion:
    """An entry as a question with its key and the answers to it.

    Args:
        entry: of a log.
        fields: where it holds what is needed.
        task: our name of the task.
        model: who answered.
        parts: whether a list of keys has one a part, rather than alternatives.

    Raises:
        BadPair: it cannot be read; the message says why.
    """
    given = _answers(entry, fields)
    options = _options(first_at(entry.raw, fields.options))
    gold = first_at(entry.raw, fields.gold)
    row: dict[str, Any] = {
        "id": entry.id,
        "question": text_of(first_at(entry.raw, fields.question)),
        "question_type": _type(entry.raw, fields.type),
        "gold": "" if gold is MISSING else _gold(gold, options, parts),
        "options": options,
        "response": next((said["response"] for said in given if said), ""),
    }
    question = _read(row)
    if entry.trial + len(given) > MOST_TRIALS:
        raise BadPair(f"is of a later trial than a run may have ({MOST_TRIALS:,})")
    outcomes = tuple(
        _outcome(Key(task=task, question_id=entry.id, trial=entry.trial + count), said, model)
        for count, said in enumerate(given or ({},))
    )
    return LoggedQuestion(question, outcomes, _scores(entry, fields), any(key.strip() for key in question.answer))


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
    """The answers in the fields of a plain recorded row; an empty one where there is none."""
    if not fields.response:
        return entry.answers
    said = first_at(entry.raw, fields.response)
    beside = entry.answers[0] if len(entry.answers) == 1 else (entry.raw if not entry.answers else {})
    if said is MISSING:
        return ({},)
    if isinstance(said, list) and said and all(isinstance(text, str) for text in said):
        return tuple({**beside, "response": text} for text in said)
    return ({**beside, "response": text_of(said)},)


def _outcome(key: Key, said: Mapping[str, Any], model: str) -> Response | Failure:
    text = said.get("response")
    if not isinstance(text, str):
        return Failure(key=key, state="failed", reason=NO_ANSWER, final=True)
    told = told_of({name: value for name, value in said.items() if name != "model"})
    limit, _ = told.pop("max_tokens", None), told.pop("last_token", None)
    if limit and told.get("completion_tokens") and not told.get("finish_reason"):
        told["finish_reason"] = ending(told["completion_tokens"], limit)
    split = _thinking.split(clean(text))
    told["reasoning"] = "\n".join(filter(None, (told.pop("reasoning", None), split.reasoning))) or None
    return Response(key=key, text=split.text, engine="replay", model=model, **told)


def _scores(entry: LogEntry, fields: Fields) -> Mapping[str, float]:
    found = first_at(entry.raw, fields.score)
    value = None if found is MISSING else number(found)
    return entry.scores if value is None else {"score": value}


def _type(raw: Mapping[str, Any], paths: Sequence[str]) -> str | None:
    """The kind of question, where it is one that we know; what is no path may be a kind itself."""
    said = first_at(raw, paths)
    if said is MISSING and len(paths) == 1 and kind_of(paths[0]) is not None:
        return paths[0]
    return said if isinstance(said, str) and kind_of(said) is not None else None


def _options(said: Any) -> Any:
    """Options as `judge-pairs` takes them; also labels and texts in two lists."""
    if said is MISSING or isinstance(said, str):
        return None
    if isinstance(said, Mapping) and isinstance(said.get("text"), list):
        texts, labels = said["text"], said.get("label")
        if not isinstance(labels, list) or len(labels) != len(texts):
            return texts
        return [{"label": str(label), "text": str(text)} for label, text in zip(labels, texts, strict=True)]
    return [text if isinstance(text, dict) else str(text) for text in said] if isinstance(said, list) else said


def _gold(said: Any, options: Any, parts: bool) -> Any:
    if isinstance(said, Mapping):
        inner = next((said[name] for name in ("text", "value", "answer", "normalized_value") if name in said), None)
        if inner is None:
            raise BadPair("its key is an object without text, value or answer: name the field with --gold")
        return _gold(inner, options, parts)
    if isinstance(said, list):
        keys = [_gold(one, options, parts) for one in dict.fromkeys(map(_hashable, said))]
        keys = [key for key in keys if str(key).strip()]
        if parts or len(keys) < 2:
            return keys if parts and keys else (keys[0] if keys else "")
        return ANY_OF.join(map(str, keys))
    if isinstance(said, int) and not isinstance(said, bool) and isinstance(options, list) and 0 <= said < len(options):
        texts = [one.get("text") if isinstance(one, dict) else one for one in options]
        if str(said) not in texts:
            return chr(65 + said) if not isinstance(options[said], dict) else options[said].get("label", said)
    return said


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else json.dumps(value, default=str)
