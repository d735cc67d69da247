"""Usage in words: GPU busy share, tokens a second, watt-hours and watt-hours per mark of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from livek12.core.run.sessions import Usage
    from livek12.core.scoring.schema import RunUsage

NOT_MEASURED = "not measured"
MEANING = (
    "Energy and busy share are those of the GPUs while the model under test was ready, whoever used them; a mark is a"
    " point of an answer, over all trials."
)


class UsageColumn(NamedTuple):
    """One figure of several runs."""

    heading: str
    cells: list[str]


def usage_columns(usage: Mapping[str, RunUsage], names: Sequence[str]) -> list[UsageColumn]:
    """The figures of asking, a column each; of a run without sessions nothing was measured."""
    rows = [_figures(usage.get(name)) for name in names]
    headings = ("tokens/s", "GPU busy %", "Wh", "Wh per mark")
    return [
        UsageColumn(heading, [figure or NOT_MEASURED for figure in figures])
        for heading, figures in zip(headings, zip(*rows, strict=True), strict=True)
    ]


def usage_sentences(usage: RunUsage | None) -> Iterator[str]:
    """A line for asking, and one for judging where a judge model was loaded."""
    if usage is None:
        return
    pace, busy, energy, per_mark = _figures(usage)
    yield _sentence("asking", pace, busy, energy, f", {per_mark} Wh per mark" if per_mark else "")
    if usage["judging"] is not None:
        yield _sentence("judging", *_of_stage(usage["judging"]))


def watt_hours(value: float) -> str:
    """Watt-hours with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _sentence(stage: str, pace: str, busy: str, energy: str, more: str = "") -> str:
    tokens = f"{pace} completion tokens a second" if pace else f"tokens a second {NOT_MEASURED}"
    if not busy and not energy:
        return f"{stage}: {tokens}; energy and busy share of GPUs {NOT_MEASURED}"
    share = f"GPUs busy {busy} % of the time" if busy else f"busy share of GPUs {NOT_MEASURED}"
    return f"{stage}: {tokens}; {share}; " + (f"{energy} Wh{more}" if energy else f"energy {NOT_MEASURED}")


def _figures(usage: RunUsage | None) -> tuple[str, str, str, str]:
    """Tokens a second, busy share, watt-hours, watt-hours per mark of asking; "" where not measured."""
    if usage is None:
        return "", "", "", ""
    low, high = (watt_hours(end) for end in usage["watt_hours_per_mark"] or (0.0, 0.0))
    per_mark = (low if low == high else f"{low} to {high}") if usage["watt_hours_per_mark"] else ""
    return (*_of_stage(usage["asking"]), per_mark)


def _of_stage(usage: Usage) -> tuple[str, str, str]:
    pace, busy, energy = usage["tokens_a_second"], usage["busy"], usage["watt_hours"]
    return (
        "" if pace is None else f"{pace:,.1f}",
        "" if busy is None else f"{100 * busy:.0f}",
        "" if energy is None else watt_hours(energy),
    )
