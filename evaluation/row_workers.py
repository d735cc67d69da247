"""Rows of judge-pairs, judged by the rules in processes (`evaluation.line_workers`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from livek12.core.process import Link
from livek12.evaluation.line_workers import LINE_SECONDS, LinePool, judge_lines

Reply = dict[str, Any]
"""`row` (as a line of OUT of judge-pairs), `extracted` (the answers found) and, if asked for, `verdict`."""


class RowPool(LinePool[Reply]):
    """A bounded number of processes that judge rows.

    Args:
        size: the most processes; default the cores of this machine.
        folder: where image files of rows may lie; None for none.
        cache: whether dear decisions are remembered on disk.
        whole: whether replies hold the verdict of the rules.
        seconds: processor time of one row, without its symbolic comparisons.
    """

    def __init__(
        self,
        size: int | None = None,
        *,
        folder: Path | None = None,
        cache: bool = False,
        whole: bool = False,
        seconds: float = LINE_SECONDS,
    ) -> None:
        super().__init__(judge_rows, folder, cache, whole, seconds, size=size)

    def _open(self, line: bytes, why: str) -> Reply:
        from livek12.evaluation.pair_rules import open_reply

        return open_reply(line, "rules", why)


def judge_rows(link: Link, folder: Path | None, cache: bool, whole: bool, seconds: float) -> None:
    """Judges the rows that a pool sends, in a process of its own; arguments as those of `RowPool`."""
    from livek12.evaluation.pair_rules import reply_to
    from livek12.judges.cascade import decision_store, default_cascade

    cascade = default_cascade(decision_store() if cache else None)
    judge_lines(link, seconds, lambda line: reply_to(line, folder, cascade, whole), cascade.flush)
