"""`published.json`: the place and version of a published dataset, and our files in the repository.

Contract: publishing owns only the listed files. In an older repository without this file, tables and metadata are ours
by their names, but not `eval.yaml` and `environment.yaml`, nor either of them if edited since. The date is that of the
first publish of this content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

FILE = "published.json"
EVAL, ENVIRONMENT = "eval.yaml", "environment.yaml"
SHARED = frozenset({EVAL, ENVIRONMENT})
"""Names that the Hub gives, so that such a file may belong to others."""
Gate = Literal["", "auto", "manual"]
_SEMANTIC = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){0,2}")


@dataclass(frozen=True)
class Publication:
    """The record of a publish.

    Attributes:
        date: YYYY-MM-DD.
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
        """The tag as a semantic version, which Croissant requires."""
        if _SEMANTIC.fullmatch(self.tag):
            return self.tag
        return "0.0.0+" + ".".join(re.findall(r"[0-9A-Za-z-]+", self.tag))

    def write(self, folder: Path) -> None:
        """Writes the file."""
        (folder / FILE).write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_published(folder: Path) -> Publication | None:
    """The record in a dataset; None if unpublished."""
    file = folder / FILE
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
