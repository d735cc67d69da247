"""The base of all records, the picture, and the JSON that hashes are taken of (see `core.records`)."""

from __future__ import annotations

import builtins
import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """Base of all records: frozen, strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Image(Record):
    """One encoded picture, in the layout of `datasets.Image(decode=False)`."""

    bytes: builtins.bytes | None = Field(default=None, repr=False)
    path: str | None = None

    @property
    def sha256(self) -> str:
        """Stable id of the picture: the hash of its encoded bytes.

        Raises:
            ValueError: the image holds no bytes.
        """
        if self.bytes is None:
            raise ValueError(f"image {self.path!r} has no bytes")
        return hashlib.sha256(self.bytes).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text, so hashes of it are stable."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
