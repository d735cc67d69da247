"""Dates of exams and of models' releases: periods of a day, month or year; one is before another only as a whole."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date

from livek12.core.errors import UserError

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


@dataclass(frozen=True)
class Period:
    """From a first to a last day."""

    first: date
    last: date

    def before(self, other: Period) -> bool:
        """All of it is earlier."""
        return self.last < other.first


def period(text: str) -> Period | None:
    """The period of "2025", "2025-06" or "2025-06-07"; None for other texts."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    try:
        if year is None or month is None:
            return Period(date(year or 0, 1, 1), date(year or 0, 12, 31))
        if day is None:
            return Period(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))
        return Period(date(year, month, day), date(year, month, day))
    except ValueError:
        return None


def exam_period(release: str | None, year: int | str | None) -> Period | None:
    """Date of an exam: its release where that is a date, else its year; None without either."""
    return (period(release) if release else None) or (period(str(year)) if year is not None else None)


def released(given: list[str], runs: list[str]) -> dict[str, Period]:
    """Release dates by run, from NAME=DATE."""
    dates: dict[str, Period] = {}
    for text in given:
        name, _, when = text.rpartition("=")
        if (meant := period(when)) is None or not name:
            raise UserError(f"--released {text}: give RUN=DATE with a date like 2025-08 or 2025-08-31")
        if name not in runs:
            raise UserError(f"--released {text}: there is no run {name!r}; there are {', '.join(runs)}")
        if name in dates:
            raise UserError(f"--released {text}: {name} has a date already")
        dates[name] = meant
    return dates
