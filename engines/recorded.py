"""Rows of recorded responses as others write them, brought to the plain form that `replay` reads.

Contract: a plain row passes through as it is; a row of a known other form becomes a plain one; nothing that the row
does not say is made up (a token count that one of several turns lacks stays empty).

Known forms:
    two-turn  `item_id`, `final_response_text`, `model_config.name`, and for each turn in `raw_responses` an
              OpenAI-style `payload`. The last turn is the answer; tokens and seconds are those of all turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row in the plain form: `question_id`, `response`, and whatever else it tells."""
    if "item_id" in row and "final_response_text" in row:
        return _two_turn(row)
    return row


def _two_turn(row: Mapping[str, Any]) -> dict[str, Any]:
    turns = [_at(row, "raw_responses", turn) for turn in _at(row, "raw_responses") or ()]
    last = _at(turns[-1], "payload", "choices", 0) if turns else None
    details = ("prompt_tokens_details", "cached_tokens"), ("completion_tokens_details", "reasoning_tokens")
    return {
        "question_id": row["item_id"],
        "response": row["final_response_text"],
        "model": _at(row, "model_config", "name"),
        "reasoning": _at(last, "message", "reasoning"),
        "finish_reason": _at(last, "finish_reason"),
        "prompt_tokens": _total(turns, "payload", "usage", "prompt_tokens"),
        "completion_tokens": _total(turns, "payload", "usage", "completion_tokens"),
        "cached_tokens": _total(turns, "payload", "usage", *details[0]),
        "reasoning_tokens": _total(turns, "payload", "usage", *details[1]),
        "seconds": _total(turns, "latency_seconds"),
    }


def _total(turns: list[Any], *path: str) -> float | int | None:
    """The sum over the turns; None where any turn does not say."""
    values = [_at(turn, *path) for turn in turns]
    return sum(values) if values and all(isinstance(value, int | float) for value in values) else None


def _at(value: Any, *path: str | int) -> Any:
    """What lies at a path of keys and indices; None where the path ends early."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
