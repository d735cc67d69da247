"""Lists beside the tables: members of subsets, repaired texts, and our files in the repository.

Contract: publishing owns only the listed files. In an older repository without `published.json`, tables and metadata
are ours by their names, but not `eval.yaml` and `environment.yaml`, nor either of them if edited since. The date is
that of the first publish of this content.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from livek12.core.errors import UserError, why
from livek12.core.files import write_atomically
from livek12.core.tables import csv_rows, csv_text

MEMBERS = "subsets.csv"


class MemberRow(NamedTuple):
    """Member of a subset.

    Attributes:
        how: `reviewed` if a person accepted it, `proposed` if runs or a seeded draw decided.
        made_by: the rules, runs, seed or annotator that proposed it.
    """

    subset: str
    benchmark: str
    id: str
    how: str
    by: str
    at: str
    made_by: str


def read_members(folder: Path) -> list[MemberRow]:
    """Rows of the file; none without it."""
    if not (folder / MEMBERS).is_file():
        return []
    rows = csv_rows((folder / MEMBERS).read_text("utf-8"))
    return [MemberRow(*(row.get(name, "") for name in MemberRow._fields)) for row in rows]


def write_members(folder: Path, members: Iterable[MemberRow]) -> None:
    """Writes the file, each member once, if there are any."""
    rows = list(dict.fromkeys(members))
    if not rows:
        return
    write_atomically(folder / MEMBERS, csv_text([MemberRow._fields, *rows]))


def members_of(members: Iterable[MemberRow], kept: Container[tuple[str, str]]) -> list[MemberRow]:
    """Members with a kept question (benchmark, id)."""
    return [member for member in members if (member.benchmark, member.id) in kept]


MENDED = "mended.json"


def read_mended(folder: Path) -> Counter[str]:
    """Number of repaired texts, by "BENCHMARK FIELD"; none without the file."""
    file = folder / MENDED
    if not file.is_file():
        return Counter()
    try:
        return Counter({str(name): int(count) for name, count in json.loads(file.read_bytes()).items()})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{file}: not readable ({why(error)}); build the data set again") from None


def write_mended(folder: Path, mended: Counter[str]) -> None:
    """Writes the file if anything was repaired."""
    if mended:
        (folder / MENDED).write_text(json.dumps(dict(sorted(mended.items()))) + "\n", encoding="utf-8")


PUBLISHED = "published.json"
EVAL, ENVIRONMENT = "eval.yaml", "environment.yaml"
SHARED = frozenset({EVAL, ENVIRONMENT})
"""Names that the Hub gives, so that such a file may belong to others."""
Gate = Literal["", "auto", "manual"]
_SEMANTIC = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){0,2}")


@dataclass(frozen=True)
class Publication:
    """Record of a publish.

    Attributes:
        content: a hash of the tables and lists, which identifies the same content later.
        gated: the access rule; "" if open.
        files: our other files with their SHA-256.
    """

    repo: str
    url: str
    tag: str
    date: str
    content: str
    gated: Gate = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Tag as a semantic version, which Croissant requires."""
        if _SEMANTIC.fullmatch(self.tag):
            return self.tag
        return "0.0.0+" + ".".join(re.findall(r"[0-9A-Za-z-]+", self.tag))

    def write(self, folder: Path) -> None:
        """Writes the file."""
        (folder / PUBLISHED).write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_published(folder: Path) -> Publication | None:
    """Record in a dataset; None if unpublished."""
    file = folder / PUBLISHED
    return parse_published(file.read_bytes()) if file.is_file() else None


def parse_published(content: bytes) -> Publication | None:
    """The same from the file's content; None if it is unreadable."""
    try:
        fields = json.loads(content)
        files = {str(path): str(digest) for path, digest in fields["files"].items()}
        texts = {name: str(fields[name]) for name in ("repo", "url", "tag", "date", "content")}
        gated: Gate = fields["gated"] if fields["gated"] in get_args(Gate) else ""
        return Publication(**texts, gated=gated, files=files)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
