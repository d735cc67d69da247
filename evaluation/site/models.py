"""Models of a site: release date, size, licence and prices, as stated in `models.yaml` or on the Hub, else unknown.

`models.yaml` maps the model as its runs name it, or a run folder's name, to any of:

    Qwen/Qwen3-8B:
      name: Qwen3 8B                        # shown in its place
      released: 2025-04                     # a year, a month or a day
      parameters: 8.2e9
      licence: Apache-2.0
      prices: {prompt: 0.1, cached: 0.02, completion: 0.4}   # for a million tokens
      currency: USD
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from livek12.core.errors import UserError, why
from livek12.core.hub import reason
from livek12.core.text import one_line
from livek12.core.visible import visible
from livek12.evaluation.studies.contamination import period

MAX_BYTES = 1 << 20
DATES_FROM = datetime(2022, 3, 2, 23, 29, 4, tzinfo=UTC)
"""The Hub's date for all repositories older than its records: it says nothing of a model."""
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Text = Annotated[str, BeforeValidator(lambda value: str(value) if not isinstance(value, str) else value)]
"""Dates and years that YAML parses become texts again."""


class ModelPrices(BaseModel):
    """Prices for a million tokens; cached ones default to `prompt`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: Amount
    cached: Amount | None = None
    completion: Amount


class KnownModel(BaseModel):
    """Stated facts of one model; None where unstated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text | None = None
    released: Text | None = None
    parameters: Amount | None = None
    licence: Text | None = None
    prices: ModelPrices | None = None
    currency: Text = "USD"
    source: str = "models.yaml"


def read_models(file: Path) -> dict[str, KnownModel]:
    """The models of a `models.yaml`."""
    import yaml

    try:
        if file.stat().st_size > MAX_BYTES:
            raise UserError(f"{file}: larger than {MAX_BYTES >> 20} MiB: no list of models")
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise UserError(f"{file}: cannot be read as YAML ({one_line(why(error), 160)})") from None
    if content is None:
        raise UserError(f"{file}: states no model; see docs/site.md")
    try:
        models = TypeAdapter(dict[str, KnownModel]).validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ": ".join(str(part) for part in first["loc"] if part != "[key]")
        raise UserError(f"{file}: {one_line(place, 80)}: {first['msg']}; see docs/site.md") from None
    for name, model in models.items():
        if model.released is not None and period(model.released) is None:
            raise UserError(f"{file}: {one_line(name, 60)}: released {model.released!r:.30} is no date like 2025-08")
    return models


def hub_record(model: str) -> KnownModel | str:
    """The Hub's facts of a model (day of its repository, size, licence), or the reason without."""
    from huggingface_hub import HfApi

    try:
        record: Any = HfApi().model_info(model)
    except Exception as error:  # the Hub's client raises its own, httpx's and OSErrors
        return reason(error).replace("data set", "model")
    return stated_by(record)


def stated_by(record: Any) -> KnownModel:
    """The facts in a record of the Hub."""
    card, tensors = getattr(record, "card_data", None), getattr(record, "safetensors", None)
    made, total = getattr(record, "created_at", None), getattr(tensors, "total", None)
    licence = getattr(card, "license", None)
    if licence == "other":  # then the card may give it a name
        licence = getattr(card, "license_name", None) or licence
    return KnownModel(
        released=None if made is None or made <= DATES_FROM else made.date().isoformat(),
        parameters=total if isinstance(total, int | float) and total > 0 else None,
        licence=licence if isinstance(licence, str) and licence else None,
        source="the Hub",
    )


def of_run(models: Mapping[str, KnownModel], names: Iterable[str]) -> KnownModel | None:
    """The facts under the first listed name."""
    return next((models[name] for name in names if name in models), None)


def facts_of(model: KnownModel | None) -> dict[str, Any]:
    """The model's facts for display; unknown ones are None."""
    if model is None:
        return {"name": None, "released": None, "parameters": None, "licence": None, "source": None}
    return {
        "name": model.name and visible(model.name),
        "released": model.released,
        "parameters": model.parameters,
        "licence": model.licence and visible(model.licence),
        "source": model.source,
    }


def cost_of(model: KnownModel | None, tokens: Mapping[str, int]) -> float | None:
    """Cost of tokens; None without prices or token counts."""
    if model is None or model.prices is None or "completion" not in tokens or "prompt" not in tokens:
        return None
    prices, cached = model.prices, tokens.get("cached", 0)
    read = (tokens["prompt"] - cached) * prices.prompt
    read += cached * (prices.prompt if prices.cached is None else prices.cached)
    return (read + tokens["completion"] * prices.completion) / 1e6
