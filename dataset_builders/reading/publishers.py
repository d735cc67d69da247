"""Origins of rows: publisher, licence and address.

Contract: an origin is proved, never inferred from names, ids or the form of a row. It is the repository that `--source
hub` fetches, or the publisher of a byte-identical file (`published_files.txt`: SHA-256, size and path, by publisher and
commit).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from livek12.dataset_builders.reading.images import roots


@dataclass(frozen=True)
class Origin:
    """Origin of rows; None where unknown. Questions of `published_by` (ORG/NAME) count as reviewed there."""

    published_by: str | None = None
    licence: str | None = None
    url: str | None = None


UNKNOWN = Origin()


@dataclass(frozen=True)
class Publisher:
    """A publisher of exam sets that no benchmark fetches."""

    licence: str | None = None
    url: str | None = None
    citation: str = ""


_GAOKAO_BENCH = """@misc{gaokaobench2023,
  title  = {Evaluating the Performance of Large Language Models on {GAOKAO} Benchmark},
  author = {Xiaotian Zhang and Chunyang Li and Yi Zong and Zhengyu Ying and Liang He and Xipeng Qiu},
  year   = {2023},
  eprint = {2305.12474},
  archivePrefix = {arXiv}
}"""
PUBLISHERS = {
    "OpenMOSS/GAOKAO-MM": Publisher(
        "Apache-2.0",
        "https://github.com/OpenMOSS/GAOKAO-MM",
        """@misc{gaokaomm2024,
  title  = {{GAOKAO-MM}: A {Chinese} Human-Level Benchmark for Multimodal Models Evaluation},
  author = {Yi Zong and Xipeng Qiu},
  year   = {2024},
  eprint = {2402.15745},
  archivePrefix = {arXiv}
}""",
    ),
    "OpenLMLab/GAOKAO-Bench": Publisher(
        "Apache-2.0",
        "https://github.com/OpenLMLab/GAOKAO-Bench",
        _GAOKAO_BENCH,
    ),
    "OpenLMLab/GAOKAO-Bench-Updates": Publisher(
        None, "https://github.com/OpenLMLab/GAOKAO-Bench-Updates", _GAOKAO_BENCH
    ),
    "rladmstn1714/CLIcK": Publisher(),
    "analogyai/CFE_Benchmark": Publisher(),
}
"""By `review.by` of their rows."""


def origin_of(file: Path, known: Mapping[str, Origin] | None = None) -> Origin:
    """Origin of a file that is byte-identical to a publisher's; else `UNKNOWN`.

    `known` adds origins by SHA-256 to those that ship here.
    """
    size = file.stat().st_size
    published, sizes = _published_files()
    if size not in sizes and not known:
        return UNKNOWN
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return (known or {}).get(digest) or published.get(digest, UNKNOWN)


@cache
def _published_files() -> tuple[dict[str, Origin], frozenset[int]]:
    text = resources.files(__package__).joinpath("published_files.txt").read_text(encoding="utf-8")
    origins, sizes, origin = dict[str, Origin](), set[int](), UNKNOWN
    for line in text.splitlines():
        first, second, _ = line.split(" ", 2)
        if first == "#":
            publisher = PUBLISHERS[second]
            origin = Origin(second, publisher.licence, publisher.url)
        else:
            origins[first] = origin
            sizes.add(int(second))
    return origins, frozenset(sizes)


_LICENCE_FILES = re.compile(r"(?:data[_-]?)?licen[cs]e(?:\.\w+)?|readme(?:\.\w+)?", re.IGNORECASE)
_LICENCES = {
    "Apache-2.0": r"apache[- ]?(?:licen[cs]e,? )?(?:version )?2(?:\.0)?",
    "MIT": r"mit(?: licen[cs]e)?",
    "CC0-1.0": r"cc0(?:[- ]1\.0)?",
    "CC BY{}{}": r"cc[- ]by((?:[- ](?:nc|nd|sa))*)[- ]([1-4]\.0)",
}
_STATED = re.compile(
    r"^[ \t>*_#-]{0,20}licen[cs]e[*_]*\s*[:：][\s*_`\"']*(" + "|".join(_LICENCES.values()) + r")(?![\w.-]*\w)",
    re.IGNORECASE | re.MULTILINE,
)
_LICENCE_TEXTS = {
    "Apache-2.0": re.compile(r"\s*Apache License\s+Version 2\.0, January 2004"),
    "MIT": re.compile(r"\s*(?:The )?MIT License\b"),
}
_LONGEST = 64 << 10


def stated_licence(folder: Path) -> str | None:
    """Licence that a folder's files state; None if there is none, or several that differ."""
    licences = set()
    for file in sorted(folder.iterdir()):
        inside = any(file.resolve().is_relative_to(root) for root in roots(folder))
        if _LICENCE_FILES.fullmatch(file.name) and inside and file.is_file():
            with file.open(encoding="utf-8", errors="replace") as lines:
                text = lines.read(_LONGEST)
            licences |= {name for name, full in _LICENCE_TEXTS.items() if full.match(text)}
            licences |= {_licence_name(match[1]) for match in _STATED.finditer(text)}
    return licences.pop() if len(licences) == 1 else None


def _licence_name(stated: str) -> str:
    for name, form in _LICENCES.items():
        if match := re.fullmatch(form, stated, re.IGNORECASE):
            rights = [part.upper().replace(" ", "-") for part in match.groups()]
            return name.format(rights[0], f" {rights[1]}") if rights else name
    return stated
