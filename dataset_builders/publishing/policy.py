"""Publishing policy: which rows have a sufficient licence or a permission, and are reviewed.

Contract: refusals are listed with reasons and pages. To show a question, as on a site, licences are judged alike, and
reviews are ignored. A rights file lists permissions for rows whose source states no licence (see docs/publish.md). A
row is covered if it fits every named key.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from livek12.core.errors import UserError
from livek12.core.lazy import pq
from livek12.core.records import Question
from livek12.core.rights import REVIEWED, licence_refusal, with_made
from livek12.dataset_builders.base import PAGES, PageKey, one_line, read_yaml

QuestionId = tuple[str, str]
"""Benchmark and id of a question."""
Texts = Annotated[
    list[Annotated[str, Field(min_length=1)]],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    Field(min_length=1),
]
COLUMNS = ("id", "benchmark", "release", "paper_id", "page_numbers", "review", "source", "translation_of", "variant")


class Rows(BaseModel):
    """Rows that a permission is for."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: Texts | None = None
    paper: Texts | None = None
    release: Texts | None = None
    benchmark: Texts | None = None
    source: Texts | None = None

    def cover(self, row: dict[str, Any]) -> bool:
        """True if a row (id, paper_id, release, benchmark, source) fits every named key."""
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
        """Licence of the rows it covers."""
        return one_line(f"by permission of {self.by}: {self.permission}")


def read_rights(file: Path) -> list[Permission]:
    """Reads the permissions of a rights file."""
    try:
        permissions = TypeAdapter(list[Permission]).validate_python(read_yaml(file, "rights file"))
    except ValidationError as error:
        raise UserError(f"{file}: {_first(error)}") from None
    for number, permission in enumerate(permissions, start=1):
        if not permission.rows.model_fields_set:
            raise UserError(f"{file}: entry {number}: rows names no row: give {', '.join(Rows.model_fields)}")
    return permissions


def _covering(permissions: Sequence[Permission], row: dict[str, Any]) -> Permission | None:
    return next((permission for permission in permissions if permission.rows.cover(row)), None)


def name_of(row: Mapping[str, Any]) -> QuestionId:
    """Question of a row."""
    return row["benchmark"], row["id"]


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    number, *place = first["loc"] or (None,)
    where = f"entry {number + 1}: " if isinstance(number, int) else ""
    name = ".".join(str(part) for part in place if not isinstance(part, int))
    hint = "; put numbers in quotes" if first["type"] == "string_type" else ""
    return one_line(f"{where}{name + ': ' if name else ''}{first['msg']}{hint}; see docs/publish.md")


@dataclass
class PolicyRuling:
    """Decision about each question.

    Attributes:
        withheld: the reason, by question; in the order of the data.
        permitted: the permission, where a licence is missing or insufficient.
        unused: permissions that cover no row that needs one.
        made: translations and variants.
    """

    withheld: dict[QuestionId, str] = field(default_factory=dict)
    permitted: dict[QuestionId, Permission] = field(default_factory=dict)
    pages: set[PageKey] = field(default_factory=set)
    unused: list[Permission] = field(default_factory=list)
    releases: dict[str, dict[str, set[QuestionId]]] = field(default_factory=dict)
    made: dict[QuestionId, set[QuestionId]] = field(default_factory=dict)
    questions: int = 0

    def held(self, release: str) -> set[QuestionId]:
        """Questions of a release and all made from them."""
        originals = (question for releases in self.releases.values() for question in releases.get(release, ()))
        return with_made(originals, self.made) - self.withheld.keys()

    def reasons(self) -> Counter[str]:
        """Number of withheld questions by reason."""
        return Counter(self.withheld.values())


def judge_rows(folder: Path, permissions: Sequence[Permission]) -> PolicyRuling:
    """Judges every question of a built dataset."""
    ruling, used = PolicyRuling(), set[int]()
    shown: dict[PageKey, list[QuestionId]] = defaultdict(list)
    placed: dict[str, list[QuestionId]] = defaultdict(list)
    unplaced: dict[str, list[QuestionId]] = defaultdict(list)
    for row in _questions(folder):
        question = name_of(row)
        ruling.questions += 1
        permission = _covering(permissions, row) if _against(row) else None
        if reason := _withholding(row, permission):
            ruling.withheld[question] = reason
        elif row["release"]:
            ruling.releases.setdefault(row["benchmark"], {}).setdefault(row["release"], set()).add(question)
        for other in (row["translation_of"], (row["variant"] or {}).get("of")):
            if other:
                ruling.made.setdefault((row["benchmark"], other), set()).add(question)
        if permission is not None and not reason:
            ruling.permitted[question] = permission
        if permission is not None:
            used.add(permissions.index(permission))
        if row["paper_id"]:
            (placed if row["page_numbers"] else unplaced)[row["paper_id"]].append(question)
            for number in row["page_numbers"] or ():
                shown[row["paper_id"], number].append(question)
    ruling.unused = [permission for number, permission in enumerate(permissions) if number not in used]
    for page in _pages(folder):
        # A question without known pages may be on any page of its paper; a page without questions (a cover,
        # instructions) is published with a paper of which nothing is withheld.
        on_page = shown.get(page, placed.get(page[0], [])) + unplaced.get(page[0], [])
        if not on_page or any(question in ruling.withheld for question in on_page):
            ruling.pages.add(page)
    return ruling


def _withholding(row: dict[str, Any], permission: Permission | None) -> str:
    state = (row["review"] or {}).get("state") or "unreviewed"
    if state not in REVIEWED:
        return "rejected in review" if state == "rejected" else "nobody reviewed it"
    against = _against(row)
    return f"{against}, and no permission named" if against and not permission else ""


def _against(row: dict[str, Any]) -> str:
    return licence_refusal(str((row["source"] or {}).get("licence") or ""))


def _questions(folder: Path) -> Iterator[dict[str, Any]]:
    seen = set[QuestionId]()
    for file in sorted(folder.rglob("*.parquet")):
        for row in () if file.parent.name == PAGES else read_columns(file, COLUMNS):
            if name_of(row) not in seen:
                seen.add(name_of(row))
                yield row


def _pages(folder: Path) -> Iterator[PageKey]:
    for file in sorted((folder / PAGES).glob("*.parquet")):
        for row in read_columns(file, ("paper_id", "page_number")):
            yield row["paper_id"], row["page_number"]


def read_columns(file: Any, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields some columns of a Parquet file (a path or an open file); None where the file lacks one."""
    with pq.ParquetFile(file) as parquet:
        present = [name for name in columns if name.split(".")[0] in parquet.schema_arrow.names]
        for batch in parquet.iter_batches(columns=present):
            for row in batch.to_pylist():
                yield {name.split(".")[0]: row.get(name.split(".")[0]) for name in columns}


def refusal(question: Question, permissions: Sequence[Permission] = ()) -> str:
    """Reason why a question may not be shown; "" if it may."""
    row = question.model_dump(include={"id", "paper_id", "release", "benchmark", "source"})
    return "" if _covering(permissions, row) else licence_refusal(question.source.licence)
