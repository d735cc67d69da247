"""Usage of a run: the GPU busy share, tokens a second and energy of its engines, from its sessions and its marks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from livek12.core.progress import say, warn
from livek12.core.run.folder import RunFolder
from livek12.core.run.sessions import (
    GIB,
    Figures,
    Memory,
    Session,
    read_sessions,
    usage_of,
)
from livek12.core.scoring.answers import points_awarded
from livek12.core.scoring.schema import RunUsage

if TYPE_CHECKING:
    from livek12.core.scoring.outcomes import Outcomes


def run_usage(folder: Path, outcomes: Outcomes) -> RunUsage | None:
    """Usage of engines, and the energy of asking over the points."""
    sessions = read_sessions(folder)
    asking = usage_of(sessions, "generate")
    if asking is None:
        return None
    points, energy = points_awarded(outcomes), asking["watt_hours"]
    per_mark = None if energy is None or points is None or points[0] <= 0 else [energy / p for p in reversed(points)]
    return RunUsage(asking=asking, judging=usage_of(sessions, "judge"), watt_hours_per_mark=per_mark)


def tell_memory(run: RunFolder, since: float) -> None:
    """Reports the memory of each local engine of this process; warns where too much was not given back."""
    for session in read_sessions(run.path):
        if session.pid == os.getpid() and session.started >= since and session.ended and session.after_load:
            say(f"{_who(session)} left memory: {_left(session)}{_cache(session.figures)}")
            if session.stuck:
                warn(
                    f"{_who(session)}: more than a tenth of the device memory that it took was not given back;"
                    " the next engine may not fit"
                )


def _who(session: Session) -> str:
    return f"{'the model under test' if session.stage == 'generate' else 'judge'} {session.model} ({session.engine})"


def _cache(figures: Figures) -> str:
    if figures.kv_tokens is None:
        return ""
    again = f", {figures.preemptions:,} times a request was computed once more for want of room"
    return f"; KV cache of {figures.kv_tokens:,} tokens" + (again if figures.preemptions else "")


def _left(session: Session) -> str:
    loaded, kept = session.after_load or Memory(), session.after_close or Memory()
    parts = [("on devices", loaded.on_devices, kept.on_devices)] if loaded.devices else []
    parts += [("in processes", loaded.rss, kept.rss)] if loaded.rss is not None and kept.rss is not None else []
    return ", ".join(f"{before / GIB:.1f} → {after / GIB:.1f} GiB {where}" for where, before, after in parts)
