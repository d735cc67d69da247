"""Usage of a run: tokens a second, GPU busy share and watt-hours in words, and its wall-clock time as bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from livek12.core.run.sessions import GIB, Session, Stage, covered

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
    """Figures of asking, a column each; runs without sessions were not measured."""
    rows = [_figures(usage.get(name)) for name in names]
    headings = ("tokens/s", "GPU busy %", "Wh", "Wh per mark")
    return [
        UsageColumn(heading, [figure or NOT_MEASURED for figure in figures])
        for heading, figures in zip(headings, zip(*rows, strict=True), strict=True)
    ]


def usage_sentences(usage: RunUsage | None) -> Iterator[str]:
    """A line for asking, and one for judging with a loaded model."""
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
    """Tokens a second, busy share, watt-hours, watt-hours per mark; "" where not measured."""
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


WIDTH = 320
"""Of the longest bar."""
_MIB = 1 << 20
_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))
_KINDS: Mapping[Stage, str] = {"generate": "asking", "judge": "judging", "mark": "marking"}
Spans = list[tuple[float, float]]


def time_bars(sessions: Sequence[Session]) -> dict[str, Any] | None:
    """Bars of loading, asking, judging, marking by rules and waiting, a sentence on each session; None without one.

    Returns:
        `width`; `bars`, each with `kind`, `time` in words and `width`; `sentences`.
    """
    if not sessions:
        return None
    loading = [(each.started, each.at if each.loaded is None else each.loaded) for each in sessions]
    spans: dict[str, Spans] = {"loading": loading, **{kind: [] for kind in _KINDS.values()}}
    for each in sessions:
        if each.loaded is not None:
            spans[_KINDS[each.stage]].append((each.loaded, each.at))
    up = [(each.started, each.at) for each in sessions]
    seconds = {kind: covered(ranges) for kind, ranges in spans.items()}
    seconds["waiting"] = max(0.0, max(end for _, end in up) - min(begin for begin, _ in up) - covered(up))
    longest = max(seconds.values()) or 1.0
    bars = [
        {"kind": kind, "time": in_words(spent), "width": f"{WIDTH * spent / longest:.1f}"}
        for kind, spent in seconds.items()
        if spent >= 0.1
    ]
    return {"width": WIDTH, "bars": bars, "sentences": [_session_sentence(each) for each in sessions]}


def in_words(seconds: float) -> str:
    """A duration in its largest unit."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _session_sentence(session: Session) -> str:
    details = []
    if session.requests is not None:
        pace = session.requests_a_second
        details.append(
            f"{session.requests:,} {'answers' if session.stage == 'mark' else 'requests'}"
            + ("" if pace is None else f", {pace:,.2f} a second")
        )
    if session.stage != "mark":
        details += filter(None, (_tokens(session), _gpus(session)))
    if session.peak_rss is not None:
        details.append(f"at most {session.peak_rss / GIB:.2f} GiB in its process")
    if session.written is not None:
        details.append(f"{session.written / _MIB:,.1f} MiB written")
    who = session.model if session.stage == "mark" else f"{session.model} ({session.engine})"
    return f"{_KINDS[session.stage]}: {who}, {in_words(session.seconds)}" + "".join(f"; {k}" for k in details)


def _tokens(session: Session) -> str:
    pace = session.tokens_a_second
    return "" if pace is None else f"{pace:,.1f} completion tokens a second"


def _gpus(session: Session) -> str:
    """Busy share and energy of its GPUs, if any."""
    if not session.gpus or session.loaded is None:
        return ""
    busy = "busy share not measured" if session.busy is None else f"busy {session.busy:.0%} of the time"
    joules = session.joules
    return f"GPUs {busy}, " + ("energy not measured" if joules is None else f"{watt_hours(joules / 3600)} Wh")
