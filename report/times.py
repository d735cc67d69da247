"""What a run spent its time on, as bars: from the sessions of its engines (`livek12.core.run.sessions`).

Contract: times are of the wall clock and of the run as a whole: what several processes do at once counts once. Waiting
is what lies between the first session and the last in which nobody asked, judged or marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from livek12.core.run.sessions import GIB, Session, Stage, covered
from livek12.report.usage import watt_hours

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
    seconds = {kind: covered(found) for kind, found in spans.items()}
    seconds["waiting"] = max(0.0, max(end for _, end in up) - min(begin for begin, _ in up) - covered(up))
    longest = max(seconds.values()) or 1.0
    bars = [
        {"kind": kind, "time": in_words(spent), "width": f"{WIDTH * spent / longest:.1f}"}
        for kind, spent in seconds.items()
        if spent >= 0.1
    ]
    return {"width": WIDTH, "bars": bars, "sentences": [_sentence(each) for each in sessions]}


def in_words(seconds: float) -> str:
    """A duration in the largest unit of which there is one."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _sentence(session: Session) -> str:
    """Who was up, for how long, and what that took."""
    known = []
    if session.requests is not None:
        pace = session.requests_a_second
        known.append(
            f"{session.requests:,} {'answers' if session.stage == 'mark' else 'requests'}"
            + ("" if pace is None else f", {pace:,.2f} a second")
        )
    if session.stage != "mark":
        known += filter(None, (_tokens(session), _gpus(session)))
    if session.peak_rss is not None:
        known.append(f"at most {session.peak_rss / GIB:.2f} GiB in its process")
    if session.written is not None:
        known.append(f"{session.written / _MIB:,.1f} MiB written")
    who = session.model if session.stage == "mark" else f"{session.model} ({session.engine})"
    return f"{_KINDS[session.stage]}: {who}, {in_words(session.seconds)}" + "".join(f"; {k}" for k in known)


def _tokens(session: Session) -> str:
    pace = session.tokens_a_second
    return "" if pace is None else f"{pace:,.1f} completion tokens a second"


def _gpus(session: Session) -> str:
    """Busy share and energy of its GPUs; nothing where it has none."""
    if not session.gpus or session.loaded is None:
        return ""
    busy = "busy share not measured" if session.busy is None else f"busy {session.busy:.0%} of the time"
    joules = session.joules
    return f"GPUs {busy}, " + ("energy not measured" if joules is None else f"{watt_hours(joules / 3600)} Wh")
