"""Who published rows of the forms that are known here, apart from the benchmarks: where, and how they are cited."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Publisher:
    """Where rows come from.

    Attributes:
        url: of the published rows.
        citation: BibTeX of the article.
    """

    url: str
    citation: str


PUBLISHERS = {
    "OpenMOSS/GAOKAO-MM": Publisher(
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
        "https://github.com/OpenLMLab/GAOKAO-Bench",
        """@misc{gaokaobench2023,
  title  = {Evaluating the Performance of Large Language Models on {GAOKAO} Benchmark},
  author = {Xiaotian Zhang and Chunyang Li and Yi Zong and Zhengyu Ying and Liang He and Xipeng Qiu},
  year   = {2023},
  eprint = {2305.12474},
  archivePrefix = {arXiv}
}""",
    ),
}
"""By what `review.by` says of their rows."""
