"""Prices of tokens, as people state them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from livek12.core.errors import UserError


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens; `cached` defaults to `prompt`."""

    prompt: float
    completion: float
    cached: float | None = None

    def cost(self, prompt: int | None, cached: int | None, completion: int | None, share: float = 1.0) -> float | None:
        """The cost of one request at a share of the prices, if all counts are known."""
        if prompt is None or completion is None:
            return None
        cached_tokens = min(cached or 0, prompt) if self.cached is not None else 0
        return (
            (
                (prompt - cached_tokens) * self.prompt
                + cached_tokens * (self.cached or 0.0)
                + completion * self.completion
            )
            / 1e6
            * share
        )


_FIELDS = ("prompt", "completion", "cached")


def read_prices(content: Any, where: str) -> Prices | None:
    """Prices from a mapping."""
    if content is None:
        return None
    if not isinstance(content, dict):
        raise UserError(f"{where} is a mapping with prompt and completion, for a million tokens")
    if unknown := sorted(str(name) for name in content if name not in _FIELDS):
        raise UserError(f"{where}: unknown field {unknown[0]!r}; there are {', '.join(sorted(_FIELDS))}")
    numbers = [value for value in content.values() if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) != len(content) or min(numbers, default=0) < 0 or not {"prompt", "completion"} <= set(content):
        raise UserError(f"{where} needs prompt and completion (and may have cached), numbers from 0")
    return Prices(**{name: float(value) for name, value in content.items()})
