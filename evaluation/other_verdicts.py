"""Decisions of math-verify (in bounded child processes), or of a column of the rows, beside ours; a page of both."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import tee
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.process import Link
from livek12.core.question_types import CHOICE_TYPES
from livek12.evaluation.pair_file import numbered_lines
from livek12.evaluation.pairs import BadPair, Json, JudgedPair, read_pair
from livek12.evaluation.workers import MarkPool, judge_lines
from livek12.report.charts import study_page
from livek12.report.tables import TableShown

MATH_VERIFY = "math-verify"
SECONDS = 10.0
"""Of processor time a row; math-verify has limits of five seconds for parsing and for comparing."""
MOST_SHOWN = 1_000
_SHOWN_CHARS = 160
_DECISIONS = ("accept", "reject", "undecided")
_LABELS = tuple("ABCDEFGHIJ")


@dataclass(frozen=True)
class Disagreement:
    """A row that the two decide differently."""

    id: str
    ours: str
    theirs: str
    key: str
    response: str
    question: str
    reason: str

    @property
    def is_contradiction(self) -> bool:
        """Checks for opposite decisions."""
        return {self.ours, self.theirs} == {"accept", "reject"}


@dataclass(frozen=True)
class ComparedVerdicts:
    """Rows by both decisions; at most `MOST_SHOWN` that differ."""

    other: str
    counts: Counter[tuple[str, str]]
    disagreements: list[Disagreement]

    def sentences(self) -> Iterator[str]:
        """Sums of the counts."""
        decided = sum(count for pair, count in self.counts.items() if "undecided" not in pair)
        differ = sum(count for (ours, theirs), count in self.counts.items() if {ours, theirs} == {"accept", "reject"})
        yield f"{self.counts.total():,} rows; both decide {decided:,}, and differ in {differ:,} of these."
        for name, place in (("livek12", 0), (self.other, 1)):
            undecided = sum(count for pair, count in self.counts.items() if pair[place] == "undecided")
            yield f"{name} leaves {undecided:,} undecided."

    def write_page(self, path: Path) -> None:
        """Writes the page."""
        heads = ["", *(f"{self.other}: {decision}" for decision in _DECISIONS)]
        rows = [
            [f"livek12: {ours}", *(f"{self.counts[ours, theirs]:,}" for theirs in _DECISIONS)] for ours in _DECISIONS
        ]
        differing = ["id", "livek12", self.other, "key", "end of the response", "end of the question"]
        differing.append("livek12's reason")
        tables = [TableShown("Rows", heads, rows)]
        for title, both in (("One accepts, one rejects", True), ("One decides", False)):
            shown = [list(asdict(row).values()) for row in self.disagreements if row.is_contradiction == both]
            tables += [TableShown(title, differing, shown, texts=True)] if shown else []
        title = f"Where do livek12 and {self.other} disagree?"
        write_atomically(path, study_page(title, self.sentences(), [], tables))


def compare_verdicts(source: Path, target: Path, other: str) -> ComparedVerdicts:
    """Compares the decisions of OUT with those of `other`: math-verify, or a column of IN with true or false.

    Raises:
        UserError: math-verify is not installed, no row has the column, or a file cannot be read.
    """
    if other == MATH_VERIFY and find_spec("math_verify") is None:
        raise UserError("math-verify is not installed: pip install 'math-verify[antlr4_13_2]'")
    compared, folder = ComparedVerdicts(other, Counter(), []), source.parent
    lines, texts = tee(line.text for line in numbered_lines(source))
    with target.open("rb") as judged, MarkPool(verify_rows, folder, SECONDS, unmarked=lambda *_: None) as pool:
        theirs = pool.stream(texts) if other == MATH_VERIFY else (_stated(text, other) for text in texts)
        for text, row, decision in zip(lines, map(json.loads, judged), theirs, strict=False):
            _add(compared, text, folder, row, {True: "accept", False: "reject", None: "undecided"}[decision])
    if other != MATH_VERIFY and all(theirs == "undecided" for _, theirs in compared.counts):
        raise UserError(
            f"{source}: no row says true or false in {other!r}; --compare takes math-verify or such a column"
        )
    return compared


def _add(compared: ComparedVerdicts, text: bytes, folder: Path, row: Json, theirs: str) -> None:
    ours = str(row["decision"])
    compared.counts[ours, theirs] += 1
    if ours == theirs or len(compared.disagreements) >= MOST_SHOWN or (pair := _pair(text, folder)) is None:
        return
    compared.disagreements.append(
        Disagreement(
            str(row["id"]),
            ours,
            theirs,
            "; ".join(pair.question.answer)[:_SHOWN_CHARS],
            pair.response.text[-_SHOWN_CHARS:],
            pair.question.question[-_SHOWN_CHARS:],
            str(row.get("reason", ""))[:_SHOWN_CHARS],
        )
    )


def _pair(text: bytes, folder: Path) -> JudgedPair | None:
    try:
        return read_pair(text, folder)
    except BadPair:
        return None


def _stated(text: bytes, column: str) -> bool | None:
    try:
        value = json.loads(text)[column]
    except (ValueError, KeyError, TypeError):
        return None
    words = {"true": True, "1": True, "accept": True, "false": False, "0": False, "reject": False}
    return words.get(str(value).strip().lower())


# --- math-verify ----------------------------------------------------------------------------------------------------


def verify_rows(link: Link, folder: Path, seconds: float) -> None:
    """Serves rows in a child process; `seconds` of processor time each."""

    def decide(line: bytes) -> bool | None:
        if (pair := _pair(line, folder)) is None:
            return None
        key, is_choice = "; ".join(pair.question.answer), pair.question.question_type in CHOICE_TYPES
        return _verified(key, pair.response.text, is_choice)

    _verified("1", "1", False)  # loads the library
    judge_lines(link, seconds, decide, lambda: None)


def _verified(key: str, response: str, is_choice: bool) -> bool | None:
    """Decision by the defaults; None where it raises."""
    from math_verify import StringExtractionConfig, parse, verify

    config = {"extraction_config": [StringExtractionConfig(strings=_LABELS)]} if is_choice else {}
    texts = (text if is_choice else as_formula(text) for text in (key, response))
    try:
        return bool(verify(*(parse(text, **config) for text in texts)))
    except Exception:
        return None


def as_formula(text: str) -> str:
    """Text as a formula."""
    return text if re.search(r"\$|\\boxed|\\\(|\\\[", text) else f"${text}$"
