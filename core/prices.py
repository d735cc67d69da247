"""Prices of tokens, as people state them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from livek12.core.errors import UserError

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens; `cached` defaults to `prompt`."""

    prompt: Amount
    completion: Amount
    cached: Amount | None = None
    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    def cost(self, prompt: int | None, cached: int | None, completion: int | None, share: float = 1.0) -> float | None:
        """Cost of one request at a share of the prices, if all counts are known."""
        if prompt is None or completion is None:
            return None
        reused = min(cached or 0, prompt)
        read = (prompt - reused) * self.prompt + reused * (self.prompt if self.cached is None else self.cached)
        return (read + completion * self.completion) / 1e6 * share


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
