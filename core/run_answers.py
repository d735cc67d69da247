"""The answers of a run in columns, with what is told of them as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from livek12.core.records import UNMARKED, Response, Verdict
from livek12.core.rows import Row
from livek12.core.run.markings import RegradeCounts
from livek12.core.scoring.columns import OutcomeColumns, Outcomes
from livek12.core.scoring.outcomes import Slim


class AnswerOrigin(NamedTuple):
    """Who marked an answer and who gave it, with which versions; None where there is no verdict, or no response."""

    judge: str | None
    marked_with: str | None
    engine: str | None
    answered_with: str | None


@dataclass(frozen=True)
class ScoredAnswers:
    """The answers of a run.

    Attributes:
        outcomes: what scoring needs of them, in the order of the run.
        origins: how many are of each origin, by the first answer of each.
        judges: whose marks they have, or had before people set others.
        changes: marks that people set.
    """

    outcomes: Outcomes
    origins: Mapping[AnswerOrigin, int]
    judges: frozenset[str]
    changes: RegradeCounts


def answers_of(rows: Iterable[Row], slim: Slim) -> ScoredAnswers:
    """Of rows, each looked at as it passes by.

    Raises:
        UserError: as `Slim`.
    """
    outcomes, changes = OutcomeColumns(), RegradeCounts()
    origins: dict[AnswerOrigin, int] = {}
    judges = set[str]()
    for row in rows:
        outcomes.add(slim(row))
        changes.add(row)
        judged = row.judged or row.verdict
        judges.add(judged.judge if judged else UNMARKED)
        origin = AnswerOrigin(*marked(row.verdict), *answered(row.response))
        origins[origin] = origins.get(origin, 0) + 1
    return ScoredAnswers(outcomes.end(), origins, frozenset(judges), changes)


def marked(verdict: Verdict | None) -> tuple[str | None, str | None]:
    """Of an `AnswerOrigin` what a verdict says."""
    return (verdict.judge, in_a_line(verdict.versions)) if verdict else (None, None)


def answered(response: Response | None) -> tuple[str | None, str | None]:
    """Of an `AnswerOrigin` what a response says."""
    if response is None:
        return None, None
    revision = f" @ {response.model_revision}" if response.model_revision else ""
    return f"{response.engine}: {response.model}{revision}", in_a_line(response.versions)


def in_a_line(versions: Mapping[str, str]) -> str:
    """Versions in their order."""
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
