"""Origins of rows: who published them, under which licence, and where.

Contract: an origin is proved and never inferred from names, ids or the shape of a row. It is the repository that
`--source hub` fetches, or that of a file that is byte for byte one that its publisher has (`published_files.txt`: its
SHA-256, size and path, by publisher and commit). What a row itself states is read by `fields.review_of` and
`fields.source_of`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path


@dataclass(frozen=True)
class Origin:
    """Where rows come from; None where that is not known.

    Attributes:
        published_by: the repository, ORG/NAME; its questions count as reviewed there.
        licence: the licence that the publisher states for them.
        url: the address of the published rows.
    """

    published_by: str | None = None
    licence: str | None = None
    url: str | None = None


UNKNOWN = Origin()


@dataclass(frozen=True)
class Publisher:
    """A publisher of exam sets, apart from what a benchmark fetches from the Hub.

    Attributes:
        licence: the licence in its repository; None where that has none, or states one for each row.
        url: the address of the published rows.
        citation: the article in BibTeX.
    """

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
"""By what `review.by` says of their rows."""


def origin_of(file: Path, known: Mapping[str, Origin] | None = None) -> Origin:
    """The origin of a file that a publisher has byte for byte; `UNKNOWN` for any other.

    Args:
        file: the file of rows.
        known: origins by the SHA-256 of a file, beside those that ship here.
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
    """The origins of published files by SHA-256, and the sizes of these files."""
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
