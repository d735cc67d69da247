"""`published.json`: where a published data set stands, as which version, and which files of the repository are ours.

Contract: publishing owns the files that the file lists, and no other. In a repository published before there was such
a file, tables and descriptions of a data set count as ours by their names; `eval.yaml` and `environment.yaml` do not.
One of these two that was edited since is no longer ours. The date is that of the first publish of this content.
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
"""Names that the Hub gives, so that others may have put such a file there."""
Gate = Literal["", "auto", "manual"]
_SEMANTIC = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){0,2}")


@dataclass(frozen=True)
class Publication:
    """Where a data set is published.

    Attributes:
        repo: ORG/NAME.
        url: of its page.
        tag: the name of this state.
        date: of the publish, YYYY-MM-DD.
        content: a hash of the tables and lists, by which a later publish knows the same content.
        gated: how access is granted; "" where it is open.
        files: every other file of ours with its SHA-256.
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
        """The tag as a semantic version, which Croissant asks for."""
        if _SEMANTIC.fullmatch(self.tag):
            return self.tag
        return "0.0.0+" + ".".join(re.findall(r"[0-9A-Za-z-]+", self.tag))

    def write(self, folder: Path) -> None:
        """Writes the file."""
        (folder / FILE).write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_published(folder: Path) -> Publication | None:
    """Where a data set says it is published; None where it does not."""
    file = folder / FILE
    return parse_published(file.read_bytes()) if file.is_file() else None


def parse_published(content: bytes) -> Publication | None:
    """The same from the file's content; None where it says nothing readable."""
    try:
        found = json.loads(content)
        files = {str(path): str(digest) for path, digest in found["files"].items()}
        texts = {name: str(found[name]) for name in ("repo", "url", "tag", "date", "content")}
        gated: Gate = found["gated"] if found["gated"] in get_args(Gate) else ""
        return Publication(**texts, gated=gated, files=files)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
