"""The rights file: permissions for rows whose source states no licence.

Contract: YAML, a list of permissions. Each says who gave it (`by`), in what words (`permission`), and for which
`rows`: any of `id`, `paper`, `release`, `benchmark`, `source` (the beginning of the source's address), each a text
or a list of texts. A row is covered when it fits every key that is named. Anything else in the file is an error:

    - permission: Reproduced for research with leave, letter of 3 October 2026
      by: Example Education Authority
      rows: {release: "2605", paper: [zh_2605_math, zh_2605_physics]}
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from livek12.core.errors import UserError, why
from livek12.dataset_builders.base import one_line

MAX_BYTES = 1 << 20
Texts = Annotated[
    list[Annotated[str, Field(min_length=1)]],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    Field(min_length=1),
]


class Rows(BaseModel):
    """The rows that a permission is for."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: Texts | None = None
    paper: Texts | None = None
    release: Texts | None = None
    benchmark: Texts | None = None
    source: Texts | None = None

    def cover(self, row: dict[str, Any]) -> bool:
        """True if a row (columns id, paper_id, release, benchmark, source) fits every key that is named."""
        equal = ((self.id, row["id"]), (self.paper, row["paper_id"]), (self.release, row["release"]))
        named = (*equal, (self.benchmark, row["benchmark"]))
        url = (row["source"] or {}).get("url") or ""
        from_there = self.source is None or any(url.startswith(start) for start in self.source)
        return from_there and all(wanted is None or value in wanted for wanted, value in named)


class Permission(BaseModel):
    """One permission, as the file states it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    permission: Annotated[str, Field(min_length=1)]
    by: Annotated[str, Field(min_length=1)]
    rows: Rows

    @property
    def licence(self) -> str:
        """The licence of the rows it covers."""
        return one_line(f"by permission of {self.by}: {self.permission}")


def read_rights(file: Path) -> list[Permission]:
    """Reads the permissions of a rights file."""
    import yaml

    try:
        if file.stat().st_size > MAX_BYTES:
            raise UserError(f"{file}: larger than {MAX_BYTES >> 20} MiB: no rights file")
        listed = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise UserError(f"{file}: cannot be read as YAML ({one_line(why(error), 160)})") from None
    try:
        permissions = TypeAdapter(list[Permission]).validate_python(listed)
    except ValidationError as error:
        raise UserError(f"{file}: {_first(error)}") from None
    for number, permission in enumerate(permissions, start=1):
        if not permission.rows.model_fields_set:
            raise UserError(f"{file}: entry {number}: rows names no row: give {', '.join(Rows.model_fields)}")
    return permissions


def covering(permissions: Sequence[Permission], row: dict[str, Any]) -> Permission | None:
    """The first permission that covers a row."""
    return next((permission for permission in permissions if permission.rows.cover(row)), None)


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    number, *place = first["loc"] or (None,)
    where = f"entry {number + 1}: " if isinstance(number, int) else ""
    name = ".".join(str(part) for part in place if not isinstance(part, int))
    hint = "; put numbers in quotes" if first["type"] == "string_type" else ""
    return one_line(f"{where}{name + ': ' if name else ''}{first['msg']}{hint}; see docs/publish.md")
